package gitstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

// recorder hears of every command.
type recorder struct {
	mu    sync.Mutex
	argvs [][]string
	envs  [][]string
}

func (r *recorder) trace(argv, env []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.argvs, r.envs = append(r.argvs, argv), append(r.envs, env)
}

// poison calls every operation that takes text with texts that want to be something else, each with a canary in it.
func poison(t *testing.T, s *gitstore.Store, r *gitstore.Repo, tip gitstore.OID) {
	t.Helper()
	ctx := t.Context()
	for _, text := range append(slices.Clone(hostile), "$(touch x)", "`id`", "a=b", "GIT_DIR=/", "refs/heads/x", "%s%n", "{}", "é", "日本") {
		for _, text := range []string{text, text + "canary", "canary" + text, "-canary" + text} {
			ignore := func(error) {} // nothing is promised but that no harm is done
			_, err := r.Resolve(ctx, text)
			ignore(err)
			_, err = r.Ref(ctx, "refs/heads/"+text)
			ignore(err)
			_, _, err = r.Refs(ctx, gitstore.RefQuery{Prefix: text})
			ignore(err)
			_, err = r.Stat(ctx, gitstore.OID(text))
			ignore(err)
			_, _, err = r.OpenBlob(ctx, gitstore.OID(text))
			ignore(err)
			_, err = r.Tree(ctx, tip, text)
			ignore(err)
			_, _, err = r.Walk(ctx, tip, text, text, 5)
			ignore(err)
			ignore(r.UpdateRefs(ctx, []gitstore.RefUpdate{{Name: text, Old: gitstore.OID(text), New: tip}}))
			if gitstore.CheckRefName("refs/heads/"+text) != nil { // else it is a name like any other
				ignore(r.UpdateRefs(ctx, []gitstore.RefUpdate{{Name: "refs/heads/" + text, Old: gitstore.Zero, New: tip}}))
				ignore(r.SetHead(ctx, text))
				ignore(s.Repo(gitstore.KeyOf(gitstoretest.Storage, 77, 0)).Create(ctx, text))
			}
			ignore(s.Repo(gitstore.Key{Storage: text, Path: text}).Create(ctx, "main"))
			ignore(s.Repo(gitstore.Key{Storage: gitstoretest.Storage, Path: text}).Remove(ctx))
			if !strings.HasPrefix(text, "http") {
				_, err = r.Import(ctx, gitstore.Remote{URL: text})
				ignore(err)
			}
		}
	}
}

func TestGI01_NoTextOfAPersonBecomesAnOption(t *testing.T) {
	t.Parallel()
	var heard recorder
	s := gitstoretest.Open(t)
	s.Trace = heard.trace
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1", Files: map[string]string{"a": "1"}})
	poison(t, s, r, ids[0])
	if len(heard.argvs) == 0 {
		t.Fatal("nothing was heard")
	}
	for _, argv := range heard.argvs {
		for _, arg := range argv {
			if arg == "--end-of-options" {
				break
			}
			if strings.Contains(arg, "canary") {
				t.Errorf("%q", argv)
			}
		}
	}
}

func TestGI02_TheEnvironmentIsAConstant(t *testing.T) {
	t.Parallel()
	var heard recorder
	s := gitstoretest.Open(t)
	s.Trace = heard.trace
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "$(id)\n`id`", Author: "Eve=$HOME <e@x>", Files: map[string]string{"a=$b": "1"}})
	poison(t, s, r, ids[0])
	for _, env := range heard.envs {
		if diff := cmp.Diff(heard.envs[0], env); diff != "" {
			t.Fatal(diff)
		}
		for _, v := range env {
			for _, name := range []string{"HOME=", "XDG_CONFIG_HOME=", "GIT_DIR=", "GIT_EXEC_PATH=", "SSH_", "GIT_TRACE"} {
				if strings.HasPrefix(v, name) {
					t.Error(v)
				}
			}
		}
	}
}

// listing is every file below a directory, with its size.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			files = append(files, fmt.Sprint(path, " ", info.Size(), " ", info.Mode()))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestGI03_NoNameReachesBeyondRefs(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1", Files: map[string]string{"hooks/pre-receive": "x", "config": "y"}})
	if err := r.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := listing(t, s.Storages[0].Root)
	poison(t, s, r, ids[0])
	if diff := cmp.Diff(before, listing(t, s.Storages[0].Root)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"config", "HEAD", "../x", "objects/x", "hooks/pre-receive", "refs", "refs/", "packed-refs", "refs/../config"} {
		err := r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: name, Old: gitstore.Zero, New: ids[0]}})
		if !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestGI08_ReplaceRefsChangeNothing(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r,
		gitstoretest.Commit{Message: "true", Files: map[string]string{"a": "true", ".gitattributes": "* -diff"}},
		gitstoretest.Commit{Message: "false", Branch: "other", Files: map[string]string{"a": "false"}})
	gitstoretest.Git(t, s, r, "", "update-ref", "refs/replace/"+string(ids[0]), string(ids[1]))
	if seen := gitstoretest.Git(t, s, r, "", "log", "-1", "--format=%s", string(ids[0])); seen != "false" {
		t.Fatal("git does not replace:", seen)
	}
	c, err := r.Commit(t.Context(), ids[0])
	if err != nil || c.Message != "true" {
		t.Error(c, err)
	}
	e, err := r.Find(t.Context(), ids[0], "a")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := r.Blob(t.Context(), e.ID, 100); string(text) != "true" || err != nil {
		t.Errorf("%s %v", text, err)
	}
	if got, err := r.Resolve(t.Context(), "main"); got != ids[0] || err != nil {
		t.Error(got, err)
	}
}

func TestDL09_RefsAndObjectsAreSynced(t *testing.T) {
	t.Parallel()
	var heard recorder
	s := gitstoretest.Open(t)
	s.Trace = heard.trace
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1"})
	if err := r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: "refs/heads/x", Old: gitstore.Zero, New: ids[0]}}); err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	env := heard.envs[0]
	for _, v := range env {
		if n, ok := strings.CutPrefix(v, "GIT_CONFIG_KEY_"); ok {
			n, name, _ := strings.Cut(n, "=")
			for _, v := range env {
				if value, ok := strings.CutPrefix(v, "GIT_CONFIG_VALUE_"+n+"="); ok {
					settings[name] = value
				}
			}
		}
	}
	if settings["core.fsync"] != "objects,derived-metadata,reference" || settings["core.fsyncMethod"] != "fsync" || settings["gc.auto"] != "0" {
		t.Error(settings)
	}
}

func TestDL11_ADiskErrorFailsTheActAndStopsWriting(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	wrapper := filepath.Join(dir, "git")
	script := fmt.Sprintf("#!/bin/sh\nif [ -e %s ]; then echo 'fatal: unable to write: Input/output error' >&2; exit 128; fi\nexec %s \"$@\"\n", broken, program)
	if err := gitstoretest.WriteProgram(wrapper, script); err != nil {
		t.Fatal(err)
	}
	config := gitstore.Config{Git: wrapper, Storages: []gitstore.Storage{{Name: gitstoretest.Storage, Root: filepath.Join(dir, "disk")}}}
	s, err := gitstore.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1"})
	update := func(r *gitstore.Repo) error {
		return r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: "refs/heads/x", Old: gitstore.Zero, New: ids[0]}})
	}
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := update(r); !errors.Is(err, gitstore.ErrUnavailable) {
		t.Error(err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	// The disk seems well again, but who knows what it lost: no write until somebody looked and started again.
	for name, err := range map[string]error{
		"update": update(r), "head": r.SetHead(t.Context(), "x"), "maintain": r.Maintain(t.Context()), "remove": r.Remove(t.Context()),
		"create": s.Repo(gitstore.KeyOf(gitstoretest.Storage, 2, 0)).Create(t.Context(), "main"),
	} {
		if !errors.Is(err, gitstore.ErrUnavailable) {
			t.Error(name, err)
		}
	}
	if _, err := r.Commit(t.Context(), ids[0]); err != nil {
		t.Error("reading stopped:", err)
	}
	again, err := gitstore.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := update(again.Repo(r.Key())); err != nil {
		t.Error(err)
	}
}

func TestMN01_AnAnswerBelongsToItsQuestion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Fewer processes than repositories, so that they change hands all the time.
	s, err := gitstore.Open(t.Context(), gitstore.Config{
		MaxProcesses: 16, Storages: []gitstore.Storage{{Name: gitstoretest.Storage, Root: filepath.Join(dir, "disk")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const repos, files = 9, 20
	type seeded struct {
		repo  *gitstore.Repo
		blobs map[gitstore.OID]string
		ids   []gitstore.OID
	}
	var all []seeded
	for i := range repos {
		r := gitstoretest.New(t, s, int64(i))
		content := map[string]string{}
		for j := range files {
			content[fmt.Sprint("f", j)] = fmt.Sprintf("canary %d %d %s", i, j, strings.Repeat("x", j*j*j*20))
		}
		tip := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: fmt.Sprint("canary ", i), Files: content})[0]
		w := seeded{repo: r, blobs: map[gitstore.OID]string{}}
		entries, err := r.Tree(t.Context(), tip, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			w.blobs[e.ID] = content[e.Path]
			w.ids = append(w.ids, e.ID)
		}
		all = append(all, w)
	}
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(caller)))
			for range 400 {
				w := all[random.IntN(repos)]
				id := w.ids[random.IntN(files)]
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(random.IntN(400))*time.Microsecond)
				}
				text, err := w.repo.Blob(ctx, id, 1<<20)
				if err == nil && string(text) != w.blobs[id] {
					t.Errorf("the answer to somebody else: %.40q instead of %.40q", text, w.blobs[id])
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	callers.Wait()
}
