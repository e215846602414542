package page

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/lifecycle"
)

const (
	maxBody    = 1 << 20
	maxLarge   = 4 << 20  // of a form that holds texts as large as those of a repository
	maxStrange = 32 << 10 // of a form that somebody sends who is not signed in
	maxQuery   = 16 << 10
)

// A page that is large stays in memory until the browser has read it, so that at most largePages are sent at once, and one caller may have at most
// half of them.
const (
	largePage  = 512 << 10 // bytes; pages above this are large
	largePages = 32
	largeWait  = time.Second
	largeRate  = 32 << 10 // bytes a second that keep a browser that reads one from being cut
)

// streams is how many answers are put together at once while they are sent. One caller may have half of them.
const streams = 8

// ErrAnswered ends a request that was answered already.
var ErrAnswered = errors.New("answered")

// Context is the context of the request.
func (x *Request) Context() context.Context { return x.R.Context() }

// Reading reports whether the page is looked at, rather than sent.
func (x *Request) Reading() bool {
	return x.R.Method == http.MethodGet || x.R.Method == http.MethodHead
}

// Read takes the form in. A field that was sent twice is refused, for nobody could say which one counts.
func (x *Request) Read(p Page) error {
	if len(x.R.URL.RawQuery) > maxQuery {
		return fault.New(fault.TooLarge)
	}
	x.Form = x.R.URL.Query()
	if !x.Reading() {
		most := int64(maxStrange)
		if x.Account != nil {
			most = maxBody
			if p.Large {
				most = maxLarge
			}
		}
		var err error
		if media, _, _ := mime.ParseMediaType(x.R.Header.Get("Content-Type")); p.File && x.Account != nil && media == "multipart/form-data" {
			err = readParts(x, most)
		} else {
			x.R.Body = http.MaxBytesReader(x.W, x.R.Body, most)
			err = x.R.ParseForm()
			x.Form = x.R.PostForm
		}
		if err != nil {
			return unread(err)
		}
	}
	for name, values := range x.Form {
		if len(values) > 1 && !slices.Contains(p.Many, name) {
			return fault.WithMessage(fault.BadParams, "A field was sent more than once.")
		}
		for _, value := range append(values, name) {
			if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
				return fault.WithMessage(fault.BadParams, "The form holds something that is not text.")
			}
		}
	}
	return nil
}

// unread is why a form could not be read.
func unread(err error) error {
	if _, much := errors.AsType[*http.MaxBytesError](err); much {
		return fault.New(fault.TooLarge)
	}
	if _, told := fault.Of(err); told || errors.Is(err, lifecycle.ErrSlow) {
		return err
	}
	return fault.WithMessage(fault.BadParams, "The form could not be read.")
}

// maxParts is how many fields a form with a file may have.
const maxParts = 1_000

// readParts takes in a form that may hold a file. What stands before the file is its fields; the file itself is left to whoever stores it, and
// nothing behind it is read.
func readParts(x *Request, most int64) error {
	parts, err := x.R.MultipartReader()
	if err != nil {
		return err
	}
	x.Form = url.Values{}
	for range maxParts {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if name := part.FileName(); name != "" {
			if !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
				return fault.WithMessage(fault.BadParams, "The name of the file is not text.")
			}
			x.File = &Upload{Name: name, Reader: part}
			return nil
		}
		value, err := io.ReadAll(io.LimitReader(part, most+1))
		if err != nil {
			return err
		}
		if most -= int64(len(value) + len(part.FormName())); most < 0 {
			return fault.New(fault.TooLarge)
		}
		x.Form.Add(part.FormName(), string(value))
	}
	return fault.New(fault.TooLarge)
}

// ID is the number in the path.
func (x *Request) ID() (int64, error) {
	id, err := strconv.ParseInt(x.R.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, fault.New(fault.NotFound)
	}
	return id, nil
}

// SignInPath is the page where people sign in.
const SignInPath = "/users/sign_in"

// AskToSignIn sends a stranger to sign in, and back to where they wanted to go.
func (x *Request) AskToSignIn() { x.Redirect(signInAndBack(x)) }

// SignInAndBack is the address of the page to sign in, which leads back here.
func (x *Request) SignInAndBack() URL { return x.Link(signInAndBack(x)) }

func signInAndBack(x *Request) string {
	if x.Reading() && x.R.URL.Path != "/" {
		return SignInPath + "?" + url.Values{"return_to": {x.R.URL.RequestURI()}}.Encode()
	}
	return SignInPath
}

// Redirect sends the browser to a path of this instance.
func (x *Request) Redirect(path string) { x.Leave(string(x.Link(path))) }

// Leave sends the browser to an address that was checked. What the browser sent here is not sent there (303).
func (x *Request) Leave(to string) {
	x.Headers()
	x.W.Header().Set("Location", to)
	x.W.WriteHeader(http.StatusSeeOther)
}

// LocalPath reads a path that came with a request and to which a browser is about to be sent. It takes an absolute path
// of this instance and nothing that a browser might read as another site; anything else is the home page.
func LocalPath(text string) string {
	const home = "/"
	if len(text) > maxQuery || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		return home
	}
	for _, c := range text {
		if c <= ' ' || c == '\\' || c > '~' {
			return home
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		strings.HasPrefix(u.Path, "//") || strings.ContainsAny(u.Path, "\\\r\n\t") {
		return home
	}
	if strings.HasPrefix(u.Path, "/users/sign_") {
		return home // it would lead in a circle
	}
	return u.RequestURI()
}

// Show answers with a page. It is rendered whole before the first byte is sent, so that a failure is still a page.
func (x *Request) Show(status int, l Layout, body templ.Component) error {
	v := newView(x, l, status)
	var out bytes.Buffer
	// Whoever went away meanwhile is no reason to fail half-way.
	if err := document(v, body).Render(context.WithoutCancel(x.Context()), &out); err != nil {
		return err
	}
	if out.Len() > largePage {
		ctx, cancel := context.WithTimeout(x.Context(), largeWait)
		defer cancel()
		release, err := x.large.Take(ctx, "")
		if err != nil {
			return fault.New(fault.TooMany)
		}
		defer release()
		lifecycle.Hurry(x.R, largeRate)
	}
	x.Headers()
	forgetFlash(x)
	x.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.W.WriteHeader(status)
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write(out.Bytes())
	}
	return nil
}

// Within refuses what is done more often than a limit of the instance allows: it is the one that the API counts, too.
func Within(x *Request, limit string) error {
	rule, on := x.throttle.Limits.Endpoint(limit, x.Actor)
	if on && x.throttle.Over(x.Context(), x.W, rule, x.Actor.ID(), x.Address) {
		return ErrAnswered
	}
	return nil
}

// Send answers with a file instead of a page. Where no media type is named, text is shown as text, whatever it describes, and everything else is
// handed out.
func (x *Request) Send(body io.ReadCloser, size int64, media, name string, attach bool) error {
	defer func() { _ = body.Close() }()
	var first []byte
	if media == "" {
		var err error
		if media, first, err = httpapi.Sniff(body); err != nil {
			return err
		}
		attach = attach || !strings.HasPrefix(media, "text/plain")
	}
	x.policy.file = true
	x.Headers()
	how := "inline"
	if attach {
		how = "attachment"
	}
	h := x.W.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": name}))
	x.W.WriteHeader(http.StatusOK)
	if x.R.Method == http.MethodHead {
		return nil
	}
	_, err := x.W.Write(first)
	if err == nil {
		_, err = io.Copy(x.W, body) // a file goes to the socket by itself
	}
	if err != nil && x.Context().Err() == nil {
		// The status is out: all that is left is to end the answer early.
		x.LogError("sending a file failed", err, nil)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// Stream answers with a file that is put together while it is sent, and so is as large as it becomes. It is handed out, never shown.
func Stream(x *Request, media, name string, write func(io.Writer) error) error {
	ctx, cancel := context.WithTimeout(x.Context(), largeWait)
	defer cancel()
	release, err := x.streams.Take(ctx, "")
	if err != nil {
		return fault.New(fault.TooMany)
	}
	defer release()
	lifecycle.Hurry(x.R, largeRate)
	x.policy.file = true
	x.Headers()
	h := x.W.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	x.W.WriteHeader(http.StatusOK)
	if x.R.Method == http.MethodHead {
		return nil
	}
	out := bufio.NewWriterSize(x.W, streamBuffer)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	if err != nil {
		// The status is out: all that is left is to end the answer early, so that nobody takes it for all.
		if x.Context().Err() == nil {
			x.LogError("sending a file failed", err, nil)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

const streamBuffer = 32 << 10

// LogError writes down what went wrong on our side.
func (x *Request) LogError(text string, err error, stack []byte) {
	attrs := []any{"error", err.Error(), "method", x.R.Method, "request_id", requestID(x), httpapi.Cause(err)}
	if stack != nil {
		attrs = append(attrs, "stack", string(stack))
	}
	x.log.Error(text, attrs...)
}

func requestID(x *Request) string { return httpapi.RecorderOf(x.Context()).RequestID }
