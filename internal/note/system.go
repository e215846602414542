package note

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// OnIssue notes what became of an issue, in the transaction of the change.
func (s *Service) OnIssue(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	switch e.Action {
	case issue.Created:
		e.Before.Closed = e.Issue.Closed
		return s.noteResources(ctx, tx, e)
	case issue.Updated, issue.Timed:
		return s.noteChange(ctx, tx, e)
	case issue.Linked:
		return s.noteBoth(ctx, tx, e, linked(e.Kind, "marked this issue as "), linked(opposite(e.Kind), "marked this issue as "))
	case issue.Cut:
		return s.noteBoth(ctx, tx, e, "removed the relation with", "removed the relation with")
	case issue.Moved:
		return s.noteMove(ctx, tx, e)
	case issue.Cloned:
		if e.Notes {
			copied, err := postgres.Value[int](ctx, tx, sqlCopyNotes, e.Issue.ID, e.Other.ID)
			if err != nil {
				return err
			}
			if err := issue.AddToNotesCount(ctx, tx, e.Other.ID, copied, e.At); err != nil {
				return err
			}
			if err := s.nameInFull(ctx, tx, e); err != nil {
				return err
			}
		}
		return s.noteBoth(ctx, tx, e, "cloned to", "cloned from")
	}
	return nil
}

// noteMove takes what was said along with an issue that moves.
func (s *Service) noteMove(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	said := e.Issue.NotesCount
	for _, sql := range []string{sqlMoveNotes, sqlMoveAwards, sqlMoveEvents, sqlMoveCommits} {
		if _, err := tx.Exec(ctx, sql, e.Issue.ID, e.Other.ID); err != nil {
			return err
		}
	}
	if err := s.nameInFull(ctx, tx, e); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlNoVotes, e.Issue.ID); err != nil {
		return err
	}
	if err := issue.AddToNotesCount(ctx, tx, e.Other.ID, said, e.At); err != nil {
		return err
	}
	if err := issue.AddToNotesCount(ctx, tx, e.Issue.ID, -said, e.At); err != nil {
		return err
	}
	if err := s.noteResources(ctx, tx, e); err != nil {
		return err
	}
	return s.noteBoth(ctx, tx, e, "moved to", "moved from")
}

// nameInFull has the notes that came along to another project name issues and commits of the one that they come from with its path.
func (s *Service) nameInFull(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	if e.In.ID == e.Project.ID {
		return nil
	}
	if _, err := tx.Exec(ctx, sqlNameCommits, e.Other.ID, e.Project.ID, e.Project.FullPath()); err != nil {
		return err
	}
	notes, err := postgres.All[struct {
		ID   int64
		Body string
	}](ctx, tx, sqlNaming, e.Other.ID)
	if err != nil || len(notes) == 0 {
		return err
	}
	before := make([]string, len(notes))
	for n := range notes {
		before[n] = notes[n].Body
	}
	after, err := issue.InFull(ctx, tx, e.Project, before)
	if err != nil {
		return err
	}
	var ids []int64
	var bodies []string
	for n := range notes {
		if after[n] != before[n] && len(after[n]) <= maxBody {
			ids, bodies = append(ids, notes[n].ID), append(bodies, after[n])
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, sqlRename, ids, bodies)
	return err
}

// opposite is a link seen from its other end.
func opposite(kind issue.LinkKind) issue.LinkKind {
	switch kind {
	case issue.Blocks:
		return issue.BlockedBy
	case issue.BlockedBy:
		return issue.Blocks
	}
	return kind
}

func linked(kind issue.LinkKind, begin string) string {
	switch kind {
	case issue.Blocks:
		return begin + "blocking"
	case issue.BlockedBy:
		return begin + "blocked by"
	}
	return begin + "related to"
}

// reference names an issue in a text of a project.
func reference(i *issue.Issue, of, from *project.Project) string {
	if of.ID == from.ID {
		return fmt.Sprintf("#%d", i.IID)
	}
	return fmt.Sprintf("%s#%d", of.FullPath(), i.IID)
}

// noteBoth notes at two issues what they have to do with each other.
func (s *Service) noteBoth(ctx context.Context, tx pgx.Tx, e issue.Event, here, there string) error {
	if err := s.note(ctx, tx, e, e.Issue.ID, here+" "+reference(e.Other, e.In, e.Project), &e.Other.ID); err != nil {
		return err
	}
	return s.note(ctx, tx, e, e.Other.ID, there+" "+reference(&e.Issue, e.Project, e.In), &e.Issue.ID)
}

// note adds a note of the instance to an issue.
func (s *Service) note(ctx context.Context, tx pgx.Tx, e issue.Event, issueID int64, body string, refersTo *int64) error {
	_, err := tx.Exec(ctx, sqlInsertSystem, issueID, actor(e.By), newDiscussion(), body, refersTo, e.At)
	return err
}

// NoteMention notes at an issue that a text at another names it: once, whatever else names it there later.
func (s *Service) NoteMention(ctx context.Context, tx pgx.Tx, by access.Actor, at, from issue.Placed, now time.Time) error {
	_, err := tx.Exec(ctx, sqlInsertMention, at.Issue.ID, actor(by), newDiscussion(), reference(from.Issue, from.Project, at.Project), from.Issue.ID, now)
	return err
}

// actor is who did something, if it was a person.
func actor(by access.Actor) *int64 {
	if !by.SignedIn() {
		return nil
	}
	return new(by.ID())
}

// noteChange notes each thing that an issue became.
func (s *Service) noteChange(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	bodies := Texts(&e.Before, &e.Issue, s.deps.Settings.Current().TimeTrackingLimitToHours)
	if last := len(bodies) - 1; e.SpentOn != nil && last >= 0 {
		bodies[last] += " at " + e.SpentOn.Format(time.DateOnly)
	}
	assigned, err := s.assignments(ctx, tx, e.Before.AssigneeIDs, e.Issue.AssigneeIDs)
	if err != nil {
		return err
	}
	if assigned != "" {
		bodies = append(bodies, assigned)
	}
	for _, body := range bodies {
		if err := s.note(ctx, tx, e, e.Issue.ID, body, nil); err != nil {
			return err
		}
	}
	if e.Action == issue.Updated && e.Other != nil {
		if err := s.noteDuplicate(ctx, tx, e); err != nil {
			return err
		}
	}
	return s.noteResources(ctx, tx, e)
}

// noteDuplicate notes at two issues that one is the other once more.
func (s *Service) noteDuplicate(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	here := "marked this issue as a duplicate of " + reference(e.Other, e.In, e.Project)
	if err := s.note(ctx, tx, e, e.Issue.ID, here, &e.Other.ID); err != nil {
		return err
	}
	there := "marked " + reference(&e.Issue, e.Project, e.In) + " as a duplicate of this issue"
	return s.note(ctx, tx, e, e.Other.ID, there, &e.Issue.ID)
}

// maxNamed is how many people one note names.
const maxNamed = 20

// assignments says to whom an issue was given and from whom it was taken.
func (s *Service) assignments(ctx context.Context, tx pgx.Tx, before, after []int64) (string, error) {
	added, removed := without(after, before), without(before, after)
	if len(added)+len(removed) == 0 {
		return "", nil
	}
	rows, err := postgres.All[struct {
		ID       int64
		Username string
	}](ctx, tx, sqlUsernames, slices.Concat(added, removed))
	if err != nil {
		return "", err
	}
	names := map[int64]string{}
	for _, r := range rows {
		names[r.ID] = "@" + r.Username
	}
	people := func(verb string, ids []int64) string {
		var named []string
		for _, id := range ids {
			if name := names[id]; name != "" && len(named) < maxNamed {
				named = append(named, name)
			}
		}
		if len(named) == 0 {
			return ""
		}
		return verb + " " + strings.Join(named, " and ")
	}
	parts := slices.DeleteFunc([]string{people("assigned to", added), people("unassigned", removed)}, func(p string) bool { return p == "" })
	return strings.Join(parts, " and "), nil
}

// without is what is in a and not in b.
func without(a, b []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(a), func(id int64) bool { return slices.Contains(b, id) })
}

// Texts are the notes about what two readings of an issue say differently, without its people.
func Texts(before, after *issue.Issue, hours bool) []string {
	var notes []string
	add := func(differs bool, body string) {
		if differs {
			notes = append(notes, body)
		}
	}
	if before.Title != after.Title {
		from, to := marked(before.Title, after.Title)
		add(true, fmt.Sprintf("changed title from **%s** to **%s**", from, to))
	}
	if was, is := text(before.Description), text(after.Description); was != is {
		notes = append(notes, descriptionChanges(was, is)...)
	}
	add(before.Type != after.Type, fmt.Sprintf("changed type from %s to %s", typeName(before.Type), typeName(after.Type)))
	add(before.Severity != after.Severity, fmt.Sprintf("changed the severity to **%s**", severityName(after.Severity)))
	add(!before.Confidential && after.Confidential, "made the issue confidential")
	add(before.Confidential && !after.Confidential, "made the issue visible to everyone")
	was, is := locked(before), locked(after)
	add(!was && is, "locked this issue")
	add(was && !is, "unlocked this issue")
	switch {
	case after.DueDate != nil && (before.DueDate == nil || !before.DueDate.Equal(*after.DueDate)):
		add(true, "changed due date to "+after.DueDate.Format(longDate))
	case after.DueDate == nil && before.DueDate != nil:
		add(true, "removed due date "+before.DueDate.Format(longDate))
	}
	add(differ(before.Weight, after.Weight) && after.Weight != nil, fmt.Sprintf("changed weight to **%d**", or(after.Weight, 0)))
	add(before.Weight != nil && after.Weight == nil, "removed the weight")
	return append(notes, timeChanges(before, after, hours)...)
}

const longDate = "January 2, 2006"

// timeChanges are the notes about time that an issue takes and took.
func timeChanges(before, after *issue.Issue, hours bool) (notes []string) {
	switch {
	case before.TimeEstimate == after.TimeEstimate:
	case after.TimeEstimate == 0:
		notes = append(notes, "removed time estimate")
	default:
		notes = append(notes, "changed time estimate to "+issue.FormatDuration(after.TimeEstimate, hours))
	}
	switch spent := after.TimeSpent - before.TimeSpent; {
	case spent == 0:
	case after.TimeSpent == 0:
		notes = append(notes, "removed time spent")
	case spent > 0:
		notes = append(notes, "added "+issue.FormatDuration(spent, hours)+" of time spent")
	default:
		notes = append(notes, "subtracted "+issue.FormatDuration(-spent, hours)+" of time spent")
	}
	return notes
}

func text(s *string) string { return or(s, "") }

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func differ[T comparable](a, b *T) bool { return (a == nil) != (b == nil) || (a != nil && *a != *b) }

func locked(i *issue.Issue) bool { return or(i.DiscussionLocked, false) }

func typeName(t issue.Type) string { return strings.ReplaceAll(string(t), "_", " ") }

func severityName(s issue.Severity) string {
	if n := slices.Index([]issue.Severity{"critical", "high", "medium", "low"}, s); n >= 0 {
		return fmt.Sprintf("%s - S%d", strings.ToUpper(string(s[:1]))+string(s[1:]), n+1)
	}
	return "Unknown"
}

// marked are two titles with what differs in them marked: {-gone-} and {+come+}.
func marked(before, after string) (from, to string) {
	a, b := []rune(before), []rune(after)
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < len(a)-same && tail < len(b)-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	mark := func(r []rune, open, end string) string {
		middle := string(r[same : len(r)-tail])
		if middle != "" {
			middle = open + middle + end
		}
		return string(r[:same]) + middle + string(r[len(r)-tail:])
	}
	return mark(a, "{-", "-}"), mark(b, "{+", "+}")
}

// maxItems is how many check boxes one change is noted for by name.
const maxItems = 10

// descriptionChanges say that a description is another; or, where some check boxes were ticked and nothing else changed, which.
func descriptionChanges(before, after string) []string {
	plain := []string{"changed the description"}
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(was) != len(is) {
		return plain
	}
	var items []string
	for n := range was {
		if was[n] == is[n] {
			continue
		}
		item, done, ok := ticked(was[n], is[n])
		if !ok || len(items) == maxItems {
			return plain
		}
		how := "incomplete"
		if done {
			how = "completed"
		}
		items = append(items, fmt.Sprintf("marked the checklist item **%s** as %s", item, how))
	}
	return items
}

// ticked is the text of a check box that differs between two lines in whether it is ticked, and in nothing else.
func ticked(was, is string) (item string, done, ok bool) {
	open, rest, found := strings.Cut(is, "] ")
	begin, other, before := strings.Cut(was, "] ")
	if !found || !before || rest != other || len(open) < 2 || len(begin) != len(open) || open[:len(open)-1] != begin[:len(begin)-1] || open[len(open)-2] != '[' {
		return "", false, false
	}
	now, then := open[len(open)-1], begin[len(begin)-1]
	if ticks := "xX"; now == ' ' && strings.IndexByte(ticks, then) >= 0 {
		return cut(rest), false, true
	} else if then == ' ' && strings.IndexByte(ticks, now) >= 0 {
		return cut(rest), true, true
	}
	return "", false, false
}

const maxItemText = 255

// cut is a text of no more than 255 characters.
func cut(text string) string {
	text = strings.TrimSpace(text)
	count := 0
	for at := range text {
		if count == maxItemText {
			return text[:at]
		}
		count++
	}
	return text
}
