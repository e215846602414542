package pipeline

import (
	"context"
	"slices"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// What is something that jobs leave or are given.
type What int

const (
	Files What = iota
	Logs
	Variables
)

// readers says which ability it takes to read what, by whom it is for.
var readers = map[What]map[artifact.Audience]access.Ability{
	Files: {
		artifact.Everyone: access.DownloadArtifacts, artifact.Developers: access.DownloadPrivateFiles,
		artifact.Maintainers: access.DownloadGuardedFiles,
	},
	Logs:      {artifact.Everyone: access.ReadJobs, artifact.Developers: access.ReadDebugLogs},
	Variables: {artifact.Developers: access.ReadPipelineVariables, artifact.Maintainers: access.ReadAllPipelineVariables},
}

// MayRead decides who reads what jobs leave and are given, on every way to it:
// nobody whom the table does not name.
func MayRead(by access.Actor, p *project.Project, what What, to artifact.Audience) bool {
	can, named := readers[what][to]
	return named && access.Holds(by, can, p.Target())
}

// MayReadLog refuses the logs of jobs that print all that they do to those
// below developers. Whoever asks may see the job.
func (s *Service) MayReadLog(ctx context.Context, by access.Actor, p *project.Project, j *Job) error {
	if MayRead(by, p, Logs, artifact.Developers) {
		return nil
	}
	debug, err := s.debugLog(ctx, j)
	if err == nil && debug {
		err = fault.New(fault.Forbidden)
	}
	return err
}

// DebugLog reports whether a job with these variables, expanded, prints all that
// it does, secrets included. What is not plainly a no counts as a yes.
func DebugLog(vars ciconfig.Variables) bool {
	expand := ciconfig.Expander(vars)
	for _, key := range []string{"CI_DEBUG_TRACE", "CI_DEBUG_SERVICES"} {
		v, ok := vars.Lookup(key)
		if ok && !slices.Contains([]string{"", "0", "f", "false", "n", "no", "off"}, strings.ToLower(strings.TrimSpace(expand(v.Value)))) {
			return true
		}
	}
	return false
}

// MarkDebugLog notes that the log of a job holds secrets, for good.
func (s *Service) MarkDebugLog(ctx context.Context, jobID int64) error {
	_, err := s.deps.DB.Exec(ctx, sqlMarkDebugLog, jobID)
	return err
}

// debugLog reports whether the log of a job holds secrets. Of jobs that were
// handed out before that was noted, their variables say it as they are now.
func (s *Service) debugLog(ctx context.Context, j *Job) (bool, error) {
	if j.DebugLog != nil {
		return *j.DebugLog, nil
	}
	spec, err := s.SpecOf(ctx, s.deps.DB, j)
	if err != nil {
		return false, err
	}
	given, played, err := s.Given(ctx, s.deps.DB, j.PipelineID, j.ID)
	if err != nil {
		return false, err
	}
	stored, err := s.stored(ctx, On{Project: &project.Project{ID: j.ProjectID}, Protected: true, Environment: deref(j.Environment)})
	if err != nil {
		return false, err
	}
	return DebugLog(slices.Concat(spec.Variables, forConfig(stored), forFile(given), forFile(played))), nil
}

// Archive is the archive that a job left, if the reader may have it.
func (s *Service) Archive(ctx context.Context, to access.Actor, p *project.Project, j *Job) (artifact.File, error) {
	f, err := s.archive(ctx, j)
	if err == nil && !MayRead(to, p, Files, f.Access) {
		err = fault.New(fault.Forbidden)
	}
	return f, err
}

func (s *Service) archive(ctx context.Context, j *Job) (artifact.File, error) {
	left, err := s.deps.Artifacts.Files(ctx, j.ID)
	if err != nil {
		return artifact.File{}, err
	}
	i := slices.IndexFunc(left, func(f artifact.File) bool { return f.Type == artifact.Archive })
	if i < 0 || j.ErasedAt != nil {
		return artifact.File{}, fault.New(fault.NotFound)
	}
	return left[i], nil
}

// Left are the files that a job left and the reader may have.
func (s *Service) Left(ctx context.Context, to access.Actor, p *project.Project, jobIDs ...int64) ([]artifact.File, error) {
	left, err := s.deps.Artifacts.Files(ctx, jobIDs...)
	return slices.DeleteFunc(left, func(f artifact.File) bool { return !MayRead(to, p, Files, f.Access) }), err
}

// HandedTo are the files of a job that another one may have while it runs, for
// the person by. Whatever a job leaves is there for the later jobs of its own
// pipeline and of the children of that. To all others it is as it is to people.
func (s *Service) HandedTo(ctx context.Context, by access.Actor, pipelineID int64, p *project.Project, j *Job) ([]artifact.File, error) {
	if j.ErasedAt != nil {
		return nil, nil
	}
	own, err := postgres.Value[bool](ctx, s.deps.DB, sqlFollows, pipelineID, j.PipelineID, p.ID)
	if err != nil {
		return nil, err
	}
	if own {
		return s.deps.Artifacts.Files(ctx, j.ID)
	}
	return s.Left(ctx, by, p, j.ID)
}
