package user

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// GPGKey is a public key that signs an account's commits.
type GPGKey struct {
	ID           int64
	UserID       int64
	Key          string // the armored block
	Fingerprint  string
	PrimaryKeyID string `db:"primary_keyid"`
	CreatedAt    time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (k GPGKey) ModifiedAt() time.Time { return k.CreatedAt }

// GPGKeys lists the keys of an account.
func (s *Service) GPGKeys(ctx context.Context, userID int64, page paging.Request) (paging.Result[GPGKey], error) {
	l := postgres.From("gpg_keys k").Columns(gpgKeyColumns).Where("k.user_id = ?", userID).Order(postgres.Key{Expr: "k.id"})
	return paging.Fetch[GPGKey](ctx, s.deps.DB, l, page, nil)
}

// FindGPGKey reads a key of an account.
func (s *Service) FindGPGKey(ctx context.Context, userID, id int64) (GPGKey, error) {
	k, err := postgres.One[GPGKey](ctx, s.deps.DB, sqlGPGKey, userID, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return GPGKey{}, fault.NotFoundf("GPG Key")
	}
	return k, err
}

// AddGPGKey gives an account a key that no other has.
func (s *Service) AddGPGKey(ctx context.Context, by access.Actor, userID int64, text string) (k GPGKey, err error) {
	text = strings.TrimSpace(text)
	fingerprint, keyID, ok := parseGPGKey(text)
	if !ok {
		return k, fault.Field("key", "is invalid. A valid public GPG key begins with '%s' and ends with '%s'", gpgBegin, gpgEnd)
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lockPerson(ctx, tx, userID)
		if err != nil {
			return err
		}
		k, err = postgres.One[GPGKey](ctx, tx, sqlInsertGPGKey, u.ID, text, fingerprint, keyID, s.deps.Clock.Now())
		if errors.Is(err, postgres.ErrNoRows) {
			return gpgKeyTaken(ctx, tx, fingerprint, text)
		}
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: GPGKeyAdded, By: by, User: u, Message: "Added GPG key " + fingerprint})
	})
	return k, err
}

// gpgKeyTaken says what of a key is there already: the very text, or the key
// in another block.
func gpgKeyTaken(ctx context.Context, tx pgx.Tx, fingerprint, text string) error {
	same, err := postgres.Value[bool](ctx, tx, sqlSameGPGKey, fingerprint, text)
	if err != nil {
		return err
	}
	var f fault.Fields
	if same {
		f.Add("key", "has already been taken")
		return f.Err()
	}
	f.Add("fingerprint", "has already been taken")
	f.Add("primary_keyid", "has already been taken")
	return f.Err()
}

// RemoveGPGKey takes a key from its account. What it signed stays verified.
func (s *Service) RemoveGPGKey(ctx context.Context, by access.Actor, k GPGKey) error {
	return s.dropGPGKey(ctx, by, k, "Removed GPG key ")
}

// RevokeGPGKey takes a key from its account because it is no longer to be
// trusted.
func (s *Service) RevokeGPGKey(ctx context.Context, by access.Actor, k GPGKey) error {
	return s.dropGPGKey(ctx, by, k, "Revoked GPG key ")
}

func (s *Service) dropGPGKey(ctx context.Context, by access.Actor, k GPGKey, message string) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, k.UserID)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlDeleteGPGKey, u.ID, k.ID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fault.NotFoundf("GPG Key")
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: GPGKeyRemoved, By: by, User: u, Message: message + k.Fingerprint})
	})
}
