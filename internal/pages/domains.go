package pages

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
)

var (
	errNoDomain = fault.NotFoundf("PagesDomain")
	taken       = postgres.Faults{"pages_domains_domain_key": fault.Field("domain", "has already been taken")}
)

// codeBytes are random in the code of a claim.
const codeBytes = 16

// Draft is a claim to be.
type Draft struct {
	Domain           string
	AutoSSLEnabled   bool
	Certificate, Key string // both or none
}

// Change is what a domain becomes. What is nil stays; an empty certificate and key go.
type Change struct {
	AutoSSLEnabled   *bool
	Certificate, Key *string
}

// keyPlace is where the key of a claim belongs; in another row it does not open.
func keyPlace(code string) string { return "pages_domains.certificate_key:" + code }

// Find reads a domain of a project.
func (s *Service) Find(ctx context.Context, projectID int64, name string) (*Domain, error) {
	if err := s.on(); err != nil {
		return nil, err
	}
	d, err := postgres.One[Domain](ctx, s.deps.DB, sqlDomain, projectID, name)
	return found(&d, err)
}

func found(d *Domain, err error) (*Domain, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errNoDomain
	}
	return d, err
}

// checkName refuses what is no host, and hosts that are the instance's own.
func (s *Service) checkName(name string) error {
	root := s.deps.Root.Host
	switch {
	case !hostName(name):
		return fault.Field("domain", "is not a fully qualified domain name")
	case below(name, root):
		return fault.Field("domain", "Subdomains of the Pages root domain %s are reserved and cannot be used as custom Pages domains.", root)
	case strings.EqualFold(name, s.deps.ExternalURL.Hostname()):
		return fault.Field("domain", "is the address of this instance")
	}
	return nil
}

// Create claims a domain for a project. Its code is new: what proved an earlier claim proves this one not.
func (s *Service) Create(ctx context.Context, by access.Actor, p *project.Project, draft Draft) (*Domain, error) {
	if err := s.on(); err != nil {
		return nil, err
	}
	if err := s.checkName(draft.Domain); err != nil {
		return nil, err
	}
	random := make([]byte, codeBytes)
	_, _ = rand.Read(random) // never fails: the process ends first
	d := &Domain{Domain: draft.Domain, AutoSSLEnabled: draft.AutoSSLEnabled, Code: hex.EncodeToString(random)}
	sealed, err := s.setCertificate(d, nil, draft.Certificate, draft.Key)
	if err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now()
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		if err := s.mayClaim(ctx, tx, p.ID, draft.Domain, now); err != nil {
			return err
		}
		if err := s.secure(ctx, tx, p.ID, d); err != nil {
			return err
		}
		row, err := postgres.One[Domain](ctx, tx, sqlInsertDomain, p.ID, d.Domain, d.AutoSSLEnabled, d.Certificate, sealed, d.ExpiresAt, d.Code, now)
		if err != nil {
			return taken.Translate(err)
		}
		d = &row
		if err := s.deps.Queue.Insert(ctx, tx, VerifyArgs{DomainID: d.ID}); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: DomainCreated, By: by, In: p.Entity(), Domain: d})
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// mayClaim refuses more domains than a project may have, and one that another project gave up a short time ago: its records may still point here.
func (s *Service) mayClaim(ctx context.Context, tx pgx.Tx, projectID int64, name string, now time.Time) error {
	if _, err := tx.Exec(ctx, sqlLockDomains, projectID); err != nil {
		return err
	}
	if most := s.deps.Settings.Current().MaxPagesCustomDomainsPerProject; most > 0 {
		have, err := postgres.Value[int](ctx, tx, sqlCountDomains, projectID, most)
		if err != nil {
			return err
		}
		if have >= most {
			return fault.Field("base", "This project reached the limit of custom domains. (Max %d)", most)
		}
	}
	host := strings.ToLower(name)
	if _, err := tx.Exec(ctx, sqlLockHost, host); err != nil {
		return err
	}
	released, err := postgres.Value[time.Time](ctx, tx, sqlResting, host, projectID, now.Add(-restsFor))
	if errors.Is(err, postgres.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fault.Field("domain", "was given up by another project and can be claimed from %s on", released.Add(restsFor).UTC().Format("2006-01-02 15:04 UTC"))
}

// secure refuses a domain without a certificate where the project's site is shown over HTTPS alone.
func (s *Service) secure(ctx context.Context, q postgres.Querier, projectID int64, d *Domain) error {
	set, err := s.settings(ctx, q, projectID)
	if err != nil || !set.HTTPSOnly || d.AutoSSLEnabled || d.Certificate != nil {
		return err
	}
	var f fault.Fields
	f.Add("certificate", "must be present if HTTPS-only is enabled")
	f.Add("key", "must be present if HTTPS-only is enabled")
	return f.Err()
}

// setCertificate puts a pair into a domain, or takes it out where the texts are empty, and returns the key as it is stored.
// A certificate without a key is one for the stored key.
func (s *Service) setCertificate(d *Domain, stored []byte, certificate, key string) (sealed []byte, err error) {
	if certificate == "" && key == "" {
		d.Certificate, d.ExpiresAt, d.Source = nil, nil, UserProvided
		return nil, nil
	}
	if key == "" && stored != nil {
		opened, err := s.deps.Box.Open(stored, keyPlace(d.Code))
		if err != nil {
			return nil, err
		}
		key = string(opened)
	}
	p, err := readPair(certificate, key)
	if err != nil {
		return nil, err
	}
	d.Certificate, d.ExpiresAt, d.Source, d.AutoSSLError = &certificate, new(p.chain[0].NotAfter), UserProvided, ""
	return s.deps.Box.Seal([]byte(key), keyPlace(d.Code))
}

// Update changes a domain.
func (s *Service) Update(ctx context.Context, by access.Actor, p *project.Project, name string, c Change) (*Domain, error) {
	if err := s.on(); err != nil {
		return nil, err
	}
	var d *Domain
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		row, err := postgres.One[Domain](ctx, tx, sqlLockDomain, p.ID, name)
		if d, err = found(&row, err); err != nil {
			return err
		}
		sealed, err := postgres.Value[[]byte](ctx, tx, sqlKey, d.ID)
		if err != nil && !errors.Is(err, postgres.ErrNoRows) {
			return err
		}
		if sealed, err = s.change(d, sealed, c); err != nil {
			return err
		}
		if err := s.secure(ctx, tx, p.ID, d); err != nil {
			return err
		}
		row, err = postgres.One[Domain](ctx, tx, sqlUpdateDomain, d.ID, d.AutoSSLEnabled, d.AutoSSLError, d.Certificate, sealed, d.ExpiresAt, d.Source, s.deps.Clock.Now())
		if err != nil {
			return err
		}
		d = &row
		return s.deps.Bus.Publish(ctx, tx, Event{Action: DomainUpdated, By: by, In: p.Entity(), Domain: d})
	})
	return d, err
}

// change is the domain with what was asked for. Who takes the certificate away does not want an automatic one, unless they say so.
func (s *Service) change(d *Domain, stored []byte, c Change) (sealed []byte, err error) {
	sealed = stored
	if c.Certificate != nil || c.Key != nil {
		was := ""
		if d.Certificate != nil {
			was = *d.Certificate
		}
		certificate, key := was, ""
		if c.Certificate != nil {
			certificate = *c.Certificate
		}
		if c.Key != nil {
			key = *c.Key
			if key == "" && certificate != "" {
				stored = nil // the key was taken away, and another is not given
			}
		}
		if certificate == "" && key == "" {
			d.AutoSSLEnabled = false
		}
		if sealed, err = s.setCertificate(d, stored, certificate, key); err != nil {
			return nil, err
		}
	}
	if c.AutoSSLEnabled != nil {
		d.AutoSSLEnabled, d.AutoSSLError = *c.AutoSSLEnabled, ""
	}
	return sealed, nil
}

// Recheck has the record of a domain looked for soon.
func (s *Service) Recheck(ctx context.Context, p *project.Project, name string) error {
	d, err := s.Find(ctx, p.ID, name)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.deps.Queue.Insert(ctx, tx, VerifyArgs{DomainID: d.ID}, jobqueue.Unique())
	})
}

// Delete gives a domain up, with its certificate and key.
func (s *Service) Delete(ctx context.Context, by access.Actor, p *project.Project, name string) error {
	if err := s.on(); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		row, err := postgres.One[Domain](ctx, tx, sqlLockDomain, p.ID, name)
		d, err := found(&row, err)
		if err != nil {
			return err
		}
		return s.release(ctx, tx, Event{Action: DomainDeleted, By: by, In: p.Entity(), Domain: d})
	})
}

// release removes a domain. A host that was proven rests.
func (s *Service) release(ctx context.Context, tx pgx.Tx, e Event) error {
	if _, err := tx.Exec(ctx, sqlLockHost, strings.ToLower(e.Domain.Domain)); err != nil {
		return err
	}
	if e.Domain.Proven || !s.required() {
		if _, err := tx.Exec(ctx, sqlRelease, e.Domain.Domain, e.Domain.ProjectID, s.deps.Clock.Now()); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, sqlDeleteDomain, e.Domain.ID); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, e)
}

// OnProjectRemoving lets the hosts rest of a project that goes, and its site go. The rows of the hosts go with it, those of the site when its bytes are gone.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	if _, err := tx.Exec(ctx, sqlDropSite, e.ProjectID, s.deps.Clock.Now()); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlReleaseAll, e.ProjectID, s.deps.Clock.Now(), !s.required())
	return err
}

// required reports whether domains have to be proven.
func (s *Service) required() bool { return s.deps.Settings.Current().PagesDomainVerificationEnabled }

// Enabled reports whether the site may be served at a domain.
func (s *Service) Enabled(d *Domain) bool {
	return !s.required() || d.Standing.Enabled(s.deps.Clock.Now())
}

// Claim is another name of Domain, under which it is embedded beside its own field of that name.
type Claim = Domain

// Served is a domain that a site is served at, with its certificate and key where it has them.
type Served struct {
	Claim
	Sealed []byte `db:"certificate_key"`
	key    secretbox.Secret
}

// Key is the private key as PEM, empty where there is none.
func (d *Served) Key() secretbox.Secret { return d.key }

// Serve finds the domain that stands for a host, if its site may be served there now. Who needs a certificate for a host asks here, and is given
// certificate and key of the claim as they are now.
func (s *Service) Serve(ctx context.Context, host string) (*Served, error) {
	if err := s.on(); err != nil {
		return nil, err
	}
	if !hostName(host) {
		return nil, errNoDomain
	}
	d, err := postgres.One[Served](ctx, s.deps.DB, sqlServed, strings.ToLower(host), s.deps.Clock.Now(), !s.required())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errNoDomain
	}
	if err != nil || d.Sealed == nil {
		return &d, err
	}
	opened, err := s.deps.Box.Open(d.Sealed, keyPlace(d.Code))
	d.key = secretbox.Secret(opened)
	return &d, err
}
