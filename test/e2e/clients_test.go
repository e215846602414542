package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// tourTime bounds a tour: far more than it takes, far less than a wait for a dead peer.
const tourTime = 3 * time.Minute

func TestPythonGitlabFindsWhatItKnows(t *testing.T) {
	t.Parallel()
	need(t, "python3-gitlab 3.12 is missing: apt-get install -y python3-gitlab", "/usr/bin/python3", "-c",
		`import gitlab; assert gitlab.__version__.startswith("3.12.")`)
	start(t).tour("/usr/bin/python3", "python/tour.py")
}

func TestRubyGitlabFindsWhatItKnows(t *testing.T) {
	t.Parallel()
	need(t, "ruby-gitlab 4.17 is missing: apt-get install -y ruby-gitlab", "/usr/bin/ruby", "-e",
		`require "gitlab"; abort unless Gitlab::VERSION.start_with?("4.17.")`)
	start(t).tour("/usr/bin/ruby", "ruby/tour.rb")
}

func TestGitbeakerFindsWhatItKnows(t *testing.T) {
	t.Parallel()
	need(t, "@gitbeaker/rest 43.8.0 is missing: npm ci --ignore-scripts in test/e2e/node", "node", "-e",
		`const v = require("./node/node_modules/@gitbeaker/rest/package.json").version; if (v !== "43.8.0") process.exit(1)`)
	start(t).tour("node", "node/tour.mjs")
}

// need fails the test, with what to do about it, when a client is not there.
func need(t *testing.T, otherwise string, command ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", otherwise, out)
	}
}

// tour runs a script that drives a client, with what it needs to know in its environment.
func (f *forge) tour(command ...string) {
	f.t.Helper()
	_, one := sshKey(f.t)
	_, two := sshKey(f.t)
	ctx, cancel := context.WithTimeout(f.t.Context(), tourTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "LANG=C.UTF-8",
		"TOUR_URL=" + f.url,
		"TOUR_TOKEN=" + f.token,
		"TOUR_PASSWORD=" + f.password,
		"TOUR_VALUE=" + f.secret("value-"+rand.Text()),
		"TOUR_SSH_KEYS=" + one + "\n" + two,
		"TOUR_GPG_KEY=" + readFile(f.t, "testdata/ann.asc"),
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	f.t.Log(out.String())
	if err != nil {
		f.t.Fatalf("the tour ended early: %v", err)
	}
	if !strings.Contains(out.String(), ": done") {
		f.t.Fatal("the tour did not come to its end")
	}
}
