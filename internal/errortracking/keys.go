package errortracking

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/kit/wire"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
)

const (
	// keyDigest is the kind of the digests that keys are found by.
	keyDigest = "error_client_key"
	// keyPlace is where sealed keys belong. They are no secret of a row: the digest beside them says which one it is.
	keyPlace = "error_client_keys.public_key"
	// maxKeys is how many a project may have: a key for each program and a few to be replaced by.
	maxKeys = 500
	// keyBytes are random; SDKs want 32 digits.
	keyBytes = 16
)

var (
	errNoKey    = fault.WithMessage(fault.NotFound, "404 Not found")
	errManyKeys = fault.Field("base", "a project has at most %d client keys", maxKeys)
)

// CreateKey makes a key.
func (s *Service) CreateKey(ctx context.Context, by access.Actor, p *project.Project) (*Key, error) {
	var k *Key
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlLockKeys, p.ID); err != nil {
			return err
		}
		have, err := postgres.Value[int](ctx, tx, sqlCountKeys, p.ID, maxKeys)
		if err != nil {
			return err
		}
		if have >= maxKeys {
			return errManyKeys
		}
		k, err = s.insertKey(ctx, tx, by, p)
		return err
	})
	return k, err
}

// firstKey makes a key where there is none.
func (s *Service) firstKey(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project) error {
	have, err := postgres.Value[int](ctx, tx, sqlCountKeys, p.ID, 1)
	if err == nil && have == 0 {
		_, err = s.insertKey(ctx, tx, by, p)
	}
	return err
}

func (s *Service) insertKey(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project) (*Key, error) {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails: the process ends first
	public := s.deps.Names.TokenPrefix(wire.ErrorTrackingKey) + hex.EncodeToString(random)
	sealed, err := s.deps.Box.Seal([]byte(public), keyPlace)
	if err != nil {
		return nil, err
	}
	k, err := postgres.One[Key](ctx, tx, sqlInsertKey, p.ID, s.deps.Box.Digest(keyDigest, public), sealed, s.deps.Clock.Now())
	if err != nil {
		return nil, err
	}
	if err := s.open(&k); err != nil {
		return nil, err
	}
	return &k, s.deps.Bus.Publish(ctx, tx, Event{Action: KeyCreated, By: by, In: p.Entity(), KeyID: k.ID})
}

func (s *Service) open(k *Key) error {
	text, err := s.deps.Box.Open(k.Sealed, keyPlace)
	k.public = secretbox.Secret(text)
	return err
}

// DeleteKey ends a key, and returns what it was.
func (s *Service) DeleteKey(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Key, error) {
	var k Key
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		k, err = postgres.One[Key](ctx, tx, sqlDeleteKey, p.ID, id)
		if errors.Is(err, postgres.ErrNoRows) {
			return errNoKey
		}
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: KeyDeleted, By: by, In: p.Entity(), KeyID: k.ID})
	})
	if err != nil {
		return nil, err
	}
	return &k, s.open(&k)
}

// Keys reads one page of those of a project, oldest first.
func (s *Service) Keys(ctx context.Context, projectID int64, req paging.Request) (paging.Result[Key], error) {
	page, err := paging.Fetch[Key](ctx, s.deps.DB, listKeys(projectID), req, nil)
	for i := range page.Items {
		if err == nil {
			err = s.open(&page.Items[i])
		}
	}
	return page, err
}

// DSN is the connection string of a key, as SDKs take it: they send to a path below that of the string.
func (s *Service) DSN(k *Key) string {
	at, err := url.Parse(s.deps.ExternalURL)
	if err != nil {
		return ""
	}
	at.User = url.User(k.public.Reveal())
	at.Path = strings.TrimSuffix(at.Path, "/") + "/errortracking/api/v1/projects/" + strconv.FormatInt(k.ProjectID, 10)
	return at.String()
}
