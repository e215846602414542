// Package access names who acts, what they may do and with which token. It is
// pure: every decision follows from its arguments alone.
package access

import (
	"net/netip"
	"slices"
	"strconv"

	"stithy/internal/platform/fairshare"
)

// Actor is whoever made the call. The zero Actor is anonymous.
type Actor struct {
	Person     *Person    // nil when nobody is signed in
	Sudoer     *Person    // the administrator who acts as Person, if any
	Credential Credential // what proved the identity
	Address    netip.Addr // where the call came from
	Process    string     // what acts when no person does: a command, a job

	// Account is what authentication read of the account, kept so that a
	// handler need not read it a second time.
	Account any
}

// Person is what decisions need to know of an account.
type Person struct {
	ID       int64
	Username string
	Name     string
	Email    string
	Admin    bool
	Auditor  bool
	External bool
}

// SignedIn reports whether a person is known.
func (a Actor) SignedIn() bool { return a.Person != nil }

// Admin reports whether the person may administer the instance.
func (a Actor) Admin() bool { return a.Person != nil && a.Person.Admin }

// Auditor reports whether the person may read everything.
func (a Actor) Auditor() bool { return a.Person != nil && a.Person.Auditor }

// plain is the actor without the powers of administrators and auditors.
func (a Actor) plain() Actor {
	if a.Person != nil {
		person := *a.Person
		person.Admin, person.Auditor = false, false
		a.Person = &person
	}
	return a
}

// ID is the person's id, or zero.
func (a Actor) ID() int64 {
	if a.Person == nil {
		return 0
	}
	return a.Person.ID
}

// Is reports whether the actor is this person.
func (a Actor) Is(id int64) bool { return id != 0 && a.ID() == id }

// Caller is whose share of what is scarce the actor uses: the person's, that
// of the project whose job it is, that of the machine, or that of the address
// where nobody is known.
func (a Actor) Caller() fairshare.Caller {
	from := fairshare.Network(a.Address)
	who, stranger := "address "+from, false
	switch {
	case a.Credential.Kind == JobToken && a.Credential.ProjectID != 0:
		who = "jobs of project " + strconv.FormatInt(a.Credential.ProjectID, 10)
	case a.SignedIn():
		who = "person " + strconv.FormatInt(a.ID(), 10)
	case a.Credential.Kind != NoCredential:
		who = string(a.Credential.Kind) + " " + strconv.FormatInt(a.Credential.ID, 10)
	default:
		stranger = true
	}
	return fairshare.Caller{Who: who, From: from, Stranger: stranger}
}

// Kind is what sort of secret proved an identity. It is part of every token's
// digest, so that no secret passes for one of another kind.
type Kind string

const (
	NoCredential  Kind = ""
	PersonalToken Kind = "personal" // also impersonation, project and group tokens
	OAuthToken    Kind = "oauth"
	JobToken      Kind = "job"
	Session       Kind = "session"

	// At the doors of git alone.
	Password    Kind = "password"
	SSHKey      Kind = "ssh_key"
	DeployKey   Kind = "deploy_key"   // speaks for whoever made it
	DeployToken Kind = "deploy_token" // speaks for nobody
)

// Credential is a proof of identity after it was looked up.
type Credential struct {
	Kind          Kind
	ID            int64
	Scopes        Scopes
	Impersonation bool
	ProjectID     int64 // of the job, where a job's token was presented
}

// Scopes is the set of scopes that a token carries.
type Scopes []Scope

// Has reports whether the set holds a scope.
func (s Scopes) Has(scope Scope) bool { return slices.Contains(s, scope) }
