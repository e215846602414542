package pipeline

import (
	"context"
	"embed"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"stithy/internal/ciconfig"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/outbound"
	"stithy/internal/project"
)

const (
	fetchAll    = 30 * time.Second // for all that a configuration includes
	fetchOne    = 10 * time.Second // of one remote file
	maxTreeSize = 100_000          // paths of a tree that globs are tried on
)

// files is where the files of a configuration come from, with the rights of
// whoever asks and no others.
type files struct {
	s  *Service
	by access.Actor
	// remote is whether addresses are called at all: for strangers they are not.
	remote bool
	seat   *seat // nil where nothing is read yet
}

// seat is the right to read a configuration: what it means costs a core as long
// as it takes to find out. Seats are shared among persons and addresses.
type seat struct {
	s   *Service
	end func()
}

var errNoSeat = fault.WithMessage(fault.Unavailable, "Too many CI/CD configurations are being read at the moment. Please try again later.")

func (s *Service) takeSeat(ctx context.Context) (*seat, error) {
	t := &seat{s: s}
	return t, t.take(ctx)
}

func (t *seat) take(ctx context.Context) (err error) {
	ctx, stop := context.WithTimeoutCause(ctx, t.s.patience, errNoSeat)
	defer stop()
	t.end, err = t.s.seats.Take(ctx, "")
	if err != nil {
		t.end = func() {}
	}
	return err
}

// aside lets others have the seat while something is waited for.
func (t *seat) aside(ctx context.Context, wait func()) error {
	if t == nil {
		wait()
		return nil
	}
	t.end()
	wait()
	return t.take(ctx)
}

func (s *Service) filesFor(by access.Actor) *files {
	return &files{s: s, by: by, remote: by.SignedIn()}
}

// repo is the repository of a place, if the actor may read its code now.
func (f *files) repo(ctx context.Context, projectID int64) (*project.Project, *gitstore.Repo, error) {
	p, err := f.s.deps.Projects.Find(ctx, f.by, projectID)
	if err != nil {
		return nil, nil, hiddenProject(err)
	}
	return f.open(ctx, p)
}

func (f *files) open(ctx context.Context, p *project.Project) (*project.Project, *gitstore.Repo, error) {
	if !p.MayReadCode(f.by) {
		return nil, nil, &ciconfig.FetchError{Reason: ciconfig.ProjectHidden}
	}
	repo, err := f.s.deps.Repositories.Open(ctx, p)
	return p, repo, hiddenProject(err)
}

func hiddenProject(err error) error {
	if fault.Is(err, fault.NotFound) {
		return &ciconfig.FetchError{Reason: ciconfig.ProjectHidden}
	}
	return err
}

// read reads a file of a commit.
func (f *files) read(ctx context.Context, p *project.Project, repo *gitstore.Repo, sha gitstore.OID, path string) (ciconfig.File, error) {
	path = strings.TrimPrefix(path, "/")
	if sha == "" || gitstore.CheckPath(path) != nil { // nothing is in a repository without a commit
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.FileAbsent}
	}
	e, err := repo.Find(ctx, sha, path)
	if errors.Is(err, gitstore.ErrNotFound) || (err == nil && e.Mode.Kind() != gitstore.BlobKind) {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.FileAbsent}
	}
	if err != nil {
		return ciconfig.File{}, err
	}
	body, err := repo.Blob(ctx, e.ID, ciconfig.MaxFile)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.TooLarge}
	}
	return ciconfig.File{
		Body: body, Place: ciconfig.Place{Project: p.FullPath(), ProjectID: p.ID, SHA: string(sha)}, Location: path,
		Blob: f.s.page(p, "blob/"+string(sha)+"/"+path), Raw: f.s.page(p, "raw/"+string(sha)+"/"+path),
	}, err
}

func (f *files) Local(ctx context.Context, at ciconfig.Place, path string) (ciconfig.File, error) {
	p, repo, err := f.repo(ctx, at.ProjectID)
	if err != nil {
		return ciconfig.File{}, err
	}
	return f.read(ctx, p, repo, gitstore.OID(at.SHA), path)
}

func (f *files) Glob(ctx context.Context, at ciconfig.Place, pattern string) ([]string, error) {
	glob, err := ciconfig.ParseGlob(strings.TrimPrefix(pattern, "/"))
	if err != nil {
		return nil, nil //nolint:nilerr // what is no pattern fits nothing
	}
	_, repo, err := f.repo(ctx, at.ProjectID)
	if err != nil {
		return nil, err
	}
	all, err := tree(ctx, repo, gitstore.OID(at.SHA))
	var paths []string
	for _, path := range all {
		if glob.Match(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// tree lists the files of a commit, by path.
func tree(ctx context.Context, repo *gitstore.Repo, sha gitstore.OID) ([]string, error) {
	if sha == "" {
		return nil, nil
	}
	entries, _, err := repo.Walk(ctx, sha, "", "", maxTreeSize)
	var paths []string
	for _, e := range entries {
		if e.Mode.Kind() != gitstore.TreeKind {
			paths = append(paths, e.Path)
		}
	}
	return paths, err
}

func (f *files) Project(ctx context.Context, _ ciconfig.Place, path, ref, file string) (ciconfig.File, error) {
	p, repo, sha, err := f.at(ctx, path, ref)
	if err != nil {
		return ciconfig.File{}, err
	}
	return f.read(ctx, p, repo, sha, file)
}

// at is a ref of another project.
func (f *files) at(ctx context.Context, path, ref string) (*project.Project, *gitstore.Repo, gitstore.OID, error) {
	p, _, err := f.s.deps.Projects.FindByRef(ctx, f.by, strings.Trim(path, "/"))
	if err != nil {
		return nil, nil, "", hiddenProject(err)
	}
	p, repo, err := f.open(ctx, p)
	if err != nil {
		return nil, nil, "", err
	}
	if ref == "" {
		ref = f.s.deps.Projects.BranchOf(p)
	}
	sha, err := f.s.deps.Repositories.Revision(ctx, repo, p, ref)
	if fault.Is(err, fault.NotFound) || errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid) {
		err = &ciconfig.FetchError{Reason: ciconfig.RefAbsent}
	}
	return p, repo, sha, err
}

func (f *files) Remote(ctx context.Context, address string) (ciconfig.File, error) {
	if !f.remote || f.s.deps.Outbound == nil {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.BadAddress}
	}
	var status int
	var body []byte
	var err error
	if late := f.seat.aside(ctx, func() { status, body, err = f.s.deps.Outbound.Get(ctx, address, fetchOne, ciconfig.MaxFile) }); late != nil && err == nil {
		return ciconfig.File{}, late
	}
	var blocked *outbound.BlockedError
	var network net.Error
	switch {
	case errors.As(err, &blocked):
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.BadAddress}
	case errors.Is(err, outbound.ErrTooLarge):
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.TooLarge}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.TimedOut}
	case err != nil:
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.Unreachable}
	case status != 200:
		return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.BadStatus, Status: status}
	}
	return ciconfig.File{Body: body, Location: address, Raw: address}, nil
}

// shipped are configurations to begin with.
//
//go:embed templates
var shipped embed.FS

// Template reads one that comes with the program. Clients write its name with
// the ending of a configuration file, in the service's spelling or the usual.
func (f *files) Template(_ context.Context, name string) (ciconfig.File, error) {
	for _, ending := range []string{f.s.deps.Names.CIFile(), ".gitlab-ci.yml"} {
		short, ok := strings.CutSuffix(name, ending)
		if !ok {
			continue
		}
		if body, err := shipped.ReadFile("templates/" + short + ".yml"); err == nil {
			return ciconfig.File{Body: body, Location: name}, nil
		}
	}
	return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.FileAbsent}
}

func (f *files) Component(ctx context.Context, _ ciconfig.Place, address string) (ciconfig.File, error) {
	absent := &ciconfig.FetchError{Reason: ciconfig.FileAbsent}
	path, version, ok := strings.Cut(address, "@")
	host, rest, slash := strings.Cut(path, "/")
	cut := strings.LastIndexByte(rest, '/')
	_, home, _ := strings.Cut(f.s.deps.ExternalURL, "://")
	if !ok || !slash || cut < 0 || (host != home && host != strings.Split(home, ":")[0]) {
		return ciconfig.File{}, absent
	}
	if version == "~latest" {
		version = "" // there are no releases to choose from: the default branch
	}
	p, repo, sha, err := f.at(ctx, rest[:cut], version)
	if err != nil {
		return ciconfig.File{}, err
	}
	name := rest[cut+1:]
	file, err := f.read(ctx, p, repo, sha, "templates/"+name+".yml")
	var missing *ciconfig.FetchError
	if errors.As(err, &missing) && missing.Reason == ciconfig.FileAbsent {
		file, err = f.read(ctx, p, repo, sha, "templates/"+name+"/template.yml")
	}
	return file, err
}

// Artifact is answered for child pipelines alone; see childFiles.
func (f *files) Artifact(context.Context, ciconfig.Place, string, string) (ciconfig.File, error) {
	return ciconfig.File{}, &ciconfig.FetchError{Reason: ciconfig.FileAbsent}
}

// page is the address of a page of a project.
func (s *Service) page(p *project.Project, below string) string {
	return s.deps.ExternalURL + "/" + p.FullPath() + "/-/" + below
}
