package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/telemetry"
)

// kinds is how each kind of fault is said: with which status in every dialect, and with which words in v4.
var kinds = map[fault.Kind]struct {
	status int
	words  string
}{
	fault.Internal:          {http.StatusInternalServerError, "500 Internal Server Error"},
	fault.BadParams:         {http.StatusBadRequest, "400 Bad request"},
	fault.Rejected:          {http.StatusBadRequest, "400 Bad request"},
	fault.Unauthenticated:   {http.StatusUnauthorized, "401 Unauthorized"},
	fault.TokenUnusable:     {http.StatusUnauthorized, "401 Unauthorized"},
	fault.Forbidden:         {http.StatusForbidden, "403 Forbidden"},
	fault.LimitReached:      {http.StatusForbidden, "403 Forbidden"},
	fault.InsufficientScope: {http.StatusForbidden, "403 Forbidden"},
	fault.NotFound:          {http.StatusNotFound, "404 Not Found"},
	fault.MethodNotAllowed:  {http.StatusMethodNotAllowed, "405 Not Allowed"},
	fault.NotAllowed:        {http.StatusMethodNotAllowed, "405 Method Not Allowed"},
	fault.NotAcceptable:     {http.StatusNotAcceptable, "406 Not Acceptable"},
	fault.NotModified:       {http.StatusNotModified, ""},
	fault.Conflict:          {http.StatusConflict, "409 Conflict"},
	fault.Gone:              {http.StatusGone, "410 Gone"},
	fault.Precondition:      {http.StatusPreconditionFailed, "412 Precondition Failed"},
	fault.TooLarge:          {http.StatusRequestEntityTooLarge, "413 Request Entity Too Large"},
	fault.Slow:              {http.StatusRequestTimeout, "408 Request Timeout"},
	fault.OutOfRange:        {http.StatusRequestedRangeNotSatisfiable, "416 Range Not Satisfiable"},
	fault.UnsupportedMedia:  {http.StatusUnsupportedMediaType, "415 Unsupported Media Type"},
	fault.Unprocessable:     {http.StatusUnprocessableEntity, "422 Unprocessable Entity"},
	fault.TooMany:           {http.StatusTooManyRequests, "429 Too Many Requests"},
	fault.Unavailable:       {http.StatusServiceUnavailable, "503 Service Unavailable"},
}

// RetryAfter is how many seconds a client waits for what is not available.
const RetryAfter = "10"

// unavailable is an error of a disk, a store or a program that the forge stands on.
type unavailable interface {
	error
	Unavailable()
}

// Away is an error that a door is about to answer. Where what the forge stands on does not answer, it becomes the word
// that something is not available, joined to its cause; where the client stopped sending, the word for that.
func Away(err error) error {
	_, shown := fault.Of(err)
	_, failed := errors.AsType[unavailable](err)
	switch {
	case shown:
		return err
	case errors.Is(err, lifecycle.ErrSlow):
		return fault.New(fault.Slow)
	case failed || postgres.Unavailable(err):
		return errors.Join(fault.New(fault.Unavailable), err)
	}
	return err
}

// Cause marks a log line about what a door answers, when very many requests fail for one reason at a time.
func Cause(err error) slog.Attr {
	if postgres.Unavailable(err) {
		return slog.String(telemetry.CauseKey, "database")
	}
	return slog.Attr{}
}

// Hidden is what an error that was answered says beyond what its client may see, for the log: nil where that is all.
func Hidden(err error) error {
	f, shown := fault.Of(err)
	if !shown || (f.Kind == fault.Unavailable && err != error(f)) { //nolint:errorlint // whether it is that very value
		return err
	}
	return nil
}

// StatusOf is the status of a kind of fault, in every dialect.
func StatusOf(kind fault.Kind) int { return kinds[kind].status }

// writeError is the only writer of v4 errors. It has two families: {"error"}
// for a request that no room saw, {"message"} for what a room answered.
func writeError(w http.ResponseWriter, err error) {
	if errors.Is(err, errNotText) {
		writeText(w, http.StatusBadRequest, "Bad Request")
		return
	}
	f, ok := fault.Of(err)
	if !ok {
		f = &fault.Error{Kind: fault.Internal}
	}
	says := kinds[f.Kind]
	switch f.Kind {
	case fault.NotModified:
		w.WriteHeader(says.status)
	case fault.BadParams, fault.MethodNotAllowed, fault.UnsupportedMedia:
		writeJSON(w, says.status, map[string]string{"error": cmp.Or(f.Text, says.words)})
	case fault.LimitReached:
		writeJSON(w, says.status, map[string][]string{"error": {cmp.Or(f.Text, says.words)}})
	case fault.TokenUnusable:
		// The body is the one for every bad credential; why stands where
		// clients of bearer tokens look for it.
		w.Header().Set("WWW-Authenticate", `Bearer realm="Protected by OAuth 2.0", error="invalid_token", error_description=`+strconv.Quote(f.Text))
		writeJSON(w, says.status, map[string]string{"message": says.words})
	case fault.InsufficientScope:
		writeJSON(w, says.status, map[string]string{
			"error":             "insufficient_scope",
			"error_description": "The request requires higher privileges than provided by the access token.",
			"scope":             strings.Join(f.Scopes, " "),
		})
	case fault.Unavailable:
		w.Header().Set("Retry-After", RetryAfter)
		writeJSON(w, says.status, map[string]any{"message": message(f, says.words)})
	case fault.TooMany:
		writeJSON(w, says.status, map[string]any{"message": map[string]string{
			"error": "This " + cmp.Or(f.Subject, "endpoint") + " has been requested too many times. Try again later.",
		}})
	default:
		body := map[string]any{"message": message(f, says.words)}
		for name, text := range f.Extra {
			body[name] = text
		}
		writeJSON(w, says.status, body)
	}
}

func message(f *fault.Error, words string) any {
	switch {
	case len(f.Fields) > 0 && f.Text == "":
		return f.Fields
	case len(f.Texts) > 0:
		return f.Texts
	case f.Within != "":
		return map[string]string{f.Within: f.Text}
	case f.Text != "":
		return f.Text
	case f.Subject != "":
		return "404 " + f.Subject + " Not Found"
	case f.Reason != "":
		return words + " - " + f.Reason
	}
	return words
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"message":"500 Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
