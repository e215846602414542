package errortracking

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

// Where SDKs send to. They put /api before the last part of the path of the connection string, and add what they send.
const (
	intakePath = "/errortracking/api/v1/projects/api/{project_id}"
	formerPath = "/api/v4/error_tracking/collector/api/{project_id}"
)

type dialect = httpapi.Dialect

// Dialect is how SDKs speak: a key instead of a person, bodies in a form of their own, and answers that hold nothing.
func (s *Service) Dialect() *httpapi.Dialect { return &s.dialect }

func (s *Service) newDialect() dialect {
	return dialect{
		Name: "errors", Error: intakeError{}, Media: "application/octet-stream",
		Path:  func(x *httpapi.Request) string { return strings.TrimSuffix(x.R.URL.Path, "/") },
		Begin: begin, Bind: s.bind, Write: write, Fail: s.fail,
	}
}

func (s *Service) intakeEndpoints() []httpapi.Endpoint {
	spec := func(path, what, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: "POST " + path + "/" + what, Needs: access.BySecret, Summary: summary, Streams: true, Scripts: true,
			ExtraRefusals: "needs a client key of the project",
			Note:          "For SDKs; a connection string leads here. The body may be packed with gzip, deflate or brotli.",
		}
	}
	var all []httpapi.Endpoint
	for _, path := range []string{intakePath, formerPath} {
		all = append(all,
			httpapi.Do(spec(path, "envelope", "Report events in an envelope."), s.handleEnvelope),
			httpapi.Do(spec(path, "store", "Report one event."), s.handleStore))
	}
	return s.dialect.In(all...)
}

// begin lets scripts of any origin report, as programs in browsers do.
func begin(ctx context.Context, x *httpapi.Request) (answered bool, err error) {
	h := x.W.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Retry-After, X-Sentry-Error, X-Sentry-Rate-Limits")
	here := x.Here()
	if len(here) == 0 {
		return false, fault.New(fault.NotFound)
	}
	x.SetRoute(here[0])
	if x.R.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
		h.Set("Access-Control-Allow-Headers", cmp.Or(x.R.Header.Get("Access-Control-Request-Headers"), "content-type"))
		h.Set("Access-Control-Max-Age", "7200")
		x.W.WriteHeader(http.StatusNoContent)
		return true, nil
	}
	if x.Endpoint == nil {
		h.Set("Allow", "POST, OPTIONS")
		return false, fault.New(fault.MethodNotAllowed)
	}
	return x.Throttle().Refuses(ctx, x.W, 0, x.Actor.Address), nil
}

// sdkName is what SDKs call their protocol, whatever names this instance has.
const sdkName = "sentry"

type intakeParams struct {
	ProjectID string `param:"project_id" doc:"ID of the project"`
	Key       string `param:"sentry_key" doc:"Client key, if it is not in the header X-Sentry-Auth"`
}

// bind finds the key in query or header. An envelope may hold it, too.
func (s *Service) bind(x *httpapi.Request, params any) error {
	if len(x.R.URL.RawQuery) > maxHeader {
		return errUnreadable
	}
	key, err := s.keyOf(x.R)
	if err != nil {
		return err
	}
	return x.Fill(params, map[string]any{"sentry_key": key})
}

func (s *Service) keyOf(r *http.Request) (string, error) {
	query := r.URL.Query()
	for _, name := range []string{sdkName, s.deps.Names.Errors} {
		if key := query.Get(name + "_key"); key != "" {
			return key, nil
		}
	}
	for _, name := range []string{"X-" + sdkName + "-Auth", "X-" + s.deps.Names.Errors + "-Auth", "Authorization"} {
		given := r.Header.Get(name)
		if given == "" {
			continue
		}
		scheme, rest, _ := strings.Cut(given, " ")
		if !strings.EqualFold(scheme, sdkName) && !strings.EqualFold(scheme, s.deps.Names.Errors) {
			if name == "Authorization" { // of a proxy, or of a person: nothing to us
				continue
			}
			return "", errUnreadable
		}
		for pair := range strings.SplitSeq(rest, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if name == sdkName+"_key" || name == s.deps.Names.Errors+"_key" {
				return value, nil
			}
		}
		return "", errUnreadable
	}
	return "", nil
}

type intakeCall = httpapi.Call[httpapi.None, intakeParams]

// admit finds the project for a key.
func (s *Service) admit(ctx context.Context, call intakeCall, key string) (Intake, error) {
	if key == "" {
		return Intake{}, errUnreadable
	}
	id, err := strconv.ParseInt(call.Params.ProjectID, 10, 64)
	if err != nil || id <= 0 {
		return Intake{}, errNoIntake
	}
	return s.Admit(ctx, id, key)
}

// handleEnvelope finds the key in the envelope where it is nowhere else.
func (s *Service) handleEnvelope(ctx context.Context, call intakeCall) (httpapi.EmptyBody, error) {
	return httpapi.EmptyBody{}, s.take(ctx, call, func(p packed) (string, error) { return s.keyIn(ctx, call.Params.ProjectID, p) }, readEnvelope)
}

func (s *Service) handleStore(ctx context.Context, call intakeCall) (httpapi.EmptyBody, error) {
	return httpapi.EmptyBody{}, s.take(ctx, call, func(packed) (string, error) { return "", errUnreadable }, readEvent)
}

// take has the events of a request counted and kept, within the quota of their project. Who shows a key that is none is not listened to.
func (s *Service) take(ctx context.Context, call intakeCall, within func(packed) (string, error), read func(io.Reader) ([]*Report, error)) error {
	var in Intake
	if call.Params.Key != "" {
		var err error
		if in, err = s.admit(ctx, call, call.Params.Key); err != nil {
			return err
		}
	}
	p, err := bodyOf(call)
	if err != nil {
		return err
	}
	if call.Params.Key == "" {
		key, err := within(p)
		if err != nil {
			return err
		}
		if in, err = s.admit(ctx, call, key); err != nil {
			return err
		}
	}
	// The request itself counts as an event, before anything of it is read: what cannot be read costs as much.
	if wait, over := s.Over(ctx, in); over {
		return &waitError{wait}
	}
	var events []Occurrence
	size, err := s.reading(ctx, call.Params.ProjectID, p, func(body io.Reader) error {
		reports, err := read(body)
		if err != nil {
			return err
		}
		for n, r := range reports {
			if reports[n] = nil; !in.takes(r.ID) {
				continue
			}
			o, err := s.occurrence(in, r, call.Actor.Address.String())
			if err := cmp.Or(ctx.Err(), err); err != nil {
				return err
			}
			events = append(events, o)
		}
		return nil
	})
	for range max(0, int(size/countedSize)-max(1, len(events))) {
		s.Over(ctx, in)
	}
	if err != nil {
		return err
	}
	for n, o := range events {
		if n > 0 {
			if wait, over := s.Over(ctx, in); over {
				return &waitError{wait}
			}
		}
		if err := s.put(ctx, in, o); err != nil {
			return err
		}
	}
	return nil
}

// countedSize is how many bytes count as an event, where events are larger.
const countedSize = 256 << 10

// bodyOf holds the body of a request. Without a key it is a short one.
func bodyOf(call intakeCall) (packed, error) {
	most := int64(maxPacked)
	if call.Params.Key == "" {
		most = maxStrange
	}
	if call.Length() > most {
		return packed{}, errTooLarge
	}
	body, err := io.ReadAll(call.Body(most))
	if errors.As(err, new(*http.MaxBytesError)) {
		err = errTooLarge
	}
	return packed{encoding: call.Header("Content-Encoding"), body: body}, err
}

// maxStrange is how many bytes are held of somebody who has not shown a key yet.
const maxStrange = 256 << 10

// wait tells an SDK to report no errors for a while, in the words that all programs know and in those of its own.
func wait(h http.Header, e *waitError) {
	seconds := strconv.Itoa(max(1, int(e.wait.Seconds())))
	h.Set("Retry-After", seconds)
	h.Set("X-Sentry-Rate-Limits", seconds+":error;default:project:quota")
}

func write(_ context.Context, x *httpapi.Request, _ any) error {
	x.W.WriteHeader(x.Endpoint.Status)
	return nil
}

type intakeError struct {
	Message string `json:"message"`
}

// fail answers in few words.
func (s *Service) fail(x *httpapi.Request, err error) (hidden error) {
	h := x.W.Header()
	status, text := http.StatusInternalServerError, ""
	shown := httpapi.Away(err)
	f, known := fault.Of(shown)
	over, tooMany := errors.AsType[*waitError](err)
	switch {
	case known:
		status = httpapi.StatusOf(f.Kind)
	case tooMany:
		status = http.StatusTooManyRequests
		wait(h, over)
	case errors.Is(err, errUnreadable):
		status, text = http.StatusBadRequest, "400 Bad request - Failed to parse "+s.deps.Names.Errors+" request"
	case errors.Is(err, errUnsupported):
		status, text = http.StatusBadRequest, "400 Bad request - Unsupported "+s.deps.Names.Errors+" payload"
	}
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", httpapi.RetryAfter)
	}
	text = cmp.Or(text, strconv.Itoa(status)+" "+http.StatusText(status))
	h.Set("Content-Type", "application/json")
	h.Set("X-Sentry-Error", text)
	x.W.WriteHeader(status)
	_ = json.NewEncoder(x.W).Encode(intakeError{text})
	if status < http.StatusInternalServerError {
		return nil
	}
	return httpapi.Hidden(shown)
}
