package notification

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/subscription"
)

// UnsubscribePath is the page behind the link in each mail; the token follows.
const UnsubscribePath = "/-/unsubscribe/"

const (
	kindUnsubscribe = "unsubscribe" // of digests
	linkLife        = 60 * 24 * time.Hour
)

var errDeadLink = fault.WithMessage(fault.NotFound, "This link is too old, or not whole. Change what you are mailed about in your settings.")

// link is what the link in a mail ends: the mails of a person about a subject.
type link struct {
	userID  int64
	kind    subscription.Kind
	subject int64
	expires int64 // in seconds since 1970
}

func (l link) text() string {
	return fmt.Sprintf("%d.%s.%d.%d", l.userID, l.kind, l.subject, l.expires)
}

// unsubscribeToken signs what a link ends, and which address it was sent to: when the person gives the address up, who reads it next cannot use it.
func (s *Service) unsubscribeToken(m *mailing, address string) string {
	l := link{
		userID: m.UserID, kind: m.Thread.subject(), subject: m.Thread.declinable(m.ThreadID, m.items[0].ProjectID),
		expires: s.deps.Clock.Now().Add(linkLife).Unix(),
	}
	return l.text() + "." + base64.RawURLEncoding.EncodeToString(s.sign(l, address))
}

func (s *Service) sign(l link, address string) []byte {
	return s.deps.Box.Digest(kindUnsubscribe, l.text()+"."+address)
}

// readLink reads a token, if it was signed here for an address that the person still has.
func (s *Service) readLink(ctx context.Context, text string) (l link, err error) {
	parts := strings.Split(text, ".")
	if len(parts) != 5 || len(text) > 200 {
		return l, errDeadLink
	}
	l.kind = subscription.Kind(parts[1])
	for n, to := range map[int]*int64{0: &l.userID, 2: &l.subject, 3: &l.expires} {
		if *to, err = strconv.ParseInt(parts[n], 10, 64); err != nil {
			return l, errDeadLink
		}
	}
	given, err := base64.RawURLEncoding.DecodeString(parts[4])
	if err != nil || s.deps.Clock.Now().Unix() > l.expires {
		return l, errDeadLink
	}
	addresses, err := postgres.Values[string](ctx, s.deps.DB, sqlAddresses, l.userID)
	if err != nil {
		return l, err
	}
	for _, address := range addresses {
		if hmac.Equal(given, s.sign(l, address)) {
			return l, nil
		}
	}
	return l, errDeadLink
}

// Unsubscribing is what a link of a mail would end, in words. It changes nothing.
func (s *Service) Unsubscribing(ctx context.Context, token string) (what string, err error) {
	l, err := s.readLink(ctx, token)
	if err != nil {
		return "", err
	}
	return stops(map[subscription.Kind]thread{
		subscription.Issue: ofIssue, subscription.Pipelines: ofPipeline, subscription.Project: ofProject, subscription.Alerts: ofAlerts,
	}[l.kind]), nil
}

// Unsubscribe ends the mails that a link is for. The link is the proof: nobody has to be signed in.
func (s *Service) Unsubscribe(ctx context.Context, token string) error {
	l, err := s.readLink(ctx, token)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		_, err := subscription.Unset(ctx, tx, l.kind, l.subject, l.userID, s.deps.Clock.Now())
		return err
	})
}

// Declined is a project whose pipelines, alerts or moves somebody wants to hear nothing of.
type Declined struct {
	Project   *project.Project
	Pipelines bool
	Alerts    bool
}

// DeclinedBy are the projects that an actor declined mails about, and sees.
func (s *Service) DeclinedBy(ctx context.Context, by access.Actor, most int) (all []Declined, err error) {
	rows, err := postgres.All[struct {
		Kind      subscription.Kind
		SubjectID int64
	}](ctx, s.deps.DB, sqlDeclinedBy, by.ID(), most)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.SubjectID)
	}
	projects, err := s.deps.Projects.Among(ctx, by, ids)
	for _, r := range rows {
		if p := projects[r.SubjectID]; p != nil {
			all = append(all, Declined{Project: p, Pipelines: r.Kind == subscription.Pipelines, Alerts: r.Kind == subscription.Alerts})
		}
	}
	return all, err
}

// Undecline lets an actor hear again of the pipelines, alerts and moves of a project.
func (s *Service) Undecline(ctx context.Context, by access.Actor, projectID int64) error {
	for _, kind := range []subscription.Kind{subscription.Pipelines, subscription.Project, subscription.Alerts} {
		if err := subscription.Undecline(ctx, s.deps.DB, kind, projectID, by.ID()); err != nil {
			return err
		}
	}
	return nil
}

// SendsMail reports whether the instance sends mail at all.
func (s *Service) SendsMail() bool { return s.deps.Mail.Configured() }

// RefusedAddress is an address that the mail server refused for good. Nothing but what the person asks for themselves is mailed to it.
type RefusedAddress struct {
	Address   string
	Answer    string
	RefusedAt time.Time
}

// RefusedOf are the addresses of a person that are not mailed any more.
func (s *Service) RefusedOf(ctx context.Context, userID int64, most int) ([]RefusedAddress, error) {
	return postgres.All[RefusedAddress](ctx, s.deps.DB, sqlRefusedOf, userID, most)
}

// RefusedAll is one part of all such addresses, after one.
func (s *Service) RefusedAll(ctx context.Context, after string, most int) ([]RefusedAddress, error) {
	return postgres.All[RefusedAddress](ctx, s.deps.DB, sqlRefusedAll, after, most)
}

// Clear lets an address be mailed again.
func (s *Service) Clear(ctx context.Context, address string) error {
	cleared, err := s.deps.DB.Exec(ctx, sqlClear, strings.ToLower(strings.TrimSpace(address)))
	if err == nil && cleared.RowsAffected() == 0 {
		err = fault.NotFoundf("Address")
	}
	return err
}

// Failed is how many mails to a person were not sent in the last thirty days, up to a number.
func (s *Service) Failed(ctx context.Context, userID int64, most int) (int, error) {
	return postgres.Value[int](ctx, s.deps.DB, sqlFailed, userID, most)
}
