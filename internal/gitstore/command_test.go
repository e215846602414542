package gitstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestCommandsRunAndTellWhatWentWrong(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	var pack bytes.Buffer
	pack.WriteString("blob\nmark :1\ndata 5\nhello\ncommit refs/heads/main\ncommitter a <a@b> 0 +0000\ndata 1\nx\nM 644 :1 f\n")
	if err := r.run(t.Context(), call{class: moving, sub: "fast-import", flags: []string{"--quiet"}, stdin: &pack}, nil); err != nil {
		t.Fatal(err)
	}
	out, err := r.output(t.Context(), call{sub: "rev-parse", flags: []string{"--verify"}, args: []string{"refs/heads/main"}}, 100)
	if err != nil || !IsOID(strings.TrimSpace(string(out))) {
		t.Fatalf("%q %v", out, err)
	}
	if _, err := r.output(t.Context(), call{sub: "cat-file", flags: []string{"blob"}, args: []string{"main:f"}}, 4); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := r.output(t.Context(), call{sub: "cat-file", flags: []string{"blob"}, args: []string{"main:g"}}, 4); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, class := range []class{reading, moving} {
		body, err := r.stream(t.Context(), call{class: class, sub: "cat-file", flags: []string{"blob"}, args: []string{"main:f"}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); string(got) != "hello" || err != nil {
			t.Errorf("%q %v", got, err)
		}
		body.Close()
	}
	body, err := r.stream(t.Context(), call{sub: "cat-file", flags: []string{"blob"}, args: []string{"main:g"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body); !errors.Is(err, ErrNotFound) {
		t.Errorf("a failed command ended its output with %v", err)
	}
	body.Close()
	err = r.run(t.Context(), call{sub: "merge-base", flags: []string{"--is-ancestor"}, args: []string{"main", "main"}}, nil)
	if exitCode(err) != 0 {
		t.Error(err)
	}
	if err := r.store.Repo(KeyOf("default", 2, 0)).run(t.Context(), call{sub: "rev-list", flags: []string{"--all"}}, nil); !errors.Is(err, ErrNoRepo) {
		t.Error(err)
	}
}

func TestACancelledCommandEnds(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	ctx, cancel := context.WithCancel(t.Context())
	in, feed := io.Pipe()
	defer feed.Close()
	body, err := r.stream(ctx, call{sub: "cat-file", flags: []string{"--batch-command"}, stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	start := time.Now()
	if _, err := io.ReadAll(body); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Error("it took", took)
	}
	feed.Close()
	body.Close()
}
