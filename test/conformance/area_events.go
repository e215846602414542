package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	eventForm    = "id int, title str?, project_id int?, action_name str, target_id int?, target_iid int?, target_type str?, author_id int, target_title str?, created_at time, author obj, author_username str, data any?"
	pushForm     = "commit_count int, action str, ref_type str, commit_from str?, commit_to str?, ref str?, commit_title str?"
	noteForm     = "id int, body str, attachment any?, author obj, created_at time, system bool, noteable_id int, noteable_type str, noteable_iid int?"
	authorFields = "name str, username str, id int, state str, avatar_url str?, web_url url"
)

// acted is a project in which the user "actor" pushed, opened, commented on
// and closed an issue.
type acted struct {
	p         Project
	prev, sha string // the last two commits pushed
	user      User
	issue     M // as answered when it was opened; set by talked
}

// ownedProject makes a project with a README in the user's own namespace.
func (t *T) ownedProject(u User, prefix, visibility string) Project {
	p := projectOf(t.post(u.Token, "/projects", M{"name": t.unique(prefix), "initialize_with_readme": true, "visibility": visibility}).ok(201).obj())
	t.check(p.ID > 0, "an id in the POST /projects answer", "none")
	if p.Branch == "" {
		p.Branch = "main"
	}
	return p
}

func (t *T) pushed() acted {
	return memo(t, "pushed commits", func(t *T) acted {
		u := t.user("actor")
		p := t.ownedProject(u, "act", "public")
		var prev, sha string
		for i := range 3 {
			if i == 2 {
				time.Sleep(1100 * time.Millisecond) // so that the order of created_at can be seen in whole seconds
			}
			prev, sha = sha, str(t.post(u.Token, p.path("/repository/commits"), M{"branch": p.Branch, "commit_message": fmt.Sprintf("Push number %d", i),
				"actions": []M{{"action": "create", "file_path": fmt.Sprintf("f%d.txt", i), "content": "x"}}}).ok(201).obj(), "id")
		}
		t.settle(u.Token, p.path("/events?per_page=100"), func(items []M) bool { return slices.ContainsFunc(items, pushTo(sha)) })
		return acted{p: p, prev: prev, sha: sha, user: u}
	})
}

// talked adds issue activity to the pushed project.
func (t *T) talked() acted {
	return memo(t, "issue activity", func(t *T) acted {
		x := t.pushed()
		x.issue = t.post(x.user.Token, x.p.path("/issues"), M{"title": "Issue of " + t.sfx}).ok(201).obj()
		iid := num(x.issue, "iid")
		t.post(x.user.Token, x.p.path("/issues/%d/notes", iid), M{"body": "A comment"}).ok(201)
		t.put(x.user.Token, x.p.path("/issues/%d", iid), M{"state_event": "close"}).ok(200)
		t.settle(x.user.Token, x.p.path("/events?per_page=100"), func(items []M) bool {
			return pick(items, "action_name", "opened") != nil && pick(items, "action_name", "commented on") != nil && pick(items, "action_name", "closed") != nil
		})
		return x
	})
}

// events reads an event list, waiting shortly for it to fill.
func (t *T) events(token, path string) []M {
	var items []M
	t.pollOnce("events", 10*time.Second, func() bool {
		items = t.get(token, path).ok(200).arr()
		return len(items) > 0
	})
	t.check(len(items) > 0, "events at "+path, "none")
	return items
}

// event waits for a certain event in a list of at most 100.
func (t *T) event(token, path, what string, match func(M) bool) M {
	var items []M
	at := -1
	t.pollOnce("events", 10*time.Second, func() bool {
		items = t.get(token, withQuery(path, "per_page=100")).ok(200).arr()
		at = slices.IndexFunc(items, match)
		return at >= 0
	})
	t.check(at >= 0, what+" at "+path, "%d other events", len(items))
	return items[at]
}

// withQuery adds parameters to a path that may have some already.
func withQuery(path, query string) string {
	if strings.Contains(path, "?") {
		return path + "&" + query
	}
	return path + "?" + query
}

// pushTo matches the push event whose new head is the commit.
func pushTo(sha string) func(M) bool {
	return func(e M) bool { return sha != "" && str(sub(e, "push_data"), "commit_to") == sha }
}

func isPush(m M) bool { _, has := m["push_data"]; return has && m["push_data"] != nil }

func isComment(m M) bool { return str(m, "action_name") == "commented on" }

func areaEvents() Area {
	a := &areaTable{prefix: "EVENTS"}
	type route struct {
		name string
		path func(t *T) string
	}
	routes := []route{
		{"/events", func(t *T) string { t.pushed(); return "/events" }},
		{"/users/:id/events", func(t *T) string { return userPath(t.pushed().user.ID, "/events") }},
		{"/projects/:project_id/events", func(t *T) string { return t.pushed().p.path("/events") }},
	}
	tok := func(t *T) string { return t.user("actor").Token }

	for _, r := range routes {
		a.add("GET "+r.name+" returns an array of activity events", "fields and types of every element", func(t *T) {
			for _, e := range t.events(tok(t), r.path(t)) {
				t.shape(e, eventForm)
			}
		})
		a.add(r.name+": author object {name, username, id, state, avatar_url, web_url}", "types; author is the acting user", func(t *T) {
			e := t.event(tok(t), r.path(t), "the actor's last push", pushTo(t.pushed().sha))
			t.shape(sub(e, "author"), authorFields)
			t.eq("author_username", e["author_username"], t.user("actor").Username)
			t.eq("author_id", e["author_id"], t.user("actor").ID)
		})
		a.add(r.name+": newest first by default", "created_at descending", func(t *T) { t.timeOrder(t.events(tok(t), r.path(t)), true) })
		for _, dir := range []string{"asc", "desc"} {
			a.add(r.name+": sort="+dir+" by created_at", "order of created_at", func(t *T) { t.timeOrder(t.events(tok(t), r.path(t)+"?sort="+dir), dir == "desc") })
		}
		a.add(r.name+": before filters by date", "a day after tomorrow keeps events, a day of 2001 gives none", func(t *T) {
			t.events(tok(t), r.path(t)+"?before="+dateIn(2))
			t.eq("length", len(t.get(tok(t), r.path(t)+"?before=2001-01-02").ok(200).arr()), 0)
		})
		a.add(r.name+": after filters by date", "a day of 2001 keeps events, a day after tomorrow gives none", func(t *T) {
			t.events(tok(t), r.path(t)+"?after=2001-01-02")
			t.eq("length", len(t.get(tok(t), r.path(t)+"?after="+dateIn(2)).ok(200).arr()), 0)
		})
		a.add(r.name+": action filter", "action=pushed (values from the reference, the specification shows none) gives push events only", func(t *T) {
			for _, e := range t.events(tok(t), r.path(t)+"?action=pushed") {
				t.check(isPush(e), "push events", "%s", dump(e))
			}
		})
		a.add(r.name+": an unsupported target_type is refused", "target_type=bogus: 400", func(t *T) { t.get(tok(t), r.path(t)+"?target_type=bogus").ok(400) })
		a.add(r.name+": target_type filter", "target_type=issue gives issue events only", func(t *T) {
			t.talked()
			for _, e := range t.events(tok(t), r.path(t)+"?target_type=issue") {
				t.eq("target_type", e["target_type"], "Issue")
			}
		})
	}
	for _, v := range []string{"issue", "milestone", "merge_request", "note", "project", "snippet", "user"} {
		a.add("target_type="+v+" is a supported value", "200 on /events", func(t *T) { t.get(tok(t), "/events?target_type="+v).ok(200).arr() })
	}
	a.add("target_type values are lowercase", "target_type=ISSUE: 400", func(t *T) { t.get(tok(t), "/events?target_type=ISSUE").ok(400) })
	a.add("Push events carry push_data", "commit_count, action, ref_type, commit_from, commit_to, ref, commit_title", func(t *T) {
		x := t.pushed()
		e := t.event(tok(t), x.p.path("/events"), "a push event to "+x.sha, pushTo(x.sha))
		t.shape(sub(e, "push_data"), pushForm)
	})
	a.add("push_data holds the values of the push", "last API commit: branch, commit_to, title", func(t *T) {
		x := t.pushed()
		d := sub(t.event(tok(t), x.p.path("/events"), "a push event to "+x.sha, pushTo(x.sha)), "push_data")
		t.eq("ref", d["ref"], x.p.Branch)
		t.eq("ref_type", d["ref_type"], "branch")
		t.eq("commit_title", d["commit_title"], "Push number 2")
		t.eq("commit_count", d["commit_count"], 1)
	})
	a.add("Push events have action_name `pushed` (with or without a suffix) and the project's id", "action_name begins with pushed", func(t *T) {
		x := t.pushed()
		e := t.event(tok(t), x.p.path("/events"), "a push event to "+x.sha, pushTo(x.sha))
		t.check(strings.HasPrefix(str(e, "action_name"), "pushed"), "pushed...", "%v", e["action_name"])
		t.eq("project_id", e["project_id"], x.p.ID)
	})
	a.add("Only push events carry push_data", "issue events have none", func(t *T) {
		x := t.talked()
		t.check(!isPush(t.events(tok(t), x.p.path("/events?target_type=issue"))[0]), "no push_data", "present")
	})
	for _, name := range []string{"opened", "closed", "commented on"} {
		a.add("action_name `"+name+"` occurs", "after opening, commenting on and closing an issue", func(t *T) {
			x := t.talked()
			t.event(tok(t), x.p.path("/events"), "an event `"+name+"`", func(e M) bool { return str(e, "action_name") == name })
		})
	}
	a.add("Comment events add note", "id, body, attachment, author, created_at, system, noteable_id, noteable_type, noteable_iid", func(t *T) {
		x := t.talked()
		n := sub(t.event(tok(t), x.p.path("/events"), "a comment event", isComment), "note")
		t.shape(n, noteForm)
		t.eq("body", n["body"], "A comment")
		t.eq("noteable_type", n["noteable_type"], "Issue")
	})
	a.add("Issue events: target_type, target_iid, target_title", "values of the issue", func(t *T) {
		x := t.talked()
		e := t.events(tok(t), x.p.path("/events?target_type=issue"))[0]
		t.eq("target_type", e["target_type"], "Issue")
		t.eq("target_title", e["target_title"], "Issue of "+t.sfx)
		t.shape(e, "target_id int, target_iid int")
	})
	a.add("/events lists the caller's own events", "every author is the caller", func(t *T) {
		t.pushed()
		for _, e := range t.events(tok(t), "/events") {
			t.eq("author_id", e["author_id"], t.user("actor").ID)
		}
	})
	a.add("/events: scope=all lists events across the user's projects", "another member sees the actor's events only with scope=all", func(t *T) {
		x := t.pushed()
		u := memo(t, "event watcher", func(t *T) User {
			u := t.newUser("watcher", nil)
			t.addMember(x.user.Token, "projects", x.p.ID, u.ID, 30)
			return u
		})
		isActor := func(e M) bool { return num(e, "author_id") == x.user.ID }
		t.event(u.Token, "/events?scope=all", "events of the actor", isActor)
		t.check(!slices.ContainsFunc(t.get(u.Token, "/events").ok(200).arr(), isActor), "own events only without scope", "others'")
	})
	a.add("/users/:id/events takes a username", "same list as by id", func(t *T) {
		x := t.pushed()
		t.eq("ids", column(t.events(tok(t), "/users/"+x.user.Username+"/events"), "id"), column(t.events(tok(t), userPath(x.user.ID, "/events")), "id"))
	})
	a.add("/users/:id/events: page and per_page", "per_page=1: one event; page=2 another", func(t *T) {
		x := t.pushed()
		one := t.events(tok(t), userPath(x.user.ID, "/events?per_page=1"))
		two := t.events(tok(t), userPath(x.user.ID, "/events?per_page=1&page=2"))
		t.check(len(one) == 1 && len(two) == 1 && fmt.Sprint(one[0]["id"]) != fmt.Sprint(two[0]["id"]), "two different single events", "%v %v", column(one, "id"), column(two, "id"))
	})
	a.add("/users/:id/events: unknown user is not found", "404", func(t *T) {
		t.get(tok(t), userPath(t.user("actor").ID, "/events")).ok(200)
		t.get(tok(t), "/users/987654321/events").ok(404)
	})
	a.add("/projects/:project_id/events takes the URL-encoded path", "same list as by id", func(t *T) {
		x := t.pushed()
		t.eq("ids", column(t.events(tok(t), "/projects/"+enc(x.p.Path)+"/events"), "id"), column(t.events(tok(t), x.p.path("/events")), "id"))
	})
	a.add("/projects/:project_id/events: invisible project is not found", "404", func(t *T) {
		t.get(t.user("owner").Token, t.privateProject().path("/events")).ok(200)
		t.get(t.user("stranger").Token, t.privateProject().path("/events")).ok(404)
	})
	for _, path := range []string{"/events", "/users/:id/events"} {
		a.add(path+" accepts scope read_user", "read_user token: 200", func(t *T) {
			t.get(t.tokenOf("actor", "read_user"), strings.Replace(path, ":id", fmt.Sprint(t.user("actor").ID), 1)).ok(200)
		})
		a.add(path+" refuses a token without read_user or api", "create_runner token: 403 insufficient_scope", func(t *T) {
			m := t.get(t.tokenOf("actor", "create_runner"), strings.Replace(path, ":id", fmt.Sprint(t.user("actor").ID), 1)).ok(403).obj()
			t.eq("error", m["error"], "insufficient_scope")
		})
	}
	a.add("/events needs authentication", "anonymous: 401", func(t *T) { t.get("", "/events").ok(401) })

	everyRoute := func(t *T, fn func(path string)) {
		for _, r := range routes {
			fn(r.path(t))
		}
	}
	for _, r := range routes {
		a.add(r.name+": sort orders the whole list, not the page", "per_page=1: sort=asc gives the oldest, sort=desc the newest of all", func(t *T) {
			path := r.path(t)
			t.event(tok(t), path, "the actor's last push", pushTo(t.pushed().sha))
			all := t.events(tok(t), path+"?per_page=100")
			first, last := t.events(tok(t), path+"?sort=asc&per_page=1")[0], t.events(tok(t), path+"?sort=desc&per_page=1")[0]
			for _, e := range all {
				t.check(!when(e).Before(when(first)), "the oldest event first with sort=asc", "%v, but %v exists", first["created_at"], e["created_at"])
				t.check(!when(e).After(when(last)), "the newest event first with sort=desc", "%v, but %v exists", last["created_at"], e["created_at"])
			}
		})
	}
	a.add("sort is asc or desc", "sort=sideways on the three routes: 400", func(t *T) {
		everyRoute(t, func(path string) { t.get(tok(t), path+"?sort=sideways").ok(400) })
	})
	a.add("before and after are dates", "before=nonsense and after=2024-13-45 on the three routes: 400", func(t *T) {
		everyRoute(t, func(path string) {
			t.get(tok(t), path+"?before=nonsense").ok(400)
			t.get(tok(t), path+"?after=2024-13-45").ok(400)
		})
	})
	a.add("An unsupported action is refused", "action=bogus on the three routes: 400", func(t *T) {
		everyRoute(t, func(path string) { t.get(tok(t), path+"?action=bogus").ok(400) })
	})
	a.add("before and after together: events of the days between", "an event of day D (UTC) is in after=D-1&before=D+1, and in neither before=D nor after=D; three routes", func(t *T) {
		x := t.pushed()
		everyRoute(t, func(path string) {
			e := t.event(tok(t), path, "the actor's last push", pushTo(x.sha))
			day := when(e).UTC().Format("2006-01-02")
			t.event(tok(t), path+"?after="+dayAfter(t, day, -1)+"&before="+dayAfter(t, day, 1), "the event of "+day, pushTo(x.sha))
			for _, q := range []string{"?before=" + day, "?after=" + day} {
				t.check(!slices.ContainsFunc(t.get(tok(t), path+q+"&per_page=100").ok(200).arr(), pushTo(x.sha)), "no event of "+day+" with "+q, "listed")
			}
		})
	})
	for _, c := range [][2]string{{"closed", "closed"}, {"commented", "commented on"}} {
		a.add("action="+c[0]+" filters", "every event has action_name `"+c[1]+"` (values from the reference); three routes", func(t *T) {
			t.talked()
			everyRoute(t, func(path string) {
				for _, e := range t.events(tok(t), path+"?action="+c[0]) {
					t.eq("action_name", e["action_name"], c[1])
				}
			})
		})
	}
	a.add("Filters combine", "target_type=issue&action=closed: closed issues only; target_type=issue&action=pushed: none; three routes", func(t *T) {
		t.talked()
		everyRoute(t, func(path string) {
			for _, e := range t.events(tok(t), path+"?target_type=issue&action=closed") {
				t.eq("target_type", e["target_type"], "Issue")
				t.eq("action_name", e["action_name"], "closed")
			}
			t.eq("pushes of issues", len(t.get(tok(t), path+"?target_type=issue&action=pushed").ok(200).arr()), 0)
		})
	})
	a.add("target_type=note gives events about notes only", "target_type is a capitalized kind of note (Note, DiffNote, DiscussionNote); three routes", func(t *T) {
		t.talked()
		everyRoute(t, func(path string) {
			for _, e := range t.events(tok(t), path+"?target_type=note") {
				t.check(strings.HasSuffix(str(e, "target_type"), "Note"), "a kind of note", "%v", e["target_type"])
			}
		})
	})
	a.add("Events about epics are not available", "target_type=epic is no supported value: 400 on the three routes", func(t *T) {
		everyRoute(t, func(path string) { t.get(tok(t), path+"?target_type=epic").ok(400) })
	})
	a.add("author, author_id and author_username name one user", "every element of the three routes", func(t *T) {
		everyRoute(t, func(path string) {
			for _, e := range t.events(tok(t), path) {
				t.eq("author.id", sub(e, "author")["id"], e["author_id"])
				t.eq("author.username", sub(e, "author")["username"], e["author_username"])
			}
		})
	})
	a.add("note of a comment event: author, system, noteable_iid", "the commenter, false, the issue's iid", func(t *T) {
		x := t.talked()
		n := sub(t.event(tok(t), x.p.path("/events"), "a comment event", isComment), "note")
		t.shape(sub(n, "author"), authorFields)
		t.eq("author.id", sub(n, "author")["id"], x.user.ID)
		t.eq("system", n["system"], false)
		t.eq("noteable_iid", n["noteable_iid"], x.issue["iid"])
	})
	a.add("Issue events: target_iid is the issue's iid", "opened and closed name the issue that POST answered", func(t *T) {
		x := t.talked()
		for _, name := range []string{"opened", "closed"} {
			e := t.event(tok(t), x.p.path("/events?target_type=issue"), "an event `"+name+"`", func(e M) bool { return str(e, "action_name") == name })
			t.eq("target_iid", e["target_iid"], x.issue["iid"])
			t.eq("project_id", e["project_id"], x.p.ID)
		}
	})
	a.add("Only comment events carry note", "push and issue events have none (or null)", func(t *T) {
		x := t.talked()
		t.event(tok(t), x.p.path("/events"), "a comment event", isComment)
		for _, e := range t.events(tok(t), x.p.path("/events?per_page=100")) {
			t.check(isComment(e) || e["note"] == nil, "no note", "%s", dump(e))
		}
	})
	a.add("target_type is null when there is no target", "a push event", func(t *T) {
		x := t.pushed()
		e := t.event(tok(t), x.p.path("/events"), "the actor's last push", pushTo(x.sha))
		t.check(e["target_type"] == nil, "target_type null", "%v", e["target_type"])
	})
	a.add("push_data: commit_from is the head before the push", "an update of the branch: commit_from the previous commit, action pushed", func(t *T) {
		x := t.pushed()
		d := sub(t.event(tok(t), x.p.path("/events"), "the actor's last push", pushTo(x.sha)), "push_data")
		t.eq("commit_from", d["commit_from"], x.prev)
		t.eq("action", d["action"], "pushed")
	})
	for _, kind := range []string{"branch", "tag"} {
		a.add("push_data: ref_type "+kind, "creating a "+kind+" gives a push event with that ref_type, the short name in ref and action created", func(t *T) {
			p := t.ownedProject(t.user("actor"), "refs", "public")
			name := t.unique("new-" + kind)
			if kind == "branch" {
				t.post(tok(t), p.path("/repository/branches"), M{"branch": name, "ref": p.Branch}).ok(201)
			} else {
				t.post(tok(t), p.path("/repository/tags"), M{"tag_name": name, "ref": p.Branch}).ok(201)
			}
			d := sub(t.event(tok(t), p.path("/events"), "a push event of "+name, func(e M) bool { return str(sub(e, "push_data"), "ref") == name }), "push_data")
			t.shape(d, pushForm)
			t.eq("ref_type", d["ref_type"], kind)
			t.eq("action", d["action"], "created")
		})
	}
	a.add("/users/:id/events: per_page defaults to 20, page to 1", "a user of more than 20 events: 20 rows, the same as page=1; page=2 has others", func(t *T) {
		u := memo(t, "user of many events", func(t *T) User {
			u := t.newUser("busy", nil)
			p := t.ownedProject(u, "busy", "public")
			for i := range 22 {
				t.post(u.Token, p.path("/repository/commits"), M{"branch": p.Branch, "commit_message": fmt.Sprintf("Push %d", i),
					"actions": []M{{"action": "create", "file_path": fmt.Sprintf("f%d.txt", i), "content": "x"}}}).ok(201)
			}
			t.settle(u.Token, userPath(u.ID, "/events?per_page=100"), func(items []M) bool { return len(slices.DeleteFunc(items, func(e M) bool { return !isPush(e) })) >= 22 })
			return u
		})
		ids := func(query string) []string { return column(t.events(u.Token, userPath(u.ID, "/events"+query)), "id") }
		first := ids("")
		t.eq("length", len(first), 20)
		t.eq("page 1", ids("?page=1"), first)
		for _, id := range ids("?page=2") {
			t.check(!slices.Contains(first, id), "other events on page 2", "%s again", id)
		}
	})
	a.add("/events: scope=all is limited to the user's projects", "a user with one project sees no event of another, though public, project", func(t *T) {
		t.pushed()
		u, p := t.loner()
		t.event(u.Token, "/events?scope=all", "an event of the own project", func(e M) bool { return num(e, "project_id") == p.ID })
		for _, e := range t.get(u.Token, "/events?scope=all&per_page=100").ok(200).arr() {
			t.eq("project_id", e["project_id"], p.ID)
		}
	})
	a.add("/users/:id/events leaves out projects the caller cannot see", "events of a private project: listed for its owner, not for a stranger", func(t *T) {
		u, p := t.loner()
		own := func(e M) bool { return num(e, "project_id") == p.ID }
		t.event(u.Token, userPath(u.ID, "/events"), "an event of the private project", own)
		t.check(!slices.ContainsFunc(t.get(tok(t), userPath(u.ID, "/events?per_page=100")).ok(200).arr(), own), "no event of the private project", "listed")
	})
	a.add("/projects/:project_id/events: unknown project is not found", "404", func(t *T) {
		t.get(tok(t), t.pushed().p.path("/events")).ok(200)
		t.get(tok(t), "/projects/987654321/events").ok(404)
	})
	return Area{"events", a.rules}
}

// loner is a user whose only project is private and has one push.
func (t *T) loner() (User, Project) {
	type both struct {
		u User
		p Project
	}
	x := memo(t, "user of one private project", func(t *T) both {
		u := t.newUser("loner", nil)
		p := t.ownedProject(u, "lone", "private")
		t.post(u.Token, p.path("/repository/commits"), M{"branch": p.Branch, "commit_message": "Alone", "actions": []M{{"action": "create", "file_path": "a.txt", "content": "x"}}}).ok(201)
		return both{u, p}
	})
	return x.u, x.p
}

// when is the time of an event, zero when it is none.
func when(e M) time.Time {
	x, _ := time.Parse(time.RFC3339, str(e, "created_at"))
	return x
}

// timeOrder checks created_at (and id within equal times is left open).
func (t *T) timeOrder(items []M, desc bool) {
	for i := 1; i < len(items); i++ {
		x, y := when(items[i-1]), when(items[i])
		t.check((desc && !x.Before(y)) || (!desc && !x.After(y)), "ordered by created_at", "%v", column(items, "created_at"))
	}
}
