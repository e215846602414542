// Package member owns the life of memberships: who is added, changed and
// removed, expiry, invitations by mail, access requests, and shares with
// groups. It does not own what a membership is worth (grant), the
// places (group, project), nor the accounts (user).
//
// Tables, whose columns grant reads: members, shares.
package member

import (
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
)

// Member is a membership. One that follows from the ownership of a personal
// namespace has no id.
type Member struct {
	ID          int64
	UserID      int64
	AccessLevel access.Role
	ExpiresAt   *time.Time
	RequestedAt *time.Time
	CreatedByID *int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Source is a group or project that has members, as the actor stands in it.
type Source struct {
	Entity      bus.Entity
	NamespaceID int64 // the group itself, or what the project stands in
	Holder      int64 // whose personal namespace that is, if anyone's
	Top         bool  // a top-level group
	AsksAllowed bool  // strangers may ask to join
	At          access.Target
}

// SourceOf is an owner as a source of members.
func SourceOf(o *owner.Owner) *Source {
	src := &Source{Entity: o.Entity, NamespaceID: o.NamespaceID(), At: o.Target()}
	if g := o.Group; g != nil {
		src.Top, src.AsksAllowed = g.ParentID == nil, g.Settings.RequestAccessEnabled
		return src
	}
	src.AsksAllowed = o.Project.Settings.RequestAccessEnabled
	if holder := o.Project.NamespaceOwnerID; holder != nil {
		src.Holder = *holder
	}
	return src
}

// Target is the source as the actor stands in it.
func (s *Source) Target() access.Target { return s.At }

func (s *Source) isGroup() bool { return s.Entity.Kind == bus.OfGroup }

// admin is the ability to manage the members.
func (s *Source) admin() access.Ability {
	if s.isGroup() {
		return access.AdminGroupMembers
	}
	return access.AdminProjectMembers
}

// reach is the highest role that an actor may give to others or take from
// them: their own.
func (s *Source) reach(by access.Actor) access.Role {
	if by.Admin() {
		return access.Owner
	}
	return s.At.Role
}

// Terms are what a membership is given on.
type Terms struct {
	Level     access.Role
	ExpiresAt *time.Time
}

// check holds terms against what the source knows and the actor may give.
func (t Terms) check(by access.Actor, s *Source, today time.Time) error {
	var f fault.Fields
	if !slices.Contains(access.Roles, t.Level) && (t.Level != access.MinimalAccess || !s.Top) {
		f.Add("access_level", "is not included in the list")
	}
	if t.ExpiresAt != nil && t.ExpiresAt.Format(time.DateOnly) < today.Format(time.DateOnly) {
		f.Add("expires_at", "cannot be a date in the past")
	}
	if err := f.Err(); err != nil {
		return err
	}
	return checkReach(by, s, t.Level)
}

// checkReach keeps people from touching what is above them.
func checkReach(by access.Actor, s *Source, level access.Role) error {
	if level > s.reach(by) {
		return fault.New(fault.Forbidden)
	}
	return nil
}
