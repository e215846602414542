package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"
)

// integration is an alert endpoint: its rebased URL and authorization key.
type integration struct {
	id       int
	url, key string
}

const integrationsPath = "/alert_management_integrations"

func (t *T) newIntegration(kind string) integration { return t.newIntegrationOf(t.project(), kind) }

func (t *T) newIntegrationOf(p Project, kind string) integration {
	m := t.post(t.user("owner").Token, p.path(integrationsPath), M{"name": t.unique(kind), "type": kind, "active": true}).ok(201).obj()
	t.shape(m, "id int, url url, token str")
	return integration{num(m, "id"), t.rebase(str(m, "url")), str(m, "token")}
}

func (t *T) integration(kind string) integration {
	return memo(t, kind+" integration", func(t *T) integration { return t.newIntegration(kind) })
}

func jsonBearer(key string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/json"}
}

// intake posts a payload to an integration with its key.
func (t *T) intake(in integration, payload any) *Resp {
	return t.do(Req{Method: "POST", URL: in.url, Header: jsonBearer(in.key), Body: payload})
}

// alert posts a payload and returns the created alerts.
func (t *T) alert(kind string, payload any) []M {
	items := t.intake(t.integration(kind), payload).ok(200).arr()
	for _, m := range items {
		t.shape(m, "iid int, title str")
	}
	return items
}

// oneAlert posts a payload that must create exactly one alert.
func (t *T) oneAlert(kind string, payload any) M {
	items := t.alert(kind, payload)
	t.eq("number of alerts", len(items), 1)
	return items[0]
}

// sameAlert posts a payload again and reports whether no new alert arose: an
// empty list, or the alert already known.
func (t *T) sameAlert(kind string, payload M, iid int) bool {
	items := t.alert(kind, payload)
	return len(items) == 0 || num(items[0], "iid") == iid
}

// metrics is a complete metrics-alerting payload with the given alerts.
func (t *T) metrics(alerts ...M) M {
	status := "firing"
	if len(alerts) > 0 && str(alerts[0], "status") != "" {
		status = str(alerts[0], "status")
	}
	return M{"receiver": "conf", "status": status, "alerts": alerts, "groupLabels": M{"alertname": "x"}, "commonLabels": M{}, "commonAnnotations": M{},
		"externalURL": "http://am.example.com", "groupKey": "{}:{alertname=\"x\"}", "version": "4"}
}

func firing(title string) M {
	return M{"status": "firing", "labels": M{"severity": "high"}, "annotations": M{"title": title}, "startsAt": "2024-05-06T07:08:09Z", "generatorUrl": "http://p.example.com/graph?g0.expr=up"}
}

func areaAlerts() Area {
	a := &areaTable{prefix: "ALERTS"}

	for _, kind := range []string{"http", "prometheus"} {
		a.add("URL and authorization key are issued when the integration is saved ("+kind+")", "POST "+integrationsPath+": id, url, token", func(t *T) { t.integration(kind) })
	}
	a.add("URL and key can be viewed afterwards", "GET "+integrationsPath+" lists url and token", func(t *T) {
		in := t.integration("http")
		m := pick(t.get(t.user("owner").Token, t.project().path(integrationsPath+"?per_page=100")).ok(200).arr(), "id", in.id)
		t.check(m != nil, "the integration", "absent")
		t.eq("token", m["token"], in.key)
		t.eq("url", t.rebase(str(m, "url")), in.url)
	})
	a.add("Integrations are configured by Maintainers", "Maintainer 201, Developer 403", func(t *T) {
		body := M{"name": t.unique("m"), "type": "http", "active": true}
		t.post(t.user("dev").Token, t.project().path(integrationsPath), body).ok(403)
		t.post(t.user("maint").Token, t.project().path(integrationsPath), body).ok(201)
	})
	a.add("Premium: several endpoints per project", "two http integrations have different URLs and keys, both accept", func(t *T) {
		one, two := t.integration("http"), t.newIntegration("http")
		t.check(one.url != two.url && one.key != two.key, "different URL and key", "%s", two.url)
		t.do(Req{Method: "POST", URL: two.url, Header: jsonBearer(two.key), Body: M{"title": "second"}}).ok(200)
	})
	a.add("Intake accepts Authorization: Bearer", "200", func(t *T) { t.oneAlert("http", M{"title": t.unique("bearer")}) })
	a.add("Intake accepts HTTP Basic with a blank username", "200", func(t *T) {
		in := t.integration("http")
		h := basic("", in.key)
		h["Content-Type"] = "application/json"
		t.do(Req{Method: "POST", URL: in.url, Header: h, Body: M{"title": t.unique("basic")}}).ok(200).nonEmpty()
	})
	a.add("Intake accepts Basic credentials embedded in the URL", "http://:key@host/...: 200", func(t *T) {
		in := t.integration("http")
		u, err := url.Parse(in.url)
		t.check(err == nil, "a valid URL", "%v", err)
		u.User = url.UserPassword("", in.key)
		t.do(Req{Method: "POST", URL: u.String(), Body: M{"title": t.unique("url")}}).ok(200).nonEmpty()
	})
	for _, c := range []struct{ what, header string }{
		{"no credentials", ""}, {"a wrong Bearer key", "Bearer wrong"}, {"a wrong Basic password", "Basic " + base64.StdEncoding.EncodeToString([]byte(":wrong"))},
	} {
		a.add("Intake with "+c.what+" is refused", "401", func(t *T) {
			h := map[string]string{"Content-Type": "application/json"}
			if c.header != "" {
				h["Authorization"] = c.header
			}
			t.do(Req{Method: "POST", URL: t.integration("http").url, Header: h, Body: M{"title": "x"}}).ok(401)
		})
	}
	a.add("A user's token does not authorize intake", "administrator token as Bearer: refused", func(t *T) {
		t.do(Req{Method: "POST", URL: t.integration("http").url, Header: jsonBearer(t.admin), Body: M{"title": "x"}}).refused()
	})
	a.add("Intake is by POST", "GET does not succeed", func(t *T) {
		t.do(Req{Method: "GET", URL: t.integration("http").url, Header: bearer(t.integration("http").key)}).not2xx()
	})
	a.add("Intake answers 200 with an array of {iid, title}", "types and title", func(t *T) {
		title := t.unique("alert")
		t.eq("title", t.oneAlert("http", M{"title": title})["title"], title)
	})
	a.add("Every created alert has an iid of its own", "two alerts have different iids", func(t *T) {
		one, two := t.oneAlert("http", M{"title": t.unique("i")}), t.oneAlert("http", M{"title": t.unique("i")})
		t.check(num(two, "iid") != num(one, "iid"), "another iid", "%v then %v", one["iid"], two["iid"])
	})
	a.add("title defaults to `New: Alert`", "payload without title", func(t *T) { t.eq("title", t.oneAlert("http", M{"description": t.unique("d")})["title"], "New: Alert") })
	a.add("All generic properties are optional", "empty object: 200 with one alert", func(t *T) { t.oneAlert("http", M{}) })
	for _, c := range []struct {
		key   string
		value any
	}{
		{"description", "text"}, {"start_time", "2024-01-02T03:04:05Z"}, {"service", "svc"}, {"monitoring_tool", "tool"}, {"hosts", "one.example.com"}, {"hosts", []string{"a", "b"}},
		{"fingerprint", "fp-string"}, {"fingerprint", []string{"fp", "array"}}, {"svc_environment_name", "production"},
		{"severity", "critical"}, {"severity", "high"}, {"severity", "medium"}, {"severity", "low"}, {"severity", "info"}, {"severity", "unknown"}, {"severity", "HiGh"}, {"severity", "not-in-the-list"},
		{"custom", M{"nested": M{"deep": []int{1, 2}}}},
	} {
		a.add(fmt.Sprintf("Generic payload accepts %s = %v", c.key, c.value), "200 with one alert", func(t *T) {
			v := c.value
			if c.key == "fingerprint" {
				v = []string{fmt.Sprint(c.value), t.unique("fp")}
				if _, single := c.value.(string); single {
					v = t.unique("fp")
				}
			}
			t.oneAlert("http", M{"title": t.unique("prop"), c.key: v})
		})
	}
	a.add("Alerts with the same fingerprint are grouped while not resolved", "repeated payload creates no new alert", func(t *T) {
		p := M{"title": t.unique("g"), "fingerprint": t.unique("fp")}
		t.check(t.sameAlert("http", p, num(t.oneAlert("http", p), "iid")), "no new alert", "a new iid")
	})
	a.add("Grouping ignores start_time and hosts", "repeated payload with other start_time and hosts creates no new alert", func(t *T) {
		p := M{"title": t.unique("g"), "fingerprint": t.unique("fp"), "hosts": "a", "start_time": "2024-01-01T00:00:00Z"}
		iid := num(t.oneAlert("http", p), "iid")
		p["hosts"], p["start_time"] = "b", "2024-02-02T00:00:00Z"
		t.check(t.sameAlert("http", p, iid), "no new alert", "a new iid")
	})
	a.add("A different fingerprint makes a new alert", "two iids", func(t *T) {
		title := t.unique("g")
		one := t.oneAlert("http", M{"title": title, "fingerprint": t.unique("fp")})
		t.check(!t.sameAlert("http", M{"title": title, "fingerprint": t.unique("fp")}, num(one, "iid")), "a new alert", "the same iid")
	})
	a.add("end_time resolves the alert found by fingerprint; an identical payload afterwards creates a new alert", "fire, resolve, fire: a new iid", func(t *T) {
		p := M{"title": t.unique("r"), "fingerprint": t.unique("fp")}
		iid := num(t.oneAlert("http", p), "iid")
		in := t.integration("http")
		t.do(Req{Method: "POST", URL: in.url, Header: jsonBearer(in.key), Body: M{"title": p["title"], "fingerprint": p["fingerprint"], "end_time": "2030-01-01T00:00:00Z"}}).ok(200)
		t.check(!t.sameAlert("http", p, iid), "a new alert after resolution", "the same iid")
	})

	// Metrics format
	a.add("Metrics payload: 200 with the created alert", "one element", func(t *T) {
		title := t.unique("m")
		t.eq("title", t.oneAlert("prometheus", t.metrics(firing(title)))["title"], title)
	})
	a.add("Metrics payload: one alert per element of alerts", "three elements, three alerts", func(t *T) {
		t.eq("number of alerts", len(t.alert("prometheus", t.metrics(firing(t.unique("a")), firing(t.unique("b")), firing(t.unique("c"))))), 3)
	})
	a.add("Metrics payload: Basic authorization works too", "200", func(t *T) {
		in := t.integration("prometheus")
		h := basic("", in.key)
		h["Content-Type"] = "application/json"
		t.do(Req{Method: "POST", URL: in.url, Header: h, Body: t.metrics(firing(t.unique("b")))}).ok(200)
	})
	a.add("Metrics payload: a wrong key is refused", "401", func(t *T) {
		t.do(Req{Method: "POST", URL: t.integration("prometheus").url, Header: jsonBearer("wrong"), Body: t.metrics(firing("x"))}).ok(401)
	})
	for _, c := range []struct{ where, key string }{{"annotations", "title"}, {"annotations", "summary"}, {"labels", "alertname"}} {
		a.add("Metrics alert title from "+c.where+"/"+c.key, "title of the created alert", func(t *T) {
			title := t.unique("t")
			al := M{"status": "firing", "labels": M{}, "annotations": M{}, "startsAt": "2024-05-06T07:08:09Z"}
			al[c.where] = M{c.key: title}
			t.eq("title", t.oneAlert("prometheus", t.metrics(al))["title"], title)
		})
	}
	a.add("Metrics alert: a title source is required", "element without one creates no alert", func(t *T) {
		t.noAlert(t.metrics(M{"status": "firing", "labels": M{}, "annotations": M{}, "startsAt": "2024-05-06T07:08:09Z"}))
	})
	a.add("Metrics alert: startsAt is required", "element without it creates no alert", func(t *T) { t.noAlert(t.metrics(M{"status": "firing", "annotations": M{"title": t.unique("ns")}})) })
	for _, key := range []string{"alerts", "commonAnnotations", "commonLabels", "externalURL", "groupKey", "groupLabels", "receiver", "status", "version"} {
		a.add("Metrics payload: top-level "+key+" is required", "without it the payload is not taken as metrics alerts (refused, or the element's title is not among the created alerts)", func(t *T) {
			title := t.unique("req")
			p := t.metrics(firing(title))
			delete(p, key)
			in := t.integration("prometheus")
			r := t.do(Req{Method: "POST", URL: in.url, Header: jsonBearer(in.key), Body: p})
			t.check(r.status < 500 && !strings.Contains(string(r.body), title), "not processed as metrics alerts", "%s", r.brief())
		})
	}
	for _, c := range []struct {
		what string
		edit func(M)
	}{
		{"annotations/description", func(m M) { m["annotations"].(M)["description"] = "d" }},
		{"annotations/svc_incident_markdown", func(m M) { m["annotations"].(M)["svc_incident_markdown"] = "# md" }},
		{"annotations/runbook", func(m M) { m["annotations"].(M)["runbook"] = "https://r.example.com" }},
		{"annotations/svc_y_label", func(m M) { m["annotations"].(M)["svc_y_label"] = "y" }},
		{"other annotations", func(m M) { m["annotations"].(M)["anything"] = "else" }},
		{"generatorUrl with g0.expr", func(m M) { m["generatorUrl"] = "http://p.example.com/graph?g0.expr=rate%28x%29" }},
		{"labels/svc_environment_name", func(m M) { m["labels"].(M)["svc_environment_name"] = "production" }},
		{"no labels/severity", func(m M) { m["labels"] = M{} }},
		{"an unknown severity", func(m M) { m["labels"].(M)["severity"] = "odd" }},
		{"any other attributes", func(m M) { m["extra"] = M{"a": 1} }},
	} {
		a.add("Metrics alert accepts "+c.what, "200 with one alert", func(t *T) {
			al := firing(t.unique("opt"))
			c.edit(al)
			t.oneAlert("prometheus", t.metrics(al))
		})
	}
	for _, row := range [][]string{
		{"critical", "s1", "p1", "emergency", "fatal"}, {"high", "s2", "p2", "major", "page"}, {"medium", "s3", "p3", "error", "alert"},
		{"low", "s4", "p4", "warn", "warning"}, {"info", "s5", "p5", "debug", "information", "notice"},
	} {
		a.add("Metrics severity synonyms of "+row[0]+", any case", "one alert per word is accepted", func(t *T) {
			var alerts []M
			for _, w := range row {
				for _, s := range []string{w, strings.ToUpper(w)} {
					al := firing(t.unique("sev"))
					al["labels"] = M{"severity": s}
					alerts = append(alerts, al)
				}
			}
			t.eq("number of alerts", len(t.alert("prometheus", t.metrics(alerts...))), len(alerts))
		})
	}
	a.add("Metrics status resolved (with endsAt) resolves the alert; the same alert afterwards is new", "fire, resolve, fire: a new iid", func(t *T) {
		al := firing(t.unique("mr"))
		iid := num(t.oneAlert("prometheus", t.metrics(al)), "iid")
		t.check(t.sameAlert("prometheus", t.metrics(al), iid), "grouped while open", "a new iid")
		al["status"], al["endsAt"] = "resolved", "2024-05-07T00:00:00Z"
		t.alert("prometheus", t.metrics(al))
		al["status"] = "firing"
		delete(al, "endsAt")
		t.check(!t.sameAlert("prometheus", t.metrics(al), iid), "a new alert after resolution", "the same iid")
	})
	moreAlerts(a)
	return Area{"alerts", a.rules}
}

// noAlert posts a metrics payload that must not create an alert.
func (t *T) noAlert(payload M) {
	in := t.integration("prometheus")
	r := t.do(Req{Method: "POST", URL: in.url, Header: jsonBearer(in.key), Body: payload})
	if r.status >= 200 && r.status <= 299 && len(r.body) > 0 {
		t.eq("number of alerts", len(r.arr()), 0)
		return
	}
	t.check(r.status < 500, "no alert created", "%s", r.brief())
}

// moreAlerts holds the later rules of alert intake.
func moreAlerts(a *areaTable) {
	owner := func(t *T) string { return t.user("owner").Token }
	iidOf := func(t *T, kind string, p M) int { return num(t.oneAlert(kind, p), "iid") }

	a.add("Keys are shown to Maintainers only", "GET "+integrationsPath+": Maintainer 200, Developer 403, anonymous 401", func(t *T) {
		t.integration("http")
		path := t.project().path(integrationsPath)
		t.get(t.user("maint").Token, path).ok(200).nonEmpty()
		t.get(t.user("dev").Token, path).ok(403)
		t.get("", path).ok(401)
	})
	a.add("Saving an integration needs authentication", "anonymous POST: 401", func(t *T) {
		t.integration("http")
		t.post("", t.project().path(integrationsPath), M{"name": t.unique("anon"), "type": "http", "active": true}).ok(401)
	})
	a.add("Each endpoint has its own key", "the key of another integration of the project: 401", func(t *T) {
		one, two := t.integration("http"), t.newIntegration("http")
		t.intake(two, M{"title": t.unique("own")}).ok(200)
		t.do(Req{Method: "POST", URL: one.url, Header: jsonBearer(two.key), Body: M{"title": t.unique("foreign")}}).ok(401)
	})
	a.add("An empty key is refused", "Basic with neither username nor password, and an empty Bearer: 401", func(t *T) {
		in := t.integration("http")
		for _, h := range []string{basic("", "")["Authorization"], "Bearer "} {
			t.do(Req{Method: "POST", URL: in.url, Header: map[string]string{"Authorization": h, "Content-Type": "application/json"}, Body: M{"title": "x"}}).ok(401)
		}
	})
	a.add("The payload is JSON", "a body that is no JSON: 4xx", func(t *T) {
		in := t.integration("http")
		t.intake(in, M{"title": t.unique("good")}).ok(200)
		t.intake(in, []byte(`{"title": `)).refused()
	})
	a.add("The intake answer is JSON", "Content-Type application/json", func(t *T) {
		r := t.intake(t.integration("http"), M{"title": t.unique("ct")}).ok(200)
		t.check(strings.HasPrefix(r.header.Get("Content-Type"), "application/json"), "application/json", "%q", r.header.Get("Content-Type"))
	})
	a.add("Alerts of both formats in one project have different iids", "one of each", func(t *T) {
		one, two := iidOf(t, "http", M{"title": t.unique("gen")}), iidOf(t, "prometheus", t.metrics(firing(t.unique("met"))))
		t.check(one != two, "different iids", "%d twice", one)
	})
	a.add("A fingerprint given as array groups too", "the same array again creates no new alert, another array does", func(t *T) {
		fp := t.unique("fp")
		p := M{"title": t.unique("g"), "fingerprint": []string{fp, "part"}}
		iid := iidOf(t, "http", p)
		t.check(t.sameAlert("http", p, iid), "no new alert", "a new iid")
		p["fingerprint"] = []string{fp, "other part"}
		t.check(!t.sameAlert("http", p, iid), "a new alert for another array", "the same iid")
	})
	a.add("Grouping goes on as long as the alert is not resolved", "four repeats create no new alert", func(t *T) {
		p := M{"title": t.unique("g"), "fingerprint": t.unique("fp")}
		iid := iidOf(t, "http", p)
		for i := range 4 {
			t.check(t.sameAlert("http", p, iid), "no new alert", "a new iid at repeat %d", i+1)
		}
	})
	a.add("After resolution and a new alert, grouping begins anew", "fire, resolve, fire, fire: the last creates no new alert", func(t *T) {
		p := M{"title": t.unique("g"), "fingerprint": t.unique("fp")}
		old := iidOf(t, "http", p)
		t.intake(t.integration("http"), M{"title": p["title"], "fingerprint": p["fingerprint"], "end_time": "2030-01-01T00:00:00Z"}).ok(200)
		fresh := iidOf(t, "http", p)
		t.check(fresh != old, "a new alert after resolution", "the same iid")
		t.check(t.sameAlert("http", p, fresh), "grouped with the new alert", "another iid")
	})
	a.add("end_time resolves only the alert of its fingerprint", "two alerts, one resolved: the other is still grouped", func(t *T) {
		p, q := M{"title": t.unique("p"), "fingerprint": t.unique("fp")}, M{"title": t.unique("q"), "fingerprint": t.unique("fp")}
		iidOf(t, "http", p)
		iid := iidOf(t, "http", q)
		p["end_time"] = "2030-01-01T00:00:00Z"
		t.intake(t.integration("http"), p).ok(200)
		t.check(t.sameAlert("http", q, iid), "no new alert", "a new iid")
	})
	a.add("A fingerprint groups inside one project", "the same fingerprint in another project makes an alert there", func(t *T) {
		other := memo(t, "integration of another project", func(t *T) integration { return t.newIntegrationOf(t.newProject("alr", nil), "http") })
		fp, title := t.unique("fp"), t.unique("there")
		t.oneAlert("http", M{"title": t.unique("here"), "fingerprint": fp})
		items := t.intake(other, M{"title": title, "fingerprint": fp}).ok(200).nonEmpty()
		t.eq("title", items[0]["title"], title)
	})
	a.add("Payloads of one fingerprint at the same moment make one alert", "8 parallel posts, then one more: one iid in all answers", func(t *T) {
		in, p := t.integration("http"), M{"title": t.unique("race"), "fingerprint": t.unique("fp")}
		answers := make([]*rawResp, 8)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				answers[i], _ = t.client.do(Req{Method: "POST", URL: in.url, Header: jsonBearer(in.key), Body: p})
			}()
		}
		wg.Wait()
		iids := map[int]bool{}
		for _, raw := range answers {
			t.check(raw != nil, "an HTTP answer", "none")
			for _, m := range (&Resp{raw, t}).ok(200).arr() {
				iids[num(m, "iid")] = true
			}
		}
		for _, m := range t.alert("http", p) {
			iids[num(m, "iid")] = true
		}
		t.check(len(iids) == 1, "one iid", "%v", iids)
	})

	resolve := func(t *T, al M) {
		al["status"] = "resolved"
		t.intake(t.integration("prometheus"), t.metrics(al)).ok(200)
		al["status"] = "firing"
	}
	a.add("Metrics: status resolved resolves without endsAt", "fire, resolve, fire: a new iid", func(t *T) {
		al := firing(t.unique("noend"))
		iid := iidOf(t, "prometheus", t.metrics(al))
		resolve(t, al)
		t.check(!t.sameAlert("prometheus", t.metrics(al), iid), "a new alert after resolution", "the same iid")
	})
	a.add("Metrics: the status, not endsAt, resolves", "firing with endsAt 0001-01-01T00:00:00Z, as senders write it: the repeat creates no new alert", func(t *T) {
		al := firing(t.unique("zero"))
		al["endsAt"] = "0001-01-01T00:00:00Z"
		iid := iidOf(t, "prometheus", t.metrics(al))
		t.check(t.sameAlert("prometheus", t.metrics(al), iid), "no new alert", "a new iid")
	})
	a.add("Metrics: each element has its own status", "one payload that resolves one alert and fires another: the fired one is created, the resolved one fires anew", func(t *T) {
		old, title := firing(t.unique("old")), t.unique("new")
		iid := iidOf(t, "prometheus", t.metrics(old))
		old["status"], old["endsAt"] = "resolved", "2024-05-07T00:00:00Z"
		items := t.alert("prometheus", t.metrics(firing(title), old))
		t.check(pick(items, "title", title) != nil, "the alert "+title, "%v", column(items, "title"))
		old["status"] = "firing"
		delete(old, "endsAt")
		t.check(!t.sameAlert("prometheus", t.metrics(old), iid), "a new alert after resolution", "the same iid")
	})
	a.add("Metrics: a known element beside a new one", "the new one is created, the known one keeps its iid", func(t *T) {
		old, title := firing(t.unique("old")), t.unique("new")
		iid := iidOf(t, "prometheus", t.metrics(old))
		items := t.alert("prometheus", t.metrics(old, firing(title)))
		t.check(pick(items, "title", title) != nil, "the alert "+title, "%v", column(items, "title"))
		for _, m := range items {
			t.check(str(m, "title") == title || num(m, "iid") == iid, "no second alert for the known element", "%s", dump(m))
		}
	})
	a.add("Metrics: resolution concerns the matching alert only", "two alerts, one resolved: the other is still grouped", func(t *T) {
		one, two := firing(t.unique("one")), firing(t.unique("two"))
		iidOf(t, "prometheus", t.metrics(one))
		iid := iidOf(t, "prometheus", t.metrics(two))
		resolve(t, one)
		t.check(t.sameAlert("prometheus", t.metrics(two), iid), "no new alert", "a new iid")
	})
	a.add("Metrics: other top-level attributes are ignored", "truncatedAlerts and a nested object: 200 with one alert", func(t *T) {
		p := t.metrics(firing(t.unique("top")))
		p["truncatedAlerts"], p["extra"] = 0, M{"a": []int{1}}
		t.oneAlert("prometheus", p)
	})
	a.add("Metrics: the key may be embedded in the URL", "http://:key@host/...: 200", func(t *T) {
		in := t.integration("prometheus")
		u, err := url.Parse(in.url)
		t.check(err == nil, "a valid URL", "%v", err)
		u.User = url.UserPassword("", in.key)
		t.do(Req{Method: "POST", URL: u.String(), Body: t.metrics(firing(t.unique("url")))}).ok(200).nonEmpty()
	})
	a.add("A project takes integrations by its URL-encoded path", "GET /projects/<path>"+integrationsPath+": 200 with the integration", func(t *T) {
		in := t.integration("http")
		items := t.get(owner(t), "/projects/"+enc(t.project().Path)+integrationsPath+"?per_page=100").ok(200).arr()
		t.check(pick(items, "id", in.id) != nil, "the integration", "%v", column(items, "id"))
	})
}
