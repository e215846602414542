package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/test/load/crowd"
)

// programs are the two binaries under measurement.
type programs struct{ stithyPath, barePath string }

func build(ctx context.Context, dir string) (programs, error) {
	p := programs{stithyPath: filepath.Join(dir, "bin-stithy"), barePath: filepath.Join(dir, "bin-bare")}
	for path, of := range map[string]string{p.stithyPath: "stithy/cmd/stithy", p.barePath: "stithy/test/bench/bare"} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, of) // as make build does
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return p, fmt.Errorf("building %s: %w\n%s", of, err, out)
		}
	}
	return p, nil
}

// cluster is the PostgreSQL server that holds the sites' databases.
type cluster struct {
	conn *pgx.Conn
	base url.URL
	made []string
}

func connect(ctx context.Context) (*cluster, error) {
	base, err := url.Parse(cmp.Or(os.Getenv("STITHY_TEST_DATABASE_URL"), "postgres://root@127.0.0.1:5432/postgres"))
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, base.String())
	return &cluster{conn: conn, base: *base}, err
}

func (c *cluster) database(ctx context.Context) (name, address string, err error) {
	name = "stithy_bench_" + strings.ToLower(rand.Text()[:10])
	if _, err := c.conn.Exec(ctx, "create database "+name); err != nil {
		return "", "", err
	}
	c.made = append(c.made, name)
	u := c.base
	u.Path = "/" + name
	return name, u.String(), nil
}

// close drops what was made, also after the run was interrupted.
func (c *cluster) close() {
	ctx := context.Background()
	for _, name := range c.made {
		if _, err := c.conn.Exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
			fmt.Fprintf(os.Stderr, "bench: dropping %s: %v\n", name, err)
		}
	}
	_ = c.conn.Close(ctx)
}

// site is one database with its key file, and the token of someone who does
// not administer it.
type site struct {
	programs
	dir      string
	database string
	address  string
	rows     int

	token      string
	oauthToken string      // of the same person
	repository *repository // nil until there is one
	ci         *ci         // the same
}

// external is the same for all servers, as it is part of the answers.
const external = "http://forge.example"

func (p programs) site(ctx context.Context, c *cluster, dir string, rows int) (*site, error) {
	s := &site{programs: p, dir: dir, rows: rows}
	var err error
	if s.database, s.address, err = c.database(ctx); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		return nil, err
	}
	if _, err := s.run(ctx, "migrate"); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "loading %d users\n", rows)
	if err := crowd.Fill(ctx, s.address, rows); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, s.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	username, err := postgres.Value[string](ctx, conn, `
		select username from users where state = 'active' and kind = 'human' and not admin and not private_profile and id > 100
		order by id limit 1`)
	if err != nil {
		return nil, err
	}
	if s.token, err = s.run(ctx, "admin", "create-token", "--username", username, "--name", "bench", "--scopes", "api"); err != nil {
		return nil, err
	}
	return s, s.grant(ctx, conn, username)
}

// grant lets an application act for a person, without the pages.
func (s *site) grant(ctx context.Context, conn *pgx.Conn, username string) error {
	box, err := secretbox.Load(filepath.Join(s.dir, "secret.key"))
	if err != nil {
		return err
	}
	var secret [32]byte
	_, _ = rand.Read(secret[:])
	s.oauthToken = hex.EncodeToString(secret[:])
	_, err = conn.Exec(ctx, `
		insert into oauth_tokens (user_id, digest, scopes, family_id, created_at, expires_at)
		select id, $2, '{api}', 1, now(), now() + interval '2 hours' from users where username = $1`,
		username, box.Digest(string(access.OAuthToken), s.oauthToken))
	return err
}

func (s *site) environment(listen string) []string {
	return append(os.Environ(), "STITHY_DATABASE_URL="+s.address, "STITHY_DATA_DIR="+s.dir, "STITHY_LISTEN="+listen,
		"STITHY_EXTERNAL_URL="+external)
}

// run gives what a command of stithy writes to standard output.
func (s *site) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.stithyPath, args...)
	cmd.Env = s.environment("127.0.0.1:0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("stithy %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// workload is one request, and how much dearer than bare it may be.
type workload struct {
	row   int
	name  string
	path  string
	limit float64
}

func (s *site) workloads() []workload {
	middle := base64.RawURLEncoding.EncodeToString([]byte(`{"o":"id","d":true,"a":["` + strconv.Itoa(s.rows/2) + `"]}`))
	return []workload{
		{row: 1, name: "`GET /user` with a token", path: "/api/v4/user", limit: 1.15},
		{row: 2, name: "20 users, first keyset page", path: "/api/v4/users?pagination=keyset&per_page=20", limit: 1.3},
		{row: 2, name: "20 users, keyset page in the middle", path: "/api/v4/users?pagination=keyset&per_page=20&cursor=" + middle, limit: 1.3},
		{row: 2, name: "20 users, offset page with total", path: "/api/v4/users?page=3&per_page=20", limit: 1.3},
	}
}

// server is one process under measurement.
type server struct {
	name     string
	database string
	listen   string
	command  func() *exec.Cmd
	log      string
	process  *exec.Cmd
}

func (s *site) stithy() *server {
	listen := freeAddress()
	return &server{name: "stithy", database: s.database, listen: listen, log: filepath.Join(s.dir, "stithy.log"), command: func() *exec.Cmd {
		cmd := exec.Command(s.stithyPath, "serve")
		cmd.Env = s.environment(listen)
		return cmd
	}}
}

func (s *site) bare() *server {
	listen := freeAddress()
	return &server{name: "bare", database: s.database, listen: listen, log: filepath.Join(s.dir, "bare.log"), command: func() *exec.Cmd {
		cmd := exec.Command(s.barePath, "-listen", listen, "-key", filepath.Join(s.dir, "secret.key"), "-external", external,
			"-database", s.address+"?application_name=bare&pool_max_conns=16&sslmode=disable")
		if r := s.repository; r != nil {
			cmd.Args = append(cmd.Args, "-project", r.id, "-git", r.dir, "-path", r.path)
		}
		if s.ci != nil {
			cmd.Args = append(cmd.Args, "-logs", s.ci.logs, "-finished", s.ci.finished)
		}
		return cmd
	}}
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}

const startTimeout = 10 * time.Second

// start runs the process until it says that it is ready, and tells how long
// that took. Its log goes to a file, as it would in service.
func (s *server) start(ctx context.Context) (time.Duration, error) {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	s.process = s.command()
	s.process.Stdout, s.process.Stderr = log, log
	began := time.Now()
	if err := s.process.Start(); err != nil {
		return 0, err
	}
	for time.Since(began) < startTimeout && ctx.Err() == nil {
		res, err := http.Get("http://" + s.listen + "/-/readiness")
		if err != nil {
			continue // nobody listens yet
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return time.Since(began), nil
		}
	}
	s.stop()
	text, _ := os.ReadFile(s.log)
	return 0, fmt.Errorf("%s did not get ready: %.2000s", s.name, text)
}

func (s *server) stop() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// sameAnswers makes sure that both do the same work.
func sameAnswers(ctx context.Context, a, b *server, path, token string) error {
	first, err := a.get(ctx, path, token)
	if err != nil {
		return err
	}
	second, err := b.get(ctx, path, token)
	if err == nil && !bytes.Equal(first, second) {
		err = fmt.Errorf("%s: answers differ\n%s: %s\n%s: %s", path, a.name, first, b.name, second)
	}
	return err
}

func (s *server) get(ctx context.Context, path, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.listen+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Private-Token", token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s %s", s.name, path, res.Status, body)
	}
	return body, err
}
