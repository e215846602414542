package oauth

import (
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Door is the part of the provider that programs talk to. It is not the v4
// API: the parameters, the answers and the errors are those of the standards.
type Door struct {
	*Service
	Throttle httpapi.Throttle
	Log      *slog.Logger
}

// route is one address of the protocol.
type route struct {
	methods   []string
	cors      bool // scripts of other origins may call it
	preflight bool // with a header of their own
	handle    func(x *exchange) error
}

func (d *Door) routes() map[string]route {
	get, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	return map[string]route{
		"/oauth/token":                            {methods: post, cors: true, preflight: true, handle: d.handleToken},
		"/oauth/revoke":                           {methods: post, cors: true, preflight: true, handle: d.handleRevoke},
		"/oauth/introspect":                       {methods: post, handle: d.handleIntrospect},
		"/oauth/token/info":                       {methods: get, handle: d.handleInfo},
		"/oauth/userinfo":                         {methods: append(get, post...), cors: true, preflight: true, handle: d.handleUserInfo},
		"/oauth/discovery/keys":                   {methods: get, cors: true, handle: d.handleKeys},
		"/.well-known/openid-configuration":       {methods: get, cors: true, handle: d.handleDiscovery},
		"/.well-known/oauth-authorization-server": {methods: get, cors: true, handle: d.handleDiscovery},
		"/.well-known/webfinger":                  {methods: get, cors: true, handle: d.handleWebfinger},
	}
}

// exchange is one request.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	address netip.Addr
	params  map[string]string
}

// Handler serves the paths.
func (d *Door) Handler() http.Handler {
	routes := d.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		about := httpapi.RecorderOf(r.Context())
		x := &exchange{w: w, r: r, address: about.Address}
		rt, known := routes[r.URL.Path]
		if known {
			about.SetRoute(r.URL.Path, access.Actor{})
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "SAMEORIGIN")
		h.Set("Referrer-Policy", "no-referrer")
		if !known {
			x.json(http.StatusNotFound, map[string]string{"error": "404 Not Found"})
			return
		}
		x.crossOrigin(rt)
		switch {
		case r.Method == http.MethodOptions && rt.preflight:
			w.WriteHeader(http.StatusOK)
			return
		case !slices.Contains(rt.methods, r.Method):
			h.Set("Allow", strings.Join(rt.methods, ", "))
			x.json(http.StatusMethodNotAllowed, map[string]string{"error": "405 Not Allowed"})
			return
		case d.throttled(x):
			return
		}
		err := x.read()
		if err == nil {
			err = rt.handle(x)
		}
		if err != nil {
			x.fail(err, d.Log)
		}
	})
}

// throttled counts the request against the throttles of the instance, by
// address, and answers it when there were too many.
func (d *Door) throttled(x *exchange) bool {
	if x.r.Method == http.MethodPost {
		rule, active := d.deps.Settings.ProtectedPath(x.r.URL.Path, false)
		if active && d.Throttle.Over(x.r.Context(), x.w, rule, 0, x.address) {
			return true
		}
	}
	return d.Throttle.Refuses(x.r.Context(), x.w, 0, x.address)
}

// plainHeaders are those that scripts of other origins may set on requests
// that are asked about first.
var plainHeaders = []string{"accept", "accept-language", "authorization", "content-language", "content-type"}

// crossOrigin lets scripts of any origin call and read, never with a
// browser's own credentials. A preflight for another header gets no leave.
func (x *exchange) crossOrigin(rt route) {
	h := x.w.Header()
	h.Set("Vary", "Origin")
	if !rt.cors || x.r.Header.Get("Origin") == "" {
		return
	}
	methods := rt.methods
	if rt.preflight {
		methods = append(slices.Clone(methods), http.MethodOptions)
	}
	if x.r.Method == http.MethodOptions {
		for name := range strings.SplitSeq(x.r.Header.Get("Access-Control-Request-Headers"), ",") {
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

var errUnreadable = &Error{Code: InvalidRequest, Text: "The request is malformed."}

// read takes the parameters of query and body. Each stands once: which of two
// values counts must never be a matter of parsing (RFC 6749, section 3.2).
func (x *exchange) read() error {
	x.params = map[string]string{}
	if len(x.r.URL.RawQuery) > maxQuery {
		return errUnreadable
	}
	if err := x.add(x.r.URL.RawQuery); err != nil {
		return err
	}
	if x.r.Method != http.MethodPost {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if err != nil {
		return errUnreadable
	}
	media, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if media != "application/json" {
		return x.add(string(body))
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return errUnreadable
	}
	for name, value := range object {
		text, ok := value.(string)
		if !ok {
			return errUnreadable
		}
		if err := x.put(name, text); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) add(encoded string) error {
	values, err := url.ParseQuery(encoded)
	if err != nil {
		return errUnreadable
	}
	for name, all := range values {
		for _, value := range all {
			if err := x.put(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *exchange) put(name, value string) error {
	if _, twice := x.params[name]; twice || !utf8.ValidString(name+value) || strings.IndexByte(name+value, 0) >= 0 {
		return errUnreadable
	}
	x.params[name] = value
	return nil
}

// client is how the caller says which application it is: HTTP Basic, or
// parameters.
func (x *exchange) client() Client {
	if id, secret, ok := x.r.BasicAuth(); ok {
		return Client{ID: unescaped(id), Secret: secretbox.Secret(unescaped(secret))}
	}
	return Client{ID: x.params["client_id"], Secret: secretbox.Secret(x.params["client_secret"])}
}

// unescaped undoes the form encoding that careful clients apply inside Basic.
func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil && utf8.ValidString(plain) && strings.IndexByte(plain, 0) < 0 {
		return plain
	}
	return ""
}

func (x *exchange) bearer() string {
	if scheme, token, ok := strings.Cut(x.r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return token
	}
	return ""
}

// token is the access token of the caller, wherever it stands.
func (x *exchange) token() string {
	if token := x.bearer(); token != "" {
		return token
	}
	return x.params["access_token"]
}

func (x *exchange) json(status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store, no-cache")
		h.Set("Pragma", "no-cache")
	}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(text)
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

// fail is the only writer of the protocol's errors. What no client may see is
// logged here, once.
func (x *exchange) fail(err error, log *slog.Logger) {
	r, ok := Refused(err)
	if !ok {
		r, _ = Refused(refuse(ServerError))
		if x.r.URL.Path == "/oauth/revoke" || postgres.Unavailable(err) { // it may not be done; the client has to ask again (RFC 7009)
			r, _ = Refused(refuse(Unavailable))
			x.w.Header().Set("Retry-After", httpapi.RetryAfter)
		}
		attrs := []any{"error", err.Error(), "route", x.r.URL.Path, "request_id", httpapi.RecorderOf(x.r.Context()).RequestID, httpapi.Cause(err)}
		if x.r.Context().Err() == nil {
			log.Error("request failed", attrs...)
		}
	}
	status, known := statuses[r.Code]
	if !known {
		status = http.StatusBadRequest
	}
	if r.Code == UnauthorizedClient && x.r.URL.Path == "/oauth/revoke" {
		status = http.StatusForbidden
	}
	x.challenge(r)
	x.json(status, errorForm{Error: r.Code, Description: r.Text, State: x.params["state"]})
}

func (x *exchange) challenge(r *Error) {
	x.w.Header().Set("WWW-Authenticate",
		`Bearer realm="Doorkeeper", error=`+strconv.Quote(string(r.Code))+`, error_description=`+strconv.Quote(r.Text))
}
