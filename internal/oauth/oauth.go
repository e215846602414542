// Package oauth owns the OAuth 2.0 and OpenID provider: the applications that
// others register, the codes that carry a person's consent to them, the
// tokens that they act with, and the keys that sign what they learn.
//
// It does not own how people sign in (user, token), what a scope opens
// (access), or the pages on which people consent (web).
//
// Of every code, token and client secret the tables keep a keyed digest.
//
// Tables: oauth_applications, oauth_codes, oauth_tokens, signing_keys.
package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
)

// TokenLife is how long an access token works. Clients know the number.
const TokenLife = 7200 * time.Second

const (
	codeLife    = 600 * time.Second
	idTokenLife = 120 * time.Second

	maxURI   = 2048
	maxURIs  = 8192
	maxNonce = 255
)

// Kinds of the room's secrets beside access tokens; a digest includes its kind.
const (
	codeKind    access.Kind = "oauth code"
	refreshKind access.Kind = "oauth refresh"
	secretKind  access.Kind = "oauth client"
)

// Application is a program that people may let act for them. Its secret is
// not in it.
type Application struct {
	ID           int64
	UID          string `db:"uid"`
	OwnerID      *int64 // nil belongs to the instance
	Name         string
	SecretDigest []byte
	RedirectURI  string `db:"redirect_uri"` // one or more, separated by white space
	Scopes       access.Scopes
	Confidential bool // it can keep a secret
	Trusted      bool // people are not asked
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (a *Application) ModifiedAt() time.Time { return a.UpdatedAt }

// Redirects reports whether answers may be sent to this address: one that is
// registered, to the byte. Only the port of a loopback address may be another,
// because programs on a person's machine take what port is free (RFC 8252).
func (a *Application) Redirects(to string) bool {
	if len(to) > maxURI || checkURI(to) != "" {
		return false
	}
	return slices.ContainsFunc(strings.Fields(a.RedirectURI), func(registered string) bool {
		return registered == to || sameButPort(registered, to)
	})
}

func sameButPort(registered, given string) bool {
	for _, loopback := range []string{"http://127.0.0.1", "http://[::1]"} {
		r, known := strings.CutPrefix(registered, loopback)
		g, ok := strings.CutPrefix(given, loopback)
		if known && ok {
			r, known = pastPort(r)
			g, ok = pastPort(g)
			return known && ok && r == g
		}
	}
	return false
}

var portPattern = regexp.MustCompile(`^(?::[1-9][0-9]{0,4})?((?:[/?].*)?)$`)

// pastPort is what follows the port, and whether nothing but a port stood
// between the host and it.
func pastPort(s string) (path string, ok bool) {
	parts := portPattern.FindStringSubmatch(s)
	if parts == nil {
		return "", false
	}
	return parts[1], true
}

// hostPattern keeps out what means something in the headers that hosts stand in.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]*$`)

// forbiddenSchemes run what they hold, or open what is on the machine of whoever follows them, instead of going to an application.
var forbiddenSchemes = []string{
	"about", "blob", "chrome", "data", "file", "filesystem", "intent", "jar", "javascript", "resource", "search-ms", "smb", "vbscript", "view-source", "ws", "wss",
}

// checkURI says what is wrong with an address to send people to, in words
// that clients of the applications API know.
func checkURI(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == utf8.RuneError }):
		return "must be a valid URI."
	case slices.Contains(forbiddenSchemes, strings.ToLower(u.Scheme)), strings.HasPrefix(strings.ToLower(u.Scheme), "ms-"):
		return "is forbidden by the server."
	case strings.Contains(s, "#"):
		return "cannot contain a fragment."
	case u.Opaque != "" || u.Scheme == "localhost":
		return "must specify a scheme."
	case u.Scheme == "":
		return "must be an absolute URI."
	case u.User != nil, (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() == "", !hostPattern.MatchString(u.Host):
		return "must be a valid URI."
	}
	return ""
}

// Scopes lists what an application may ask for.
func Scopes() access.Scopes {
	return append(access.PersonalScopes(true), access.ScopeOpenID, access.ScopeProfile, access.ScopeEmail)
}

// holdable leaves out the scopes that only administrators may hold.
func holdable(scopes access.Scopes, admin bool) access.Scopes {
	if admin {
		return scopes
	}
	ordinary := access.PersonalScopes(false)
	return slices.DeleteFunc(slices.Clone(scopes), func(s access.Scope) bool {
		return access.PersonalScopes(true).Has(s) && !ordinary.Has(s)
	})
}

// parseScopes reads a list separated by white space; each counts once.
func parseScopes(text string) (scopes access.Scopes) {
	for _, name := range strings.Fields(text) {
		if scope := access.Scope(name); !scopes.Has(scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// within reports whether every scope of some is one of all.
func within(some, all access.Scopes) bool {
	return !slices.ContainsFunc(some, func(s access.Scope) bool { return !all.Has(s) })
}

func joined(scopes access.Scopes) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}

// Draft is what an application is made of.
type Draft struct {
	Name         string
	RedirectURI  string
	Scopes       access.Scopes
	Confidential bool
	Trusted      bool
}

// check says what is wrong with an application.
func (d Draft) check() error {
	var f fault.Fields
	switch {
	case strings.TrimSpace(d.Name) == "":
		f.Add("name", "can't be blank")
	case utf8.RuneCountInString(d.Name) > 255:
		f.Add("name", "is too long (maximum is 255 characters)")
	}
	uris := strings.Fields(d.RedirectURI)
	switch {
	case len(uris) == 0:
		f.Add("redirect_uri", "can't be blank")
	case utf8.RuneCountInString(d.RedirectURI) > maxURIs:
		f.Add("redirect_uri", "is too long (maximum is %d characters)", maxURIs)
	}
	for _, uri := range uris {
		wrong := checkURI(uri)
		if wrong == "" && len(uri) > maxURI {
			wrong = "must be a valid URI."
		}
		if wrong != "" {
			f.Add("redirect_uri", "%s", wrong)
			break
		}
	}
	switch {
	case len(d.Scopes) == 0:
		f.Add("scopes", "can't be blank")
	case !within(d.Scopes, Scopes()):
		f.Add("scopes", "doesn't match configured on the server.")
	}
	return f.Err()
}

// Challenge and verifier of PKCE (RFC 7636); S256 is the only method.
var (
	challengePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	verifierPattern  = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)
)

// verifies reports whether the verifier is the one that the challenge was
// made of.
func verifies(verifier, challenge string) bool {
	if !verifierPattern.MatchString(verifier) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// newSecret is 256 random bits in the form that clients tell these tokens by.
func newSecret() secretbox.Secret {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails: the process ends first
	return secretbox.Secret(hex.EncodeToString(bits[:]))
}

// wellFormed reports whether newSecret could have made it.
func wellFormed(secret string) bool {
	if len(secret) != 64 {
		return false
	}
	for i := range len(secret) {
		if c := secret[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
