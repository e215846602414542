package main

import (
	"fmt"
	"net/url"
	"slices"
)

var notificationFlags = []string{"new_note", "new_issue", "reopen_issue", "close_issue", "reassign_issue", "issue_due", "new_merge_request", "push_to_merge_request",
	"reopen_merge_request", "close_merge_request", "reassign_merge_request", "merge_merge_request", "failed_pipeline", "fixed_pipeline", "success_pipeline",
	"moved_project", "merge_when_pipeline_succeeds"}

var notificationLevels = []string{"disabled", "participating", "watch", "global", "mention", "custom"}

func areaNotifications() Area {
	a := &areaTable{prefix: "NOTIF"}
	tok := func(t *T) string { return t.user("notify").Token }
	const global = "/notification_settings"
	scopes := []struct {
		name string
		path func(t *T) string
	}{
		{"group", func(t *T) string { return t.group().path(global) }},
		{"project", func(t *T) string { return t.project().path(global) }},
	}

	a.add("GET /notification_settings: {level, notification_email}", "types; level is a known one", func(t *T) {
		m := t.get(tok(t), global).ok(200).obj()
		t.shape(m, "level str, notification_email str")
		t.check(slices.Contains(notificationLevels, str(m, "level")), "a known level", "%v", m["level"])
	})
	for _, level := range notificationLevels {
		a.add("PUT /notification_settings level="+level, "200 {level, notification_email} with that level", func(t *T) {
			m := t.put(tok(t), global, M{"level": level}).ok(200).obj()
			t.shape(m, "level str, notification_email str")
			t.eq("level", m["level"], level)
			t.eq("level on read", t.get(tok(t), global).ok(200).obj()["level"], level)
		})
	}
	a.add("PUT /notification_settings notification_email", "the user's own address is stored and returned", func(t *T) {
		t.eq("notification_email", t.put(tok(t), global, M{"notification_email": t.user("notify").Email}).ok(200).obj()["notification_email"], t.user("notify").Email)
	})
	a.add("PUT /notification_settings accepts the event flags", "level custom with all flags: 200", func(t *T) {
		body := M{"level": "custom"}
		for _, f := range notificationFlags {
			body[f] = true
		}
		t.eq("level", t.put(tok(t), global, body).ok(200).obj()["level"], "custom")
	})
	a.add("An unknown level is refused", "400 on the three forms", func(t *T) {
		t.put(tok(t), global, M{"level": "bogus"}).ok(400)
		t.put(tok(t), t.group().path(global), M{"level": "bogus"}).ok(400)
		t.put(tok(t), t.project().path(global), M{"level": "bogus"}).ok(400)
	})
	a.add("Event flags are booleans", "new_note=maybe: 400", func(t *T) { t.put(tok(t), t.project().path(global), M{"level": "custom", "new_note": "maybe"}).ok(400) })
	a.add("Notification settings need authentication", "anonymous GET and PUT: 401", func(t *T) {
		t.get("", global).ok(401)
		t.put("", global, M{"level": "watch"}).ok(401)
	})
	for _, s := range scopes {
		a.add("GET "+s.name+" notification settings: {level}", "known level, no notification_email", func(t *T) {
			m := t.get(tok(t), s.path(t)).ok(200).obj()
			t.shape(m, "level str")
			t.check(slices.Contains(notificationLevels, str(m, "level")), "a known level", "%v", m["level"])
			t.lacks(m, "notification_email")
		})
		for _, level := range notificationLevels[:5] {
			a.add("PUT "+s.name+" notification settings level="+level, "200 {level}; read shows it; no events", func(t *T) {
				m := t.put(tok(t), s.path(t), M{"level": level}).ok(200).obj()
				t.eq("level", m["level"], level)
				t.lacks(m, "events")
				t.eq("level on read", t.get(tok(t), s.path(t)).ok(200).obj()["level"], level)
			})
		}
		a.add("PUT "+s.name+" level=custom: {level, events}", "events holds every flag as a boolean", func(t *T) {
			m := t.put(tok(t), s.path(t), M{"level": "custom"}).ok(200).obj()
			t.eq("level", m["level"], "custom")
			t.shape(m, "events obj")
			for _, f := range notificationFlags {
				t.shape(sub(m, "events"), f+" bool")
			}
		})
		a.add(s.name+" settings accept the encoded path as id", "GET /"+s.name+"s/<path>/notification_settings: 200", func(t *T) {
			path := map[string]string{"group": "/groups/" + enc(t.group().Path), "project": "/projects/" + enc(t.project().Path)}[s.name]
			t.get(tok(t), path+global).ok(200)
		})
		a.add(s.name+" settings need a visible "+s.name, "unknown id: 404", func(t *T) {
			t.get(tok(t), s.path(t)).ok(200)
			t.get(tok(t), "/"+s.name+"s/987654321"+global).ok(404)
		})
	}
	for _, f := range append(append([]string{}, notificationFlags...), "new_epic") {
		statement := "Event flag " + f + " can be set with level custom"
		if f == "new_epic" {
			statement += " (ultimate, groups)"
		}
		a.add(statement, "PUT true then false; events shows it (project; group for new_epic)", func(t *T) {
			path := t.project().path(global)
			if f == "new_epic" {
				path = t.group().path(global)
			}
			for _, v := range []bool{true, false} {
				m := t.put(tok(t), path, M{"level": "custom", f: v}).ok(200).obj()
				t.eq(fmt.Sprintf("events.%s", f), sub(m, "events")[f], v)
			}
		})
	}

	for _, s := range scopes {
		a.add(s.name+" notification settings need authentication", "anonymous GET and PUT of a public "+s.name+": 401", func(t *T) {
			t.get(tok(t), s.path(t)).ok(200)
			t.get("", s.path(t)).ok(401)
			t.put("", s.path(t), M{"level": "watch"}).ok(401)
		})
		a.add(s.name+" notification settings: an invisible "+s.name+" is not found", "a stranger at a private "+s.name+", GET and PUT: 404", func(t *T) {
			path := t.privateProject().path(global)
			if s.name == "group" {
				path = memo(t, "private group", func(t *T) Group { return t.newGroup(t.user("owner").Token, "pgrp", M{"visibility": "private"}) }).path(global)
			}
			t.get(t.user("owner").Token, path).ok(200)
			t.get(tok(t), path).ok(404)
			t.put(tok(t), path, M{"level": "watch"}).ok(404)
		})
		a.add("PUT "+s.name+" settings: event flags without level custom", "level=watch with new_note=true: 200 {level} and no events", func(t *T) {
			m := t.put(tok(t), s.path(t), M{"level": "watch", "new_note": true}).ok(200).obj()
			t.eq("level", m["level"], "watch")
			t.lacks(m, "events", "notification_email")
		})
		a.add("PUT "+s.name+" settings: all event flags in one request", "level custom: each flag has the value sent; events is an object of booleans", func(t *T) {
			for _, first := range []bool{true, false} {
				body := M{"level": "custom"}
				for i, f := range notificationFlags {
					body[f] = (i%2 == 0) == first
				}
				m := t.put(tok(t), s.path(t), body).ok(200).obj()
				for _, f := range notificationFlags {
					t.eq("events."+f, sub(m, "events")[f], body[f])
				}
				for f, v := range sub(m, "events") {
					t.check(hasKind(v, "bool"), "events."+f+" boolean", "%v", v)
				}
			}
		})
		a.add("PUT "+s.name+" level=custom is stored", "GET shows level custom; the answers hold no notification_email", func(t *T) {
			t.put(tok(t), s.path(t), M{"level": "watch"}).ok(200)
			t.lacks(t.put(tok(t), s.path(t), M{"level": "custom"}).ok(200).obj(), "notification_email")
			m := t.get(tok(t), s.path(t)).ok(200).obj()
			t.eq("level", m["level"], "custom")
			t.lacks(m, "notification_email")
		})
	}
	a.add("PUT /notification_settings: a second address of the user", "an added and confirmed address is stored as notification_email and read back; then the first one again", func(t *T) {
		u, second := t.user("notify"), t.unique("second")+"@example.com"
		t.post(t.admin, userPath(u.ID, "/emails"), M{"email": second, "skip_confirmation": true}).ok(201)
		for _, address := range []string{second, u.Email} {
			t.eq("notification_email", t.put(u.Token, global, M{"notification_email": address}).ok(200).obj()["notification_email"], address)
			t.eq("notification_email on read", t.get(u.Token, global).ok(200).obj()["notification_email"], address)
		}
	})
	a.add("PUT /notification_settings: level and notification_email in one request", "both are answered; the address alone leaves the level", func(t *T) {
		u := t.user("notify")
		m := t.put(u.Token, global, M{"level": "mention", "notification_email": u.Email}).ok(200).obj()
		t.eq("level", m["level"], "mention")
		t.eq("notification_email", m["notification_email"], u.Email)
		t.eq("level", t.put(u.Token, global, M{"notification_email": u.Email}).ok(200).obj()["level"], "mention")
	})
	a.add("A refused level changes nothing", "level=watch, then level=bogus (400): still watch, on the three forms", func(t *T) {
		for _, path := range []string{global, t.group().path(global), t.project().path(global)} {
			t.put(tok(t), path, M{"level": "watch"}).ok(200)
			t.put(tok(t), path, M{"level": "bogus"}).ok(400)
			t.eq("level", t.get(tok(t), path).ok(200).obj()["level"], "watch")
		}
	})
	a.add("Event flags are booleans on every form", "new_issue=maybe with level custom: 400 on the global and the group form", func(t *T) {
		for _, path := range []string{global, t.group().path(global)} {
			t.put(tok(t), path, M{"level": "custom", "new_issue": true}).ok(200)
			t.put(tok(t), path, M{"level": "custom", "new_issue": "maybe"}).ok(400)
		}
	})
	a.add("Notification settings belong to the caller", "two users set different levels on the three forms; each reads the own one", func(t *T) {
		other := t.user("notify2").Token
		for _, path := range []string{global, t.group().path(global), t.project().path(global)} {
			t.put(tok(t), path, M{"level": "watch"}).ok(200)
			t.put(other, path, M{"level": "mention"}).ok(200)
			t.eq("level of the first user", t.get(tok(t), path).ok(200).obj()["level"], "watch")
			t.eq("level of the second user", t.get(other, path).ok(200).obj()["level"], "mention")
		}
	})
	a.add("Global, group and project level are separate settings", "three different levels are read back", func(t *T) {
		levels := map[string]string{global: "participating", t.group().path(global): "disabled", t.project().path(global): "mention"}
		for path, level := range levels {
			t.put(tok(t), path, M{"level": level}).ok(200)
		}
		for path, level := range levels {
			t.eq("level of "+path, t.get(tok(t), path).ok(200).obj()["level"], level)
		}
	})
	for _, kind := range []string{"form-encoded", "multipart", "query string"} {
		a.add("PUT notification settings: parameters as "+kind, "project, level=custom, new_note true then false, close_issue the opposite: events shows them", func(t *T) {
			for _, v := range []bool{true, false} {
				vals := map[string]string{"level": "custom", "new_note": fmt.Sprint(v), "close_issue": fmt.Sprint(!v)}
				q := url.Values{}
				for k, x := range vals {
					q.Set(k, x)
				}
				path, body := t.project().path(global), any(q)
				switch kind {
				case "multipart":
					body = &multi{fields: vals}
				case "query string":
					path, body = path+"?"+q.Encode(), nil
				}
				m := t.put(tok(t), path, body).ok(200).obj()
				t.eq("level", m["level"], "custom")
				t.eq("events.new_note", sub(m, "events")["new_note"], v)
				t.eq("events.close_issue", sub(m, "events")["close_issue"], !v)
			}
		})
	}
	return Area{"notifications", a.rules}
}
