package pagesproxy

import (
	"net/http"
	"strconv"
	"strings"
)

// A site says in this file which paths lead elsewhere. What it may say is bounded, and stays on the host of the site.
const (
	redirectsFile = "_redirects"
	maxRedirects  = 64 << 10
	maxRules      = 1000
	maxSegments   = 64
)

// rule is one line: a path, with names for some of its parts and a star for all that follows, and where it leads.
type rule struct {
	from   []string
	splat  bool // all that follows is one more part, named splat
	to     []string
	status int
}

// readRules reads the rules of a site. A line that is no rule is left out.
func readRules(text string) (rules []rule) {
	for line := range strings.Lines(text) {
		if len(rules) >= maxRules {
			break
		}
		if r, ok := readRule(line); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func readRule(line string) (r rule, ok bool) {
	line, _, _ = strings.Cut(line, "#")
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields) > 3 || !plainPath(fields[0]) || !plainPath(fields[1]) {
		return r, false
	}
	r.status = http.StatusMovedPermanently
	if len(fields) == 3 {
		r.status, _ = strconv.Atoi(fields[2])
	}
	switch r.status {
	case http.StatusOK, http.StatusMovedPermanently, http.StatusFound:
	default:
		return r, false
	}
	r.from, r.to = strings.Split(fields[0][1:], "/"), strings.Split(fields[1][1:], "/")
	if last := len(r.from) - 1; r.from[last] == "*" {
		r.from, r.splat = r.from[:last], true
	}
	for _, part := range r.from {
		if strings.Contains(part, "*") {
			return r, false
		}
	}
	return r, len(r.from) <= maxSegments && len(r.to) <= maxSegments
}

// plainPath reports whether text is a path of this host.
func plainPath(text string) bool { return goodPath(text) && !strings.ContainsAny(text, "?%") }

// redirect is where the first rule leads that is about a path.
func redirect(rules []rule, path string) (to string, status int, applies bool) {
	if len(rules) == 0 {
		return "", 0, false
	}
	parts := strings.Split(path[1:], "/")
	if len(parts) > maxSegments {
		return "", 0, false
	}
	for i := range rules {
		named, about := rules[i].match(parts)
		if !about {
			continue
		}
		if to := rules[i].lead(named); to != path && goodPath(to) {
			return to, rules[i].status, true
		}
	}
	return "", 0, false
}

// match is which parts of a path have names, if the rule is about it.
func (r *rule) match(parts []string) (named map[string]string, about bool) {
	if len(parts) < len(r.from) || len(parts) > len(r.from) && !r.splat {
		return nil, false
	}
	for i, part := range r.from {
		if name, variable := strings.CutPrefix(part, ":"); variable && name != "" && parts[i] != "" {
			if named == nil {
				named = map[string]string{}
			}
			named[name] = parts[i]
		} else if part != parts[i] {
			return nil, false
		}
	}
	if r.splat {
		if named == nil {
			named = map[string]string{}
		}
		named["splat"] = strings.Join(parts[len(r.from):], "/")
	}
	return named, true
}

// lead is where the rule leads, with the parts that have names put in.
func (r *rule) lead(named map[string]string) string {
	var b strings.Builder
	for _, part := range r.to {
		if name, variable := strings.CutPrefix(part, ":"); variable {
			if value, known := named[name]; known {
				part = value
			}
		}
		b.WriteString("/" + part)
	}
	return b.String()
}
