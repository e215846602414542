package group_test

import (
	"fmt"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/user/usertest"
)

func TestTheNamespacesOfAPerson(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	mine := w.group(t, "mine", ann)
	w.group(t, "child", bob, grouptest.Under(mine))
	open := w.group(t, "open", bob, grouptest.Visible(access.Public))
	joined := grouptest.New(t, w.db, grouptest.Named("joined"))
	grouptest.Join(t, w.db, joined, ann, access.Guest)
	for _, tc := range []struct{ query, want string }{
		{"", "ann mine mine/child joined"},
		{"owned_only=true", "ann mine"},
		{"top_level_only=true", "ann mine joined"},
		{"search=min", "mine"},
		{"search=an", ""},
		{"per_page=1&page=2", "mine"},
	} {
		if got := paths(t, w.as(ann).Do(t, "GET", "/namespaces?"+tc.query, nil)); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.query, got, tc.want)
		}
	}
	if got := paths(t, w.as(w.root).Do(t, "GET", "/namespaces", nil)); got != "root ann bob mine mine/child open joined" {
		t.Errorf("an administrator sees %s", got)
	}
	w.client.Do(t, "GET", "/namespaces", nil).Want(t, 401, `{"message":"401 Unauthorized"}`)

	personal := fmt.Sprintf(`{"id":%d,"name":"Ann","path":"ann","kind":"user","full_path":"ann","parent_id":null,"avatar_url":null,"web_url":"https://forge.example/ann"}`, ann.NamespaceID)
	own := fmt.Sprintf(`{"id":%d,"name":"mine","path":"mine","kind":"group","full_path":"mine","parent_id":null,"avatar_url":null,`+
		`"web_url":"https://forge.example/groups/mine","members_count_with_descendants":2,"root_repository_size":null}`, mine.ID)
	other := fmt.Sprintf(`{"id":%d,"name":"joined","path":"joined","kind":"group","full_path":"joined","parent_id":null,"avatar_url":null,`+
		`"web_url":"https://forge.example/groups/joined"}`, joined.ID)
	missing := `{"message":"404 Namespace Not Found"}`
	for _, tc := range []struct {
		who  *httpapitest.Client
		ref  string
		want string
	}{
		{w.as(ann), fmt.Sprint(ann.NamespaceID), personal},
		{w.as(ann), "ANN", personal},
		{w.as(w.root), "ann", personal},
		{w.as(ann), "mine", own},
		{w.as(ann), "joined", other},
		{w.as(bob), "ann", missing},
		{w.as(bob), "mine", ""}, // they are on the way to what they own below
		{w.as(ann), "open", missing},
		{w.as(ann), fmt.Sprint(open.ID), missing},
		{w.as(ann), "999999", missing},
		{w.as(ann), "nothing", missing},
		{w.as(bob), "mine%2Fchild", ""},
	} {
		reply := tc.who.Do(t, "GET", "/namespaces/"+tc.ref, nil)
		switch tc.want {
		case missing:
			reply.Want(t, 404, missing)
		case "":
			reply.WantStatus(t, 200)
		default:
			reply.Want(t, 200, tc.want)
		}
	}
	w.client.Do(t, "GET", "/namespaces/mine", nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
}

func TestWhetherAPathIsInUse(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	mine := w.group(t, "mine", ann)
	grouptest.New(t, w.db, grouptest.Named("child"), grouptest.Under(mine))
	w.group(t, "mine1", bob)
	for _, tc := range []struct {
		who        *httpapitest.Client
		path, want string
	}{
		{w.as(ann), "mine/exists", `{"exists":true,"suggests":["mine2"]}`},
		{w.as(bob), "MINE/exists", `{"exists":true,"suggests":["mine2"]}`},
		{w.as(ann), "bob/exists", `{"exists":true,"suggests":["bob1"]}`},
		{w.as(ann), "child/exists", `{"exists":false,"suggests":[]}`},
		{w.as(ann), fmt.Sprintf("child/exists?parent_id=%d", mine.ID), `{"exists":true,"suggests":["child1"]}`},
		{w.as(bob), fmt.Sprintf("child/exists?parent_id=%d", mine.ID), `{"exists":false,"suggests":[]}`},
		{w.as(bob), "child/exists?parent_id=999999", `{"exists":false,"suggests":[]}`},
	} {
		tc.who.Do(t, "GET", "/namespaces/"+tc.path, nil).Want(t, 200, tc.want)
	}
	w.client.Do(t, "GET", "/namespaces/mine/exists", nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
}

func TestCustomAttributesOfGroups(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	g, other := w.group(t, "g1", ann), w.group(t, "g2", ann)
	root := w.as(w.root)
	root.Do(t, "GET", at(g, "/custom_attributes"), nil).Want(t, 200, `[]`)
	root.Do(t, "PUT", at(g, "/custom_attributes/cost"), map[string]any{"value": "1"}).Want(t, 200, `{"key":"cost","value":"1"}`)
	root.Do(t, "PUT", at(g, "/custom_attributes/cost"), map[string]any{"value": "2"}).Want(t, 200, `{"key":"cost","value":"2"}`)
	root.Do(t, "PUT", "/groups/g1/custom_attributes/area", map[string]any{"value": "x"}).WantStatus(t, 200)
	root.Do(t, "GET", at(g, "/custom_attributes"), nil).Want(t, 200, `[{"key":"area","value":"x"},{"key":"cost","value":"2"}]`)
	root.Do(t, "GET", at(g, "/custom_attributes/cost"), nil).Want(t, 200, `{"key":"cost","value":"2"}`)
	root.Do(t, "GET", at(other, "/custom_attributes/cost"), nil).Want(t, 404, `{"message":"404 Not found"}`)
	root.Do(t, "GET", "/groups/999999/custom_attributes", nil).Want(t, 404, `{"message":"404 Group Not Found"}`)
	root.Do(t, "PUT", at(g, "/custom_attributes/cost"), map[string]any{}).Want(t, 400, `{"error":"value is missing"}`)
	root.Do(t, "PUT", at(g, "/custom_attributes/cost"), map[string]any{"value": " "}).Want(t, 400, `{"message":{"value":["can't be blank"]}}`)
	root.Do(t, "PUT", at(g, "/custom_attributes/cost"), map[string]any{"value": strings.Repeat("x", 256)}).Want(t, 400,
		`{"message":{"value":["is too long (maximum is 255 characters)"]}}`)

	shown := `"custom_attributes":[{"key":"area","value":"x"},{"key":"cost","value":"2"}]`
	for who, want := range map[*httpapitest.Client]bool{root: true, w.as(ann): false} {
		for _, path := range []string{at(g, "?with_custom_attributes=true"), "/groups?with_custom_attributes=true&search=g1"} {
			if got := strings.Contains(who.Do(t, "GET", path, nil).WantStatus(t, 200).Body, shown); got != want {
				t.Errorf("%s shows attributes: %t", path, got)
			}
		}
	}
	if got := paths(t, root.Do(t, "GET", "/groups?custom_attributes[cost]=2&custom_attributes[area]=x", nil)); got != "g1" {
		t.Errorf("got %s", got)
	}
	root.Do(t, "DELETE", at(g, "/custom_attributes/cost"), nil).Want(t, 204, "")
	root.Do(t, "DELETE", at(g, "/custom_attributes/cost"), nil).Want(t, 404, `{"message":"404 Not found"}`)
	if got := w.audited(t, g.ID); got != strings.Repeat("group_custom_attribute_updated ", 3)+"group_custom_attribute_destroyed" {
		t.Errorf("audited %s", got)
	}
	auditor := w.person(t, "auditor", usertest.With("auditor", true))
	for method, path := range map[string]string{"GET": "", "PUT": "/area", "DELETE": "/area"} {
		w.as(ann).Do(t, method, at(g, "/custom_attributes"+path), nil).Want(t, 403, `{"message":"403 Forbidden"}`)
		w.as(auditor).Do(t, method, at(g, "/custom_attributes"+path), nil).Want(t, 403, `{"message":"403 Forbidden"}`)
		w.client.Do(t, method, at(g, "/custom_attributes"+path), nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
	}
}
