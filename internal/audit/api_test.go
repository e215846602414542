package audit_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/user"
)

const unsigned = `{"message":"401 Unauthorized"}`

func TestOwnersSeeAllEventsOfTheirGroupAndOthersTheirOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, role := range []access.Role{access.Owner, access.Maintainer, access.Developer, access.Guest} {
		w.record(t, w.people[role], w.ofGroup(), fmt.Sprintf("by_%d", role))
		w.record(t, w.people[role], w.ofProject(), fmt.Sprintf("elsewhere_by_%d", role))
	}
	all := []string{"by_10", "by_30", "by_40", "by_50"}
	for _, c := range []struct {
		as   *user.User
		want []string
	}{
		{w.root, all}, {w.auditor, all}, {w.people[access.Owner], all}, {w.people[access.Maintainer], []string{"by_40"}},
		{w.people[access.Developer], []string{"by_30"}},
	} {
		if diff := cmp.Diff(c.want, names(w.list(t, c.as, w.groupPath()))); diff != "" {
			t.Errorf("%s: %s", c.as.Username, diff)
		}
	}
	for _, as := range []*user.User{w.people[access.Reporter], w.people[access.Guest], w.stranger} {
		w.As(t, as).Do(t, "GET", w.groupPath(), nil).WantStatus(t, http.StatusForbidden)
	}
	w.Do(t, "GET", w.groupPath(), nil).Want(t, 401, unsigned)
	w.As(t, w.root).Do(t, "GET", "/groups/987654321/audit_events", nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.root).Do(t, "GET", "/groups/house/audit_events", nil).WantStatus(t, http.StatusOK)
}

func TestMaintainersSeeAllEventsOfTheirProjectAndDevelopersTheirOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, role := range []access.Role{access.Owner, access.Maintainer, access.Developer} {
		w.record(t, w.people[role], w.ofProject(), fmt.Sprintf("by_%d", role))
	}
	all := []string{"by_30", "by_40", "by_50"}
	for _, c := range []struct {
		as   *user.User
		want []string
	}{
		{w.root, all}, {w.auditor, all}, {w.people[access.Owner], all}, {w.people[access.Maintainer], all}, {w.people[access.Developer], []string{"by_30"}},
	} {
		if diff := cmp.Diff(c.want, names(w.list(t, c.as, w.projectPath()))); diff != "" {
			t.Errorf("%s: %s", c.as.Username, diff)
		}
	}
	for _, as := range []*user.User{w.people[access.Reporter], w.stranger} {
		w.As(t, as).Do(t, "GET", w.projectPath(), nil).WantStatus(t, http.StatusForbidden)
	}
	w.exec(t, `update projects set visibility = 0`)
	w.As(t, w.stranger).Do(t, "GET", w.projectPath(), nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.root).Do(t, "GET", "/projects/house%2Ftool/audit_events", nil).WantStatus(t, http.StatusOK)
}

func TestOneEventIsShownToThoseWhoSeeAllOfItsTrail(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.people[access.Developer], w.ofGroup(), "in_group")
	w.record(t, w.people[access.Developer], w.ofProject(), "in_project")
	all := w.list(t, w.root, "/audit_events")
	inProject, inGroup := all[0].ID, all[1].ID
	status := func(as *user.User, path string, id int64, want int) {
		t.Helper()
		w.As(t, as).Do(t, "GET", fmt.Sprintf("%s/%d", path, id), nil).WantStatus(t, want)
	}
	status(w.people[access.Owner], w.groupPath(), inGroup, 200)
	status(w.root, w.groupPath(), inGroup, 200)
	status(w.people[access.Maintainer], w.groupPath(), inGroup, 403)
	status(w.people[access.Developer], w.groupPath(), inGroup, 403) // although they did it
	status(w.people[access.Maintainer], w.projectPath(), inProject, 200)
	status(w.people[access.Developer], w.projectPath(), inProject, 403)
	status(w.root, "/audit_events", inGroup, 200)
	status(w.people[access.Owner], "/audit_events", inGroup, 403)

	missing := `{"message":"404 Audit Event Not Found"}`
	owner := w.As(t, w.people[access.Owner])
	owner.Do(t, "GET", fmt.Sprintf("%s/%d", w.groupPath(), inProject), nil).Want(t, 404, missing)
	owner.Do(t, "GET", fmt.Sprintf("%s/%d", w.projectPath(), inGroup), nil).Want(t, 404, missing)
	owner.Do(t, "GET", w.projectPath()+"/987654321", nil).Want(t, 404, missing)
	w.As(t, w.root).Do(t, "GET", "/audit_events/987654321", nil).Want(t, 404, missing)
	w.Do(t, "GET", "/audit_events", nil).Want(t, 401, unsigned)
}

func TestEventsOfTheInstanceShowMoreThanOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, bus.Instance(), "of_instance")
	w.record(t, w.root, w.ofGroup(), "of_group")
	all := w.list(t, w.root, "/audit_events")
	show := func(id int64) object {
		return members(t, []byte(w.As(t, w.root).Do(t, "GET", fmt.Sprintf("/audit_events/%d", id), nil).WantStatus(t, 200).Body))
	}
	one := show(all[1].ID)
	delete(one, "created_at")
	id, person := float64(all[1].ID), w.root.Person()
	want := object{
		"id": id, "author_id": float64(person.ID), "entity_id": 1.0, "entity_type": "Svc::Audit::InstanceScope",
		"details": object{
			"author_name": person.Name, "author_email": person.Email, "author_class": "User", "custom_message": "did of_instance", "entity_path": "svc_instance",
			"event_name": "of_instance", "target_details": "unknown", "target_id": 1.0, "target_type": "Instance",
		},
		"ip_address": nil, "author_name": person.Name, "entity_path": "svc_instance", "target_details": "unknown", "target_type": "Instance", "target_id": 1.0,
		"event_type": "of_instance",
	}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Error(diff)
	}
	if other := show(all[0].ID); other["event_type"] != nil || other["entity_type"] != "Group" {
		t.Errorf("an event of a group: %v", other)
	}
}

func TestTheTrailOfTheInstanceIsNarrowedByEntity(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	person := w.stranger
	w.record(t, w.root, bus.Entity{Kind: bus.OfUser, ID: person.ID, Path: person.Username}, "of_user")
	w.record(t, w.root, w.ofGroup(), "of_group")
	w.record(t, w.root, w.ofProject(), "of_project")
	w.record(t, w.root, bus.Instance(), "of_instance")
	for query, want := range map[string][]string{
		"":                   {"of_instance", "of_project", "of_group", "of_user"},
		"?entity_type=User":  {"of_user"},
		"?entity_type=Group": {"of_group"},
		"?entity_type=Project&entity_id=987654321":                           {},
		fmt.Sprintf("?entity_type=Project&entity_id=%d", w.project.ID):       {"of_project"},
		"?entity_type=" + url.QueryEscape("Svc::Audit::InstanceScope"):       {"of_instance"},
		fmt.Sprintf("?entity_type=Group&entity_id=%d&page=2", w.house.ID):    {},
		"?entity_type=Group&pagination=keyset&order_by=id&sort=desc&page=99": {"of_group"},
	} {
		if diff := cmp.Diff(want, names(w.list(t, w.root, "/audit_events"+query))); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	root := w.As(t, w.root)
	root.Do(t, "GET", "/audit_events?entity_type=Bogus", nil).Want(t, 400, `{"error":"entity_type does not have a valid value"}`)
	root.Do(t, "GET", "/audit_events?entity_type=Instance", nil).Want(t, 400, `{"error":"entity_type does not have a valid value"}`)
	root.Do(t, "GET", "/audit_events?entity_id=1", nil).Want(t, 400, `{"error":"entity_type is missing"}`)
	root.Do(t, "GET", "/audit_events?entity_type=Project&entity_id=abc", nil).Want(t, 400, `{"error":"entity_id is invalid"}`)
}

func TestAListIsNarrowedByTimesThatCount(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	begun := w.Now().Truncate(time.Second)
	w.Turn(begun.Sub(w.Now()))
	for i := range 5 {
		w.record(t, w.root, w.ofGroup(), fmt.Sprintf("at_%d", i))
		w.Turn(time.Hour)
	}
	at := func(hours int, more time.Duration) string {
		return begun.Add(time.Duration(hours)*time.Hour + more).Format(time.RFC3339)
	}
	for query, want := range map[string][]string{
		"created_after=" + at(3, 0):                                       {"at_4", "at_3"},
		"created_after=" + at(3, time.Second):                             {"at_4"},
		"created_before=" + at(1, 0):                                      {"at_1", "at_0"},
		"created_before=" + at(1, -time.Second):                           {"at_0"},
		"created_after=" + at(1, 0) + "&created_before=" + at(3, 0):       {"at_3", "at_2", "at_1"},
		"created_after=" + at(9, 0):                                       {},
		"created_after=" + at(-900, 0) + "&created_before=" + at(-899, 0): {},
		"created_after=" + at(0, 0) + "&created_before=" + at(30*24, 0):   {"at_4", "at_3", "at_2", "at_1", "at_0"},
	} {
		for _, path := range []string{
			"/audit_events?entity_type=Group&", w.groupPath() + "?", fmt.Sprintf("/audit_events?entity_type=Group&entity_id=%d&", w.house.ID),
		} {
			if diff := cmp.Diff(want, names(w.list(t, w.root, path+query))); diff != "" {
				t.Errorf("%s%s: %s", path, query, diff)
			}
		}
	}
	root := w.As(t, w.root)
	for _, path := range []string{"/audit_events", w.groupPath(), w.projectPath()} {
		root.Do(t, "GET", path+"?created_after=nonsense", nil).WantStatus(t, 400)
		root.Do(t, "GET", path+"?created_before=nonsense", nil).WantStatus(t, 400)
		root.Do(t, "GET", path+"?created_after="+at(0, 0)+"&created_before="+at(30*24, time.Second), nil).
			Want(t, 400, `{"error":"created_before is more than 30 days after created_after"}`)
	}
}

func TestPagesAreTurnedByOffsetAndByCursor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 5 {
		w.record(t, w.root, w.ofProject(), fmt.Sprintf("n_%d", i))
	}
	owner := w.As(t, w.people[access.Owner])
	two := owner.Do(t, "GET", w.projectPath()+"?per_page=2&page=2", nil).WantStatus(t, 200)
	got := names(httpapitest.JSON[[]shown](t, two))
	if !slices.Equal(got, []string{"n_2", "n_1"}) || two.Header.Get("X-Total") != "5" || two.Header.Get("X-Page") != "2" {
		t.Errorf("%v %v", got, two.Header)
	}
	for _, path := range []string{"/audit_events", w.projectPath()} {
		client, next, got := w.As(t, w.root), path+"?pagination=keyset&order_by=id&sort=desc&per_page=2", []string{}
		for next != "" {
			r := client.Do(t, "GET", next, nil).WantStatus(t, 200)
			got = append(got, names(httpapitest.JSON[[]shown](t, r))...)
			link := r.Header.Get("Link")
			if r.Header.Get("X-Total") != "" || strings.Contains(link, `rel="first"`) {
				t.Errorf("a page by cursor says %v", r.Header)
			}
			next = ""
			if address, _, ok := strings.Cut(strings.TrimPrefix(link, "<"), `>; rel="next"`); ok {
				_, next, _ = strings.Cut(address, "/api/v4")
			}
		}
		if !slices.Equal(got, []string{"n_4", "n_3", "n_2", "n_1", "n_0"}) {
			t.Errorf("%s: %v", path, got)
		}
		refused := `{"error":"Keyset pagination is not yet available for this type of request"}`
		client.Do(t, "GET", path+"?pagination=keyset&order_by=id&sort=asc", nil).Want(t, 405, refused)
		client.Do(t, "GET", path+"?pagination=keyset&order_by=created_at&sort=desc", nil).Want(t, 405, refused)
	}
}

func TestTheFreeTierReadsNoAuditEvents(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=free")
	w.record(t, w.root, w.ofGroup(), "x")
	for _, path := range []string{"/audit_events", "/audit_events/1", w.groupPath(), w.groupPath() + "/1", w.projectPath(), w.projectPath() + "/1"} {
		w.As(t, w.root).Do(t, "GET", path, nil).WantStatus(t, http.StatusForbidden)
	}
}
