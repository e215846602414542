package gitstore

import "github.com/maypok86/otter/v2"

// caches are what a store remembers beside objects. All of it follows from object ids, with the repository beside
// them: an id is no proof that one may read it elsewhere.
type caches struct {
	archives *archives
	diffs    *facts[*Diff]
	logs     *facts[logPage]
	stats    *facts[Stats]
	known    *facts[string]
	blobs    *facts[int64] // sizes
}

func openCaches(c Config) (caches, error) {
	archives, err := newArchives(c.CacheDir, maxArchives, c.Clock)
	return caches{
		archives: archives,
		diffs:    newFacts(64<<20, (*Diff).bytes),
		logs:     newFacts(16<<20, logPage.bytes),
		stats:    newFacts(8<<20, func(Stats) int { return 0 }),
		known:    newFacts(8<<20, func(s string) int { return len(s) }),
		blobs:    newFacts(8<<20, func(int64) int { return 0 }),
	}, err
}

// facts are questions about objects, which have one answer for ever. They are bounded by bytes.
type facts[V any] = otter.Cache[question, V]

type question struct {
	repo Key
	text string
}

// overhead is about what a fact costs beside its content.
const overhead = 300

func newFacts[V any](limit uint64, size func(V) int) *facts[V] {
	return otter.Must(&otter.Options[question, V]{
		MaximumWeight: limit,
		Weigher:       func(q question, v V) uint32 { return uint32(overhead + len(q.text) + size(v)) },
	})
}

// remember answers a question once. Nothing is kept of a quarantine, which may never become true.
func remember[V any](r *Repo, f *facts[V], text string, ask func() (V, error)) (V, error) {
	q := question{r.key, text}
	if v, known := f.GetIfPresent(q); known {
		return v, nil
	}
	v, err := ask()
	if err == nil && r.quarantine == (Quarantine{}) {
		f.Set(q, v)
	}
	return v, err
}
