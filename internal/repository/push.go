package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/failpoint"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/protection"
)

// settleTimeout is how long a push may take to finish after the client disconnects.
const settleTimeout = time.Minute

// Push moves refs for an actor who uses the API: the rules are asked, the
// intent is written down, staged objects are moved in and refs updated, and one
// transaction notes it with its event. q is the zero Quarantine when no object
// is new. Refusals are faults with the text that git would show; a ref that is
// not what it should be is gitstore.ErrConflict.
func (s *Service) Push(ctx context.Context, by access.Actor, p *project.Project, q gitstore.Quarantine, updates ...gitstore.RefUpdate) error {
	a, err := s.BeginPush(ctx, by, p, ViaAPI)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Move(ctx, q, updates...)
}

// Move is all of a push whose objects are staged: Approve, the refs, Settle.
func (a *PushSession) Move(ctx context.Context, q gitstore.Quarantine, updates ...gitstore.RefUpdate) error {
	if err := a.Approve(ctx, q, updates, nil); err != nil {
		if refused, ok := errors.AsType[*gitstore.RefusedError](err); ok {
			return fault.WithMessage(fault.Rejected, "%s", refused.Text)
		}
		return err
	}
	// From here on the intent stands: it is carried out or found to be void,
	// whether anybody waits for the answer or not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	switch err := a.Repo.Apply(ctx, q, updates); {
	case err == nil:
		failpoint.Here(failpoint.RefsMoved)
		err := a.Settle(ctx, updates)
		failpoint.Here(failpoint.PushSettled)
		return err
	case errors.Is(err, gitstore.ErrConflict):
		return errors.Join(err, a.Settle(ctx, nil))
	default:
		return errors.Join(err, a.SettleFromRefs(ctx))
	}
}

// PushSession is a push under way, over any protocol. Call Approve, then Settle
// or SettleFromRefs, then Close. Move does the first two.
type PushSession struct {
	Repo *gitstore.Repo // its processes hold the ticket

	s      *Service
	by     access.Actor
	of     subject
	via    Via
	ticket *gitstore.Ticket
	push   *Push // nil until approved
}

// subject is what pushes change: the repository of a project, or one of texts.
type subject interface {
	// owner are the columns that a push names it by; one of them is nil.
	owner() (projectID, textID *int64)
	// check asks the rules about every ref. A refusal is a *gitstore.RefusedError.
	check(ctx context.Context, a *PushSession, q gitstore.Quarantine, updates []gitstore.RefUpdate) error
	// settling does what must be done after refs moved and before a transaction notes it. What it returns is part of that
	// transaction. It may be called again.
	settling(ctx context.Context, repo *gitstore.Repo, by access.Actor, push Push) (func(context.Context, pgx.Tx) error, error)
}

// code is the repository of a project.
type code struct {
	s       *Service
	project *project.Project
	row     *Repository
}

func (c code) owner() (projectID, textID *int64) { return &c.project.ID, nil }

var errReadOnly = fault.WithMessage(fault.Forbidden, "The repository is temporarily read-only. Please try again later.")

// BeginPush begins a push to a project that the actor sees.
func (s *Service) BeginPush(ctx context.Context, by access.Actor, p *project.Project, via Via) (*PushSession, error) {
	row, err := s.Find(ctx, p)
	if err != nil {
		return nil, err
	}
	if row.ReadOnly {
		return nil, errReadOnly
	}
	repo, err := s.open(ctx, p, row)
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, by, repo, code{s, p, row}, via)
}

func (s *Service) begin(ctx context.Context, by access.Actor, repo *gitstore.Repo, of subject, via Via) (*PushSession, error) {
	ticket, err := repo.Ticket(ctx)
	if err != nil {
		return nil, err
	}
	return &PushSession{Repo: repo.Holding(ticket), s: s, by: by, of: of, via: via, ticket: ticket}, nil
}

// Approve checks every ref and writes the intent down. The objects may still
// be in a quarantine. A refusal is a *gitstore.RefusedError.
func (a *PushSession) Approve(ctx context.Context, q gitstore.Quarantine, updates []gitstore.RefUpdate, options []string) error {
	s := a.s
	if err := a.of.check(ctx, a, q, updates); err != nil {
		return err
	}
	failpoint.Here(failpoint.PushJudged)
	id, err := postgres.Value[int64](ctx, s.deps.DB, sqlNextPush)
	if err != nil {
		return err
	}
	if err := a.ticket.Number(ctx, id); err != nil {
		return err
	}
	push := &Push{ID: id, Via: a.via, State: Pending, Updates: updates, Options: slices.Clip(options), CreatedAt: s.deps.Clock.Now()}
	push.ProjectID, push.TextID = a.of.owner()
	if push.Options == nil {
		push.Options = []string{}
	}
	if a.by.SignedIn() {
		push.UserID = new(a.by.ID())
	}
	_, err = s.deps.DB.Exec(ctx, sqlIntend, push.ID, push.ProjectID, push.TextID, push.UserID, push.Via, push.Updates, push.Options, push.CreatedAt)
	if err != nil {
		return goneProject.Translate(err)
	}
	a.push = push
	failpoint.Here(failpoint.PushIntended)
	return nil
}

// check asks the rules that protect branches and tags, and for the content of large files. One refusal refuses all.
func (c code) check(ctx context.Context, a *PushSession, q gitstore.Quarantine, updates []gitstore.RefUpdate) error {
	room, repo := c.s.deps.Protection, a.Repo.In(q)
	rules, err := room.Rules(ctx, c.project, c.row.Empty)
	if err != nil {
		return err
	}
	w := protection.Instance(a.by)
	if a.via != ViaJob {
		if w, err = room.Writer(ctx, a.by, c.project, rules); err != nil {
			return err
		}
		w.Web = a.via == ViaAPI
	}
	if err := rules.Judge(ctx, repo, w, updates); err != nil || q == (gitstore.Quarantine{}) {
		return err
	}
	return c.s.checkPointers(ctx, c.project, repo, updates)
}

// Settle notes what is known to have become of an approved push and tells the
// other rooms, in one transaction.
func (a *PushSession) Settle(ctx context.Context, moved []gitstore.RefUpdate) error {
	if a.push == nil {
		return nil
	}
	return a.s.settle(ctx, a.Repo, a.of, a.by, *a.push, moved)
}

// SettleFromRefs settles a push whose result git did not report, by reading the
// refs. Call it only after git has exited.
func (a *PushSession) SettleFromRefs(ctx context.Context) error {
	if a.push == nil {
		return nil
	}
	return a.s.settleFromRefs(ctx, a.Repo, a.of, a.by, *a.push)
}

// Close ends the session. A push that was approved but not settled is
// settled later by the background job (jobs.go).
func (a *PushSession) Close() {
	if err := a.ticket.Close(); err != nil {
		a.s.deps.Log.Error("giving back the ticket of a push", "repository", a.Repo.Key().Path, "error", err)
	}
}

// MayPush reports whether an actor may write to the repository at all; the
// rules about single refs come on top.
func MayPush(by access.Actor, p *project.Project) bool {
	return !p.Archived && p.Features.Repository != project.Off && access.Holds(by, access.PushCode, p.Target())
}

// Pushed reports whether someone ever pushed to the repository of a project.
func (s *Service) Pushed(ctx context.Context, projectID, userID int64) (bool, error) {
	return postgres.Value[bool](ctx, s.deps.DB, sqlPushed, projectID, userID)
}

// settleFromRefs finds out which refs of a pending push moved, and settles it.
func (s *Service) settleFromRefs(ctx context.Context, repo *gitstore.Repo, of subject, by access.Actor, push Push) error {
	now, err := values(ctx, repo, push.Updates)
	if err != nil {
		return fmt.Errorf("reading refs after a push: %w", err)
	}
	sql := sqlSince
	id, textID := of.owner()
	if textID != nil {
		sql, id = sqlTextSince, textID
	}
	since, err := postgres.All[Push](ctx, s.deps.DB, sql, id, push.ID, push.CreatedAt, sinceLimit)
	if err != nil {
		return err
	}
	return s.settle(ctx, repo, of, by, push, landed(push.Updates, now, since))
}

// sinceLimit is how many later pushes to one repository are looked at.
const sinceLimit = 1000

// settle notes which refs of a pending push moved: the push becomes done or void. It may be called any number of times, by the
// process that took the push and by the background job, and counts once.
func (s *Service) settle(ctx context.Context, repo *gitstore.Repo, of subject, by access.Actor, push Push, moved []gitstore.RefUpdate) error {
	push.State = Done
	var note func(context.Context, pgx.Tx) error
	if len(moved) == 0 {
		push.State = Void
	} else {
		var err error
		push.Updates = moved
		if note, err = of.settling(ctx, repo, by, push); err != nil {
			return err
		}
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlSettle, push.ID, push.State, push.Updates, s.deps.Clock.Now())
		if err != nil || tag.RowsAffected() == 0 || push.State == Void {
			return err
		}
		err = note(ctx, tx)
		failpoint.Here(failpoint.PushNoting)
		return err
	})
}

// settling updates repository and project and publishes Pushed.
func (c code) settling(ctx context.Context, repo *gitstore.Repo, by access.Actor, push Push) (func(context.Context, pgx.Tx) error, error) {
	s, p := c.s, c.project
	head, err := s.ensureDefaultBranch(ctx, repo, p, push.Updates)
	if err != nil {
		return nil, err
	}
	summaries := s.summarize(ctx, repo, p, cmp.Or(head, s.deps.Projects.BranchOf(p)), push.Updates)
	return func(ctx context.Context, tx pgx.Tx) error {
		now := s.deps.Clock.Now()
		wasEmpty, err := postgres.Value[bool](ctx, tx, sqlMarkPushed, p.ID, now)
		if err != nil {
			return err
		}
		if wasEmpty {
			if err := s.deps.Protection.ProtectFirst(ctx, tx, p, cmp.Or(head, s.deps.Projects.BranchOf(p))); err != nil {
				return err
			}
		}
		if err := s.deps.Projects.NotePush(ctx, tx, p.ID, now, head); err != nil {
			return err
		}
		if err := s.deps.Queue.Insert(ctx, tx, MaintainArgs{ProjectID: p.ID}, jobqueue.Unique(), jobqueue.At(now.Add(maintainDelay))); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Pushed{Push: push, Project: p, By: by, Updates: push.Updates, Summaries: summaries})
	}, nil
}

// ensureDefaultBranch points HEAD at the first pushed branch if HEAD's branch
// does not exist. It returns the name to store as the project's default branch,
// or "" to keep the stored one. It may run again.
func (s *Service) ensureDefaultBranch(ctx context.Context, repo *gitstore.Repo, p *project.Project, moved []gitstore.RefUpdate) (string, error) {
	var first string
	for _, u := range moved {
		if name := (gitstore.Ref{Name: u.Name}).Branch(); name != "" && u.Old == gitstore.Zero && first == "" {
			first = name
		}
	}
	if first == "" {
		return "", nil
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return "", err
	}
	switch _, err := repo.Ref(ctx, gitstore.Branches+head); {
	case err == nil:
		if p.DefaultBranch == nil {
			return head, nil
		}
		return "", nil
	case !errors.Is(err, gitstore.ErrNotFound):
		return "", err
	}
	return first, repo.SetHead(ctx, first)
}
