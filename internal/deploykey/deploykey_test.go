package deploykey_test

import (
	"crypto/ed25519"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"stithy/internal/app/apptest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is two projects with a maintainer each.
type fixture struct {
	*apptest.Instance
	tool, site       *project.Project
	root, me, friend *user.User // friend maintains the site alone
	developer        *user.User
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.root = usertest.New(t, w.DB, usertest.Admin())
	w.me, w.friend, w.developer = usertest.New(t, w.DB), usertest.New(t, w.DB), usertest.New(t, w.DB)
	g := grouptest.New(t, w.DB)
	w.tool, w.site = projecttest.New(t, w.DB, g.ID), projecttest.New(t, w.DB, g.ID)
	projecttest.Join(t, w.DB, w.tool, w.me, access.Maintainer)
	projecttest.Join(t, w.DB, w.site, w.me, access.Maintainer)
	projecttest.Join(t, w.DB, w.site, w.friend, access.Maintainer)
	projecttest.Join(t, w.DB, w.tool, w.developer, access.Developer)
	return w
}

// line is the nth key that there is.
func line(t *testing.T, n byte) string {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	key, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(seed).Public())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func keysOf(p *project.Project, below ...any) string {
	path := "/projects/" + strconv.FormatInt(p.ID, 10) + "/deploy_keys"
	for _, part := range below {
		switch part := part.(type) {
		case int64:
			path += "/" + strconv.FormatInt(part, 10)
		case string:
			path += "/" + part
		}
	}
	return path
}

type entity struct {
	ID                int64
	Title, Key        string
	FingerprintSHA256 string     `json:"fingerprint_sha256"`
	ExpiresAt         *time.Time `json:"expires_at"`
	CanPush           bool       `json:"can_push"`
}

func (w *fixture) add(t *testing.T, p *project.Project, n byte) entity {
	t.Helper()
	r := w.As(t, w.me).Do(t, "POST", keysOf(p), url.Values{"title": {"robot"}, "key": {line(t, n) + " robot@host"}})
	return httpapitest.JSON[entity](t, r.WantStatus(t, http.StatusCreated))
}

func TestAKeyIsAddedShownChangedAndTaken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.add(t, w.tool, 1)
	if k.Key != line(t, 1) || k.Title != "robot" || k.CanPush || !strings.HasPrefix(k.FingerprintSHA256, "SHA256:") {
		t.Errorf("%+v", k)
	}
	me := w.As(t, w.me)
	if got := httpapitest.JSON[[]entity](t, me.Do(t, "GET", keysOf(w.tool), nil).WantStatus(t, 200)); len(got) != 1 || got[0] != k {
		t.Errorf("%+v", got)
	}
	changed := httpapitest.JSON[entity](t, me.Do(t, "PUT", keysOf(w.tool, k.ID), url.Values{"can_push": {"true"}, "title": {"crane"}}).WantStatus(t, 200))
	if !changed.CanPush || changed.Title != "crane" {
		t.Errorf("%+v", changed)
	}
	me.Do(t, "DELETE", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNoContent)
	me.Do(t, "GET", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNotFound)
	if _, err := w.DeployKeys.FindByFingerprint(t.Context(), k.FingerprintSHA256); !fault.Is(err, fault.NotFound) {
		t.Errorf("a key without a project: %v", err)
	}
	acts := w.Audited()
	if len(acts) != 3 || acts[0].Type != "deploy_key_added" || acts[1].Type != "deploy_key_updated" || acts[2].Type != "deploy_key_removed" {
		t.Errorf("%+v", acts)
	}
}

func TestMaintainersAloneManageKeys(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.add(t, w.tool, 1)
	w.As(t, w.developer).Do(t, "GET", keysOf(w.tool), nil).WantStatus(t, http.StatusForbidden)
	w.As(t, w.friend).Do(t, "GET", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.me).Do(t, "GET", keysOf(w.site, k.ID), nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.me).Do(t, "GET", "/deploy_keys", nil).WantStatus(t, http.StatusForbidden)
	if got := httpapitest.JSON[[]entity](t, w.As(t, w.root).Do(t, "GET", "/deploy_keys", nil).WantStatus(t, 200)); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAKeyIsTakenOnlyByWhoMaintainsAProjectThatHasIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.add(t, w.tool, 1)
	w.As(t, w.friend).Do(t, "POST", keysOf(w.site, k.ID, "enable"), nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.friend).Do(t, "POST", keysOf(w.site, int64(999), "enable"), nil).WantStatus(t, http.StatusNotFound)
	for range 2 {
		got := httpapitest.JSON[entity](t, w.As(t, w.me).Do(t, "POST", keysOf(w.site, k.ID, "enable"), nil).WantStatus(t, http.StatusCreated))
		if got.ID != k.ID || got.CanPush {
			t.Errorf("%+v", got)
		}
	}
	// Who has it now may allow it more in their own project, and not rename it for all.
	w.As(t, w.friend).Do(t, "PUT", keysOf(w.site, k.ID), url.Values{"can_push": {"true"}}).WantStatus(t, 200)
	w.As(t, w.friend).Do(t, "PUT", keysOf(w.site, k.ID), url.Values{"title": {"mine"}}).WantStatus(t, http.StatusForbidden)
	if got, err := w.DeployKeys.Find(t.Context(), w.tool.ID, k.ID); err != nil || got.CanPush {
		t.Errorf("%+v, %v", got, err)
	}
	w.As(t, w.me).Do(t, "DELETE", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNoContent)
	if _, err := w.DeployKeys.FindByFingerprint(t.Context(), k.FingerprintSHA256); err != nil {
		t.Errorf("the key went while a project has it: %v", err)
	}
}

func TestGI13_AKeyProvesOneThing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	taken := func(r *httpapitest.Reply) {
		t.Helper()
		if body := r.WantStatus(t, http.StatusBadRequest); !strings.Contains(body.Body, "has already been taken") {
			t.Errorf("%s", body.Body)
		}
	}
	w.add(t, w.tool, 1)
	form := func(n byte) url.Values { return url.Values{"title": {"k"}, "key": {line(t, n)}} }
	taken(w.As(t, w.me).Do(t, "POST", keysOf(w.site), form(1)))
	taken(w.As(t, w.friend).Do(t, "POST", "/user/keys", form(1)))
	w.As(t, w.friend).Do(t, "POST", "/user/keys", form(2)).WantStatus(t, http.StatusCreated)
	taken(w.As(t, w.me).Do(t, "POST", keysOf(w.tool), form(2)))
	if _, err := w.DeployKeys.FindByFingerprint(t.Context(), "SHA256:none"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestAKeyThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []url.Values{
		{"title": {"k"}}, {"key": {line(t, 1)}}, {"title": {" "}, "key": {line(t, 1)}}, {"title": {"k"}, "key": {"ssh-ed25519 AAAA"}},
		{"title": {"k"}, "key": {`command="x" ` + line(t, 1)}}, {"title": {"k"}, "key": {line(t, 1) + "\n" + line(t, 2)}},
		{"title": {strings.Repeat("x", 256)}, "key": {line(t, 1)}}, {"title": {"k"}, "key": {line(t, 1)}, "expires_at": {"2020-01-01"}},
	} {
		w.As(t, w.me).Do(t, "POST", keysOf(w.tool), c).WantStatus(t, http.StatusBadRequest)
	}
	later := w.As(t, w.me).Do(t, "POST", keysOf(w.tool), url.Values{"title": {"k"}, "key": {line(t, 1)}, "expires_at": {"2024-06-01T00:00:00Z"}})
	k := httpapitest.JSON[entity](t, later.WantStatus(t, http.StatusCreated))
	found, err := w.DeployKeys.FindByFingerprint(t.Context(), k.FingerprintSHA256)
	if err != nil || found.Expired(w.Now()) || !found.Expired(w.Now().AddDate(0, 1, 0)) {
		t.Errorf("%+v, %v", found, err)
	}
}
