package pipeline

import (
	"context"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

func (s *Service) artifactEndpoints() []httpapi.Endpoint {
	read := func(below, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: "GET /projects/{id}/jobs/" + below, Needs: access.DownloadArtifacts, JobToken: true, Summary: summary,
			ExtraRefusals: "those below developers, of files that a job keeps to the project",
		}
	}
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, read("{job_id:digits}/artifacts", "Get the archive that a job left."), s.handleArchive),
		project.On(s.deps.Projects, read("{job_id:digits}/artifacts/{artifact_path:rest}", "Get one file of the archive that a job left."), s.handleEntry),
		project.On(s.deps.Projects, read("artifacts/{ref_name}/download", "Get the archive of the latest successful pipeline of a ref."), s.handleRefArchive),
		project.On(s.deps.Projects, read("artifacts/{ref_name}/raw/{artifact_path:rest}", "Get one file of the archive of the latest successful pipeline of a ref."), s.handleRefEntry),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/jobs/{job_id:digits}/artifacts/keep", Needs: access.UpdateJobs, Summary: "Keep what a job left for ever.",
			ExtraRefusals: "what protects branches",
		}, s.handleKeep),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "DELETE /projects/{id}/jobs/{job_id:digits}/artifacts", Needs: access.DeleteArtifacts, Status: http.StatusNoContent,
			Summary: "Delete what a job left.",
		}, s.handleRemoveFiles),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "DELETE /projects/{id}/artifacts", Needs: access.DeleteArtifacts, Status: http.StatusAccepted,
			Summary: "Delete what the jobs of a project left.",
		}, s.handleRemoveAllFiles),
	}
}

func (s *Service) sendArchive(ctx context.Context, to access.Actor, p *project.Project, j *Job) (httpapi.Stream, error) {
	f, err := s.Archive(ctx, to, p, j)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return httpapi.Stream{
		Name: f.Filename, Type: "application/zip", Attach: true, Size: f.Size,
		Open: func(ctx context.Context) (io.ReadCloser, error) { return s.deps.Artifacts.Open(ctx, f) },
	}, nil
}

func (s *Service) sendEntry(ctx context.Context, to access.Actor, p *project.Project, j *Job, name string) (httpapi.Stream, error) {
	f, err := s.Archive(ctx, to, p, j)
	if err != nil {
		return httpapi.Stream{}, err
	}
	if name == "" || strings.ContainsRune(name, 0) || path.Clean("/"+name) != "/"+name {
		return httpapi.Stream{}, fault.New(fault.Rejected)
	}
	body, entry, err := s.deps.Artifacts.OpenEntry(ctx, f, name)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return httpapi.Stream{
		Name: path.Base(name), Type: entry.ContentType, Attach: true, Size: entry.Size,
		Open: func(context.Context) (io.ReadCloser, error) { return body, nil },
	}, nil
}

func (s *Service) handleArchive(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (httpapi.Stream, error) {
	j, err := s.build(ctx, call.Subject.ID, call.Params.JobID)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return s.sendArchive(ctx, call.Actor, call.Subject, j)
}

type entryParams struct {
	jobRef
	Path string `param:"artifact_path" doc:"Path of the file in the archive"`
}

func (s *Service) handleEntry(ctx context.Context, call httpapi.Call[*project.Project, entryParams]) (httpapi.Stream, error) {
	j, err := s.build(ctx, call.Subject.ID, call.Params.JobID)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return s.sendEntry(ctx, call.Actor, call.Subject, j, call.Params.Path)
}

type refArchiveParams struct {
	project.Ref
	RefName string `param:"ref_name" doc:"Branch or tag"`
	Job     string `param:"job" required:"true" doc:"Name of the job"`
}

// latestBuild is the job of a name in the latest successful pipeline of a ref,
// or in one of its children.
func (s *Service) latestBuild(ctx context.Context, p *project.Project, ref, name string) (*Job, error) {
	pl, err := found(postgres.One[Pipeline](ctx, s.deps.DB, sqlLatestSuccessful, p.ID, gitstore.ShortRef(ref)))
	if err != nil {
		return nil, err
	}
	return found(postgres.One[Job](ctx, s.deps.DB, sqlNamedIn, pl.ID, name))
}

func (s *Service) handleRefArchive(ctx context.Context, call httpapi.Call[*project.Project, refArchiveParams]) (httpapi.Stream, error) {
	j, err := s.latestBuild(ctx, call.Subject, call.Params.RefName, call.Params.Job)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return s.sendArchive(ctx, call.Actor, call.Subject, j)
}

type refEntryParams struct {
	refArchiveParams
	Path string `param:"artifact_path" doc:"Path of the file in the archive"`
}

func (s *Service) handleRefEntry(ctx context.Context, call httpapi.Call[*project.Project, refEntryParams]) (httpapi.Stream, error) {
	j, err := s.latestBuild(ctx, call.Subject, call.Params.RefName, call.Params.Job)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return s.sendEntry(ctx, call.Actor, call.Subject, j, call.Params.Path)
}

func (s *Service) handleKeep(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (JobForm, error) {
	j, err := s.build(ctx, call.Subject.ID, call.Params.JobID)
	if err != nil {
		return JobForm{}, err
	}
	pl, err := s.ByID(ctx, s.deps.DB, j.PipelineID)
	if err != nil {
		return JobForm{}, err
	}
	if err := s.mayUpdate(ctx, call.Actor, call.Subject, pl); err != nil {
		return JobForm{}, err
	}
	if _, err := s.archive(ctx, j); err != nil {
		return JobForm{}, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.deps.Artifacts.Keep(ctx, tx, j.ID) })
	return s.presentJob(ctx, call.Actor, call.Subject, j, err)
}

func (s *Service) handleRemoveFiles(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (httpapi.NoContent, error) {
	j, err := s.build(ctx, call.Subject.ID, call.Params.JobID)
	if err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.deps.Artifacts.RemoveFiles(ctx, tx, j.ID) })
}

func (s *Service) handleRemoveAllFiles(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (httpapi.Accepted, error) {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.deps.Queue.Insert(ctx, tx, ClearArgs{ProjectID: call.Subject.ID}, jobqueue.Unique())
	})
	return httpapi.WorkAccepted(), err
}
