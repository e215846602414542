package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestTheCommandLineKeepsItsWord runs the scripts in testdata/script, each in a folder and on an empty database of
// its own.
func TestTheCommandLineKeepsItsWord(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, ".bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			database, drop, err := emptyDatabase()
			if err != nil {
				return err
			}
			env.Defer(drop)
			env.Setenv("STITHY_DATABASE_URL", database)
			return os.Symlink(path, filepath.Join(bin, "stithy"))
		},
	})
}

// emptyDatabase makes one without a schema.
func emptyDatabase() (address string, drop func(), err error) {
	base, err := url.Parse(baseURL())
	if err != nil {
		return "", nil, err
	}
	name := "stithy_e2e_" + strings.ToLower(rand.Text())
	if err := execute(base, "create database "+name); err != nil {
		return "", nil, err
	}
	own := *base
	own.Path = "/" + name
	return own.String(), func() { _ = execute(base, "drop database "+name+" with (force)") }, nil
}

func execute(server *url.URL, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.String())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// A request whose body is still on its way when the node is told to stop gets its answer; nobody else gets in.
func TestARequestInFlightOutlivesTheOrderToStop(t *testing.T) {
	t.Parallel()
	f := install(t)
	n := f.serve()

	// The server asks for the body when the handler wants to read it: from then on the request is in flight.
	wanted := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(wanted) }})
	body, rest := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url+"/api/v4/users", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("PRIVATE-TOKEN", f.token)
	req.Header.Set("Expect", "100-continue")
	answered := make(chan error, 1)
	go func() {
		transport := &http.Transport{ExpectContinueTimeout: patience}
		defer transport.CloseIdleConnections()
		resp, err := transport.RoundTrip(req)
		if err == nil {
			defer resp.Body.Close()
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated {
				err = errors.New(resp.Status + " " + string(text))
			}
		}
		answered <- err
	}()
	select {
	case <-wanted:
	case err := <-answered:
		t.Fatalf("answered before the body was sent: %v", err)
	case <-time.After(patience):
		t.Fatal("the server does not ask for the body")
	}

	n.signal(syscall.SIGTERM)
	n.log.await(t, `"msg":"stopping"`)
	eventually(t, patience, "a new connection is refused", func() bool {
		// A fresh transport, so that no open connection is used again.
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		probe, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+"/-/liveness", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(probe)
		if err == nil {
			_ = resp.Body.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	select {
	case <-n.done:
		t.Fatal("the node did not wait for the request")
	case err := <-answered:
		t.Fatalf("answered without its body: %v", err)
	default:
	}

	if _, err := io.WriteString(rest, `{"username":"late","name":"Late","email":"late@example.com","force_random_password":true}`); err != nil {
		t.Fatal(err)
	}
	if err := rest.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
	n.stop()

	f.serve()
	if found, _, err := f.client(t, f.token).Users.ListUsers(nil); err != nil || len(found) != 2 {
		t.Errorf("what was acknowledged is not there: %v, %v", names(found), err)
	}
}

// Between the word that it will stop and the closed door, a node answers everyone, and says that no more should come.
func TestADrainingNodeAnswersAndAsksForNoMore(t *testing.T) {
	t.Parallel()
	f := install(t, "STITHY_DRAIN_DELAY=2s")
	n := f.serve()
	n.signal(syscall.SIGTERM)
	n.log.await(t, `"msg":"stopping"`)
	eventually(t, time.Second, "readiness says no", func() bool {
		return status(t, n.url+"/-/readiness") == http.StatusServiceUnavailable
	})
	if got := status(t, n.url+"/-/liveness"); got != http.StatusOK {
		t.Errorf("liveness while draining: %d", got)
	}
	if _, _, err := f.client(t, f.token).Users.CurrentUser(); err != nil {
		t.Errorf("a request while draining: %v", err)
	}
	n.stop()
}
