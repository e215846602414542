package repository

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
)

// Revision finds the commit that a person means; "" is the tip of the default
// branch. Whatever is shown, compared or packed afterwards goes by that id.
func (s *Service) Revision(ctx context.Context, repo *gitstore.Repo, p *project.Project, text string) (gitstore.OID, error) {
	if text != "" {
		return repo.Resolve(ctx, text)
	}
	tip, err := repo.Ref(ctx, gitstore.Branches+s.deps.Projects.BranchOf(p))
	return tip.Target, err
}

// TreeQuery says which entries of a commit are wanted.
type TreeQuery struct {
	Revision  string
	Path      string
	Recursive bool
	All       bool   // no pages
	After     string // the token of the page before
}

// maxEntries is how many entries are listed in one go.
const maxEntries = 100_000

var errNoPath = fault.NotFoundf("invalid revision or path")

// Tree lists a directory: directories first, then files, then submodules,
// each by name. A listing of everything below is cut into pages in the order
// of git, which needs no more than the page, and each page is grouped.
func (s *Service) Tree(ctx context.Context, p *project.Project, q TreeQuery, req paging.Request) (paging.Result[gitstore.Entry], error) {
	var none paging.Result[gitstore.Entry]
	repo, err := s.Open(ctx, p)
	if err != nil {
		return none, err
	}
	commit, err := s.Revision(ctx, repo, p, q.Revision)
	if err != nil {
		return none, found(err, "Tree")
	}
	path := strings.Trim(q.Path, "/")
	if path != "" && gitstore.CheckPath(path) != nil {
		return none, errNoPath
	}
	if q.Recursive {
		return walk(ctx, repo, commit, path, q, req)
	}
	entries, err := repo.Tree(ctx, commit, path)
	if err != nil {
		return none, found(err, "invalid revision or path")
	}
	entries = slices.Clone(entries) // the store keeps its own
	grouped(entries)
	if req.Keyset {
		return turn(entries, q.After, req.PerPage)
	}
	return paging.Cut(entries, req), nil
}

func grouped(entries []gitstore.Entry) { sorting.Stably(entries, inGroups) }

func inGroups(a, b gitstore.Entry) int {
	return cmp.Or(cmp.Compare(group(a), group(b)), strings.Compare(a.Path, b.Path))
}

func group(e gitstore.Entry) int {
	return slices.Index([]gitstore.Kind{gitstore.TreeKind, gitstore.BlobKind, gitstore.CommitKind}, e.Mode.Kind())
}

// tokenAfter names the place behind an entry: its id, and its path where the
// id alone could mean another.
func tokenAfter(e gitstore.Entry, exact bool) string {
	if !exact {
		return string(e.ID)
	}
	return string(e.ID) + ":" + base64.RawURLEncoding.EncodeToString([]byte(e.Path))
}

func readToken(token string) (id gitstore.OID, path string, err error) {
	text, encoded, exact := strings.Cut(token, ":")
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !gitstore.IsOID(text) || exact && gitstore.CheckPath(string(raw)) != nil {
		return "", "", badPage(token)
	}
	return gitstore.OID(text), string(raw), nil
}

func badPage(token string) error {
	return fault.WithMessage(fault.Unprocessable, "Invalid page token: %.100s", token)
}

// turn is the page of a directory behind a token.
func turn(entries []gitstore.Entry, token string, perPage int) (res paging.Result[gitstore.Entry], err error) {
	rest := entries
	if token != "" {
		id, path, err := readToken(token)
		if err != nil {
			return res, err
		}
		at := slices.IndexFunc(entries, func(e gitstore.Entry) bool { return e.ID == id && (path == "" || e.Path == path) })
		if at < 0 {
			return res, badPage(token)
		}
		rest = entries[at+1:]
	}
	if res.Items = rest; len(rest) > perPage {
		res.Items = rest[:perPage]
		last := res.Items[perPage-1]
		first := slices.IndexFunc(entries, func(e gitstore.Entry) bool { return e.ID == last.ID })
		res.Token = tokenAfter(last, entries[first].Path != last.Path)
	}
	return res, nil
}

// walk is a page of all that is below a path.
func walk(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID, path string, q TreeQuery, req paging.Request) (res paging.Result[gitstore.Entry], err error) {
	missing := func(err error) error { return found(err, "invalid revision or path") }
	switch {
	case q.All:
		var more bool
		if res.Items, more, err = repo.Walk(ctx, commit, path, "", maxEntries); err == nil && more {
			return res, fault.New(fault.TooLarge)
		}
	case req.Keyset:
		after := ""
		if q.After != "" {
			if after, err = placeOf(ctx, repo, commit, path, q.After); err != nil {
				return res, missing(err)
			}
		}
		var more bool
		if res.Items, more, err = repo.Walk(ctx, commit, path, after, req.PerPage); err == nil && more {
			res.Token = tokenAfter(res.Items[len(res.Items)-1], true)
		}
	default:
		// The total is counted as far as any list is.
		var all []gitstore.Entry
		var more bool
		end := req.Offset() + req.PerPage
		all, more, err = repo.Walk(ctx, commit, path, "", max(end, paging.MaxTotal)+1)
		from := min(req.Offset(), len(all))
		res.Items = all[from:min(end, len(all))]
		res.Total, res.More = len(all), len(all) > end
		if more {
			res.Total = max(res.Total, paging.MaxTotal+1)
		}
	}
	res.Items = slices.Clone(res.Items)
	grouped(res.Items)
	return res, missing(err)
}

// placeOf is the path that a token stands for. One without a path means the
// first entry with its id.
func placeOf(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID, path, token string) (string, error) {
	id, place, err := readToken(token)
	if err != nil || place != "" {
		return place, err
	}
	after, more := "", true
	for seen := 0; more && seen < maxEntries; {
		var entries []gitstore.Entry
		if entries, more, err = repo.Walk(ctx, commit, path, after, 1000); err != nil {
			return "", err
		}
		for _, e := range entries {
			if e.ID == id {
				return e.Path, nil
			}
			after = e.Path
		}
		seen += len(entries)
	}
	return "", badPage(token)
}

// Blob is a blob of a repository, whose content is read when it is needed.
type Blob struct {
	gitstore.Object
	Repo *gitstore.Repo
}

// Blob finds a blob by its id.
func (s *Service) Blob(ctx context.Context, p *project.Project, id string) (*Blob, error) {
	id = strings.ToLower(id)
	if !gitstore.IsOID(id) {
		return nil, fault.NotFoundf("Blob")
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	object, err := repo.Stat(ctx, gitstore.OID(id))
	if err == nil && object.Kind != gitstore.BlobKind {
		err = gitstore.ErrNotFound
	}
	return &Blob{object, repo}, found(err, "Blob")
}

// ArchiveQuery says what is packed.
type ArchiveQuery struct {
	Revision string
	Path     string
	Exclude  []string
	Format   gitstore.Format
	Large    bool // large files in place of their pointers
}

// Archive is a repository at a commit, to be packed.
type Archive struct {
	gitstore.ArchiveOptions
	Repo *gitstore.Repo
}

// Name is the file that the archive is offered as.
func (a *Archive) Name() string { return strings.TrimSuffix(a.Prefix, "/") + "." + string(a.Format) }

// maxExcluded is how many paths an archive may leave out.
const maxExcluded = 100

// Archive finds what is to be packed. Everything that is wrong with it shows
// here, before the first byte.
func (s *Service) Archive(ctx context.Context, p *project.Project, q ArchiveQuery) (*Archive, error) {
	if len(q.Exclude) > maxExcluded {
		return nil, fault.WithMessage(fault.BadParams, "exclude_paths is invalid")
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	commit, err := s.Revision(ctx, repo, p, q.Revision)
	if err != nil {
		return nil, found(err, "File")
	}
	a := &Archive{Repo: repo, ArchiveOptions: gitstore.ArchiveOptions{Commit: commit, Path: strings.Trim(q.Path, "/"), Format: q.Format}}
	name := p.Path + "-" + cmp.Or(q.Revision, s.deps.Projects.BranchOf(p)) + "-" + string(commit)
	if a.Path != "" {
		if gitstore.CheckPath(a.Path) != nil {
			return nil, fault.NotFoundf("File")
		}
		if _, err := repo.Find(ctx, commit, a.Path); err != nil {
			return nil, found(err, "File")
		}
		name += "-" + a.Path
	}
	for _, path := range q.Exclude {
		if path = strings.Trim(path, "/"); gitstore.CheckPath(path) == nil {
			a.Exclude = append(a.Exclude, path)
		}
	}
	a.Prefix = folder(name) + "/"
	if q.Large {
		a.Swap, err = s.swap(ctx, p)
	}
	return a, err
}

// folder makes the name of one directory out of names with slashes.
func folder(name string) string {
	name = strings.ReplaceAll(strings.ToValidUTF8(name, "_"), "/", "-")
	if runes := []rune(name); len(runes) > 200 {
		return string(runes[:200])
	}
	return name
}
