package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/postgres"
)

type dialect = httpapi.Dialect

func (s *Service) newDialect() dialect {
	return dialect{
		Name: "oauth", Error: errorForm{}, Path: func(x *httpapi.Request) string { return x.R.URL.Path },
		Begin: s.begin, Bind: bind, Write: write, Fail: fail,
	}
}

// Dialect is how the provider is spoken to. It is not v4: the parameters, the
// answers and the errors are those of the standards, and each handler finds
// out by itself which application calls.
func (s *Service) Dialect() *httpapi.Dialect { return &s.dialect }

func (s *Service) begin(ctx context.Context, x *httpapi.Request) (answered bool, err error) {
	h := x.W.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Referrer-Policy", "no-referrer")
	here := x.Here()
	if len(here) == 0 {
		writeJSON(x.W, http.StatusNotFound, map[string]string{"error": "404 Not Found"})
		return true, nil
	}
	x.SetRoute(here[0])
	crossOrigin(x, here[0])
	switch {
	case x.R.Method == http.MethodOptions && asksFirst(here[0]):
		x.W.WriteHeader(http.StatusOK)
		return true, nil
	case x.Endpoint == nil:
		h.Set("Allow", strings.Join(x.Methods(), ", "))
		writeJSON(x.W, http.StatusMethodNotAllowed, map[string]string{"error": "405 Not Allowed"})
		return true, nil
	}
	return s.throttled(ctx, x), nil
}

// throttled counts the request against the throttles of the instance, by
// address, and answers it when there were too many.
func (s *Service) throttled(ctx context.Context, x *httpapi.Request) bool {
	if x.R.Method == http.MethodPost {
		rule, active := s.deps.Settings.ProtectedPath(x.R.URL.Path, false)
		if active && x.Throttle().Over(ctx, x.W, rule, 0, x.Actor.Address) {
			return true
		}
	}
	return x.Throttle().Refuses(ctx, x.W, 0, x.Actor.Address)
}

// asksFirst reports whether scripts of other origins may send along a header of
// their own: the one with their secret.
func asksFirst(e *httpapi.Endpoint) bool { return e.Scripts && e.Needs != access.Anyone }

// plainHeaders are those that scripts of other origins may set on requests
// that are asked about first.
var plainHeaders = []string{"accept", "accept-language", "authorization", "content-language", "content-type"}

// crossOrigin lets scripts of any origin call and read, never with a
// browser's own credentials. A preflight for another header gets no leave.
func crossOrigin(x *httpapi.Request, e *httpapi.Endpoint) {
	h := x.W.Header()
	h.Set("Vary", "Origin")
	if !e.Scripts || x.R.Header.Get("Origin") == "" {
		return
	}
	methods := x.Methods()
	if asksFirst(e) {
		methods = append(methods, http.MethodOptions)
	}
	if x.R.Method == http.MethodOptions {
		for name := range strings.SplitSeq(x.R.Header.Get("Access-Control-Request-Headers"), ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && !slices.Contains(plainHeaders, name) {
				return
			}
		}
		h.Set("Access-Control-Allow-Headers", strings.Join(plainHeaders, ", "))
		h.Set("Access-Control-Max-Age", "7200")
	}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
}

const (
	maxQuery = 16 << 10
	maxBody  = 32 << 10 // which is held before anybody is known
)

var (
	errUnreadable = &Error{Code: InvalidRequest, Text: "The request is malformed."}
	errSlow       = &Error{Code: InvalidRequest, Text: "The request did not arrive in time."}
)

func bind(x *httpapi.Request, params any) error {
	if err := read(x); err != nil {
		return err
	}
	for _, p := range x.Endpoint.Params {
		if value, _ := x.Values[p.Name].(string); p.Required && value == "" {
			return missing(p.Name)
		}
	}
	return x.Fill(params, x.Values)
}

// read takes the parameters of query and body. Each stands once: which of two
// values counts must never be a matter of parsing (RFC 6749, section 3.2).
func read(x *httpapi.Request) error {
	x.Values = map[string]any{}
	if len(x.R.URL.RawQuery) > maxQuery {
		return errUnreadable
	}
	if err := add(x.Values, x.R.URL.RawQuery); err != nil {
		return err
	}
	if x.R.Method != http.MethodPost {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.W, x.R.Body, maxBody))
	if errors.Is(err, lifecycle.ErrSlow) {
		return &answerError{why: errSlow, status: http.StatusRequestTimeout}
	}
	if err != nil {
		return errUnreadable
	}
	media, _, _ := mime.ParseMediaType(x.R.Header.Get("Content-Type"))
	if media != "application/json" {
		return add(x.Values, string(body))
	}
	return addJSON(x.Values, body)
}

// addJSON reads an object member by member: of two with one name a map would keep the last.
func addJSON(params map[string]any, body []byte) error {
	if !json.Valid(body) {
		return errUnreadable
	}
	tokens := json.NewDecoder(bytes.NewReader(body))
	if begin, err := tokens.Token(); err != nil || begin != json.Delim('{') {
		return errUnreadable
	}
	for tokens.More() {
		name, _ := tokens.Token()
		value, _ := tokens.Token()
		text, ok := value.(string)
		if !ok {
			return errUnreadable
		}
		if err := put(params, name.(string), text); err != nil {
			return err
		}
	}
	return nil
}

func add(params map[string]any, encoded string) error {
	values, err := url.ParseQuery(encoded)
	if err != nil {
		return errUnreadable
	}
	for name, all := range values {
		for _, value := range all {
			if err := put(params, name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func put(params map[string]any, name, value string) error {
	if _, twice := params[name]; twice || !utf8.ValidString(name+value) || strings.IndexByte(name+value, 0) >= 0 {
		return errUnreadable
	}
	params[name] = value
	return nil
}

func write(_ context.Context, x *httpapi.Request, reply any) error {
	writeJSON(x.W, x.Endpoint.Status, reply)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store, no-cache")
		h.Set("Pragma", "no-cache")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// statuses of refusals; 400 is the status of all others.
var statuses = map[Code]int{
	InvalidClient: http.StatusUnauthorized, UnauthorizedClient: http.StatusUnauthorized, InvalidToken: http.StatusUnauthorized,
	ServerError: http.StatusInternalServerError, Unavailable: http.StatusServiceUnavailable,
}

type errorForm struct {
	Error       Code   `json:"error"`
	Description string `json:"error_description"`
	State       string `json:"state,omitempty"`
}

// answerError is an error that a route answers in a way of its own.
type answerError struct {
	why    *Error
	status int
	state  string // instead of the one that was sent
	bare   bool   // the status says it all
}

func (e *answerError) Error() string { return e.why.Error() }

func (e *answerError) Unwrap() error { return e.why }

// fail is the only writer of the protocol's errors.
func fail(x *httpapi.Request, err error) (hidden error) {
	r, refused := Refused(err)
	switch {
	case refused:
	case postgres.Unavailable(err):
		r, _ = Refused(refuse(Unavailable))
	default:
		r, _ = Refused(refuse(ServerError))
	}
	if r.Code == Unavailable {
		x.W.Header().Set("Retry-After", httpapi.RetryAfter)
	}
	state, _ := x.Values["state"].(string)
	status, known := statuses[r.Code]
	if !known {
		status = http.StatusBadRequest
	}
	own, isOwn := errors.AsType[*answerError](err)
	if isOwn {
		status, state = own.status, cmp.Or(own.state, state)
	}
	if isOwn && own.bare {
		if status == http.StatusUnauthorized {
			challenge(x.W, r)
		}
		x.W.WriteHeader(status)
		return nil
	}
	challenge(x.W, r)
	writeJSON(x.W, status, errorForm{Error: r.Code, Description: r.Text, State: state})
	if status >= http.StatusInternalServerError {
		return err
	}
	return nil
}

func challenge(w http.ResponseWriter, r *Error) {
	w.Header().Set("WWW-Authenticate",
		`Bearer realm="Doorkeeper", error=`+strconv.Quote(string(r.Code))+`, error_description=`+strconv.Quote(r.Text))
}
