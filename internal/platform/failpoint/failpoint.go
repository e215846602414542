// Package failpoint names the moments at which a process may die and leave
// something half done: between an intent, the refs and the note of both. Tests
// link a program that kills itself at one of them, and look what the next one
// makes of it.
//
// A program for service is not linked so: nothing happens at any moment, and the
// variable that names one is refused as any that the configuration does not know.
package failpoint

import (
	"os"
	"slices"
	"strings"
	"syscall"
)

// Arm is how a program is linked that can die.
const Arm = "-X stithy/internal/platform/failpoint.armed=yes"

var armed string

// Variable names the moment at which the process is to die.
const Variable = "STITHY_FAILPOINT"

// Point is such a moment.
type Point string

// The moments, in the order of their acts.
const (
	PushJudged   Point = "push-judged"   // the rules have spoken, nothing is written
	PushIntended Point = "push-intended" // the intent is written, no ref has moved
	ObjectsTaken Point = "objects-taken" // staged objects are in place, no ref has moved
	RefsMoved    Point = "refs-moved"    // the refs have moved, nothing is noted
	PushNoting   Point = "push-noting"   // the transaction that notes it is open
	PushSettled  Point = "push-settled"  // all is noted, nobody was told

	CopyBegun  Point = "copy-begun"  // the job of a fork has begun
	CopyLinked Point = "copy-linked" // its objects are there, under another name
	CopyDone   Point = "copy-done"   // it is in place, and not noted

	RemoveBegun Point = "remove-begun" // the job of a removal has begun
	RemoveMoved Point = "remove-moved" // the repository is out of its place
	RemoveDone  Point = "remove-done"  // it is gone, and the job is not done
)

// Here ends the process, without a word, if this is the moment.
func Here(p Point) {
	if armed == "" || os.Getenv(Variable) != string(p) {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// Environment is the variables of the process as the configuration reads them:
// of a program that can die, without the one that says when.
func Environment(all []string) []string {
	if armed == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(pair string) bool { return strings.HasPrefix(pair, Variable+"=") })
}
