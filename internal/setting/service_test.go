package setting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/setting"
	"stithy/internal/setting/settingtest"
)

var (
	admin = access.Actor{Person: &access.Person{ID: 1, Username: "root", Admin: true}}
	ada   = access.Actor{Person: &access.Person{ID: 2, Username: "ada"}}
)

// trail keeps the audit records of a bus.
type trail struct {
	*bus.Bus
	records []bus.AuditRecord
}

func newTrail() *trail {
	t := &trail{Bus: bus.New()}
	t.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		t.records = append(t.records, e.(bus.Audited).AuditRecord())
		return nil
	})
	return t
}

func newService(t *testing.T, db *postgres.DB, b *bus.Bus) *setting.Service {
	t.Helper()
	d := settingtest.Deps(t, db)
	d.Bus = b
	s := setting.New(d)
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// offline has no database: what needs none is tested without.
func offline(t *testing.T) *setting.Service {
	return setting.New(settingtest.Deps(t, &postgres.DB{}))
}

// actors finds actors by a function.
type actors func(ctx context.Context, kind, ref string) (setting.Actor, error)

func (find actors) FindActor(ctx context.Context, kind, ref string) (setting.Actor, error) {
	return find(ctx, kind, ref)
}

// knowing is a service on a database of its own whose flags know actors.
func knowing(t *testing.T, find actors) *setting.Service {
	t.Helper()
	d := settingtest.Deps(t, postgrestest.New(t))
	d.Actors = find
	s := setting.New(d)
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnUpdateIsSeenAtOnceAndByLaterServices(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	s := settingtest.New(t, db)
	before := s.Current()
	if err := s.Update(t.Context(), admin, func(now *setting.Settings) {
		now.SignupEnabled = false
		now.DomainAllowlist = append(now.DomainAllowlist, "example.com")
		now.MaxPersonalAccessTokenLifetime = new(30)
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*setting.Service{s, settingtest.New(t, db)} {
		now := s.Current()
		if now.SignupEnabled || *now.MaxPersonalAccessTokenLifetime != 30 || !cmp.Equal(now.DomainAllowlist, []string{"example.com"}) {
			t.Errorf("%v %v %v", now.SignupEnabled, now.MaxPersonalAccessTokenLifetime, now.DomainAllowlist)
		}
	}
	if !before.SignupEnabled {
		t.Error("a snapshot changed under its reader")
	}
}

func TestOnlyWhatChangedIsStoredAndUnknownNamesAreKept(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	s := settingtest.New(t, db)
	if _, err := db.Exec(t.Context(), `update settings set changed = '{"from_a_later_release": [1]}', version = version + 1`); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), admin, func(now *setting.Settings) { now.AdminMode = true }); err != nil {
		t.Fatal(err)
	}
	got, err := postgres.Value[map[string]any](t.Context(), db, "select changed from settings")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"admin_mode": true, "from_a_later_release": []any{1.0}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEachChangedSettingLeavesATrace(t *testing.T) {
	t.Parallel()
	trail := newTrail()
	s := newService(t, postgrestest.New(t), trail.Bus)
	if err := s.Update(t.Context(), admin, func(now *setting.Settings) {
		now.SignupEnabled, now.AdminMode = false, false // the second is so already
		now.HomePageURL = "https://forge.example"
	}); err != nil {
		t.Fatal(err)
	}
	record := func(what, from, to string) bus.AuditRecord {
		return bus.AuditRecord{
			Type: "application_setting_updated", By: admin, Entity: bus.Instance(),
			Target: bus.Target{Type: "ApplicationSetting", ID: 1, Details: what},
			Change: &bus.Change{What: what, From: from, To: to},
		}
	}
	want := []bus.AuditRecord{record("signup_enabled", "true", "false"), record("home_page_url", "", "https://forge.example")}
	if diff := cmp.Diff(want, trail.records, cmpopts.EquateComparable(access.Actor{}.Address)); diff != "" {
		t.Error(diff)
	}
}

func TestARefusedOrUntracedUpdateChangesNothing(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	b := bus.New()
	s := newService(t, db, b)
	err := s.Update(t.Context(), admin, func(now *setting.Settings) { now.SignupEnabled, now.FirstDayOfWeek = false, 9 })
	if !fault.Is(err, fault.Rejected) {
		t.Errorf("got %v", err)
	}
	broken := errors.New("no room in the trail")
	b.OnAny(func(context.Context, pgx.Tx, bus.Event) error { return broken })
	if err := s.Update(t.Context(), admin, func(now *setting.Settings) { now.SignupEnabled = false }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := s.SetFeature(t.Context(), admin, "flag", setting.FeatureChange{Value: "true"}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if later := settingtest.New(t, db); !later.Current().SignupEnabled || len(later.Features()) != 0 {
		t.Error("a change without a trace was kept")
	}
}

func TestSettingsThatTakeTooMuchRoomAreRefused(t *testing.T) {
	t.Parallel()
	s := settingtest.New(t, postgrestest.New(t))
	entry := strings.Repeat("x", 255)
	long := make([]string, 1000)
	for i := range long {
		long[i] = entry
	}
	err := s.Update(t.Context(), admin, func(now *setting.Settings) {
		now.DomainAllowlist, now.DomainDenylist, now.ImportSources, now.ProtectedPaths, now.NotesCreateLimitAllowlist = long, long, long, long, long
	})
	if err == nil || err.Error() != "base settings take up too much room" {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	a, b := settingtest.New(t, db), settingtest.New(t, db)
	var group sync.WaitGroup
	for i := range 10 {
		for _, s := range []*setting.Service{a, b} {
			group.Go(func() {
				if err := s.Update(t.Context(), admin, func(now *setting.Settings) { now.DefaultProjectsLimit-- }); err != nil {
					t.Errorf("round %d: %v", i, err)
				}
			})
		}
	}
	group.Wait()
	if got := settingtest.New(t, db).Current().DefaultProjectsLimit; got != 100_000-20 {
		t.Errorf("%d after 20 steps down", got)
	}
}

func TestAFlagHasItsDefaultUntilItIsSetAndAfterItIsRemoved(t *testing.T) {
	t.Parallel()
	trail := newTrail()
	s := newService(t, postgrestest.New(t), trail.Bus)
	const flag = "changelog_commits_limitation"
	enabled := func(want bool) {
		t.Helper()
		if s.Enabled(flag) != want {
			t.Errorf("enabled is %v", !want)
		}
	}
	enabled(true)
	if s.Enabled("override_bulk_import_disabled") || s.Enabled("nobody_knows") {
		t.Error("a flag that is off or unknown is enabled")
	}
	if _, err := s.SetFeature(t.Context(), admin, flag, setting.FeatureChange{Value: "false"}); err != nil {
		t.Fatal(err)
	}
	enabled(false)
	for range 2 { // the second time there is nothing to remove
		if err := s.RemoveFeature(t.Context(), admin, flag); err != nil {
			t.Fatal(err)
		}
		enabled(true)
	}
	var got []string
	for _, d := range trail.records {
		got = append(got, fmt.Sprintf("%s %s: %s %s>%s", d.Type, d.Target.Details, d.Change.What, d.Change.From, d.Change.To))
	}
	want := []string{
		"instance_feature_flag_updated changelog_commits_limitation: changelog_commits_limitation >off",
		"instance_feature_flag_removed changelog_commits_limitation: changelog_commits_limitation off>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheFlagsThatTheAPINamesAreOpenUntilTheyAreShut(t *testing.T) {
	t.Parallel()
	s := settingtest.New(t, postgrestest.New(t))
	for _, flag := range []string{"changelog_commits_limitation", "generic_alert_fingerprinting"} {
		if !s.Enabled(flag) {
			t.Errorf("%s is shut by default", flag)
		}
		if _, err := s.SetFeature(t.Context(), admin, flag, setting.FeatureChange{Value: "false"}); err != nil {
			t.Fatal(err)
		}
		if s.Enabled(flag) {
			t.Errorf("%s stays open", flag)
		}
	}
}

func TestAFlagOpensForTheActorsItNames(t *testing.T) {
	t.Parallel()
	down := errors.New("database is down")
	s := knowing(t, func(_ context.Context, kind, ref string) (setting.Actor, error) {
		switch kind + " " + ref {
		case "user ada":
			return "User:2", nil
		case "project broken":
			return "", down
		}
		return "", fault.NotFoundf("User")
	})
	if _, err := s.SetFeature(t.Context(), admin, "flag", setting.FeatureChange{Value: "true", Actors: []setting.ActorRef{{"user", "ada"}}}); err != nil {
		t.Fatal(err)
	}
	if !s.Enabled("flag", "User:1", "User:2") || s.Enabled("flag", "User:1") || s.Enabled("flag") {
		t.Error("the flag is not open for ada alone")
	}
	if _, err := s.SetFeature(t.Context(), admin, "flag", setting.FeatureChange{Value: "true", Actors: []setting.ActorRef{{"project", "broken"}}}); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

func TestFlagsAreBounded(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	s := settingtest.New(t, db)
	if _, err := db.Exec(t.Context(), `insert into features (name, gates, updated_at)
		select 'flag_' || n, '{}', now() from generate_series(1, 1000) n`); err != nil {
		t.Fatal(err)
	}
	set := func(name string, change setting.FeatureChange) string {
		if _, err := s.SetFeature(t.Context(), admin, name, change); err != nil {
			return err.Error()
		}
		return ""
	}
	on := setting.FeatureChange{Value: "true"}
	if got := set("flag_1", on); got != "" {
		t.Error(got)
	}
	if got := set("one_more", on); got != "base Maximum number of features (1000) exceeded" {
		t.Error(got)
	}
	if _, err := db.Exec(t.Context(), "delete from features where name = 'flag_2'"); err != nil {
		t.Fatal(err)
	}
	if got := set(strings.Repeat("x", 256), on); got != "name is too long (maximum is 255 characters)" {
		t.Error(got)
	}
	on.Groups = strings.Split(strings.Repeat("g", 200)+strings.Repeat(","+strings.Repeat("h", 200), 10), ",")
	for i := range on.Groups {
		on.Groups[i] += fmt.Sprint(i)
	}
	if got := set("flag_1", on); got != "" {
		t.Error(got)
	}
	for i := range on.Groups {
		on.Groups[i] += strings.Repeat("z", 7000)
	}
	if got := set("flag_1", on); got != "base Maximum number of actors exceeded" {
		t.Error(got)
	}
}
