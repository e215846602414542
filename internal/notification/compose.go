package notification

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/markdown"
	"stithy/internal/member"
	"stithy/internal/note"
	"stithy/internal/pipeline"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/subscription"
	"stithy/internal/user"
)

const (
	maxText = 10_000 // bytes of one text in a mail
	maxAll  = 60_000 // of all texts
	maxName = 100    // characters of a name
)

// letter is a mail before it is written out.
type letter struct {
	to      string // address, as it is spelled
	normal  string // and as it is stored
	from    string // name
	subject string
	id      string
	follows string // id of what its thread begins with
	fields  []mail.Field

	Site         string // the host of this instance
	Project      string // its path
	ProjectURL   string
	Title        string
	URL          string
	Confidential bool
	Sections     []section
	Reason       string // why the reader gets it
	Stop         string // what the link below ends
	StopURL      string
	SettingsURL  string
}

// section is one thing that a mail tells of.
type section struct {
	Head string
	Text string // as it was written
	HTML string // the same as its reader sees it
	URL  string
	Cut  bool // there is more of it at URL
}

// reader is who a mail is for, with all that was asked again when it is written.
type reader struct {
	access.Actor
	email    string
	normal   string
	settings Resolved
	declined bool
}

// letter writes a mail. It is nil if there is nothing to tell, or nobody who may know: everything that was so when the mail was queued is asked again.
func (s *Service) letter(ctx context.Context, m *mailing) (*letter, error) {
	r, err := s.reader(ctx, m)
	if err != nil || r == nil {
		return nil, err
	}
	silent, err := s.silent(ctx, m)
	if err != nil {
		return nil, err
	}
	var items []item
	for _, i := range m.items {
		if !s.wants(r, m.Thread, i) || (silent && !i.personal()) {
			continue
		}
		if n := slices.IndexFunc(items, i.same); n >= 0 {
			items[n].Mentioned = items[n].Mentioned || i.Mentioned
		} else {
			items = append(items, i)
		}
	}
	if items, err = s.within(ctx, m, items); err != nil || len(items) == 0 {
		return nil, err
	}
	var l *letter
	switch m.Thread {
	case ofIssue:
		l, err = s.aboutIssue(ctx, r, m, items)
	case ofPipeline:
		l, err = s.aboutPipeline(ctx, r, m, items)
	case ofProject:
		l, err = s.aboutProject(ctx, r, m, items)
	case ofProjectAccess, ofGroupAccess:
		l, err = s.aboutAccess(ctx, r, m, items)
	case ofAccount:
		l, err = s.aboutAccount(ctx, m, items)
	case ofAlerts:
		l, err = s.aboutAlerts(ctx, r, m, items)
	}
	if fault.Is(err, fault.NotFound) {
		return nil, nil // gone, or not for this reader any more
	}
	if err != nil || l == nil {
		return nil, err
	}
	s.address(l, r, m, items)
	return l, nil
}

// reader finds out who somebody is now. There is none if they may not be mailed.
func (s *Service) reader(ctx context.Context, m *mailing) (*reader, error) {
	by, err := s.deps.Tokens.Later(ctx, m.UserID)
	if _, refused := fault.Of(err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u, ok := by.Account.(*user.User)
	if !ok || u.Kind != user.Human {
		return nil, nil
	}
	settings, err := s.settings(ctx, m, u)
	if settings == nil || err != nil {
		return nil, err
	}
	r := &reader{Actor: by, email: settings.Email, settings: *settings}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if r.normal, err = user.HoldVerified(ctx, tx, m.UserID, settings.Email); err != nil || r.normal == "" {
			return err
		}
		refused, err := postgres.Value[bool](ctx, tx, sqlIsRefused, r.normal)
		if refused {
			r.normal = ""
		}
		return err
	})
	if err != nil || r.normal == "" {
		return nil, err
	}
	if !m.Thread.declines() {
		return r, nil
	}
	declined, err := subscription.Declined(ctx, s.deps.DB, m.Thread.subject(), m.Thread.declinable(m.ThreadID, m.items[0].ProjectID), []int64{m.UserID})
	r.declined = len(declined) > 0
	return r, err
}

// settings are those that hold where a mail is about, or nil if that is gone. What is about an account goes to its primary address.
func (s *Service) settings(ctx context.Context, m *mailing, u *user.User) (*Resolved, error) {
	var all map[int64]Resolved
	var err error
	switch m.Thread {
	case ofAccount:
		return &Resolved{Level: Participating, Email: u.Email}, nil
	case ofGroupAccess:
		all, err = resolveIn(ctx, s.deps.DB, sqlResolveInGroup, m.ThreadID, []int64{m.UserID})
	default:
		all, err = s.Resolve(ctx, m.items[0].ProjectID, []int64{m.UserID})
	}
	if found, some := all[m.UserID]; some {
		return &found, err
	}
	return nil, err
}

// silent reports whether the place that a mail is about, or a group above it, has its mails turned off now.
func (s *Service) silent(ctx context.Context, m *mailing) (bool, error) {
	switch m.Thread {
	case ofAccount:
		return false, nil
	case ofGroupAccess:
		return postgres.Value[bool](ctx, s.deps.DB, sqlSilentGroup, m.ThreadID)
	default:
		return postgres.Value[bool](ctx, s.deps.DB, sqlSilentProject, m.items[0].ProjectID)
	}
}

// personal reports whether something is told to whom it happened, in a place whose mails are turned off, too.
func (i item) personal() bool {
	return i.Event == string(member.Granted) || i.Event == string(member.Denied)
}

func (s *Service) wants(r *reader, of thread, i item) bool {
	switch of {
	case ofAlerts:
		return wantsAlerts(r.settings.Level) && !r.declined
	case ofAccount:
		return true
	case ofProjectAccess, ofGroupAccess:
		return r.settings.Level != Disabled
	}
	event, known := eventNamed(i.Event)
	return known && Wants(r.settings.Level, r.settings.Flags, event, i.Participates, i.Mentioned) && (i.Mentioned || !r.declined)
}

// same reports whether another thing is told by the same words.
func (i item) same(other item) bool {
	return i.NoteID != nil && other.NoteID != nil && *i.NoteID == *other.NoteID
}

// address fills in what all mails have.
func (s *Service) address(l *letter, r *reader, m *mailing, items []item) {
	host := s.deps.ExternalURL.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	l.Site, l.to, l.normal = s.deps.ExternalURL.Host, r.email, r.normal
	l.id = "mail-" + strconv.FormatInt(m.id, 10) + "@" + host
	l.follows = string(m.Thread) + "-" + strconv.FormatInt(m.ThreadID, 10) + "@" + host
	l.SettingsURL = s.base() + "/-/user_settings/notifications"
	if !m.Thread.declines() {
		return
	}
	l.Reason, l.Stop = reason(r, m.Thread, items), stops(m.Thread)
	l.StopURL = s.base() + UnsubscribePath + s.unsubscribeToken(m, r.normal)
	why := "settings"
	if slices.ContainsFunc(items, func(i item) bool { return i.Mentioned }) {
		why = "mentioned"
	} else if slices.ContainsFunc(items, func(i item) bool { return i.Participates }) {
		why = "participating"
	}
	projectID := strconv.FormatInt(items[0].ProjectID, 10)
	l.fields = append(l.fields,
		mail.Field{Name: "List-Id", Value: l.Project + " <" + projectID + ".project." + host + ">"},
		mail.Field{Name: "List-Unsubscribe", Value: "<" + l.StopURL + ">"},
		mail.Field{Name: "List-Unsubscribe-Post", Value: "List-Unsubscribe=One-Click"},
		mail.Field{Name: s.deps.Names.Header("Project-Id"), Value: projectID},
		mail.Field{Name: s.deps.Names.Header("Project-Path"), Value: l.Project},
		mail.Field{Name: s.deps.Names.Header("NotificationReason"), Value: why},
	)
}

func (s *Service) base() string { return strings.TrimSuffix(s.deps.ExternalURL.String(), "/") }

func reason(r *reader, of thread, items []item) string {
	noun := map[thread]string{ofIssue: "this issue", ofPipeline: "this pipeline", ofProject: "this project"}[of]
	switch {
	case of == ofPipeline:
		return "you started this pipeline"
	case of == ofAlerts:
		return "you are responsible for this project"
	case slices.ContainsFunc(items, func(i item) bool { return i.Mentioned && i.Event == ReassignIssue.Name() }):
		return "the issue was given to you, or taken from you"
	case slices.ContainsFunc(items, func(i item) bool { return i.Mentioned }):
		return "you were mentioned"
	case slices.ContainsFunc(items, func(i item) bool { return i.Participates }):
		return "you take part in " + noun
	case r.settings.Level == Watch:
		return "you watch this project"
	default:
		return "you chose to be told of this"
	}
}

func stops(of thread) string {
	return map[thread]string{
		ofIssue: "mails about this issue", ofPipeline: "mails about pipelines of this project", ofProject: "mails about moves of this project",
		ofAlerts: "mails about alerts of this project",
	}[of]
}

func (s *Service) of(p *project.Project) *letter {
	return &letter{Project: p.FullPath(), ProjectURL: s.base() + "/" + p.FullPath()}
}

func (s *Service) aboutIssue(ctx context.Context, r *reader, m *mailing, items []item) (*letter, error) {
	i, p, err := s.deps.Issues.FindByID(ctx, r.Actor, m.ThreadID)
	if err != nil {
		return nil, err
	}
	l := s.of(p)
	l.Title, l.Confidential = fmt.Sprintf("%s (#%d)", i.Title, i.IID), i.Confidential
	l.URL = fmt.Sprintf("%s/-/issues/%d", l.ProjectURL, i.IID)
	l.subject = p.Name + " | " + l.Title
	names, err := s.names(ctx, items, i.AssigneeIDs...)
	if err != nil {
		return nil, err
	}
	left, fresh, authors := maxAll, false, []int64{}
	for _, it := range items {
		var text string
		sec := section{URL: l.URL}
		if sec.Head, text, err = s.told(ctx, r, issue.Placed{Project: p, Issue: i}, it, names, &sec.URL); err != nil {
			if fault.Is(err, fault.NotFound) {
				continue // what was said is gone, or internal, or not so any more
			}
			return nil, err
		}
		fresh = fresh || (it.Event == NewIssue.Name() && !it.Mentioned)
		if it.ByID != nil && !slices.Contains(authors, *it.ByID) {
			authors = append(authors, *it.ByID)
		}
		if sec.Text = cut(text, min(maxText, left)); sec.Text != "" {
			html, err := s.deps.Markdown.Show(ctx, markdown.Context{Reader: r.Actor, Project: p}, sec.Text)
			if err != nil {
				return nil, err
			}
			sec.HTML = styled(html, l.URL, s.base())
		}
		sec.Cut, left = len(sec.Text) < len(text), left-len(sec.Text)
		l.Sections = append(l.Sections, sec)
	}
	if len(l.Sections) == 0 {
		return nil, nil
	}
	if !fresh {
		l.subject = "Re: " + l.subject
	}
	if len(authors) == 1 {
		l.from = names[authors[0]].name
	}
	l.fields = append(l.fields,
		mail.Field{Name: s.deps.Names.Header("Issue-ID"), Value: strconv.FormatInt(i.ID, 10)},
		mail.Field{Name: s.deps.Names.Header("Issue-IID"), Value: strconv.Itoa(i.IID)},
		mail.Field{Name: s.deps.Names.Header("ConfidentialIssue"), Value: strconv.FormatBool(i.Confidential)},
	)
	return l, nil
}

// told says what somebody did, in one line, and what they wrote.
func (s *Service) told(
	ctx context.Context, r *reader, at issue.Placed, it item, names map[int64]called, url *string,
) (head, text string, err error) {
	who := "Somebody"
	if it.ByID != nil {
		who = names[*it.ByID].full()
	}
	switch {
	case it.NoteID != nil:
		n, err := s.deps.Notes.Find(ctx, r.Actor, note.AtIssue{Placed: at}, *it.NoteID)
		if err != nil {
			return "", "", err
		}
		*url += "#note_" + strconv.FormatInt(n.ID, 10)
		if it.Mentioned {
			return who + " mentioned you in a comment:", n.Body, nil
		}
		return who + " commented:", n.Body, nil
	case it.Event == NewIssue.Name():
		if at.Issue.Description != nil {
			text = *at.Issue.Description
		}
		if it.Mentioned {
			return who + " mentioned you in the description of this issue:", text, nil
		}
		return who + " opened this issue.", text, nil
	case it.Event == IssueDue.Name():
		if d := at.Issue.DueDate; at.Issue.Closed || d == nil || day(*d) != detail(it) {
			return "", "", fault.NotFoundf("Issue") // done, or due at another time
		}
		return "This issue is due on " + detail(it) + ".", "", nil
	case it.Event == CloseIssue.Name():
		return who + " closed this issue.", "", nil
	case it.Event == ReopenIssue.Name():
		return who + " reopened this issue.", "", nil
	default:
		var now []string
		for _, id := range at.Issue.AssigneeIDs {
			now = append(now, names[id].full())
		}
		if len(now) == 0 {
			return who + " assigned this issue to nobody.", "", nil
		}
		return who + " assigned this issue. It is " + strings.Join(now, ", ") + " who has it now.", "", nil
	}
}

func (s *Service) aboutPipeline(ctx context.Context, r *reader, m *mailing, items []item) (*letter, error) {
	p, err := s.deps.Projects.Find(ctx, r.Actor, items[0].ProjectID)
	if err != nil {
		return nil, err
	}
	if !access.Holds(r.Actor, access.ReadPipelines, p.Target()) {
		return nil, nil
	}
	pl, err := s.deps.Pipelines.Find(ctx, p.ID, m.ThreadID)
	if err != nil {
		return nil, err
	}
	last := items[len(items)-1]
	word, now := map[string]string{FailedPipeline.Name(): "failed", FixedPipeline.Name(): "succeeded again", SuccessPipeline.Name(): "succeeded"}[last.Event], pipeline.Success
	if last.Event == FailedPipeline.Name() {
		now = pipeline.Failed
	}
	if pl.Status != now {
		return nil, nil // it runs again: when it ends there will be another mail
	}
	l := s.of(p)
	l.Title = fmt.Sprintf("Pipeline #%d %s", pl.ID, word)
	l.URL = fmt.Sprintf("%s/-/pipelines/%d", l.ProjectURL, pl.ID)
	l.subject = fmt.Sprintf("%s | Pipeline %s for %s | %s", p.Name, word, pl.Ref, pl.SHA[:min(8, len(pl.SHA))])
	sec := section{Head: fmt.Sprintf("The pipeline for %s at %s %s.", unlinked(pl.Ref), pl.SHA[:min(8, len(pl.SHA))], word), URL: l.URL}
	if now == pipeline.Failed && access.Holds(r.Actor, access.ReadJobs, p.Target()) {
		if sec.Text, err = s.failedJobs(ctx, pl); err != nil {
			return nil, err
		}
		sec.HTML = preformatted(sec.Text)
	}
	l.Sections = []section{sec}
	l.fields = append(l.fields,
		mail.Field{Name: s.deps.Names.Header("Pipeline-Id"), Value: strconv.FormatInt(pl.ID, 10)},
		mail.Field{Name: s.deps.Names.Header("Pipeline-Ref"), Value: oneLine(pl.Ref)},
		mail.Field{Name: s.deps.Names.Header("Pipeline-Status"), Value: string(pl.Status)},
	)
	return l, nil
}

// mostJobs is how many failed jobs a mail names, of the first hundreds of a pipeline.
const mostJobs = 20

func (s *Service) failedJobs(ctx context.Context, pl *pipeline.Pipeline) (string, error) {
	jobs, err := s.deps.Pipelines.LatestJobs(ctx, pl.ID, 500)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, j := range jobs {
		if j.Status == pipeline.Failed && len(lines) < mostJobs {
			lines = append(lines, "failed: "+unlinked(j.Name))
		}
	}
	return strings.Join(lines, "\n"), nil
}

func (s *Service) aboutProject(ctx context.Context, r *reader, _ *mailing, items []item) (*letter, error) {
	p, err := s.deps.Projects.Find(ctx, r.Actor, items[0].ProjectID)
	if err != nil {
		return nil, err
	}
	l := s.of(p)
	l.Title, l.URL = p.FullPath(), l.ProjectURL
	l.subject = p.Name + " | The project was moved"
	l.Sections = []section{{Head: "This project was moved. It is at " + unlinked(p.FullPath()) + " now.", URL: l.URL}}
	return l, nil
}

// called is how somebody is named in mails.
type called struct{ name, username string }

func (c called) full() string {
	if c.username == "" {
		return "Somebody"
	}
	return c.name + " (@" + unlinked(c.username) + ")"
}

func (s *Service) names(ctx context.Context, items []item, more ...int64) (map[int64]called, error) {
	ids := slices.Clone(more)
	for _, i := range items {
		if i.ByID != nil {
			ids = append(ids, *i.ByID)
		}
	}
	found, err := s.deps.Users.Briefs(ctx, ids...)
	all := map[int64]called{}
	for id, u := range found {
		all[id] = called{unlinked(u.Name), u.Username}
	}
	return all, err
}

// unlinked is a name in which no reader of mails finds a link by itself: programs make one of whatever looks like an address.
func unlinked(name string) string {
	name = oneLine(name)
	if utf8.RuneCountInString(name) > maxName {
		name = string([]rune(name)[:maxName]) + "…"
	}
	name = strings.NewReplacer("://", "_", "@", "_").Replace(name)
	var b strings.Builder
	for i, r := range name {
		next, _ := utf8.DecodeRuneInString(name[min(i+1, len(name)):])
		if r == '.' && next != utf8.RuneError && !unicode.IsSpace(next) {
			r = '_'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine is a text without control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// cut is the beginning of a text, up to a number of bytes, without half a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:max(most, 0)]
}

// message writes a letter out, as text and as HTML.
func (l *letter) message() mail.Message {
	from := l.Site
	if l.from != "" {
		from = l.from
	}
	return mail.Message{
		To: l.to, Subject: oneLine(l.subject), Text: l.text(), HTML: l.html(), FromName: from, ID: l.id, References: []string{l.follows}, Header: l.fields,
	}
}

// open is where the latest thing is that the letter tells of.
func (l *letter) open() string { return l.Sections[len(l.Sections)-1].URL }

func (l *letter) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", unlinkedTitle(l.Title), l.open())
	if l.Confidential {
		b.WriteString("This issue is confidential.\n")
	}
	for _, s := range l.Sections {
		fmt.Fprintf(&b, "\n%s\n", s.Head)
		if s.Text != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(s.Text))
		}
		if s.Cut {
			fmt.Fprintf(&b, "\nThere is more of it at %s\n", s.URL)
		}
	}
	fmt.Fprintf(&b, "\n-- \nYou get this mail from %s because %s.\n", l.Site, l.Reason)
	if l.StopURL != "" {
		fmt.Fprintf(&b, "Stop %s: %s\n", l.Stop, l.StopURL)
	}
	fmt.Fprintf(&b, "Your settings: %s\n", l.SettingsURL)
	return b.String()
}

// unlinkedTitle is a title as text alone, where it cannot be the text of a link to what it belongs to.
func unlinkedTitle(title string) string {
	return strings.NewReplacer("://", "_").Replace(oneLine(title))
}
