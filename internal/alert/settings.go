package alert

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Settings are what follows in a project when an alert comes or ends.
type Settings struct {
	CreateIssue       bool   // an incident is made of each new alert
	SendEmail         bool   // its owners and maintainers are mailed about each new alert
	AutoCloseIncident bool   // an incident is closed when the sender resolves its alert
	IssueTemplateKey  string // name of the template of issues that incidents end with; "" for none
}

// byDefault are the settings of a project where nobody chose any.
var byDefault = Settings{AutoCloseIncident: true}

func (s Settings) check() error {
	var f fault.Fields
	if len([]rune(s.IssueTemplateKey)) > maxName || strings.ContainsRune(s.IssueTemplateKey, 0) {
		f.Add("issue_template_key", "is too long (maximum is %d characters)", maxName)
	}
	return f.Err()
}

// words are the settings for the audit trail.
func (s Settings) words() string {
	text := fmt.Sprintf("create_issue=%t, send_email=%t, auto_close_incident=%t", s.CreateIssue, s.SendEmail, s.AutoCloseIncident)
	if s.IssueTemplateKey != "" {
		text += ", issue_template_key=" + s.IssueTemplateKey
	}
	return text
}

// Settings reads what follows from alerts of a project.
func (s *Service) Settings(ctx context.Context, projectID int64) (Settings, error) {
	return settings(ctx, s.deps.DB, projectID)
}

func settings(ctx context.Context, q postgres.Querier, projectID int64) (Settings, error) {
	found, err := postgres.One[Settings](ctx, q, sqlSettings, projectID)
	if errors.Is(err, postgres.ErrNoRows) {
		return byDefault, nil
	}
	return found, err
}

// Set changes what follows from alerts of a project. Alerts that came before stay as they are. What changes nothing leaves no trace.
func (s *Service) Set(ctx context.Context, by access.Actor, p *project.Project, to Settings) error {
	to.IssueTemplateKey = strings.TrimSpace(to.IssueTemplateKey)
	if err := to.check(); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlLockIntegrations, p.ID); err != nil {
			return err
		}
		before, err := settings(ctx, tx, p.ID)
		if err != nil || before == to {
			return err
		}
		if _, err := tx.Exec(ctx, sqlPutSettings, p.ID, to.CreateIssue, to.SendEmail, to.AutoCloseIncident, to.IssueTemplateKey, s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: SettingsChanged, By: by, In: p.Entity(), Name: to.words()})
	})
}
