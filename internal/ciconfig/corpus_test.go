package ciconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations of the corpus; read them before committing")

// A file of the corpus is an archive: config, facts, files to include, and want, which says what becomes of it. Lines of its
// comment that begin with + ask for more: +merged for the merged view, +json NAME for a job as it is stored.
func TestTheCorpusMeansWhatItSays(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) < 150 {
		t.Fatalf("found %d files of the corpus (%v); want at least 150", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := describe(t, a)
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
			if *update {
				if i < 0 {
					a.Files = append(a.Files, txtar.File{Name: "want"})
					i = len(a.Files) - 1
				}
				a.Files[i].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if i < 0 {
				t.Fatal("it wants nothing; run with -update")
			}
			if diff := cmp.Diff(string(a.Files[i].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func archived(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// describe loads and plans one archive and tells the result, line by line.
func describe(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	facts, opt := factsOf(t, archived(a, "facts"))
	opt.Content, opt.Facts = archived(a, "config"), facts
	opt.Content = bytes.TrimSuffix(opt.Content, []byte("#end\n"))
	var b strings.Builder
	c, problems, err := Load(t.Context(), archiveSource{a}, opt)
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
		return b.String()
	}
	for _, i := range c.Includes {
		fmt.Fprintf(&b, "include %s %s\n", i.Type, i.Location)
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "problem %s%d:%d %s\n", spaced(p.File), p.Line, p.Column, p.Message)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(&b, "warning %d:%d %s\n", w.Line, w.Column, w.Message)
	}
	for _, line := range strings.Split(string(a.Comment), "\n") {
		if line == "+merged" {
			fmt.Fprintf(&b, "merged\n%s", indented(string(c.Merged())))
		}
	}
	if len(problems) > 0 {
		return b.String()
	}
	plan, problems := c.Plan(facts)
	tell(&b, plan, problems)
	for _, line := range strings.Split(string(a.Comment), "\n") {
		name, ok := strings.CutPrefix(line, "+json ")
		i := slices.IndexFunc(plan.Jobs, func(j PlannedJob) bool { return j.Name == name })
		if ok && i >= 0 {
			out, err := json.MarshalIndent(plan.Jobs[i].Job, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "json\n%s", indented(string(out)+"\n"))
		}
	}
	return b.String()
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return s + " "
}

func indented(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  " + line)
	}
	return b.String()
}

func tell(b *strings.Builder, plan *Plan, problems []Problem) {
	fmt.Fprintf(b, "outcome %s\n", [...]string{"runs", "filtered", "no jobs", "broken"}[plan.Outcome])
	for _, p := range problems {
		fmt.Fprintf(b, "problem %s%d:%d %s\n", spaced(p.File), p.Line, p.Column, p.Message)
	}
	if plan.Name != "" {
		fmt.Fprintf(b, "name %s\n", plan.Name)
	}
	if plan.AutoCancel != (AutoCancel{}) {
		fmt.Fprintf(b, "auto cancel %+v\n", plan.AutoCancel)
	}
	for _, j := range plan.Jobs {
		fmt.Fprintf(b, "%s / %s", j.Stage, j.Name)
		if j.When != OnSuccess {
			fmt.Fprintf(b, " when=%s", j.When)
		}
		if j.StartIn > 0 {
			fmt.Fprintf(b, " start_in=%s", j.StartIn)
		}
		if j.AllowFailure.Allowed || j.AllowFailure.ExitCodes != nil {
			fmt.Fprintf(b, " may_fail=%v%v", j.AllowFailure.Allowed, j.AllowFailure.ExitCodes)
		}
		if j.NodeIndex > 0 {
			fmt.Fprintf(b, " node=%d/%d", j.NodeIndex, j.NodeTotal)
		}
		if j.Bridge() {
			b.WriteString(" bridge")
		}
		b.WriteString("\n")
		for _, v := range j.YAMLVariables {
			fmt.Fprintf(b, "  variable %s=%s", v.Key, v.Value)
			if v.Raw {
				b.WriteString(" (raw)")
			}
			b.WriteString("\n")
		}
		if j.Needed != nil {
			b.WriteString("  needs")
			for _, n := range j.Needed {
				fmt.Fprintf(b, " <%s>", n.Job)
				if !n.Artifacts {
					b.WriteString("-artifacts")
				}
			}
			b.WriteString("\n")
		}
		if j.Dependencies != nil {
			fmt.Fprintf(b, "  dependencies %q\n", j.Dependencies)
		}
		if j.Rules != nil || j.Only != nil {
			fmt.Fprintf(b, "  because: %s\n", j.Because)
		}
	}
	for _, w := range plan.Why {
		fmt.Fprintf(b, "left out %s: %s\n", w.Job, w.Text)
	}
}

// factsOf reads lines: source, ref, tag, protected, project, kubernetes, var K=V, raw K=V, masked K=V, file K=V, below K=V, in ENV K=V,
// changed PATH, unchanged, from REF PATH, tree PATH, input K=V, child.
func factsOf(t *testing.T, lines []byte) (Facts, LoadOptions) {
	t.Helper()
	f := Facts{Source: "push", Ref: "main", Project: "group/app"}
	opt := LoadOptions{Name: ".svc-ci.yml", Place: Place{Project: "group/app", SHA: "c0ffee"}, HelpURL: "/help/rules"}
	var changed, tree []string
	known := false
	from := map[string][]string{}
	envs := map[string]Variables{}
	for line := range strings.Lines(string(lines)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		k, v, _ := strings.Cut(rest, "=")
		switch word {
		case "source":
			f.Source = rest
		case "ref":
			f.Ref = rest
		case "tag":
			f.Tag, f.Ref = true, rest
		case "project":
			f.Project = rest
		case "kubernetes":
			f.Kubernetes = true
		case "var":
			f.Variables = append(f.Variables, Variable{Key: k, Value: v})
		case "raw":
			f.Variables = append(f.Variables, Variable{Key: k, Value: v, Raw: true})
		case "masked":
			f.Variables = append(f.Variables, Variable{Key: k, Value: v, Masked: true})
		case "file":
			f.Variables = append(f.Variables, Variable{Key: k, Value: v, File: true})
		case "below":
			f.Predefined = append(f.Predefined, Variable{Key: k, Value: v})
		case "in":
			env, rest, _ := strings.Cut(rest, " ")
			k, v, _ := strings.Cut(rest, "=")
			envs[env] = append(envs[env], Variable{Key: k, Value: v})
		case "changed":
			changed, known = append(changed, rest), true
		case "unchanged":
			known = true
		case "from":
			ref, path, _ := strings.Cut(rest, " ")
			from[ref] = append(from[ref], path)
		case "tree":
			tree = append(tree, rest)
		case "input":
			if opt.Inputs == nil {
				opt.Inputs = map[string]any{}
			}
			opt.Inputs[k] = v
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				opt.Inputs[k] = n
			}
		case "child":
			opt.Child = true
		case "":
		default:
			t.Fatalf("unknown fact %q", line)
		}
	}
	set := func(k, v string) { f.Predefined = append(f.Predefined, Variable{Key: k, Value: v}) }
	set("CI_PIPELINE_SOURCE", f.Source)
	set("CI_COMMIT_REF_NAME", f.Ref)
	set("CI_DEFAULT_BRANCH", "main")
	set("CI_PROJECT_PATH", f.Project)
	switch {
	case f.Tag:
		set("CI_COMMIT_TAG", f.Ref)
	case f.Source != "merge_request_event":
		set("CI_COMMIT_BRANCH", f.Ref)
	}
	f.Changes = func() ([]string, bool) { return changed, known }
	f.ChangesFrom = func(ref string) ([]string, bool) { p, ok := from[ref]; return p, ok }
	f.Exists = ExistsIn(func() []string { return tree })
	f.ExistsAt = func(project, ref, glob string) (bool, bool) {
		return glob == "there.txt", project == "group/lib" && (ref == "" || ref == "main")
	}
	if len(envs) > 0 {
		f.ForEnvironment = func(name string) Variables { return join(f.Variables, envs[name]) }
	}
	return f, opt
}

// archiveSource serves the archive's own files: local PATH, project PATH REF FILE, remote URL, template NAME, component ADDRESS,
// artifact JOB PATH.
type archiveSource struct{ a *txtar.Archive }

func (s archiveSource) files() []txtar.File {
	if s.a == nil {
		return nil
	}
	return s.a.Files
}

func (s archiveSource) find(place Place, location string, name ...string) (File, error) {
	full := strings.Join(name, " ")
	for _, f := range s.files() {
		if f.Name == full {
			return File{Body: f.Data, Place: place, Location: location}, nil
		}
	}
	return File{}, &FetchError{Reason: FileAbsent}
}

func (s archiveSource) Local(_ context.Context, at Place, path string) (File, error) {
	if at.Project != "group/app" {
		return s.find(at, path, "project", at.Project, at.SHA, path)
	}
	return s.find(at, path, "local", path)
}

func (s archiveSource) Glob(_ context.Context, at Place, pattern string) ([]string, error) {
	g, err := ParseGlob(pattern)
	if err != nil {
		return nil, nil
	}
	var all []string
	for _, f := range s.files() {
		if path, ok := strings.CutPrefix(f.Name, "local "); ok && g.Match(path) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all, nil
}

func (s archiveSource) Project(_ context.Context, _ Place, project, ref, file string) (File, error) {
	if ref == "" {
		ref = "main"
	}
	switch {
	case project == "group/hidden":
		return File{}, &FetchError{Reason: ProjectHidden}
	case ref == "gone":
		return File{}, &FetchError{Reason: RefAbsent}
	}
	return s.find(Place{Project: project, SHA: ref}, file, "project", project, ref, file)
}

func (s archiveSource) Remote(_ context.Context, url string) (File, error) {
	switch {
	case strings.Contains(url, "slow"):
		return File{}, &FetchError{Reason: TimedOut}
	case strings.Contains(url, "down"):
		return File{}, &FetchError{Reason: Unreachable}
	case strings.Contains(url, "127.0.0.1"):
		return File{}, &FetchError{Reason: BadAddress}
	case strings.Contains(url, "broken"):
		return File{}, errors.New("the store is gone")
	}
	f, err := s.find(Place{}, url, "remote", url)
	if err != nil {
		err = &FetchError{Reason: BadStatus, Status: 404}
	}
	return f, err
}

func (s archiveSource) Template(_ context.Context, name string) (File, error) {
	return s.find(Place{}, name, "template", name)
}

func (s archiveSource) Component(_ context.Context, _ Place, address string) (File, error) {
	return s.find(Place{Project: "group/parts", SHA: "main"}, address, "component", address)
}

func (s archiveSource) Artifact(_ context.Context, at Place, job, path string) (File, error) {
	return s.find(at, path, "artifact", job, path)
}
