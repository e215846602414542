package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/postgres"
)

func TestEachFaultHasItsStatusAndText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		// The family of requests that no room saw.
		{fault.WithMessage(fault.BadParams, "name is missing, scopes is missing"), 400, `{"error":"name is missing, scopes is missing"}`},
		{fault.New(fault.MethodNotAllowed), 405, `{"error":"405 Not Allowed"}`},
		{fault.WithMessage(fault.MethodNotAllowed, "Keyset pagination is not yet available for this type of request"), 405, `{"error":"Keyset pagination is not yet available for this type of request"}`},
		{fault.WithMessage(fault.UnsupportedMedia, "The provided content-type 'text/plain' is not supported."), 415, `{"error":"The provided content-type 'text/plain' is not supported."}`},

		{fault.WithMessage(fault.LimitReached, "Your project limit is 1 projects!"), 403, `{"error":["Your project limit is 1 projects!"]}`},

		// The family of what a room answered.
		{fault.New(fault.Unauthenticated), 401, `{"message":"401 Unauthorized"}`},
		{fault.WithReason(fault.Unauthenticated, "no"), 401, `{"message":"401 Unauthorized - no"}`},
		{fault.New(fault.Forbidden), 403, `{"message":"403 Forbidden"}`},
		{fault.WithReason(fault.Forbidden, "Your account has been blocked."), 403, `{"message":"403 Forbidden - Your account has been blocked."}`},
		{fault.New(fault.NotFound), 404, `{"message":"404 Not Found"}`},
		{fault.NotFoundf("GPG Key"), 404, `{"message":"404 GPG Key Not Found"}`},
		{fault.WithMessage(fault.NotFound, "404 Not found"), 404, `{"message":"404 Not found"}`},
		{fault.New(fault.Rejected), 400, `{"message":"400 Bad request"}`},
		{fault.WithReason(fault.Rejected, `"key" not given`), 400, `{"message":"400 Bad request - \"key\" not given"}`},
		{fault.Field("name", "can't be blank"), 400, `{"message":{"name":["can't be blank"]}}`},
		{fault.New(fault.NotAllowed), 405, `{"message":"405 Method Not Allowed"}`},
		{fault.New(fault.Conflict), 409, `{"message":"409 Conflict"}`},
		{fault.WithMessage(fault.Conflict, "Username has already been taken"), 409, `{"message":"Username has already been taken"}`},
		{fault.New(fault.Precondition), 412, `{"message":"412 Precondition Failed"}`},
		{fault.WithReason(fault.Gone, "no more"), 410, `{"message":"410 Gone - no more"}`},
		{fault.New(fault.TooLarge), 413, `{"message":"413 Request Entity Too Large"}`},
		{fault.New(fault.Unprocessable), 422, `{"message":"422 Unprocessable Entity"}`},
		{fault.Within(fault.Rejected, "error", "no %s", "list"), 400, `{"message":{"error":"no list"}}`},
		{fault.New(fault.TooMany), 429, `{"message":{"error":"This endpoint has been requested too many times. Try again later."}}`},
		{fault.New(fault.Internal), 500, `{"message":"500 Internal Server Error"}`},
		{fault.New(fault.Unavailable), 503, `{"message":"503 Service Unavailable"}`},
		{access.InsufficientScope("read_user", "api", "read_api"), 403,
			`{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"read_user api read_api"}`},
	} {
		d := open(t, failing("GET /things", fmt.Errorf("doing a thing: %w", c.err)))
		wantJSON(t, d.do("GET", "/things"), c.status, c.body)
	}
}

func TestEveryKindOfFaultIsInTheDialect(t *testing.T) {
	t.Parallel()
	for kind := fault.Internal; kind <= fault.Unavailable; kind++ {
		if says, ok := kinds[kind]; !ok || says.status < 300 {
			t.Errorf("kind %d has no status", kind)
		}
	}
}

func TestATokenThatMayNotBeUsedAnyMoreSaysWhyInItsHeader(t *testing.T) {
	t.Parallel()
	const text = "Token is expired. You can either do re-authorization or token refresh."
	d := open(t, answer("GET /things", 1))
	d.people.refusals["old"] = fault.WithMessage(fault.TokenUnusable, text)
	w := d.do("GET", "/things", token("old"))
	wantJSON(t, w, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
	want := `Bearer realm="Protected by OAuth 2.0", error="invalid_token", error_description="` + text + `"`
	if got := w.Header().Get("WWW-Authenticate"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestNotModifiedHasNoBody(t *testing.T) {
	t.Parallel()
	d := open(t, failing("POST /star", fault.New(fault.NotModified)))
	w := d.do("POST", "/star")
	wantStatus(t, w, http.StatusNotModified)
	if w.Body.Len() > 0 {
		t.Errorf("got %s", w.Body)
	}
}

// What the forge stands on may fail at any place; no door takes that for a fault of the program.
func TestWhatIsAwayIsSaidToBeSoWhereverItFails(t *testing.T) {
	t.Parallel()
	for _, away := range []error{gitstore.ErrUnavailable, blob.ErrUnavailable, postgres.ErrTimeout} {
		err := Away(fmt.Errorf("doing something: %w: %w", away, syscall.EROFS))
		if !fault.Is(err, fault.Unavailable) || !errors.Is(Hidden(err), syscall.EROFS) {
			t.Errorf("%v becomes %v", away, err)
		}
		refused := errors.Join(fault.New(fault.Conflict), away)
		if got := Away(refused); !fault.Is(got, fault.Conflict) {
			t.Errorf("what was said already becomes %v", got)
		}
	}
	d := open(t, failing("GET /things", blob.ErrUnavailable))
	if r := d.do("GET", "/things"); r.Code != 503 || r.Header().Get("Retry-After") != RetryAfter {
		t.Errorf("%d, to come again after %q", r.Code, r.Header().Get("Retry-After"))
	}
	if err := Away(lifecycle.ErrSlow); !fault.Is(err, fault.Slow) {
		t.Errorf("a client that stops sending: %v", err)
	}
	if err := Away(syscall.EROFS); err != error(syscall.EROFS) {
		t.Errorf("another error becomes %v", err)
	}
}
