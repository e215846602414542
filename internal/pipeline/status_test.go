package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/ciconfig"
)

func TestSeveralJobsFareTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jobs string // a ! allows the failure
		want Status
	}{
		{"", ""},
		{"skipped", Skipped},
		{"skipped manual!", Skipped},
		{"success", Success},
		{"success skipped", Success},
		{"success failed!", Success},
		{"failed!", Success},
		{"canceled!", Success},
		{"success manual!", Success},
		{"created", Created},
		{"created failed!", Created},
		{"created manual!", Created},
		{"preparing", Preparing},
		{"canceled success", Canceled},
		{"canceled skipped manual!", Canceled},
		{"pending created", Pending},
		{"pending created skipped failed!", Pending},
		{"pending success", Running},
		{"running failed", Running},
		{"pending failed", Running},
		{"waiting_for_resource created", WaitingForResource},
		{"waiting_for_resource manual", WaitingForResource},
		{"manual", Manual},
		{"manual created success", Manual},
		{"manual failed", Manual},
		{"scheduled created", Scheduled},
		{"scheduled manual", Manual},
		{"preparing success", Preparing},
		{"created success", Running},
		{"created failed", Running},
		{"created canceled", Running},
		{"failed", Failed},
		{"failed success canceled", Failed},
		{"failed skipped", Failed},
	} {
		var states []State
		for word := range strings.FieldsSeq(c.jobs) {
			name, allowed := strings.CutSuffix(word, "!")
			states = append(states, State{Status(name), allowed})
		}
		if got := Combine(states); got != c.want {
			t.Errorf("%q: %s, want %s", c.jobs, got, c.want)
		}
	}
}

// together is the table of the reference, row by row and in words.
func together(jobs []State) Status {
	var words []string
	for _, j := range jobs {
		switch {
		case j.AllowFailure && (j.Status == Failed || j.Status == Canceled):
			words = append(words, "warning")
		case j.AllowFailure && j.Status == Manual:
			words = append(words, "ignored")
		default:
			words = append(words, string(j.Status))
		}
	}
	only := func(list string) bool {
		for _, w := range words {
			if !slices.Contains(strings.Fields(list), w) {
				return false
			}
		}
		return true
	}
	has := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(w string) bool { return slices.Contains(words, w) })
	}
	switch {
	case len(words) == 0:
		return ""
	case only("skipped ignored"):
		return Skipped
	case only("success skipped warning ignored"):
		return Success
	case only("created warning ignored"):
		return Created
	case only("preparing warning ignored"):
		return Preparing
	case only("canceled success skipped warning ignored"):
		return Canceled
	case only("pending created skipped warning ignored"):
		return Pending
	case has("running pending"):
		return Running
	case has("waiting_for_resource"):
		return WaitingForResource
	case has("manual"):
		return Manual
	case has("scheduled"):
		return Scheduled
	case has("preparing"):
		return Preparing
	case has("created"):
		return Running
	}
	return Failed
}

// TestWhoStartsConcernsNoOtherJob is why a claim looks at one job alone: whatever
// else is in a pipeline, nobody who waits for a pending job is decided about,
// neither before it starts nor after, and the pipeline runs.
func TestWhoStartsConcernsNoOtherJob(t *testing.T) {
	t.Parallel()
	for others := range set(1) << len(counted) {
		waits, starts := others|setOf(Pending), others|setOf(Running)
		if got := waits.verdict(); got.Complete() {
			t.Fatalf("%b: who waits for a pending job sees %s", others, got)
		}
		if got := starts.verdict(); got != Running {
			t.Fatalf("%b: with a running job it is %s", others, got)
		}
	}
}

func TestAJobTakesTheStepsOfTheTableAlone(t *testing.T) {
	t.Parallel()
	steps := map[string]Status{}
	for _, line := range []string{
		"enqueue created skipped manual scheduled waiting_for_resource preparing > pending",
		"await created skipped manual scheduled > waiting_for_resource",
		"run pending > running",
		"succeed created waiting_for_resource preparing pending running > success",
		"drop created waiting_for_resource preparing pending running manual scheduled > failed",
		"cancel created waiting_for_resource preparing pending running manual scheduled > canceled",
		"skip created waiting_for_resource preparing pending > skipped",
		"reopen skipped manual > created",
		"hold created > manual",
		"delay created > scheduled",
		"unschedule scheduled > manual",
		"resume success failed canceled > running",
	} {
		left, to, _ := strings.Cut(line, " > ")
		words := strings.Fields(left)
		for _, from := range words[1:] {
			steps[words[0]+" "+from] = Status(to)
		}
	}
	for _, e := range []Event{Enqueue, Await, Run, Succeed, Drop, Cancel, Skip, Reopen, Hold, Delay, Unschedule, Resume} {
		for _, from := range Statuses {
			to, err := Next(from, e)
			want, allowed := steps[string(e)+" "+string(from)]
			if allowed != (err == nil) || (allowed && to != want) || (!allowed && (to != from || !errors.Is(err, ErrTransition))) {
				t.Errorf("%s of %s: %s, %v", e, from, to, err)
			}
			if from.Ended() && err == nil && e != Resume {
				t.Errorf("%s opens what ended as %s", e, from)
			}
		}
	}
}

func TestTheDocumentShowsTheTableOfTransitions(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| What happens | To a job that is | Makes it |\n|---|---|---|\n")
	for _, row := range transitions {
		var from []string
		for _, s := range row.from {
			from = append(from, "`"+string(s)+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", row.event, strings.Join(from, ", "), row.to)
	}
	document, err := os.ReadFile("../../docs/ci/states.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(document), b.String()) {
		t.Errorf("docs/ci/states.md lacks this table:\n%s", b.String())
	}
}

// drawn reads a pipeline from lines of "name stage status when [needs...]"; "-" needs nothing.
func drawn(text string) []Node {
	var nodes []Node
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		status, allowed := strings.CutSuffix(words[2], "!")
		n := Node{ID: int64(len(nodes) + 1), Name: words[0], Stage: int(words[1][0] - '0'), State: State{Status(status), allowed}, When: words[3]}
		for _, need := range words[4:] {
			switch need {
			case "-":
				n.Needs = []string{}
			case "resource":
				n.Resource = true
			default:
				n.Needs = append(n.Needs, need)
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func TestJobsAreReleasedInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fact, jobs, want string }{
		{"the first stage runs at once", "a 0 created on_success\nb 1 created on_success", "a:pending"},
		{"a stage waits for the whole one before", "a 0 success on_success\nb 0 running on_success\nc 1 created on_success", ""},
		{"success lets the next stage run", "a 0 success on_success\nb 1 created on_success", "b:pending"},
		{"a failure skips what follows", "a 0 failed on_success\nb 1 created on_success\nc 2 created on_success", "b:skipped c:skipped"},
		{"an allowed failure does not", "a 0 failed! on_success\nb 1 created on_success", "b:pending"},
		{"a failure calls for on_failure", "a 0 failed on_success\nb 1 created on_failure\nc 1 created on_success", "b:pending c:skipped"},
		{"success does not", "a 0 success on_success\nb 1 created on_failure\nc 2 created on_success", "b:skipped c:pending"},
		{"always is always", "a 0 failed on_success\nb 1 created on_success\nc 2 created always", "b:skipped c:pending"},
		{"but not after a cancellation", "a 0 canceled on_success\nb 1 created always", "b:skipped"},
		{"a manual job that blocks holds up the rest", "a 0 created manual\nb 1 created on_success", "a:manual"},
		{"one that does not is passed by", "a 0 created! manual\nb 1 created on_success", "a:manual b:pending"},
		{"a delayed job waits for its time", "a 0 created delayed\nb 1 created on_success", "a:scheduled"},
		{"a resource is waited for", "a 0 created on_success resource", "a:waiting_for_resource"},
		{"needs go before stages", "a 0 success on_success\nb 0 running on_success\nc 1 created on_success a", "c:pending"},
		{"no needs, no waiting", "a 0 running on_success\nb 1 created on_success -", "b:pending"},
		{"a need of the same stage", "a 0 success on_success\nb 0 created on_success a", "b:pending"},
		{"a need that was skipped skips", "a 0 skipped on_failure\nb 1 created on_success a", "b:skipped"},
		{"but not one who runs always", "a 0 skipped on_failure\nb 1 created always a", "b:pending"},
		{"a need that nobody played skips", "a 0 manual! manual\nb 1 created on_success a", "b:skipped"},
		{"a stage of skipped jobs lets the next run", "a 0 skipped on_success\nb 1 created on_success", "b:pending"},
		{"a failed need calls for on_failure", "a 0 failed on_success\nb 1 created on_failure a", "b:pending"},
		{"skipping goes down the line of needs", "a 0 failed on_success\nb 1 created on_success a\nc 2 created on_success b", "b:skipped c:skipped"},
	} {
		nodes := drawn(c.jobs)
		var got []string
		for _, change := range Advance(nodes) {
			got = append(got, nodes[change.ID-1].Name+":"+string(change.To))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", c.fact, diff)
		}
	}
}

func TestWhatWasSkippedIsDecidedAnewAfterAJobThatRunsAgain(t *testing.T) {
	t.Parallel()
	nodes := drawn("a 0 pending on_success\nb 0 skipped on_success a\nc 0 skipped on_success b\nd 0 skipped on_success -\ne 1 skipped on_success\nf 1 success always")
	var got []string
	for _, c := range Reopened(nodes, 1) {
		got = append(got, nodes[c.ID-1].Name)
	}
	if diff := cmp.Diff([]string{"b", "c", "e"}, got); diff != "" {
		t.Error(diff)
	}
}

// sim is a pipeline in memory, whose jobs fare as chance has it.
type sim struct {
	*rand.Rand
	nodes []Node // the latest
	last  int64
	runs  map[int64]int
}

func newSim(seed uint64) *sim {
	s := &sim{Rand: rand.New(rand.NewPCG(seed, 6)), runs: map[int64]int{}}
	whens := []string{ciconfig.OnSuccess, ciconfig.OnSuccess, ciconfig.OnSuccess, ciconfig.OnFailure, ciconfig.Always, ciconfig.Manual, ciconfig.Delayed}
	stages := 1 + s.IntN(4)
	for stage := range stages {
		for range 1 + s.IntN(3) {
			s.last++
			n := Node{
				ID: s.last, Name: fmt.Sprint("job", s.last), Stage: stage, State: State{Created, s.IntN(4) == 0}, When: whens[s.IntN(len(whens))],
				Resource: s.IntN(5) == 0,
			}
			if s.IntN(3) == 0 {
				n.Needs = []string{}
				for _, before := range s.nodes {
					if s.IntN(3) == 0 {
						n.Needs = append(n.Needs, before.Name)
					}
				}
			}
			s.nodes = append(s.nodes, n)
		}
	}
	return s
}

func (s *sim) apply(changes []Change) {
	for _, c := range changes {
		i := slices.IndexFunc(s.nodes, func(n Node) bool { return n.ID == c.ID })
		to, err := Next(s.nodes[i].Status, c.Event)
		if err != nil || to != c.To {
			panic(fmt.Sprint(c, s.nodes[i], err))
		}
		s.nodes[i].Status = to
	}
}

func (s *sim) do(i int, e Event) bool {
	to, err := Next(s.nodes[i].Status, e)
	if err == nil {
		s.nodes[i].Status = to
		if e == Run {
			s.runs[s.nodes[i].ID]++
		}
	}
	return err == nil
}

func (s *sim) enqueue(i int) {
	if s.nodes[i].Resource {
		s.do(i, Await)
	} else {
		s.do(i, Enqueue)
	}
}

// again is a retry.
func (s *sim) again(i int) {
	s.last++
	s.nodes[i].ID, s.nodes[i].Status = s.last, Created
	s.enqueue(i)
	s.apply(Reopened(s.nodes, s.last))
}

// step lets one thing happen to one job.
func (s *sim) step() {
	i := s.IntN(len(s.nodes))
	switch s.IntN(12) {
	case 0:
		s.do(i, Cancel)
	case 1:
		if s.IntN(8) == 0 {
			for i, n := range s.nodes {
				if n.Status == Created || n.Status == Scheduled || n.Status.Active() {
					s.do(i, Cancel)
				}
			}
		}
	case 2:
		if s.nodes[i].Status.Ended() {
			s.again(i)
		}
	case 3:
		if s.nodes[i].Status == Manual {
			s.enqueue(i)
			s.apply(Reopened(s.nodes, s.nodes[i].ID))
		}
	case 4:
		if s.nodes[i].Status == Running && s.do(i, Drop) && s.IntN(3) == 0 {
			s.again(i)
		}
	default:
		s.carryOn(i, s.IntN(3) > 0)
	}
}

// carryOn takes a job one step further towards its end.
func (s *sim) carryOn(i int, well bool) bool {
	switch s.nodes[i].Status {
	case WaitingForResource:
		return s.do(i, Enqueue)
	case Scheduled:
		s.enqueue(i)
		return true
	case Pending:
		return s.do(i, Run)
	case Running:
		if well {
			return s.do(i, Succeed)
		}
		return s.do(i, Drop)
	}
	return false
}

func (s *sim) check(t *testing.T, seed uint64) Status {
	t.Helper()
	s.apply(Advance(s.nodes))
	if more := Advance(s.nodes); len(more) > 0 {
		t.Fatalf("seed %d: a pipeline that was advanced goes on by itself: %v", seed, more)
	}
	var states []State
	for _, n := range s.nodes {
		states = append(states, n.State)
	}
	status := Combine(states)
	if want := together(states); status != want {
		t.Fatalf("seed %d: %v is %s, want %s", seed, states, status, want)
	}
	for id, runs := range s.runs {
		if runs > 1 {
			t.Fatalf("seed %d: job %d ran %d times", seed, id, runs)
		}
	}
	return status
}

func TestNoPipelineWaitsForEver(t *testing.T) {
	t.Parallel()
	const cases = 20_000
	for seed := range uint64(cases) {
		s := newSim(seed)
		s.check(t, seed)
		for range s.IntN(40) {
			s.step()
			s.check(t, seed)
		}
		// Everybody does their part: runners, clocks, and people who play what blocks.
		for range 1000 {
			moved := false
			for i := range s.nodes {
				moved = s.carryOn(i, s.IntN(2) > 0) || moved
			}
			s.check(t, seed)
			for i := range s.nodes {
				if !moved && s.nodes[i].Status == Manual && !s.nodes[i].AllowFailure {
					s.enqueue(i)
					moved = true
				}
			}
			if status := s.check(t, seed); !moved {
				if !status.Complete() {
					t.Fatalf("seed %d: waits as %s: %+v", seed, status, s.nodes)
				}
				break
			}
		}
		for _, n := range s.nodes {
			if !n.Status.Complete() && (n.Status != Manual || !n.AllowFailure) {
				t.Fatalf("seed %d: waits for ever: %+v in %+v", seed, n, s.nodes)
			}
		}
	}
}

func FuzzCombine(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var states []State
		for _, b := range bytes {
			states = append(states, State{Statuses[int(b>>1)%len(Statuses)], b&1 == 1})
		}
		if got, want := Combine(states), together(states); got != want {
			t.Errorf("%v: %s, want %s", states, got, want)
		}
	})
}
