package lfs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

// contentType is what LFS clients send and expect.
const contentType = "application/vnd.git-lfs+json"

const (
	maxBody    = 4 << 20
	maxStrange = 32 << 10 // from somebody who has not shown who they are
	maxObjects = 1000     // in one batch; clients send a hundred
	maxLocks   = 100      // on one page
)

// Visit is a request that the door let in: who asks, and what they may do here.
type Visit struct {
	Actor   access.Actor
	Project *project.Project
	Push    bool // may write; reading is given
}

// Owns reports whether a path below a repository is one of ours.
func (s *Service) Owns(rest string) bool {
	return strings.HasPrefix(rest, "info/lfs/") || strings.HasPrefix(rest, s.deps.Names.Service+"-lfs/objects/")
}

// Writes reports whether a request needs the right to push. Batches say in
// their body what they want, and are asked there.
func (s *Service) Writes(method, rest string) bool {
	if strings.HasPrefix(rest, "info/lfs/") {
		return method == http.MethodPost && strings.HasPrefix(rest, "info/lfs/locks")
	}
	return method == http.MethodPut
}

// Serve answers a request to a path below a repository. The error has been
// answered, too: it is what the client was not told, for the log.
func (s *Service) Serve(w http.ResponseWriter, r *http.Request, v Visit, rest string) error {
	reply, err := s.serve(w, r, v, rest)
	if err != nil {
		return s.refuse(w, err)
	}
	if reply != nil {
		write(w, reply.status, reply.body)
	}
	return nil
}

// answer is what a request comes to; nil when it was written already.
type answer struct {
	status int
	body   any
}

func ok(body any, err error) (*answer, error) { return &answer{http.StatusOK, body}, err }

func (s *Service) serve(w http.ResponseWriter, r *http.Request, v Visit, rest string) (*answer, error) {
	if !v.Project.Settings.LFSEnabled {
		return nil, fault.New(fault.NotFound)
	}
	if s.Writes(r.Method, rest) && !v.Push {
		return nil, errForbidden
	}
	object, isObject := strings.CutPrefix(rest, s.deps.Names.Service+"-lfs/objects/")
	lock, isLock := strings.CutPrefix(rest, "info/lfs/locks/")
	switch {
	case isObject && r.Method == http.MethodGet:
		return nil, s.download(w, r, v, object)
	case isObject && r.Method == http.MethodPut:
		return nil, s.upload(w, r, v, object)
	case rest == "info/lfs/objects/batch" && r.Method == http.MethodPost:
		return ok(s.batch(w, r, v))
	case rest == "info/lfs/locks" && r.Method == http.MethodGet:
		return ok(s.listLocks(r, v))
	case rest == "info/lfs/locks" && r.Method == http.MethodPost:
		return s.lock(w, r, v)
	case rest == "info/lfs/locks/verify" && r.Method == http.MethodPost:
		return ok(s.verifyLocks(w, r, v))
	case isLock && strings.HasSuffix(lock, "/unlock") && r.Method == http.MethodPost:
		return ok(s.unlock(w, r, v, strings.TrimSuffix(lock, "/unlock")))
	}
	return nil, fault.New(fault.NotFound)
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

// batch says what to do about each object: where to fetch it, where to send it,
// or that there is nothing to do.
func (s *Service) batch(w http.ResponseWriter, r *http.Request, v Visit) (*batchForm, error) {
	var in struct {
		Operation string   `json:"operation"`
		Objects   []Object `json:"objects"`
		HashAlgo  string   `json:"hash_algo"`
	}
	if err := read(w, r, v, &in); err != nil {
		return nil, err
	}
	upload := in.Operation == "upload"
	switch {
	case !upload && in.Operation != "download":
		return nil, fault.WithMessage(fault.Unprocessable, "operation is neither download nor upload")
	case upload && !v.Push:
		return nil, errForbidden
	case len(in.Objects) > maxObjects:
		return nil, fault.WithMessage(fault.TooLarge, "a batch has at most %d objects", maxObjects)
	case in.HashAlgo != "" && in.HashAlgo != "sha256":
		return nil, fault.WithMessage(fault.Unprocessable, "hash_algo is not sha256")
	}
	known, err := s.has(r.Context(), v.Project.ID, in.Objects)
	if err != nil {
		return nil, err
	}
	reply := &batchForm{Transfer: "basic", Objects: make([]objectForm, 0, len(in.Objects)), HashAlgo: "sha256"}
	for _, o := range in.Objects {
		reply.Objects = append(reply.Objects, s.plan(r, v, o, upload, known))
	}
	return reply, nil
}

func (s *Service) plan(r *http.Request, v Visit, o Object, upload bool, known map[string]int64) objectForm {
	form := objectForm{OID: o.OID, Size: o.Size}
	size, has := known[o.OID]
	href := s.deps.ExternalURL + "/" + v.Project.FullPath() + ".git/" + s.deps.Names.Service + "-lfs/objects/" + o.OID
	// Clients send along what let them in here.
	header := map[string]string{}
	if login := r.Header.Get("Authorization"); login != "" {
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

func (s *Service) download(w http.ResponseWriter, r *http.Request, v Visit, oid string) error {
	size, body, err := s.Open(r.Context(), v.Project.ID, oid)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = io.Copy(w, body) // a client that hangs up is no error of ours
	return nil
}

func (s *Service) upload(w http.ResponseWriter, r *http.Request, v Visit, rest string) error {
	oid, text, _ := strings.Cut(rest, "/")
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || (r.ContentLength >= 0 && r.ContentLength != size) {
		return fault.WithMessage(fault.Unprocessable, "The size is not the one of the body.")
	}
	if err := s.Store(r.Context(), v.Project.ID, Object{OID: oid, Size: size}, r.Body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
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

func (s *Service) lock(w http.ResponseWriter, r *http.Request, v Visit) (*answer, error) {
	var in struct {
		Path string `json:"path"`
	}
	if err := read(w, r, v, &in); err != nil {
		return nil, err
	}
	l, err := s.Lock(r.Context(), v.Actor, v.Project.ID, in.Path)
	if fault.Is(err, fault.Conflict) {
		return &answer{http.StatusConflict, oneLock{Lock: presentLock(l), Message: "already locked"}}, nil
	}
	return &answer{http.StatusCreated, oneLock{Lock: presentLock(l)}}, err
}

type lockList struct {
	Locks      []lockForm `json:"locks"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

func (s *Service) listLocks(r *http.Request, v Visit) (*lockList, error) {
	q := r.URL.Query()
	locks, cursor, err := s.locks(r.Context(), v, q.Get("cursor"), q.Get("limit"), q.Get("path"))
	if err != nil {
		return nil, err
	}
	reply := &lockList{Locks: []lockForm{}, NextCursor: cursor}
	for _, l := range locks {
		if id := q.Get("id"); id == "" || id == strconv.FormatInt(l.ID, 10) {
			reply.Locks = append(reply.Locks, presentLock(l))
		}
	}
	return reply, nil
}

func (s *Service) locks(ctx context.Context, v Visit, cursor, size, path string) ([]Lock, string, error) {
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

func (s *Service) verifyLocks(w http.ResponseWriter, r *http.Request, v Visit) (*verifyForm, error) {
	var in struct {
		Cursor string      `json:"cursor"`
		Limit  json.Number `json:"limit"`
	}
	if err := read(w, r, v, &in); err != nil {
		return nil, err
	}
	locks, cursor, err := s.locks(r.Context(), v, in.Cursor, in.Limit.String(), "")
	if err != nil {
		return nil, err
	}
	reply := &verifyForm{Ours: []lockForm{}, Theirs: []lockForm{}, NextCursor: cursor}
	for _, l := range locks {
		side := &reply.Theirs
		if v.Actor.Is(l.UserID) {
			side = &reply.Ours
		}
		*side = append(*side, presentLock(l))
	}
	return reply, nil
}

func (s *Service) unlock(w http.ResponseWriter, r *http.Request, v Visit, id string) (*oneLock, error) {
	var in struct {
		Force bool `json:"force"`
	}
	if err := read(w, r, v, &in); err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, fault.NotFoundf("Lock")
	}
	l, err := s.Unlock(r.Context(), v.Actor, v.Project, number, in.Force)
	return &oneLock{Lock: presentLock(l)}, err
}

func read(w http.ResponseWriter, r *http.Request, v Visit, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || (kind != contentType && kind != "application/json") {
		return fault.WithMessage(fault.UnsupportedMedia, "the body is not "+contentType)
	}
	most := int64(maxBody)
	if v.Actor.Credential.Kind == "" {
		most = maxStrange
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	switch err := decoder.Decode(into); {
	case err == nil || errors.Is(err, io.EOF):
		return nil
	case errors.As(err, new(*http.MaxBytesError)):
		return fault.WithMessage(fault.TooLarge, "the body is too large")
	}
	return fault.WithMessage(fault.Unprocessable, "the body is not valid JSON")
}

func (s *Service) refuse(w http.ResponseWriter, err error) (hidden error) {
	err = httpapi.Away(err)
	status, text := http.StatusInternalServerError, "Internal error."
	f, known := fault.Of(err)
	if known {
		status, text = httpapi.StatusOf(f.Kind), cmp.Or(f.Text, f.Reason)
	}
	if status == http.StatusNotFound {
		text = "Not found."
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", httpapi.RetryAfter)
	}
	write(w, status, map[string]string{"message": text})
	if status < http.StatusInternalServerError || err == error(f) { //nolint:errorlint // whether it is that very value
		return nil
	}
	return err
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
