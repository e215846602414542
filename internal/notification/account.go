package notification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
	"stithy/internal/signin"
)

// What people are told of their own accounts, whatever they chose to be told of elsewhere.
const (
	unknownEntry  = "unknown_sign_in"
	tokenExpiring = "token_expiring"
)

// OnUnknownEntry leaves a mail to somebody who signed in from a network that they were not known to use, if the instance tells people of that.
func (s *Service) OnUnknownEntry(ctx context.Context, tx pgx.Tx, e signin.UnknownEntry) error {
	if !s.deps.Mail.Configured() || !s.deps.Settings.Current().NotifyOnUnknownSignIn {
		return nil
	}
	id := e.By.ID()
	h := &happening{Event: unknownEntry, HappenedAt: e.At, Detail: new(cut(e.By.Address.String()+"\n"+strings.ToValidUTF8(e.Browser, ""), maxDetail))}
	return s.put(ctx, tx, ofAccount, id, h, []candidate{{UserID: id, Participates: true}}, nil)
}

func (s *Service) aboutAccount(ctx context.Context, m *mailing, items []item) (*letter, error) {
	settings := s.base() + "/-/user_settings/"
	l := &letter{Project: s.deps.ExternalURL.Host, ProjectURL: s.base(), Reason: "it is about your account"}
	for _, it := range items {
		switch it.Event {
		case unknownEntry:
			l.Sections = append(l.Sections, signedIn(it, settings+"active_sessions"))
			l.Title = "Sign-in from a new network"
		case tokenExpiring:
			sec, err := s.expires(ctx, m.UserID, it, settings+"personal_access_tokens")
			if errors.Is(err, postgres.ErrNoRows) {
				continue // revoked, or expired meanwhile
			}
			if err != nil {
				return nil, err
			}
			l.Sections = append(l.Sections, sec)
			if l.Title == "" {
				l.Title = "Personal access tokens expire soon"
			}
		}
	}
	if len(l.Sections) == 0 {
		return nil, nil
	}
	l.URL, l.subject = l.open(), l.Project+" | "+l.Title
	return l, nil
}

func signedIn(it item, sessions string) section {
	address, browser, _ := strings.Cut(detail(it), "\n")
	sec := section{Head: "Somebody signed in to your account from a network that it was not used from before.", URL: sessions}
	sec.Text = fmt.Sprintf("Time: %s UTC\nAddress: %s\nBrowser: %s\n\nIf it was you, there is nothing to do. If it was not, end that session and choose a new password.",
		it.HappenedAt.UTC().Format("2006-01-02 15:04"), oneLine(address), unlinked(browser))
	sec.HTML = preformatted(sec.Text)
	return sec
}

func (s *Service) expires(ctx context.Context, userID int64, it item, tokens string) (section, error) {
	if it.SubjectID == nil {
		return section{}, postgres.ErrNoRows
	}
	t, err := postgres.One[struct {
		Name      string
		ExpiresAt time.Time
	}](ctx, s.deps.DB, sqlToken, *it.SubjectID, userID, s.deps.Clock.Now())
	return section{Head: fmt.Sprintf("Your personal access token %s expires on %s.", unlinked(t.Name), day(t.ExpiresAt)), URL: tokens}, err
}

func detail(it item) string {
	if it.Detail == nil {
		return ""
	}
	return *it.Detail
}

// sorted is a list in order, each once.
func sorted(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }
