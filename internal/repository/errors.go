package repository

import (
	"errors"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
)

// isMissing reports whether nothing is where a client pointed to.
func isMissing(err error) bool {
	return errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid) || errors.Is(err, gitstore.ErrAmbiguous)
}

// found is an error of the store in words for a client who asked for a noun.
// What no client can help stays internal, and why something is unavailable stays
// with it for the log.
func found(err error, noun string) error {
	switch {
	case err == nil:
		return nil
	case isMissing(err):
		return fault.NotFoundf("%s", noun)
	case errors.Is(err, gitstore.ErrTooLarge):
		return fault.New(fault.TooLarge)
	case errors.Is(err, gitstore.ErrTimeout), errors.Is(err, gitstore.ErrUnavailable):
		return errors.Join(fault.New(fault.Unavailable), err)
	case errors.Is(err, gitstore.ErrConflict):
		return fault.WithMessage(fault.Conflict, "409 Conflict: the ref was changed by someone else")
	}
	return err
}

// Found is how other rooms tell of what they looked for in a repository.
func Found(err error, noun string) error { return found(err, noun) }
