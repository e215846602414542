package gitstore

import (
	"cmp"
	"container/heap"
	"context"
)

// walk goes through history in the order of git: of all commits that are known
// and not yet told, the one with the newest committer's date.
type walk struct {
	read        func(context.Context, []OID) ([]*Commit, error)
	firstParent bool

	queue walkQueue
	seen  map[OID]bool
	next  []OID // seen, and not read yet
	count int
}

// waiting is a commit in the queue; of two with one date the first to come is the first to go.
type waiting struct {
	*Commit
	place int
}

func newWalk(read func(context.Context, []OID) ([]*Commit, error), from []OID, firstParent bool) *walk {
	w := &walk{read: read, firstParent: firstParent, seen: map[OID]bool{}}
	w.add(from)
	return w
}

func (w *walk) add(ids []OID) {
	for _, id := range ids {
		if !w.seen[id] {
			w.seen[id] = true
			w.next = append(w.next, id)
		}
	}
}

// step is the next commit, nil at the end. Parents are read when they are needed and not before, so a page costs one
// reading per commit.
func (w *walk) step(ctx context.Context) (*Commit, error) {
	if len(w.next) > 0 {
		commits, err := w.read(ctx, w.next)
		if err != nil {
			return nil, err
		}
		w.next = w.next[:0]
		for _, c := range commits {
			heap.Push(&w.queue, waiting{c, w.count})
			w.count++
		}
	}
	if len(w.queue) == 0 {
		return nil, nil
	}
	c := heap.Pop(&w.queue).(waiting).Commit
	if w.firstParent && len(c.Parents) > 1 {
		w.add(c.Parents[:1])
	} else {
		w.add(c.Parents)
	}
	return c, nil
}

type walkQueue []waiting

func (q walkQueue) Len() int { return len(q) }

func (q walkQueue) Less(i, j int) bool {
	return cmp.Or(q[j].Committer.When.Compare(q[i].Committer.When), cmp.Compare(q[i].place, q[j].place)) < 0
}

func (q walkQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *walkQueue) Push(x any)   { *q = append(*q, x.(waiting)) }

func (q *walkQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
