package telemetry

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxShownURL = 2 << 10
	redacted    = "[REDACTED]"
	ellipsis    = "…"
)

// RedactURL is the form of a URL, absolute or not, that a record may keep: without user and password, without
// the values of parameters that carry a secret, and at most 2 KiB. It takes any text and errs on the side of
// hiding too much; what it does not hide it leaves as it was.
func RedactURL(s string) string {
	s, cut := shorten(s)
	s = withoutUserinfo(s)
	path, query, hasQuery := strings.Cut(s, "?")
	out := make([]byte, 0, len(s)+len(redacted))
	if before, _, found := strings.Cut(path, secretPath); found {
		path = before + secretPath + redacted
	}
	out = append(out, redactPiece(path)...)
	if hasQuery {
		separator := byte('?')
		for piece := range strings.SplitSeq(query, "&") {
			out = append(append(out, separator), redactPiece(piece)...)
			separator = '&'
		}
	}
	if limit := maxShownURL - len(ellipsis); len(out) > limit {
		for limit > 0 && !utf8.RuneStart(out[limit]) {
			limit--
		}
		out, cut = out[:limit], true
	}
	if cut {
		out = append(out, ellipsis...)
	}
	return string(out)
}

// secretPath is what stands before a secret in a path: links that end mails.
const secretPath = "/-/unsubscribe/"

// shorten bounds the work, and ends the text where a part of the URL ends: half a user name or half a
// parameter could no longer be told from something harmless.
func shorten(s string) (short string, cut bool) {
	const limit = maxShownURL - len(ellipsis)
	if len(s) <= limit {
		return s, false
	}
	return s[:strings.LastIndexAny(s[:limit], "/?&")+1], true
}

// withoutUserinfo takes user and password from every address in s.
func withoutUserinfo(s string) string {
	for from := 0; ; {
		start, ok := authorityAfter(s, from)
		if !ok {
			return s
		}
		end := start + authorityLen(s[start:], strings.Contains(s[:start], "?"))
		if at := strings.LastIndexByte(s[start:end], '@'); at >= 0 {
			s = s[:start] + s[start+at+1:]
			end -= at + 1
		}
		if !plausibleHost(s[start:end]) {
			// A password with an unescaped delimiter, most likely.
			end = max(end, start+strings.LastIndexByte(s[start:], '@')+1)
			s = s[:start] + redacted + s[end:]
		}
		from = start
	}
}

// authorityAfter finds where the next authority begins, looking from an index on.
func authorityAfter(s string, from int) (start int, ok bool) {
	if from == 0 && strings.HasPrefix(s, "//") {
		return len("//"), true
	}
	i := strings.Index(s[from:], "://")
	return from + i + len("://"), i >= 0
}

// authorityLen is the length of the authority that s begins with.
func authorityLen(s string, inQuery bool) int {
	ends := "/?#"
	if inQuery {
		ends = "/?#&"
	}
	if i := strings.IndexAny(s, ends); i >= 0 {
		return i
	}
	return len(s)
}

// plausibleHost reports whether s can be a host with an optional port.
func plausibleHost(s string) bool {
	_, port, _ := strings.Cut(s[strings.LastIndexByte(s, ']')+1:], ":")
	return strings.Trim(port, "0123456789") == "" && !strings.Contains(s, "%")
}

// redactPiece hides the secret in a path or in one parameter. An escape is looked through wherever it stands,
// so that an address inside a parameter hides nothing.
func redactPiece(piece string) string {
	if at := secretValue(piece); at >= 0 {
		return hideFrom(piece, at)
	}
	for plain, depth := piece, 0; depth < 4 && strings.Contains(plain, "%"); depth++ {
		plain = unescape(plain)
		if secretValue(plain) >= 0 || withoutUserinfo(plain) != plain {
			return hideFrom(piece, strings.IndexAny(piece, "=%")+1)
		}
	}
	return piece
}

func hideFrom(piece string, at int) string {
	if at == len(piece) {
		return piece
	}
	return piece[:at] + redacted
}

// secretValue finds where the value of the first secret parameter begins, or -1.
func secretValue(s string) int {
	name := 0
	for i := range len(s) {
		switch s[i] {
		case '/', '?', '&', ';', '#', ',', ' ':
			name = i + 1
		case '=':
			if secretName(s[name:i]) {
				return i + 1
			}
			name = i + 1
		}
	}
	return -1
}

func secretName(name string) bool {
	for depth := 0; depth < 4 && strings.Contains(name, "%"); depth++ {
		name = unescape(name)
	}
	name = strings.ToLower(name)
	for _, word := range [...]string{"token", "secret", "passw", "signature", "credential", "authorization"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("[]+ ", r) }) {
		if strings.HasSuffix(part, "_key") {
			return true
		}
		switch part {
		case "code", "code_verifier", "device_code", "user_code", "value":
			return true
		}
	}
	return false
}

// unescape decodes the escapes that are well formed and leaves the others.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if plain, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(plain))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
