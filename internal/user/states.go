package user

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Transition is a change of state that an administrator asks for.
type Transition string

const (
	Block      Transition = "block"
	Unblock    Transition = "unblock"
	Deactivate Transition = "deactivate"
	Activate   Transition = "activate"
	Ban        Transition = "ban"
	Unban      Transition = "unban"
	Approve    Transition = "approve"
)

// eventActions maps each transition to the action of the event that it publishes.
var eventActions = map[Transition]Action{
	Block: WasBlocked, Unblock: WasUnblocked, Deactivate: WasDeactivated, Activate: WasActivated,
	Ban: WasBanned, Unban: WasUnbanned, Approve: Approved,
}

// transition decides a change of state without I/O. next is the new state, or
// the present one if nothing changes. answer is the JSON body of the API's
// reply: true, false or null.
func transition(u *User, t Transition, by access.Actor, now time.Time, dormantDays int) (next State, answer *bool, err error) {
	yes, no := new(true), new(false)
	switch t {
	case Block:
		switch {
		case u.State == LDAPBlocked:
			return "", nil, fault.WithReason(fault.Forbidden, "LDAP blocked users cannot be modified by the API")
		case by.Is(u.ID):
			return "", nil, fault.WithReason(fault.Forbidden, "The API initiating user cannot be blocked by the API")
		case u.Kind.Internal():
			return "", nil, fault.WithMessage(fault.Forbidden, "An internal user cannot be blocked")
		case u.State == Blocked || u.State == Banned:
			return u.State, nil, nil
		}
		return Blocked, yes, nil
	case Unblock:
		switch u.State {
		case LDAPBlocked:
			return "", nil, fault.WithReason(fault.Forbidden, "LDAP blocked users cannot be unblocked by the API")
		case Deactivated:
			return "", nil, fault.WithReason(fault.Forbidden, "Deactivated users cannot be unblocked by the API")
		case Blocked:
			return Active, yes, nil
		}
		return u.State, no, nil
	case Deactivate:
		switch {
		case u.State == Deactivated:
			return Deactivated, nil, nil
		case u.State.Blocked():
			return "", nil, fault.WithMessage(fault.Forbidden, "Error occurred. A blocked user cannot be deactivated")
		case u.Kind.Internal():
			return "", nil, fault.WithMessage(fault.Forbidden, "Internal users cannot be deactivated")
		case u.activeSince(now.AddDate(0, 0, -dormantDays)):
			return "", nil, fault.WithMessage(fault.Forbidden, "The user you are trying to deactivate has been active in the past %d days and cannot be deactivated", dormantDays)
		}
		return Deactivated, yes, nil
	case Activate:
		if u.State.Blocked() {
			return "", nil, fault.WithMessage(fault.Forbidden, "Error occurred. A blocked user must be unblocked to be activated")
		}
		return Active, yes, nil
	case Ban:
		switch {
		case u.Kind.Internal():
			return "", nil, fault.WithMessage(fault.Forbidden, "An internal user cannot be banned")
		case u.State != Active:
			return "", nil, fault.WithMessage(fault.Forbidden, "You cannot ban %s users.", u.State)
		}
		return Banned, yes, nil
	case Unban:
		if u.State != Banned {
			return "", nil, fault.WithMessage(fault.Forbidden, "You cannot unban %s users.", u.State)
		}
		return Active, yes, nil
	case Approve:
		if u.State != Pending {
			return "", nil, fault.WithMessage(fault.Conflict, "The user you are trying to approve is not pending approval")
		}
		return Active, yes, nil
	}
	panic("user: unknown transition " + string(t))
}

// activeSince reports whether the account was used after a moment.
func (u *User) activeSince(t time.Time) bool {
	for _, seen := range []*time.Time{u.LastActivityOn, u.CurrentSignInAt} {
		if seen != nil && seen.After(t) {
			return true
		}
	}
	return false
}

// Transition changes the state of an account.
func (s *Service) Transition(ctx context.Context, by access.Actor, id int64, t Transition) (answer *bool, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		now := s.deps.Clock.Now()
		var next State
		next, answer, err = transition(u, t, by, now, s.deps.Settings.Current().DeactivateDormantUsersPeriod)
		if err != nil || next == u.State {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSetState, u.ID, next, now); err != nil {
			return err
		}
		if note, ok := map[Transition]string{Block: "blocked_by", Unblock: "unblocked_by"}[t]; ok && by.SignedIn() {
			value := by.Person.Username + "/" + formatID(by.ID()) + "+" + now.UTC().Format(time.RFC3339)
			if err := s.attributes.Put(ctx, tx, u.ID, note, value); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: eventActions[t], By: by, User: u})
	})
	return answer, err
}

// DisableTwoFactor takes the second factor off an account whose owner lost the device.
func (s *Service) DisableTwoFactor(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if u.Admin {
			return fault.WithReason(fault.Forbidden, "Two-factor authentication for admins cannot be disabled via the API")
		}
		if !u.TwoFactorEnabled {
			return fault.WithReason(fault.Rejected, "Two-factor authentication is not enabled for this user")
		}
		return s.setTwoFactor(ctx, tx, by, u.ID, false, TwoFactorDisabled)
	})
}
