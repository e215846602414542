package gitstore

import (
	"errors"
	"fmt"
)

// What can be wrong. Callers tell these apart with errors.Is; everything else
// is internal.
var (
	ErrNotFound          = errors.New("gitstore: not found")            // ref, object or path
	ErrNoRepo            = errors.New("gitstore: no such repository")   // on this storage
	ErrAmbiguous         = errors.New("gitstore: ambiguous")            // a short id that fits several objects
	ErrInvalid           = errors.New("gitstore: invalid name or path") // refused before git saw it
	ErrConflict          = errors.New("gitstore: conflict")             // a ref is not what it was expected to be
	ErrUnmergeable       = errors.New("gitstore: does not apply")       // changes to the same lines
	ErrEmpty             = errors.New("gitstore: nothing changes")      // a commit that would change nothing
	ErrTooLarge          = errors.New("gitstore: too large")
	ErrTimeout           = errors.New("gitstore: took too long")
	ErrUnavailable error = unavailable("gitstore: unavailable") // storage gone, full or at its limit of processes
	ErrCorrupt           = errors.New("gitstore: corrupt")
)

// unavailable is an error of the disk or the machine, which doors tell from one of the program.
type unavailable string

func (u unavailable) Error() string { return string(u) }
func (unavailable) Unavailable()    {}

// errLocked is a conflict with somebody who holds a lock, or held it when they died.
var errLocked = fmt.Errorf("%w: locked", ErrConflict)
