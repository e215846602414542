package runner

import (
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWhichJobsARunnerMayTakeAndWhyNot(t *testing.T) {
	t.Parallel()
	group := int64(5)
	free := Runner{Type: Instance, RunUntagged: true, AccessLevel: NotProtected}
	job := JobFacts{ProjectID: 7, GroupIDs: []int64{4, 5}, InstanceRunners: true, GroupRunners: true}
	with := func(change func(*Runner, *JobFacts)) (Runner, JobFacts) {
		r, j := free, job
		change(&r, &j)
		return r, j
	}
	for why, change := range map[string]func(*Runner, *JobFacts){
		"":                          func(*Runner, *JobFacts) {},
		"The runner is paused.":     func(r *Runner, _ *JobFacts) { r.Paused = true },
		"The runner serves nobody.": func(r *Runner, _ *JobFacts) { r.Type = "" },
		"The project does not use runners of the instance.": func(_ *Runner, j *JobFacts) { j.InstanceRunners = false },
		"The runner belongs to a group that the project is not in.": func(r *Runner, j *JobFacts) {
			r.Type, r.GroupID, j.GroupIDs = Group, &group, []int64{4}
		},
		"The project does not use runners of its groups.": func(r *Runner, j *JobFacts) {
			r.Type, r.GroupID, j.GroupRunners = Group, &group, false
		},
		"The runner is not assigned to the project.":                  func(r *Runner, _ *JobFacts) { r.Type, r.ProjectIDs = Project, []int64{8} },
		"The runner takes jobs of protected branches and tags only.":  func(r *Runner, _ *JobFacts) { r.AccessLevel = RefProtected },
		"The job has no tags, and the runner takes tagged jobs only.": func(r *Runner, _ *JobFacts) { r.RunUntagged = false },
		"The runner lacks the tag gpu.":                               func(r *Runner, j *JobFacts) { r.Tags, j.Tags = []string{"linux"}, []string{"linux", "gpu"} },
		"The runner lacks the tags gpu, arm.":                         func(_ *Runner, j *JobFacts) { j.Tags = []string{"gpu", "arm"} },
	} {
		ok, said := CanTake(with(change))
		if ok != (why == "") || said != why {
			t.Errorf("%v, %q, want %q", ok, said, why)
		}
	}
	for name, change := range map[string]func(*Runner, *JobFacts){
		"group":     func(r *Runner, _ *JobFacts) { r.Type, r.GroupID = Group, &group },
		"project":   func(r *Runner, _ *JobFacts) { r.Type, r.ProjectIDs = Project, []int64{6, 7} },
		"protected": func(r *Runner, j *JobFacts) { r.AccessLevel, j.Protected = RefProtected, true },
		"tags": func(r *Runner, j *JobFacts) {
			r.RunUntagged, r.Tags, j.Tags = false, []string{"a", "b", "c"}, []string{"c", "a"}
		},
	} {
		if ok, why := CanTake(with(change)); !ok || why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

func TestARefusalHasAReasonAndAnAcceptanceHasNone(t *testing.T) {
	t.Parallel()
	tag := rapid.SampledFrom([]string{"a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(1, 3)
		group := id.Draw(t, "group")
		r := Runner{
			Type: rapid.SampledFrom([]Type{Instance, Group, Project, "other"}).Draw(t, "type"), GroupID: &group,
			ProjectIDs: rapid.SliceOf(id).Draw(t, "projects"), Tags: rapid.SliceOf(tag).Draw(t, "has"), RunUntagged: rapid.Bool().Draw(t, "untagged"),
			Paused: rapid.Bool().Draw(t, "paused"), AccessLevel: rapid.SampledFrom([]AccessLevel{NotProtected, RefProtected}).Draw(t, "level"),
		}
		job := JobFacts{
			ProjectID: id.Draw(t, "project"), GroupIDs: rapid.SliceOf(id).Draw(t, "line"), Tags: rapid.SliceOf(tag).Draw(t, "wants"),
			Protected: rapid.Bool().Draw(t, "protected"), InstanceRunners: rapid.Bool().Draw(t, "shared"), GroupRunners: rapid.Bool().Draw(t, "groups"),
		}
		ok, why := CanTake(r, job)
		if ok == (why != "") {
			t.Fatalf("%v with %q", ok, why)
		}
		if ok && (r.Paused || (r.AccessLevel == RefProtected && !job.Protected) || (len(job.Tags) == 0 && !r.RunUntagged) ||
			slices.ContainsFunc(job.Tags, func(t string) bool { return !slices.Contains(r.Tags, t) })) {
			t.Fatalf("%+v takes %+v", r, job)
		}
	})
}

func TestTheStatusOfARunnerFollowsFromItsContacts(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 2, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time { t := now.Add(-d); return &t }
	const day = 24 * time.Hour
	for _, c := range []struct {
		created   time.Duration
		contacted *time.Time
		want      Status
	}{
		{day, nil, NeverContacted}, {200 * day, nil, Stale}, {200 * day, at(100 * day), Stale}, {200 * day, at(80 * day), Offline},
		{day, at(time.Hour), Online}, {day, at(2 * time.Hour), Offline}, {200 * day, at(0), Online},
	} {
		if got := (Runner{CreatedAt: now.Add(-c.created), ContactedAt: c.contacted}).Status(now); got != c.want {
			t.Errorf("created %v ago, seen %v: %s, want %s", c.created, c.contacted, got, c.want)
		}
	}
}

func TestWhatAMachineSaysIsCutToItsFirstCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"äöü€", 3, "äöü"}, {"a\nb\x00c\td", 3, "abc"}, {"a\xffb\uFFFDc", 3, "abc"},
		{"\n\n\n\n", 3, ""}, {"abc", 0, ""},
	} {
		if got := cut(c.said, c.most); got != c.want {
			t.Errorf("%q is cut to %q, want %q", c.said, got, c.want)
		}
	}
}

func TestDO02_CuttingWhatAMachineSaysIsOnePass(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spent := func(do func()) time.Duration {
		const thread = 1 // RUSAGE_THREAD: what other tests do meanwhile does not count
		var before, after syscall.Rusage
		if err := syscall.Getrusage(thread, &before); err != nil {
			t.Fatal(err)
		}
		do()
		if err := syscall.Getrusage(thread, &after); err != nil {
			t.Fatal(err)
		}
		return time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	}
	for name, text := range map[string]string{"letters": strings.Repeat("é", 50_000), "control": strings.Repeat("\n", 50_000)} {
		pass := spent(func() {
			for range 1000 {
				if utf8.RuneCountInString(text) != 50_000 {
					t.Error("miscounted")
				}
			}
		})
		if cost := spent(func() { cut(text, 64) }); cost > pass {
			t.Errorf("%s: cutting took %v, a thousand passes take %v", name, cost, pass)
		}
	}
}
