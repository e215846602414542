// Package clock owns the question "what time is it". Whoever needs the time takes a Clock, so that a test
// can pass a closure and turn the hands itself. It owns no timers and no formatting.
package clock

import "time"

// Clock tells the time.
type Clock func() time.Time

// Now is the present moment.
func (c Clock) Now() time.Time { return c() }

// System reads the machine's clock in UTC, so that no answer depends on the zone of the machine.
func System() Clock {
	return func() time.Time { return time.Now().UTC() }
}
