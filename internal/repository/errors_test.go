package repository

import (
	"errors"
	"fmt"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
)

// Clients hear that something is unavailable, the log why; what is damaged is
// neither missing nor anything else that a client could help.
func TestWhyARepositoryFailsIsKeptForTheLog(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{gitstore.ErrUnavailable, gitstore.ErrTimeout} {
		cause := fmt.Errorf("the disk is full: %w", kind)
		if err := found(cause, "File"); !fault.Is(err, fault.Unavailable) || !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	}
	if _, shown := fault.Of(found(fmt.Errorf("an object: %w", gitstore.ErrCorrupt), "File")); shown {
		t.Error("damage is shown to clients")
	}
	if !fault.Is(found(gitstore.ErrNotFound, "File"), fault.NotFound) {
		t.Error("what is missing is not found")
	}
}
