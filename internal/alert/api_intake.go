package alert

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/batch"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/ratelimit"
)

// notifyPath is where senders of alerts send them, below a project. What is at the two other addresses is the first integration
// of a kind, for senders that were set up when a project had one.
const notifyPath = "/alerts/notify"

var addresses = regexp.MustCompile(`^/(.+?)(/prometheus/alerts/notify\.json|/alerts/notify\.json|/alerts/notify/[^/]+/([A-Za-z0-9]{1,64})\.json)$`)

// Door is the way in for senders of alerts: the path of a project has slashes, so it is found before the endpoints are asked.
type Door struct{ Next http.Handler }

// Owns reports whether a path is one that alerts are sent to. What is below "/-/" belongs to a project's pages, whatever files are called there.
func (d Door) Owns(path string) bool {
	return strings.HasSuffix(path, ".json") && !strings.Contains(path, "/-/") && addresses.MatchString(path)
}

func (d Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.Next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), intakeKey{}, new(intake))))
}

type intakeKey struct{}

// intake is what is known of a request once its credentials were looked at.
type intake struct{ integration *Integration }

type dialect = httpapi.Dialect

// Dialect is how senders of alerts speak: below the path of a project, with the key of an integration, and told nothing but the status when
// it goes wrong.
func (s *Service) Dialect() *httpapi.Dialect { return &s.dialect }

func (s *Service) newDialect() dialect {
	return dialect{
		Name: "alerts", Media: "application/json", Error: struct{}{}, Path: matched, Begin: begin, Authenticate: s.authenticate,
		Bind:  func(*httpapi.Request, any) error { return nil },
		Write: write, Fail: fail,
	}
}

// matched is the path with the project in one segment.
func matched(x *httpapi.Request) string {
	parts := addresses.FindStringSubmatch(x.R.URL.Path)
	if parts == nil {
		return x.R.URL.Path
	}
	return "/" + url.PathEscape(parts[1]) + parts[2]
}

// begin refuses what is declared to be too large before anybody is looked for.
func begin(ctx context.Context, x *httpapi.Request) (answered bool, err error) {
	switch here := x.Here(); {
	case len(here) == 0:
		return false, fault.New(fault.NotFound)
	case x.Endpoint == nil:
		x.W.Header().Set("Allow", strings.Join(x.Methods(), ", "))
		return false, fault.New(fault.MethodNotAllowed)
	}
	x.SetRoute(x.Endpoint)
	if x.Throttle().Refuses(ctx, x.W, 0, x.Actor.Address) {
		return true, nil
	}
	if x.R.ContentLength > maxPayload {
		return false, errTooLarge
	}
	return false, nil
}

var (
	errNoIntegration = fault.New(fault.Forbidden)
	errKey           = fault.New(fault.Unauthenticated)
)

// authenticate finds the integration that the key is for. That there is none, or no such project, is told to nobody who guesses: at the
// addresses that can be guessed it looks like a wrong key.
func (s *Service) authenticate(ctx context.Context, x *httpapi.Request) error {
	parts := addresses.FindStringSubmatch(x.R.URL.Path)
	at, missing := address{project: parts[1], endpoint: parts[3]}, errNoIntegration
	if at.endpoint == "" {
		at.first, missing = HTTP, errKey
		if strings.HasPrefix(parts[2], "/"+string(Prometheus)) {
			at.first = Prometheus
		}
	}
	in, err := s.finding.Do(ctx, at, struct{}{})
	switch {
	case errors.Is(err, batch.ErrFull):
		return fault.New(fault.Unavailable)
	case err != nil:
		return err
	case in == nil:
		return missing
	case subtle.ConstantTimeCompare(s.deps.Box.Digest(keyDigest, presented(x.R)), in.KeyDigest) != 1:
		return errKey
	}
	if rule, limited := s.rate(); limited && !x.Throttle().Limiter.Hit(ctx, rule, strconv.FormatInt(in.ProjectID, 10)).Allowed() {
		return fault.New(fault.TooMany)
	}
	x.R.Context().Value(intakeKey{}).(*intake).integration = in
	return nil
}

// presented is the key that a sender shows: Bearer, or the password of HTTP Basic.
func presented(r *http.Request) string {
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	_, key, _ := r.BasicAuth()
	return key
}

// rate is how many requests a project may be sent.
func (s *Service) rate() (ratelimit.Rule, bool) {
	now := s.deps.Settings.Current()
	return ratelimit.Rule{
		Name: "throttle_incident_management_notification", Limit: now.ThrottleIncidentManagementNotificationPerPeriod,
		Period: time.Duration(now.ThrottleIncidentManagementNotificationPeriodInSeconds) * time.Second,
	}, now.ThrottleIncidentManagementNotificationEnabled
}

// read takes a payload. What is small is held without asking; how many large ones are held at a time is bounded, and of one project a quarter of
// them: who sends slowly keeps others of their own project waiting, and nobody else. Only what has come as a whole waits to be understood.
func (s *Service) read(ctx context.Context, in *Integration, body io.Reader) (all []byte, release func(), err error) {
	all, err = io.ReadAll(io.LimitReader(body, largePayload))
	if err != nil {
		return nil, nil, unread(err)
	}
	if len(all) < largePayload {
		return all, func() {}, nil
	}
	come, err := s.reading.Take(ctx, strconv.FormatInt(in.ProjectID, 10))
	if err != nil {
		return nil, nil, err
	}
	if all, err = readPayload(io.MultiReader(bytes.NewReader(all), body)); err != nil {
		come()
		return nil, nil, unread(err)
	}
	understood, err := s.large.Take(ctx, "")
	if err != nil {
		come()
		return nil, nil, err
	}
	return all, func() { understood(); come() }, nil
}

// unread is why a payload could not be taken.
func unread(err error) error {
	if errors.Is(err, lifecycle.ErrSlow) {
		return err
	}
	return errTooLarge
}

func (s *Service) intakeEndpoints() []httpapi.Endpoint {
	spec := func(route, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: "POST /{project}" + route, Needs: access.BySecret, AnyScope: true, Streams: true, Credentials: []string{"bearer", "basic"}, Summary: summary,
			ExtraRefusals: "401 without the key of the integration, 403 where there is none or it is not active; without a body",
			Note:          "The payload decides which of the two formats it has.",
		}
	}
	return s.dialect.In(
		httpapi.Do(spec("/alerts/notify/{name}/{endpoint}", "Send alerts to an integration."), handled[endpointParams](s)),
		httpapi.Do(spec("/alerts/notify.json", "Send alerts to the first HTTP integration of a project."), handled[projectParams](s)),
		httpapi.Do(spec("/prometheus/alerts/notify.json", "Send alerts to the first Prometheus integration of a project."), handled[projectParams](s)),
	)
}

type projectParams struct {
	Project string `param:"project" doc:"Full path of the project"`
}

type endpointParams struct {
	projectParams
	Name     string `param:"name" doc:"Name of the integration, for people"`
	Endpoint string `param:"endpoint" doc:"Identifier of the integration's endpoint, and .json"`
}

// handled is the handler of all three, whose parameters were looked at before.
func handled[P any](s *Service) func(context.Context, httpapi.Call[httpapi.None, P]) ([]Brief, error) {
	return func(ctx context.Context, call httpapi.Call[httpapi.None, P]) ([]Brief, error) {
		return s.takeFrom(ctx, call.Body(maxPayload+1), ctx.Value(intakeKey{}).(*intake).integration)
	}
}

// takeFrom takes what a request carries for an integration.
func (s *Service) takeFrom(ctx context.Context, from io.Reader, in *Integration) ([]Brief, error) {
	body, release, err := s.read(ctx, in, from)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Take(ctx, in, body)
}

func write(_ context.Context, x *httpapi.Request, reply any) error {
	text, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	h := x.W.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = x.W.Write(text) // a client that hangs up is no error of ours
	return nil
}

// fail answers with a status alone.
func fail(x *httpapi.Request, err error) (hidden error) {
	err = httpapi.Away(err)
	status := http.StatusInternalServerError
	if f, known := fault.Of(err); known {
		status = cmp.Or(httpapi.StatusOf(f.Kind), status)
	}
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		x.W.Header().Set("Retry-After", httpapi.RetryAfter)
	case http.StatusUnauthorized:
		x.W.Header().Set("WWW-Authenticate", `Bearer realm="alerts"`)
	}
	x.W.WriteHeader(status)
	return httpapi.Hidden(err)
}
