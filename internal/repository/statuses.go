package repository

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Verdict is how a commit fares in one respect.
type Verdict string

const (
	Waiting   Verdict = "pending"
	Running   Verdict = "running"
	Succeeded Verdict = "success"
	Broken    Verdict = "failed"
	Canceled  Verdict = "canceled"
)

// Status is what somebody elsewhere found out about a commit.
type Status struct {
	ID          int64
	SHA         gitstore.OID
	Ref         string
	Name        string
	State       Verdict
	TargetURL   *string
	Description *string
	Coverage    *float64
	AuthorID    *int64
	CreatedAt   time.Time
	StartedAt   *time.Time
	FinishedAt  *time.Time
}

// events are how clients know the steps to a state.
var events = map[Verdict]string{Waiting: "enqueue", Running: "run", Succeeded: "success", Broken: "drop", Canceled: "cancel"}

// finished reports whether a state is the last.
func (v Verdict) finished() bool { return v == Succeeded || v == Broken || v == Canceled }

// become moves a status to a state, or says why it cannot: what waits may
// begin, and what waits or runs may end.
func (s *Status) become(to Verdict, now time.Time) error {
	if s.State.finished() || to == Waiting || (to == Running && s.State != Waiting) {
		return refuse("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via \"%s\")", events[to], s.State, events[to])
	}
	if s.State = to; to == Running {
		s.StartedAt = &now
	} else {
		s.FinishedAt = &now
	}
	return nil
}

// Report is what somebody says about a commit.
type Report struct {
	Revision    string
	Ref         string // the first branch that the commit is in when empty
	Name        string
	State       Verdict
	TargetURL   *string
	Description *string
	Coverage    *float64
}

func (r Report) check() error {
	var f fault.Fields
	for name, text := range map[string]*string{"target_url": r.TargetURL, "description": r.Description, "name": &r.Name} {
		if text != nil && utf8.RuneCountInString(*text) > 255 {
			f.Add(name, "is too long (maximum is 255 characters)")
		}
	}
	if r.TargetURL != nil {
		if u, err := url.Parse(*r.TargetURL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			f.Add("target_url", "is blocked: Only allowed schemes are http, https")
		}
	}
	return f.Err()
}

// SetStatus notes a report. One of the same name that is under way is moved
// on; after its end a new one begins.
func (s *Service) SetStatus(ctx context.Context, by access.Actor, p *project.Project, r Report) (Status, error) {
	repo, c, err := s.commit(ctx, p, r.Revision)
	if err != nil {
		return Status{}, err
	}
	if err := r.check(); err != nil {
		return Status{}, err
	}
	if r.Ref, err = s.statusRef(ctx, repo, c, r.Ref); err != nil {
		return Status{}, err
	}
	rules, w, err := s.deps.Protection.Standing(ctx, by, p)
	if err != nil {
		return Status{}, err
	}
	if rules.HasRule(r.Ref) && !rules.MayUpdate(w, r.Ref) {
		return Status{}, fault.New(fault.Forbidden)
	}
	var st Status
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockStatus, p.ID, string(c.ID)); err != nil {
			return err
		}
		now := s.deps.Clock.Now()
		st, err = postgres.One[Status](ctx, tx, sqlLatestStatus, p.ID, c.ID, r.Ref, r.Name)
		fresh := errors.Is(err, postgres.ErrNoRows) || (err == nil && st.State.finished())
		switch {
		case fresh:
			st = Status{SHA: c.ID, Ref: r.Ref, Name: r.Name, State: Waiting, CreatedAt: now}
		case err != nil:
			return err
		}
		if !fresh || r.State != Waiting {
			if err := st.become(r.State, now); err != nil {
				return err
			}
		}
		keep(&st.TargetURL, r.TargetURL)
		keep(&st.Description, r.Description)
		keep(&st.Coverage, r.Coverage)
		st.AuthorID = new(by.ID())
		if fresh {
			st, err = postgres.One[Status](ctx, tx, sqlInsertStatus, p.ID, st.SHA, st.Ref, st.Name, st.State, st.TargetURL, st.Description,
				st.Coverage, st.AuthorID, st.CreatedAt, st.StartedAt, st.FinishedAt)
			return postgres.Faults{"commit_statuses_project_id_fkey": fault.NotFoundf("Project")}.Translate(err)
		}
		_, err = tx.Exec(ctx, sqlUpdateStatus, p.ID, st.ID, st.State, st.TargetURL, st.Description, st.Coverage, st.AuthorID, st.StartedAt,
			st.FinishedAt)
		return err
	})
	return st, err
}

func keep[T any](dst **T, src *T) {
	if src != nil {
		*dst = src
	}
}

// statusRef is the ref that a status is about.
func (s *Service) statusRef(ctx context.Context, repo *gitstore.Repo, c *gitstore.Commit, named string) (string, error) {
	if named = strings.TrimPrefix(strings.TrimPrefix(named, gitstore.Branches), gitstore.Tags); named != "" {
		if gitstore.CheckRefName(gitstore.Branches+named) != nil {
			return "", fault.NotFoundf("References for commit")
		}
		return named, nil
	}
	refs, err := repo.RefsWith(ctx, c.ID, gitstore.Branches, 1)
	if err != nil {
		return "", found(err, "Commit")
	}
	if len(refs) == 0 {
		return "", fault.NotFoundf("References for commit")
	}
	return refs[0].Branch(), nil
}

// latestState is how a commit fares as a whole, "" when nobody said anything.
func (s *Service) latestState(ctx context.Context, p *project.Project, commit gitstore.OID) (string, error) {
	states, err := postgres.Values[Verdict](ctx, s.deps.DB, sqlLatestStates, p.ID, commit)
	return string(combined(states)), err
}

// combined is the state of several: the worst that happened, or what is still
// going on.
func combined(states []Verdict) Verdict {
	var all Verdict
	rank := map[Verdict]int{Succeeded: 1, Canceled: 2, Broken: 3, Waiting: 4, Running: 5}
	for _, v := range states {
		if rank[v] > rank[all] {
			all = v
		}
	}
	return all
}
