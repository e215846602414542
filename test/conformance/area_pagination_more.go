package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The rows of ciRows: 105 jobs in one pipeline, five of them manual.
const jobRows, manualRows = 105, 5

// ciRows is a pipeline of 105 jobs that nobody takes: a list of known length.
func (t *T) ciRows() CI {
	return memo(t, "pipeline of 105 jobs", func(t *T) CI {
		var b strings.Builder
		for i := range jobRows {
			fmt.Fprintf(&b, "row-%03d:\n  tags: [IDLE]\n  script: [\"true\"]\n", i)
			if i%(jobRows/manualRows) == 0 {
				b.WriteString("  when: manual\n")
			}
		}
		p := t.newCI("rowci", b.String())
		ci := CI{Project: p, Pipeline: t.startPipeline(p)}
		t.settle(t.user("owner").Token, p.path("/jobs?scope=pending&per_page=100"), func(items []M) bool { return len(items) == jobRows-manualRows })
		return ci
	})
}

// tiedUsers are five accounts of one name; the text finds them by search.
func (t *T) tiedUsers() (string, []string) {
	name := "Tied " + t.sfx
	ids := memo(t, "five users of one name", func(t *T) []string {
		var out []string
		for range 5 {
			out = append(out, fmt.Sprint(t.newUser("tied", M{"name": name}).ID))
		}
		return out
	})
	return name, ids
}

// tiedGroups are three public subgroups of one name in different groups.
func (t *T) tiedGroups() []string {
	return memo(t, "three groups of one name", func(t *T) []string {
		tok, name := t.user("owner").Token, t.unique("same")
		var out []string
		for range 3 {
			parent := t.newGroup(tok, "par", nil)
			out = append(out, fmt.Sprint(t.newGroup(tok, "sub", M{"name": name, "path": name, "parent_id": parent.ID}).ID))
		}
		return out
	})
}

// once checks that every wanted value occurs exactly once.
func (t *T) once(got, want []string) {
	for _, w := range want {
		n := 0
		for _, g := range got {
			if g == w {
				n++
			}
		}
		t.check(n == 1, "row "+w+" exactly once", "%d times in %v", n, got)
	}
}

func (t *T) distinct(ids []string, n int) {
	t.eq("rows", len(ids), n)
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	t.eq("distinct rows", len(slices.Compact(sorted)), n)
}

// refusedOrOffset demands a refusal, or a page turned by offset.
func (t *T) refusedOrOffset(r *Resp) {
	t.check((r.status >= 400 && r.status < 500) || (r.status == 200 && r.header.Get("x-page") == "1"), "refused, or an offset page", "%s, Link %q", r.brief(), r.header.Get("Link"))
}

// morePagination holds rules of lists that need nothing but jobs, users and groups.
func morePagination(a *areaTable) {
	a.prefix, a.n = "PAGE", 85
	owner := func(t *T) string { return t.user("owner").Token }
	jobs := func(t *T, query string) *Resp { return t.get(owner(t), t.ciRows().Project.path("/jobs%s", query)) }
	relPage := func(t *T, r *Resp, rel string) string { return linkQuery(t, r.links()[rel]).Get("page") }

	a.add("Jobs: per_page defaults to 20 and page to 1", "105 jobs: 20 rows; x-per-page 20, x-page 1, x-next-page 2, x-prev-page empty", func(t *T) {
		r := jobs(t, "").ok(200).hdr("x-per-page", "20").hdr("x-page", "1").hdr("x-next-page", "2").hdr("x-prev-page", "")
		t.eq("length", len(r.arr()), 20)
	})
	a.add("Jobs: per_page=100 is the largest page", "100 rows, x-per-page 100, x-next-page 2; page 2 has the other 5", func(t *T) {
		t.eq("length", len(jobs(t, "?per_page=100").ok(200).hdr("x-per-page", "100").hdr("x-next-page", "2").arr()), 100)
		t.eq("length of page 2", len(jobs(t, "?per_page=100&page=2").ok(200).arr()), 5)
	})
	a.add("Jobs: per_page=101 is above the maximum", "100 rows and x-per-page 100, or refused with 400", func(t *T) {
		if r := jobs(t, "?per_page=101"); r.status != 400 {
			t.eq("length", len(r.ok(200).hdr("x-per-page", "100").arr()), 100)
		}
	})
	a.add("Jobs: x-total and x-total-pages", "105 and 6; with per_page=1 105 pages", func(t *T) {
		jobs(t, "").ok(200).hdr("x-total", "105").hdr("x-total-pages", "6")
		jobs(t, "?per_page=1").ok(200).hdr("x-total", "105").hdr("x-total-pages", "105")
	})
	a.add("Jobs: the last page", "page=6: 5 rows, x-next-page empty, x-prev-page 5, no rel=next, rel=prev to page 5", func(t *T) {
		r := jobs(t, "?page=6").ok(200).hdr("x-next-page", "").hdr("x-prev-page", "5")
		t.eq("length", len(r.arr()), 5)
		t.check(r.links()["next"] == "", "no rel=next", "%v", r.links())
		t.eq("page of rel=prev", relPage(t, r, "prev"), "5")
	})
	a.add("Jobs: a page after the last one is empty", "page=7: 200, empty array, x-page 7, no rel=next", func(t *T) {
		r := jobs(t, "?page=7").ok(200).hdr("x-page", "7").hdr("x-next-page", "")
		t.eq("length", len(r.arr()), 0)
		t.check(r.links()["next"] == "", "no rel=next", "%v", r.links())
	})
	for _, q := range []string{"page=abc", "per_page=abc", "per_page=1.5"} {
		a.add("A page parameter that is no integer is unsupported: "+q, "400", func(t *T) {
			jobs(t, "").ok(200)
			jobs(t, "?"+q).ok(400)
		})
	}
	a.add("Link: each relation names its page", "page=2: prev 1, next 3, first 1, last 6", func(t *T) {
		r := jobs(t, "?page=2").ok(200)
		for rel, want := range map[string]string{"prev": "1", "next": "3", "first": "1", "last": "6"} {
			t.check(r.links()[rel] != "", "rel="+rel, "%v", r.links())
			t.eq("page of rel="+rel, relPage(t, r, rel), want)
		}
	})
	a.add("Link: URLs are absolute and stand on the instance's address", "every URL begins with the base URL and the path of the request", func(t *T) {
		r := jobs(t, "?page=2").ok(200)
		t.check(len(r.links()) >= 3, "relations prev, next and first", "%v", r.links())
		for rel, u := range r.links() {
			t.check(strings.HasPrefix(u, t.client.base+"/api/v4/projects/") && strings.Contains(u, "/jobs?"), "an absolute URL of the list in rel="+rel, "%s", u)
		}
	})
	a.add("Link: array filters are kept", "scope[]=pending&scope[]=manual&per_page=10&page=2: next has both scopes, per_page 10 and page 3", func(t *T) {
		q := linkQuery(t, jobs(t, "?scope[]=pending&scope[]=manual&per_page=10&page=2").ok(200).links()["next"])
		got := slices.Clone(q["scope[]"])
		slices.Sort(got)
		t.eq("scope[]", got, "[manual pending]")
		t.eq("per_page", q.Get("per_page"), "10")
		t.eq("page", q.Get("page"), "3")
	})
	a.add("Link: following next over a filtered list keeps the filter", "scope=pending in pages of 30: 100 distinct pending jobs", func(t *T) {
		items := t.walkLinks(owner(t), t.ciRows().Project.path("/jobs?scope=pending&per_page=30"))
		t.distinct(column(items, "id"), jobRows-manualRows)
		for _, j := range items {
			t.eq("status", j["status"], "pending")
		}
	})
	a.add("Jobs: x-total counts the filtered rows", "scope=manual&per_page=2: x-total 5, x-total-pages 3", func(t *T) {
		t.eq("length", len(jobs(t, "?scope=manual&per_page=2").ok(200).hdr("x-total", "5").hdr("x-total-pages", "3").arr()), 2)
	})
	a.add("A list without rows", "scope=success: 200, empty array, x-total 0, no rel=next and rel=prev", func(t *T) {
		r := jobs(t, "?scope=success").ok(200).hdr("x-total", "0").hdr("x-next-page", "").hdr("x-prev-page", "")
		t.eq("length", len(r.arr()), 0)
		t.check(r.links()["next"] == "" && r.links()["prev"] == "", "no next and prev", "%v", r.links())
	})
	a.add("A list of one page", "scope=manual: x-total-pages 1, neither next nor prev", func(t *T) {
		r := jobs(t, "?scope=manual").ok(200).hdr("x-total-pages", "1")
		t.check(r.links()["next"] == "" && r.links()["prev"] == "", "no next and prev", "%v", r.links())
	})
	a.add("Pipeline jobs: filter and page combined", "scope[]=pending&per_page=30&page=4: the last 10 of 100, x-total 100", func(t *T) {
		ci := t.ciRows()
		r := t.get(owner(t), ci.Project.path("/pipelines/%d/jobs?scope[]=pending&per_page=30&page=4", ci.Pipeline)).ok(200).hdr("x-total", "100")
		t.eq("length", len(r.arr()), 10)
	})

	keyset := "pagination=keyset&order_by=id&sort=desc"
	a.add("Keyset: a filter is kept over all pages", "jobs with scope=pending in pages of 30: 100 distinct pending jobs, ids descending", func(t *T) {
		items := t.walkLinks(owner(t), t.ciRows().Project.path("/jobs?scope=pending&per_page=30&%s", keyset))
		t.distinct(column(items, "id"), jobRows-manualRows)
		for i, j := range items {
			t.eq("status", j["status"], "pending")
			t.check(i == 0 || num(items[i-1], "id") > num(j, "id"), "descending ids", "%v after %v", j["id"], items[max(i-1, 0)]["id"])
		}
	})
	a.add("Keyset: the next URL keeps the request's parameters", "pagination, order_by, sort, per_page and scope[] stand in it", func(t *T) {
		q := linkQuery(t, jobs(t, "?scope[]=pending&per_page=30&"+keyset).ok(200).links()["next"])
		for k, want := range map[string]string{"pagination": "keyset", "order_by": "id", "sort": "desc", "per_page": "30", "scope[]": "pending"} {
			t.eq(k, q.Get(k), want)
		}
	})
	a.add("Keyset: per_page=100 is the largest page", "100 rows, then 5, then no Link", func(t *T) {
		r := jobs(t, "?per_page=100&"+keyset).ok(200)
		t.eq("length", len(r.arr()), 100)
		t.eq("length of the whole", len(t.walkLinks(owner(t), t.ciRows().Project.path("/jobs?per_page=100&%s", keyset))), jobRows)
	})
	a.add("Keyset: per_page=101 is above the maximum", "100 rows, or refused with 400", func(t *T) {
		if r := jobs(t, "?per_page=101&"+keyset); r.status != 400 {
			t.eq("length", len(r.ok(200).arr()), 100)
		}
	})
	a.add("Keyset: rows that come later do not shift the pages", "a pipeline started between two pages of a descending list: the next page goes on after the last row", func(t *T) {
		p := t.newCI("stab", "s-1:\n  tags: [IDLE]\n  script: [\"true\"]\ns-2:\n  tags: [IDLE]\n  script: [\"true\"]\ns-3:\n  tags: [IDLE]\n  script: [\"true\"]\n")
		t.startPipeline(p)
		r := t.get(owner(t), p.path("/jobs?per_page=2&%s", keyset)).ok(200)
		t.eq("length", len(r.arr()), 2)
		t.startPipeline(p)
		rest := t.follow(owner(t), r.links()["next"]).ok(200).nonEmpty()
		t.eq("length of the next page", len(rest), 1)
		t.check(num(rest[0], "id") < num(r.arr()[1], "id"), "an older job", "%v after %v", rest[0]["id"], r.arr()[1]["id"])
	})
	for _, dir := range []string{"asc", "desc"} {
		a.add("Keyset: users of one name are each visited once, sort="+dir, "five users of one name by order_by=name in pages of two", func(t *T) {
			name, ids := t.tiedUsers()
			got := column(t.walkLinks(t.admin, "/users?pagination=keyset&order_by=name&sort="+dir+"&per_page=2&search="+url.QueryEscape(name)), "id")
			t.distinct(got, 5)
			t.once(got, ids)
		})
	}
	a.add("Keyset: users by username come in the order of the offset list", "order_by=username&sort=asc, narrowed by search: the same rows in the same order", func(t *T) {
		name, _ := t.tiedUsers()
		q := "/users?order_by=username&sort=asc&search=" + url.QueryEscape(name)
		t.eq("ids", column(t.walkLinks(t.admin, q+"&pagination=keyset&per_page=2"), "id"), column(t.get(t.admin, q).ok(200).nonEmpty(), "id"))
	})
	a.add("Keyset: groups of one name are each visited once", "anonymous GET /groups by order_by=name&sort=asc in pages of two", func(t *T) {
		ids := t.tiedGroups()
		items := t.walkLinks("", "/groups?pagination=keyset&order_by=name&sort=asc&per_page=2")
		t.once(column(items, "id"), ids)
	})
	a.add("Keyset of groups is for callers without authentication", "a signed-in caller is refused or gets an offset page", func(t *T) {
		t.tiedGroups()
		t.get("", "/groups?pagination=keyset&order_by=name&sort=asc").ok(200)
		t.refusedOrOffset(t.get(owner(t), "/groups?pagination=keyset&order_by=name&sort=asc"))
	})
	a.add("Keyset of project jobs is for authenticated callers", "an anonymous caller of a public project is refused or gets an offset page", func(t *T) {
		jobs(t, "?"+keyset).ok(200)
		t.refusedOrOffset(t.get("", t.ciRows().Project.path("/jobs?%s", keyset)))
	})
	a.add("Keyset: a broken cursor is refused", "GET /users with cursor=%%%: 4xx", func(t *T) {
		t.get(t.admin, "/users?pagination=keyset&order_by=id&sort=asc").ok(200)
		t.get(t.admin, "/users?pagination=keyset&order_by=id&sort=asc&cursor=%25%25%25").refused()
	})
	a.add("Keyset descending: at the end the Link header is absent and the array is empty", "GET /projects before the oldest id", func(t *T) {
		t.project()
		r := t.get(t.admin, "/projects?pagination=keyset&order_by=id&sort=desc&id_before=1").ok(200)
		t.eq("length", len(r.arr()), 0)
		t.check(len(r.header.Values("Link")) == 0, "no Link header", "%q", r.header.Get("Link"))
	})
	for _, c := range []struct {
		what string
		path func(t *T) string
	}{{"projects", func(*T) string { return "/projects" }}, {"jobs of a project", func(t *T) string { return t.ciRows().Project.path("/jobs") }}} {
		a.add("A maximum offset exists: "+c.what, "page=1000000&per_page=100 is refused", func(t *T) {
			t.get(t.admin, c.path(t)).ok(200)
			t.get(t.admin, c.path(t)+"?page=1000000&per_page=100").refused()
		})
	}
	a.add("The repository tree uses keyset pagination", "pagination=keyset: no x-total, x-total-pages and x-page; rel=next leads on, with and without the parameter", func(t *T) {
		r := t.get(owner(t), t.repo().path("/repository/tree?path=many&pagination=keyset")).ok(200)
		for _, h := range []string{"x-total", "x-total-pages", "x-page"} {
			t.check(len(r.header.Values(h)) == 0, "no header "+h, "%q", r.header.Get(h))
		}
		t.eq("rows", len(t.walkLinks(owner(t), t.repo().path("/repository/tree?path=many&pagination=keyset"))), 25)
		t.eq("rows", len(t.walkLinks(owner(t), t.repo().path("/repository/tree?path=many"))), 25)
	})
	for _, c := range []struct {
		what string
		path func(t *T) string
	}{
		{"branches", func(t *T) string { return t.repo().path("/repository/branches") }}, {"tags", func(t *T) string { return t.repo().path("/repository/tags") }},
		{"group members", func(t *T) string { return t.group().path("/members") }}, {"project runners", func(t *T) string { t.newRunner(t.project(), "r1"); return t.project().path("/runners") }},
		{"personal access tokens", func(*T) string { return "/personal_access_tokens" }},
	} {
		a.add("Offset pagination is available on all endpoints: "+c.what, "per_page=1&page=2: 200, at most one row, x-page 2, x-per-page 1", func(t *T) {
			r := t.get(owner(t), c.path(t)+"?per_page=1&page=2").ok(200).hdr("x-page", "2").hdr("x-per-page", "1")
			t.check(len(r.arr()) <= 1, "at most one row", "%d rows", len(r.arr()))
		})
	}

	a.prefix, a.n = "CONV", 11
	a.add("An encoded slash may be written %2f", "GET /projects/group%2fname: 200", func(t *T) {
		t.eq("id", t.get(owner(t), "/projects/"+strings.ReplaceAll(t.project().Path, "/", "%2f")).ok(200).obj()["id"], t.project().ID)
	})
	a.add("A path parameter is decoded once", "GET /projects/group%252Fname: 404", func(t *T) {
		t.get(owner(t), "/projects/"+enc(t.project().Path)).ok(200)
		t.get(owner(t), "/projects/"+strings.ReplaceAll(t.project().Path, "/", "%252F")).ok(404)
	})
	for _, kind := range []string{"JSON", "form-encoded", "multipart", "query string"} {
		a.add("PUT parameters may be sent as "+kind, "PUT /admin/ci/variables/:key: 200 with the values", func(t *T) {
			t.withVar(nil, func(key string, _ M) {
				path, vals := "/admin/ci/variables/"+key, url.Values{"value": {"w 4&5=6"}, "raw": {"true"}, "variable_type": {"file"}}
				var body any
				switch kind {
				case "JSON":
					body = M{"value": "w 4&5=6", "raw": true, "variable_type": "file"}
				case "form-encoded":
					body = vals
				case "multipart":
					body = &multi{fields: map[string]string{"value": "w 4&5=6", "raw": "true", "variable_type": "file"}}
				default:
					path += "?" + vals.Encode()
				}
				m := t.put(t.admin, path, body).ok(200).obj()
				t.eq("value", m["value"], "w 4&5=6")
				t.eq("raw", m["raw"], true)
				t.eq("variable_type", m["variable_type"], "file")
			})
		})
	}
	a.add("A JSON body that is not JSON is a bad request", "POST /admin/ci/variables with {\"key\": : 400", func(t *T) {
		t.withVar(nil, func(string, M) {})
		t.do(Req{Method: "POST", Path: "/admin/ci/variables", Token: t.admin, Body: []byte(`{"key": `), Header: map[string]string{"Content-Type": "application/json"}}).ok(400)
	})
}
