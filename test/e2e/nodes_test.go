package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	gitlab "gitlab.com/gitlab-org/api/client-go"
)

const redisAddress = "127.0.0.1:6379"

// pair is two nodes on one database and one Redis. Behind a proxy they are one forge.
type pair struct {
	*forge
	nodes [2]*node
}

func startPair(t *testing.T, env ...string) *pair {
	t.Helper()
	p := &pair{forge: install(t, append(env, "STITHY_REDIS_URL="+redisURL(t), "STITHY_TRUSTED_PROXIES=127.0.0.1")...)}
	for i := range p.nodes {
		p.nodes[i] = p.serve("STITHY_LISTEN=" + freeAddress(t))
	}
	return p
}

// on is the client that talks to one node alone.
func (p *pair) on(t testing.TB, node int, token string) *gitlab.Client {
	t.Helper()
	c, err := gitlab.NewClient(token, gitlab.WithBaseURL(p.nodes[node].url), gitlab.WithoutRetries())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// redisURL is a database of the server that no other test uses: accounts of two forges have the same ids.
func redisURL(t *testing.T) string {
	t.Helper()
	for number := 1; number < 16; number++ {
		conn, err := redis.Dial("tcp", redisAddress, redis.DialDatabase(number))
		if err != nil {
			t.Fatal(err)
		}
		_, err = redis.String(conn.Do("SET", "claimed-by-a-test", os.Getpid(), "NX", "EX", 600))
		if errors.Is(err, redis.ErrNil) {
			_ = conn.Close()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, err := conn.Do("FLUSHDB")
			if err := errors.Join(err, conn.Close()); err != nil {
				t.Error(err)
			}
		})
		return fmt.Sprintf("redis://%s/%d", redisAddress, number)
	}
	t.Fatal("every database of Redis is in use")
	return ""
}

// proxy puts the HAProxy of the operators' guide before the nodes: only the addresses are ours.
func (p *pair) proxy() {
	t := p.t
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy"
	}
	need(t, "haproxy is missing: apt-get install -y haproxy", program, "-v")
	one, more := haproxyBlock(t, "proxies.md"), haproxyBlock(t, "several-nodes.md")
	front, _, _ := strings.Cut(one, "\nbackend ")
	front = regexp.MustCompile(`(?m)^    bind .*$`).ReplaceAllString(front, "    bind "+strings.TrimPrefix(p.url, "http://"))
	for i, address := range []string{"10.0.0.11:8080", "10.0.0.12:8080"} {
		if !strings.Contains(more, address) {
			t.Fatalf("the guide has no node at %s", address)
		}
		more = strings.Replace(more, address, strings.TrimPrefix(p.nodes[i].url, "http://"), 1)
	}
	config := p.file("haproxy.cfg", front+"\n\n"+more+"\n")
	log := p.log()
	cmd := exec.Command(program, "-db", "-f", config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy:\n%s", log)
		}
	})
	eventually(t, patience, "the proxy answers", func() bool {
		resp, err := http.Get(p.url + "/-/liveness")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

func haproxyBlock(t testing.TB, page string) string {
	t.Helper()
	text := readFile(t, filepath.Join(root, "docs/operations", page))
	_, text, found := strings.Cut(text, "```haproxy\n")
	if !found {
		t.Fatalf("%s has no configuration for HAProxy", page)
	}
	block, _, _ := strings.Cut(text, "\n```")
	return block
}

func TestTwoNodesBehindHaproxyAreOne(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	p.proxy()
	t.Run("a token made on one works on the other at once", p.tokensAreShared)
	t.Run("a path goes through the proxy as it came", p.pathsAreKept)
	t.Run("a change of settings on one is seen by the other", p.settingsAreShared)
	t.Run("a rate limit counts over both", p.limitsAreShared)
	t.Run("what was acknowledged survives the death of a node", p.deathLosesNothing)
}

func (p *pair) tokensAreShared(t *testing.T) {
	for i := range 20 {
		made := call(p.on(t, i%2, p.token).Users.CreatePersonalAccessToken(1, &gitlab.CreatePersonalAccessTokenOptions{
			Name: new("shared"), Scopes: &[]string{"api"},
		})).ok(t, http.StatusCreated)
		p.secret(made.Token)
		call(p.on(t, (i+1)%2, made.Token).Users.CurrentUser()).ok(t, http.StatusOK)
		call(p.client(t, made.Token).Users.CurrentUser()).ok(t, http.StatusOK)
	}
}

func (p *pair) pathsAreKept(t *testing.T) {
	attribute := p.url + "/api/v4/users/1/custom_attributes/with%2Fslash"
	for _, c := range []struct {
		method string
		body   string
		status int
	}{
		{http.MethodPut, "value=x", http.StatusOK},
		{http.MethodGet, "", http.StatusOK},
		{http.MethodDelete, "", http.StatusNoContent},
		{http.MethodGet, "", http.StatusNotFound},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, attribute, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("PRIVATE-TOKEN", p.token)
		if c.body != "" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s %s", c.method, resp.Status, text)
		}
	}
}

func (p *pair) settingsAreShared(t *testing.T) {
	for i := range p.nodes {
		want := fmt.Sprintf("text of node %d", i)
		call(p.on(t, i, p.token).Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{AfterSignUpText: &want})).ok(t, http.StatusOK)
		for j := range p.nodes {
			eventually(t, 5*time.Second, "the new text", func() bool {
				return call(p.on(t, j, p.token).Settings.GetSettings()).ok(t, http.StatusOK).AfterSignUpText == want
			})
		}
	}
}

func (p *pair) limitsAreShared(t *testing.T) {
	const limit, sent = 20, 30
	const window = time.Hour
	hasty := call(p.on(t, 0, p.token).Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("hasty"), Name: new("Hasty"), Email: new("hasty@example.com"), ForceRandomPassword: new(true), SkipConfirmation: new(true),
	})).ok(t, http.StatusCreated)
	made := call(p.on(t, 0, p.token).Users.CreatePersonalAccessToken(hasty.ID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("hasty"), Scopes: &[]string{"api"},
	})).ok(t, http.StatusCreated)
	p.secret(made.Token)
	call(p.on(t, 0, p.token).Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{
		ThrottleAuthenticatedAPIEnabled: new(true), ThrottleAuthenticatedAPIRequestsPerPeriod: new(int64(limit)),
		ThrottleAuthenticatedAPIPeriodInSeconds: new(int64(window.Seconds())),
	})).ok(t, http.StatusOK)
	// Until the other node knows, it does not count: root stays far below the limit.
	eventually(t, 5*time.Second, "the other node knows the limit", func() bool {
		return call(p.on(t, 1, p.token).Settings.GetSettings()).ok(t, http.StatusOK).ThrottleAuthenticatedAPIEnabled
	})

	began := time.Now().Truncate(window)
	passed := 0
	for i := range sent {
		_, resp, err := p.on(t, i%2, made.Token).Users.CurrentUser()
		switch {
		case err == nil:
			passed++
		case resp == nil || resp.StatusCode != http.StatusTooManyRequests:
			t.Fatal(err)
		case resp.Header.Get("RateLimit-Name") != "throttle_authenticated_api" || resp.Header.Get("Retry-After") == "" || resp.Header.Get("RateLimit-Remaining") != "0":
			t.Errorf("headers of a refusal: %v", resp.Header)
		}
	}
	if passed != limit && time.Now().Truncate(window).Equal(began) {
		t.Errorf("%d of %d requests passed over both nodes, the limit is %d", passed, sent, limit)
	}
	call(p.on(t, 0, p.token).Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{ThrottleAuthenticatedAPIEnabled: new(false)})).ok(t, http.StatusOK)
	eventually(t, 5*time.Second, "the limit is gone", func() bool {
		_, _, one := p.on(t, 0, made.Token).Users.CurrentUser()
		_, _, two := p.on(t, 1, made.Token).Users.CurrentUser()
		return one == nil && two == nil
	})
}

// creation is one attempt to make an account: it was acknowledged with an id, or nobody knows.
type creation struct {
	username string
	id       int64 // 0 when there was no answer
}

// deathLosesNothing kills a node in the middle of many creations. Whoever got no answer tries again under another name.
func (p *pair) deathLosesNothing(t *testing.T) {
	wanted, err := strconv.Atoi(cmp.Or(os.Getenv("STITHY_E2E_CREATES"), "300"))
	if err != nil {
		t.Fatal(err)
	}
	const hands = 16
	var (
		mu           sync.Mutex
		creations    []creation
		acknowledged int
		killed       sync.Once
		group        sync.WaitGroup
	)
	work := make(chan int)
	for range hands {
		group.Go(func() {
			for i := range work {
				for attempt, done := 1, false; !done; attempt++ {
					c, err := p.create(t.Context(), fmt.Sprintf("survivor-%d-%d", i, attempt))
					if err != nil {
						t.Error(err)
						break
					}
					mu.Lock()
					creations = append(creations, c)
					if done = c.id != 0; done {
						acknowledged++
					}
					half := acknowledged >= wanted/2
					mu.Unlock()
					if half {
						killed.Do(p.nodes[0].kill)
					}
					if attempt == 100 {
						t.Errorf("no answer in %d attempts", attempt)
						break
					}
				}
			}
		})
	}
	for i := range wanted {
		work <- i
	}
	close(work)
	group.Wait()

	opt := &gitlab.ListUsersOptions{ListOptions: gitlab.ListOptions{Pagination: "keyset", OrderBy: "id", Sort: "asc", PerPage: 100}}
	pages, failed := gitlab.Scan(func(page gitlab.PaginationOptionFunc) ([]*gitlab.User, *gitlab.Response, error) {
		return p.on(t, 1, p.token).Users.ListUsers(opt, page)
	})
	names, ids := map[string]int{}, map[int64]string{}
	for u := range pages {
		names[u.Username]++
		ids[u.ID] = u.Username
	}
	if err := failed(); err != nil {
		t.Fatal(err)
	}
	unknown, asked := 0, map[string]bool{}
	for _, c := range creations {
		asked[c.username] = true
		switch {
		case c.id == 0:
			unknown++
		case ids[c.id] != c.username:
			t.Errorf("acknowledged as %d, %s is there as %q", c.id, c.username, ids[c.id])
		}
	}
	for name, times := range names {
		if times > 1 {
			t.Errorf("%s is there %d times", name, times)
		}
		if strings.HasPrefix(name, "survivor-") && !asked[name] {
			t.Errorf("nobody asked for %s", name)
		}
	}
	if acknowledged != wanted {
		t.Errorf("%d of %d were acknowledged", acknowledged, wanted)
	}
	for i, n := range p.nodes {
		if !strings.Contains(n.log.String(), `"route":"POST /users"`) && !strings.Contains(n.log.String(), `"path":"/api/v4/users"`) {
			t.Errorf("node %d never made an account: the proxy did not share the work", i)
		}
	}
	t.Logf("%d acknowledged, %d without an answer, %d accounts", acknowledged, unknown, len(ids))
}

// create asks the proxy for an account. No answer, or the word of the proxy that it has none, is no error.
func (p *pair) create(ctx context.Context, username string) (creation, error) {
	c := creation{username: username}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body := fmt.Sprintf(`{"username":%[1]q,"name":%[1]q,"email":"%[1]s@example.com","force_random_password":true,"skip_confirmation":true}`, username)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/api/v4/users", strings.NewReader(body))
	if err != nil {
		return c, err
	}
	req.Header.Set("PRIVATE-TOKEN", p.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil, resp.StatusCode == http.StatusBadGateway, resp.StatusCode == http.StatusServiceUnavailable, resp.StatusCode == http.StatusGatewayTimeout:
		return c, nil
	case resp.StatusCode != http.StatusCreated:
		return c, fmt.Errorf("%s: %s %s", username, resp.Status, text)
	}
	var made struct {
		ID       int64
		Username string
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return c, err
	}
	if made.ID == 0 || made.Username != username {
		return c, fmt.Errorf("%s: answered %s", username, text)
	}
	c.id = made.ID
	return c, nil
}

// What one node takes away is gone on the other within a second, however often that one has just looked.
func TestMN02_ARightThatOneNodeTakesAwayIsGoneOnTheOther(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	admin, there := p.on(t, 0, p.token), func(token string) *gitlab.Client { return p.on(t, 1, token) }
	person := func(username string, scopes ...string) (*gitlab.User, *gitlab.PersonalAccessToken) {
		u := call(admin.Users.CreateUser(&gitlab.CreateUserOptions{
			Username: &username, Name: &username, Email: new(username + "@example.com"), ForceRandomPassword: new(true), SkipConfirmation: new(true), Admin: new(true),
		})).ok(t, http.StatusCreated)
		made := call(admin.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
			Name: new("mn02"), Scopes: &scopes,
		})).ok(t, http.StatusCreated)
		p.secret(made.Token)
		return u, made
	}
	for _, c := range []struct {
		name   string
		take   func(*gitlab.User, *gitlab.PersonalAccessToken)
		status int
	}{
		{"revoked", func(_ *gitlab.User, token *gitlab.PersonalAccessToken) {
			act(admin.PersonalAccessTokens.RevokePersonalAccessTokenByID(token.ID)).ok(t, http.StatusNoContent)
		}, http.StatusUnauthorized},
		{"rotated", func(_ *gitlab.User, token *gitlab.PersonalAccessToken) {
			p.secret(call(admin.PersonalAccessTokens.RotatePersonalAccessTokenByID(token.ID, &gitlab.RotatePersonalAccessTokenOptions{})).ok(t, http.StatusOK).Token)
		}, http.StatusUnauthorized},
		{"blocked", func(u *gitlab.User, _ *gitlab.PersonalAccessToken) {
			if err := admin.Users.BlockUser(u.ID); err != nil {
				t.Fatal(err)
			}
		}, http.StatusForbidden},
		{"demoted", func(u *gitlab.User, _ *gitlab.PersonalAccessToken) {
			call(admin.Users.ModifyUser(u.ID, &gitlab.ModifyUserOptions{Admin: new(false)})).ok(t, http.StatusOK)
		}, http.StatusForbidden},
		{"deleted", func(u *gitlab.User, _ *gitlab.PersonalAccessToken) {
			act(admin.Users.DeleteUser(u.ID)).ok(t, http.StatusNoContent)
		}, http.StatusUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, token := person("mn02-"+c.name, "api")
			other := there(token.Token)
			for range 5 {
				call(other.Settings.GetSettings()).ok(t, http.StatusOK)
			}
			c.take(u, token)
			eventually(t, time.Second, "the other node refuses", func() bool {
				_, resp, err := other.Settings.GetSettings()
				return err != nil && resp != nil && resp.StatusCode == c.status
			})
		})
	}
}
