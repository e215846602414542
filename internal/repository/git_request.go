package repository

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// GitRequest is one request of a git client.
type GitRequest struct {
	Service   gitstore.Service
	Via       Via
	Protocol  string // what the client said of versions
	Stateless bool   // one request, one answer
	Advertise bool   // only say what there is
	In        io.Reader
	Out       io.Writer
	Notices   []string // shown to the person who waits
}

// What a client is told that may not do what it came for.
const (
	NotAllowedToPush  = "You are not allowed to push code to this project."
	notAllowedToFetch = "You are not allowed to download code from this project."
	noUpload          = "You are not allowed to upload code."
	noDownload        = "You are not allowed to download code."
)

// CheckAccess says whether an actor may use a service of git on a project that they
// see. Every door asks it, and Serve asks it again before a process starts.
func CheckAccess(by access.Actor, p *project.Project, service gitstore.Service) error {
	push := service == gitstore.ReceivePack
	if err := CheckCredential(by, service); err != nil {
		return err
	}
	switch {
	case push && !MayPush(by, p):
		return fault.WithMessage(fault.Forbidden, NotAllowedToPush)
	case !push && !p.MayReadCode(by):
		return fault.WithMessage(fault.Forbidden, notAllowedToFetch)
	}
	return nil
}

// CheckCredential says whether what proved an actor's identity is good for a service of git.
func CheckCredential(by access.Actor, service gitstore.Service) error {
	push := service == gitstore.ReceivePack
	switch {
	case !push && service != gitstore.UploadPack && service != gitstore.UploadArchive:
		return fault.WithMessage(fault.Forbidden, "The command you're trying to execute is not allowed.")
	case !access.MayGit(by.Credential, push) && push:
		return fault.WithMessage(fault.Forbidden, noUpload)
	case !access.MayGit(by.Credential, push):
		return fault.WithMessage(fault.Forbidden, noDownload)
	}
	return nil
}

// Serve serves a git client. An error that comes before the first byte of
// the answer may be a fault that the door shows in its own way.
func (s *Service) Serve(ctx context.Context, by access.Actor, p *project.Project, x GitRequest) error {
	if err := CheckAccess(by, p, x.Service); err != nil {
		return err
	}
	if x.Service == gitstore.ReceivePack {
		return s.receive(ctx, by, p, x)
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	return s.send(ctx, repo, x, mayFetchPipelines(by, p))
}

// send serves a client that fetches.
func (s *Service) send(ctx context.Context, repo *gitstore.Repo, x GitRequest, pipelines bool) error {
	if x.Service == gitstore.UploadArchive {
		return shown(repo.SendArchive(ctx, x.In, x.Out))
	}
	return shown(repo.Fetch(ctx, gitstore.Fetch{
		Protocol: x.Protocol, Stateless: x.Stateless, Advertise: x.Advertise, In: x.In, Out: x.Out, Notices: x.Notices, Pipelines: pipelines,
	}))
}

// mayFetchPipelines reports whether an actor may fetch the commits that
// pipelines run on: who sees pipelines, and jobs of the project itself.
func mayFetchPipelines(by access.Actor, p *project.Project) bool {
	own := by.Credential.Kind == access.JobToken && by.Credential.ProjectID == p.ID
	return own || access.Holds(by, access.ReadPipelines, p.Target())
}

func (s *Service) receive(ctx context.Context, by access.Actor, p *project.Project, x GitRequest) error {
	a, err := s.BeginPush(ctx, by, p, x.Via)
	if err != nil {
		return err
	}
	defer a.Close()
	return s.take(ctx, a, s.maxInput(), x)
}

// maxInput is how many bytes a push may have as the instance is set, 0 where it is not.
func (s *Service) maxInput() int64 {
	if mb := s.deps.Settings.Current().ReceiveMaxInputSize; mb != nil {
		return int64(*mb) << 20
	}
	return 0
}

// take serves a client that pushes, a pack of maxSize bytes at the most; 0 is the store's limit.
func (s *Service) take(ctx context.Context, a *PushSession, maxSize int64, x GitRequest) error {
	return shown(a.Repo.Push(ctx, gitstore.Push{
		Stateless: x.Stateless, Advertise: x.Advertise, In: x.In, Out: x.Out, MaxSize: maxSize,
		Approve: func(ctx context.Context, q gitstore.Quarantine, updates []gitstore.RefUpdate, options []string) error {
			err := a.Approve(ctx, q, updates, keepOptions(options))
			if refused, ok := errors.AsType[*gitstore.RefusedError](err); ok {
				return &gitstore.RefusedError{Text: s.deps.Names.Text() + ": " + refused.Text}
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, gitstore.ErrNoRepo) {
				s.deps.Log.Error("checking a push", "repository", a.Repo.Key().Path, "error", err) // git only says that it failed
			}
			return err
		},
		Settle: func(ctx context.Context, moved []gitstore.RefUpdate, known bool) ([]string, error) {
			if !known {
				return x.Notices, a.SettleFromRefs(ctx)
			}
			return x.Notices, a.Settle(ctx, moved)
		},
	}))
}

// shown turns what the engine says into faults where a client should hear it.
func shown(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gitstore.ErrNoRepo):
		return errors.Join(errFailed, err)
	case errors.Is(err, gitstore.ErrUnavailable), errors.Is(err, gitstore.ErrTimeout):
		return errors.Join(fault.WithMessage(fault.Unavailable, "The repository cannot be reached. Please try again later."), err)
	case errors.Is(err, gitstore.ErrInvalid):
		return errors.Join(fault.WithMessage(fault.BadParams, "The request makes no sense."), err)
	case errors.Is(err, gitstore.ErrTooLarge):
		return errors.Join(fault.WithMessage(fault.TooLarge, "The request is too large."), err)
	}
	return err
}

// optionKeys are the push options that mean something. All others are dropped,
// so that what a client says cannot pass for what we say.
var optionKeys = []string{
	"ci.skip", "ci.variable", "merge_request.create", "merge_request.target", "merge_request.title", "merge_request.description",
	"merge_request.draft", "merge_request.label", "merge_request.unlabel", "merge_request.assign", "merge_request.unassign",
	"merge_request.milestone", "merge_request.remove_source_branch", "merge_request.merge_when_pipeline_succeeds",
}

func keepOptions(options []string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(option string) bool {
		key, _, _ := strings.Cut(option, "=")
		return !slices.Contains(optionKeys, key) || len(option) > 1000 ||
			strings.ContainsFunc(option, func(c rune) bool { return c < 0x20 || c == 0x7f || c == '\uFFFD' })
	})
}

// Created tells someone whose push made a project that it did, and how to go
// on.
func Created(p *project.Project, address, page string) []string {
	return []string{
		"", "The private project " + p.FullPath() + " was successfully created.", "", "To configure the remote, run:",
		"  git remote add origin " + address, "", "To view the project, visit:", "  " + page, "",
	}
}

// Moved tells someone who used a former path of a project of the present one.
func Moved(from string, p *project.Project, address string) []string {
	return []string{
		"Project '" + from + "' was moved to '" + p.FullPath() + "'.", "", "Please update your Git remote:", "",
		"  git remote set-url origin " + address, "",
	}
}
