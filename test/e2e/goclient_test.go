package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	gitlab "gitlab.com/gitlab-org/api/client-go"
	"golang.org/x/crypto/ssh"
)

// client is the official Go client, as it is.
func (f *forge) client(t testing.TB, token string) *gitlab.Client {
	t.Helper()
	c, err := gitlab.NewClient(token, gitlab.WithBaseURL(f.url), gitlab.WithoutRetries())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reply is what a method of the client returned.
type reply[T any] struct {
	value T
	resp  *gitlab.Response
	err   error
}

func call[T any](value T, resp *gitlab.Response, err error) reply[T] {
	return reply[T]{value, resp, err}
}

func act(resp *gitlab.Response, err error) reply[struct{}] {
	return reply[struct{}]{resp: resp, err: err}
}

func (r reply[T]) ok(t testing.TB, status int) T {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	if r.resp.StatusCode != status {
		t.Fatalf("status %d, want %d", r.resp.StatusCode, status)
	}
	return r.value
}

// refused expects an error with this body. The client keeps no body of a 404: there it is not looked at.
func (r reply[T]) refused(t testing.TB, status int, body string) {
	t.Helper()
	if status == http.StatusNotFound {
		if !errors.Is(r.err, gitlab.ErrNotFound) {
			t.Fatalf("got %v, want not found", r.err)
		}
		return
	}
	var failure *gitlab.ErrorResponse
	if !errors.As(r.err, &failure) {
		t.Fatalf("got %v, want %d %s", r.err, status, body)
	}
	if got := string(failure.Body); failure.Response.StatusCode != status || strings.TrimSpace(got) != body {
		t.Fatalf("got  %d %s\nwant %d %s", failure.Response.StatusCode, got, status, body)
	}
}

// TestTheOfficialGoClientFindsWhatItKnows checks every endpoint that the client has a type for: what is sent comes
// back in the fields where the client looks for it.
func TestTheOfficialGoClientFindsWhatItKnows(t *testing.T) {
	t.Parallel()
	f := start(t)
	tour := goTour{f: f, c: f.client(t, f.token)}
	t.Run("instance", tour.instance)
	t.Run("credentials", tour.credentials)
	t.Run("accounts", tour.accounts)
	t.Run("lists", tour.lists)
	t.Run("states", tour.states)
	t.Run("emails", tour.emails)
	t.Run("ssh keys", tour.sshKeys)
	t.Run("gpg keys", tour.gpgKeys)
	t.Run("custom attributes", tour.customAttributes)
	t.Run("status", tour.status)
	t.Run("personal access tokens", tour.personalAccessTokens)
	t.Run("impersonation tokens", tour.impersonationTokens)
	t.Run("instance variables", tour.instanceVariables)
	t.Run("settings", tour.settings)
	t.Run("features", tour.features)
	t.Run("deletion", tour.deletion)
}

type goTour struct {
	f *forge
	c *gitlab.Client
}

// person makes an account that can be used at once.
func (g goTour) person(t testing.TB, username string) *gitlab.User {
	t.Helper()
	return call(g.c.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: &username, Name: new("The " + username), Email: new(username + "@example.com"),
		ForceRandomPassword: new(true), SkipConfirmation: new(true),
	})).ok(t, http.StatusCreated)
}

// clientOf makes a token for someone, and a client that uses it.
func (g goTour) clientOf(t testing.TB, u *gitlab.User, scopes ...string) *gitlab.Client {
	t.Helper()
	made := call(g.c.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("tour"), Scopes: &scopes,
	})).ok(t, http.StatusCreated)
	return g.f.client(t, g.f.secret(made.Token))
}

func (g goTour) instance(t *testing.T) {
	version := call(g.c.Version.GetVersion()).ok(t, http.StatusOK)
	metadata := call(g.c.Metadata.GetMetadata()).ok(t, http.StatusOK)
	if version.Version == "" || metadata.Version != version.Version || metadata.Revision != version.Revision || !metadata.Enterprise {
		t.Errorf("metadata is %+v, version is %+v", metadata, version)
	}
	anonymous := g.f.client(t, "")
	call(anonymous.Version.GetVersion()).refused(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
}

func (g goTour) credentials(t *testing.T) {
	self := call(g.c.Users.CurrentUser()).ok(t, http.StatusOK)
	if self.Username != "root" || !self.IsAdmin || self.Email != "root@example.com" || self.WebURL != g.f.url+"/root" {
		t.Errorf("the administrator is %+v", self)
	}
	bearer := gitlab.WithToken(gitlab.OAuthToken, g.f.token)
	if got := call(g.f.client(t, "").Users.CurrentUser(bearer)).ok(t, http.StatusOK); got.ID != self.ID {
		t.Errorf("as a bearer: %+v", got)
	}
	call(g.f.client(t, "unknown").Users.CurrentUser()).refused(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)

	plain := g.person(t, "credence")
	for _, name := range []any{"credence", "CREDENCE", plain.ID} {
		if got := call(g.c.Users.CurrentUser(gitlab.WithSudo(name))).ok(t, http.StatusOK); got.ID != plain.ID || got.IsAdmin {
			t.Errorf("as %v: %+v", name, got)
		}
	}
	theirs := g.clientOf(t, plain, "api")
	call(theirs.Users.CurrentUser(gitlab.WithSudo("root"))).refused(t, http.StatusForbidden, `{"message":"403 Forbidden - Must be admin to use sudo"}`)
	unsworn := g.clientOf(t, self, "api")
	call(unsworn.Users.CurrentUser(gitlab.WithSudo("credence"))).refused(t, http.StatusForbidden,
		`{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"sudo"}`)
	reader := g.clientOf(t, plain, "read_user")
	call(reader.Users.CurrentUser()).ok(t, http.StatusOK)
	call(reader.Users.AddEmail(&gitlab.AddEmailOptions{Email: new("more@example.com")})).refused(t, http.StatusForbidden,
		`{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"read_user api read_api"}`)
}

func (g goTour) accounts(t *testing.T) {
	picture := pngPicture(t)
	options := &gitlab.CreateUserOptions{
		Admin: new(false), Avatar: &gitlab.UserAvatar{Filename: "ann.png", Image: bytes.NewReader(picture)}, Bio: new("writes"),
		CanCreateGroup: new(false), Email: new("ann@example.com"), External: new(true), ExternUID: new("uid-1"),
		JobTitle: new("Smith"), Linkedin: new("ann-in"), Location: new("Here"), Name: new("Ann Lee"), Note: new("careful"),
		Organization: new("Anvil"), Password: new(g.f.password), PrivateProfile: new(true), ProjectsLimit: new(int64(7)),
		Provider: new("saml"), SkipConfirmation: new(true), Skype: new("ann-skype"), ThemeID: new(int64(2)), Twitter: new("ann-tw"),
		Username: new("ann"), WebsiteURL: new("https://ann.example.com"), ViewDiffsFileByFile: new(true),
	}
	ann := call(g.c.Users.CreateUser(options)).ok(t, http.StatusCreated)
	want := &gitlab.User{
		ID: ann.ID, Username: "ann", Email: "ann@example.com", Name: "Ann Lee", State: "active", WebURL: g.f.url + "/ann", Bio: "writes",
		Location: "Here", Skype: "ann-skype", Linkedin: "ann-in", Twitter: "ann-tw", WebsiteURL: "https://ann.example.com",
		Organization: "Anvil", JobTitle: "Smith", ThemeID: 2, ColorSchemeID: 1, AvatarURL: ann.AvatarURL, CanCreateProject: true,
		ProjectsLimit: 7, Note: "careful", Identities: []*gitlab.UserIdentity{{Provider: "saml", ExternUID: "uid-1"}}, External: true,
		PrivateProfile: true, UsingLicenseSeat: true, NamespaceID: ann.NamespaceID,
		CreatedBy: &gitlab.BasicUser{ID: 1, Username: "root", Name: "Root", State: "active", WebURL: g.f.url + "/root"},
	}
	ignored := cmpopts.IgnoreFields(gitlab.User{}, "CreatedAt", "ConfirmedAt", "LastActivityOn", "CurrentSignInAt", "LastSignInAt",
		"CurrentSignInIP", "LastSignInIP")
	if diff := cmp.Diff(want, ann, ignored); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	if ann.ID == 0 || ann.NamespaceID == 0 || ann.CreatedAt == nil || ann.ConfirmedAt == nil {
		t.Errorf("made: %+v", ann)
	}
	if got := fetch(t, ann.AvatarURL); !strings.HasPrefix(ann.AvatarURL, g.f.url) || !bytes.HasPrefix(got, []byte("\x89PNG")) {
		t.Errorf("avatar at %q has %d bytes", ann.AvatarURL, len(got))
	}

	got := call(g.c.Users.GetUser(ann.ID, gitlab.GetUsersOptions{WithCustomAttributes: new(true)})).ok(t, http.StatusOK)
	want.CustomAttributes = []*gitlab.CustomAttribute{}
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	seen := call(g.c.Users.GetUser(ann.ID, gitlab.GetUsersOptions{}, gitlab.WithSudo("ann"))).ok(t, http.StatusOK)
	if seen.Username != "ann" || seen.Bio != "writes" || seen.Email != "" || seen.Note != "" {
		t.Errorf("ann sees %+v", seen)
	}
	call(g.f.client(t, "").Users.GetUser(ann.ID, gitlab.GetUsersOptions{})).refused(t, http.StatusForbidden, `{"message":"403 Forbidden - Not authorized!"}`)
	call(g.c.Users.GetUser(1<<40, gitlab.GetUsersOptions{})).refused(t, http.StatusNotFound, "")

	second := call(g.c.Users.AddEmailForUser(ann.ID, &gitlab.AddEmailOptions{
		Email: new("ann2@example.com"), SkipConfirmation: new(true),
	})).ok(t, http.StatusCreated)
	changed := call(g.c.Users.ModifyUser(ann.ID, &gitlab.ModifyUserOptions{
		Bio: new(""), CanCreateGroup: new(true), CommitEmail: new(second.Email), External: new(false), JobTitle: new("Master"),
		Linkedin: new("in"), Location: new("There"), Name: new("Ann Smith"), Note: new("trusted"), Organization: new("Forge"),
		PrivateProfile: new(false), ProjectsLimit: new(int64(0)), PublicEmail: new("ann@example.com"), Skype: new(""), ThemeID: new(int64(3)),
		Twitter: new("tw"), Username: new("annie"), WebsiteURL: new(""), Avatar: &gitlab.UserAvatar{},
		Provider: new("saml"), ExternUID: new("uid-2"), SkipReconfirmation: new(true), Admin: new(true),
	})).ok(t, http.StatusOK)
	want = &gitlab.User{
		ID: ann.ID, Username: "annie", Email: "ann@example.com", Name: "Ann Smith", State: "active", WebURL: g.f.url + "/annie",
		Location: "There", PublicEmail: "ann@example.com", Linkedin: "in", Twitter: "tw", Organization: "Forge", JobTitle: "Master",
		ThemeID: 3, ColorSchemeID: 1, CanCreateGroup: true, Note: "trusted", UsingLicenseSeat: true, NamespaceID: ann.NamespaceID,
		Identities: []*gitlab.UserIdentity{{Provider: "saml", ExternUID: "uid-2"}}, CreatedBy: want.CreatedBy, IsAdmin: true,
	}
	if diff := cmp.Diff(want, changed, ignored); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	act(g.c.Users.DeleteUserIdentity(ann.ID, "saml")).ok(t, http.StatusNoContent)
	act(g.c.Users.DeleteUserIdentity(ann.ID, "saml")).refused(t, http.StatusNotFound, "")

	taken := g.person(t, "taken")
	call(g.c.Users.ModifyUser(ann.ID, &gitlab.ModifyUserOptions{Username: new("Taken")})).refused(t, http.StatusNotFound, "")
	call(g.c.Users.ModifyUser(ann.ID, &gitlab.ModifyUserOptions{Email: &taken.Email})).refused(t, http.StatusNotFound, "")
	if err := g.c.Users.DisableTwoFactor(taken.ID); !errors.Is(err, gitlab.ErrUserTwoFactorNotEnabled) {
		t.Errorf("disabling a second factor that is not there: %v", err)
	}
	if err := g.c.Users.DisableTwoFactor(1); !errors.Is(err, gitlab.ErrUserDisableTwoFactorPrevented) {
		t.Errorf("disabling the second factor of an administrator: %v", err)
	}

	for _, c := range []struct {
		name   string
		change func(*gitlab.CreateUserOptions)
		status int
		body   string
	}{
		{"no email", func(o *gitlab.CreateUserOptions) { o.Email = nil }, 400, `{"error":"email is missing"}`},
		{"no name, no username", func(o *gitlab.CreateUserOptions) { o.Name, o.Username = nil, nil }, 400, `{"error":"name is missing, username is missing"}`},
		{"no password", func(o *gitlab.CreateUserOptions) { o.Password = nil }, 400,
			`{"error":"password, reset_password, force_random_password are missing, at least one parameter must be provided"}`},
		{"half an identity", func(o *gitlab.CreateUserOptions) { o.Provider = new("saml") }, 400,
			`{"error":"extern_uid, provider provide all or none of parameters"}`},
		{"email taken", func(o *gitlab.CreateUserOptions) { o.Email = new("TAKEN@example.com") }, 409, `{"message":"Email has already been taken"}`},
		{"username taken", func(o *gitlab.CreateUserOptions) { o.Username = new("Taken") }, 409, `{"message":"Username has already been taken"}`},
		{"short password", func(o *gitlab.CreateUserOptions) { o.Password = new("x7!qZ") }, 400,
			`{"message":{"password":["is too short (minimum is 8 characters)"]}}`},
		{"bad email", func(o *gitlab.CreateUserOptions) { o.Email = new("nowhere") }, 400, `{"message":{"email":["is invalid"]}}`},
		{"long bio", func(o *gitlab.CreateUserOptions) { o.Bio = new(strings.Repeat("b", 256)) }, 400,
			`{"message":{"bio":["is too long (maximum is 255 characters)"]}}`},
		{"no such theme", func(o *gitlab.CreateUserOptions) { o.ThemeID = new(int64(99)) }, 400, `{"message":{"theme_id":["99 is not a valid theme"]}}`},
	} {
		options := &gitlab.CreateUserOptions{
			Username: new("fresh"), Name: new("Fresh"), Email: new("fresh@example.com"), Password: new(g.f.password),
		}
		c.change(options)
		t.Run(c.name, func(t *testing.T) { call(g.c.Users.CreateUser(options)).refused(t, c.status, c.body) })
	}
	call(g.c.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("fresh"), Name: new("Fresh"), Email: new("fresh@example.com"), ForceRandomPassword: new(true),
	}, gitlab.WithSudo("taken"))).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
}

func (g goTour) lists(t *testing.T) {
	began := time.Now()
	var usernames []string
	for i := range 5 {
		usernames = append(usernames, g.person(t, fmt.Sprintf("lister-%d", i)).Username)
	}
	external := call(g.c.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("lister-x"), Name: new("Outside Lister"), Email: new("outside@example.com"), ForceRandomPassword: new(true),
		SkipConfirmation: new(true), External: new(true), Provider: new("ldapmain"), ExternUID: new("uid=x"), PublicEmail: nil,
	})).ok(t, http.StatusCreated)
	blocked := g.person(t, "lister-b")
	if err := g.c.Users.BlockUser(blocked.ID); err != nil {
		t.Fatal(err)
	}
	call(g.c.CustomAttribute.SetCustomUserAttribute(external.ID, gitlab.CustomAttribute{Key: "desk", Value: "4"})).ok(t, http.StatusOK)
	all := append(slices.Clone(usernames), "lister-x", "lister-b")

	for _, c := range []struct {
		name string
		opt  gitlab.ListUsersOptions
		want []string // in order
	}{
		{"username", gitlab.ListUsersOptions{Username: new("LISTER-3")}, []string{"lister-3"}},
		{"search by username", gitlab.ListUsersOptions{Search: new("ister-2")}, []string{"lister-2"}},
		{"search by name", gitlab.ListUsersOptions{Search: new("outside lis")}, []string{"lister-x"}},
		{"search by private email", gitlab.ListUsersOptions{Search: new("outside@example.com")}, []string{"lister-x"}},
		{"blocked", gitlab.ListUsersOptions{Blocked: new(true), Search: new("lister")}, []string{"lister-b"}},
		{"external", gitlab.ListUsersOptions{External: new(true), Search: new("lister")}, []string{"lister-x"}},
		{"identity", gitlab.ListUsersOptions{Provider: new("ldapmain"), ExternalUID: new("uid=x")}, []string{"lister-x"}},
		{"active, by username", gitlab.ListUsersOptions{Active: new(true), Search: new("lister-"), OrderBy: new("username"), Sort: new("asc")},
			append(slices.Clone(usernames), "lister-x")},
		{"not active", gitlab.ListUsersOptions{ExcludeActive: new(true), Search: new("lister")}, []string{"lister-b"}},
		{"not external, by name", gitlab.ListUsersOptions{ExcludeExternal: new(true), Active: new(true), Search: new("lister-"), OrderBy: new("name"), Sort: new("desc")},
			[]string{"lister-4", "lister-3", "lister-2", "lister-1", "lister-0"}},
		{"since", gitlab.ListUsersOptions{CreatedAfter: new(began), Search: new("lister-"), OrderBy: new("created_at"), Sort: new("asc")}, all},
		{"until", gitlab.ListUsersOptions{CreatedBefore: new(began.AddDate(-1, 0, 0))}, nil},
		{"administrators", gitlab.ListUsersOptions{Admins: new(true), Search: new("root")}, []string{"root"}},
		{"second factor", gitlab.ListUsersOptions{TwoFactor: new("enabled")}, nil},
		{"no second factor", gitlab.ListUsersOptions{TwoFactor: new("disabled"), Username: new("root")}, []string{"root"}},
		{"no projects", gitlab.ListUsersOptions{WithoutProjects: new(true), Username: new("root")}, []string{"root"}},
		{"people", gitlab.ListUsersOptions{Humans: new(true), ExcludeInternal: new(true), WithoutProjectBots: new(true), Username: new("root")}, []string{"root"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.PerPage = 100
			found := call(g.c.Users.ListUsers(&c.opt)).ok(t, http.StatusOK)
			if diff := cmp.Diff(c.want, names(found), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	found := call(g.c.Users.ListUsers(&gitlab.ListUsersOptions{Username: new("lister-x"), WithCustomAttributes: new(true)})).ok(t, http.StatusOK)
	if diff := cmp.Diff([]*gitlab.CustomAttribute{{Key: "desk", Value: "4"}}, found[0].CustomAttributes); diff != "" {
		t.Errorf("custom attributes (-want +got):\n%s", diff)
	}
	if found[0].Email != "outside@example.com" || found[0].CreatedBy == nil {
		t.Errorf("an administrator sees %+v", found[0])
	}
	plain := call(g.c.Users.ListUsers(&gitlab.ListUsersOptions{Search: new("lister-")}, gitlab.WithSudo("lister-0"))).ok(t, http.StatusOK)
	if len(plain) != 6 || plain[0].Email != "" || slices.Contains(names(plain), "lister-b") {
		t.Errorf("others see %v", names(plain))
	}
	anonymous := g.f.client(t, "")
	found = call(anonymous.Users.ListUsers(&gitlab.ListUsersOptions{Username: new("lister-1")})).ok(t, http.StatusOK)
	if len(found) != 1 {
		t.Errorf("strangers see %v", names(found))
	}
	call(anonymous.Users.ListUsers(nil)).refused(t, http.StatusForbidden, `{"message":"403 Forbidden - Not authorized to access /api/v4/users"}`)
	call(g.c.Users.ListUsers(&gitlab.ListUsersOptions{OrderBy: new("bio")})).refused(t, http.StatusBadRequest, `{"error":"order_by does not have a valid value"}`)
	call(g.c.Users.ListUsers(&gitlab.ListUsersOptions{Provider: new("ldapmain")})).refused(t, http.StatusBadRequest,
		`{"error":"extern_uid, provider provide all or none of parameters"}`)

	page := call(g.c.Users.ListUsers(&gitlab.ListUsersOptions{
		Search: new("lister-"), OrderBy: new("username"), Sort: new("asc"), ListOptions: gitlab.ListOptions{Page: 2, PerPage: 3},
	}))
	if diff := cmp.Diff([]string{"lister-3", "lister-4", "lister-b"}, names(page.ok(t, http.StatusOK))); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	if r := page.resp; r.TotalItems != 7 || r.TotalPages != 3 || r.CurrentPage != 2 || r.NextPage != 3 || r.PreviousPage != 1 || r.ItemsPerPage != 3 {
		t.Errorf("second page: total %d in %d, current %d, next %d, previous %d, per page %d",
			r.TotalItems, r.TotalPages, r.CurrentPage, r.NextPage, r.PreviousPage, r.ItemsPerPage)
	}
	for _, order := range []string{"id", "name", "username"} {
		for _, sort := range []string{"asc", "desc"} {
			opt := &gitlab.ListUsersOptions{
				Search: new("lister-"), ListOptions: gitlab.ListOptions{Pagination: "keyset", OrderBy: order, Sort: sort, PerPage: 2},
			}
			pages, failed := gitlab.Scan(func(p gitlab.PaginationOptionFunc) ([]*gitlab.User, *gitlab.Response, error) {
				return g.c.Users.ListUsers(opt, p)
			})
			got := names(slices.Collect(pages))
			if err := failed(); err != nil {
				t.Fatal(err)
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(all))) {
				t.Errorf("keyset by %s %s: %v", order, sort, got)
			}
		}
	}

	eventually(t, patience, "the administrator who asks is among the active", func() bool {
		from := gitlab.ISOTime(began.AddDate(0, 0, -1))
		active := call(g.c.Users.GetUserActivities(&gitlab.GetUserActivitiesOptions{From: &from})).ok(t, http.StatusOK)
		return slices.ContainsFunc(active, func(a *gitlab.UserActivity) bool {
			return a.Username == "root" && a.LastActivityOn != nil && time.Since(time.Time(*a.LastActivityOn)) < 48*time.Hour
		})
	})
	call(g.c.Users.GetUserActivities(nil, gitlab.WithSudo("lister-0"))).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
}

func names(users []*gitlab.User) (names []string) {
	for _, u := range users {
		names = append(names, u.Username)
	}
	return names
}

func (g goTour) states(t *testing.T) {
	u := g.person(t, "moody")
	is := func(state string) {
		t.Helper()
		if got := call(g.c.Users.GetUser(u.ID, gitlab.GetUsersOptions{})).ok(t, http.StatusOK); got.State != state {
			t.Fatalf("state %s, want %s", got.State, state)
		}
	}
	for _, step := range []struct {
		name  string
		do    func(int64, ...gitlab.RequestOptionFunc) error
		want  error
		state string
	}{
		{"unblock active", g.c.Users.UnblockUser, nil, "active"},
		{"block", g.c.Users.BlockUser, nil, "blocked"},
		{"block again", g.c.Users.BlockUser, nil, "blocked"},
		{"activate blocked", g.c.Users.ActivateUser, gitlab.ErrUserActivatePrevented, "blocked"},
		{"deactivate blocked", g.c.Users.DeactivateUser, gitlab.ErrUserDeactivatePrevented, "blocked"},
		{"unblock", g.c.Users.UnblockUser, nil, "active"},
		{"activate active", g.c.Users.ActivateUser, nil, "active"},
		{"deactivate", g.c.Users.DeactivateUser, nil, "deactivated"},
		{"unblock deactivated", g.c.Users.UnblockUser, gitlab.ErrUserUnblockPrevented, "deactivated"},
		{"activate", g.c.Users.ActivateUser, nil, "active"},
		{"ban", g.c.Users.BanUser, nil, "banned"},
		{"unban", g.c.Users.UnbanUser, nil, "active"},
		{"reject active", g.c.Users.RejectUser, gitlab.ErrUserConflict, "active"},
	} {
		if err := step.do(u.ID); !errors.Is(err, step.want) {
			t.Fatalf("%s: %v, want %v", step.name, err, step.want)
		}
		is(step.state)
	}
	for name, do := range map[string]func(int64, ...gitlab.RequestOptionFunc) error{
		"unblock": g.c.Users.UnblockUser, "ban": g.c.Users.BanUser, "unban": g.c.Users.UnbanUser, "activate": g.c.Users.ActivateUser,
		"deactivate": g.c.Users.DeactivateUser, "approve": g.c.Users.ApproveUser, "reject": g.c.Users.RejectUser,
	} {
		if err := do(1 << 40); !errors.Is(err, gitlab.ErrUserNotFound) {
			t.Errorf("%s of nobody: %v", name, err)
		}
	}
	theirs := g.clientOf(t, u, "api")
	call(theirs.Users.CurrentUser()).ok(t, http.StatusOK)
	eventually(t, patience, "it is known when someone was here", func() bool {
		return call(g.c.Users.GetUser(u.ID, gitlab.GetUsersOptions{})).ok(t, http.StatusOK).LastActivityOn != nil
	})
	if err := g.c.Users.DeactivateUser(u.ID); !errors.Is(err, gitlab.ErrUserDeactivatePrevented) {
		t.Errorf("deactivating someone who was just here: %v", err)
	}
	if err := g.c.Users.BlockUser(u.ID); err != nil {
		t.Fatal(err)
	}
	call(theirs.Users.CurrentUser()).refused(t, http.StatusForbidden, `{"message":"403 Forbidden - Your account has been blocked."}`)
}

func (g goTour) emails(t *testing.T) {
	u := g.person(t, "mailer")
	theirs := g.clientOf(t, u, "api")
	own := call(theirs.Users.AddEmail(&gitlab.AddEmailOptions{Email: new("mailer2@example.com")})).ok(t, http.StatusCreated)
	given := call(g.c.Users.AddEmailForUser(u.ID, &gitlab.AddEmailOptions{Email: new("mailer3@example.com"), SkipConfirmation: new(true)})).ok(t, http.StatusCreated)
	if own.ID == 0 || own.Email != "mailer2@example.com" || own.ConfirmedAt != nil || given.ConfirmedAt == nil {
		t.Errorf("own %+v, given %+v", own, given)
	}
	if got := call(theirs.Users.GetEmail(given.ID)).ok(t, http.StatusOK); !cmp.Equal(got, given) {
		t.Errorf("read %+v, want %+v", got, given)
	}
	both := []*gitlab.Email{own, given}
	if diff := cmp.Diff(both, call(theirs.Users.ListEmails()).ok(t, http.StatusOK)); diff != "" {
		t.Errorf("own list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(both, call(g.c.Users.ListEmailsForUser(u.ID, nil)).ok(t, http.StatusOK)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	call(theirs.Users.AddEmail(&gitlab.AddEmailOptions{})).refused(t, http.StatusBadRequest, `{"error":"email is missing"}`)
	call(theirs.Users.AddEmail(&gitlab.AddEmailOptions{Email: new("MAILER3@example.com")})).refused(t, http.StatusBadRequest,
		`{"message":{"email":["has already been taken"]}}`)
	call(theirs.Users.AddEmail(&gitlab.AddEmailOptions{Email: new("nowhere")})).refused(t, http.StatusBadRequest, `{"message":{"email":["is invalid"]}}`)
	call(g.c.Users.GetEmail(given.ID)).refused(t, http.StatusNotFound, "")
	act(theirs.Users.DeleteEmail(own.ID)).ok(t, http.StatusNoContent)
	act(theirs.Users.DeleteEmail(own.ID)).refused(t, http.StatusNotFound, "")
	act(g.c.Users.DeleteEmailForUser(u.ID, given.ID)).ok(t, http.StatusNoContent)
	if left := call(theirs.Users.ListEmails()).ok(t, http.StatusOK); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func (g goTour) sshKeys(t *testing.T) {
	u := g.person(t, "keyholder")
	theirs := g.clientOf(t, u, "api")
	public, text := sshKey(t)
	expires := gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	own := call(theirs.Users.AddSSHKey(&gitlab.AddSSHKeyOptions{
		Title: new("laptop"), Key: new(text + " someone@somewhere"), ExpiresAt: &expires, UsageType: new("signing"),
	})).ok(t, http.StatusCreated)
	host := strings.TrimPrefix(g.f.url, "http://")
	if own.ID == 0 || own.Title != "laptop" || own.UsageType != "signing" || own.CreatedAt == nil {
		t.Errorf("made %+v", own)
	}
	if want := text + " The keyholder (" + hostname(host) + ")"; own.Key != want {
		t.Errorf("key %q, want %q", own.Key, want)
	}
	if own.ExpiresAt == nil || !own.ExpiresAt.Equal(time.Time(expires)) {
		t.Errorf("expires at %v, want %v", own.ExpiresAt, expires)
	}
	_, otherText := sshKey(t)
	given := call(g.c.Users.AddSSHKeyForUser(u.ID, &gitlab.AddSSHKeyOptions{Title: new("desk"), Key: &otherText})).ok(t, http.StatusCreated)
	if given.UsageType != "auth_and_signing" || given.ExpiresAt != nil {
		t.Errorf("given %+v", given)
	}
	both := []*gitlab.SSHKey{own, given}
	anonymous := g.f.client(t, "")
	for name, list := range map[string][]*gitlab.SSHKey{
		"own":          call(theirs.Users.ListSSHKeys(nil)).ok(t, http.StatusOK),
		"by id":        call(g.c.Users.ListSSHKeysForUser(u.ID, nil)).ok(t, http.StatusOK),
		"by username":  call(anonymous.Users.ListSSHKeysForUser("keyholder", nil)).ok(t, http.StatusOK),
		"one, own":     {call(theirs.Users.GetSSHKey(own.ID)).ok(t, http.StatusOK), given},
		"one, by user": {own, call(anonymous.Users.GetSSHKeyForUser(u.ID, given.ID)).ok(t, http.StatusOK)},
	} {
		if diff := cmp.Diff(both, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, fingerprint := range map[string]string{"sha256": ssh.FingerprintSHA256(public), "md5": ssh.FingerprintLegacyMD5(public)} {
		found := call(g.c.Keys.GetKeyByFingerprint(&gitlab.GetKeyByFingerprintOptions{Fingerprint: fingerprint})).ok(t, http.StatusOK)
		if found.ID != own.ID || found.User.Username != "keyholder" {
			t.Errorf("by %s: %+v", name, found)
		}
	}
	if found := call(g.c.Keys.GetKeyWithUser(given.ID)).ok(t, http.StatusOK); found.Title != "desk" || found.User.ID != u.ID {
		t.Errorf("by id: %+v", found)
	}
	call(theirs.Keys.GetKeyWithUser(given.ID)).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	call(theirs.Users.AddSSHKey(&gitlab.AddSSHKeyOptions{Key: &text})).refused(t, http.StatusBadRequest, `{"error":"title is missing"}`)
	call(theirs.Users.AddSSHKey(&gitlab.AddSSHKeyOptions{Title: new("again"), Key: &text})).refused(t, http.StatusBadRequest,
		`{"message":{"fingerprint_sha256":["has already been taken"]}}`)
	call(theirs.Users.AddSSHKey(&gitlab.AddSSHKeyOptions{Title: new("bad"), Key: new("ssh-rsa nonsense")})).refused(t, http.StatusBadRequest,
		`{"message":{"fingerprint_sha256":["cannot be generated"],"key":["is invalid"]}}`)
	act(theirs.Users.DeleteSSHKey(own.ID)).ok(t, http.StatusNoContent)
	call(theirs.Users.GetSSHKey(own.ID)).refused(t, http.StatusNotFound, "")
	act(g.c.Users.DeleteSSHKeyForUser(u.ID, given.ID)).ok(t, http.StatusNoContent)
}

func hostname(hostport string) string {
	host, _, _ := strings.Cut(hostport, ":")
	return host
}

// sshKey makes a public key, and its line in an authorized_keys file.
func sshKey(t testing.TB) (public ssh.PublicKey, line string) {
	t.Helper()
	raw, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if public, err = ssh.NewPublicKey(raw); err != nil {
		t.Fatal(err)
	}
	return public, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
}

func (g goTour) gpgKeys(t *testing.T) {
	u := g.person(t, "signer")
	theirs := g.clientOf(t, u, "api")
	ann, bob := readFile(t, "testdata/ann.asc"), readFile(t, "testdata/bob.asc")
	own := call(theirs.Users.AddGPGKey(&gitlab.AddGPGKeyOptions{Key: &ann})).ok(t, http.StatusCreated)
	if own.ID == 0 || strings.TrimSpace(own.Key) != strings.TrimSpace(ann) || own.CreatedAt == nil {
		t.Errorf("made %+v", own)
	}
	given := call(g.c.Users.AddGPGKeyForUser(u.ID, &gitlab.AddGPGKeyOptions{Key: &bob})).ok(t, http.StatusCreated)
	both := []*gitlab.GPGKey{own, given}
	anonymous := g.f.client(t, "")
	for name, list := range map[string][]*gitlab.GPGKey{
		"own":          call(theirs.Users.ListGPGKeys()).ok(t, http.StatusOK),
		"of user":      call(anonymous.Users.ListGPGKeysForUser(u.ID)).ok(t, http.StatusOK),
		"one, own":     {call(theirs.Users.GetGPGKey(own.ID)).ok(t, http.StatusOK), given},
		"one, of user": {own, call(anonymous.Users.GetGPGKeyForUser(u.ID, given.ID)).ok(t, http.StatusOK)},
	} {
		if diff := cmp.Diff(both, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	call(theirs.Users.AddGPGKey(&gitlab.AddGPGKeyOptions{Key: new("nonsense")})).refused(t, http.StatusBadRequest, `{"message":{"key":`+
		`["is invalid. A valid public GPG key begins with '-----BEGIN PGP PUBLIC KEY BLOCK-----' and ends with '-----END PGP PUBLIC KEY BLOCK-----'"]}}`)
	act(theirs.Users.DeleteGPGKey(own.ID)).ok(t, http.StatusNoContent)
	call(theirs.Users.GetGPGKey(own.ID)).refused(t, http.StatusNotFound, "")
	act(g.c.Users.DeleteGPGKeyForUser(u.ID, given.ID)).ok(t, http.StatusNoContent)
}

func (g goTour) customAttributes(t *testing.T) {
	u := g.person(t, "attributed")
	desk := gitlab.CustomAttribute{Key: "desk", Value: "7"}
	for range 2 {
		if got := call(g.c.CustomAttribute.SetCustomUserAttribute(u.ID, desk)).ok(t, http.StatusOK); *got != desk {
			t.Errorf("set %+v", got)
		}
	}
	if got := call(g.c.CustomAttribute.GetCustomUserAttribute(u.ID, "desk")).ok(t, http.StatusOK); *got != desk {
		t.Errorf("read %+v", got)
	}
	if got := call(g.c.CustomAttribute.ListCustomUserAttributes(u.ID)).ok(t, http.StatusOK); len(got) != 1 || *got[0] != desk {
		t.Errorf("list %v", got)
	}
	call(g.c.CustomAttribute.SetCustomUserAttribute(u.ID, gitlab.CustomAttribute{Key: "desk"})).refused(t, http.StatusBadRequest,
		`{"message":{"value":["can't be blank"]}}`)
	call(g.c.CustomAttribute.ListCustomUserAttributes(u.ID, gitlab.WithSudo("attributed"))).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	act(g.c.CustomAttribute.DeleteCustomUserAttribute(u.ID, "desk")).ok(t, http.StatusNoContent)
	call(g.c.CustomAttribute.GetCustomUserAttribute(u.ID, "desk")).refused(t, http.StatusNotFound, "")
}

func (g goTour) status(t *testing.T) {
	u := g.person(t, "busy-one")
	theirs := g.clientOf(t, u, "api")
	set := call(theirs.Users.SetUserStatus(&gitlab.UserStatusOptions{
		Emoji: new("coffee"), Message: new("a break"), Availability: new(gitlab.Busy), ClearStatusAfter: new(gitlab.ClearStatusAfter3Hours),
	})).ok(t, http.StatusOK)
	if set.Emoji != "coffee" || set.Message != "a break" || set.Availability != gitlab.Busy || set.MessageHTML == "" || set.ClearStatusAt == nil {
		t.Errorf("set %+v", set)
	}
	for name, got := range map[string]*gitlab.UserStatus{
		"own":         call(theirs.Users.CurrentUserStatus()).ok(t, http.StatusOK),
		"by id":       call(g.f.client(t, "").Users.GetUserStatus(u.ID)).ok(t, http.StatusOK),
		"by username": call(g.c.Users.GetUserStatus("busy-one")).ok(t, http.StatusOK),
	} {
		if diff := cmp.Diff(set, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	call(theirs.Users.SetUserStatus(&gitlab.UserStatusOptions{Emoji: new("nonsense")})).refused(t, http.StatusBadRequest,
		`{"message":{"emoji":["is not a valid emoji name"]}}`)
	call(theirs.Users.SetUserStatus(&gitlab.UserStatusOptions{})).ok(t, http.StatusOK)
	if got := call(theirs.Users.CurrentUserStatus()).ok(t, http.StatusOK); *got != (gitlab.UserStatus{}) {
		t.Errorf("cleared: %+v", got)
	}
}

func (g goTour) personalAccessTokens(t *testing.T) {
	u := g.person(t, "tokenist")
	day := gitlab.ISOTime(time.Now().UTC().AddDate(0, 0, 30).Truncate(24 * time.Hour))
	made := call(g.c.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("laptop"), Scopes: &[]string{"api", "read_user"}, ExpiresAt: &day,
	})).ok(t, http.StatusCreated)
	g.f.secret(made.Token)
	if made.ID == 0 || made.Name != "laptop" || made.UserID != u.ID || !made.Active || made.Revoked || made.CreatedAt == nil ||
		!slices.Equal(made.Scopes, []string{"api", "read_user"}) || made.ExpiresAt == nil || made.ExpiresAt.String() != day.String() || made.LastUsedAt != nil {
		t.Errorf("made %v", made)
	}
	if !tokenForm.MatchString(made.Token) {
		t.Errorf("the token has another form")
	}
	mine := g.f.client(t, made.Token)
	self := call(mine.PersonalAccessTokens.GetSinglePersonalAccessToken()).ok(t, http.StatusOK)
	if self.ID != made.ID || self.Token != "" {
		t.Errorf("self %v", self)
	}
	if got := call(g.c.PersonalAccessTokens.GetSinglePersonalAccessTokenByID(made.ID)).ok(t, http.StatusOK); got.Name != "laptop" || got.Token != "" {
		t.Errorf("by id %v", got)
	}
	call(mine.PersonalAccessTokens.GetSinglePersonalAccessTokenByID(1)).refused(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
	call(g.c.PersonalAccessTokens.GetSinglePersonalAccessTokenByID(1<<40)).refused(t, http.StatusNotFound, "")

	old := call(g.c.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("old"), Scopes: &[]string{"read_api"}, ExpiresAt: new(gitlab.ISOTime(time.Now().AddDate(0, 0, -2))),
	})).ok(t, http.StatusCreated)
	if old.Active {
		t.Errorf("a token of the past is active")
	}
	call(g.f.client(t, g.f.secret(old.Token)).Users.CurrentUser()).refused(t, http.StatusUnauthorized,
		`{"message":"401 Unauthorized"}`)
	yesterday, tomorrow := gitlab.ISOTime(time.Now().AddDate(0, 0, -1)), gitlab.ISOTime(time.Now().AddDate(0, 0, 1))
	for _, c := range []struct {
		name string
		opt  gitlab.ListPersonalAccessTokensOptions
		want []int64
	}{
		{"user", gitlab.ListPersonalAccessTokensOptions{UserID: &u.ID}, []int64{made.ID, old.ID}},
		{"active", gitlab.ListPersonalAccessTokensOptions{UserID: &u.ID, State: new("active")}, []int64{made.ID}},
		{"inactive", gitlab.ListPersonalAccessTokensOptions{UserID: &u.ID, State: new("inactive")}, []int64{old.ID}},
		{"revoked", gitlab.ListPersonalAccessTokensOptions{UserID: &u.ID, Revoked: new(true)}, nil},
		{"search", gitlab.ListPersonalAccessTokensOptions{UserID: &u.ID, Search: new("lap")}, []int64{made.ID}},
		{"created", gitlab.ListPersonalAccessTokensOptions{UserID: &u.ID, CreatedAfter: &yesterday, CreatedBefore: &tomorrow}, []int64{made.ID, old.ID}},
		{"used", gitlab.ListPersonalAccessTokensOptions{UserID: &u.ID, LastUsedBefore: &yesterday}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int64
			for _, token := range call(g.c.PersonalAccessTokens.ListPersonalAccessTokens(&c.opt)).ok(t, http.StatusOK) {
				got = append(got, token.ID)
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	call(mine.PersonalAccessTokens.ListPersonalAccessTokens(&gitlab.ListPersonalAccessTokensOptions{UserID: new(int64(1))})).
		refused(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)

	rotated := call(g.c.PersonalAccessTokens.RotatePersonalAccessTokenByID(made.ID, &gitlab.RotatePersonalAccessTokenOptions{ExpiresAt: &day})).ok(t, http.StatusOK)
	g.f.secret(rotated.Token)
	if rotated.ID == made.ID || rotated.Token == made.Token || rotated.Name != made.Name || !slices.Equal(rotated.Scopes, made.Scopes) || rotated.ExpiresAt.String() != day.String() {
		t.Errorf("rotated %v", rotated)
	}
	call(mine.Users.CurrentUser()).refused(t, http.StatusUnauthorized,
		`{"message":"401 Unauthorized"}`)
	next := g.f.client(t, rotated.Token)
	again := call(next.PersonalAccessTokens.RotatePersonalAccessTokenSelf(nil)).ok(t, http.StatusOK)
	g.f.secret(again.Token)
	call(g.c.PersonalAccessTokens.RotatePersonalAccessTokenByID(rotated.ID, nil)).refused(t, http.StatusBadRequest,
		`{"message":"400 Bad request - token already revoked"}`)
	last := g.f.client(t, again.Token)
	act(last.PersonalAccessTokens.RevokePersonalAccessTokenSelf()).ok(t, http.StatusNoContent)
	call(last.Users.CurrentUser()).refused(t, http.StatusUnauthorized,
		`{"message":"401 Unauthorized"}`)
	act(g.c.PersonalAccessTokens.RevokePersonalAccessTokenByID(old.ID)).ok(t, http.StatusNoContent)
	act(g.c.PersonalAccessTokens.RevokePersonalAccessTokenByID(1<<40)).refused(t, http.StatusNotFound, "")

	limited := call(g.c.Users.CreatePersonalAccessTokenForCurrentUser(&gitlab.CreatePersonalAccessTokenForCurrentUserOptions{
		Name: new("agent"), Scopes: &[]string{"k8s_proxy"},
	})).ok(t, http.StatusCreated)
	g.f.secret(limited.Token)
	if want := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly); limited.ExpiresAt.String() != want {
		t.Errorf("the limited token expires on %s, want %s", limited.ExpiresAt, want)
	}
	call(g.c.Users.CreatePersonalAccessTokenForCurrentUser(&gitlab.CreatePersonalAccessTokenForCurrentUserOptions{
		Name: new("agent"), Scopes: &[]string{"api"},
	})).refused(t, http.StatusBadRequest, `{"error":"scopes does not have a valid value"}`)
	call(g.c.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{})).refused(t, http.StatusBadRequest,
		`{"error":"name is missing, scopes is missing"}`)
	late := gitlab.ISOTime(time.Now().AddDate(2, 0, 0))
	call(g.c.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("late"), Scopes: &[]string{"api"}, ExpiresAt: &late,
	})).refused(t, http.StatusUnprocessableEntity, `{"message":"Expires at must be before `+time.Now().UTC().AddDate(0, 0, 365).Format(time.DateOnly)+`"}`)
}

func (g goTour) impersonationTokens(t *testing.T) {
	u := g.person(t, "played")
	day := time.Now().UTC().AddDate(0, 0, 10).Truncate(24 * time.Hour)
	made := call(g.c.Users.CreateImpersonationToken(u.ID, &gitlab.CreateImpersonationTokenOptions{
		Name: new("play"), Scopes: &[]string{"api"}, ExpiresAt: &day,
	})).ok(t, http.StatusCreated)
	if made.Token == "" || !made.Active || made.Revoked || made.ExpiresAt == nil || made.ExpiresAt.String() != day.Format(time.DateOnly) {
		t.Errorf("made %+v", made)
	}
	player := g.f.client(t, g.f.secret(made.Token))
	if got := call(player.Users.CurrentUser()).ok(t, http.StatusOK); got.ID != u.ID {
		t.Errorf("the player is %+v", got)
	}
	if got := call(g.c.Users.GetImpersonationToken(u.ID, made.ID)).ok(t, http.StatusOK); got.Name != "play" || got.Token != "" {
		t.Errorf("read %+v", got)
	}
	for state, want := range map[string]int{"all": 1, "active": 1, "inactive": 0} {
		list := call(g.c.Users.GetAllImpersonationTokens(u.ID, &gitlab.GetAllImpersonationTokensOptions{State: &state})).ok(t, http.StatusOK)
		if len(list) != want {
			t.Errorf("%s: %d", state, len(list))
		}
	}
	call(g.c.Users.CreateImpersonationToken(u.ID, &gitlab.CreateImpersonationTokenOptions{Name: new("none"), ExpiresAt: &day})).
		refused(t, http.StatusBadRequest, `{"message":{"scopes":["can't be blank"]}}`)
	call(g.c.Users.GetImpersonationToken(u.ID, 1<<40)).refused(t, http.StatusNotFound, "")
	act(g.c.Users.RevokeImpersonationToken(u.ID, made.ID)).ok(t, http.StatusNoContent)
	call(player.Users.CurrentUser()).refused(t, http.StatusUnauthorized,
		`{"message":"401 Unauthorized"}`)
	if got := call(g.c.Users.GetImpersonationToken(u.ID, made.ID)).ok(t, http.StatusOK); !got.Revoked || got.Active {
		t.Errorf("revoked %+v", got)
	}
}

func (g goTour) instanceVariables(t *testing.T) {
	value, next := g.f.secret("variable-"+rand.Text()), g.f.secret("variable-"+rand.Text())
	want := gitlab.InstanceVariable{
		Key: "DEPLOY_KEY", Value: value, VariableType: gitlab.FileVariableType, Protected: true, Masked: true, Raw: true, Description: "of the tour",
	}
	made := call(g.c.InstanceVariables.CreateVariable(&gitlab.CreateInstanceVariableOptions{
		Key: &want.Key, Value: &value, VariableType: &want.VariableType, Protected: new(true), Masked: new(true), Raw: new(true), Description: &want.Description,
	})).ok(t, http.StatusCreated)
	if *made != want {
		t.Errorf("made %+v", *made)
	}
	if got := call(g.c.InstanceVariables.GetVariable("DEPLOY_KEY")).ok(t, http.StatusOK); *got != want {
		t.Errorf("read %+v", *got)
	}
	want.Value, want.Masked, want.Raw, want.VariableType = next, false, false, gitlab.EnvVariableType
	updated := call(g.c.InstanceVariables.UpdateVariable("DEPLOY_KEY", &gitlab.UpdateInstanceVariableOptions{
		Value: &next, Masked: new(false), Raw: new(false), VariableType: new(gitlab.EnvVariableType),
	})).ok(t, http.StatusOK)
	if *updated != want {
		t.Errorf("updated %+v", *updated)
	}
	if list := call(g.c.InstanceVariables.ListVariables(nil)).ok(t, http.StatusOK); len(list) != 1 || *list[0] != want {
		t.Errorf("list %v", list)
	}
	call(g.c.InstanceVariables.CreateVariable(&gitlab.CreateInstanceVariableOptions{})).refused(t, http.StatusBadRequest,
		`{"error":"key is missing, value is missing"}`)
	call(g.c.InstanceVariables.CreateVariable(&gitlab.CreateInstanceVariableOptions{Key: &want.Key, Value: &value})).refused(t, http.StatusBadRequest,
		`{"message":{"key":["(DEPLOY_KEY) has already been taken"]}}`)
	call(g.c.InstanceVariables.CreateVariable(&gitlab.CreateInstanceVariableOptions{Key: new("NO-DASH"), Value: &value})).refused(t, http.StatusBadRequest,
		`{"message":{"key":["can contain only letters, digits and '_'."]}}`)
	call(g.c.InstanceVariables.CreateVariable(&gitlab.CreateInstanceVariableOptions{Key: new("SHORT"), Value: new("short"), Masked: new(true)})).
		refused(t, http.StatusBadRequest, `{"message":{"value":["is invalid"]}}`)
	plain := g.clientOf(t, g.person(t, "variableless"), "api")
	call(plain.InstanceVariables.ListVariables(nil)).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	act(g.c.InstanceVariables.RemoveVariable("DEPLOY_KEY")).ok(t, http.StatusNoContent)
	call(g.c.InstanceVariables.GetVariable("DEPLOY_KEY")).refused(t, http.StatusNotFound, "")
}

func (g goTour) settings(t *testing.T) {
	before := call(g.c.Settings.GetSettings()).ok(t, http.StatusOK)
	if !before.SignupEnabled || before.MinimumPasswordLength != 8 || before.DefaultProjectsLimit != 100000 || !before.CanCreateGroup ||
		!before.UserOauthApplications || before.AdminMode || before.DeactivateDormantUsersPeriod != 90 || before.ThrottleAuthenticatedAPIEnabled {
		t.Errorf("the defaults are %+v", before)
	}
	after := call(g.c.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{
		SignupEnabled: new(false), MinimumPasswordLength: new(int64(12)), DefaultProjectsLimit: new(int64(5)),
		DomainAllowlist: &[]string{"example.com"}, RestrictedVisibilityLevels: &[]gitlab.VisibilityValue{gitlab.PublicVisibility},
		PersonalAccessTokenPrefix: new("anvil-"),
	})).ok(t, http.StatusOK)
	if after.SignupEnabled || after.MinimumPasswordLength != 12 || after.DefaultProjectsLimit != 5 || after.PersonalAccessTokenPrefix != "anvil-" ||
		!slices.Equal(after.DomainAllowlist, []string{"example.com"}) || !slices.Equal(after.RestrictedVisibilityLevels, []gitlab.VisibilityValue{gitlab.PublicVisibility}) {
		t.Errorf("after the change: %+v", after)
	}
	call(g.f.client(t, "").Users.ListUsers(&gitlab.ListUsersOptions{Username: new("root")})).refused(t, http.StatusForbidden,
		`{"message":"403 Forbidden - Not authorized to access /api/v4/users"}`)
	u := g.person(t, "limited")
	if u.ProjectsLimit != 5 {
		t.Errorf("a new account may have %d projects", u.ProjectsLimit)
	}
	made := call(g.c.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("prefixed"), Scopes: &[]string{"api"},
	})).ok(t, http.StatusCreated)
	if g.f.secret(made.Token); !strings.HasPrefix(made.Token, "anvil-") {
		t.Errorf("the token has another prefix")
	}
	call(g.f.client(t, made.Token).Settings.GetSettings()).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	call(g.c.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{RequireTwoFactorAuthentication: new(true)})).refused(t, http.StatusBadRequest,
		`{"error":"two_factor_grace_period is missing"}`)
	restored := call(g.c.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{
		SignupEnabled: new(true), MinimumPasswordLength: new(int64(8)), DefaultProjectsLimit: new(int64(100000)),
		DomainAllowlist: &[]string{}, RestrictedVisibilityLevels: &[]gitlab.VisibilityValue{}, PersonalAccessTokenPrefix: &before.PersonalAccessTokenPrefix,
	})).ok(t, http.StatusOK)
	if diff := cmp.Diff(before, restored, cmpopts.IgnoreFields(gitlab.Settings{}, "UpdatedAt"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("back where it was (-want +got):\n%s", diff)
	}
}

func (g goTour) features(t *testing.T) {
	definitions := call(g.c.Features.ListFeatureDefinitions()).ok(t, http.StatusOK)
	if !slices.ContainsFunc(definitions, func(d *gitlab.FeatureDefinition) bool {
		return d.Name == "changelog_commits_limitation" && d.DefaultEnabled
	}) {
		t.Errorf("definitions: %v", definitions)
	}
	set := call(g.c.Features.SetFeatureFlag("changelog_commits_limitation", &gitlab.SetFeatureFlagOptions{Value: "false"})).ok(t, http.StatusCreated)
	if set.Name != "changelog_commits_limitation" || set.State != "off" || set.Definition == nil {
		t.Errorf("set %v", set)
	}
	some := call(g.c.Features.SetFeatureFlag("of_our_own", &gitlab.SetFeatureFlagOptions{Value: 30, Force: true})).ok(t, http.StatusCreated)
	if some.State != "conditional" || !slices.ContainsFunc(some.Gates, func(gate gitlab.Gate) bool { return gate.Key == "percentage_of_time" && gate.Value == 30.0 }) {
		t.Errorf("some of the time: %v", some)
	}
	one := call(g.c.Features.SetFeatureFlag("of_one", &gitlab.SetFeatureFlagOptions{Value: true, User: "root", Force: true})).ok(t, http.StatusCreated)
	if one.State != "conditional" {
		t.Errorf("for one person: %v", one)
	}
	if list := call(g.c.Features.ListFeatures()).ok(t, http.StatusOK); len(list) != 3 {
		t.Errorf("list %v", list)
	}
	for _, name := range []string{"changelog_commits_limitation", "of_our_own", "of_one", "of_one"} {
		act(g.c.Features.DeleteFeatureFlag(name)).ok(t, http.StatusNoContent)
	}
	if list := call(g.c.Features.ListFeatures()).ok(t, http.StatusOK); len(list) != 0 {
		t.Errorf("left %v", list)
	}
}

func (g goTour) deletion(t *testing.T) {
	u := g.person(t, "leaver")
	theirs := g.clientOf(t, u, "api")
	act(g.c.Users.DeleteUser(u.ID, gitlab.WithHeader("If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT"))).
		refused(t, http.StatusPreconditionFailed, `{"message":"412 Precondition Failed"}`)
	act(g.c.Users.DeleteUser(u.ID, gitlab.WithSudo("annie"))).ok(t, http.StatusNoContent)
	call(g.c.Users.GetUser(u.ID, gitlab.GetUsersOptions{})).refused(t, http.StatusNotFound, "")
	if _, _, err := theirs.Users.CurrentUser(); err == nil {
		t.Error("the token of an account that is gone still works")
	}
	act(g.c.Users.DeleteUser(u.ID)).refused(t, http.StatusNotFound, "")
	eventually(t, patience, "the name can be taken again", func() bool {
		again, _, err := g.c.Users.CreateUser(&gitlab.CreateUserOptions{
			Username: &u.Username, Name: &u.Name, Email: &u.Email, ForceRandomPassword: new(true),
		})
		return err == nil && again.ID != u.ID
	})
}

func pngPicture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func fetch(t testing.TB, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return body
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
