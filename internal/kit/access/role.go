package access

import (
	"encoding"
	"fmt"
	"strconv"
)

// Role is what a person is in a group or project. A higher role holds
// everything that a lower one does.
type Role int16

const (
	NoRole        Role = 0
	MinimalAccess Role = 5 // sees a top-level group, and nothing below it
	Guest         Role = 10
	Reporter      Role = 20
	Developer     Role = 30
	Maintainer    Role = 40
	Owner         Role = 50
)

// Roles are those that can be given, lowest first.
var Roles = []Role{Guest, Reporter, Developer, Maintainer, Owner}

func (r Role) String() string {
	switch r {
	case NoRole:
		return "No access"
	case MinimalAccess:
		return "Minimal Access"
	case Guest:
		return "Guest"
	case Reporter:
		return "Reporter"
	case Developer:
		return "Developer"
	case Maintainer:
		return "Maintainer"
	case Owner:
		return "Owner"
	}
	return "Role " + strconv.Itoa(int(r))
}

// Visibility says who sees a target without being a member of it.
type Visibility int16

const (
	Private  Visibility = 0  // members
	Internal Visibility = 10 // people who are signed in, external ones aside
	Public   Visibility = 20 // everyone; "public" on the wire
)

var visibilityNames = map[Visibility]string{Private: "private", Internal: "internal", Public: "public"}

func (v Visibility) String() string { return visibilityNames[v] }

var _ encoding.TextMarshaler = Public

// MarshalText writes the name.
func (v Visibility) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// ParseVisibility reads the name.
func ParseVisibility(name string) (Visibility, error) {
	for v, n := range visibilityNames {
		if n == name {
			return v, nil
		}
	}
	return 0, fmt.Errorf("access: %q is no visibility", name)
}

// Target is a group or project as one actor stands in it.
type Target struct {
	Visibility Visibility
	Role       Role             // the actor's
	Lowered    map[Ability]Role // roles that its own settings ask for instead of the policy's
	Off        []Feature        // nobody uses these
	Private    []Feature        // members alone use these
	Frozen     bool             // no feature is written to
	Powerless  bool             // rights on the whole instance do not count here
}

// Sees reports whether an actor may know that a target exists.
func Sees(a Actor, p Target) bool {
	if p.Powerless {
		a = a.plain()
	}
	switch {
	case a.Admin(), a.Auditor(), p.Role > NoRole, p.Visibility == Public:
		return true
	}
	return p.Visibility == Internal && a.SignedIn() && !a.Person.External
}
