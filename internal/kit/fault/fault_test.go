package fault_test

import (
	"fmt"
	"testing"

	"stithy/internal/kit/fault"
)

func TestAFaultIsFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("reading a user: %w", fault.NotFoundf("User"))
	e, ok := fault.Of(err)
	if !ok || e.Kind != fault.NotFound || e.Subject != "User" {
		t.Errorf("got %#v, %v", e, ok)
	}
	if !fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) {
		t.Error("Is does not follow the chain")
	}
}

func TestAnErrorWithoutAFaultIsInternal(t *testing.T) {
	t.Parallel()
	if _, ok := fault.Of(fmt.Errorf("disk full")); ok {
		t.Error("an ordinary error passed for a fault")
	}
}

func TestFieldsWithoutTextsAreNoError(t *testing.T) {
	t.Parallel()
	var f fault.Fields
	if f.Err() != nil {
		t.Error("empty fields are an error")
	}
	f.Add("name", "is too long (maximum is %d characters)", 255)
	f.Add("bio", "is invalid")
	if got, want := f.Err().Error(), "bio is invalid; name is too long (maximum is 255 characters)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEachFaultDescribesItself(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"gone for good":   fault.WithMessage(fault.Conflict, "gone %s good", "for"),
		"because of that": fault.WithReason(fault.Forbidden, "because of %s", "that"),
		"User not found":  fault.NotFoundf("User"),
		"not allowed":     fault.New(fault.Forbidden),
		"key is invalid":  fault.Field("key", "is invalid"),
		"no list":         fault.Within(fault.Rejected, "error", "no %s", "list"),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEveryKindHasWords(t *testing.T) {
	t.Parallel()
	for kind := fault.Internal; kind <= fault.Unavailable; kind++ {
		if kind.String() == "" {
			t.Errorf("kind %d has none", kind)
		}
	}
}
