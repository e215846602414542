// Package pages owns the sites of projects: what jobs published, which of it is shown, how and to whom, at which hosts, whether these are the project's own,
// and with which certificates.
//
// It does not own the files that jobs leave (artifact), nor the listener that serves sites (pagesproxy).
//
// Tables: pages_settings, pages_deployments, pages_domains, pages_released_domains.
package pages

import (
	"net/netip"
	"strings"
	"time"
)

// Domain is a host that a project claims for its site.
type Domain struct {
	ID             int64
	ProjectID      int64
	Domain         string
	AutoSSLEnabled bool   `db:"auto_ssl_enabled"`
	AutoSSLError   string `db:"auto_ssl_error"` // why there is no automatic certificate
	Certificate    *string
	ExpiresAt      *time.Time `db:"certificate_expires_at"`
	Source         string     `db:"certificate_source"`
	Code           string     `db:"verification_code"`
	Standing
	CheckedAt  *time.Time
	CheckError string // what was wrong when the record was looked for last
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Where a certificate comes from.
const (
	UserProvided = "user_provided"
	Automatic    = "automatic"
)

// Standing is how far a claim is proven.
type Standing struct {
	VerifiedAt   *time.Time // nil: the record was not there
	Proven       bool       // it was there at some time
	EnabledUntil *time.Time
	RemoveAt     *time.Time
	CheckAt      time.Time
}

const (
	enabledFor    = 7 * 24 * time.Hour // after the record was seen
	renewBefore   = 3 * 24 * time.Hour // before that ends, it is looked for again
	removedAfter  = 7 * 24 * time.Hour // of not being enabled
	recheck       = 15 * time.Minute   // of what is not verified
	recheckLater  = time.Hour          // after a day of it
	restsFor      = 7 * 24 * time.Hour // a host that was given up
	eagerlyWithin = 24 * time.Hour
)

// after is the standing once the record was looked for.
func (s Standing) after(found bool, created, now time.Time) Standing {
	if found {
		until := now.Add(enabledFor)
		if s.EnabledUntil != nil && s.EnabledUntil.After(until) {
			until = *s.EnabledUntil
		}
		return Standing{VerifiedAt: &now, Proven: true, EnabledUntil: &until, CheckAt: until.Add(-renewBefore)}
	}
	next := Standing{Proven: s.Proven, CheckAt: now.Add(recheck)}
	if now.Sub(created) > eagerlyWithin {
		next.CheckAt = now.Add(recheckLater)
	}
	if s.EnabledUntil != nil && s.EnabledUntil.After(now) {
		next.EnabledUntil = s.EnabledUntil
		return next
	}
	next.RemoveAt = s.RemoveAt
	if next.RemoveAt == nil {
		next.RemoveAt = new(now.Add(removedAfter))
	}
	return next
}

// Enabled reports whether the site may be served at the domain, where domains have to be proven.
func (s Standing) Enabled(now time.Time) bool {
	return s.EnabledUntil != nil && s.EnabledUntil.After(now)
}

// Verified reports whether the record was there when it was looked for last.
func (s Standing) Verified() bool { return s.VerifiedAt != nil }

// URL is where people find the site.
func (d *Domain) URL() string {
	if d.Certificate != nil {
		return "https://" + d.Domain
	}
	return "http://" + d.Domain
}

// Expired reports whether the certificate is past its time.
func (d *Domain) Expired(now time.Time) bool { return d.ExpiresAt != nil && !d.ExpiresAt.After(now) }

// Record is the name and value of the DNS record that proves a claim.
func (s *Service) Record(d *Domain) (name, value string) {
	key := s.deps.Names.Service + "-pages-verification-code"
	return "_" + key + "." + d.Domain, key + "=" + d.Code
}

const (
	maxHost  = 253
	maxLabel = 63
)

// hostName reports whether text is a fully qualified domain name: labels of letters, digits and hyphens, as DNS and certificates know it. Names of
// other scripts are written in their ASCII form.
func hostName(text string) bool {
	labels := strings.Split(text, ".")
	if len(text) > maxHost || len(labels) < 2 {
		return false
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return false
	}
	for _, label := range labels {
		if !hostLabel(label) {
			return false
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789") != "" // no top domain is a number
}

func hostLabel(label string) bool {
	if len(label) < 1 || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// below reports whether a host is a root or below it.
func below(host, root string) bool {
	host, root = strings.ToLower(host), strings.ToLower(root)
	return root != "" && (host == root || strings.HasSuffix(host, "."+root))
}
