package user

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an administrative act on an account; the audit trail keeps it.
type Action string

const (
	Created            Action = "user_created"
	Destroyed          Action = "user_destroyed"
	Approved           Action = "user_approved"
	RejectedPending    Action = "user_rejected"
	WasBlocked         Action = "user_blocked"
	WasUnblocked       Action = "unblock_user"
	WasBanned          Action = "ban_user"
	WasUnbanned        Action = "unban_user"
	WasActivated       Action = "user_activate"
	WasDeactivated     Action = "user_deactivate"
	WasUnlocked        Action = "user_access_unlocked"
	AdminChanged       Action = "user_admin_status_updated"
	AuditorChanged     Action = "user_auditor_status_updated"
	EmailChanged       Action = "user_email_address_updated"
	UsernameChanged    Action = "user_username_updated"
	PasswordChanged    Action = "user_password_updated"
	TwoFactorEnabled   Action = "user_enable_two_factor"
	TwoFactorDisabled  Action = "user_disable_two_factor"
	EmailAdded         Action = "email_created"
	EmailRemoved       Action = "email_destroyed"
	SSHKeyAdded        Action = "add_ssh_key"
	SSHKeyRemoved      Action = "remove_ssh_key"
	GPGKeyAdded        Action = "add_gpg_key"
	GPGKeyRemoved      Action = "remove_gpg_key"
	IdentityRemoved    Action = "identity_destroyed"
	CustomAttributeSet Action = "user_custom_attribute_updated"
	CustomAttributeCut Action = "user_custom_attribute_destroyed"
)

// Event is an act on an account, published in the transaction that did it.
type Event struct {
	Action  Action
	By      access.Actor
	User    *User
	Message string
	Change  *bus.Change
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	d := bus.AuditRecord{
		Type: string(e.Action), By: e.By, Message: e.Message, Change: e.Change,
		Entity: bus.Entity{Kind: bus.OfUser, ID: e.User.ID, Path: e.User.Username, Name: e.User.Name},
		Target: bus.Target{Type: "User", ID: e.User.ID, Details: e.User.Name},
	}
	switch e.Action {
	case Created:
		d.Add = "user"
	case Destroyed:
		d.Remove = "user"
	}
	return d
}

// Updated tells the rooms above that an account changed, in the transaction
// that changed it.
type Updated struct {
	By            access.Actor
	Before, After *User
}

// EventName is for logs.
func (Updated) EventName() string { return "user_updated" }

// ResetWanted asks for a mailed link with which the owner of an account sets
// its password.
type ResetWanted struct {
	UserID int64
}

// EventName is for logs.
func (ResetWanted) EventName() string { return "user_reset_wanted" }

// Leaving asks the rooms above whether an account may go. One that objects
// answers with a fault, and nothing happens.
type Leaving struct {
	UserID int64
	Hard   bool
}

// EventName is for logs.
func (Leaving) EventName() string { return "user_leaving" }

// Removing tells the rooms above that an account is about to go, in the
// transaction that removes it: hand what it made to the ghost, or delete it.
type Removing struct {
	UserID  int64
	GhostID int64
	Hard    bool
}

// EventName is for logs.
func (Removing) EventName() string { return "user_removing" }
