package user

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxAddress = 254

// parseAddress reads an email address. It returns the address as it is stored
// and sent to, and the normal form by which two addresses are found equal:
// ASCII lower case, with the domain in its ASCII spelling. A local part with
// letters outside ASCII is refused, so that nothing folds into another's
// address.
func parseAddress(s string) (email, normal string, ok bool) {
	if len(s) > maxAddress || !utf8.ValidString(s) {
		return "", "", false
	}
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 {
		return "", "", false
	}
	local, domain := s[:at], s[at+1:]
	if strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return "", "", false
	}
	for i := range len(local) {
		if !atext(local[i]) {
			return "", "", false
		}
	}
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || ascii == "" || len(ascii) > 253 || strings.HasPrefix(ascii, ".") || strings.HasSuffix(ascii, ".") || strings.Contains(ascii, "..") {
		return "", "", false
	}
	normal = asciiLower(local) + "@" + asciiLower(ascii)
	return local + "@" + asciiLower(ascii), normal, len(normal) <= maxAddress
}

// atext reports whether a byte may stand in a local part without quotes.
func atext(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-/=?^_`{|}~.", c) >= 0
}

// asciiLower lowers ASCII letters only: strings.ToLower would fold the Kelvin
// sign to k.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
