package pages

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Settings say how a project shows its site.
type Settings struct {
	ProjectID           int64
	UniqueDomainEnabled bool
	UniqueDomain        *string // the label of its own host
	HTTPSOnly           bool    `db:"https_only"`
}

// SettingsChange is what settings become. What is nil stays.
type SettingsChange struct{ UniqueDomainEnabled, HTTPSOnly *bool }

func (s *Service) settings(ctx context.Context, q postgres.Querier, projectID int64) (Settings, error) {
	set, err := postgres.One[Settings](ctx, q, sqlSettings, projectID)
	if errors.Is(err, postgres.ErrNoRows) {
		return Settings{ProjectID: projectID}, nil
	}
	return set, err
}

// Settings reads those of a project whose site is not closed.
func (s *Service) Settings(ctx context.Context, p *project.Project) (Settings, error) {
	if err := s.onIn(p); err != nil {
		return Settings{}, err
	}
	return s.settings(ctx, s.deps.DB, p.ID)
}

func (s *Service) onIn(p *project.Project) error {
	if p.Features.Pages == project.Off {
		return errOff
	}
	return s.on()
}

// Set changes the settings of a project.
func (s *Service) Set(ctx context.Context, by access.Actor, p *project.Project, c SettingsChange) (Settings, error) {
	if err := s.onIn(p); err != nil {
		return Settings{}, err
	}
	var set Settings
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlLockDomains, p.ID); err != nil {
			return err
		}
		if set, err = s.settings(ctx, tx, p.ID); err != nil {
			return err
		}
		before := set
		if c.UniqueDomainEnabled != nil {
			set.UniqueDomainEnabled = *c.UniqueDomainEnabled
		}
		if c.HTTPSOnly != nil {
			set.HTTPSOnly = *c.HTTPSOnly
		}
		if set.UniqueDomainEnabled && set.UniqueDomain == nil {
			set.UniqueDomain = new(uniqueLabel(p.Path))
		}
		if set == before {
			return nil
		}
		if _, err := tx.Exec(ctx, sqlPutSettings, p.ID, set.UniqueDomainEnabled, set.UniqueDomain, set.HTTPSOnly, s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{
			Action: SettingsChanged, By: by, In: p.Entity(), State: fmt.Sprintf("unique domain %t, HTTPS only %t", set.UniqueDomainEnabled, set.HTTPSOnly),
		})
	})
	return set, err
}

// uniqueLabel is a label that nobody guesses and that no group has: paths of groups do not end like this.
func uniqueLabel(path string) string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails: the process ends first
	end := hex.EncodeToString(random)
	label := strings.Trim(hostText(path), "-")
	label = strings.TrimRight(label[:min(len(label), maxLabel-1-len(end))], "-")
	if label == "" {
		return "site-" + end
	}
	return label + "-" + end
}

// hostText is text with what no label may hold replaced.
func hostText(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(text))
}

// Target is the host that the records of a project's domains point to.
func (s *Service) Target(p *project.Project) string {
	top, _, _ := strings.Cut(p.FullPath(), "/")
	return strings.ToLower(top) + "." + s.deps.Root.Host
}

// SiteURL is where people find the site of a project. The site of a group's project of the name of the root host stands at the host of the group itself.
func (s *Service) SiteURL(p *project.Project, set Settings) string {
	if set.UniqueDomainEnabled && set.UniqueDomain != nil {
		return s.deps.Root.At(*set.UniqueDomain, "")
	}
	top, rest, _ := strings.Cut(p.FullPath(), "/")
	top = strings.ToLower(top)
	if strings.EqualFold(rest, top+"."+s.deps.Root.Host) {
		return s.deps.Root.At(top, "")
	}
	return s.deps.Root.At(top, "/"+rest)
}
