package repository

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/gitstore"
	"stithy/internal/project"
)

// Summary is what a move of a branch or tag brought, as people are told of it.
type Summary struct {
	Commits int    // new ones, as far as maxSummed; 0 of a ref that is gone
	Title   string // the beginning of the message of the last of them
}

const (
	maxSummed      = 10_000
	maxSummedTitle = 70              // characters
	summaryTimeout = 5 * time.Second // of all refs of a push together
)

// Move is how a ref moved.
type Move struct {
	Tag      bool
	Old, New bool // it was there, and it is
}

// MoveOf says how a branch or tag moved. Other refs are none of what people are told of.
func MoveOf(u gitstore.RefUpdate) (m Move, ok bool) {
	ref := gitstore.Ref{Name: u.Name}
	m = Move{Tag: ref.TagName() != "", Old: u.Old != gitstore.Zero, New: u.New != gitstore.Zero}
	return m, m.Tag || ref.Branch() != ""
}

// summarize says what each ref of a push brought, before the transaction that notes it: there, nobody waits for git. Refs of which a push moves more
// alike than the instance tells of one by one are left out. What cannot be found out in time stays empty: it holds up no push.
func (s *Service) summarize(ctx context.Context, repo *gitstore.Repo, p *project.Project, main string, updates []gitstore.RefUpdate) map[string]Summary {
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	alike := map[Move]int{}
	for _, u := range updates {
		if m, ok := MoveOf(u); ok {
			alike[m]++
		}
	}
	summaries := map[string]Summary{}
	for _, u := range updates {
		m, ok := MoveOf(u)
		if !ok || alike[m] > s.deps.Settings.Current().PushEventActivitiesLimit {
			continue
		}
		sum, err := summary(ctx, repo, main, u)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			s.deps.Log.Warn("what a push brought is not known", "project_id", p.ID, "ref", u.Name, "error", err.Error())
		}
		summaries[u.Name] = sum
	}
	return summaries
}

// summary says what a ref brought. Counting takes no process where a branch begins or gets one commit more, as most pushes do.
func summary(ctx context.Context, repo *gitstore.Repo, main string, u gitstore.RefUpdate) (Summary, error) {
	if u.New == gitstore.Zero {
		return Summary{}, nil
	}
	ref := gitstore.Ref{Name: u.Name}
	tip := u.New
	if ref.TagName() != "" {
		now, err := repo.Ref(ctx, u.Name)
		if err != nil {
			return Summary{}, err
		}
		tip = now.Peeled
	}
	c, err := repo.Commit(ctx, tip)
	if err != nil {
		return Summary{}, err
	}
	var n int
	switch {
	case ref.TagName() != "", len(c.Parents) == 1 && c.Parents[0] == u.Old, len(c.Parents) == 0 && ref.Branch() == main:
		n = 1
	default:
		n, err = countNew(ctx, repo, main, u)
	}
	if err != nil || n == 0 {
		return Summary{}, err
	}
	return Summary{Commits: n, Title: headline(c.Message)}, nil
}

// countNew counts the commits that a branch did not have before. Of a new one, those of the default branch are not new.
func countNew(ctx context.Context, repo *gitstore.Repo, main string, u gitstore.RefUpdate) (int, error) {
	q := gitstore.LogQuery{From: []gitstore.OID{u.New}}
	if u.Old != gitstore.Zero {
		q.Not = []gitstore.OID{u.Old}
	} else if u.Name != gitstore.Branches+main {
		switch tip, err := repo.Ref(ctx, gitstore.Branches+main); {
		case err == nil && tip.Target == u.New:
			return 0, nil
		case err == nil:
			q.Not = []gitstore.OID{tip.Target}
		case !errors.Is(err, gitstore.ErrNotFound):
			return 0, err
		}
	}
	return repo.Count(ctx, q, maxSummed)
}

// headline is the first line of a message, cut.
func headline(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	line = strings.TrimSpace(line)
	if utf8.RuneCountInString(line) <= maxSummedTitle {
		return line
	}
	return string([]rune(line)[:maxSummedTitle-3]) + "..."
}
