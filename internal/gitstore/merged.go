package gitstore

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// Merged reports which of some branches are wholly in a commit. One walk of
// history answers for all of them.
func (r *Repo) Merged(ctx context.Context, branches []Ref, into OID) (map[OID]bool, error) {
	ids := make([]string, 0, len(branches)+1)
	for _, b := range branches {
		if err := checkIDs([]OID{b.Target}); err != nil {
			return nil, err
		}
		ids = append(ids, string(b.Target))
	}
	if err := checkIDs([]OID{into}); err != nil || len(branches) == 0 {
		return nil, err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	// What was found is about ids, and is remembered by them.
	answer, err := r.ask(call{sub: "merged", args: append(ids, string(into))}, func() (string, error) { return r.merged(ctx, branches, into) })
	if err != nil {
		return nil, err
	}
	in := make(map[OID]bool, len(branches))
	for id := range strings.FieldsSeq(answer) {
		in[OID(id)] = true
	}
	return in, nil
}

// manyRefs is from how many names on git looks at all branches instead.
const manyRefs = 200

func (r *Repo) merged(ctx context.Context, branches []Ref, into OID) (string, error) {
	args := []string{Branches}
	if len(branches) <= manyRefs {
		args = args[:0]
		for _, b := range branches {
			args = append(args, b.Name)
		}
	}
	out, err := r.output(ctx, call{
		class: history, sub: "for-each-ref", flags: []string{"--merged=" + string(into), "--format=%(objectname) %(refname)"}, args: args,
	}, 64<<20)
	if err != nil {
		return "", err
	}
	listed := map[string]OID{}
	for line := range bytes.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		listed[name] = OID(id)
	}
	var in strings.Builder
	for _, b := range branches {
		yes := listed[b.Name] == b.Target
		if !yes {
			// Git told of the branch as it is now, which may be elsewhere.
			if now, err := r.Ref(ctx, b.Name); err != nil || now.Target != b.Target {
				if yes, err = r.IsAncestor(ctx, b.Target, into); err != nil {
					return "", err
				}
			}
		}
		if yes {
			in.WriteString(string(b.Target) + " ")
		}
	}
	return in.String(), nil
}
