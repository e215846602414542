package monitor

import (
	"stithy/internal/errortracking"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/repository"
)

// What one page reads of a repository.
const (
	sourceFiles = 10
	sourceBytes = 512 << 10 // of a file
)

// quote adds lines of the repository, as they are in the release of an event, to calls that came without. Who may not read code sees none.
func (x *request) quote(r *errortracking.Report) error {
	if r.Release == "" || !x.May(access.ReadCode) {
		return nil
	}
	var wanting []*errortracking.Frame
	for i := range r.Exceptions {
		for j := range r.Exceptions[i].Frames {
			if f := &r.Exceptions[i].Frames[j]; f.Wants() {
				wanting = append(wanting, f)
			}
		}
	}
	if wanting == nil {
		return nil
	}
	repo, err := x.deps.Repositories.Open(x.Context(), x.Project)
	if err != nil {
		return missing(err)
	}
	commit, err := x.released(repo, r.Release)
	if err != nil || commit == "" {
		return err
	}
	files := map[string]string{}
	for i := len(wanting) - 1; i >= 0; i-- { // the innermost matter most
		f := wanting[i]
		text, read := files[f.File]
		if !read && len(files) == sourceFiles {
			continue
		}
		if !read {
			if text, err = x.sourceOf(repo, commit, f); err != nil {
				return err
			}
			files[f.File] = text
		}
		f.Quote(text)
	}
	return nil
}

// released is the commit of a release, "" where the repository knows none of its names.
func (x *request) released(repo *gitstore.Repo, release string) (gitstore.OID, error) {
	for _, name := range errortracking.Revisions(release) {
		commit, err := repo.Resolve(x.Context(), name)
		if err == nil {
			return commit, nil
		}
		if err := missing(repository.Found(err, "Commit")); err != nil {
			return "", err
		}
	}
	return "", nil
}

// sourceOf is the file of a call, "" where there is none that could be shown.
func (x *request) sourceOf(repo *gitstore.Repo, commit gitstore.OID, f *errortracking.Frame) (string, error) {
	for _, path := range f.Paths() {
		if gitstore.CheckPath(path) != nil {
			continue
		}
		entry, err := repo.Find(x.Context(), commit, path)
		if err == nil && entry.Mode.Kind() == gitstore.BlobKind {
			var text []byte
			if text, err = repo.Blob(x.Context(), entry.ID, sourceBytes); err == nil {
				return string(text), nil
			}
		}
		if err := missing(repository.Found(err, "File")); err != nil {
			return "", err
		}
	}
	return "", nil
}

// missing lets pass what is not there, or too large to be shown: the page is whole without.
func missing(err error) error {
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.TooLarge) {
		return nil
	}
	return err
}
