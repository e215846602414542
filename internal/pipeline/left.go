package pipeline

import (
	"context"
	"slices"
	"strconv"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// MayReadLog refuses the logs of jobs that print all that they do to those
// below developers. Whoever asks may see the job.
func (s *Service) MayReadLog(ctx context.Context, by access.Actor, p *project.Project, j *Job) error {
	if p.Role >= access.Developer || by.Admin() {
		return nil
	}
	debug, err := s.debugs(ctx, j)
	if err == nil && debug {
		err = fault.New(fault.Forbidden)
	}
	return err
}

// debugs reports whether a job prints all that it does, secrets included.
func (s *Service) debugs(ctx context.Context, j *Job) (bool, error) {
	spec, err := s.SpecOf(ctx, s.DB, j)
	if err != nil {
		return false, err
	}
	vars := spec.Variables
	own, err := s.VariablesOf(ctx, s.DB, j.PipelineID)
	if err != nil {
		return false, err
	}
	played, err := s.JobVariables(ctx, s.DB, j.ID)
	if err != nil {
		return false, err
	}
	outer, err := s.outer(ctx, s.DB, j.ProjectID, true, deref(j.Environment))
	if err != nil {
		return false, err
	}
	vars = append(append(append(vars, outer...), forFile(own)...), forFile(played)...)
	for i := len(vars) - 1; i >= 0; i-- {
		if vars[i].Key == "CI_DEBUG_TRACE" || vars[i].Key == "CI_DEBUG_SERVICES" {
			if on, err := strconv.ParseBool(vars[i].Value); err == nil && on {
				return true, nil
			}
		}
	}
	return false, nil
}

// Archive is the archive that a job left, if the reader may have it.
func (s *Service) Archive(ctx context.Context, to access.Actor, p *project.Project, j *Job) (artifact.File, error) {
	left, err := s.Artifacts.Files(ctx, j.ID)
	if err != nil {
		return artifact.File{}, err
	}
	i := slices.IndexFunc(left, func(f artifact.File) bool { return f.Type == artifact.Archive })
	if i < 0 || j.ErasedAt != nil {
		return artifact.File{}, fault.New(fault.NotFound)
	}
	if !left[i].Public && p.Role < access.Developer && !to.Admin() && !to.Auditor() {
		return artifact.File{}, fault.New(fault.Forbidden)
	}
	return left[i], nil
}
