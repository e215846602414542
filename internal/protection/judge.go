package protection

import (
	"context"

	"stithy/internal/gitstore"
)

// Judge asks the rules about every ref, and git for what their verdicts hang on.
// One refusal refuses all; it is a *gitstore.RefusedError.
func (r *Rules) Judge(ctx context.Context, repo *gitstore.Repo, w Writer, updates []gitstore.RefUpdate) error {
	for _, u := range updates {
		m := Move{RefUpdate: u}
		if r.AsksForced(u) {
			kept, err := repo.IsAncestor(ctx, u.Old, u.New)
			if err != nil {
				return err
			}
			m.Forced = !kept
		}
		if r.AsksKnown(w, u) {
			known, err := r.onProtected(ctx, repo, u.New)
			if err != nil {
				return err
			}
			m.Known = known
		}
		if err := r.Check(w, m); err != nil {
			return err
		}
	}
	return nil
}

// onProtected reports whether a commit is on a branch that is protected.
func (r *Rules) onProtected(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID) (bool, error) {
	refs, _, err := repo.Refs(ctx, gitstore.RefQuery{Prefix: gitstore.Branches, Match: r.ProtectsBranch})
	if err != nil {
		return false, err
	}
	for _, ref := range refs {
		if on, err := repo.IsAncestor(ctx, commit, ref.Target); on || err != nil {
			return on, err
		}
	}
	return false, nil
}
