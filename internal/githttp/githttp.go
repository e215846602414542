// Package githttp is the door for git over HTTP: which paths there are, whose
// credentials come with a request, and what is answered when somebody is not
// let in. What they may do inside is decided by repository.
//
// It does not own LFS, whose requests it only lets in, nor SSH (gitssh).
package githttp

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"stithy/internal/deploykey"
	"stithy/internal/deploytoken"
	"stithy/internal/gitpath"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/wire"
	"stithy/internal/lfs"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the door needs from below.
type Deps struct {
	Settings     *setting.Service
	Users        *user.Service
	Tokens       *token.Service
	DeployTokens *deploytoken.Service
	DeployKeys   *deploykey.Service
	Projects     *project.Service
	Repositories *repository.Service
	Paths        *gitpath.Service
	LFS          *lfs.Service
	LargeFiles   *httpapi.Handler // the endpoints of LFS
	Throttle     httpapi.Throttle
	Clock        clock.Clock
	Log          *slog.Logger
	ExternalURL  *url.URL
	Names        wire.Names
	Ban          Ban
	MaxSilence   time.Duration // that a client may take nothing of its answer; a minute when zero

	// Password finds the account of a login and its password.
	Password func(ctx context.Context, login string, password secretbox.Secret, from netip.Addr) (*user.User, error)
}

// Server answers git clients.
type Server struct {
	deps Deps
	bans *bans

	mu      sync.Mutex
	created map[news]time.Time // projects that a push made, until their owner is told
}

// news are for one person about one project.
type news struct{ userID, projectID int64 }

// What of it is kept, and for how long: between the two requests of one push.
const (
	maxNews  = 1000
	newsLife = 10 * time.Minute
)

// remember notes that a push made a project. The request that asks for refs
// makes it, and the next one can say so.
func (s *Server) remember(n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.deps.Clock.Now()
	maps.DeleteFunc(s.created, func(_ news, at time.Time) bool { return now.Sub(at) > newsLife })
	if len(s.created) < maxNews {
		s.created[n] = now
	}
}

// tell reports once whether a push made the project.
func (s *Server) tell(n news) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := s.created[n]
	delete(s.created, n)
	return known && s.deps.Clock.Now().Sub(at) <= newsLife
}

// New makes the door.
func New(d Deps) *Server {
	if d.MaxSilence == 0 {
		d.MaxSilence = maxSilence
	}
	return &Server{deps: deps.Complete(d), bans: newBans(d.Ban, d.Clock), created: map[news]time.Time{}}
}

// target is what a path means.
type target struct {
	path string // of the project, or what stands in its place
	rest string // below the repository
	dot  bool   // the path was written with .git
}

// parse takes a path apart: the repository ends at the first ".git/", or
// before "/info/refs" where it was left out. Whatever is escaped in a path is
// no path of a project.
func parse(escaped string) (target, bool) {
	escaped = strings.TrimPrefix(escaped, "/")
	if strings.ContainsAny(escaped, "%\\") || strings.Contains(escaped, "//") {
		return target{}, false
	}
	if path, rest, ok := strings.Cut(escaped, ".git/"); ok {
		return target{path: path, rest: rest, dot: true}, path != "" && rest != ""
	}
	path, ok := strings.CutSuffix(escaped, "/info/refs")
	return target{path: path, rest: "info/refs"}, ok && strings.Contains(path, "/")
}

// Owns reports whether a path is for this door.
func (s *Server) Owns(escaped string) bool {
	_, ok := parse(escaped)
	return ok
}

// service is what a request asks for, by its path and method; the right that
// it needs follows from this and from nothing else.
func (t target) service(r *http.Request) (service gitstore.Service, advertise bool, err error) {
	switch t.rest {
	case "info/refs":
		asked := r.URL.Query()["service"]
		switch {
		case r.Method != http.MethodGet:
			return "", false, errCommand
		case len(asked) == 0:
			return "", false, errNothing // the protocol that knows files alone
		case len(asked) > 1:
			return "", false, errCommand
		}
		service, advertise = gitstore.Service(asked[0]), true
	case string(gitstore.UploadPack), string(gitstore.ReceivePack):
		if r.Method != http.MethodPost {
			return "", false, errNothing
		}
		service = gitstore.Service(t.rest)
		if asked, given := r.URL.Query()["service"]; given && (len(asked) != 1 || asked[0] != t.rest) {
			return "", false, errCommand
		}
	default:
		return "", false, errNothing
	}
	if service != gitstore.UploadPack && service != gitstore.ReceivePack {
		return "", false, errCommand
	}
	return service, advertise, nil
}

var (
	errCommand = fault.WithMessage(fault.Forbidden, "The command you're trying to execute is not allowed.")
	errNothing = fault.WithMessage(fault.NotFound, "Not Found")
	errProject = fault.WithMessage(fault.NotFound, "The project you were looking for could not be found or you don't have permission to view it.")
	errClosed  = fault.WithMessage(fault.Forbidden, "Git access over HTTP is not allowed")
	errMedia   = fault.New(fault.UnsupportedMedia)
	errBody    = fault.WithMessage(fault.BadParams, "The body is not what its header says.")
)

// ServeHTTP answers a git client.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := &sentWriter{ResponseWriter: w}
	err := s.serve(sent, r)
	if err == nil {
		return
	}
	if errors.Is(err, lifecycle.ErrSlow) && !sent.begun {
		http.Error(w, "Request Timeout", http.StatusRequestTimeout)
		return
	}
	f, shown := fault.Of(err)
	why := shown && f.Kind == fault.Unavailable && err != error(f) //nolint:errorlint // what is joined to it says why
	if (!shown || why || sent.begun) && r.Context().Err() == nil {
		s.deps.Log.LogAttrs(r.Context(), slog.LevelWarn, "serving git", slog.String("path", r.URL.Path), slog.String("error", err.Error()), httpapi.Cause(err))
	}
	if sent.begun {
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	}
	s.refuse(w, httpapi.Away(err))
}

// closed reports whether the administrator lets git in over SSH alone.
func (s *Server) closed() bool {
	return string(s.deps.Settings.Current().EnabledGitAccessProtocol) == "ssh"
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	t, ok := parse(r.URL.EscapedPath())
	if !ok {
		return errNothing
	}
	if !t.dot {
		return s.redirect(w, r, t)
	}
	if s.deps.LFS != nil && s.deps.LFS.Owns(t.rest) {
		return s.serveLFS(w, r, t)
	}
	service, advertise, err := t.service(r)
	if err != nil {
		return err
	}
	if s.closed() {
		return errClosed
	}
	if !advertise && mediaType(r) != "application/x-"+string(service)+"-request" {
		return errMedia
	}
	by, err := s.authenticate(r)
	if err != nil {
		return err
	}
	httpapi.RecorderOf(r.Context()).SetRoute("/{project}.git/"+string(service), by.Actor)
	x := repository.GitRequest{
		Service: service, Via: repository.ViaHTTP, Protocol: r.Header.Get("Git-Protocol"), Stateless: true, Advertise: advertise,
	}
	switch at, named, err := s.findText(r.Context(), by, t, service); {
	case err != nil:
		return err
	case named:
		return s.exchange(w, r, by, x, func(ctx context.Context, x repository.GitRequest) error {
			return s.deps.Repositories.ServeText(ctx, by.Actor, at, x)
		})
	}
	p, notices, err := s.find(r.Context(), by, t, service)
	if err != nil {
		return err
	}
	if err := repository.CheckAccess(by.Actor, p, service); err != nil {
		if !by.known() {
			return errUnknown
		}
		return err
	}
	if !advertise && service == gitstore.ReceivePack && s.tell(news{by.ID(), p.ID}) {
		at := s.deps.ExternalURL.JoinPath(p.FullPath())
		notices = repository.Created(p, at.String()+".git", at.String())
	}
	x.Notices = notices
	return s.exchange(w, r, by, x, func(ctx context.Context, x repository.GitRequest) error {
		return s.deps.Repositories.Serve(ctx, by.Actor, p, x)
	})
}

// findText finds the repository of a wiki or a snippet for someone who may use it. named is false where the path is that of a
// project, or may be.
func (s *Server) findText(ctx context.Context, by caller, t target, service gitstore.Service) (at repository.TextTarget, named bool, err error) {
	at, named, err = s.deps.Paths.Find(ctx, by.Actor, t.path, service)
	hidden := fault.Is(err, fault.NotFound)
	switch {
	case named && !by.known() && (hidden || fault.Is(err, fault.Forbidden)):
		err = errUnknown
	case named && (hidden || (err == nil && by.token != nil)): // tokens of deployments read code alone
		err = errProject
	}
	return at, named, err
}

// exchange passes bytes on.
func (s *Server) exchange(
	w http.ResponseWriter, r *http.Request, by caller, x repository.GitRequest, serve func(context.Context, repository.GitRequest) error,
) error {
	kind := "-result"
	if x.Advertise {
		kind = "-advertisement"
	} else {
		body, err := decoded(r)
		if err != nil {
			return err
		}
		x.In = body
		// The progress of a push comes while its pack is still on its way. A fetch is read to its end before it is answered.
		if x.Service == gitstore.ReceivePack {
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
		}
	}
	header := w.Header()
	header.Set("Content-Type", "application/x-"+string(x.Service)+kind)
	header.Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	header.Set("Pragma", "no-cache")
	header.Set("Expires", "Fri, 01 Jan 1980 00:00:00 GMT")
	control := http.NewResponseController(w)
	x.Out = &flushWriter{w, control, s.deps.MaxSilence}
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may serve another request
	return serve(fairshare.With(r.Context(), by.Caller()), x)
}

// decoded is the body of a request, unpacked.
func decoded(r *http.Request) (io.Reader, error) {
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
		return theirs{r.Body}, nil
	case "gzip", "x-gzip":
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, errBody
		}
		return theirs{body}, nil
	}
	return nil, errMedia
}

// theirs is what a client sends. Where it cannot be read, the client is told so.
type theirs struct{ io.Reader }

func (t theirs) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errors.Join(errBody, err)
	}
	return n, err
}

func mediaType(r *http.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind)
}

// redirect sends a client that left out .git to where it should have gone. It
// tells nothing about what is there.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request, t target) error {
	if r.Method != http.MethodGet {
		return errNothing
	}
	to := s.deps.ExternalURL.JoinPath(t.path + ".git/info/refs")
	if asked := r.URL.Query()["service"]; len(asked) == 1 {
		to.RawQuery = url.Values{"service": asked}.Encode()
	}
	http.Redirect(w, r, to.String(), http.StatusMovedPermanently)
	return nil
}

// find reads the project for someone who sees it. A push to a path that is
// free makes one, where they may.
func (s *Server) find(ctx context.Context, by caller, t target, service gitstore.Service) (*project.Project, []string, error) {
	p, moved, err := s.look(ctx, by, t.path)
	switch {
	case err == nil && moved && p.FullPath() != t.path:
		return p, repository.Moved(t.path, p, s.deps.ExternalURL.JoinPath(p.FullPath()+".git").String()), nil
	case err == nil:
		return p, nil, nil
	case !fault.Is(err, fault.NotFound):
		return nil, nil, err
	case !by.known():
		return nil, nil, errUnknown
	case service == gitstore.ReceivePack:
		return s.create(ctx, by, t.path)
	}
	return nil, nil, errProject
}

// look finds a project by its path, present or former.
func (s *Server) look(ctx context.Context, by caller, path string) (*project.Project, bool, error) {
	if by.token == nil {
		return s.deps.Projects.FindByRef(ctx, by.Actor, path)
	}
	id, err := s.deps.Projects.IDByPath(ctx, path)
	if err != nil {
		return nil, false, err
	}
	if reaches, err := s.deps.DeployTokens.Reaches(ctx, by.token, id); err != nil || !reaches {
		return nil, false, errors.Join(errProject, err)
	}
	p, err := s.deps.Projects.Known(ctx, id)
	if err == nil {
		p.Role = access.Reporter // as far as reading goes
	}
	return p, err == nil && p.FullPath() != path, err
}

// create makes the project that somebody pushes to.
func (s *Server) create(ctx context.Context, by caller, path string) (*project.Project, []string, error) {
	if !access.MayGit(by.Credential, true) {
		return nil, nil, errProject
	}
	p, err := s.deps.Projects.CreateAt(ctx, by.Actor, path)
	f, shown := fault.Of(err)
	switch {
	case shown && f.Kind == fault.NotFound:
		return nil, nil, errProject
	case shown:
		return nil, nil, fault.WithMessage(fault.Unprocessable, "%s", f.Error())
	case err == nil:
		s.remember(news{by.ID(), p.ID})
	}
	return p, nil, err
}

// refuse writes a refusal in plain text.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	f, ok := fault.Of(err)
	status, text := http.StatusInternalServerError, "Internal Server Error"
	if ok {
		status, text = httpapi.StatusOf(f.Kind), f.Error()
		if status == http.StatusUnauthorized { // without the words below it would make git ask for a password in vain
			status = http.StatusForbidden
		}
	}
	switch {
	case errors.Is(err, errUnknown), errors.Is(err, errPassword):
		status, text = http.StatusUnauthorized, s.denied()
		if errors.Is(err, errUnknown) {
			w.Header().Set("Www-Authenticate", `Basic realm="`+s.deps.Names.Text()+`"`)
		}
	case status == http.StatusUnsupportedMediaType:
		text = "Unsupported Media Type"
	case status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", httpapi.RetryAfter)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) //nolint:gosec // plain text, and nobody sniffs it
}

// denied is what everybody hears who did not prove who they are.
func (s *Server) denied() string {
	return "HTTP Basic: Access denied. The provided password or token is incorrect or your account has 2FA enabled and you must use a personal access token instead of a password. See " +
		s.deps.ExternalURL.JoinPath("-/user_settings/personal_access_tokens").String()
}

// sentWriter knows whether an answer has begun.
type sentWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *sentWriter) WriteHeader(code int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *sentWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

func (w *sentWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// flushWriter sends small pieces at once: they are for people who wait. A
// client that takes none for a while is cut off.
type flushWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	silence time.Duration
}

// maxSilence is how long a client may take nothing of its answer.
const maxSilence = time.Minute

func (w *flushWriter) Write(b []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(w.silence)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := w.ResponseWriter.Write(b)
	if err == nil && len(b) < 2048 {
		err = w.control.Flush()
		if errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	return n, err
}
