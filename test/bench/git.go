package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/test/load/history"
)

// gitRows are the rows that need a repository.
var gitRows = []int{3, 4, 5, 6, 7, 8, 9, 10, pushRow}

const pushRow = 11

// repository is the one repository of a site, which every program reads where
// it lies.
type repository struct {
	id, path string // of its project
	dir      string // of git
	copied   string // a copy beside it, which http-backend may push to
	client   string // a repository with commits to push
	packs    string // folder of kept packs
	quick    bool
	pushes   int // that the client has, for each side
	token    string
}

// owner is somebody with a namespace of their own, which the crowd has not.
const owner = "keeper"

// lay makes a project and puts the history in its place. The server has read
// nothing of it by then.
func (s *site) lay(ctx context.Context, server *server, p plan) error {
	source, err := history.Build(ctx, p.cache, p.size)
	if err != nil {
		return err
	}
	r := &repository{path: owner + "/bench", packs: filepath.Join(s.dir, "cache", "packs"), quick: p.quick}
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	if _, err := s.run(ctx, "admin", "create-user", "--username", owner, "--name", "Keeper", "--email", "keeper@example.com", "--password-file", password); err != nil {
		return err
	}
	if r.token, err = s.run(ctx, "admin", "create-token", "--username", owner, "--name", "bench", "--scopes", "api"); err != nil {
		return err
	}
	var project struct{ ID int64 }
	if err := server.post(ctx, "/api/v4/projects", r.token, url.Values{"name": {"bench"}, "visibility": {"public"}}, &project); err != nil {
		return err
	}
	r.id = strconv.FormatInt(project.ID, 10)
	err = server.post(ctx, "/api/v4/projects/"+r.id+"/repository/files/first", r.token,
		url.Values{"branch": {history.Branch}, "content": {"x"}, "commit_message": {"first"}}, nil)
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(s.dir, "repositories", "@hashed", "*", "*", "*.git"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the repository of the project: %q %w", found, err)
	}
	r.dir = found[0]
	for _, part := range []string{"objects", "refs"} {
		if err := os.RemoveAll(filepath.Join(r.dir, part)); err != nil {
			return err
		}
	}
	for _, part := range []string{"objects", "refs", "packed-refs"} {
		if err := run(ctx, "cp", "-r", filepath.Join(source, part), r.dir); err != nil {
			return err
		}
	}
	r.copied = strings.TrimSuffix(r.dir, ".git") + "-copy.git"
	if err := run(ctx, "cp", "-r", r.dir, r.copied); err != nil {
		return err
	}
	if err := history.Git(ctx, r.copied, nil, "config", "receive.autogc", "false"); err != nil {
		return err
	}
	s.repository = r
	r.pushes = (p.rounds + 1) * (pushesEach + 1)
	r.client = filepath.Join(s.dir, "client.git")
	if !p.wants(pushRow) {
		return nil
	}
	return r.prepare(ctx, source)
}

func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// prepare makes commits to push, each a change of one file.
func (r *repository) prepare(ctx context.Context, source string) error {
	tip, err := history.Output(ctx, source, nil, "rev-parse", history.Branch)
	if err != nil {
		return err
	}
	if err := os.Mkdir(r.client, 0o750); err != nil {
		return err
	}
	if err := history.Git(ctx, r.client, nil, "init", "-q", "--bare"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.client, "objects", "info", "alternates"), []byte(filepath.Join(source, "objects")+"\n"), 0o600); err != nil {
		return err
	}
	var commits bytes.Buffer
	for i := range r.pushes {
		content := fmt.Sprintf("content %d\n", i)
		fmt.Fprintf(&commits, "commit refs/heads/push-%d\ncommitter Ada <ada@example.com> %d +0000\ndata 4\npush\nfrom %s\nM 100644 inline lib-01/new.c\ndata %d\n%s\n",
			i, 1_700_000_000+i, tip, len(content), content)
	}
	return history.Git(ctx, r.client, &commits, "fast-import", "--quiet")
}

// post sends a form and reads the answer.
func (s *server) post(ctx context.Context, path, token string, form url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.listen+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Private-Token", token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s %s %w", path, res.Status, body, err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// How much of what is costly is done in a round.
const (
	comparesEach  = 8
	archivesEach  = 2
	archivesAgain = 8
	clonesEach    = 2
	shallowEach   = 3
	pushesEach    = 6
	// apart is how many steps along first parents make about 185 commits.
	apart = 148
)

// few is a side that does no more than n things in a round.
func few(n int, s *side) *side {
	s.few = n
	return s
}

// pairs are the rows 3 to 11.
func (r *repository) pairs(ctx context.Context, s *site, bare, stithy *server) ([]*pair, error) {
	large, err := history.Output(ctx, r.dir, nil, "rev-parse", history.Branch+":"+history.LargeFile)
	if err != nil {
		return nil, err
	}
	list, err := history.Output(ctx, r.dir, nil, "rev-list", "--first-parent", history.Branch)
	if err != nil {
		return nil, err
	}
	line := strings.Fields(list)
	at, token := "/api/v4/projects/"+r.id+"/repository", "Private-Token: "+r.token
	beside := func(row int, name, path string, limit float64) *pair {
		return &pair{row: row, name: name, limit: limit, sides: [2]*side{get(bare, "bare", at+path, token), get(stithy, "stithy", at+path, token)}}
	}
	raw := "/files/" + history.SmallFile + "/raw?ref=" + history.Branch
	pairs := []*pair{
		beside(3, "tree, 20 entries of the root", "/tree?per_page=20&ref="+history.Branch, 1.2),
		beside(4, "raw file of 3.8 kB", raw, 1.2),
		beside(4, "blob of 130 kB", "/blobs/"+large, 1.2),
		beside(5, "20 commits", "/commits?per_page=20&ref_name="+history.Branch, 1.2),
	}
	pairs[1].today = 2.5 // the fixed cost of a request about a project
	for _, p := range pairs {
		path := string(bytes.Fields(p.sides[0].request(0))[1])
		if err := sameAnswers(ctx, bare, stithy, path, r.token); err != nil {
			return nil, err
		}
	}
	walk := "/tree?recursive=true&pagination=none&ref=" + history.Branch
	if err := sameAnswers(ctx, bare, stithy, at+walk, r.token); err != nil {
		return nil, err
	}
	middle, err := r.middle(ctx, stithy, at)
	if err != nil {
		return nil, err
	}
	tag, err := stithy.tag(ctx, at+raw, r.token)
	if err != nil {
		return nil, err
	}
	unchanged := get(stithy, "304", at+raw, token, "If-None-Match: "+tag)
	unchanged.status = http.StatusNotModified
	full := func() *side { return get(bare, "bare, all of it", at+walk, token) }
	pairs = append(pairs,
		&pair{row: 3, name: "tree, first recursive page of 100", limit: 0.1, sides: [2]*side{full(), get(stithy, "stithy", at+"/tree?recursive=true&pagination=keyset&per_page=100&ref="+history.Branch, token)}},
		&pair{row: 3, name: "tree, recursive page in the middle", limit: 0.1, sides: [2]*side{full(), get(stithy, "stithy", at+middle, token)}},
		&pair{row: 4, name: "raw file, unchanged", limit: 1, sides: [2]*side{get(stithy, "200", at+raw, token), unchanged}},
	)
	pairs = append(pairs, r.comparisons(line, at, token, stithy)...)
	pairs = append(pairs, r.archives(line, at, stithy)...)
	transport, err := r.transports(ctx, bare, stithy)
	if err != nil {
		return nil, err
	}
	return append(append(pairs, transport...), r.pushing(s, bare, stithy)), nil
}

// middle is a page in the middle of a recursive list, by the token of the page
// before.
func (r *repository) middle(ctx context.Context, stithy *server, at string) (string, error) {
	path := "/tree?recursive=true&pagination=keyset&per_page=100&ref=" + history.Branch
	list, err := history.Output(ctx, r.dir, nil, "ls-tree", "-rt", history.Branch)
	if err != nil {
		return "", err
	}
	lines := strings.Split(list, "\n")
	info, name, _ := strings.Cut(lines[len(lines)/2], "\t")
	id := strings.Fields(info)[2]
	path += "&page_token=" + id + ":" + base64.RawURLEncoding.EncodeToString([]byte(name))
	_, err = stithy.get(ctx, at+path, r.token)
	return path, err
}

// tag is the ETag of an answer.
func (s *server) tag(ctx context.Context, path, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.listen+path, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Private-Token", token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return res.Header.Get("Etag"), nil
}

// comparisons are row 6. No two cold ones are of the same commits.
func (r *repository) comparisons(line []string, at, token string, stithy *server) []*pair {
	step, first := 151, 20 // near the tip is what other rows read
	if r.quick {
		step = 17
	}
	ends := func(n int) (from, to string) {
		i := first + n*step%(len(line)-apart-first)
		return line[i+apart], line[i]
	}
	path := func(n int) string {
		from, to := ends(n)
		return at + "/compare?from=" + from + "&to=" + to
	}
	cold := func() *side {
		return &side{name: "stithy, cold", server: stithy, request: func(n int) []byte { return message("GET", path(n), "", token) }}
	}
	git := &side{name: "git log and git diff", do: func(ctx context.Context, n int) error {
		from, to := ends(n)
		if err := r.git(ctx, "log", "--format=raw", from+".."+to); err != nil {
			return err
		}
		return r.git(ctx, "diff", "-M", "--full-index", from+"..."+to)
	}}
	second := cold()
	second.count.Store(1 << 20) // other commits than the first
	return []*pair{
		{row: 6, name: "compare 185 commits", limit: 1.1, sides: [2]*side{few(comparesEach, git), few(comparesEach, cold())}},
		{row: 6, name: "compare 185 commits, again", limit: 0.02, sides: [2]*side{few(comparesEach, second), get(stithy, "stithy, again", path(0), token)}},
	}
}

// git runs a command on the repository for what it costs.
func (r *repository) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + r.dir}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_OPTIONAL_LOCKS=0"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		return err
	}
	return cmd.Wait()
}

// archives are row 7. Nobody in particular asks for them: a person may have five a minute.
func (r *repository) archives(line []string, at string, stithy *server) []*pair {
	path := func(n int) string { return at + "/archive.tar.gz?sha=" + line[n%len(line)] }
	cold := func(from int) *side {
		return &side{name: "stithy, cold", server: stithy, request: func(n int) []byte { return message("GET", path(from+n), "") }}
	}
	git := &side{name: "git archive", do: func(ctx context.Context, n int) error {
		return r.git(ctx, "archive", "--format=tar.gz", "--prefix=bench/", line[n%len(line)])
	}}
	return []*pair{
		{row: 7, name: "archive tar.gz", limit: 1.05, sides: [2]*side{few(archivesEach, git), few(archivesEach, cold(0))}},
		{row: 7, name: "archive tar.gz, again", limit: 0.05, sides: [2]*side{few(archivesEach, cold(len(line)/2)), few(archivesAgain, get(stithy, "stithy, again", path(0)))}},
	}
}

// transports are the rows 8 to 10: what a client sends after the greeting.
func (r *repository) transports(ctx context.Context, bare, stithy *server) ([]*pair, error) {
	tips, err := history.Output(ctx, r.dir, nil, "for-each-ref", "--format=%(objectname)", "refs/heads")
	if err != nil {
		return nil, err
	}
	tip, err := history.Output(ctx, r.dir, nil, "rev-parse", history.Branch)
	if err != nil {
		return nil, err
	}
	post := func(server *server, name, body string, fresh bool) *side {
		path := "/" + r.path + ".git"
		if server == bare {
			path = "/backend/" + filepath.Base(r.dir)
		}
		request := message("POST", path+"/git-upload-pack", body, r.basic(), "Git-Protocol: version=2", "Content-Type: application/x-git-upload-pack-request")
		return &side{name: name, server: server, request: func(int) []byte {
			if fresh { // whatever is kept is made anew: it is always safe to empty the folder
				kept, _ := filepath.Glob(filepath.Join(r.packs, "*"))
				for _, path := range kept {
					_ = os.Remove(path)
				}
			}
			return request
		}}
	}
	lsRefs := packets("command=ls-refs\n", "agent=git/2.39.5\n", "object-format=sha1", "", "peel\n", "symrefs\n", "unborn\n",
		"ref-prefix refs/heads/\n", "ref-prefix refs/tags/\n", "ref-prefix HEAD\n")
	fetch := func(more []string, wants ...string) string {
		lines := append([]string{"command=fetch", "agent=git/2.39.5", "object-format=sha1", "", "thin-pack", "no-progress", "include-tag", "ofs-delta"}, more...)
		for _, want := range wants {
			lines = append(lines, "want "+want+"\n")
		}
		return packets(append(lines, "done\n")...)
	}
	clone, shallow := fetch(nil, strings.Fields(tips)...), fetch([]string{"deepen 1"}, tip)
	for _, body := range []string{lsRefs, clone, shallow} {
		if err := sameSize(post(bare, "", body, false), post(stithy, "", body, false)); err != nil {
			return nil, err
		}
	}
	return []*pair{
		{row: 8, name: "ls-refs over HTTP", limit: 0.5, sides: [2]*side{post(bare, "http-backend", lsRefs, false), post(stithy, "stithy", lsRefs, false)}},
		{row: 9, name: "full clone", limit: 1 / 0.97, sides: [2]*side{few(clonesEach, post(bare, "http-backend", clone, false)), few(clonesEach, post(stithy, "stithy, nothing kept", clone, true))}},
		{row: 10, name: "shallow clone, first", limit: 1.05, sides: [2]*side{few(shallowEach, post(bare, "http-backend", shallow, false)), few(shallowEach, post(stithy, "stithy, nothing kept", shallow, true))}},
		{row: 10, name: "shallow clone, further", limit: 0.02, sides: [2]*side{few(shallowEach, post(bare, "http-backend", shallow, false)), post(stithy, "stithy", shallow, false)}},
	}, nil
}

func (r *repository) basic() string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("any:"+r.token))
}

// packets are lines as git sends them; "" is a delimiter.
func packets(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		if line == "" {
			b.WriteString("0001")
		} else {
			fmt.Fprintf(&b, "%04x%s", len(line)+4, line)
		}
	}
	return b.String() + "0000"
}

// sameSize makes sure that two sides give about as much.
func sameSize(a, b *side) error {
	var sizes [2]int
	for i, s := range []*side{a, b} {
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(s.request(0))))
		if err != nil {
			return err
		}
		req.URL.Scheme, req.URL.Host, req.RequestURI = "http", s.server.listen, ""
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s %.500s %w", s.server.name, res.Status, body, err)
		}
		sizes[i] = len(body)
	}
	if sizes[0] > sizes[1]*6/5 || sizes[1] > sizes[0]*6/5 {
		return fmt.Errorf("answers of %d and %d bytes", sizes[0], sizes[1])
	}
	return nil
}

// pushing is row 11. Upkeep, which http-backend does not do, is left out.
func (r *repository) pushing(s *site, bare, stithy *server) *pair {
	push := func(server *server, name, path string) *side {
		return &side{name: name, server: server, do: func(ctx context.Context, n int) error {
			if server == stithy {
				if err := s.noUpkeep(ctx); err != nil {
					return err
				}
			}
			return history.Git(ctx, r.client, nil, "-c", "http.extraHeader="+r.basic(), "push", "-q", "http://"+server.listen+path,
				fmt.Sprintf("push-%d:refs/heads/push-%d", n, n))
		}}
	}
	return &pair{row: pushRow, name: "push of one commit", limit: 1.3, sides: [2]*side{
		few(pushesEach, push(bare, "http-backend", "/backend/"+filepath.Base(r.copied))), few(pushesEach, push(stithy, "stithy", "/"+r.path+".git")),
	}}
}

// noUpkeep takes back the order to tidy up that a push leaves.
func (s *site) noUpkeep(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `delete from river_job where kind = 'repository_maintain' and state = 'scheduled'`)
	return err
}
