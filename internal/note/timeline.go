package note

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
)

// Moment is one thing that happened to an issue: something was said, and perhaps answered, or something changed.
type Moment struct {
	At         time.Time
	Discussion Discussion // nil of a change
	More       bool       // the discussion has more replies than are read
	Change     *Change    // nil of a discussion
	Label      *label.Label
	Milestone  *milestone.Form
	Via        string // of a closing: what closed the issue, in Markdown, if that was a commit which the reader may read
}

// Where moments of the same time stand: what changed, then what the instance or somebody said of it.
const (
	changeRank = 1
	noteRank   = 2
)

func (m Moment) key() (rank int, id int64) {
	if m.Change != nil {
		return changeRank, m.Change.ID
	}
	return noteRank, m.Discussion[0].ID
}

func (m Moment) compare(o Moment) int {
	r, id := m.key()
	or, oid := o.key()
	return cmp.Or(m.At.Compare(o.At), cmp.Compare(r, or), cmp.Compare(id, oid))
}

// MaxReplies is how many replies of a discussion a timeline holds.
const MaxReplies = 20

// Timeline reads one page of what happened to an issue, the oldest first, for an actor who reads the issue: discussions, what the instance noted, and
// the changes of state, labels and milestone. Pages are turned by cursor.
func (s *Service) Timeline(ctx context.Context, a access.Actor, at AtIssue, req paging.Request) (page paging.Result[Moment], err error) {
	from, err := startOf(req.Cursor)
	if err != nil {
		return page, err
	}
	said, err := s.firstNotes(ctx, a, at, from, req.PerPage+1)
	if err != nil {
		return page, err
	}
	changed, err := s.changesFrom(ctx, at, from, req.PerPage+1)
	if err != nil {
		return page, err
	}
	all := slices.Concat(said, changed)
	sorting.By(all, Moment.compare)
	if page.More = len(all) > req.PerPage; page.More {
		all = all[:req.PerPage]
		page.Next = all[len(all)-1].cursor()
	}
	page.Items = all
	if err := s.fillReplies(ctx, a, at, all); err != nil {
		return page, err
	}
	if err := s.fillCommits(ctx, a, at, all); err != nil {
		return page, err
	}
	return page, s.fillChanges(ctx, at, all)
}

// cursor leads to what follows.
func (m Moment) cursor() *paging.Cursor {
	rank, id := m.key()
	return &paging.Cursor{After: []string{m.At.UTC().Format(time.RFC3339Nano), strconv.Itoa(rank), strconv.FormatInt(id, 10)}}
}

// CursorTo leads to the part of a timeline that begins with a note, or with the discussion that it belongs to.
func (s *Service) CursorTo(ctx context.Context, a access.Actor, at AtIssue, n *Note) (*paging.Cursor, error) {
	first, err := s.first(ctx, s.deps.DB, a, at, n.DiscussionID)
	if err != nil {
		return nil, err
	}
	before := *first
	before.ID--
	return Moment{At: first.CreatedAt, Discussion: Discussion{before}}.cursor(), nil
}

// CursorToLatest leads to the last part of a timeline, of so many moments. It is nil where there is but one part.
func (s *Service) CursorToLatest(ctx context.Context, a access.Actor, at AtIssue, most int) (*paging.Cursor, error) {
	said, err := s.lastNotes(ctx, a, at, most+1)
	if err != nil {
		return nil, err
	}
	changed, err := s.lastChanges(ctx, at, most+1)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(said, changed)
	sorting.By(all, Moment.compare)
	if len(all) <= most {
		return nil, nil
	}
	return all[len(all)-most-1].cursor(), nil
}

// start is where a part of a timeline begins: after this.
type start struct {
	at   time.Time
	rank int
	id   int64
}

func startOf(c *paging.Cursor) (from start, err error) {
	if c == nil {
		return from, nil
	}
	bad := fault.WithMessage(fault.BadParams, "This part of the list is not there.")
	if len(c.After) != 3 {
		return from, bad
	}
	if from.at, err = time.Parse(time.RFC3339Nano, c.After[0]); err != nil || from.at.Year() < 1 || from.at.Year() > 9999 {
		return from, bad
	}
	if from.rank, err = strconv.Atoi(c.After[1]); err != nil || (from.rank != changeRank && from.rank != noteRank) {
		return from, bad
	}
	if from.id, err = strconv.ParseInt(c.After[2], 10, 64); err != nil {
		return from, bad
	}
	return from, nil
}

// firstNotes are the notes that discussions begin with, as many as a page may need.
func (s *Service) firstNotes(ctx context.Context, a access.Actor, at AtIssue, from start, most int) ([]Moment, error) {
	l, err := s.readable(ctx, a, at)
	if err != nil {
		return nil, err
	}
	if l.Where("n.first").Columns(listColumns).Order(postgres.Key{Expr: "n.created_at"}, postgres.Key{Expr: "n.id"}); !from.at.IsZero() {
		// The first condition is one that the index begins at.
		l.Where("n.created_at >= ?", from.at).Where("(n.created_at, ?::integer, n.id) > (?::timestamptz, ?::integer, ?::bigint)",
			noteRank, from.at, from.rank, from.id)
	}
	return s.begun(ctx, l.Limit(most))
}

// lastNotes are the notes that the latest discussions begin with.
func (s *Service) lastNotes(ctx context.Context, a access.Actor, at AtIssue, most int) ([]Moment, error) {
	l, err := s.readable(ctx, a, at)
	if err != nil {
		return nil, err
	}
	l.Where("n.first").Columns(listColumns).Order(postgres.Key{Expr: "n.created_at", Desc: true}, postgres.Key{Expr: "n.id", Desc: true})
	return s.begun(ctx, l.Limit(most))
}

// begun reads discussions by the notes that they begin with.
func (s *Service) begun(ctx context.Context, l *postgres.List) ([]Moment, error) {
	sql, args := l.SQL()
	notes, err := postgres.All[Note](ctx, s.deps.DB, sql, args...)
	all := make([]Moment, len(notes))
	for n := range notes {
		all[n] = Moment{At: notes[n].CreatedAt, Discussion: Discussion{notes[n]}}
	}
	return all, err
}

func (s *Service) changesFrom(ctx context.Context, at AtIssue, from start, most int) ([]Moment, error) {
	l := postgres.From("resource_events e").Columns(eventColumns).Where("e.issue_id = ?", at.Issue.ID).
		Order(postgres.Key{Expr: "e.created_at"}, postgres.Key{Expr: "e.id"})
	if !from.at.IsZero() {
		l.Where("(e.created_at, ?::integer, e.id) > (?::timestamptz, ?::integer, ?::bigint)", changeRank, from.at, from.rank, from.id)
	}
	return s.changed(ctx, l.Limit(most))
}

func (s *Service) lastChanges(ctx context.Context, at AtIssue, most int) ([]Moment, error) {
	return s.changed(ctx, postgres.From("resource_events e").Columns(eventColumns).Where("e.issue_id = ?", at.Issue.ID).
		Order(postgres.Key{Expr: "e.created_at", Desc: true}, postgres.Key{Expr: "e.id", Desc: true}).Limit(most))
}

// changed reads changes.
func (s *Service) changed(ctx context.Context, l *postgres.List) ([]Moment, error) {
	sql, args := l.SQL()
	changes, err := postgres.All[Change](ctx, s.deps.DB, sql, args...)
	all := make([]Moment, len(changes))
	for n := range changes {
		all[n] = Moment{At: changes[n].CreatedAt, Change: &changes[n]}
	}
	return all, err
}

// fillReplies adds what discussions were answered with.
func (s *Service) fillReplies(ctx context.Context, a access.Actor, at AtIssue, all []Moment) error {
	index := map[string]int{}
	var ids [][]byte
	for n := range all {
		if d := all[n].Discussion; d != nil && d[0].Thread {
			index[d[0].Discussion()] = n
			ids = append(ids, d[0].DiscussionID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	replies, err := postgres.All[Note](ctx, s.deps.DB, sqlReplies, ids, at.Issue.ID, MaxReplies+1, a.Admin())
	for _, r := range replies {
		m := &all[index[r.Discussion()]]
		if len(m.Discussion) > MaxReplies {
			m.More = true
			continue
		}
		m.Discussion = append(m.Discussion, r)
	}
	return err
}

// fillChanges adds the labels and milestones that changes are about, as far as the project has them.
func (s *Service) fillChanges(ctx context.Context, at AtIssue, all []Moment) error {
	var labelIDs, milestoneIDs []int64
	for _, m := range all {
		if m.Change != nil && m.Change.LabelID != nil {
			labelIDs = append(labelIDs, *m.Change.LabelID)
		}
		if m.Change != nil && m.Change.MilestoneID != nil {
			milestoneIDs = append(milestoneIDs, *m.Change.MilestoneID)
		}
	}
	if len(labelIDs)+len(milestoneIDs) == 0 {
		return nil
	}
	labels, err := s.deps.Labels.Among(ctx, s.deps.DB, labelIDs)
	if err != nil {
		return err
	}
	milestones, err := s.deps.Milestones.Forms(ctx, milestoneIDs, func(int64) string { return at.Project.FullPath() })
	if err != nil {
		return err
	}
	groups, err := s.lineage(ctx, at.Placed)
	has := func(groupID, projectID *int64) bool {
		return (projectID != nil && *projectID == at.Project.ID) || (groupID != nil && slices.Contains(groups, *groupID))
	}
	for n := range all {
		c := all[n].Change
		if c != nil && c.LabelID != nil {
			if l, found := labels[*c.LabelID]; found && has(l.NamespaceID, l.ProjectID) {
				all[n].Label = &l
			}
		}
		if c != nil && c.MilestoneID != nil {
			if m, found := milestones[*c.MilestoneID]; found && has(m.GroupID, m.ProjectID) {
				all[n].Milestone = &m
			}
		}
	}
	return err
}

// MayComment reports whether an actor who reads a thing may say something about it.
func MayComment(a access.Actor, at Place) bool { return mayComment(a, at) == nil }

// MayChange reports whether an actor who reads a note may change it.
func MayChange(a access.Actor, at Place, n *Note) bool { return mayChange(a, at, n) == nil }
