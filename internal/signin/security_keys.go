package signin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

const (
	maxKeys         = 20
	maxKeyName      = 255
	challengeLength = 32
	registerLife    = 5 * time.Minute // to find the key
)

// What a key is asked for.
const (
	forRegister = "register"
	forSignIn   = "sign_in"
)

var (
	errNoKeys = fault.WithReason(fault.Forbidden, "Browsers take security keys only where this instance has a name and https.")
	// errWrongKey is one answer for whatever is wrong with one.
	errWrongKey = fault.WithMessage(fault.Unauthenticated, "This key did not answer as expected. Try again, or use a code.")
	errOnlyKey  = fault.WithMessage(fault.Conflict, "This is your only second factor. Add another one first, or turn two-factor off.")
)

// SecurityKey is a key as its owner sees it.
type SecurityKey struct {
	ID         int64
	Name       string
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// storedKey is a key as an answer is held against it.
type storedKey struct {
	ID             int64
	CredentialID   []byte
	PublicKey      []byte
	SignCount      int64
	BackupEligible bool
	Transports     []string
}

func (k storedKey) credential() webauthn.Credential {
	c := webauthn.Credential{
		ID: k.CredentialID, PublicKey: k.PublicKey, AttestationType: "none", AttestationFormat: "none",
		Flags:         webauthn.CredentialFlags{UserPresent: true, BackupEligible: k.BackupEligible},
		Authenticator: webauthn.Authenticator{SignCount: uint32(k.SignCount)},
	}
	for _, t := range k.Transports {
		c.Transport = append(c.Transport, protocol.AuthenticatorTransport(t))
	}
	return c
}

// holder is an account in the words of the standard.
type holder struct {
	handle      []byte
	name, title string
	keys        []storedKey
}

func (h holder) WebAuthnID() []byte          { return h.handle }
func (h holder) WebAuthnName() string        { return h.name }
func (h holder) WebAuthnDisplayName() string { return h.title }
func (h holder) WebAuthnCredentials() (all []webauthn.Credential) {
	for _, k := range h.keys {
		all = append(all, k.credential())
	}
	return all
}

// party is this instance in the words of the standard: what a key signs for
// follows from the external URL and from nothing in a request.
func (s *Service) party() (*webauthn.WebAuthn, error) {
	host := strings.ToLower(s.deps.ExternalURL.Hostname())
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if protocol.ValidateRPID(host) != nil || s.deps.ExternalURL.Scheme != "https" && !local {
		return nil, errNoKeys
	}
	party, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: wire.Brand, RPOrigins: []string{s.deps.ExternalURL.Scheme + "://" + s.deps.ExternalURL.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			// The password came before: a touch is enough.
			UserVerification: protocol.VerificationDiscouraged, ResidentKey: protocol.ResidentKeyRequirementDiscouraged,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("describing this instance to security keys: %w", err)
	}
	return party, nil
}

// KeysWork reports whether browsers take security keys on this instance.
func (s *Service) KeysWork() bool {
	_, err := s.party()
	return err == nil
}

// SecurityKeys lists the keys of an account, the oldest first.
func (s *Service) SecurityKeys(ctx context.Context, userID int64) ([]SecurityKey, error) {
	return postgres.All[SecurityKey](ctx, s.deps.DB, sqlKeys, userID, maxKeys)
}

func (s *Service) readHolder(ctx context.Context, userID int64) (h holder, err error) {
	u, err := s.deps.Users.Find(ctx, userID)
	if err != nil {
		return h, err
	}
	// The handle tells nobody who finds a key whose it is.
	h = holder{handle: s.digest(kindHandle, strconv.FormatInt(userID, 10)), name: u.Username, title: u.Name}
	h.keys, err = postgres.All[storedKey](ctx, s.deps.DB, sqlStoredKeys, userID, maxKeys)
	return h, err
}

// ask keeps a new question for the keys of an account. The one before it, of
// the same session, cannot be answered any more.
func (s *Service) ask(ctx context.Context, purpose string, asker secretbox.Secret, userID int64, life time.Duration) error {
	challenge := make([]byte, challengeLength)
	_, _ = rand.Read(challenge) // never fails: the process ends first
	_, err := s.deps.DB.Exec(ctx, sqlAsk, s.askerDigest(purpose, asker), userID, purpose, challenge, s.deps.Clock.Now().Add(life))
	return err
}

func (s *Service) askerDigest(purpose string, asker secretbox.Secret) []byte {
	return s.digest(kindChallenge, purpose+":"+asker.Reveal())
}

// asked reads the question that waits for an answer, nil if none does.
func (s *Service) asked(ctx context.Context, purpose string, asker secretbox.Secret, userID int64) ([]byte, error) {
	challenge, err := postgres.Value[[]byte](ctx, s.deps.DB, sqlAsked, s.askerDigest(purpose, asker), userID, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, nil
	}
	return challenge, err
}

// answered takes the question away, whatever the answer is worth.
func (s *Service) answered(ctx context.Context, purpose string, asker secretbox.Secret, userID int64) ([]byte, error) {
	challenge, err := postgres.Value[[]byte](ctx, s.deps.DB, sqlAnswered, s.askerDigest(purpose, asker), userID, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errWrongKey
	}
	return challenge, err
}

// BeginKey asks for a key to register, in the session whose cookie it is given.
func (s *Service) BeginKey(ctx context.Context, userID int64, session secretbox.Secret) error {
	if _, err := s.party(); err != nil {
		return err
	}
	return s.ask(ctx, forRegister, session, userID, registerLife)
}

// registration is what a new key is told, and what its answer is held against.
func (s *Service) registration(party *webauthn.WebAuthn, h holder, challenge []byte) (*protocol.CredentialCreation, *webauthn.SessionData, error) {
	var known []protocol.CredentialDescriptor
	for _, c := range h.WebAuthnCredentials() {
		known = append(known, c.Descriptor())
	}
	return party.BeginRegistration(h, webauthn.WithExclusions(known), func(o *protocol.PublicKeyCredentialCreationOptions) error {
		o.Challenge = challenge
		return nil
	})
}

// KeyWanted is what the browser is told to register a key, as JSON; nil when
// none is asked for.
func (s *Service) KeyWanted(ctx context.Context, userID int64, session secretbox.Secret) ([]byte, error) {
	challenge, err := s.asked(ctx, forRegister, session, userID)
	if err != nil || challenge == nil {
		return nil, err
	}
	party, err := s.party()
	if err != nil {
		return nil, err
	}
	h, err := s.readHolder(ctx, userID)
	if err != nil {
		return nil, err
	}
	creation, _, err := s.registration(party, h, challenge)
	if err != nil {
		return nil, err
	}
	return json.Marshal(creation.Response)
}

// AddKey takes the answer of a new key. The first factor of an account turns
// two-factor on, and comes with recovery codes.
func (s *Service) AddKey(ctx context.Context, by access.Actor, session secretbox.Secret, name, answer string) (codes []string, err error) {
	name = strings.TrimSpace(name)
	if name == "" || len([]rune(name)) > maxKeyName {
		return nil, fault.Field("name", "must have 1 to %d characters", maxKeyName)
	}
	party, err := s.party()
	if err != nil {
		return nil, err
	}
	challenge, err := s.answered(ctx, forRegister, session, by.ID())
	if err != nil {
		return nil, err
	}
	h, err := s.readHolder(ctx, by.ID())
	if err != nil {
		return nil, err
	}
	_, question, err := s.registration(party, h, challenge)
	if err != nil {
		return nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return nil, errWrongKey
	}
	c, err := party.CreateCredential(h, *question, parsed)
	if err != nil {
		return nil, errWrongKey
	}
	return s.keepKey(ctx, by, name, c)
}

func (s *Service) keepKey(ctx context.Context, by access.Actor, name string, c *webauthn.Credential) (codes []string, err error) {
	transports := make([]string, 0, len(c.Transport))
	for _, t := range c.Transport {
		if slices.Contains(knownTransports, t) && !slices.Contains(transports, string(t)) {
			transports = append(transports, string(t))
		}
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		// It locks the account: what is the first factor is decided once.
		if err := s.deps.Users.EnableTwoFactor(ctx, tx, by, by.ID()); err != nil {
			return err
		}
		first, err := s.first(ctx, tx, by.ID())
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlAddKey, by.ID(), name, c.ID, c.PublicKey, int64(c.Authenticator.SignCount), c.Flags.BackupEligible,
			transports, s.deps.Clock.Now(), maxKeys)
		if err != nil {
			return postgres.Faults{"security_keys_credential_id_key": fault.Field("name", "is fine, but this key is registered already")}.Translate(err)
		}
		if tag.RowsAffected() == 0 {
			return fault.WithReason(fault.LimitReached, "You have %d keys. Remove one first.", maxKeys)
		}
		if first {
			if codes, err = s.newRecovery(ctx, tx, by.ID()); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: KeyAdded, By: by, Key: name})
	})
	return codes, err
}

// knownTransports are the ways to a key that browsers are told again.
var knownTransports = []protocol.AuthenticatorTransport{
	protocol.USB, protocol.NFC, protocol.BLE, protocol.SmartCard, protocol.Hybrid, protocol.Internal,
}

// first reports whether an account has no second factor yet.
func (s *Service) first(ctx context.Context, tx pgx.Tx, userID int64) (bool, error) {
	some, err := postgres.Value[bool](ctx, tx, sqlHasFactor, userID)
	return !some, err
}

// HasApp reports whether an account has an authenticator app.
func (s *Service) HasApp(ctx context.Context, userID int64) (bool, error) {
	return postgres.Value[bool](ctx, s.deps.DB, sqlHasApp, userID)
}

// RemoveKey forgets a key of the actor. The last factor goes with two-factor as
// a whole.
func (s *Service) RemoveKey(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		keys, err := postgres.All[SecurityKey](ctx, tx, sqlLockKeys, by.ID(), maxKeys)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(keys, func(k SecurityKey) bool { return k.ID == id })
		if i < 0 {
			return fault.NotFoundf("Key")
		}
		app, err := postgres.Value[bool](ctx, tx, sqlHasApp, by.ID())
		if err != nil {
			return err
		}
		if len(keys) == 1 && !app {
			return errOnlyKey
		}
		if _, err := tx.Exec(ctx, sqlRemoveKey, id); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: KeyRemoved, By: by, Key: keys[i].Name})
	})
}

// askKeys asks the keys of an account for an answer to half a sign-in.
func (s *Service) askKeys(ctx context.Context, userID int64, half secretbox.Secret) error {
	some, err := postgres.Value[bool](ctx, s.deps.DB, sqlHasKey, userID)
	if err != nil || !some || !s.KeysWork() {
		return err
	}
	return s.ask(ctx, forSignIn, half, userID, halfLife)
}

// KeyAsked is what the browser is told to have a key answer for half a
// sign-in, as JSON; nil when no key can.
func (s *Service) KeyAsked(ctx context.Context, half secretbox.Secret) ([]byte, error) {
	userID, err := s.halfOf(ctx, half)
	if err != nil {
		return nil, err
	}
	challenge, err := s.asked(ctx, forSignIn, half, userID)
	if err != nil || challenge == nil {
		return nil, err
	}
	party, err := s.party()
	if err != nil {
		return nil, err
	}
	h, err := s.readHolder(ctx, userID)
	if err != nil || len(h.keys) == 0 {
		return nil, err
	}
	assertion, _, err := s.question(party, h, challenge)
	if err != nil {
		return nil, err
	}
	return json.Marshal(assertion.Response)
}

func (s *Service) question(party *webauthn.WebAuthn, h holder, challenge []byte) (*protocol.CredentialAssertion, *webauthn.SessionData, error) {
	return party.BeginLogin(h, func(o *protocol.PublicKeyCredentialRequestOptions) error {
		o.Challenge = challenge
		return nil
	})
}

// FinishByKey lets in who showed a password before and whose key answers now.
// A wrong answer is asked for anew.
func (s *Service) FinishByKey(ctx context.Context, half secretbox.Secret, answer string, from netip.Addr, browser string) (e Entry, err error) {
	userID, err := s.halfOf(ctx, half)
	if err != nil {
		return e, err
	}
	try, err := s.count(ctx, factorKey(userID), from)
	if err != nil {
		return e, err
	}
	if err := s.checkKey(ctx, userID, half, answer); err != nil {
		if fault.Is(err, fault.Unauthenticated) {
			if askErr := s.askKeys(ctx, userID, half); askErr != nil {
				return e, askErr
			}
		}
		return e, err
	}
	if err := s.giveBack(ctx, try); err != nil {
		return e, err
	}
	return s.finish(ctx, userID, half, from, browser)
}

// checkKey holds an answer against the question that half a sign-in asked.
func (s *Service) checkKey(ctx context.Context, userID int64, half secretbox.Secret, answer string) error {
	party, err := s.party()
	if err != nil {
		return err
	}
	challenge, err := s.answered(ctx, forSignIn, half, userID)
	if err != nil {
		return err
	}
	h, err := s.readHolder(ctx, userID)
	if err != nil {
		return err
	}
	if len(h.keys) == 0 {
		return errWrongKey
	}
	_, question, err := s.question(party, h, challenge)
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return errWrongKey
	}
	c, err := party.ValidateLogin(h, *question, parsed)
	if err != nil || c.Authenticator.CloneWarning {
		return errWrongKey
	}
	// A key that counts must have counted on, whoever else answers with it now.
	tag, err := s.deps.DB.Exec(ctx, sqlUseKey, userID, c.ID, int64(parsed.Response.AuthenticatorData.Counter), s.deps.Clock.Now())
	if err == nil && tag.RowsAffected() == 0 {
		return errWrongKey
	}
	return err
}
