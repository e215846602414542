package mention

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/markdown"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
)

// message is a commit message that somebody pushed.
type message struct {
	By          access.Actor
	Project     *project.Project
	SHA         string
	Text        string
	Closes      bool // it is on the default branch
	ProjectOnly bool // issues of other projects are not looked for
}

func (m message) commit() issue.Commit { return issue.Commit{Project: m.Project, SHA: m.SHA} }

// readMessage adds a note to each issue that a message mentions and that the actor may read, and closes those that it says it closes.
func (s *Service) readMessage(ctx context.Context, m message) error {
	all := markdown.IssuesIn(m.Text, strings.TrimSuffix(s.deps.ExternalURL, "/"))
	// What is to be closed comes first, so that a long list of others leaves room for it.
	sorting.Stably(all, func(a, b markdown.Named) int {
		switch {
		case a.Closes == b.Closes:
			return 0
		case a.Closes:
			return -1
		}
		return 1
	})
	if m.ProjectOnly {
		all = slices.DeleteFunc(all, func(n markdown.Named) bool { return n.Path != "" })
	}
	paths := make([]string, len(all))
	for n := range all {
		paths[n] = all[n].Path
	}
	projects, err := s.projects(ctx, s.deps.DB, m.By, m.Project, paths)
	if err != nil {
		return err
	}
	named := 0
	for _, n := range all {
		number, ok := numberIn(m.By, projects[n.Path], n.Number)
		if !ok {
			continue
		}
		if err := s.nameInCommit(ctx, m, number, n.Closes); err != nil {
			return err
		}
		if named++; named == maxIssues {
			break
		}
	}
	return nil
}

// nameInCommit does so for one issue, in a transaction of its own: locks on several issues would hold up others.
func (s *Service) nameInCommit(ctx context.Context, m message, n issue.Number, closes bool) error {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		i, err := issue.Lock(ctx, tx, m.By, n.Project, n.IID)
		if err != nil {
			return err
		}
		at, now := issue.Placed{Project: n.Project, Issue: i}, s.deps.Clock.Now()
		if err := s.deps.Notes.NoteCommit(ctx, tx, m.By, at, m.commit(), now); err != nil {
			return err
		}
		if !closes || !mayClose(m, at) {
			return nil
		}
		first, err := s.deps.Notes.BeginClosing(ctx, tx, at, m.commit(), now)
		if err != nil || !first {
			return err
		}
		return s.deps.Issues.CloseByCommit(ctx, tx, m.By, n.Project, i, m.commit())
	})
	if fault.Is(err, fault.NotFound) {
		return nil // there is no such issue, or none that they may read
	}
	return err
}

// mayClose reports whether a commit closes an issue that its message says it closes. That is up to the issue's project. A fork has the commits
// of the project that it was made of, which closes its own.
func mayClose(m message, at issue.Placed) bool {
	parent := m.Project.ForkedFromID
	return m.Closes && at.Project.Settings.AutocloseReferencedIssues && (parent == nil || *parent != at.Project.ID) &&
		issue.RightsOf(m.By, at.Project, at.Issue).Edit
}
