// Package bot owns the access tokens of projects and groups, and the accounts
// behind them: one for each token, which is a member of that one place, with
// the role that was chosen, for as long as the token lives. An account that
// is no longer a member has nothing left to do and goes.
//
// It does not own accounts as such (user), secrets (token), nor what a
// membership is worth (grant).
//
// Tables, of the rooms below: users, personal_access_tokens, members.
package bot

import (
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Token is the token of a project or group.
type Token struct {
	token.Token
	AccessLevel access.Role // of its bot
	BotName     string
}

// Draft is what a token is made of.
type Draft struct {
	Name      string
	Scopes    access.Scopes
	ExpiresAt *time.Time // nil is as late as possible
	Level     access.Role
}

// toManage is what seeing and ending the tokens of an owner needs.
var toManage = owner.Needs{Group: access.AdminGroupTokens, Project: access.AdminProjectTokens}

// mayMake reports whether an actor may make new secrets for an owner. Bots may
// not: one that leaked would leave others behind.
func mayMake(a access.Actor, o *owner.Owner) bool { return toManage.Held(a, o) && !user.ActsAsBot(a) }

func errMayNotCreate(of bus.Entity) error {
	return fault.WithReason(fault.Rejected, "User does not have permission to create %s access token", owner.Noun(of))
}

// errMissing is a token that is not of this owner.
func errMissing(of bus.Entity, id int64) error {
	return fault.NotFoundf("Could not find %s access token with token_id: %d", owner.Noun(of), id)
}

// exceeds reports whether a role is above what an actor has in an owner.
func exceeds(level access.Role, a access.Actor, o *owner.Owner) bool {
	return !a.Admin() && level > o.Target().Role
}

// checkLevel keeps people from giving a bot more than they have.
func checkLevel(a access.Actor, o *owner.Owner, level access.Role) error {
	switch {
	case !exceeds(level, a, o):
		return nil
	case level == access.Owner && o.Project != nil:
		return fault.WithReason(fault.Rejected, "Could not provision owner access to project access token")
	}
	return fault.WithReason(fault.Rejected, "Access level of the token can't be greater the access level of the user who created the token")
}
