package signin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"image/png"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

const (
	stepSeconds = 30
	stepsAround = 1 // clocks of telephones differ
	qrPixels    = 240
)

// stored is the secret of an authenticator app as it is kept.
type stored struct {
	Sealed      []byte
	LastStep    int64
	ConfirmedAt *time.Time
}

func place(userID int64) string {
	return "one_time_secrets.sealed:" + strconv.FormatInt(userID, 10)
}

func (s *Service) readSecret(ctx context.Context, userID int64) (row stored, secret string, err error) {
	row, err = postgres.One[stored](ctx, s.deps.DB, sqlSecret, userID)
	if err != nil {
		return row, "", err
	}
	plain, err := s.deps.Box.Open(row.Sealed, place(userID))
	return row, string(plain), err
}

// Finish lets in who showed a password before and a code now.
func (s *Service) Finish(ctx context.Context, half secretbox.Secret, code string, from netip.Addr, browser string) (e Entry, err error) {
	userID, err := s.halfOf(ctx, half)
	if err != nil {
		return e, err
	}
	if err := s.checkCode(ctx, userID, code, from); err != nil {
		return e, err
	}
	return s.finish(ctx, userID, half, from, browser)
}

// halfOf is whose password was shown.
func (s *Service) halfOf(ctx context.Context, half secretbox.Secret) (int64, error) {
	userID, err := postgres.Value[int64](ctx, s.deps.DB, sqlHalf, s.digest(kindHalf, half.Reveal()), s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return 0, errHalfGone
	}
	return userID, err
}

// finish makes a session of half a sign-in, once.
func (s *Service) finish(ctx context.Context, userID int64, half secretbox.Secret, from netip.Addr, browser string) (e Entry, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlEndHalf, s.digest(kindHalf, half.Reveal()))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errHalfGone
		}
		e.Session, err = s.enter(ctx, tx, userID, true, from, browser)
		return err
	})
	return e, err
}

// HalfLives reports whether a proof of a password still waits for its factor.
func (s *Service) HalfLives(ctx context.Context, half secretbox.Secret) (bool, error) {
	_, err := postgres.Value[int64](ctx, s.deps.DB, sqlHalf, s.digest(kindHalf, half.Reveal()), s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// checkCode takes a code of the app or one of those on paper, and uses it up.
func (s *Service) checkCode(ctx context.Context, userID int64, code string, from netip.Addr) error {
	try, err := s.count(ctx, factorKey(userID), from)
	if err != nil {
		return err
	}
	code = plainCode(code)
	var used bool
	if len(code) == recoveryLength {
		used, err = s.useRecovery(ctx, userID, code)
	} else {
		used, err = s.useAppCode(ctx, userID, code)
	}
	if err != nil {
		return err
	}
	if !used {
		return errWrongCode
	}
	return s.giveBack(ctx, try)
}

// plainCode drops what people put between the parts of a code.
func plainCode(code string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(code))
}

func (s *Service) useAppCode(ctx context.Context, userID int64, code string) (bool, error) {
	_, secret, err := s.readSecret(ctx, userID)
	if errors.Is(err, postgres.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	step, err := matchingStep(secret, code, s.deps.Clock.Now())
	if err != nil || step == 0 {
		return false, err
	}
	tag, err := s.deps.DB.Exec(ctx, sqlUseStep, userID, step)
	return tag.RowsAffected() == 1, err
}

// matchingStep is the time step whose code this is, or 0. All steps around now
// are computed, so that the time it takes does not tell which one fits.
func matchingStep(secret, code string, now time.Time) (int64, error) {
	current, found := now.Unix()/stepSeconds, int64(0)
	for step := current - stepsAround; step <= current+stepsAround; step++ {
		want, err := hotp.GenerateCodeCustom(secret, uint64(step), hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, fmt.Errorf("computing a one-time code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			found = step
		}
	}
	return found, nil
}

// Setup is what an authenticator app has to be told.
type Setup struct {
	Secret  string // for typing
	Address string // otpauth://…
	Picture []byte // the address as a QR code, PNG
}

// BeginSetup makes the secret for an app. It counts once a code of it is shown.
func (s *Service) BeginSetup(ctx context.Context, u *user.User) error {
	random := make([]byte, 20)
	_, _ = rand.Read(random) // never fails: the process ends first
	secret := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random)
	sealed, err := s.deps.Box.Seal([]byte(secret), place(u.ID))
	if err != nil {
		return err
	}
	_, err = s.deps.DB.Exec(ctx, sqlPutSecret, u.ID, sealed, s.deps.Clock.Now())
	return err
}

// Setup reads the secret that waits for its first code; ok is false when there
// is none.
func (s *Service) Setup(ctx context.Context, u *user.User) (setup Setup, ok bool, err error) {
	row, secret, err := s.readSecret(ctx, u.ID)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && row.ConfirmedAt != nil) {
		return Setup{}, false, nil
	}
	if err != nil {
		return Setup{}, false, err
	}
	issuer := s.deps.ExternalURL.Host
	address := "otpauth://totp/" + url.PathEscape(issuer+":"+u.Username) + "?" + url.Values{"secret": {secret}, "issuer": {issuer}}.Encode()
	key, err := otp.NewKeyFromURL(address)
	if err != nil {
		return Setup{}, false, fmt.Errorf("describing a one-time secret: %w", err)
	}
	picture, err := key.Image(qrPixels, qrPixels)
	if err != nil {
		return Setup{}, false, fmt.Errorf("drawing a one-time secret: %w", err)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return Setup{}, false, err
	}
	return Setup{Secret: secret, Address: address, Picture: out.Bytes()}, true, nil
}

// FinishSetup turns the second factor on, once the app has shown a code, and
// returns the codes to keep on paper. Who has them for a security key keeps
// those.
func (s *Service) FinishSetup(ctx context.Context, by access.Actor, code string) (codes []string, err error) {
	try, err := s.count(ctx, factorKey(by.ID()), by.Address)
	if err != nil {
		return nil, err
	}
	row, secret, err := s.readSecret(ctx, by.ID())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, fault.Field("code", "belongs to no secret. Begin again")
	}
	if err != nil {
		return nil, err
	}
	step, err := matchingStep(secret, plainCode(code), s.deps.Clock.Now())
	if err != nil {
		return nil, err
	}
	if step == 0 {
		return nil, fault.Field("code", "is wrong. Check the clock of your telephone")
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		// It locks the account: what is the first factor is decided once.
		if err := s.deps.Users.EnableTwoFactor(ctx, tx, by, by.ID()); err != nil {
			return err
		}
		keyed, err := postgres.Value[bool](ctx, tx, sqlHasKey, by.ID())
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlConfirmSecret, by.ID(), step, s.deps.Clock.Now(), row.Sealed)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fault.Field("code", "was used before. Begin again")
		}
		if keyed {
			return s.deps.Bus.Publish(ctx, tx, Event{Action: AppAdded, By: by})
		}
		codes, err = s.newRecovery(ctx, tx, by.ID())
		return err
	})
	if err != nil {
		return nil, err
	}
	return codes, s.giveBack(ctx, try)
}

// GiveUpFactor turns the second factor off.
func (s *Service) GiveUpFactor(ctx context.Context, by access.Actor) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.deps.Users.GiveUpTwoFactor(ctx, tx, by) })
}

// dropFactors forgets all that was set up.
func (s *Service) dropFactors(ctx context.Context, tx pgx.Tx, userID int64) error {
	for _, sql := range []string{sqlDropSecret, sqlDropKeys, sqlDropChallenges, sqlDropRecovery, sqlEndHalves} {
		if _, err := tx.Exec(ctx, sql, userID); err != nil {
			return err
		}
	}
	return nil
}

// recoveryLength is in characters of base 32: 80 bits.
const recoveryLength = 16

// NewRecoveryCodes replaces the actor's codes on paper.
func (s *Service) NewRecoveryCodes(ctx context.Context, by access.Actor) (codes []string, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if codes, err = s.newRecovery(ctx, tx, by.ID()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: CodesRenewed, By: by})
	})
	return codes, err
}

func (s *Service) newRecovery(ctx context.Context, tx pgx.Tx, userID int64) ([]string, error) {
	if _, err := tx.Exec(ctx, sqlDropRecovery, userID); err != nil {
		return nil, err
	}
	codes, digests := make([]string, recoveryCodes), make([][]byte, recoveryCodes)
	for i := range codes {
		code := strings.ToLower(rand.Text()[:recoveryLength])
		digests[i] = s.recoveryDigest(userID, code)
		codes[i] = strings.Join([]string{code[:4], code[4:8], code[8:12], code[12:]}, "-")
	}
	_, err := tx.Exec(ctx, sqlAddRecovery, userID, digests)
	return codes, err
}

// RecoveryCodesLeft is how many codes on paper were not used yet.
func (s *Service) RecoveryCodesLeft(ctx context.Context, userID int64) (int, error) {
	return postgres.Value[int](ctx, s.deps.DB, sqlCountRecovery, userID)
}

func (s *Service) useRecovery(ctx context.Context, userID int64, code string) (bool, error) {
	tag, err := s.deps.DB.Exec(ctx, sqlUseRecovery, userID, s.recoveryDigest(userID, code))
	return err == nil && tag.RowsAffected() == 1, err
}

// recoveryDigest includes whose code it is: it opens no other account.
func (s *Service) recoveryDigest(userID int64, code string) []byte {
	return s.digest(kindRecovery, strconv.FormatInt(userID, 10)+":"+code)
}
