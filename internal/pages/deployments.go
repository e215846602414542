package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/pipeline"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Deployment is what a job published as the site of a project, or below a prefix of it.
type Deployment struct {
	ID            int64
	ProjectID     int64
	JobID         int64
	PathPrefix    string // empty for the site itself
	RootDirectory string // the folder of the job's archive
	State         DeploymentState
	Error         string // why it failed
	BlobKey       string
	Active        bool // readers are shown it
	Files         int
	Size          int64
	ExpireIn      *int64 // seconds
	ExpireAt      *time.Time
	CreatedAt     time.Time
}

// DeploymentState is how far a deployment has come.
type DeploymentState string

const (
	Wanted   DeploymentState = "wanted"
	Ready    DeploymentState = "ready"
	Failed   DeploymentState = "failed"
	Removing DeploymentState = "removing"
)

const (
	// keptEarlier is how many deployments stay beside the one that is shown, for each prefix. Those below a prefix are made for a while, not to go back to.
	keptEarlier   = 10
	keptAtPrefix  = 1
	mostPrefixes  = 100
	prefixLives   = 24 * time.Hour
	defaultRoot   = "public"
	maxPathPrefix = 63
	maxRootLength = 1024
	maxErrorText  = 1024
)

// pathPrefix is a prefix as it stands in addresses: lower-case letters, digits and hyphens. Anything else becomes a hyphen.
func pathPrefix(given string) string {
	given = hostText(given[:min(len(given), 4*maxPathPrefix)])
	return strings.Trim(given[:min(len(given), maxPathPrefix)], "-")
}

// rootDirectory is the folder that is published, or none where it is outside of the archive.
func rootDirectory(given string) string {
	clean := path.Clean(cmp.Or(given, defaultRoot))
	if clean == "." || clean == ".." || path.IsAbs(clean) || strings.HasPrefix(clean, "../") || len(clean) > maxRootLength {
		return ""
	}
	return clean
}

// OnJobFinished notes that a job published a site, in the transaction that makes it succeed. The site itself comes from the default branch alone;
// what is below a prefix may come from any.
func (s *Service) OnJobFinished(ctx context.Context, tx pgx.Tx, e pipeline.JobFinished) error {
	if !s.On() || e.Job.Bridge || e.Job.Status != pipeline.Success {
		return nil
	}
	spec, err := s.deps.Pipelines.SpecOf(ctx, tx, &e.Job)
	if err != nil || !spec.Job.Pages {
		return err
	}
	prefix := pathPrefix(spec.Job.PathPrefix)
	if prefix == "" {
		usual := cmp.Or(string(s.deps.Settings.Current().DefaultBranchName), "main")
		from, err := postgres.Value[string](ctx, tx, sqlDefaultBranch, e.Job.ProjectID, usual)
		if errors.Is(err, postgres.ErrNoRows) || err == nil && (e.Pipeline.Tag || e.Pipeline.Ref != from) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	root := cmp.Or(spec.Job.Publish, defaultRoot)
	id, err := postgres.Value[int64](ctx, tx, sqlWantDeployment, e.Job.ProjectID, e.Job.ID, prefix, strings.ToValidUTF8(root[:min(len(root), maxRootLength)], ""),
		blob.NewKey("pages"), livesFor(spec.Job.PagesExpireIn, prefix), s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil // it was noted before
	}
	if err != nil {
		return err
	}
	args := DeployArgs{DeploymentID: id}
	if e.Job.UserID != nil {
		args.UserID = *e.Job.UserID
	}
	return s.deps.Queue.Insert(ctx, tx, args, jobqueue.Unique())
}

// livesFor is how many seconds a deployment is kept. What is below a prefix goes after a day, unless its job says otherwise.
func livesFor(words, prefix string) *int64 {
	d, never, err := ciconfig.ParseDuration(words)
	switch {
	case words == "" && prefix != "":
		d = prefixLives
	case words == "" || never || err != nil:
		return nil
	}
	return new(int64(d / time.Second))
}

// refusal is why something is not published, in words for those who look at the deployment.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// Deploy publishes what a job left, for the person as whom it ran, if they may still do so. It may run any number of times.
func (s *Service) Deploy(ctx context.Context, id, userID int64) error {
	d, err := postgres.One[Deployment](ctx, s.deps.DB, sqlDeployment, id)
	if errors.Is(err, postgres.ErrNoRows) || err == nil && d.State != Wanted {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.deploy(ctx, &d, userID)
	if why, ok := errors.AsType[refusal](err); ok {
		text := strings.ToValidUTF8(string(why[:min(len(why), maxErrorText)]), "?") // a name may be cut in the middle of a letter
		_, err = s.deps.DB.Exec(ctx, sqlFailDeployment, id, text, s.deps.Clock.Now())
	}
	return err
}

func (s *Service) deploy(ctx context.Context, d *Deployment, userID int64) error {
	if err := s.mayDeploy(ctx, d.ProjectID, userID); err != nil {
		return err
	}
	files, err := s.store(ctx, d)
	if err != nil {
		return err
	}
	var size int64
	for i := range files {
		size += files[i].Size
	}
	return s.publish(ctx, d, len(files), size)
}

// mayDeploy asks for the rights of whoever the job ran as, as they are now.
func (s *Service) mayDeploy(ctx context.Context, projectID, userID int64) error {
	by, err := s.deps.Tokens.Later(ctx, userID)
	var p *project.Project
	if err == nil {
		p, err = s.deps.Projects.Find(ctx, by, projectID)
	}
	if _, told := fault.Of(err); told || err == nil && !access.Holds(by, access.CreatePipeline, p.Target()) {
		return refuse("the person as whom the job ran may no longer run jobs in this project; have somebody run it who may")
	}
	return err
}

// publish switches readers over to a deployment whose bytes are there, and lets those go that are too many. One that a later job has overtaken is kept
// without being shown.
func (s *Service) publish(ctx context.Context, d *Deployment, files int, size int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockSite, d.ProjectID); err != nil {
			return err
		}
		if d.PathPrefix != "" {
			have, err := postgres.Value[int](ctx, tx, sqlCountPrefixes, d.ProjectID, d.PathPrefix, mostPrefixes)
			if err != nil {
				return err
			}
			if have >= mostPrefixes {
				return refuse("the site has %d prefixes, which is all that it may have; delete one, or let them expire sooner with pages:expire_in", mostPrefixes)
			}
		}
		overtaken, err := postgres.Value[bool](ctx, tx, sqlOvertaken, d.ProjectID, d.PathPrefix, d.JobID)
		if err != nil {
			return err
		}
		if !overtaken {
			if _, err := tx.Exec(ctx, sqlHideActive, d.ProjectID, d.PathPrefix, s.deps.Clock.Now()); err != nil {
				return err
			}
		}
		now := s.deps.Clock.Now()
		var until *time.Time
		if d.ExpireIn != nil {
			until = new(now.Add(time.Duration(*d.ExpireIn) * time.Second))
		}
		if _, err := tx.Exec(ctx, sqlDeployed, d.ID, !overtaken, files, size, until, now); err != nil {
			return err
		}
		kept := keptEarlier
		if d.PathPrefix != "" {
			kept = keptAtPrefix
		}
		_, err = tx.Exec(ctx, sqlDropEarlier, d.ProjectID, d.PathPrefix, kept, now)
		return err
	})
}

var errNoDeployment = fault.NotFoundf("Deployment")

// mostDeployments is how many a list shows: more than any project has.
const mostDeployments = 2 * (keptEarlier + 1 + mostPrefixes*(keptAtPrefix+1))

// Deployments are those of a project that are there, the newest first, with those that failed.
func (s *Service) Deployments(ctx context.Context, p *project.Project) ([]Deployment, error) {
	if err := s.onIn(p); err != nil {
		return nil, err
	}
	return postgres.All[Deployment](ctx, s.deps.DB, sqlDeployments, p.ID, s.deps.Clock.Now(), mostDeployments)
}

// Active are the deployments of a project that readers are shown, by their prefixes.
func (s *Service) Active(ctx context.Context, p *project.Project) ([]Deployment, error) {
	if err := s.onIn(p); err != nil {
		return nil, err
	}
	return postgres.All[Deployment](ctx, s.deps.DB, sqlActive, p.ID, s.deps.Clock.Now(), mostPrefixes+1)
}

// DeploymentURL is where people find a deployment of a site.
func DeploymentURL(site string, d *Deployment) string {
	if d.PathPrefix == "" {
		return site
	}
	return site + "/" + d.PathPrefix
}

// Activate shows readers an earlier deployment again, or a later one.
func (s *Service) Activate(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Deployment, error) {
	return s.changeDeployment(ctx, by, p, id, DeploymentActivated, func(tx pgx.Tx, d *Deployment) error {
		if d.State != Ready {
			return fault.WithReason(fault.Rejected, "the deployment is not ready to be shown")
		}
		if d.Active {
			return nil
		}
		if _, err := tx.Exec(ctx, sqlHideActive, d.ProjectID, d.PathPrefix, s.deps.Clock.Now()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlActivate, d.ID, s.deps.Clock.Now())
		return err
	})
}

// DeleteDeployment removes a deployment. The one that is shown is shown no more, and no other takes its place.
func (s *Service) DeleteDeployment(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Deployment, error) {
	return s.changeDeployment(ctx, by, p, id, DeploymentDeleted, func(tx pgx.Tx, d *Deployment) error {
		_, err := tx.Exec(ctx, sqlDropDeployment, d.ID, s.deps.Clock.Now())
		return err
	})
}

func (s *Service) changeDeployment(
	ctx context.Context, by access.Actor, p *project.Project, id int64, what Action, change func(pgx.Tx, *Deployment) error,
) (*Deployment, error) {
	if err := s.onIn(p); err != nil {
		return nil, err
	}
	var d Deployment
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlLockSite, p.ID); err != nil {
			return err
		}
		d, err = postgres.One[Deployment](ctx, tx, sqlDeploymentOf, p.ID, id, s.deps.Clock.Now())
		if errors.Is(err, postgres.ErrNoRows) {
			return errNoDeployment
		}
		if err != nil {
			return err
		}
		if err := change(tx, &d); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: what, By: by, In: p.Entity(), Deployment: &d})
	})
	return &d, err
}

// Unpublish removes all that a project published. Its settings and domains stay.
func (s *Service) Unpublish(ctx context.Context, by access.Actor, p *project.Project) error {
	if err := s.on(); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlLockSite, p.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDropSite, p.ID, s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: SiteRemoved, By: by, In: p.Entity()})
	})
}
