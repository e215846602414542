package lfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Blobs       blob.Store
	Box         *secretbox.Box
	Clock       clock.Clock
	ExternalURL string
	Names       wire.Names
	MaxSize     int64 // bytes of one file; 0 is no limit
}

// Service is the use cases of large files.
type Service struct {
	deps    Deps
	dialect dialect
}

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d), dialect: newDialect()} }

var (
	errMissing  = fault.NotFoundf("Object")
	errMismatch = errors.New("lfs: the bytes are not what the digest says")
	errBusy     = fault.WithMessage(fault.Unavailable, "The object is being removed. Try again in a minute.")
	errStore    = fault.WithMessage(fault.Unavailable, "The store of large files cannot be reached. Try again in a minute; if this stays, tell an administrator.")
	errInvalid  = fault.WithMessage(fault.Unprocessable, "The object's digest or size is not valid.")
	errPath     = fault.WithMessage(fault.Unprocessable, "path is not valid")
)

// has reads which of the objects a project has, by digest.
func (s *Service) has(ctx context.Context, projectID int64, objects []Object) (map[string]int64, error) {
	oids := make([]string, 0, len(objects))
	for _, o := range objects {
		if o.valid() {
			oids = append(oids, o.OID)
		}
	}
	rows, err := postgres.All[Object](ctx, s.deps.DB, sqlHas, projectID, oids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]int64, len(rows))
	for _, o := range rows {
		known[o.OID] = o.Size
	}
	return known, nil
}

// Missing are those of the digests that a project does not have.
func (s *Service) Missing(ctx context.Context, projectID int64, oids []string) ([]string, error) {
	objects := make([]Object, 0, len(oids))
	for _, oid := range oids {
		objects = append(objects, Object{OID: oid})
	}
	known, err := s.has(ctx, projectID, objects)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, oid := range oids {
		if _, ok := known[oid]; !ok {
			missing = append(missing, oid)
		}
	}
	return missing, nil
}

// tooLarge is the refusal of a file beyond the limit.
func (s *Service) tooLarge() error {
	return fault.WithMessage(fault.TooLarge, "A large file may have at most %d MB here.", s.deps.MaxSize>>20)
}

// Store takes the bytes of an object for a project. The row is the intent; a
// crash before the link leaves bytes that the sweep takes away. Bytes that are
// there already are sent again, since only who has them can do so. What the
// client says of them counts for nothing before they came: the size is written
// down with the link, and until then the answer is the same whether another
// project has the object or nobody.
func (s *Service) Store(ctx context.Context, projectID int64, o Object, body io.Reader) error {
	switch {
	case !o.valid():
		return errInvalid
	case s.deps.MaxSize > 0 && o.Size > s.deps.MaxSize:
		return s.tooLarge()
	}
	removing, err := postgres.Value[bool](ctx, s.deps.DB, sqlExpect, o.OID, s.deps.Clock.Now())
	if err == nil && removing {
		err = errBusy
	}
	if err != nil {
		return err
	}
	err = s.deps.Blobs.Put(ctx, o.key(), &proven{from: body, sum: sha256.New(), want: o.OID}, o.Size)
	if errors.Is(err, errMismatch) || errors.Is(err, blob.ErrSize) {
		return fault.WithMessage(fault.Unprocessable, "The bytes are not what the digest and the size say.")
	}
	if err != nil {
		return told(err)
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlProved, o.OID, o.Size); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlLink, projectID, o.OID, s.deps.Clock.Now())
		return postgres.Faults{"lfs_project_objects_project_id_fkey": fault.NotFoundf("Project")}.Translate(err)
	})
}

// proven gives the bytes of a reader and fails at their end if their digest is
// not the one wanted.
type proven struct {
	from io.Reader
	sum  hash.Hash
	want string
}

func (p *proven) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	p.sum.Write(b[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(p.sum.Sum(nil)) != p.want {
		err = errMismatch
	}
	return n, err
}

// Has reports whether a project has any large file.
func (s *Service) Has(ctx context.Context, projectID int64) (bool, error) {
	return postgres.Value[bool](ctx, s.deps.DB, sqlHasAny, projectID)
}

// Size is how large an object of a project is.
func (s *Service) Size(ctx context.Context, projectID int64, oid string) (int64, error) {
	o := Object{OID: oid}
	if !o.valid() {
		return 0, errMissing
	}
	known, err := s.has(ctx, projectID, []Object{o})
	if err != nil {
		return 0, err
	}
	size, ok := known[oid]
	if !ok {
		return 0, errMissing
	}
	return size, nil
}

// Open reads an object that a project has.
func (s *Service) Open(ctx context.Context, projectID int64, oid string) (int64, io.ReadCloser, error) {
	size, err := s.Size(ctx, projectID, oid)
	if err != nil {
		return 0, nil, err
	}
	body, err := s.deps.Blobs.Open(ctx, Object{OID: oid}.key(), 0, -1)
	return size, body, told(err)
}

// told is a failure of the store in words for those who wait; what the store
// said is for the log.
func told(err error) error {
	if errors.Is(err, blob.ErrUnavailable) {
		return errors.Join(errStore, err)
	}
	return err
}

// OnForked gives a fork what its source has.
func (s *Service) OnForked(ctx context.Context, tx pgx.Tx, e project.ForkMade) error {
	_, err := tx.Exec(ctx, sqlLinkAll, *e.Fork.ForkedFromID, e.Fork.ID, s.deps.Clock.Now())
	return err
}

// OnProjectRemoving notes what only this project had; the bytes stay a while.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	_, err := tx.Exec(ctx, sqlLeave, e.ProjectID, s.deps.Clock.Now())
	return err
}

// ticket is what a client that came over SSH shows at the HTTP door.
type ticket struct {
	UserID    int64 `json:"u,omitempty"`
	KeyID     int64 `json:"k,omitempty"` // of a deploy key
	ProjectID int64 `json:"p"`
	Push      bool  `json:"w,omitempty"`
	Until     int64 `json:"t"`
}

// ticketPlace keeps tickets apart from all else that the box seals.
const ticketPlace = "lfs.ticket"

// Ticket is a short-lived secret that stands for a person, or a deploy key, at
// one project.
func (s *Service) Ticket(userID, keyID, projectID int64, push bool) (secretbox.Secret, time.Duration, error) {
	text, err := json.Marshal(ticket{
		UserID: userID, KeyID: keyID, ProjectID: projectID, Push: push, Until: s.deps.Clock.Now().Add(ticketLife).Unix(),
	})
	if err != nil {
		return "", 0, err
	}
	sealed, err := s.deps.Box.Seal(text, ticketPlace)
	return secretbox.Secret(ticketPrefix + hex.EncodeToString(sealed)), ticketLife, err
}

// ticketPrefix lets a door see what it was given.
const ticketPrefix = "lfst-"

// Holder is whom a ticket stands for, and for what.
type Holder struct {
	UserID, KeyID int64
	ProjectID     int64
	Push          bool
}

// ReadTicket finds out what a ticket says. Whether its holder still may is for
// the door to ask.
func (s *Service) ReadTicket(secret string) (Holder, bool) {
	sealed, err := hex.DecodeString(secret[min(len(ticketPrefix), len(secret)):])
	if err != nil || len(secret) < len(ticketPrefix) || secret[:len(ticketPrefix)] != ticketPrefix {
		return Holder{}, false
	}
	text, err := s.deps.Box.Open(sealed, ticketPlace)
	if err != nil {
		return Holder{}, false
	}
	var t ticket
	if json.Unmarshal(text, &t) != nil || s.deps.Clock.Now().Unix() >= t.Until {
		return Holder{}, false
	}
	return Holder{UserID: t.UserID, KeyID: t.KeyID, ProjectID: t.ProjectID, Push: t.Push}, true
}

// Lock notes that the actor works on a path. One that is taken is Conflict,
// with the lock that is in the way.
func (s *Service) Lock(ctx context.Context, by access.Actor, projectID int64, path string) (Lock, error) {
	if path == "" || !validPath(path) {
		return Lock{}, errPath
	}
	l, err := postgres.One[Lock](ctx, s.deps.DB, sqlLock, projectID, by.ID(), path, s.deps.Clock.Now())
	if !errors.Is(err, postgres.ErrNoRows) {
		return l, err
	}
	l, err = postgres.One[Lock](ctx, s.deps.DB, sqlLockAt, projectID, path)
	if err != nil {
		return l, err
	}
	return l, fault.WithMessage(fault.Conflict, "already locked")
}

// Locks lists the locks of a project after an id, of one path if one is given.
func (s *Service) Locks(ctx context.Context, projectID, after int64, path string, limit int) (locks []Lock, more bool, err error) {
	if !validPath(path) {
		return nil, false, errPath
	}
	locks, err = postgres.All[Lock](ctx, s.deps.DB, sqlLocks, projectID, after, path, limit+1)
	if len(locks) > limit {
		locks, more = locks[:limit], true
	}
	return locks, more, err
}

// Unlock ends a lock: one's own, or by force that of another where the actor
// maintains the project.
func (s *Service) Unlock(ctx context.Context, by access.Actor, p *project.Project, id int64, force bool) (l Lock, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		l, err = postgres.One[Lock](ctx, tx, sqlFindLock, p.ID, id)
		switch {
		case errors.Is(err, postgres.ErrNoRows):
			return fault.NotFoundf("Lock")
		case err != nil:
			return err
		case !by.Is(l.UserID) && !force:
			return fault.WithReason(fault.Forbidden, "%s is locked by %s", l.Path, l.OwnerName)
		case !by.Is(l.UserID) && !access.Holds(by, access.AdminProtection, p.Target()):
			return fault.WithReason(fault.Forbidden, "You must have maintainer access to force delete a lock")
		}
		_, err := tx.Exec(ctx, sqlUnlock, p.ID, id)
		return err
	})
	return l, err
}
