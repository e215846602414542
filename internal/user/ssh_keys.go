package user

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

const (
	maxSSHKey  = 5000 // characters
	minRSABits = 2048
)

// SSHKey is a public key that proves an account over SSH or signs its commits.
type SSHKey struct {
	ID                int64
	UserID            int64
	OwnerName         string
	Title             string
	Key               string // type and blob, without options and comment
	FingerprintMD5    string
	FingerprintSHA256 string // as ssh.FingerprintSHA256 writes it
	UsageType         string
	ExpiresAt         *time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (k SSHKey) ModifiedAt() time.Time { return k.UpdatedAt }

// FingerprintFaults say that a key proves something else already, an account
// or a machine.
var FingerprintFaults = postgres.Faults{
	"ssh_keys_fingerprint_key": fault.Field("fingerprint_sha256", "has already been taken"),
	"ssh_fingerprints_pkey":    fault.Field("fingerprint_sha256", "has already been taken"),
}

// NewSSHKey is what someone says of a key that they add.
type NewSSHKey struct {
	Title     string
	Key       string
	UsageType string
	ExpiresAt *time.Time
}

// check reads the key and lists all that is wrong with it.
func (n NewSSHKey) check(now time.Time) (ssh.PublicKey, error) {
	var f fault.Fields
	switch {
	case strings.TrimSpace(n.Title) == "":
		f.Add("title", "can't be blank")
	case utf8.RuneCountInString(n.Title) > 255:
		f.Add("title", "is too long (maximum is 255 characters)")
	}
	key := ParseSSHKey(n.Key, &f)
	if n.ExpiresAt != nil && !n.ExpiresAt.After(now) {
		f.Add("key", "has expired")
	}
	return key, f.Err()
}

// ParseSSHKey reads one line of an authorized_keys file that has no options.
// What is wrong with it is added to the fields.
func ParseSSHKey(text string, f *fault.Fields) ssh.PublicKey {
	if utf8.RuneCountInString(text) > maxSSHKey {
		f.Add("key", "is too long (maximum is %d characters)", maxSSHKey)
		return nil
	}
	text = strings.TrimSpace(text)
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(text))
	_, certificate := key.(*ssh.Certificate)
	if err != nil || len(options) > 0 || certificate || strings.ContainsAny(text, "\r\n") {
		f.Add("key", "is invalid")
		f.Add("fingerprint_sha256", "cannot be generated")
		return nil
	}
	switch key.Type() {
	case ssh.KeyAlgoRSA:
		if rsaBits(key) < minRSABits {
			f.Add("key", "must be at least %d bits", minRSABits)
		}
	case ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256, ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519:
	default:
		f.Add("key", "type is forbidden. Must be RSA, ECDSA, ECDSA_SK, ED25519_SK, or ED25519")
	}
	return key
}

func rsaBits(key ssh.PublicKey) int {
	if k, ok := key.(ssh.CryptoPublicKey); ok {
		if public, ok := k.CryptoPublicKey().(*rsa.PublicKey); ok {
			return public.N.BitLen()
		}
	}
	return 0
}

// SSHKeys lists the keys of an account.
func (s *Service) SSHKeys(ctx context.Context, userID int64, page paging.Request) (paging.Result[SSHKey], error) {
	l := postgres.From("ssh_keys k join users u on u.id = k.user_id").Columns(sshKeyColumns).
		Where("k.user_id = ?", userID).Order(postgres.Key{Expr: "k.id"})
	return paging.Fetch[SSHKey](ctx, s.deps.DB, l, page, nil)
}

// FindSSHKeyOf reads a key of an account.
func (s *Service) FindSSHKeyOf(ctx context.Context, userID, id int64) (SSHKey, error) {
	return s.sshKey(ctx, sqlSSHKeyOf, userID, id)
}

// FindSSHKey reads a key of any account.
func (s *Service) FindSSHKey(ctx context.Context, id int64) (SSHKey, error) {
	return s.sshKey(ctx, sqlSSHKey, id)
}

var md5Pattern = regexp.MustCompile(`^([0-9a-f]{2}:){15}[0-9a-f]{2}$`)

// FindSSHKeyByFingerprint reads a key of any account by either form that SSH
// programs show.
func (s *Service) FindSSHKeyByFingerprint(ctx context.Context, fingerprint string) (SSHKey, error) {
	kind, sum, _ := strings.Cut(fingerprint, ":")
	switch strings.ToUpper(kind) {
	case "SHA256":
		sum = strings.TrimRight(sum, "=")
		if raw, err := base64.RawStdEncoding.DecodeString(sum); err == nil && len(raw) == sha256.Size {
			return s.sshKey(ctx, sqlSSHKeyBySHA256, "SHA256:"+sum)
		}
	case "MD5":
		fingerprint = sum
		fallthrough
	default:
		if sum = strings.ToLower(fingerprint); md5Pattern.MatchString(sum) {
			return s.sshKey(ctx, sqlSSHKeyByMD5, sum)
		}
	}
	return SSHKey{}, fault.WithMessage(fault.Rejected, "Failed to return the key")
}

func (s *Service) sshKey(ctx context.Context, sql string, args ...any) (SSHKey, error) {
	k, err := postgres.One[SSHKey](ctx, s.deps.DB, sql, args...)
	if errors.Is(err, postgres.ErrNoRows) {
		return SSHKey{}, fault.NotFoundf("Key")
	}
	return k, err
}

// AddSSHKey gives an account a key that no other has.
func (s *Service) AddSSHKey(ctx context.Context, by access.Actor, userID int64, n NewSSHKey) (k SSHKey, err error) {
	now := s.deps.Clock.Now()
	key, err := n.check(now)
	if err != nil {
		return k, err
	}
	line := string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(key)))
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lockPerson(ctx, tx, userID)
		if err != nil {
			return err
		}
		k, err = postgres.One[SSHKey](ctx, tx, sqlInsertSSHKey,
			u.ID, n.Title, line, ssh.FingerprintLegacyMD5(key), ssh.FingerprintSHA256(key), n.UsageType, n.ExpiresAt, now)
		if err != nil {
			return FingerprintFaults.Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: SSHKeyAdded, By: by, User: u, Message: "Added SSH key " + k.FingerprintSHA256})
	})
	return k, err
}

// RemoveSSHKey takes a key from its account.
func (s *Service) RemoveSSHKey(ctx context.Context, by access.Actor, k SSHKey) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, k.UserID)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlDeleteSSHKey, u.ID, k.ID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fault.NotFoundf("Key")
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: SSHKeyRemoved, By: by, User: u, Message: "Removed SSH key " + k.FingerprintSHA256})
	})
}
