package deploykey_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"stithy/internal/deploykey"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting/settingtest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is two projects with a maintainer each, behind the API.
type fixture struct {
	*httpapitest.Client
	*deploykey.Service
	users            *user.Service
	db               *postgres.DB
	now              time.Time
	tool, site       *project.Project
	root, me, friend *user.User // friend maintains the site alone
	developer        *user.User
	records          []bus.AuditRecord
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{db: postgrestest.New(t), now: time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	now := clock.Clock(func() time.Time { return w.now })
	home := &url.URL{Scheme: "https", Host: "forge.example"}
	names := wire.Names{Service: "svc", Errors: "errsvc"}
	events, settings := bus.New(), settingtest.New(t, w.db)
	w.users = user.New(user.Deps{
		DB: w.db, Bus: events, Settings: settings, Clock: now, Log: log, ExternalURL: home, Names: names,
		Queue: &jobqueue.Queue{}, Hasher: secretbox.NewHasher(1),
	})
	groups := group.New(group.Deps{
		DB: w.db, Bus: events, Settings: settings, Users: w.users, Clock: now, Log: log, ExternalURL: home.String(),
		Queue: &jobqueue.Queue{}, Projects: grouptest.NoProjects{},
	})
	projects := project.New(project.Deps{
		DB: w.db, Bus: events, Settings: settings, Users: w.users, Groups: groups, Clock: now, Log: log, ExternalURL: home.String(), Names: names,
		Queue: &jobqueue.Queue{}, Outbound: &outbound.Guard{}, Code: projecttest.NoCode{}, JobTokens: projecttest.NoJobTokens{},
	})
	w.Service = deploykey.New(deploykey.Deps{DB: w.db, Bus: events, Projects: projects, Clock: now})
	events.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Client = httpapitest.Start(t, &httpapi.Server{Endpoints: slices.Concat(w.Endpoints(), w.users.Endpoints()), Clock: now})
	w.root = usertest.New(t, w.db, usertest.Admin())
	w.me, w.friend, w.developer = usertest.New(t, w.db), usertest.New(t, w.db), usertest.New(t, w.db)
	g := grouptest.New(t, w.db)
	w.tool, w.site = projecttest.New(t, w.db, g.ID), projecttest.New(t, w.db, g.ID)
	projecttest.Join(t, w.db, w.tool, w.me, access.Maintainer)
	projecttest.Join(t, w.db, w.site, w.me, access.Maintainer)
	projecttest.Join(t, w.db, w.site, w.friend, access.Maintainer)
	projecttest.Join(t, w.db, w.tool, w.developer, access.Developer)
	return w
}

func (w *fixture) as(u *user.User) *httpapitest.Client { return w.AsAccount(*u.Person(), u) }

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
	r := w.as(w.me).Do(t, "POST", keysOf(p), url.Values{"title": {"robot"}, "key": {line(t, n) + " robot@host"}})
	return httpapitest.JSON[entity](t, r.WantStatus(t, http.StatusCreated))
}

func TestAKeyIsAddedShownChangedAndTaken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.add(t, w.tool, 1)
	if k.Key != line(t, 1) || k.Title != "robot" || k.CanPush || !strings.HasPrefix(k.FingerprintSHA256, "SHA256:") {
		t.Errorf("%+v", k)
	}
	me := w.as(w.me)
	if got := httpapitest.JSON[[]entity](t, me.Do(t, "GET", keysOf(w.tool), nil).WantStatus(t, 200)); len(got) != 1 || got[0] != k {
		t.Errorf("%+v", got)
	}
	changed := httpapitest.JSON[entity](t, me.Do(t, "PUT", keysOf(w.tool, k.ID), url.Values{"can_push": {"true"}, "title": {"crane"}}).WantStatus(t, 200))
	if !changed.CanPush || changed.Title != "crane" {
		t.Errorf("%+v", changed)
	}
	me.Do(t, "DELETE", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNoContent)
	me.Do(t, "GET", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNotFound)
	if _, err := w.FindByFingerprint(t.Context(), k.FingerprintSHA256); !fault.Is(err, fault.NotFound) {
		t.Errorf("a key without a project: %v", err)
	}
	if len(w.records) != 2 || w.records[0].Type != "deploy_key_added" || w.records[1].Type != "deploy_key_removed" {
		t.Errorf("%+v", w.records)
	}
}

func TestMaintainersAloneManageKeys(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.add(t, w.tool, 1)
	w.as(w.developer).Do(t, "GET", keysOf(w.tool), nil).WantStatus(t, http.StatusForbidden)
	w.as(w.friend).Do(t, "GET", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNotFound)
	w.as(w.me).Do(t, "GET", keysOf(w.site, k.ID), nil).WantStatus(t, http.StatusNotFound)
	w.as(w.me).Do(t, "GET", "/deploy_keys", nil).WantStatus(t, http.StatusForbidden)
	if got := httpapitest.JSON[[]entity](t, w.as(w.root).Do(t, "GET", "/deploy_keys", nil).WantStatus(t, 200)); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAKeyIsTakenOnlyByWhoMaintainsAProjectThatHasIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.add(t, w.tool, 1)
	w.as(w.friend).Do(t, "POST", keysOf(w.site, k.ID, "enable"), nil).WantStatus(t, http.StatusNotFound)
	w.as(w.friend).Do(t, "POST", keysOf(w.site, int64(999), "enable"), nil).WantStatus(t, http.StatusNotFound)
	for range 2 {
		got := httpapitest.JSON[entity](t, w.as(w.me).Do(t, "POST", keysOf(w.site, k.ID, "enable"), nil).WantStatus(t, http.StatusCreated))
		if got.ID != k.ID || got.CanPush {
			t.Errorf("%+v", got)
		}
	}
	// Who has it now may allow it more in their own project, and not rename it for all.
	w.as(w.friend).Do(t, "PUT", keysOf(w.site, k.ID), url.Values{"can_push": {"true"}}).WantStatus(t, 200)
	w.as(w.friend).Do(t, "PUT", keysOf(w.site, k.ID), url.Values{"title": {"mine"}}).WantStatus(t, http.StatusForbidden)
	if got, err := w.Find(t.Context(), w.tool.ID, k.ID); err != nil || got.CanPush {
		t.Errorf("%+v, %v", got, err)
	}
	w.as(w.me).Do(t, "DELETE", keysOf(w.tool, k.ID), nil).WantStatus(t, http.StatusNoContent)
	if _, err := w.FindByFingerprint(t.Context(), k.FingerprintSHA256); err != nil {
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
	taken(w.as(w.me).Do(t, "POST", keysOf(w.site), form(1)))
	taken(w.as(w.friend).Do(t, "POST", "/user/keys", form(1)))
	w.as(w.friend).Do(t, "POST", "/user/keys", form(2)).WantStatus(t, http.StatusCreated)
	taken(w.as(w.me).Do(t, "POST", keysOf(w.tool), form(2)))
	if _, err := w.FindByFingerprint(t.Context(), "SHA256:none"); !fault.Is(err, fault.NotFound) {
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
		w.as(w.me).Do(t, "POST", keysOf(w.tool), c).WantStatus(t, http.StatusBadRequest)
	}
	later := w.as(w.me).Do(t, "POST", keysOf(w.tool), url.Values{"title": {"k"}, "key": {line(t, 1)}, "expires_at": {"2024-06-01T00:00:00Z"}})
	k := httpapitest.JSON[entity](t, later.WantStatus(t, http.StatusCreated))
	found, err := w.FindByFingerprint(t.Context(), k.FingerprintSHA256)
	if err != nil || found.Expired(w.now) || !found.Expired(w.now.AddDate(0, 1, 0)) {
		t.Errorf("%+v, %v", found, err)
	}
}
