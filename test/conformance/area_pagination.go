package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// keyRows makes a project with n client keys, a cheap list of known length.
func (t *T) keyRows(n int) Project {
	return memo(t, fmt.Sprintf("project with %d client keys", n), func(t *T) Project {
		p := t.newProject("rows", nil)
		tok, path := t.user("owner").Token, p.path("/error_tracking/client_keys")
		t.put(tok, p.path("/error_tracking/settings"), M{"active": true, "integrated": true}).ok(200)
		have := len(t.get(tok, path+"?per_page=100").ok(200).arr())
		work := make(chan struct{}, n)
		for i := have; i < n; i++ {
			work <- struct{}{}
		}
		close(work)
		var wg sync.WaitGroup
		errs := make(chan string, 16)
		for range 16 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range work {
					r, err := t.client.do(Req{Method: "POST", Path: path, Token: tok})
					if err != nil {
						errs <- err.Error()
						return
					}
					if r.status > 299 {
						errs <- fmt.Sprintf("%s -> %d", r.label, r.status)
						return
					}
				}
			}()
		}
		wg.Wait()
		close(errs)
		for e := range errs {
			t.fail(fmt.Sprintf("%d client keys", n), e)
		}
		return p
	})
}

const rowCount = 105

func (t *T) rows(query string) *Resp {
	p := t.keyRows(rowCount)
	return t.get(t.user("owner").Token, p.path("/error_tracking/client_keys%s", query)).ok(200)
}

// walkLinks follows rel=next to the end and returns all elements.
func (t *T) walkLinks(token, path string) []M {
	r := t.get(token, path).ok(200)
	out := r.arr()
	for range 60 {
		next := r.links()["next"]
		if next == "" {
			return out
		}
		r = t.follow(token, next).ok(200)
		out = append(out, r.arr()...)
	}
	return out
}

// keyset is one row of the keyset table.
type keyset struct {
	name  string
	path  func(t *T) string
	token func(t *T) string
	order string
	sort  string
	wrong string // a query with an ordering that is not listed
}

func areaPagination() Area {
	a := &areaTable{prefix: "PAGE"}
	admin := func(t *T) string { return t.admin }
	owner := func(t *T) string { return t.user("owner").Token }
	anon := func(*T) string { return "" }

	a.add("per_page defaults to 20", "105 rows, 20 returned, x-per-page 20", func(t *T) {
		r := t.rows("").hdr("x-per-page", "20")
		t.eq("length", len(r.arr()), 20)
	})
	a.add("per_page selects the page size", "per_page=50: 50 rows, x-per-page 50", func(t *T) {
		r := t.rows("?per_page=50").hdr("x-per-page", "50")
		t.eq("length", len(r.arr()), 50)
	})
	a.add("per_page is at most 100", "per_page=500: 100 rows or refused", func(t *T) {
		p := t.keyRows(rowCount)
		r := t.get(owner(t), p.path("/error_tracking/client_keys?per_page=500"))
		if r.status != 400 {
			t.eq("length", len(r.ok(200).arr()), 100)
		}
	})
	a.add("page defaults to 1", "x-page 1 and the same rows as page=1", func(t *T) {
		t.eq("ids", column(t.rows("").hdr("x-page", "1").arr(), "id"), column(t.rows("?page=1").arr(), "id"))
	})
	a.add("page selects the page", "page=6 of 20: the 5 last rows, x-page 6", func(t *T) {
		t.eq("length", len(t.rows("?page=6").hdr("x-page", "6").arr()), 5)
	})
	a.add("x-total counts the rows", "105", func(t *T) { t.rows("").hdr("x-total", strconv.Itoa(rowCount)) })
	a.add("x-total-pages counts the pages", "6 of 20", func(t *T) { t.rows("").hdr("x-total-pages", "6") })
	a.add("x-next-page and x-prev-page", "page 2: next 3, prev 1", func(t *T) { t.rows("?page=2").hdr("x-next-page", "3").hdr("x-prev-page", "1") })
	a.add("x-prev-page is empty on the first page, x-next-page on the last", "empty values", func(t *T) {
		t.rows("").hdr("x-prev-page", "")
		t.rows("?page=6").hdr("x-next-page", "")
	})
	a.add("Link has the relations prev, next, first, last", "page 2", func(t *T) {
		l := t.rows("?page=2").links()
		for _, rel := range []string{"prev", "next", "first", "last"} {
			t.check(l[rel] != "", "rel="+rel, "%v", l)
		}
	})
	a.add("Link has no prev on the first page and no next on the last", "relations", func(t *T) {
		_, prev := t.rows("").links()["prev"]
		_, next := t.rows("?page=6").links()["next"]
		t.check(!prev && !next, "no prev first, no next last", "prev %v next %v", prev, next)
	})
	a.add("Link URLs can be used as they are", "following next over all pages gives 105 distinct rows", func(t *T) {
		p := t.keyRows(rowCount)
		ids := column(t.walkLinks(owner(t), p.path("/error_tracking/client_keys")), "id")
		t.eq("rows", len(ids), rowCount)
		slices.Sort(ids)
		t.eq("distinct rows", len(slices.Compact(ids)), rowCount)
	})
	a.add("Link last and first lead to the last and first page", "x-page of both", func(t *T) {
		l := t.rows("?page=2").links()
		t.follow(owner(t), l["last"]).ok(200).hdr("x-page", "6")
		t.follow(owner(t), l["first"]).ok(200).hdr("x-page", "1")
	})
	a.add("Link URLs keep the request's parameters", "per_page stays in next", func(t *T) {
		u, err := url.Parse(t.rows("?per_page=7&page=2").links()["next"])
		t.check(err == nil, "a URL", "%v", err)
		t.eq("per_page", u.Query().Get("per_page"), "7")
		t.eq("page", u.Query().Get("page"), "3")
	})

	offset := []struct {
		name string
		tok  func(t *T) string
		path func(t *T) string
	}{
		{"projects", admin, func(t *T) string { t.project(); return "/projects" }},
		{"groups", admin, func(t *T) string { t.group(); return "/groups" }},
		{"project jobs", owner, func(t *T) string { return t.ciMany().Project.path("/jobs") }},
		{"pipeline jobs", owner, func(t *T) string { return t.ciMany().Project.path("/pipelines/%d/jobs", t.ciMany().Pipeline) }},
		{"pipeline bridges", owner, func(t *T) string { return t.ciBridge().Project.path("/pipelines/%d/bridges", t.ciBridge().Pipeline) }},
		{"contributors", owner, func(t *T) string { return t.repo().path("/repository/contributors") }},
		{"user activities", admin, func(t *T) string { t.user("plain"); return "/user/activities" }},
		{"memberships", admin, func(t *T) string { t.group(); return userPath(t.user("dev").ID, "/memberships") }},
		{"instance variables", admin, func(*T) string { return "/admin/ci/variables" }},
		{"instance Pages domains", admin, func(t *T) string { t.plainDomain(); return "/pages/domains" }},
		{"project Pages domains", owner, func(t *T) string { t.plainDomain(); t.certDomain(); return t.domains() }},
		{"own events", func(t *T) string { return t.user("actor").Token }, func(t *T) string { t.pushed(); return "/events" }},
		{"user events", owner, func(t *T) string { return userPath(t.pushed().user.ID, "/events") }},
		{"project events", owner, func(t *T) string { return t.pushed().p.path("/events") }},
		{"client keys", owner, func(t *T) string { return t.keyRows(rowCount).path("/error_tracking/client_keys") }},
		{"instance audit events", admin, func(t *T) string { t.audited(); return "/audit_events" }},
		{"group audit events", owner, func(t *T) string { return t.audited().g.path("/audit_events") }},
		{"project audit events", owner, func(t *T) string { return t.audited().p.path("/audit_events") }},
	}
	for _, c := range offset {
		a.add("Offset pagination is available on "+c.name, "per_page=1&page=2: 200, at most one row, x-page 2, x-per-page 1", func(t *T) {
			r := t.get(c.tok(t), c.path(t)+"?per_page=1&page=2").ok(200).hdr("x-page", "2").hdr("x-per-page", "1")
			t.check(len(r.arr()) <= 1, "at most one row", "%d rows", len(r.arr()))
		})
	}

	sets := []keyset{
		{"project jobs", func(t *T) string { return t.ciMany().Project.path("/jobs") }, owner, "id", "desc", "order_by=id&sort=asc"},
		{"projects (authenticated)", func(t *T) string { t.project(); t.privateProject(); return "/projects" }, admin, "id", "asc", "order_by=name&sort=asc"},
		{"projects (authenticated, descending)", func(t *T) string { t.project(); t.privateProject(); return "/projects" }, admin, "id", "desc", "order_by=created_at&sort=desc"},
		{"projects (unauthenticated)", func(t *T) string {
			t.project()
			memo(t, "second public project", func(t *T) Project { return t.newProject("prj2", nil) })
			return "/projects"
		}, anon, "id", "asc", "order_by=name&sort=asc"},
		{"groups (unauthenticated)", func(t *T) string { t.group(); t.publicParent(); return "/groups" }, anon, "name", "asc", "order_by=id&sort=asc"},
		{"users by id", func(t *T) string { t.user("dev"); t.user("plain"); return "/users" }, admin, "id", "asc", "order_by=bogus&sort=asc"},
		{"users by name", func(t *T) string { t.user("dev"); t.user("plain"); return "/users" }, admin, "name", "asc", "order_by=created_at&sort=asc"},
		{"users by username", func(t *T) string { t.user("dev"); t.user("plain"); return "/users" }, admin, "username", "desc", ""},
		{"instance audit events", func(t *T) string { t.audited(); return "/audit_events" }, admin, "id", "desc", "order_by=id&sort=asc"},
		{"group audit events", func(t *T) string { return t.audited().g.path("/audit_events") }, owner, "id", "desc", "order_by=id&sort=asc"},
		{"project audit events", func(t *T) string { return t.audited().p.path("/audit_events") }, owner, "id", "desc", "order_by=id&sort=asc"},
	}
	for _, k := range sets {
		query := "?pagination=keyset&order_by=" + k.order + "&sort=" + k.sort
		a.add(fmt.Sprintf("Keyset pagination: %s, order_by=%s sort=%s", k.name, k.order, k.sort), "per_page=1: Link rel=next leads to the next, different row; rows are in order", func(t *T) {
			r := t.get(k.token(t), k.path(t)+query+"&per_page=1").ok(200)
			t.eq("length", len(r.arr()), 1)
			next := r.links()["next"]
			t.check(next != "", "Link rel=next", "%q", r.header.Get("Link"))
			second := t.follow(k.token(t), next).ok(200)
			t.eq("length of the next page", len(second.arr()), 1)
			x, y := r.arr()[0], second.arr()[0]
			t.check(fmt.Sprint(x["id"]) != fmt.Sprint(y["id"]), "another row", "id %v again", x["id"])
			if k.order == "id" {
				t.check((num(x, "id") < num(y, "id")) == (k.sort == "asc"), "ids "+k.sort, "%v then %v", x["id"], y["id"])
			}
		})
		a.add("Keyset of "+k.name+" adds a filter to the next URL", "id_after, id_before or cursor in the query", func(t *T) {
			q := linkQuery(t, t.get(k.token(t), k.path(t)+query+"&per_page=1").ok(200).links()["next"])
			t.check(q.Has("id_after") || q.Has("id_before") || q.Has("cursor"), "a keyset filter", "%v", q)
		})
		a.add("Keyset of "+k.name+" exposes no other pagination headers", "no x-total, x-total-pages, x-page, x-next-page, x-prev-page; only rel=next in Link", func(t *T) {
			r := t.get(k.token(t), k.path(t)+query+"&per_page=1").ok(200)
			for _, h := range []string{"x-total", "x-total-pages", "x-page", "x-next-page", "x-prev-page", "x-per-page"} {
				t.check(len(r.header.Values(h)) == 0, "no header "+h, "%q", r.header.Get(h))
			}
			for rel := range r.links() {
				t.eq("Link relation", rel, "next")
			}
		})
		if k.wrong != "" {
			a.add("Keyset of "+k.name+" is limited to the listed ordering", k.wrong+": refused", func(t *T) {
				r := t.get(k.token(t), k.path(t)+query).ok(200) // the listed ordering works
				t.check(r.header.Get("x-page") == "", "keyset pagination", "offset headers")
				t.get(k.token(t), k.path(t)+"?pagination=keyset&"+k.wrong).refused()
			})
		}
	}
	a.add("Keyset pagination of users works unauthenticated", "anonymous GET /users?username=...&pagination=keyset&order_by=id&sort=asc: 200, no offset headers", func(t *T) {
		r := t.get("", "/users?username="+t.user("dev").Username+"&pagination=keyset&order_by=id&sort=asc").ok(200)
		t.check(r.header.Get("x-total") == "", "no x-total", "%q", r.header.Get("x-total"))
	})
	a.add("Keyset: order_by is required", "GET /projects?pagination=keyset&sort=asc: 400 or, as clients know it, 405", func(t *T) { t.get(t.admin, "/projects?pagination=keyset&sort=asc").ok(400, 405) })
	a.add("Keyset: sort is required", "GET /projects?pagination=keyset&order_by=id: 400, or (clients leave it out) a keyset page whose links name an order", func(t *T) {
		r := t.get(t.admin, "/projects?pagination=keyset&order_by=id&per_page=1").ok(200, 400)
		if r.status == 200 {
			t.check(strings.Contains(r.header.Get("Link"), "pagination=keyset"), "a keyset link", "%q", r.header.Get("Link"))
		}
	})
	a.add("Keyset: sort is asc or desc", "sort=sideways: 400", func(t *T) { t.get(t.admin, "/projects?pagination=keyset&order_by=id&sort=sideways").ok(400) })
	a.add("Keyset: per_page defaults to 20", "25 jobs: 20 returned", func(t *T) {
		t.eq("length", len(t.get(owner(t), t.ciMany().Project.path("/jobs?pagination=keyset&order_by=id&sort=desc")).ok(200).arr()), 20)
	})
	a.add("Keyset: per_page is at most 100", "GET /users with per_page=500: at most 100 or refused", func(t *T) {
		r := t.get(t.admin, "/users?pagination=keyset&order_by=id&sort=asc&per_page=500")
		if r.status != 400 {
			t.check(len(r.ok(200).arr()) <= 100, "at most 100", "%d", len(r.arr()))
		}
	})
	a.add("Keyset: following next visits every row once", "25 jobs in pages of 7", func(t *T) {
		ids := column(t.walkLinks(owner(t), t.ciMany().Project.path("/jobs?pagination=keyset&order_by=id&sort=desc&per_page=7")), "id")
		total := len(t.get(owner(t), t.ciMany().Project.path("/jobs?per_page=100")).ok(200).arr())
		t.eq("rows", len(ids), total)
		slices.Sort(ids)
		t.eq("distinct rows", len(slices.Compact(ids)), total)
	})
	a.add("Keyset: at the end the Link header is absent and the array is empty", "GET /projects after the newest id", func(t *T) {
		newest := num(t.get(t.admin, "/projects?order_by=id&sort=desc&per_page=1").ok(200).nonEmpty()[0], "id")
		r := t.get(t.admin, fmt.Sprintf("/projects?pagination=keyset&order_by=id&sort=asc&id_after=%d", newest)).ok(200)
		t.eq("length", len(r.arr()), 0)
		t.check(len(r.header.Values("Link")) == 0, "no Link header", "%q", r.header.Get("Link"))
	})
	a.add("Keyset pagination exists only on listed resources", "client keys with pagination=keyset: refused, or an ordinary offset page", func(t *T) {
		p := t.keyRows(rowCount)
		r := t.get(owner(t), p.path("/error_tracking/client_keys?pagination=keyset&order_by=id&sort=asc"))
		t.check((r.status >= 400 && r.status < 500) || (r.status == 200 && r.header.Get("x-page") == "1"), "refused or an offset page", "%s, Link %q", r.brief(), r.header.Get("Link"))
	})
	a.addBulk("Over 10,000 records x-total, x-total-pages and rel=last are omitted", "10,001 client keys listed", func(t *T) {
		p := t.keyRows(10001)
		r := t.get(owner(t), p.path("/error_tracking/client_keys")).ok(200)
		t.check(r.header.Get("x-total") == "" && r.header.Get("x-total-pages") == "", "no totals", "x-total %q", r.header.Get("x-total"))
		_, last := r.links()["last"]
		t.check(!last, "no rel=last", "%q", r.header.Get("Link"))
		t.check(r.links()["next"] != "", "rel=next", "%q", r.header.Get("Link"))
	})

	a.prefix, a.n = "CONV", 0
	a.add(":id of a project accepts an integer", "GET /projects/:id", func(t *T) { t.eq("id", t.get(owner(t), t.project().path("")).ok(200).obj()["id"], t.project().ID) })
	a.add(":id of a project accepts the URL-encoded path", "GET /projects/group%2Fname", func(t *T) {
		t.eq("id", t.get(owner(t), "/projects/"+enc(t.project().Path)).ok(200).obj()["id"], t.project().ID)
	})
	a.add("A branch name with a slash is URL-encoded in the path", "GET .../repository/branches/feature%2Fside: 200; unencoded: 404", func(t *T) {
		t.get(owner(t), t.repo().path("/repository/branches/feature%%2Fside")).ok(200)
		t.get(owner(t), t.repo().path("/repository/branches/feature/side")).ok(404)
	})
	a.add("A tag name with a slash is URL-encoded in the path", "GET .../repository/tags/rel%2F1: 200; unencoded: 404", func(t *T) {
		memo(t, "tag with a slash", func(t *T) bool { t.tag(t.repo().Project, "rel/1", t.repo().Branch); return true })
		t.get(owner(t), t.repo().path("/repository/tags/rel%%2F1")).ok(200)
		t.get(owner(t), t.repo().path("/repository/tags/rel/1")).ok(404)
	})
	a.add("A file path with slashes is URL-encoded in the path", "GET .../repository/files/docs%2Fguide.md?ref=: 200; unencoded: 404", func(t *T) {
		t.get(owner(t), t.repo().path("/repository/files/docs%%2Fguide.md?ref=v1.0.0")).ok(200)
		t.get(owner(t), t.repo().path("/repository/files/docs/guide.md?ref=v1.0.0")).ok(404)
	})
	a.add("Arrays use name[]=value repeated, in the query", "merge_base with refs[]", func(t *T) {
		t.get(owner(t), t.repo().path("/repository/merge_base?refs[]=v1.0.0&refs[]=1.2.0")).ok(200)
	})
	a.add("Arrays use name[]=value repeated, in a form body", "POST personal access token with scopes[]", func(t *T) {
		m := t.post(t.admin, userPath(t.user("plain").ID, "/personal_access_tokens"), url.Values{"name": {"form"}, "scopes[]": {"api", "read_user"}}).ok(201).obj()
		t.eq("scopes", m["scopes"], "[api read_user]")
	})
	a.add("Hashes use name[key]=value", "custom_attributes[key]=value on GET /users", func(t *T) {
		u := t.withAttribute()
		t.eq("ids", column(t.get(t.admin, "/users?custom_attributes[conf_"+t.sfx+"]=val").ok(200).arr(), "id"), fmt.Sprintf("[%d]", u.ID))
	})
	a.add("Arrays of hashes are possible (`variables`)", "POST /projects/:id/pipeline with a JSON array of {key, value}: 201", func(t *T) {
		p := t.ciMany().Project
		t.post(owner(t), p.path("/pipeline"), M{"ref": p.Branch, "variables": []M{{"key": "A", "value": "1"}, {"key": "B", "value": "2"}}}).ok(201)
	})
	a.add("Timestamps are ISO 8601 strings", "created_at of a user", func(t *T) { t.shape(t.adminView(t.user("plain").ID), "created_at time") })
	a.add("A .json suffix on URLs is not needed", "JSON comes without it", func(t *T) {
		r := t.get(t.user("plain").Token, "/user").ok(200)
		t.check(strings.HasPrefix(r.header.Get("Content-Type"), "application/json"), "application/json", "%q", r.header.Get("Content-Type"))
	})
	morePagination(a)
	return Area{"pagination", a.rules}
}

// linkQuery is the query of a link URL.
func linkQuery(t *T, link string) url.Values {
	u, err := url.Parse(link)
	t.check(err == nil && link != "", "a next URL", "%q", link)
	return u.Query()
}
