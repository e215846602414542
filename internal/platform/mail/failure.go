package mail

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wneessen/go-mail"
)

// Verdict is what can be said of a message that the server did not take.
type Verdict int

const (
	Later   Verdict = iota // it was not taken now: no connection, a server that is busy, or one that does not know this sender
	Refused                // it will not be taken: something in it is refused
	NoSuch                 // nor will any other to this address
	Unknown                // all of it was sent, and no answer came: it may have been taken
)

// SendError is why a message was not taken, or is not known to have been.
type SendError struct {
	Verdict Verdict
	Code    int // of the server's answer, 0 without one
	err     error
}

func (f *SendError) Error() string { return fmt.Sprintf("sending mail: %v", f.err) }
func (f *SendError) Unwrap() error { return f.err }

// VerdictOf is that of an error of Send. What is wrong with a message before it is sent will stay wrong.
func VerdictOf(err error) Verdict {
	if f, ok := errors.AsType[*SendError](err); ok {
		return f.Verdict
	}
	return Refused
}

const (
	permanent        = 500 // and above: answers that stay the same however often one asks
	mustAuthenticate = 530 // of a server that wants a name and password: a setting of this instance is wrong, not the message
)

func failure(err error) *SendError {
	sent, ok := errors.AsType[*mail.SendError](err)
	if !ok {
		return &SendError{Later, 0, err}
	}
	code := sent.ErrorCode()
	f := &SendError{Later, code, err}
	switch forGood := code >= permanent && code != mustAuthenticate; {
	case sent.Reason == mail.ErrSMTPDataClose && code == 0:
		f.Verdict = Unknown
	case !forGood || sent.Reason == mail.ErrSMTPMailFrom:
	case sent.Reason != mail.ErrSMTPRcptTo || strings.HasPrefix(sent.EnhancedStatusCode(), "5.7."): // rules of the server, not the address
		f.Verdict = Refused
	default:
		f.Verdict = NoSuch
	}
	return f
}
