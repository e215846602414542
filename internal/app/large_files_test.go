package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"stithy/internal/kit/access"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

const batch = "/house/hidden.git/info/lfs/objects/batch"

// ask sends the body of a batch as an LFS client does.
func (d *doors) ask(secret, body string) *httptest.ResponseRecorder {
	return d.post(batch, secret, body)
}

func (d *doors) post(path, secret, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	r.Header.Set("Content-Type", "application/vnd.git-lfs+json")
	r.SetBasicAuth("x", secret)
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w
}

func TestWhereGitComesOverSSHAloneSoDoLargeFiles(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	boss := d.people[access.Maintainer]
	token := d.token(t, boss, access.ScopeAPI)
	ticket, _, err := d.LFS.Ticket(boss.ID, 0, d.hidden.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	const download = `{"operation": "download", "objects": []}`
	for _, secret := range []string{token, ticket.Reveal()} {
		if w := d.ask(secret, download); w.Code != 200 {
			t.Fatalf("before: %d %s", w.Code, w.Body)
		}
	}
	d.set(t, map[string]any{"enabled_git_access_protocol": "ssh"})
	if w := d.ask(token, download); w.Code != 403 {
		t.Errorf("with a token: %d %s", w.Code, w.Body)
	}
	if w := d.ask(ticket.Reveal(), download); w.Code != 200 {
		t.Errorf("with what SSH gave: %d %s", w.Code, w.Body)
	}
}

// ticket is what SSH gives an LFS client, as it sends it on.
func (s *sshDoors) ticket(t *testing.T, path, operation string, signer ssh.Signer) string {
	t.Helper()
	out, said, err := s.run(t, "git-lfs-authenticate '"+path+"' "+operation, signer)
	if err != nil {
		t.Fatal(err, said)
	}
	var given struct{ Header map[string]string }
	if err := json.Unmarshal([]byte(out), &given); err != nil {
		t.Fatal(err)
	}
	r := http.Request{Header: http.Header{"Authorization": {given.Header["Authorization"]}}}
	_, secret, _ := r.BasicAuth()
	return secret
}

// What a ticket opens is asked anew each time: its holder may have lost what they had when SSH gave it.
func TestATicketOpensWhatItsHolderMayStillOpen(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	boss := d.people[access.Maintainer]
	reader, readerID := d.deployKey(t, boss, "house/hidden", false)
	writer, writerID := d.deployKey(t, boss, "house/hidden", true)
	taken, takenID := d.deployKey(t, boss, "house/hidden", true)
	maker := usertest.New(t, d.DB)
	projecttest.Join(t, d.DB, d.hidden, maker, access.Maintainer)
	orphan, _ := d.deployKey(t, maker, "house/hidden", true)
	ofBoss, _ := d.keyOf(t, boss)
	ofLost, _ := d.keyOf(t, d.people[access.Developer])
	ofBlocked, _ := d.keyOf(t, d.people[access.Owner])
	reading, writing, old := s.ticket(t, "house/hidden", "download", reader), s.ticket(t, "house/hidden", "upload", writer), s.ticket(t, "house/hidden", "upload", taken)
	left, whole, some := s.ticket(t, "house/hidden", "upload", orphan), s.ticket(t, "house/hidden", "upload", ofBoss), s.ticket(t, "house/hidden", "download", ofBoss)
	lost, shut := s.ticket(t, "house/hidden", "upload", ofLost), s.ticket(t, "house/hidden", "upload", ofBlocked)
	check := func(who, path, secret string, download, upload, lock int) {
		t.Helper()
		for _, c := range []struct {
			below, body string
			want        int
		}{
			{"objects/batch", `{"operation": "download", "objects": []}`, download}, {"objects/batch", `{"operation": "upload", "objects": []}`, upload},
			{"locks/verify", `{}`, lock},
		} {
			if w := d.post("/"+path+".git/info/lfs/"+c.below, secret, c.body); w.Code != c.want {
				t.Errorf("%s, %s %s: %d %.100s, want %d", who, path, c.body, w.Code, w.Body, c.want)
			}
		}
	}
	for _, c := range []struct {
		who, secret            string
		download, upload, lock int
	}{
		{"a person who writes", whole, 200, 200, 200},
		{"a person who reads", some, 200, 403, 404},
		{"a machine that reads", reading, 200, 403, 404},
		{"a machine that writes", writing, 200, 200, 200},
	} {
		check(c.who, "house/hidden", c.secret, c.download, c.upload, c.lock)
	}
	for who, secret := range map[string]string{"a person": whole, "a machine": writing} {
		check(who, "house/open", secret, 404, 404, 404)
	}
	for _, path := range []string{"house/open", "elsewhere/other", "house/nothing"} {
		check("a machine that reads", path, reading, 401, 401, 401)
	}

	d.exec(t, `update members set access_level = $2 where user_id = any($1)`, []int64{maker.ID, d.people[access.Developer].ID}, access.Reporter)
	check("a person who reads now", "house/hidden", lost, 200, 403, 403)
	check("a machine whose maker reads now", "house/hidden", left, 200, 403, 403)
	d.exec(t, `delete from members where user_id = any($1)`, []int64{maker.ID, d.people[access.Developer].ID})
	d.exec(t, `update users set state = 'blocked' where id = $1`, d.people[access.Owner].ID)
	d.exec(t, `delete from deploy_key_projects where deploy_key_id = $1`, takenID)
	d.exec(t, `update deploy_key_projects set can_push = false where deploy_key_id = $1`, writerID)
	check("a person who left", "house/hidden", lost, 404, 404, 404)
	check("a blocked person", "house/hidden", shut, 403, 403, 403)
	check("a machine whose key was taken away", "house/hidden", old, 401, 401, 401)
	check("a machine whose maker left", "house/hidden", left, 404, 404, 404)
	check("a machine that may write no more", "house/hidden", writing, 200, 403, 403)
	d.api(t, "PUT", below(d.hidden, ""), map[string]any{"repository_access_level": "disabled"}, "")
	check("a machine, where the repository is off", "house/hidden", reading, 403, 403, 404)
	d.api(t, "PUT", below(d.hidden, ""), map[string]any{"repository_access_level": "enabled"}, "")
	d.exec(t, `update deploy_keys set expires_at = '2020-01-01' where id = any($1)`, []int64{readerID, writerID})
	check("a machine whose key has expired", "house/hidden", reading, 401, 401, 404)
	check("a machine whose key has expired", "house/hidden", writing, 401, 401, 401)
	d.exec(t, `delete from users where id = $1`, boss.ID)
	check("a person who is gone", "house/hidden", some, 401, 401, 401)
}

func TestRequestsOfLargeFilesAreThrottledByPerson(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	one, two := d.token(t, d.people[access.Maintainer], access.ScopeAPI), d.token(t, d.people[access.Developer], access.ScopeAPI)
	d.set(t, map[string]any{
		"throttle_authenticated_git_lfs_enabled": true, "throttle_authenticated_git_lfs_requests_per_period": 2,
		"throttle_authenticated_git_lfs_period_in_seconds": 86400,
	})
	for n, want := range []int{200, 200, 429, 429} {
		if w := d.ask(one, `{}`); w.Code != want && (want == 429 || w.Code == 429) {
			t.Errorf("request %d: %d %s", n+1, w.Code, w.Body)
		}
	}
	if w := d.ask(two, `{}`); w.Code == 429 {
		t.Errorf("somebody else: %d %s", w.Code, w.Body)
	}
}

// What a client sends is counted before anything is built from it.
func TestABatchOfLargeFilesIsBounded(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	token := d.token(t, d.people[access.Maintainer], access.ScopeAPI)
	for what, body := range map[string]string{
		"many elements": `{"operation": "download", "objects": [` + strings.Repeat(`{},`, 300_000) + `{}]}`,
		"nested deeply": `{"x": ` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}`,
		"long":          `{"operation": "` + strings.Repeat("x", 2<<20) + `"}`,
	} {
		w := d.ask(token, body)
		if w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %.100s", what, w.Code, w.Body)
		}
		if h := w.Header(); h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", what, h)
		}
	}
}

// tooSlow is a body whose client stopped sending.
type tooSlow struct{}

func (tooSlow) Read([]byte) (int, error) { return 0, lifecycle.ErrSlow }

func TestWhoStopsSendingHearsSoAtEveryDoor(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	token := d.token(t, d.people[access.Maintainer], access.ScopeAPI)
	for target, media := range map[string]string{
		"/api/v4/projects": "application/json", "/oauth/token": "application/x-www-form-urlencoded", "/users/sign_in": "application/x-www-form-urlencoded",
		batch: "application/vnd.git-lfs+json", "/house/hidden.git/git-upload-pack": "application/x-git-upload-pack-request",
	} {
		r := httptest.NewRequest("POST", target, tooSlow{})
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", media)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		switch {
		case strings.HasPrefix(target, "/api/"):
			r.Header.Set("PRIVATE-TOKEN", token)
		case strings.HasPrefix(target, "/house/"):
			r.SetBasicAuth("x", token)
		}
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, r)
		if w.Code != http.StatusRequestTimeout {
			t.Errorf("%s: %d %.200s", target, w.Code, w.Body)
		}
	}
}

func TestAPathThatIsTooLongIsRefusedAtEveryDoor(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for _, before := range []string{"/", "/api/v4/", "/oauth/", "/house/hidden.git/", "/-/api/", "/house/-/"} {
		for _, letter := range []string{"a", "%2e"} {
			w := i.do("GET", before+strings.Repeat(letter, 40_000), nil, nil)
			if w.Code != http.StatusRequestURITooLong || w.Body.Len() > 1000 || len(w.Header().Get("Location")) > 0 {
				t.Errorf("%s%s…: %d, %d bytes", before, letter, w.Code, w.Body.Len())
			}
		}
	}
}
