package lfs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/project"
)

// contentType is what LFS clients send and expect.
const contentType = "application/vnd.git-lfs+json"

const (
	maxBody    = 1 << 20  // clients ask for a hundred files at a time, in about 20 kB
	maxStrange = 32 << 10 // from somebody who has not shown who they are
	maxObjects = 1000     // in one batch; clients send a hundred
	maxLocks   = 100      // on one page
)

// RequestInfo is what githttp found out about a request before this room sees it: who asks, what they may do, and for which path.
type RequestInfo struct {
	Actor   access.Actor
	Project *project.Project
	Push    bool   // may write; reading is given
	Rest    string // of the path, below the repository
}

type infoKey struct{}

// WithRequestInfo is ctx with what the endpoints of this room need to know of a request.
func WithRequestInfo(ctx context.Context, v RequestInfo) context.Context {
	return context.WithValue(ctx, infoKey{}, v)
}

func infoOf(ctx context.Context) RequestInfo {
	v, _ := ctx.Value(infoKey{}).(RequestInfo)
	return v
}

// Check says whether githttp found that the caller has an ability. It knows more than roles: tickets, deploy keys, deploy tokens.
func (v RequestInfo) Check(can access.Ability) error {
	if can == access.ReadCode || v.Push {
		return nil
	}
	return errForbidden
}

// Owns reports whether a path below a repository is one of ours.
func (s *Service) Owns(rest string) bool {
	return strings.HasPrefix(rest, "info/lfs/") || strings.HasPrefix(rest, s.deps.Names.Service+"-lfs/objects/")
}

// Dialect is how LFS clients speak: below the path of a project, with the credentials of git. The door has found both.
func (s *Service) Dialect() *httpapi.Dialect { return &s.dialect }

type dialect = httpapi.Dialect

func newDialect() dialect {
	return dialect{
		Name: "lfs", Base: "/{project}.git", Media: contentType, Error: errorForm{},
		Path: func(x *httpapi.Request) string { return "/" + infoOf(x.R.Context()).Rest },
		Begin: func(_ context.Context, x *httpapi.Request) (answered bool, err error) {
			if x.Endpoint == nil || x.Endpoint.Method != x.R.Method { // HEAD is not for GET here
				return false, fault.New(fault.NotFound)
			}
			return false, nil
		},
		Authenticate: func(ctx context.Context, x *httpapi.Request) error {
			x.Actor = infoOf(ctx).Actor
			x.SetRoute(x.Endpoint)
			return nil
		},
		Bind: bind, Write: write, Fail: fail,
	}
}

// Endpoints of the room, in its dialect.
func (s *Service) Endpoints() []httpapi.Endpoint {
	object := "/" + s.deps.Names.Service + "-lfs/objects/{oid}"
	return s.dialect.In(
		on(httpapi.Spec{
			Route: "POST /info/lfs/objects/batch", Needs: access.ReadCode, ExtraRefusals: "uploads need push_code",
			Summary: "Say for each of some large files where to fetch it or where to send it.",
		}, s.handleBatch),
		on(httpapi.Spec{Route: "GET " + object, Needs: access.ReadCode, Summary: "Download a large file."}, s.handleDownload),
		on(httpapi.Spec{Route: "PUT " + object + "/{size:rest}", Needs: access.PushCode, Streams: true, Summary: "Upload a large file."}, s.handleUpload),
		on(httpapi.Spec{Route: "GET /info/lfs/locks", Needs: access.ReadCode, Summary: "List the locks of a project."}, s.handleLocks),
		on(httpapi.Spec{
			Route: "POST /info/lfs/locks", Needs: access.PushCode, Status: http.StatusCreated,
			Summary: "Lock a path.",
		}, s.handleLock),
		on(httpapi.Spec{
			Route: "POST /info/lfs/locks/verify", Needs: access.PushCode,
			Summary: "List the locks of a project, one's own apart.",
		}, s.handleVerify),
		on(httpapi.Spec{
			Route: "POST /info/lfs/locks/{id}/unlock", Needs: access.PushCode, ExtraRefusals: "the lock of somebody else goes with force and a role that may",
			Summary: "Take a lock away.",
		}, s.handleUnlock),
	)
}

// on joins a declaration to its handler, with what the credentials of git need to hold.
func on[P, R any](spec httpapi.Spec, handle func(context.Context, httpapi.Call[RequestInfo, P]) (R, error)) httpapi.Endpoint {
	spec.Credentials = []string{"basic"}
	for _, scope := range []access.Scope{access.ScopeAPI, access.ScopeReadAPI, access.ScopeReadRepository, access.ScopeWriteRepository} {
		token := access.Credential{Kind: access.PersonalToken, Scopes: access.Scopes{scope}}
		if access.MayGit(token, spec.Needs == access.PushCode) {
			spec.Scopes = append(spec.Scopes, scope)
		}
	}
	return httpapi.On(spec, func(ctx context.Context, _ access.Actor, _ P) (RequestInfo, error) {
		v := infoOf(ctx)
		if v.Project == nil || !v.Project.Settings.LFSEnabled {
			return v, fault.New(fault.NotFound)
		}
		return v, nil
	}, handle)
}

var errForbidden = fault.WithReason(fault.Forbidden, "Access forbidden. Check your access level.")

type action struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header,omitempty"`
}

type objectError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type objectForm struct {
	OID           string            `json:"oid"`
	Size          int64             `json:"size"`
	Authenticated bool              `json:"authenticated,omitempty"`
	Actions       map[string]action `json:"actions,omitempty"`
	Error         *objectError      `json:"error,omitempty"`
}

type batchForm struct {
	Transfer string       `json:"transfer"`
	Objects  []objectForm `json:"objects"`
	HashAlgo string       `json:"hash_algo"`
}

type batchParams struct {
	Operation string   `param:"operation" doc:"download or upload"`
	Objects   []Object `param:"objects" doc:"The files"`
	HashAlgo  string   `param:"hash_algo" json:"hash_algo" doc:"sha256"`
}

// handleBatch says what to do about each object: where to fetch it, where to
// send it, or that there is nothing to do.
func (s *Service) handleBatch(ctx context.Context, call httpapi.Call[RequestInfo, batchParams]) (batchForm, error) {
	in, v := call.Params, call.Subject
	upload := in.Operation == "upload"
	switch {
	case !upload && in.Operation != "download":
		return batchForm{}, fault.WithMessage(fault.Unprocessable, "operation is neither download nor upload")
	case upload && !v.Push:
		return batchForm{}, errForbidden
	case len(in.Objects) > maxObjects:
		return batchForm{}, fault.WithMessage(fault.TooLarge, "a batch has at most %d objects", maxObjects)
	case in.HashAlgo != "" && in.HashAlgo != "sha256":
		return batchForm{}, fault.WithMessage(fault.Unprocessable, "hash_algo is not sha256")
	}
	known, err := s.has(ctx, v.Project.ID, in.Objects)
	if err != nil {
		return batchForm{}, err
	}
	reply := batchForm{Transfer: "basic", Objects: make([]objectForm, 0, len(in.Objects)), HashAlgo: "sha256"}
	for _, o := range in.Objects {
		reply.Objects = append(reply.Objects, s.plan(call.Header("Authorization"), v, o, upload, known))
	}
	return reply, nil
}

func (s *Service) plan(login string, v RequestInfo, o Object, upload bool, known map[string]int64) objectForm {
	form := objectForm{OID: o.OID, Size: o.Size}
	size, has := known[o.OID]
	href := s.deps.ExternalURL + "/" + v.Project.FullPath() + ".git/" + s.deps.Names.Service + "-lfs/objects/" + o.OID
	// Clients send along what let them in here.
	header := map[string]string{}
	if login != "" {
		header["Authorization"] = login
	}
	switch {
	case !o.valid():
		form.Error = &objectError{Code: http.StatusUnprocessableEntity, Message: "The object's digest or size is not valid"}
	case upload && !has && s.deps.MaxSize > 0 && o.Size > s.deps.MaxSize:
		form.Error = &objectError{Code: http.StatusRequestEntityTooLarge, Message: s.tooLarge().Error()}
	case upload && !has:
		header["Content-Type"] = "application/octet-stream"
		form.Authenticated, form.Actions = true, map[string]action{"upload": {Href: href + "/" + strconv.FormatInt(o.Size, 10), Header: header}}
	case upload:
	case !has:
		form.Error = &objectError{
			Code: http.StatusNotFound, Message: "Object does not exist on the server or you don't have permissions to access it",
		}
	default:
		form.Size = size
		form.Authenticated, form.Actions = true, map[string]action{"download": {Href: href, Header: header}}
	}
	return form
}

// UnmarshalJSON keeps a batch with one odd object from failing as a whole.
func (o *Object) UnmarshalJSON(text []byte) error {
	var in struct {
		OID  string      `json:"oid"`
		Size json.Number `json:"size"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	size, err := in.Size.Int64()
	if err != nil {
		size = -1
	}
	*o = Object{OID: in.OID, Size: size}
	return nil
}

type objectParams struct {
	OID string `param:"oid" doc:"Digest of the file"`
}

func (s *Service) handleDownload(ctx context.Context, call httpapi.Call[RequestInfo, objectParams]) (httpapi.Stream, error) {
	size, body, err := s.Open(ctx, call.Subject.Project.ID, call.Params.OID)
	return httpapi.Stream{Size: size, Open: func(context.Context) (io.ReadCloser, error) { return body, nil }}, err
}

type uploadParams struct {
	objectParams
	Size string `param:"size" doc:"Its size in bytes"`
}

func (s *Service) handleUpload(ctx context.Context, call httpapi.Call[RequestInfo, uploadParams]) (httpapi.EmptyBody, error) {
	size, err := strconv.ParseInt(call.Params.Size, 10, 64)
	if err != nil || (call.Length() >= 0 && call.Length() != size) {
		return httpapi.EmptyBody{}, fault.WithMessage(fault.Unprocessable, "The size is not the one of the body.")
	}
	return httpapi.EmptyBody{}, s.Store(ctx, call.Subject.Project.ID, Object{OID: call.Params.OID, Size: size}, call.Body(math.MaxInt64))
}

type ownerForm struct {
	Name string `json:"name"`
}

type lockForm struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	LockedAt string    `json:"locked_at"`
	Owner    ownerForm `json:"owner"`
}

func presentLock(l Lock) lockForm {
	return lockForm{
		ID: strconv.FormatInt(l.ID, 10), Path: l.Path, LockedAt: l.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"),
		Owner: ownerForm{Name: l.OwnerName},
	}
}

type oneLock struct {
	Lock    lockForm `json:"lock"`
	Message string   `json:"message,omitempty"`
}

type lockParams struct {
	Path string `param:"path" doc:"The path to lock"`
}

// lockedError is the refusal of a lock on a path that has one.
type lockedError struct{ lock Lock }

func (e *lockedError) Error() string { return "already locked" }

func (s *Service) handleLock(ctx context.Context, call httpapi.Call[RequestInfo, lockParams]) (oneLock, error) {
	l, err := s.Lock(ctx, call.Actor, call.Subject.Project.ID, call.Params.Path)
	if fault.Is(err, fault.Conflict) {
		err = &lockedError{l}
	}
	return oneLock{Lock: presentLock(l)}, err
}

type lockList struct {
	Locks      []lockForm `json:"locks"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

type listParams struct {
	ID     string `param:"id" bytes:"1048576" doc:"Only the lock with this ID"`
	Path   string `param:"path" bytes:"1048576" doc:"Only locks of this path"`
	Cursor string `param:"cursor" bytes:"1048576" doc:"Where the page begins: next_cursor of the one before"`
	Limit  string `param:"limit" bytes:"1048576" doc:"How many at the most, up to a hundred"`
}

func (s *Service) handleLocks(ctx context.Context, call httpapi.Call[RequestInfo, listParams]) (lockList, error) {
	q := call.Params
	locks, cursor, err := s.locks(ctx, call.Subject, q.Cursor, q.Limit, q.Path)
	if err != nil {
		return lockList{}, err
	}
	reply := lockList{Locks: []lockForm{}, NextCursor: cursor}
	for _, l := range locks {
		if q.ID == "" || q.ID == strconv.FormatInt(l.ID, 10) {
			reply.Locks = append(reply.Locks, presentLock(l))
		}
	}
	return reply, nil
}

func (s *Service) locks(ctx context.Context, v RequestInfo, cursor, size, path string) ([]Lock, string, error) {
	after, _ := strconv.ParseInt(cursor, 10, 64)
	limit, _ := strconv.Atoi(size)
	if limit <= 0 || limit > maxLocks {
		limit = maxLocks
	}
	locks, more, err := s.Locks(ctx, v.Project.ID, after, path, limit)
	if !more {
		return locks, "", err
	}
	return locks, strconv.FormatInt(locks[len(locks)-1].ID, 10), err
}

type verifyForm struct {
	Ours       []lockForm `json:"ours"`
	Theirs     []lockForm `json:"theirs"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

type verifyParams struct {
	Cursor string      `param:"cursor" doc:"Where the page begins: next_cursor of the one before"`
	Limit  json.Number `param:"limit" doc:"How many at the most, up to a hundred"`
}

func (s *Service) handleVerify(ctx context.Context, call httpapi.Call[RequestInfo, verifyParams]) (verifyForm, error) {
	locks, cursor, err := s.locks(ctx, call.Subject, call.Params.Cursor, call.Params.Limit.String(), "")
	if err != nil {
		return verifyForm{}, err
	}
	reply := verifyForm{Ours: []lockForm{}, Theirs: []lockForm{}, NextCursor: cursor}
	for _, l := range locks {
		side := &reply.Theirs
		if call.Actor.Is(l.UserID) {
			side = &reply.Ours
		}
		*side = append(*side, presentLock(l))
	}
	return reply, nil
}

type unlockParams struct {
	ID    string `param:"id" json:"-" doc:"ID of the lock"`
	Force bool   `param:"force" doc:"Also the lock of somebody else"`
}

func (s *Service) handleUnlock(ctx context.Context, call httpapi.Call[RequestInfo, unlockParams]) (oneLock, error) {
	number, err := strconv.ParseInt(call.Params.ID, 10, 64)
	if err != nil {
		return oneLock{}, fault.NotFoundf("Lock")
	}
	l, err := s.Unlock(ctx, call.Actor, call.Subject.Project, number, call.Params.Force)
	return oneLock{Lock: presentLock(l)}, err
}

// bind reads the query of a reader and the JSON of everybody else. The JSON is
// read as LFS clients write it, into the very struct.
func bind(x *httpapi.Request, params any) error {
	switch {
	case x.Endpoint.Streams:
		return nil
	case x.R.Method == http.MethodGet:
		given := map[string]any{}
		for name, values := range x.R.URL.Query() {
			given[name] = values[0]
		}
		return x.Fill(params, given)
	}
	if kind, _, err := mime.ParseMediaType(x.R.Header.Get("Content-Type")); err != nil || (kind != contentType && kind != "application/json") {
		return fault.WithMessage(fault.UnsupportedMedia, "the body is not "+contentType)
	}
	most := int64(maxBody)
	if x.Actor.Credential.Kind == "" {
		most = maxStrange
	}
	text, err := io.ReadAll(http.MaxBytesReader(x.W, x.R.Body, most))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return fault.WithMessage(fault.TooLarge, "the body is too large")
	case errors.Is(err, lifecycle.ErrSlow):
		return err
	case err == nil && len(text) == 0:
		return nil
	case err == nil && !httpapi.ModestJSON(text):
		return fault.WithMessage(fault.TooLarge, "the body has too many elements")
	case err == nil && json.Unmarshal(text, params) == nil:
		return nil
	}
	return fault.WithMessage(fault.Unprocessable, "the body is not valid JSON")
}

func write(ctx context.Context, x *httpapi.Request, reply any) error {
	switch reply := reply.(type) {
	case httpapi.EmptyBody:
		x.W.WriteHeader(x.Endpoint.Status)
	case httpapi.Stream:
		body, err := reply.Open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		h := x.W.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Length", strconv.FormatInt(reply.Size, 10))
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = io.Copy(x.W, body) // a client that hangs up is no error of ours
	default:
		writeJSON(x.W, x.Endpoint.Status, reply)
	}
	return nil
}

type errorForm struct {
	Message string `json:"message"`
}

func fail(x *httpapi.Request, err error) (hidden error) {
	if locked, ok := errors.AsType[*lockedError](err); ok {
		writeJSON(x.W, http.StatusConflict, oneLock{Lock: presentLock(locked.lock), Message: "already locked"})
		return nil
	}
	err = httpapi.Away(err)
	status, text := http.StatusInternalServerError, "Internal error."
	if f, known := fault.Of(err); known {
		status, text = httpapi.StatusOf(f.Kind), cmp.Or(f.Text, f.Reason)
	}
	if status == http.StatusNotFound {
		text = "Not found."
	}
	if status == http.StatusServiceUnavailable {
		x.W.Header().Set("Retry-After", httpapi.RetryAfter)
	}
	writeJSON(x.W, status, errorForm{text})
	return httpapi.Hidden(err)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store") // it holds credentials of single files
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
