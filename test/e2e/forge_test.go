// Package e2e drives the built binary from outside, as its users do: over the command line, over HTTP with clients
// that others wrote, behind a proxy, and to its death. What one room alone can get wrong is tested there, not here.
//
// It needs PostgreSQL and Redis on loopback, and the clients; a test whose client is missing fails and says how to
// install it. STITHY_BIN names a binary to use instead of a new build.
package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stithy/internal/platform/postgres/postgrestest"
)

const (
	root     = "../.."          // of the module
	patience = 30 * time.Second // for one act of a process, on a busy machine
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir := buildDir(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var buildDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "stithy-e2e-")
	if err != nil {
		return ""
	}
	return dir
})

// binary is the program under test.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("STITHY_BIN"); path != "" {
		path, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(path)
		}
		return path, err
	}
	// A pass is cached until a folder changes that the test has read; what it builds from them does not count.
	for _, dir := range []string{"cmd", "db", "internal", "web"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return "", err
		}
	}
	path := filepath.Join(buildDir(), "stithy")
	build := exec.Command("go", "build", "-o", path, "./cmd/stithy")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	return path, nil
})

// forge is an installation: a database, a key file and the variables that every process of it gets.
type forge struct {
	t      *testing.T
	binary string
	dir    string // where its processes run
	env    []string

	url      string       // what clients use
	http     *http.Client // that reaches it
	clients  []string     // variables that other programs reach it with
	token    string       // of root: api and sudo
	password string       // of root, and of everyone else a test makes

	mu      sync.Mutex
	secrets []string
	logs    []*capture
}

// install makes a forge that has a schema, an administrator named root and their token. Nothing runs yet. When the
// test ends, no log of the forge may hold a secret.
func install(t *testing.T, env ...string) *forge {
	t.Helper()
	f := prepare(t, postgrestest.URL(t), env...)
	f.must("migrate")
	f.must("admin", "create-user", "--username", "root", "--name", "Root", "--email", "root@example.com",
		"--password-file", f.file("password", f.password+"\n"), "--admin")
	f.token = f.secret(strings.TrimSpace(f.must("admin", "create-token", "--username", "root", "--name", "e2e", "--scopes", "api,sudo")))
	return f
}

// prepare makes a forge on any database and leaves the rest to the test.
func prepare(t *testing.T, databaseURL string, env ...string) *forge {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	f := &forge{t: t, binary: path, dir: t.TempDir(), url: "http://" + address, http: http.DefaultClient}
	f.env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"STITHY_DATABASE_URL=" + databaseURL,
		"STITHY_DATABASE_MAX_CONNS=8",
		"STITHY_DATA_DIR=" + filepath.Join(f.dir, "data"),
		"STITHY_LISTEN=" + address,
		"STITHY_EXTERNAL_URL=" + f.url,
	}, env...)
	f.password = f.secret("e2e-" + rand.Text())
	t.Cleanup(f.keptItsSecrets)
	return f
}

// start makes a forge of one node that takes requests.
func start(t *testing.T, env ...string) *forge {
	t.Helper()
	f := install(t, env...)
	f.serve()
	return f
}

// nextPort counts through ports below those that the system hands out by itself, so that no two forges, and no
// connection that something else opens, ever meet on one.
var nextPort = func() *atomic.Int32 {
	n := new(atomic.Int32)
	n.Store(10_000 + mathrand.Int32N(15_000))
	return n
}()

// freeAddress is one that nobody listens on: the forge must know its port before it starts, for its external URL.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", nextPort.Add(1))
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

// secret remembers what no log may show.
func (f *forge) secret(text string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.secrets = append(f.secrets, text)
	return text
}

func (f *forge) file(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *forge) log() *capture {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &capture{}
	f.logs = append(f.logs, c)
	return c
}

// run is one command to its end.
func (f *forge) run(args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	log := f.log()
	cmd := exec.CommandContext(ctx, f.binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.dir, f.env, &out, log
	err = cmd.Run()
	return out.String(), log.String(), err
}

func (f *forge) must(args ...string) (stdout string) {
	f.t.Helper()
	stdout, stderr, err := f.run(args...)
	if err != nil {
		f.t.Fatalf("stithy %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return stdout
}

// node is a running `stithy serve`.
type node struct {
	f    *forge
	url  string // its own address, which behind a proxy is not the one of the forge
	cmd  *exec.Cmd
	log  *capture
	done chan struct{} // closed when the process has ended
	err  error         // what it ended with, once done is closed
	dead bool          // killed, so that it owes no clean end
}

// serve starts a node and returns when it takes requests. The node is stopped when the test ends, and has to end well.
func (f *forge) serve(env ...string) *node {
	f.t.Helper()
	n := &node{f: f, log: f.log(), done: make(chan struct{})}
	n.cmd = exec.Command(f.binary, "serve")
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as whoever runs services does
	n.cmd.Dir, n.cmd.Env, n.cmd.Stderr = f.dir, append(f.env[:len(f.env):len(f.env)], env...), n.log
	for _, pair := range n.cmd.Env {
		if address, ok := strings.CutPrefix(pair, "STITHY_LISTEN="); ok {
			n.url = "http://" + address
		}
	}
	ready := n.log.wait(`"msg":"ready"`)
	if err := n.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() {
		n.err = n.cmd.Wait()
		close(n.done)
	}()
	f.t.Cleanup(func() {
		n.stop()
		if f.t.Failed() {
			f.t.Logf("log of %s:\n%s", n.url, n.log)
		}
	})
	select {
	case <-ready:
	case <-n.done:
		f.t.Fatalf("stithy serve ended at once: %v", n.err)
	case <-time.After(patience):
		f.t.Fatal("stithy serve is not ready")
	}
	if f.http != http.DefaultClient {
		return n // over TLS it is ready when it has a certificate
	}
	if got := status(f.t, n.url+"/-/readiness"); got != http.StatusOK {
		f.t.Fatalf("readiness after the line that says so: %d", got)
	}
	return n
}

func (n *node) signal(s os.Signal) {
	n.f.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		n.f.t.Error(err)
	}
}

// stop asks the node to end and waits until it has.
func (n *node) stop() {
	n.f.t.Helper()
	n.signal(syscall.SIGTERM)
	select {
	case <-n.done:
	case <-time.After(patience):
		n.kill()
		n.f.t.Errorf("%s did not stop", n.url)
	}
	if n.err != nil && !n.dead {
		n.f.t.Errorf("%s ended with %v", n.url, n.err)
	}
}

// kill ends the node without a word of warning.
func (n *node) kill() {
	n.f.t.Helper()
	n.dead = true
	n.signal(syscall.SIGKILL)
	<-n.done
}

func status(t testing.TB, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// keptItsSecrets looks for every secret of the test in every log of the forge, and for whatever looks like a token.
func (f *forge) keptItsSecrets() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, log := range f.logs {
		for _, line := range leaks(log.String(), f.secrets) {
			f.t.Errorf("a log shows a secret: %s", line)
		}
	}
}

var tokenForm = regexp.MustCompile(`svc[a-z]+-[A-Za-z0-9_-]{20}`)

// leaks are the lines that hold a secret, as it is or in a form that anyone can read back.
func leaks(log string, secrets []string) (lines []string) {
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)))
	}
	for line := range strings.Lines(log) {
		shown := func(form string) bool { return strings.Contains(line, form) }
		if tokenForm.MatchString(line) || slices.ContainsFunc(forms, shown) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// capture keeps what a process writes, and tells who waits for a text.
type capture struct {
	mu    sync.Mutex
	text  bytes.Buffer
	waits []awaited
}

type awaited struct {
	text string
	seen chan struct{}
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(p)
	c.tell()
	return len(p), nil
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// wait returns a channel that is closed when the text has been written.
func (c *capture) wait(text string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := awaited{text, make(chan struct{})}
	c.waits = append(c.waits, a)
	c.tell()
	return a.seen
}

func (c *capture) tell() {
	var left []awaited
	for _, a := range c.waits {
		if bytes.Contains(c.text.Bytes(), []byte(a.text)) {
			close(a.seen)
		} else {
			left = append(left, a)
		}
	}
	c.waits = left
}

// await returns when the text has been written.
func (c *capture) await(t testing.TB, text string) {
	t.Helper()
	select {
	case <-c.wait(text):
	case <-time.After(patience):
		t.Fatalf("the log never says %s", text)
	}
}

// eventually asks again and again, until the answer is yes or the time is up.
func eventually(t testing.TB, within time.Duration, what string, yes func() bool) {
	t.Helper()
	deadline := time.After(within)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !yes() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// baseURL is the server that tests use, see postgrestest.
func baseURL() string {
	return cmp.Or(os.Getenv("STITHY_TEST_DATABASE_URL"), "postgres://root@127.0.0.1:5432/postgres")
}
