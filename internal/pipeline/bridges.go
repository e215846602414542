package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

const (
	maxDepth    = 2    // of children below each other
	maxTree     = 1000 // pipelines that follow from one
	maxMeetings = 2    // of one project, ref and source on the way up
)

// actorOf is a person as they are now, for what happens in their name while they
// are away. Who is kept out acts no more.
func (s *Service) actorOf(ctx context.Context, id *int64) (by access.Actor, may bool, err error) {
	if id == nil {
		return access.Actor{}, false, nil
	}
	by, err = s.deps.Tokens.Later(ctx, *id)
	if _, refused := fault.Of(err); refused {
		return access.Actor{}, false, nil
	}
	return by, err == nil, err
}

// Bridge lets a bridge make its pipeline. It may run any number of times: the
// pipeline is made with the note that it was.
func (s *Service) Bridge(ctx context.Context, jobID int64) error {
	var bridge *Job
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, j, err := s.beginOf(ctx, tx, jobID)
		if err != nil || j == nil || !j.Bridge {
			return err
		}
		if j.Status == Pending {
			if err := t.move(j, Run); err != nil {
				return err
			}
			if err := t.settle(ctx); err != nil {
				return err
			}
		}
		if j.Status == Running && j.DownstreamID == nil {
			bridge = new(*j)
		}
		return nil
	})
	if fault.Is(err, fault.NotFound) || (err == nil && bridge == nil) {
		return nil
	}
	if err != nil {
		return err
	}
	why, err := s.cross(ctx, bridge)
	if err != nil || why == "" {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		_, err := s.Drop(ctx, tx, jobID, why)
		if errors.Is(err, ErrTransition) {
			return nil // it was canceled meanwhile
		}
		return err
	})
}

// cross makes the pipeline behind a running bridge, or says why there is none.
func (s *Service) cross(ctx context.Context, bridge *Job) (Reason, error) {
	parent, err := s.ByID(ctx, s.deps.DB, bridge.PipelineID)
	if err != nil {
		return "", err
	}
	spec, err := s.SpecOf(ctx, s.deps.DB, bridge)
	if err != nil {
		return "", err
	}
	by, may, err := s.actorOf(ctx, bridge.UserID)
	if err != nil {
		return "", err
	}
	if !may {
		return UserBlocked, nil
	}
	home, err := s.deps.Projects.Find(ctx, by, bridge.ProjectID)
	if fault.Is(err, fault.NotFound) {
		return InsufficientBridgeRights, nil
	}
	if err != nil {
		return "", err
	}
	if spec.Job.Trigger == nil {
		return InvalidBridgeTrigger, nil
	}
	if of := spec.Job.Follows(); of != "" {
		return s.follow(ctx, by, bridge, ciconfig.Expand(of, s.Predefined(home, parent, nil, false, by.Person)))
	}
	vars, err := s.forwarded(ctx, home, parent, spec, by)
	if err != nil {
		return "", err
	}
	w := CreateRequest{Variables: vars.given, parent: parent, bridge: bridge, within: func(ctx context.Context, tx pgx.Tx, made *Pipeline) error {
		return s.crossed(ctx, tx, bridge, spec.Job.Trigger.Strategy != "", made)
	}}
	target, why, err := s.target(ctx, by, home, parent, spec.Job.Trigger, vars.known, &w)
	if err != nil || why != "" {
		return why, err
	}
	if why, err := s.checkTree(ctx, parent, target, &w); err != nil || why != "" {
		return why, err
	}
	_, err = s.Create(ctx, by, target, w)
	switch {
	case errors.Is(err, errCrossed):
		return "", nil
	case err == errMayNot: //nolint:errorlint // it is that very value
		return InsufficientBridgeRights, nil
	}
	if _, ok := fault.Of(err); ok {
		return DownstreamFailed, nil
	}
	return "", err
}

var errCrossed = errors.New("the bridge is done")

// crossed notes the pipeline that a bridge made, in the transaction that makes
// it.
func (s *Service) crossed(ctx context.Context, tx pgx.Tx, bridge *Job, waits bool, made *Pipeline) error {
	t, j, err := s.beginOf(ctx, tx, bridge.ID)
	if err != nil {
		return err
	}
	if j == nil || j.Status != Running || j.DownstreamID != nil {
		return errCrossed
	}
	t.touch(j)
	j.DownstreamID = new(made.ID)
	if !waits {
		if err := t.move(j, Succeed); err != nil {
			return err
		}
	}
	return t.settle(ctx)
}

type passedOn struct {
	known ciconfig.Variables // to expand what the trigger names
	given []Variable         // to the new pipeline
}

// forwarded are the variables of a bridge.
func (s *Service) forwarded(ctx context.Context, p *project.Project, parent *Pipeline, spec *Spec, by access.Actor) (passedOn, error) {
	own, err := s.VariablesOf(ctx, s.deps.DB, parent.ID)
	if err != nil {
		return passedOn{}, err
	}
	protected, err := s.deps.Protection.ProtectedRef(ctx, s.deps.DB, p.ID, parent.Ref, parent.Tag)
	if err != nil {
		return passedOn{}, err
	}
	outer, _, err := s.outer(ctx, by, On{Project: p, Ref: parent.Ref, Tag: parent.Tag, Protected: protected})
	if err != nil {
		return passedOn{}, err
	}
	predefined := s.Predefined(p, parent, nil, protected, by.Person)
	all := passedOn{known: slices.Concat(predefined, spec.Variables, outer, forFile(own))}
	give := func(v Variable) {
		all.given = slices.DeleteFunc(all.given, func(o Variable) bool { return o.Key == v.Key })
		all.given = append(all.given, v)
	}
	if spec.Job.Trigger.YAML {
		expand := ciconfig.Expander(slices.Concat(predefined, spec.Variables))
		for _, v := range spec.Variables {
			value := v.Value
			if !v.Raw {
				value = expand(value)
			}
			give(Variable{Key: v.Key, Value: value, Raw: v.Raw, File: v.File})
		}
	}
	if spec.Job.Trigger.Pipelines {
		for _, v := range own {
			give(v)
		}
	}
	return all, nil
}

// target is the project that the new pipeline is in, and completes the request.
func (s *Service) target(
	ctx context.Context, by access.Actor, home *project.Project, parent *Pipeline, trigger *ciconfig.Trigger, known ciconfig.Variables, w *CreateRequest,
) (*project.Project, Reason, error) {
	if trigger.Project == "" {
		w.Source, w.Ref, w.SHA, w.Before = FromParent, parent.FullRef(), parent.SHA, parent.BeforeSHA
		w.content = trigger.Content()
		w.place = ciconfig.Place{Project: home.FullPath(), ProjectID: home.ID, SHA: parent.SHA}
		if parent.Depth >= maxDepth {
			return nil, DescendantsTooDeep, nil
		}
		return home, "", nil
	}
	p, _, err := s.deps.Projects.FindByRef(ctx, by, ciconfig.Expand(trigger.Project, known))
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, BridgeProjectNotFound, nil
	case err != nil:
		return nil, "", err
	case p.ID == home.ID:
		return nil, InvalidBridgeTrigger, nil
	}
	w.Source, w.inputs = FromPipeline, trigger.Inputs
	if w.Ref = ciconfig.Expand(trigger.Branch, known); w.Ref == "" {
		w.Ref = s.deps.Projects.BranchOf(p)
	}
	if !access.Holds(by, access.CreatePipeline, p.Target()) {
		return nil, InsufficientBridgeRights, nil
	}
	may, err := s.deps.Protection.MayUpdateRef(ctx, by, p, w.Ref, false)
	if err == nil && !may {
		return nil, InsufficientBridgeRights, nil
	}
	return p, "", err
}

// checkTree keeps pipelines from making pipelines without end.
func (s *Service) checkTree(ctx context.Context, parent *Pipeline, target *project.Project, w *CreateRequest) (Reason, error) {
	root := parent.ID
	if parent.RootID != nil {
		root = *parent.RootID
	}
	size, err := postgres.Value[int](ctx, s.deps.DB, sqlTreeSize, root)
	if err != nil {
		return "", err
	}
	if size+1 >= maxTree {
		return HierarchyTooLarge, nil
	}
	if w.Source == FromParent {
		return "", nil
	}
	met, err := postgres.Value[int](ctx, s.deps.DB, sqlUpstreams, parent.ID, target.ID, w.Ref, w.Source)
	if err == nil && met > maxMeetings {
		return LoopDetected, nil
	}
	return "", err
}

// CreateByJob makes a pipeline that a job asked for, below the pipeline of the job: a
// job that starts its own project again and again comes to an end like a bridge
// that does so.
func (s *Service) CreateByJob(ctx context.Context, by access.Actor, p *project.Project, jobID int64, w CreateRequest) (*Pipeline, error) {
	job, err := s.KnownJob(ctx, s.deps.DB, jobID)
	if err != nil {
		return nil, err
	}
	if w.parent, err = s.ByID(ctx, s.deps.DB, job.PipelineID); err != nil {
		return nil, err
	}
	w.Source = FromPipeline
	why, err := s.checkTree(ctx, w.parent, p, &w)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, refused("The pipeline would follow from itself too often: " + string(why))
	}
	return s.Create(ctx, by, p, w)
}

// Mirror lets a bridge that waits for its pipeline end as that did, and go on
// when that does.
func (s *Service) Mirror(ctx context.Context, pipelineID int64) error {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		id, err := postgres.Value[int64](ctx, tx, sqlBridgeOf, pipelineID)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		t, j, err := s.beginOf(ctx, tx, id)
		if err != nil || j == nil {
			return err
		}
		down, err := s.ByID(ctx, tx, pipelineID)
		if err != nil {
			return err
		}
		switch {
		case j.Status == Running:
			return t.endAs(ctx, j, down.Status)
		case !j.Status.Ended() || down.Status.Complete():
			return nil
		}
		spec, err := s.SpecOf(ctx, tx, j)
		if err != nil || spec.Job.Trigger == nil || spec.Job.Trigger.Strategy == "" {
			return err
		}
		if err := t.move(j, Resume); err != nil {
			return err
		}
		if err := t.reopen(j.ID); err != nil {
			return err
		}
		return t.settle(ctx)
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// endAs lets a bridge take the result of a pipeline, once there is one.
func (t *lockedPipeline) endAs(ctx context.Context, j *Job, result Status) error {
	var err error
	switch result {
	case Success:
		err = t.move(j, Succeed)
	case Canceled:
		err = t.move(j, Cancel)
	case Failed, Skipped:
		return t.drop(ctx, j, UnknownFailure)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return t.settle(ctx)
}

const (
	followEvery = 30 * time.Second // how often a bridge looks at a pipeline that is not its own
	followMost  = 24 * time.Hour
)

// follow lets a bridge without a pipeline of its own end as the latest of
// another project's default branch did. Nothing tells it of that project, so it
// looks again while that one is on its way.
func (s *Service) follow(ctx context.Context, by access.Actor, bridge *Job, of string) (Reason, error) {
	p, _, err := s.deps.Projects.FindByRef(ctx, by, of)
	switch {
	case fault.Is(err, fault.NotFound):
		return UpstreamNotFound, nil
	case err != nil:
		return "", err
	case !access.Holds(by, access.ReadPipelines, p.Target()):
		return InsufficientUpstream, nil
	}
	latest, err := found(postgres.One[Pipeline](ctx, s.deps.DB, sqlLatest, p.ID, s.deps.Projects.BranchOf(p)))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return "", err
	}
	switch {
	case latest != nil && latest.Status.Complete():
		return "", s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			t, j, err := s.beginOf(ctx, tx, bridge.ID)
			if err != nil || j == nil || j.Status != Running {
				return err
			}
			return t.endAs(ctx, j, latest.Status)
		})
	case s.deps.Clock.Now().Sub(*bridge.StartedAt) > followMost:
		return StuckOrTimeout, nil
	}
	return "", s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.deps.Queue.Insert(ctx, tx, BridgeArgs{JobID: bridge.ID}, jobqueue.Unique(), jobqueue.At(s.deps.Clock.Now().Add(followEvery)))
	})
}

// childFiles are those of a child pipeline: also what jobs of the parent left.
type childFiles struct {
	*files
	bridge *Job
}

// Artifact reads a file from the archive of a job of the parent.
func (f *childFiles) Artifact(ctx context.Context, at ciconfig.Place, job, path string) (ciconfig.File, error) {
	absent := &ciconfig.FetchError{Reason: ciconfig.FileAbsent}
	j, err := found(postgres.One[Job](ctx, f.s.deps.DB, sqlLatestNamed, f.bridge.PipelineID, job))
	if fault.Is(err, fault.NotFound) {
		return ciconfig.File{}, absent
	}
	if err != nil {
		return ciconfig.File{}, err
	}
	left, err := f.s.deps.Artifacts.Files(ctx, j.ID)
	if err != nil {
		return ciconfig.File{}, err
	}
	i := slices.IndexFunc(left, func(a artifact.File) bool { return a.Type == artifact.Archive })
	if i < 0 {
		return ciconfig.File{}, absent
	}
	body, _, err := f.s.deps.Artifacts.OpenEntry(ctx, left[i], path)
	if err != nil {
		if _, ok := fault.Of(err); ok {
			return ciconfig.File{}, absent
		}
		return ciconfig.File{}, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(io.LimitReader(body, ciconfig.MaxFile+1))
	if err != nil {
		return ciconfig.File{}, fmt.Errorf("reading a file of an archive: %w", err)
	}
	if len(text) > ciconfig.MaxFile {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.TooLarge}
	}
	return ciconfig.File{Body: text, Place: at, Location: path}, nil
}
