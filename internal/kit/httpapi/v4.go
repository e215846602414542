package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/lifecycle"
)

// v4 is the dialect of the API proper.
func v4() Dialect {
	return Dialect{
		Base:         BaseV4,
		Path:         func(x *Request) string { return tidy(x.below()) },
		Begin:        beginV4,
		Authenticate: authenticateV4,
		Bind:         bindV4,
		Write:        writeV4,
		Fail:         failV4,
	}
}

// below is the path of the request below the base of its dialect, escaped as it came.
func (x *Request) below() string { return strings.TrimPrefix(x.R.URL.EscapedPath(), x.s.dialect.Base) }

func beginV4(ctx context.Context, x *Request) (answered bool, err error) {
	x.headers()
	if parked, ok := lifecycle.Resumed(ctx).(*parked); ok {
		return true, x.resume(ctx, parked)
	}
	if x.R.Method == http.MethodOptions {
		x.preflight()
		return true, nil
	}
	if len(x.R.URL.RawQuery) > maxQuery {
		writeJSON(x.W, http.StatusRequestURITooLong, map[string]string{"message": "414 Request-URI Too Large"})
		return true, nil
	}
	if cookieBytes(x.R) > maxCookies {
		writeJSON(x.W, http.StatusRequestHeaderFieldsTooLarge, map[string]string{"message": "431 Request Header Fields Too Large"})
		return true, nil
	}
	var textErr error
	if x.R.URL.RawQuery != "" {
		x.Values = map[string]any{}
		textErr = values(x.Values).readQuery(x.R.URL.RawQuery)
	}
	switch {
	case x.throttled(ctx):
		return true, nil
	case textErr != nil:
		return false, textErr
	case !cleanText(x.R.URL.Path):
		return false, errNotText
	case x.Endpoint == nil:
		return true, x.noEndpoint()
	}
	return false, nil
}

// authenticateV4 finds the actor and holds the token against the route.
func authenticateV4(ctx context.Context, x *Request) error {
	x.resolve(ctx)
	defer func() { x.SetRoute(x.Endpoint) }()
	if x.authErr != nil {
		return x.authErr
	}
	if target, given := x.sudo(); given {
		var err error
		// The sudo scope stands for the route's own: the request runs as the
		// other person, with that person's rights.
		x.Actor, err = x.s.Authenticator.Sudo(ctx, x.Actor, target)
		if err != nil {
			return err
		}
	} else {
		demand := access.Demand{Extra: x.Endpoint.Scopes, Any: x.Endpoint.AnyScope}
		if err := access.CheckScope(x.Actor.Credential, demand, x.reading()); err != nil {
			return err
		}
	}
	return access.CheckSignedIn(x.Actor, x.Endpoint.Needs)
}

// resolve looks the credential up, once for throttle and guard together.
func (x *Request) resolve(ctx context.Context) {
	if x.resolved {
		return
	}
	x.resolved = true
	x.Actor = access.Actor{Address: x.about.Address}
	if p, found := x.presented(); found {
		x.Actor, x.authErr = x.s.Authenticator.Authenticate(ctx, p)
		x.Actor.Address = x.about.Address
	}
}

func (x *Request) sudo() (target string, given bool) {
	if node, ok := x.Values["sudo"]; ok {
		text, _ := scalar(node)
		return text, true
	}
	target = x.R.Header.Get("Sudo")
	return target, target != ""
}

// A body that is read as a whole stays in memory, several times over, until the request is answered. So few large ones are read at once.
const (
	largeBody   = 4 << 20 // bytes
	largeBodies = 8       // one caller may have half of them
)

// bindV4 takes query and body as one; what stands in the body wins.
func bindV4(x *Request, params any) error {
	if !x.Endpoint.Streams {
		limit := x.Endpoint.MaxBody
		if !x.Actor.SignedIn() && limit == 0 {
			limit = maxStrange
		}
		if x.Values == nil {
			x.Values = map[string]any{}
		}
		if limit > largeBody && (x.R.ContentLength > largeBody || x.R.ContentLength == UnknownSize) {
			var err error
			if x.release, err = x.take(x.R.Context(), x.s.bodies); err != nil {
				return err
			}
		}
		if err := values(x.Values).readBody(x.W, x.R, limit); err != nil {
			return err
		}
	}
	if err := x.Fill(params, x.Values); err != nil {
		return err
	}
	if list, ok := params.(interface{ reach(int) }); ok {
		list.reach(x.s.Limits.MaxOffset())
	}
	return nil
}

// throttled counts the request against the instance's throttle.
func (x *Request) throttled(ctx context.Context) bool {
	t := x.Throttle()
	if !t.on() {
		return false
	}
	x.resolve(ctx)
	var userID int64
	if x.authErr == nil {
		userID = x.Actor.ID()
	}
	return t.Refuses(ctx, x.W, userID, x.about.Address)
}

func (x *Request) noEndpoint() error {
	if allow := x.Methods(); allow != nil {
		x.W.Header().Set("Allow", strings.Join(append(allow, http.MethodOptions), ", "))
		return fault.New(fault.MethodNotAllowed)
	}
	writeJSON(x.W, http.StatusNotFound, map[string]string{"error": "404 Not Found"})
	return nil
}

// headers that every answer carries. Scripts of any origin may read, but
// never with a browser's own credentials.
func (x *Request) headers() {
	h := x.W.Header()
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = sameOrigin
	h["Referrer-Policy"] = noReferrer
	h["Vary"] = varyOrigin
	if x.R.Header.Get("Origin") != "" {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", x.s.expose)
	}
}

var (
	noSniff    = []string{"nosniff"}
	sameOrigin = []string{"SAMEORIGIN"}
	noReferrer = []string{"no-referrer"}
	varyOrigin = []string{"Origin"}
)

func (x *Request) preflight() {
	h := x.W.Header()
	if asked := x.R.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	h.Set("Access-Control-Max-Age", "7200")
	x.W.WriteHeader(http.StatusNoContent)
}

// MovedError is the error of a load that found its subject under another name: a
// reader is sent there, anything else must be sent there by the client.
type MovedError struct {
	Param string // of the path
	To    string // its value now
}

func (m *MovedError) Error() string { return m.Param + " has moved to " + m.To }

func (x *Request) moved(m *MovedError) {
	if !x.reading() {
		writeJSON(x.W, http.StatusMethodNotAllowed, map[string]string{"message": "Non GET methods are not allowed for moved projects"})
		return
	}
	given := strings.Split(x.below(), "/")
	for i, segment := range strings.Split(x.Endpoint.Path, "/") {
		if segment == "{"+m.Param+"}" {
			given[i] = url.PathEscape(m.To)
		}
	}
	query := x.R.URL.Query()
	for _, name := range secretParams {
		query.Del(name)
	}
	to := strings.TrimSuffix(x.s.ExternalURL.String(), "/") + x.s.dialect.Base + strings.Join(given, "/")
	if encoded := query.Encode(); encoded != "" {
		to += "?" + encoded
	}
	x.W.Header().Set("Location", to)
	writeText(x.W, http.StatusMovedPermanently, "This resource has been moved permanently to "+to)
}

// failV4 writes the error. What is joined to the word that something is not
// available says why, and is for the log.
func failV4(x *Request, err error) (hidden error) {
	if m, ok := errors.AsType[*MovedError](err); ok {
		x.moved(m)
		return nil
	}
	if h, ok := errors.AsType[*headedError](err); ok {
		setHeaders(x.W.Header(), h.header)
	}
	err = Away(err)
	writeError(x.W, err)
	if errors.Is(err, errNotText) {
		return nil
	}
	return Hidden(err)
}
