package httpapi

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
)

func TestRoutesAreListedByPathAndMethod(t *testing.T) {
	t.Parallel()
	want := strings.Join([]string{
		"GET /job sign_in [any]",
		"GET /mixtures sign_in [api read_api]",
		"PUT /settings administer [api]",
		"GET /things public [read_user api read_api]",
		"POST /things sign_in [api]",
		"DELETE /things/{id} administer [api]",
		"GET /things/{id} read_profiles [api read_api]",
		"POST /things/{id}/export sign_in [api]",
		"",
	}, "\n")
	if diff := cmp.Diff(want, Routes(registry())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPermissionsFollowFromThePolicy(t *testing.T) {
	t.Parallel()
	got := Permissions(registry())
	for _, line := range []string{
		"| `public` | instance | everyone | anyone, signed in or not |",
		"| `administer` | instance | administrators | administer the instance |",
		"| Endpoint | Ability | anonymous | signed in | administrator |",
		"| `read_code` | project | everyone who sees it; Reporter if private | read the code of a project |",
		"| `GET /things` | `public` | yes | yes | yes |",
		"| `POST /things` | `sign_in` | 401 | yes | yes |",
		"| `GET /things/{id}` | `read_profiles` | 403 | yes | yes |",
		"| `DELETE /things/{id}` | `administer` | 401 | 403 | yes |",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
}

func TestTheServerAnswersAsThePermissionsSay(t *testing.T) {
	t.Parallel()
	endpoints := registry()
	d := open(t, endpoints...)
	lines := strings.Split(Permissions(endpoints), "\n")
	for _, line := range lines {
		cells := strings.Split(strings.ReplaceAll(line, "`", ""), " | ")
		method, path, isRoute := strings.Cut(strings.TrimPrefix(cells[0], "| "), " ")
		if !isRoute || !strings.HasPrefix(path, "/") {
			continue
		}
		for i, options := range [][]option{nil, {token("member")}, {token("admin")}} {
			status := d.do(method, strings.ReplaceAll(path, "{id}", "1"), options...).Code
			refused := map[int]string{401: "401", 403: "403"}[status]
			if want := strings.TrimSuffix(cells[2+i], " |"); refused != strings.TrimPrefix(want, "yes") {
				t.Errorf("%s %s: got %d, want %s", method, path, status, want)
			}
		}
	}
}

func TestTheRegistryIsChecked(t *testing.T) {
	t.Parallel()
	if got := Check(registry()); got != nil {
		t.Errorf("a good registry has breaches: %q", got)
	}
	handle := func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil }
	type silent struct {
		Name      string `param:"name"`
		Variables []struct {
			Key string `param:"key"`
		} `param:"variables" doc:"Variables"`
	}
	want := []string{
		"GET /a has no summary",
		"POST /a is open to everyone and is not a GET",
		"GET /b is a list without paging",
		"GET /c/{id} has no parameter id",
		"GET /d does not explain name",
		"GET /d does not explain variables.key",
		"GET /e/{name} is declared twice",
	}
	got := Check([]Endpoint{
		Do(Spec{Route: "GET /a", Needs: access.Anyone}, handle),
		Do(Spec{Route: "POST /a", Summary: "Do.", Needs: access.Anyone}, handle),
		described[struct{}, List[int]](Spec{Route: "GET /b", Summary: "List.", Needs: access.Anyone}),
		Do(Spec{Route: "GET /c/{id}", Summary: "Show.", Needs: access.Anyone}, handle),
		described[silent, int](Spec{Route: "GET /d", Summary: "Show.", Needs: access.Anyone}),
		described[thingRef, int](Spec{Route: "GET /e/{id}", Summary: "Show.", Needs: access.Anyone}),
		described[struct {
			Name string `param:"name" doc:"Name"`
		}, int](Spec{Route: "GET /e/{name}", Summary: "Show.", Needs: access.Anyone}),
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplyFieldsAreShownWithTheirTypes(t *testing.T) {
	t.Parallel()
	fields := func(e Endpoint) map[string]string {
		all := map[string]string{}
		for _, f := range e.ReplyFields() {
			all[f.Name] = f.Type
		}
		return all
	}
	things := fields(registry()[0])
	for name, want := range map[string]string{
		"id": "integer", "name": "string", "bio": "string or null", "ratio": "number", "active": "boolean", "created_at": "date and time",
		"seen_on": "date or null", "owner": "object or null", "owner.name": "string", "members": "list of object", "members[].id": "integer",
		"labels": "object", "extra": "any", "raw": "any", "anonymous.inner": "integer", "parent.parent": "object or null",
		"parent.parent.id": "integer", "parent.parent.parent.id": "",
	} {
		if things[name] != want {
			t.Errorf("%s: got %q, want %q", name, things[name], want)
		}
	}
	if got := fields(registry()[6]); got["id"] == "" || got["note"] == "" {
		t.Errorf("the forms of a reply are not joined: %v", got)
	}
	if got := fields(registry()[3]); len(got) != 0 {
		t.Errorf("no content has fields: %v", got)
	}
	if got := fields(registry()[5]); got["name"] != "string" {
		t.Errorf("a plain list has no fields: %v", got)
	}
}
