package errortracking

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// filtered stands where something was taken out.
const filtered = "[Filtered]"

// secretName matches names whose values are nobody's business, whatever the project allows.
var secretName = regexp.MustCompile(`(?i)passw|pwd|secret|token|api[-_]?key|apikey|auth|credential|cookie|session|csrf|xsrf|private|bearer|signature|card|cvv|cvc|iban|ssn`)

// openName matches names that look like the others and are not.
var openName = regexp.MustCompile(`(?i)^(author|authority|authors|session_count|sec-fetch-.*|token_type)$`)

// personalName matches names of headers and members that hold addresses.
var personalName = regexp.MustCompile(`(?i)e-?mail|^(x-)?(forwarded(-for)?|real-ip|client-ip)$|remote[-_]addr|ip[-_]?addr`)

// secretText are values that give themselves away, with what a text must have for one of them to be in it.
var secretText = []struct {
	form *regexp.Regexp
	in   func(text string, has signs) bool
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), having("-----BEGIN ")},
	{regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}`), func(text string, has signs) bool { return has.wide || says(text, "bearer", "basic") }},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`), having("eyJ")}, // JSON Web Tokens
	{regexp.MustCompile(`\b[a-z]{2,10}(?:pat|rt|dt|cbt|ptt|ft|imt|oas|agent|et)[-_][A-Za-z0-9_-]{16,}`), long},
	{regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bsk_(?:live|test)_[A-Za-z0-9]{10,}|\bxox[abprs]-[A-Za-z0-9-]{10,}`), long},
}

func having(part string) func(string, signs) bool {
	return func(text string, _ signs) bool { return strings.Contains(text, part) }
}

// long is a text with a run as long as the shortest of those tokens, one that begins "xoxb-".
func long(_ string, has signs) bool { return has.run >= 15 }

// says reports whether a text holds one of some words, in whatever case.
func says(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

const assignedName = `(?i)([\w.-]*(?:passw|pwd|secret|token|api[-_]?key|credential|session|signature)[\w.-]*`

var (
	// assigned are a name with its value, in addresses, in JSON, in JSON within a text, and in sentences.
	assigned = []*regexp.Regexp{
		regexp.MustCompile(assignedName + `\\+["']\s*[=:]\s*\\+["'])[^"'\\]*`),
		regexp.MustCompile(assignedName + `["']?\s*[=:]\s*")(?:[^"\\]|\\.)*`),
		regexp.MustCompile(assignedName + `["']?\s*[=:]\s*')(?:[^'\\]|\\.)*`),
		regexp.MustCompile(assignedName + `\\*["']?\s*[=:]\s*)[^\s"'\\&;,})\]]+`),
	}
	// headerLine is a header of HTTP whose whole value is secret.
	headerLine = regexp.MustCompile(`(?i)(\b(?:(?:set-)?cookie|(?:proxy-)?authorization)\\*["']?\s*[:=]\s*\\*["']?)[^\r\n"'\\]+`)
	// userinfo is name and password in an address.
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:]+(?::[^\s/@]*)?@`)
	// digits may be the number of a card.
	digits = regexp.MustCompile(`\d(?:[ -]?\d){12,18}`)
	email  = regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	// address is words between which an address of IPv4 or IPv6 may be: calls of some languages look much like one.
	address = regexp.MustCompile(`[\w-]*(?:[.:][\w-]*){2,}`)
	ipv4    = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}`)
)

// scrubber takes out what a report should not have held.
type scrubber struct{ personal bool } // addresses of people and machines stay

// scrub takes secrets out of a report, and unless the project keeps them the addresses of people and machines.
func (s scrubber) scrub(r *Report) {
	for _, text := range []*string{&r.Message, &r.Transaction, &r.ServerName, &r.Logger} {
		*text = s.text(*text)
	}
	r.Release, r.Environment = s.secrets(r.Release), s.secrets(r.Environment) // "shop@1.2.3.4" is no address
	for i := range r.Exceptions {
		e := &r.Exceptions[i]
		e.Type, e.Module, e.Value = s.text(e.Type), s.secrets(e.Module), s.text(e.Value)
		for j := range e.Frames {
			f := &e.Frames[j]
			f.Function, f.Module, f.File = s.secrets(f.Function), s.secrets(f.Module), s.secrets(f.File)
			for k, line := range f.Source {
				f.Source[k] = s.text(line)
			}
		}
	}
	s.pairs(r.Tags)
	for i := range r.Crumbs {
		c := &r.Crumbs[i]
		c.Category, c.Message = s.secrets(c.Category), s.text(c.Message)
	}
	if r.User != nil && !s.personal {
		r.User.Email, r.User.IPAddress = "", ""
		r.User.ID, r.User.Username = s.text(r.User.ID), s.text(r.User.Username)
	}
	if r.Request != nil {
		r.Request.URL, r.Request.Query = s.text(r.Request.URL), s.text(r.Request.Query)
		s.pairs(r.Request.Headers)
	}
	r.Contexts, _ = s.tree(r.Contexts).(map[string]any)
	r.Extra, _ = s.tree(r.Extra).(map[string]any)
	for i, part := range r.Fingerprint {
		r.Fingerprint[i] = s.text(part)
	}
}

func (s scrubber) pairs(all []Pair) {
	for i := range all {
		if s.hides(all[i].Name) {
			all[i].Value = filtered
		} else {
			all[i].Value = s.text(all[i].Value)
		}
	}
}

func (s scrubber) hides(name string) bool {
	return (secretName.MatchString(name) && !openName.MatchString(name)) || (!s.personal && personalName.MatchString(name))
}

func (s scrubber) tree(v any) any {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case []any:
		for i := range v {
			v[i] = s.tree(v[i])
		}
		if len(v) == 2 && s.names(v[0]) {
			v[1] = filtered
		}
	case map[string]any:
		if _, pair := v["value"]; pair && (s.names(v["key"]) || s.names(v["name"])) {
			v["value"] = filtered
		}
		for name := range v {
			if s.hides(name) {
				v[name] = filtered
			} else {
				v[name] = s.tree(v[name])
			}
		}
	}
	return v
}

// names reports whether a value is the name of something that is hidden, as in lists of pairs.
func (s scrubber) names(v any) bool {
	name, ok := v.(string)
	return ok && s.hides(name)
}

// signs are what a text must have for a pattern to match anywhere in it. Most lines of source and most messages have none of them, and patterns are dear.
type signs struct {
	at, assigns, wide    bool // an @; a = or a :; a letter beyond ASCII, which may be another's other case
	dots, colons, digits int  // how many
	run                  int  // the longest one of letters, digits, - and _
}

func signsOf(text string) (s signs) {
	run := 0
	for i := range len(text) {
		c := text[i]
		if !word(c) {
			run = 0
		} else if run++; run > s.run {
			s.run = run
		}
		switch c {
		case '@':
			s.at = true
		case '=':
			s.assigns = true
		case ':':
			s.assigns = true
			s.colons++
		case '.':
			s.dots++
		}
		if c >= '0' && c <= '9' {
			s.digits++
		}
		s.wide = s.wide || c >= utf8.RuneSelf
	}
	return s
}

func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// secrets is a text without what nobody should read.
func (scrubber) secrets(text string) string { return withoutSecrets(text, signsOf(text)) }

func withoutSecrets(text string, has signs) string {
	for _, secret := range secretText {
		if secret.in(text, has) {
			text = secret.form.ReplaceAllString(text, filtered)
		}
	}
	if has.at {
		text = userinfo.ReplaceAllString(text, "${1}"+filtered+"@")
	}
	if has.assigns && (has.wide || says(text, "passw", "pwd", "secret", "token", "key", "credential", "session", "signature")) {
		for _, form := range assigned {
			text = form.ReplaceAllString(text, "${1}"+filtered)
		}
	}
	if has.assigns && (has.wide || says(text, "cookie", "authorization")) {
		text = headerLine.ReplaceAllString(text, "${1}"+filtered)
	}
	if has.digits >= 13 { // as many as the number of a card has at least
		text = digits.ReplaceAllStringFunc(text, func(number string) string {
			if luhn(number) {
				return filtered
			}
			return number
		})
	}
	return text
}

// text is a text without what gives itself away.
func (s scrubber) text(text string) string {
	if text == "" {
		return ""
	}
	has := signsOf(text)
	text = withoutSecrets(text, has)
	if s.personal {
		return text
	}
	if has.at {
		text = email.ReplaceAllString(text, "[email]")
	}
	if has.dots < 3 && has.colons < 2 {
		return text
	}
	return address.ReplaceAllStringFunc(text, withoutAddress)
}

// withoutAddress is what stands in place of what may be an address.
func withoutAddress(found string) string {
	_, named, _ := strings.Cut(found, ":") // as in "peer:2001:db8::1"
	for _, part := range []string{found, named} {
		if bare := strings.TrimRight(strings.TrimLeft(part, "."), ".:"); isAddress(bare) {
			return strings.Replace(found, bare, "[ip]", 1)
		}
	}
	return ipv4.ReplaceAllString(found, "[ip]")
}

// isAddress reports whether a text is an address, with a port or without. One without a digit is a name: "a::b".
func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	_, errPort := netip.ParseAddrPort(text)
	return (err == nil || errPort == nil) && strings.ContainsAny(text, "0123456789")
}

// luhn reports whether the last digit is the check digit of the others, as in numbers of cards.
func luhn(number string) bool {
	sum, double := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		c := number[i]
		if c < '0' || c > '9' {
			continue
		}
		d := int(c - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, double = sum+d, !double
	}
	return sum > 0 && sum%10 == 0
}
