package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Take copies what a commit of another repository leads to, as far as it is not
// here, into a quarantine. Who calls has found that the actor may read both.
func (r *Repo) Take(ctx context.Context, from *Repo, id OID) (Quarantine, error) {
	if err := checkIDs([]OID{id}); err != nil {
		return Quarantine{}, err
	}
	refs, err := r.visibleRefs(ctx, nil)
	if err != nil {
		return Quarantine{}, err
	}
	var wanted strings.Builder
	wanted.WriteString(string(id) + "\n")
	for _, ref := range refs {
		wanted.WriteString("^" + string(ref.Target) + "\n")
	}
	// What is here is seen from there, so that it need not be packed.
	pack, err := from.Beside(r).stream(ctx, call{
		class: copying, sub: "pack-objects", flags: []string{"--revs", "--stdout", "-q", "--delta-base-offset"}, stdin: strings.NewReader(wanted.String()),
	})
	if err != nil {
		return Quarantine{}, err
	}
	defer func() { _ = pack.Close() }()
	q, err := r.newQuarantine()
	if err != nil {
		return Quarantine{}, err
	}
	in := &failing{Reader: pack}
	err = r.run(ctx, call{class: copying, sub: "index-pack", flags: []string{"--stdin", "--strict"}, stdin: in, quarantine: q}, io.Discard)
	if err = errors.Join(in.err, err); err != nil {
		r.Discard(q)
		return Quarantine{}, fmt.Errorf("taking objects from another repository: %w", err)
	}
	return q, nil
}
