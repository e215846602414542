package user

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// What names an administrative act on an account; the audit trail keeps it.
type What string

const (
	Created            What = "user_created"
	Destroyed          What = "user_destroyed"
	Approved           What = "user_approved"
	RejectedPending    What = "user_rejected"
	WasBlocked         What = "user_blocked"
	WasUnblocked       What = "unblock_user"
	WasBanned          What = "ban_user"
	WasUnbanned        What = "unban_user"
	WasActivated       What = "user_activate"
	WasDeactivated     What = "user_deactivate"
	WasUnlocked        What = "user_access_unlocked"
	AdminChanged       What = "user_admin_status_updated"
	AuditorChanged     What = "user_auditor_status_updated"
	EmailChanged       What = "user_email_address_updated"
	UsernameChanged    What = "user_username_updated"
	PasswordChanged    What = "user_password_updated"
	TwoFactorEnabled   What = "user_enable_two_factor"
	TwoFactorDisabled  What = "user_disable_two_factor"
	EmailAdded         What = "email_created"
	EmailRemoved       What = "email_destroyed"
	SSHKeyAdded        What = "add_ssh_key"
	SSHKeyRemoved      What = "remove_ssh_key"
	GPGKeyAdded        What = "add_gpg_key"
	GPGKeyRemoved      What = "remove_gpg_key"
	IdentityRemoved    What = "identity_destroyed"
	CustomAttributeSet What = "user_custom_attribute_updated"
	CustomAttributeCut What = "user_custom_attribute_destroyed"
)

// Event is an act on an account, published in the transaction that did it.
type Event struct {
	What    What
	By      access.Actor
	User    *User
	Message string
	Change  *bus.Change
}

// EventName is the act.
func (e Event) EventName() string { return string(e.What) }

// Deed is the act as the audit trail keeps it.
func (e Event) Deed() bus.Deed {
	d := bus.Deed{
		Type: string(e.What), By: e.By, Message: e.Message, Change: e.Change,
		Entity: bus.Entity{Kind: bus.OfUser, ID: e.User.ID, Path: e.User.Username, Name: e.User.Name},
		Target: bus.Target{Type: "User", ID: e.User.ID, Details: e.User.Name},
	}
	switch e.What {
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
