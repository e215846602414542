// Package deploytoken owns deploy tokens: secrets of a project or group that
// machines fetch code and packages with. They are no credential of this API
// and prove nobody's identity, so no lookup of theirs is lent to token; their
// digest has a kind of its own.
//
// It does not own the doors that accept them, nor access tokens (token, bot).
//
// Tables: deploy_tokens.
package deploytoken

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/fault"
)

// Token is a deploy token. Its secret is not in it.
type Token struct {
	ID        int64
	Name      string
	Username  string
	Scopes    []string
	ExpiresAt *time.Time // nil never does
	RevokedAt *time.Time
}

// Expired reports whether the token has stopped working by itself.
func (t *Token) Expired(now time.Time) bool { return t.ExpiresAt != nil && !now.Before(*t.ExpiresAt) }

// Draft is what a token is made of.
type Draft struct {
	Name      string
	Username  string // empty takes one that follows from the id
	Scopes    []string
	ExpiresAt *time.Time
}

// scopes are what a deploy token may carry, in the order that they are shown.
var scopes = []string{"read_repository", "read_registry", "write_registry", "read_package_registry", "write_package_registry"}

var usernamePattern = regexp.MustCompile(`^[a-zA-Z0-9_.+-]+$`)

// check says what is wrong with a new token.
func (d Draft) check() error {
	var f fault.Fields
	switch {
	case strings.TrimSpace(d.Name) == "":
		f.Add("name", "can't be blank")
	case utf8.RuneCountInString(d.Name) > 255:
		f.Add("name", "is too long (maximum is 255 characters)")
	}
	switch {
	case d.Username == "":
	case len(d.Username) > 255:
		f.Add("username", "is too long (maximum is 255 characters)")
	case !usernamePattern.MatchString(d.Username):
		f.Add("username", "can contain only letters, digits, '_', '-', '+', and '.'")
	}
	if len(d.Scopes) == 0 {
		f.Add("scopes", "can't be blank")
	} else if slices.ContainsFunc(d.Scopes, func(s string) bool { return !slices.Contains(scopes, s) }) {
		f.Add("scopes", "can only contain available scopes")
	}
	return f.Err()
}
