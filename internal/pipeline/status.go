package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"stithy/internal/ciconfig"
	"stithy/internal/platform/sorting"
)

// Status is where a job, a stage or a pipeline stands.
type Status string

const (
	Created            Status = "created"
	WaitingForResource Status = "waiting_for_resource"
	Preparing          Status = "preparing"
	Pending            Status = "pending"
	Running            Status = "running"
	Success            Status = "success"
	Failed             Status = "failed"
	Canceled           Status = "canceled"
	Skipped            Status = "skipped"
	Manual             Status = "manual"
	Scheduled          Status = "scheduled"
)

// Statuses are all of them.
var Statuses = []Status{
	Created, WaitingForResource, Preparing, Pending, Running, Success, Failed, Canceled, Skipped, Manual, Scheduled,
}

// Complete reports whether nothing more happens by itself.
func (s Status) Complete() bool { return s == Success || s == Failed || s == Canceled || s == Skipped }

// Active reports whether something works on it or is about to.
func (s Status) Active() bool {
	return s == WaitingForResource || s == Preparing || s == Pending || s == Running
}

// Ended reports whether it came to an end, which a skipped job never had.
func (s Status) Ended() bool { return s == Success || s == Failed || s == Canceled }

// State is what of a job counts for those after it and around it.
type State struct {
	Status       Status
	AllowFailure bool
}

// set is a set of states as they count: a failure that is allowed is a
// warning, a manual job that blocks nothing is ignored.
type set uint16

const (
	warning Status = "warning"
	ignored Status = "ignored"
)

var counted = append(slices.Clone(Statuses), warning, ignored)

func setOf(statuses ...Status) set {
	var s set
	for _, one := range statuses {
		s |= 1 << slices.Index(counted, one)
	}
	return s
}

func (st State) counts() set {
	switch {
	case st.AllowFailure && (st.Status == Failed || st.Status == Canceled):
		return setOf(warning)
	case st.AllowFailure && st.Status == Manual:
		return setOf(ignored)
	}
	return setOf(st.Status)
}

func setOfStates(jobs []State) set {
	var s set
	for _, j := range jobs {
		s |= j.counts()
	}
	return s
}

// verdict is a row of the table that says how several jobs fare together. The
// first that holds decides: all are among these, or any of these is there.
type verdict struct {
	only   set
	any    set
	result Status
}

var verdicts = []verdict{
	{only: setOf(Skipped, ignored), result: Skipped},
	{only: setOf(Success, Skipped, warning, ignored), result: Success},
	{only: setOf(Created, warning, ignored), result: Created},
	{only: setOf(Preparing, warning, ignored), result: Preparing},
	{only: setOf(Canceled, Success, Skipped, warning, ignored), result: Canceled},
	{only: setOf(Pending, Created, Skipped, warning, ignored), result: Pending},
	{any: setOf(Running, Pending), result: Running},
	{any: setOf(WaitingForResource), result: WaitingForResource},
	{any: setOf(Manual), result: Manual},
	{any: setOf(Scheduled), result: Scheduled},
	{any: setOf(Preparing), result: Preparing},
	{any: setOf(Created), result: Running},
}

func (s set) verdict() Status {
	for _, v := range verdicts {
		if (v.only != 0 && s&^v.only == 0) || s&v.any != 0 {
			return v.result
		}
	}
	return Failed
}

// Combine is how some jobs fare together: a pipeline, a stage, or all that
// comes before a job. Without jobs it is empty: whatever it was, it stays.
func Combine(jobs []State) Status {
	if len(jobs) == 0 {
		return ""
	}
	return setOfStates(jobs).verdict()
}

// Event is what happens to a job.
type Event string

const (
	Enqueue    Event = "enqueue"    // it may run
	Await      Event = "await"      // it may run when the resource is free
	Run        Event = "run"        // a runner took it
	Succeed    Event = "succeed"    //
	Drop       Event = "drop"       // it failed
	Cancel     Event = "cancel"     //
	Skip       Event = "skip"       // what comes before it does not let it run
	Reopen     Event = "reopen"     // what comes before it is decided anew
	Hold       Event = "hold"       // it waits for a person
	Delay      Event = "delay"      // it waits for its time
	Unschedule Event = "unschedule" // its time does not count any more
	Resume     Event = "resume"     // the pipeline that a bridge waited for goes on
)

// transition is a row of the table of what may happen to a job.
type transition struct {
	event Event
	from  []Status
	to    Status
}

// transitions is the table that docs/ci/states.md shows.
var transitions = []transition{
	{Enqueue, []Status{Created, Skipped, Manual, Scheduled, WaitingForResource, Preparing}, Pending},
	{Await, []Status{Created, Skipped, Manual, Scheduled}, WaitingForResource},
	{Run, []Status{Pending}, Running},
	{Succeed, []Status{Created, WaitingForResource, Preparing, Pending, Running}, Success},
	{Drop, []Status{Created, WaitingForResource, Preparing, Pending, Running, Manual, Scheduled}, Failed},
	{Cancel, []Status{Created, WaitingForResource, Preparing, Pending, Running, Manual, Scheduled}, Canceled},
	{Skip, []Status{Created, WaitingForResource, Preparing, Pending}, Skipped},
	{Reopen, []Status{Skipped, Manual}, Created},
	{Hold, []Status{Created}, Manual},
	{Delay, []Status{Created}, Scheduled},
	{Unschedule, []Status{Scheduled}, Manual},
	{Resume, []Status{Success, Failed, Canceled}, Running},
}

// ErrTransition is wrapped by what Next says of an event that may not happen
// to a job as it stands.
var ErrTransition = errors.New("the job's status does not allow this")

// Next is where an event takes a job.
func Next(from Status, e Event) (Status, error) {
	for _, t := range transitions {
		if t.event == e && slices.Contains(t.from, from) {
			return t.to, nil
		}
	}
	return from, fmt.Errorf("%s of a job that is %s: %w", e, from, ErrTransition)
}

// Node is a job as its place in the pipeline sees it.
type Node struct {
	ID    int64
	Name  string
	Stage int
	State
	When     string
	Needs    []string // nil: all of the earlier stages
	Resource bool     // it needs a resource group
}

// Change is what happens to one job.
type Change struct {
	ID    int64
	Event Event
	To    Status
}

// Advance says what follows from the states of a pipeline's latest jobs: which
// of those that are created may run now, wait for a person or for their time,
// or are skipped. Changes are in the order in which they follow from each
// other; after them Advance says nothing more.
func Advance(nodes []Node) []Change {
	order := slices.Clone(nodes)
	sorting.Stably(order, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.ID, b.ID)) })
	named := make(map[string]int, len(order))
	for i := range order {
		named[order[i].Name] = i
	}
	var changes []Change
	for {
		before := len(changes)
		var earlier, stage set // all before this stage; this stage so far
		at := -1
		for i := range order {
			n := &order[i]
			if n.Stage != at {
				earlier |= stage
				stage, at = 0, n.Stage
			}
			if n.Status == Created {
				if e, decided := n.release(prior(order, named, n, earlier)); decided {
					n.Status, _ = Next(Created, e)
					changes = append(changes, Change{ID: n.ID, Event: e, To: n.Status})
				}
			}
			stage |= n.counts()
		}
		if len(changes) == before {
			return changes
		}
	}
}

// prior is how the jobs fare that a job waits for. Without any it is success.
func prior(order []Node, named map[string]int, n *Node, earlier set) Status {
	if n.Needs == nil {
		if earlier == 0 {
			return Success
		}
		return earlier.verdict()
	}
	var s set
	for _, name := range n.Needs {
		if i, there := named[name]; there && order[i].ID != n.ID {
			s |= order[i].counts()
		}
	}
	switch {
	case s == 0:
		return Success
	case s&setOf(Skipped, ignored) != 0:
		return Skipped
	}
	return s.verdict()
}

// release says what happens to a created job, once that is decided.
func (n *Node) release(prior Status) (Event, bool) {
	if !prior.Complete() {
		return "", false
	}
	var may bool
	switch n.When {
	case ciconfig.OnFailure:
		may = prior == Failed
	case ciconfig.Always:
		may = prior == Success || prior == Failed || prior == Skipped
	default:
		may = prior == Success || (prior == Skipped && n.Needs == nil)
	}
	switch {
	case !may:
		return Skip, true
	case n.When == ciconfig.Delayed:
		return Delay, true
	case n.When == ciconfig.Manual:
		return Hold, true
	case n.Resource:
		return Await, true
	}
	return Enqueue, true
}

// Reopened are the jobs that were skipped and are decided anew when a job runs
// again: those of later stages, and those that need it or one of these.
func Reopened(nodes []Node, id int64) []Change {
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	after := map[string]bool{nodes[i].Name: true}
	for grown := true; grown; {
		grown = false
		for _, n := range nodes {
			if after[n.Name] {
				continue
			}
			if n.Stage > nodes[i].Stage || slices.ContainsFunc(n.Needs, func(need string) bool { return after[need] }) {
				after[n.Name], grown = true, true
			}
		}
	}
	var changes []Change
	for _, n := range nodes {
		if n.Status == Skipped && n.ID != id && after[n.Name] {
			changes = append(changes, Change{ID: n.ID, Event: Reopen, To: Created})
		}
	}
	return changes
}
