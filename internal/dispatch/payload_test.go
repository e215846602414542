package dispatch

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/ciconfig"
	"stithy/internal/pipeline"
	"stithy/internal/project"
	"stithy/internal/runner"
)

const noCommit = "0000000000000000000000000000000000000000"

var update = flag.Bool("update", false, "write the golden documents")

func payloadInputOf() payloadInput {
	return payloadInput{
		Plan: ciconfig.Job{Name: "build", Stage: "test", Script: []string{"make"}}, JobID: 42, Token: "svccbt-jobtoken",
		Queued: 1500 * time.Millisecond, Timeout: time.Hour, Fetch: true, Depth: 20, Pipeline: 7,
		Git:           Git{URL: "https://gitlab-ci-token:svccbt-jobtoken@forge.example/team/tool.git", Ref: "main", SHA: "f" + noCommit[1:], Before: noCommit},
		Project:       ProjectFacts{ID: 3, Name: "Tool", FullPath: "team/tool", NamespaceID: 2, RootNamespace: 2},
		TokenPrefixes: []string{"svccbt-", "glrt-"},
	}
}

func full() payloadInput {
	h := payloadInputOf()
	h.Running, h.Git.Tag, h.Git.Ref, h.Git.Protected, h.SeparateCaches, h.CacheIndex, h.Depth = 9, true, "v1.0", true, true, 3, 0
	h.Plan = ciconfig.Job{
		Name: "build", Stage: "test", BeforeScript: []string{"./setup"}, Script: []string{"make", "make check"}, AfterScript: []string{"./clean"},
		Image: &ciconfig.Image{Name: "golang:$VERSION", Entrypoint: []string{"/bin/sh"}, PullPolicy: []string{"always"}, Platform: "linux/arm64", User: "dave"},
		Services: []ciconfig.Service{{
			Image: ciconfig.Image{Name: "postgres:16"}, Alias: "db", Command: []string{"postgres", "-c", "fsync=off"},
			Variables: ciconfig.Variables{{Key: "POSTGRES_PASSWORD", Value: "x"}},
		}},
		Artifacts: &ciconfig.Artifacts{
			Name: "out", Paths: []string{"dist/"}, Exclude: []string{"dist/*.tmp"}, When: "on_failure", ExpireIn: "1 week",
			Reports: []ciconfig.Report{{Type: "junit", Paths: []string{"report.xml"}}, {Type: "dotenv", Paths: []string{"out.env"}}, {Type: "sast", Paths: []string{"s.json"}}},
		},
		Cache: []ciconfig.Cache{
			{Key: "go", Paths: []string{".cache"}, Policy: "pull-push", When: "on_success", FallbackKeys: []string{"go-main"}},
			{Untracked: true, Policy: "pull", When: "always", Unprotect: true},
		},
		Release: &ciconfig.Release{TagName: "v$X", Name: "One \"two\" $(rm -rf /) `id`", Description: "text"},
		Hooks:   ciconfig.Hooks{PreGetSources: []string{"echo hook"}},
		Secrets: map[string]any{"PASSWORD": map[string]any{"vault": map[string]any{"path": "a"}}},
	}
	h.Lists = VariableLists{
		Job: []Variable{{Key: "CI_JOB_TOKEN", Value: h.Token, Masked: true}}, Predefined: public("CI", "true", "WHO", "predefined"),
		YAML:   []Variable{{Key: "WHO", Value: "yaml", Public: true}, {Key: "GREETING", Value: "hello $WHO", Public: true}, {Key: "PLAIN", Value: "$WHO", Public: true, Raw: true}},
		Dotenv: []Variable{{Key: "WHO", Value: "dotenv"}}, Stored: []Variable{{Key: "WHO", Value: "stored", Masked: true}, {Key: "CERT", Value: "pem", File: true}},
		Pipeline: []Variable{{Key: "WHO", Value: "pipeline"}}, Played: []Variable{{Key: "WHO", Value: "played"}},
		Environment: public("CI_ENVIRONMENT_NAME", "production"),
	}
	h.IDTokens = []Variable{{Key: "ID", Value: "jwt", Masked: true, Raw: true}}
	h.Dependencies = []Dependency{{ID: 40, Name: "compile", Filename: "artifacts.zip", Size: 5}, {ID: 41, Name: "none"}}
	return h
}

func TestPayloadsAreAsRunnersKnowThem(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]payloadInput{"small": payloadInputOf(), "full": full()} {
		built := h.build()
		got, err := json.MarshalIndent(built, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := filepath.Join("testdata", "payload-"+name+".json")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		wanted, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, wanted) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(string(wanted), string(got)))
		}
	}
}

func TestOfVariablesWithOneNameTheStrongestCounts(t *testing.T) {
	t.Parallel()
	lists := full().Lists
	for i, strip := range []func(){
		func() {}, func() { lists.Played = nil }, func() { lists.Pipeline = nil }, func() { lists.Stored = nil }, func() { lists.Dotenv = nil },
		func() { lists.YAML = nil },
	} {
		strip()
		all := lists.all(nil)
		at := slices.IndexFunc(all, func(v Variable) bool { return v.Key == "WHO" })
		if got, want := all[at].Value, []string{"played", "pipeline", "stored", "dotenv", "yaml", "predefined"}[i]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// CI-13: names that others choose do not run in a shell or steer the runner.
func TestCI13_NothingThatOthersWroteRunsInAReleaseCommand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("[a-z\"`$()\\\\;&| \n]{0,20}").Draw(t, "text")
		quoted := quote(text)
		inside := quoted[1 : len(quoted)-1]
		for i := 0; i < len(inside); i++ {
			switch {
			case inside[i] == '\\':
				i++
			case inside[i] == '"', inside[i] == '`', inside[i] == '$' && i+1 < len(inside) && inside[i+1] == '(':
				t.Fatalf("%q became %q", text, quoted)
			}
		}
	})
}

func TestWhatAJobIsToldAboutItself(t *testing.T) {
	t.Parallel()
	started := time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)
	f := facts{
		url: "https://forge.example", project: &project.Project{Path: "tool", NamespaceFullPath: "team"}, runner: &runner.Runner{ID: 9, Tags: []string{"a", "b"}},
		job:   &pipeline.Job{ID: 42, Name: "build 1/2", Stage: "test", RunWhen: "manual", StartedAt: &started, Environment: new("review/x")},
		spec:  &pipeline.Spec{NodeIndex: 1, NodeTotal: 2, Job: ciconfig.Job{Environment: &ciconfig.Environment{Name: "review/$X", Action: "start"}}},
		known: ciconfig.Variables{{Key: "CI_PROJECT_NAME", Value: "tool", Raw: true}, {Key: "CI_COMMIT_MESSAGE", Value: "Do $CI_JOB_TOKEN", Raw: true}},
		token: "secret",
	}
	got := map[string]Variable{}
	for _, list := range [][]Variable{f.ofJob(), f.predefined(), f.ofRunner(), f.ofEnvironment()} {
		for _, v := range list {
			got[v.Key] = v
		}
	}
	for key, want := range map[string]string{
		"CI_JOB_ID": "42", "CI_JOB_URL": "https://forge.example/team/tool/-/jobs/42", "CI_JOB_NAME": "build 1/2", "CI_JOB_NAME_SLUG": "build-1-2",
		"CI_JOB_MANUAL": "true", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "2", "CI_PROJECT_NAME": "tool", "CI_RUNNER_TAGS": `["a", "b"]`,
		"CI_ENVIRONMENT_NAME": "review/x", "CI_JOB_STARTED_AT": "2024-05-02T15:04:05Z",
	} {
		if got[key].Value != want {
			t.Errorf("%s is %q, want %q", key, got[key].Value, want)
		}
	}
	if !got["CI_JOB_TOKEN"].Masked || got["CI_JOB_TOKEN"].Public || !got["CI_COMMIT_MESSAGE"].Raw || got["CI_PROJECT_NAME"].Raw {
		t.Error("the token is not masked, or a commit message is expanded, or a name is not")
	}
}
