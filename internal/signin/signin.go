// Package signin owns the way in: tries of passwords and how many there may
// be, the second factor, links that are mailed to prove an address, and
// registration. What comes out at its end is a session.
//
// It does not own accounts and their password hashes (user), sessions
// themselves (token), nor the pages on the way (web).
//
// Whoever has shown a password and owes the second factor has no session: a
// session is always that of a person who is fully signed in, so no door has to
// ask.
//
// Tables: sign_in_tries, half_sign_ins, one_time_secrets, recovery_codes,
// security_keys, key_challenges, mailed_links.
package signin

import (
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/user"
)

// Limits of tries, where the settings name none. An address may stand for an
// office, so it may fail more often.
const (
	accountTries  = 10
	addressTries  = 100
	triesPeriod   = 10 * time.Minute
	halfLife      = 10 * time.Minute // to find the telephone
	secretLength  = 43               // 258 bits
	recoveryCodes = 10
)

// Kinds keep the digests of this room's secrets apart from all others.
const (
	kindTry       access.Kind = "sign_in_try"
	kindHalf      access.Kind = "half_sign_in"
	kindLink      access.Kind = "mailed_link"
	kindRecovery  access.Kind = "recovery_code"
	kindChallenge access.Kind = "key_challenge"
	kindHandle    access.Kind = "key_handle"
)

var (
	// errWrong is one answer for an unknown name and for a wrong password.
	errWrong     = fault.WithMessage(fault.Unauthenticated, "Wrong username or password.")
	errWrongCode = fault.WithMessage(fault.Unauthenticated, "This code is wrong, or was used before.")
	errTooMany   = fault.WithMessage(fault.TooMany, "Too many tries. Wait ten minutes and try again.")
	errHalfGone  = fault.WithMessage(fault.Unauthenticated, "That took too long. Sign in again.")
)

// tryKey names what tries count against: an account by whatever name it was
// meant, or else the name itself.
func tryKey(l *user.Login, login string) string {
	if l != nil {
		return accountKey(l.ID)
	}
	return "name:" + strings.ToLower(strings.TrimSpace(login))
}

func accountKey(id int64) string { return "account:" + strconv.FormatInt(id, 10) }

func factorKey(id int64) string { return "factor:" + strconv.FormatInt(id, 10) }

// refusal says why an account may not sign in although the password was right;
// the first reason counts. Who was deactivated, or must change the password, may.
func refusal(u *user.User) error {
	forbidden := func(text string) error { return fault.WithReason(fault.Forbidden, "%s", text) }
	switch {
	case u.Kind != user.Human:
		return errWrong
	case u.State == user.Pending:
		return forbidden("Your account waits for an administrator's approval. You will be able to sign in once it is given.")
	case u.State.Blocked():
		return forbidden("Your account has been blocked. Ask an administrator.")
	case u.ConfirmedAt == nil:
		return forbidden("Confirm your email address first. The link is in your inbox; you can ask for another one below.")
	}
	return nil
}
