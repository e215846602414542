package audit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

var update = flag.Bool("update", false, "write docs/audit-events.md")

// administrative tells from its declaration whether an endpoint changes how the instance, a group or a project is run: it needs an administrator, or
// a role from Maintainer on for something that is more than to read.
func administrative(e httpapi.Endpoint) bool {
	rule, _ := access.RuleOf(e.Needs)
	if !e.V4() || e.Method == http.MethodGet || e.Method == http.MethodHead {
		return false
	}
	return e.Needs == access.Administer || (rule.Level != access.OnInstance && !rule.Read && !rule.PublicToo && rule.Role >= access.Maintainer)
}

// unaudited are administrative endpoints that leave no trace, with the reason.
var unaudited = map[string]string{
	"POST /groups/{id}/badges":                      "A badge is a picture beside the description; it gives nobody a right.",
	"PUT /groups/{id}/badges/{badge_id}":            "A badge is a picture beside the description; it gives nobody a right.",
	"DELETE /groups/{id}/badges/{badge_id}":         "A badge is a picture beside the description; it gives nobody a right.",
	"POST /projects/{id}/badges":                    "A badge is a picture beside the description; it gives nobody a right.",
	"PUT /projects/{id}/badges/{badge_id}":          "A badge is a picture beside the description; it gives nobody a right.",
	"DELETE /projects/{id}/badges/{badge_id}":       "A badge is a picture beside the description; it gives nobody a right.",
	"DELETE /groups/{id}/wikis/{slug}":              "Content: the repository of the wiki keeps who deleted the page and what it said.",
	"DELETE /projects/{id}/wikis/{slug}":            "Content: the repository of the wiki keeps who deleted the page and what it said.",
	"DELETE /projects/{id}/artifacts":               "Content that jobs made and that expires by itself.",
	"DELETE /projects/{id}/jobs/{job_id}/artifacts": "Content that jobs made and that expires by itself.",
	"DELETE /projects/{id}/issues/{issue_iid}":      "Content: the reference streams this event and does not keep it.",
}

// operations drives endpoints and notes what the trail says of each.
type operations struct {
	*fixture
	types map[string][]string // by endpoint
}

// as does one operation as somebody. The path is the route with its parameters filled in, in their order.
func (o *operations) as(t *testing.T, who *user.User, route string, body any, params ...any) int64 {
	t.Helper()
	path, left := "", route
	for _, p := range params {
		before, after, ok := strings.Cut(left, "{")
		if !ok {
			t.Fatalf("%s has no place for %v", route, p)
		}
		_, left, _ = strings.Cut(after, "}")
		path += before + fmt.Sprint(p)
	}
	method, path, _ := strings.Cut(path+left, " ")
	o.Audited()
	r := o.As(t, who).Do(t, method, path, body)
	if r.Status >= 300 {
		t.Errorf("%s: %d %s", route, r.Status, r.Body)
	}
	if o.types[route] == nil {
		o.types[route] = []string{}
	}
	for _, d := range o.Audited() {
		if text := fmt.Sprintf("`%s` (%s)", d.Type, d.Entity.Kind); !slices.Contains(o.types[route], text) {
			o.types[route] = append(o.types[route], text)
		}
	}
	var made struct {
		ID int64 `json:"id"`
	}
	_ = json.Unmarshal([]byte(r.Body), &made)
	return made.ID
}

func (o *operations) do(t *testing.T, route string, body any, params ...any) int64 {
	t.Helper()
	return o.as(t, o.root, route, body, params...)
}

const key1 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

func (o *operations) onInstance(t *testing.T) {
	o.do(t, "POST /admin/ci/variables", object{"key": "KEY", "value": "12345678"})
	o.do(t, "PUT /admin/ci/variables/{key}", object{"value": "87654321"}, "KEY")
	o.do(t, "DELETE /admin/ci/variables/{key}", nil, "KEY")
	o.do(t, "PUT /application/settings", object{"default_projects_limit": 7})
	id := o.do(t, "POST /applications", object{"name": "app", "redirect_uri": "https://app.example", "scopes": "api"})
	o.do(t, "POST /applications/{id}/renew-secret", nil, id)
	o.do(t, "DELETE /applications/{id}", nil, id)
	o.do(t, "POST /features/{name}", object{"value": "true"}, "new_pages")
	o.do(t, "DELETE /features/{name}", nil, "new_pages")
	o.do(t, "POST /runners/reset_registration_token", nil)
	destination := o.do(t, "POST /admin/audit_event_destinations", object{"name": "siem", "destination_url": "https://1.1.1.1/audit"})
	o.do(t, "PUT /admin/audit_event_destinations/{destination_id}", object{"active": false}, destination)
	o.do(t, "POST /admin/audit_event_destinations/{destination_id}/retry", nil, destination)
	o.do(t, "DELETE /admin/audit_event_destinations/{destination_id}", nil, destination)
}

func (o *operations) onUsers(t *testing.T) {
	id := o.do(t, "POST /users", object{"email": "new@example.com", "name": "New", "username": "new", "force_random_password": true, "skip_confirmation": true})
	for _, body := range []object{
		{"admin": true}, {"admin": false}, {"username": "newer"}, {"password": "correct horse battery 7"},
		{"auditor": true},
	} {
		o.do(t, "PUT /users/{id}", body, id)
	}
	for _, act := range []string{"block", "unblock", "ban", "unban", "deactivate", "activate"} {
		o.do(t, "POST /users/{id}/"+act, nil, id)
	}
	o.do(t, "PUT /users/{id}/custom_attributes/{key}", object{"value": "x"}, id, "room")
	o.do(t, "DELETE /users/{id}/custom_attributes/{key}", nil, id, "room")
	email := o.do(t, "POST /users/{id}/emails", object{"email": "second@example.com"}, id)
	o.do(t, "DELETE /users/{id}/emails/{email_id}", nil, id, email)
	o.do(t, "POST /users/{id}/emails", object{"email": "newer@example.com", "skip_confirmation": true}, id)
	o.do(t, "PUT /users/{id}", object{"email": "newer@example.com", "skip_reconfirmation": true}, id)
	gpg, err := os.ReadFile("../user/testdata/ed25519.asc")
	if err != nil {
		t.Fatal(err)
	}
	o.do(t, "DELETE /users/{id}/gpg_keys/{key_id}", nil, id, o.do(t, "POST /users/{id}/gpg_keys", object{"key": string(gpg)}, id))
	o.do(t, "POST /users/{id}/gpg_keys/{key_id}/revoke", nil, id, o.do(t, "POST /users/{id}/gpg_keys", object{"key": string(gpg)}, id))
	o.do(t, "DELETE /users/{id}/keys/{key_id}", nil, id, o.do(t, "POST /users/{user_id}/keys", object{"title": "k", "key": key1}, id))
	o.do(t, "PUT /users/{id}", object{"provider": "saml", "extern_uid": "1"}, id)
	o.do(t, "DELETE /users/{id}/identities/{provider}", nil, id, "saml")
	token := object{"name": "t", "scopes": []string{"read_api"}, "expires_at": o.Now().AddDate(0, 0, 20).Format("2006-01-02")}
	o.do(t, "DELETE /users/{user_id}/impersonation_tokens/{impersonation_token_id}", nil, id, o.do(t, "POST /users/{user_id}/impersonation_tokens", token, id))
	personal := o.do(t, "POST /users/{user_id}/personal_access_tokens", token, id)
	o.do(t, "POST /personal_access_tokens/{id}/rotate", nil, personal)
	o.do(t, "DELETE /personal_access_tokens/{id}", nil, o.do(t, "POST /users/{user_id}/personal_access_tokens", token, id))
	factor := usertest.New(t, o.DB, usertest.With("two_factor_enabled", true))
	o.do(t, "PATCH /users/{id}/disable_two_factor", nil, factor.ID)
	o.do(t, "POST /users/{id}/approve", nil, usertest.New(t, o.DB, usertest.In(user.Pending)).ID)
	o.do(t, "POST /users/{id}/reject", nil, usertest.New(t, o.DB, usertest.In(user.Pending)).ID)
	o.do(t, "DELETE /users/{id}", nil, id)

	// What people do with their own account.
	o.as(t, o.stranger, "DELETE /user/emails/{email_id}", nil, o.as(t, o.stranger, "POST /user/emails", object{"email": "third@example.com"}))
	o.as(t, o.stranger, "DELETE /user/keys/{key_id}", nil, o.as(t, o.stranger, "POST /user/keys", object{"title": "k", "key": key1}))
	o.as(t, o.stranger, "DELETE /user/gpg_keys/{key_id}", nil, o.as(t, o.stranger, "POST /user/gpg_keys", object{"key": string(gpg)}))
}

// onOwner is what groups and projects have in common.
func (o *operations) onOwner(t *testing.T, in string, id int64) {
	below := func(route string) string {
		method, path, _ := strings.Cut(route, " ")
		return method + " /" + in + "/{id}" + path
	}
	person := usertest.New(t, o.DB)
	o.do(t, below("POST /members"), object{"user_id": person.ID, "access_level": 30}, id)
	o.do(t, below("PUT /members/{user_id}"), object{"access_level": 20}, id, person.ID)
	o.do(t, below("DELETE /members/{user_id}"), nil, id, person.ID)
	o.do(t, below("POST /invitations"), object{"email": "guest@example.com", "access_level": 10}, id)
	o.do(t, below("PUT /invitations/{email}"), object{"access_level": 20}, id, "guest@example.com")
	o.do(t, below("DELETE /invitations/{email}"), nil, id, "guest@example.com")
	o.as(t, person, below("POST /access_requests"), nil, id)
	o.do(t, below("PUT /access_requests/{user_id}/approve"), object{"access_level": 20}, id, person.ID)
	token := object{"name": "t", "scopes": []string{"read_api"}, "access_level": 20, "expires_at": o.Now().AddDate(0, 0, 20).Format("2006-01-02")}
	rotated := o.do(t, below("POST /access_tokens/{token_id}/rotate"), nil, id, o.do(t, below("POST /access_tokens"), token, id))
	o.do(t, below("DELETE /access_tokens/{token_id}"), nil, id, rotated)
	deploy := o.do(t, below("POST /deploy_tokens"), object{"name": "d", "scopes": []string{"read_repository"}}, id)
	o.do(t, below("DELETE /deploy_tokens/{token_id}"), nil, id, deploy)
	o.do(t, below("POST /variables"), object{"key": "KEY", "value": "12345678"}, id)
	o.do(t, below("PUT /variables/{key}"), object{"value": "87654321"}, id, "KEY")
	o.do(t, below("DELETE /variables/{key}"), nil, id, "KEY")
	o.do(t, below("PUT /custom_attributes/{key}"), object{"value": "x"}, id, "room")
	o.do(t, below("DELETE /custom_attributes/{key}"), nil, id, "room")
	other := grouptest.New(t, o.DB, grouptest.Visible(access.Public))
	o.do(t, below("POST /share"), object{"group_id": other.ID, "group_access": 20}, id)
	o.do(t, below("DELETE /share/{group_id}"), nil, id, other.ID)
	o.do(t, below("POST /runners/reset_registration_token"), nil, id)
}

func (o *operations) onGroups(t *testing.T) {
	id := o.do(t, "POST /groups", object{"name": "New house", "path": "new-house", "visibility": "public"})
	o.onOwner(t, "groups", id)
	for _, body := range []object{
		{"name": "Newer house"}, {"path": "newer-house"}, {"visibility": "private"}, {"require_two_factor_authentication": true}, {"visibility": "public"},
	} {
		o.do(t, "PUT /groups/{id}", body, id)
	}
	destination := o.do(t, "POST /groups/{id}/audit_event_destinations", object{"name": "siem", "destination_url": "https://1.1.1.1/audit"}, id)
	o.do(t, "PUT /groups/{id}/audit_event_destinations/{destination_id}", object{"rotate_token": true}, id, destination)
	o.do(t, "POST /groups/{id}/audit_event_destinations/{destination_id}/retry", nil, id, destination)
	o.do(t, "DELETE /groups/{id}/audit_event_destinations/{destination_id}", nil, id, destination)
	o.do(t, "POST /groups/{id}/transfer", object{"group_id": o.house.ID}, id)
	o.do(t, "POST /groups/{id}/projects/{project_id}", nil, id, projecttest.New(t, o.DB, o.house.ID).ID)
	o.do(t, "DELETE /groups/{id}", nil, id)
}

func (o *operations) onProjects(t *testing.T) {
	id := o.do(t, "POST /projects", object{"name": "machine", "namespace_id": o.house.ID, "visibility": "public"})
	person := o.do(t, "POST /users", object{"email": "given@example.com", "name": "Given", "username": "given", "force_random_password": true})
	o.do(t, "POST /projects/user/{user_id}", object{"name": "given"}, person)
	o.onOwner(t, "projects", id)
	for _, body := range []object{
		{"name": "Newer"}, {"path": "newer"}, {"visibility": "private"}, {"visibility": "public"}, {"wiki_access_level": "private"}, {"merge_method": "ff"},
	} {
		o.do(t, "PUT /projects/{id}", body, id)
	}
	o.do(t, "POST /projects/{id}/archive", nil, id)
	o.do(t, "POST /projects/{id}/unarchive", nil, id)
	key := o.do(t, "POST /projects/{id}/deploy_keys", object{"title": "k", "key": key1}, id)
	o.do(t, "PUT /projects/{id}/deploy_keys/{key_id}", object{"can_push": true}, id, key)
	o.do(t, "POST /projects/{id}/deploy_keys/{key_id}/enable", nil, o.project.ID, key)
	o.do(t, "DELETE /projects/{id}/deploy_keys/{key_id}", nil, id, key)
	o.do(t, "PATCH /projects/{id}/job_token_scope", object{"enabled": true}, id)
	o.do(t, "PATCH /projects/{id}/job_token_scope", object{"enabled": false}, id)
	o.do(t, "POST /projects/{id}/job_token_scope/allowlist", object{"target_project_id": o.project.ID}, id)
	o.do(t, "DELETE /projects/{id}/job_token_scope/allowlist/{target_project_id}", nil, id, o.project.ID)
	trigger := o.do(t, "POST /projects/{id}/triggers", object{"description": "t"}, id)
	o.do(t, "PUT /projects/{id}/triggers/{trigger_id}", object{"description": "u"}, id, trigger)
	o.do(t, "DELETE /projects/{id}/triggers/{trigger_id}", nil, id, trigger)
	integration := o.do(t, "POST /projects/{id}/alert_management_integrations", object{"name": "i", "type": "http"}, id)
	o.do(t, "PUT /projects/{id}/alert_management_integrations/{integration_id}", object{"name": "j"}, id, integration)
	o.do(t, "POST /projects/{id}/alert_management_integrations/{integration_id}/reset_token", nil, id, integration)
	o.do(t, "DELETE /projects/{id}/alert_management_integrations/{integration_id}", nil, id, integration)
	o.do(t, "PUT /projects/{id}/error_tracking/settings", object{"active": true, "integrated": true}, id)
	o.do(t, "PATCH /projects/{id}/error_tracking/settings", object{"active": false}, id)
	o.do(t, "DELETE /projects/{id}/error_tracking/client_keys/{key_id}", nil, id, o.do(t, "POST /projects/{id}/error_tracking/client_keys", nil, id))
	o.do(t, "POST /projects/{id}/pages/domains", object{"domain": "site.example.org"}, id)
	o.do(t, "PUT /projects/{id}/pages/domains/{domain}", object{"auto_ssl_enabled": true}, id, "site.example.org")
	o.do(t, "DELETE /projects/{id}/pages/domains/{domain}", nil, id, "site.example.org")
	o.do(t, "PATCH /projects/{id}/pages", object{"pages_unique_domain_enabled": true}, id)
	o.do(t, "DELETE /projects/{id}/pages", nil, id)
	o.do(t, "PUT /projects/{id}/transfer", object{"namespace": grouptest.New(t, o.DB).ID}, id)
	o.do(t, "DELETE /projects/{id}", nil, id)
	o.onCode(t)
}

// onCode is what asks for a repository.
func (o *operations) onCode(t *testing.T) {
	p := projecttest.New(t, o.DB, o.house.ID, projecttest.Visible(access.Public))
	repositorytest.New(t, o.DB, o.Store, p, repositorytest.Files{".svc-ci.yml": "job: {script: x}\n"})
	o.do(t, "POST /projects/{id}/protected_branches", object{"name": "stable"}, p.ID)
	o.do(t, "PATCH /projects/{id}/protected_branches/{name}", object{"allow_force_push": true}, p.ID, "stable")
	o.do(t, "DELETE /projects/{id}/protected_branches/{name}", nil, p.ID, "stable")
	o.do(t, "POST /projects/{id}/protected_tags", object{"name": "v*"}, p.ID)
	o.do(t, "DELETE /projects/{id}/protected_tags/{name}", nil, p.ID, "v*")
	o.do(t, "PUT /projects/{id}/repository/branches/{branch}/protect", nil, p.ID, "main")
	o.do(t, "PUT /projects/{id}/repository/branches/{branch}/unprotect", nil, p.ID, "main")
	fork := o.do(t, "POST /projects/{id}/fork", object{"namespace_id": grouptest.New(t, o.DB).ID}, p.ID)
	o.do(t, "DELETE /projects/{id}/fork", nil, fork)
	o.do(t, "POST /projects/{id}/fork/{forked_from_id}", nil, fork, p.ID)
	schedule := o.as(t, o.people[access.Developer], "POST /projects/{id}/pipeline_schedules", object{"ref": "main", "description": "s", "cron": "0 1 * * *"}, p.ID)
	o.do(t, "POST /projects/{id}/pipeline_schedules/{schedule_id}/take_ownership", nil, p.ID, schedule)
	o.do(t, "DELETE /projects/{id}/pipelines/{pipeline_id}", nil, p.ID, o.do(t, "POST /projects/{id}/pipeline", object{"ref": "main"}, p.ID))
	runner := o.do(t, "POST /user/runners", object{"runner_type": "project_type", "project_id": p.ID})
	o.do(t, "PUT /runners/{id}", object{"description": "r"}, runner)
	o.do(t, "POST /runners/{id}/reset_authentication_token", nil, runner)
	o.do(t, "POST /projects/{id}/runners", object{"runner_id": runner}, o.project.ID)
	o.do(t, "DELETE /projects/{id}/runners/{runner_id}", nil, o.project.ID, runner)
	o.do(t, "DELETE /runners/{id}", nil, runner)
}

const preface = `# Audit events

What the audit trail keeps of each operation. Made by a test that does every operation and looks at what was written
(` + "`internal/audit/operations_test.go`" + `); not edited by hand. What an event holds and who reads it: [the API](api/openapi.yaml), how it is kept:
[decision 0056](adr/0056-audit-trail-sealed.md).

An operation that changes something in several ways writes an event for each. The pages of the service do the same operations through the same
code. In brackets is whose trail the event is in; administrators see all of them.

| Operation | | Events |
|---|---|---|
`

const prefaceWithout = `
## Administrative operations that write none

| Operation | Why |
|---|---|
`

// Which events an operation writes is seen by doing it. An endpoint whose declaration says that it administers something is done here, or listed as an
// exception with its reason; else this fails.
func TestSU09_EveryAdministrativeOperationLeavesATrace(t *testing.T) {
	t.Parallel()
	o := &operations{fixture: newFixture(t), types: map[string][]string{}}
	o.onInstance(t)
	o.onUsers(t)
	o.onGroups(t)
	o.onProjects(t)
	var with, without bytes.Buffer
	known := map[string]bool{}
	endpoints := o.Endpoints()
	slices.SortFunc(endpoints, func(a, b httpapi.Endpoint) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	for _, e := range endpoints {
		name := e.Method + " " + e.Path
		known[name] = true
		types, done := o.types[name]
		why, excepted := unaudited[name]
		switch {
		case excepted && len(types) > 0:
			t.Errorf("%s is listed as an exception and writes %v", name, types)
		case excepted && !administrative(e):
			t.Errorf("%s is listed as an exception and is not administrative", name)
		case excepted:
			fmt.Fprintf(&without, "| `%s` | %s |\n", name, why)
		case administrative(e) && !done:
			t.Errorf("%s administers something and is not done here: do it above, and publish an audit record in its room if there is none", name)
		case administrative(e) && len(types) == 0:
			t.Errorf("%s administers something and writes no audit event", name)
		}
		if len(types) > 0 {
			slices.Sort(types)
			fmt.Fprintf(&with, "| `%s` | %s | %s |\n", name, e.Summary, strings.Join(types, ", "))
		}
	}
	for name := range unaudited {
		if !known[name] {
			t.Errorf("%s is listed as an exception and does not exist", name)
		}
	}
	for name := range o.types {
		if !known[name] {
			t.Errorf("%s is done and does not exist", name)
		}
	}
	if t.Failed() {
		return
	}
	const path = "../../docs/audit-events.md"
	document := preface + with.String() + prefaceWithout + without.String()
	if *update {
		if err := os.WriteFile(path, []byte(document), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if diff := cmp.Diff(string(kept), document); err != nil || diff != "" {
		t.Errorf("docs/audit-events.md is stale; run: go test ./internal/audit -run SU09 -update\n%v%s", err, diff)
	}
}
