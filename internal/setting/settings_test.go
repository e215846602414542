package setting

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/kit/wire"
)

var names = wire.Names{Service: "svc", Errors: "errsvc"}

func TestEverySettingIsNamedDocumentedAndReadable(t *testing.T) {
	t.Parallel()
	settings := reflect.TypeFor[Settings]()
	var all []string
	for i := range settings.NumField() {
		f := settings.Field(i)
		all = append(all, f.Tag.Get("json"))
		if name := f.Tag.Get("json"); name == "" || strings.Contains(name, ",") || f.Tag.Get("doc") == "" {
			t.Errorf("%s has no plain name or no doc", f.Name)
		}
		if _, list := reflect.Zero(f.Type).Interface().([]string); list != (f.Tag.Get("split") == "comma") {
			t.Errorf("%s: lists, and only lists, split at commas", f.Name)
		}
	}
	for i := range settings.NumField() {
		f := settings.Field(i)
		for companion := range strings.SplitSeq(f.Tag.Get("needs"), ",") {
			if companion != "" && !slices.Contains(all, companion) {
				t.Errorf("%s needs %q, which is no setting", f.Name, companion)
			}
		}
	}
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("a name is used twice")
	}
}

func TestTheDefaultsAreAllowedAndHideNothing(t *testing.T) {
	t.Parallel()
	defaults := Defaults(names)
	if err := check(compare(&Settings{}, defaults)); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(defaults)
	if err != nil {
		t.Fatal(err)
	}
	var shown map[string]any
	if err := json.Unmarshal(text, &shown); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[Settings]().NumField() {
		f := reflect.TypeFor[Settings]().Field(i)
		value, there := shown[f.Tag.Get("json")]
		if nullable := f.Type == reflect.TypeFor[Text]() || f.Type == reflect.TypeFor[*int](); !there || (value == nil && !nullable) {
			t.Errorf("%s is %v", f.Name, value)
		}
	}
	if got := shown["personal_access_token_prefix"]; got != "svcpat-" {
		t.Errorf("the token prefix is %v", got)
	}
}

// What is stored is the edits alone, laid over the defaults of the release that reads them.
func TestEditsLaidOverTheDefaultsGiveTheSettingsBack(t *testing.T) {
	t.Parallel()
	s := &Service{deps: Deps{Instance: Instance{Names: names}}}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Make[Settings]().Draw(t, "settings")
		stored := map[string]any{}
		for _, e := range compare(Defaults(names), &want) {
			stored[e.name] = e.to
		}
		text, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestEmptyValuesReplaceDefaultsToo(t *testing.T) {
	t.Parallel()
	s := &Service{deps: Deps{Instance: Instance{Names: names}}}
	got, err := s.decode([]byte(`{"diagramsnet_url": null, "valid_runner_registrars": [], "repository_storages_weighted": {"other": 1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got.DiagramsNetURL != "" || len(got.ValidRunnerRegistrars) != 0 || !reflect.DeepEqual(got.RepositoryStoragesWeighted, Weights{"other": 1}) {
		t.Errorf("%q %v %v", got.DiagramsNetURL, got.ValidRunnerRegistrars, got.RepositoryStoragesWeighted)
	}
}

func TestValuesOutsideTheirRulesAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 300)
	for _, test := range []struct {
		change func(*Settings)
		want   string // none is allowed
	}{
		{func(s *Settings) { s.DefaultProjectsLimit = -1 }, "default_projects_limit must be greater than or equal to 0"},
		{func(s *Settings) { s.DefaultProjectsLimit = 1 << 31 }, "default_projects_limit must be less than or equal to 2147483647"},
		{func(s *Settings) { s.DefaultProjectsLimit = 0 }, ""},
		{func(s *Settings) { s.RSAKeyRestriction = -1 }, ""},
		{func(s *Settings) { s.RSAKeyRestriction = -2 }, "rsa_key_restriction must be greater than or equal to -1"},
		{func(s *Settings) { s.MinimumPasswordLength = 7 }, "minimum_password_length must be greater than or equal to 8"},
		{func(s *Settings) { s.MinimumPasswordLength = 129 }, "minimum_password_length must be less than or equal to 128"},
		{func(s *Settings) { s.DeactivateDormantUsersPeriod = 89 }, "deactivate_dormant_users_period must be greater than or equal to 90"},
		{func(s *Settings) { s.MaxPersonalAccessTokenLifetime = new(0) }, "max_personal_access_token_lifetime must be greater than or equal to 1"},
		{func(s *Settings) { s.MaxPersonalAccessTokenLifetime = new(30) }, ""},
		{func(s *Settings) { s.FirstDayOfWeek = 2 }, "first_day_of_week is not included in the list"},
		{func(s *Settings) { s.EmailConfirmationSetting = "maybe" }, "email_confirmation_setting is not included in the list"},
		{func(s *Settings) { s.EmailConfirmationSetting = "" }, "email_confirmation_setting is not included in the list"},
		{func(s *Settings) { s.EnabledGitAccessProtocol = "ftp" }, "enabled_git_access_protocol is not included in the list"},
		{func(s *Settings) { s.EnabledGitAccessProtocol = "ssh" }, ""},
		{func(s *Settings) { s.RestrictedVisibilityLevels = []string{"public", "secret"} }, "restricted_visibility_levels is not included in the list"},
		{func(s *Settings) { s.PersonalAccessTokenPrefix = "" }, ""},
		{func(s *Settings) { s.PersonalAccessTokenPrefix = strings.Repeat("x", 20) }, ""},
		{func(s *Settings) { s.PersonalAccessTokenPrefix = strings.Repeat("x", 21) }, "personal_access_token_prefix is too long (maximum is 20 characters)"},
		{func(s *Settings) { s.PersonalAccessTokenPrefix = "a b" }, "personal_access_token_prefix can contain only letters of the Base64 alphabet (RFC4648) with the addition of '@', ':' and '.'"},
		{func(s *Settings) { s.DefaultBranchName = Text(long) }, "default_branch_name is too long (maximum is 255 characters)"},
		{func(s *Settings) { s.Terms = Text(long) }, ""},
		{func(s *Settings) { s.EmailRestrictions = "(" }, "email_restrictions is not a valid regular expression"},
		{func(s *Settings) { s.HomePageURL = "javascript:alert(1)" }, "home_page_url must be a valid URL"},
		{func(s *Settings) { s.HomePageURL = "https://forge.example/a" }, ""},
		{func(s *Settings) { s.DomainAllowlist = []string{long} }, "domain_allowlist entries cannot be larger than 255 characters"},
		{func(s *Settings) { s.DomainAllowlist = make([]string, 1001) }, "domain_allowlist is too long (maximum is 1000 entries)"},
		{func(s *Settings) { s.RepositoryStoragesWeighted = Weights{"b": 101, "a": -1} },
			"repository_storages_weighted value for 'a' must be between 0 and 100, value for 'b' must be between 0 and 100"},
		{func(s *Settings) { s.RepositoryStoragesWeighted = Weights{"": 1} }, "repository_storages_weighted has an invalid name"},
	} {
		settings := Defaults(names)
		test.change(settings)
		got := ""
		if err := check(compare(Defaults(names), settings)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestAnOldValueOutsideTheRulesDoesNotStandInTheWay(t *testing.T) {
	t.Parallel()
	old, next := Defaults(names), Defaults(names)
	old.MinimumPasswordLength, next.MinimumPasswordLength = 4, 4
	next.SignupEnabled = false
	if err := check(compare(old, next)); err != nil {
		t.Error(err)
	}
}

func TestTheAuditTrailShowsValuesAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"true": true, "7": 7, "": (*int)(nil), "30": new(30), "off": "off", "x": Text("x"),
		`["a","b"]`: []string{"a", "b"}, `{"default":100}`: Weights{"default": 100},
		strings.Repeat("ä", 254) + "…": Text(strings.Repeat("ä", 256)),
	} {
		if got := shown(value); got != want {
			t.Errorf("%v: got %q, want %q", value, got, want)
		}
	}
}
