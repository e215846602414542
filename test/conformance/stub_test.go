package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stub is a toy server for checking the suite itself: some endpoints answer
// as the specification says, some wrongly on purpose, most not at all.
type stub struct {
	mu       sync.Mutex
	mux      *http.ServeMux
	seq      int
	users    map[int]M
	tokens   map[string]stubToken
	vars     map[string]M
	projects map[int]M
	configs  map[int]string
	jobs     []M
	runners  map[string]int
	apps     map[string]string
	codes    map[string]url.Values
	refresh  map[string]int
	sessions map[string]int
	levels   map[string]M
	keys     map[string]int
	alerts   map[string]int
	base     string
}

type stubToken struct {
	user   int
	scopes []string
	oauth  string
}

const stubAdmin = "stub-admin-token"

func newStub() (*stub, *httptest.Server) {
	s := &stub{mux: http.NewServeMux(), users: map[int]M{}, tokens: map[string]stubToken{}, vars: map[string]M{}, projects: map[int]M{}, configs: map[int]string{},
		runners: map[string]int{}, apps: map[string]string{}, codes: map[string]url.Values{}, refresh: map[string]int{}, sessions: map[string]int{}, levels: map[string]M{}, keys: map[string]int{}, alerts: map[string]int{}}
	s.routes()
	s.tokens[stubAdmin] = stubToken{user: s.addUser(M{"username": "root", "name": "Root", "email": "root@example.com", "admin": true}), scopes: []string{"api", "sudo"}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(r.URL.RawQuery) > 8000 {
			reply(w, 414, M{"message": "414 Request-URI Too Large"})
			return
		}
		s.mux.ServeHTTP(w, r)
	}))
	s.base = srv.URL
	return s, srv
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *stub) next() int { s.seq++; return s.seq }

func (s *stub) addUser(in M) int {
	id := s.next()
	isAdmin, _ := in["admin"].(bool)
	s.users[id] = M{"id": id, "username": in["username"], "name": in["name"], "email": in["email"], "password": in["password"], "is_admin": isAdmin, "state": "active", "locked": false, "bot": false,
		"avatar_url": nil, "web_url": "http://x/" + fmt.Sprint(in["username"]), "created_at": time.Now().UTC().Format(time.RFC3339), "bio": "", "confirmed_at": nil}
	return id
}

// params merges query, form, multipart and JSON parameters.
func params(r *http.Request) M {
	out := M{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		_ = json.NewDecoder(r.Body).Decode(&out)
	} else {
		_ = r.ParseMultipartForm(32 << 20)
	}
	_ = r.ParseForm()
	for k, v := range r.Form {
		if strings.HasSuffix(k, "[]") {
			out[strings.TrimSuffix(k, "[]")] = v
		} else {
			out[k] = v[0]
		}
		if v[0] == "true" || v[0] == "false" {
			out[k] = v[0] == "true"
		}
	}
	return out
}

// caller authenticates a request; nil means a 401 was sent.
func (s *stub) caller(w http.ResponseWriter, r *http.Request) M {
	tok := r.Header.Get("PRIVATE-TOKEN")
	for _, alt := range []string{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.URL.Query().Get("private_token"), r.URL.Query().Get("access_token")} {
		if tok == "" {
			tok = alt
		}
	}
	t, known := s.tokens[tok]
	if c, err := r.Cookie("_svc_session"); tok == "" && err == nil {
		t, known = stubToken{user: s.sessions[c.Value], scopes: []string{"api"}}, s.sessions[c.Value] != 0
	}
	if !known {
		reply(w, 401, M{"message": "401 Unauthorized"})
		return nil
	}
	u := s.users[t.user]
	sudo := r.Header.Get("Sudo") + r.URL.Query().Get("sudo")
	switch {
	case sudo == "":
		return u
	case u["is_admin"] != true:
		reply(w, 403, M{"message": "403 Forbidden - Must be admin to use sudo"})
		return nil
	case !slices.Contains(t.scopes, "sudo"):
		reply(w, 403, M{"error": "insufficient_scope", "error_description": "x", "scope": "sudo"})
		return nil
	}
	for id, o := range s.users {
		if fmt.Sprint(id) == sudo || strings.EqualFold(fmt.Sprint(o["username"]), sudo) {
			return o
		}
	}
	reply(w, 404, M{"message": "404 User with ID or username '" + sudo + "' Not Found"})
	return nil
}

func (s *stub) api(pattern string, h func(w http.ResponseWriter, r *http.Request, u M)) {
	method, path, _ := strings.Cut(pattern, " ")
	s.mux.HandleFunc(method+" /api/v4"+path, func(w http.ResponseWriter, r *http.Request) {
		if u := s.caller(w, r); u != nil {
			h(w, r, u)
		}
	})
}

func adminOnly(w http.ResponseWriter, u M) bool {
	if u["is_admin"] != true {
		reply(w, 403, M{"message": "403 Forbidden"})
		return false
	}
	return true
}

func (s *stub) routes() {
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { reply(w, 404, M{"message": "404 Not Found"}) })
	s.api("GET /user", func(w http.ResponseWriter, _ *http.Request, u M) { reply(w, 200, u) })
	s.api("GET /users/{id}", func(w http.ResponseWriter, r *http.Request, _ M) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		if u := s.users[id]; u != nil {
			reply(w, 200, u)
			return
		}
		reply(w, 404, M{"message": "404 User Not Found"})
	})
	s.api("POST /users", func(w http.ResponseWriter, r *http.Request, u M) {
		in := params(r)
		if adminOnly(w, u) {
			id := s.addUser(in)
			reply(w, 201, s.users[id])
		}
	})
	s.api("POST /users/{id}/personal_access_tokens", func(w http.ResponseWriter, r *http.Request, _ M) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		in := params(r)
		scopes := strings.Fields(strings.Trim(fmt.Sprint(in["scopes"]), "[]"))
		tok := fmt.Sprintf("svcpat-%012d-token", s.next())
		s.tokens[tok] = stubToken{user: id, scopes: scopes}
		reply(w, 201, M{"id": s.next(), "name": in["name"], "revoked": false, "created_at": time.Now().UTC().Format(time.RFC3339), "scopes": scopes, "user_id": id, "active": true, "expires_at": "2099-01-01", "token": tok})
	})
	s.variables()
	s.forge()
	s.oauth()
	s.intake()
	s.lists()
}

// lists has client keys with offset pagination and projects with keyset.
func (s *stub) lists() {
	rows := map[string][]M{}
	s.api("PUT /projects/{id}/error_tracking/settings", func(w http.ResponseWriter, _ *http.Request, _ M) { reply(w, 200, M{}) })
	s.api("POST /projects/{id}/error_tracking/client_keys", func(w http.ResponseWriter, r *http.Request, _ M) {
		id := s.next()
		m := M{"id": id, "active": true, "public_key": fmt.Sprintf("k%d", id), "errsvc_dsn": fmt.Sprintf("https://k%d@h/1", id)}
		rows[r.PathValue("id")] = append(rows[r.PathValue("id")], m)
		reply(w, 201, m)
	})
	s.api("GET /projects/{id}/error_tracking/client_keys", func(w http.ResponseWriter, r *http.Request, _ M) {
		offsetPage(w, r, s.base, rows[r.PathValue("id")])
	})
	s.mux.HandleFunc("GET /api/v4/projects", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		var ids []int
		for id := range s.projects {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		if q.Get("sort") == "desc" {
			slices.Reverse(ids)
		}
		var all []M
		for _, id := range ids {
			after, _ := strconv.Atoi(q.Get("id_after"))
			before, _ := strconv.Atoi(q.Get("id_before"))
			if id > after && (before == 0 || id < before) {
				all = append(all, s.projects[id])
			}
		}
		if q.Get("pagination") != "keyset" {
			offsetPage(w, r, s.base, all)
			return
		}
		if q.Get("order_by") != "id" || (q.Get("sort") != "asc" && q.Get("sort") != "desc") {
			reply(w, 400, M{"error": "keyset"})
			return
		}
		n, _ := strconv.Atoi(q.Get("per_page"))
		if n == 0 {
			n = 20
		}
		all = all[:min(n, len(all))]
		if len(all) > 0 {
			filter := map[string]string{"asc": "id_after", "desc": "id_before"}[q.Get("sort")]
			q.Set(filter, fmt.Sprint(all[len(all)-1]["id"]))
			w.Header().Set("Link", "<"+s.base+r.URL.Path+"?"+q.Encode()+">; rel=\"next\"")
		}
		reply(w, 200, append([]M{}, all...))
	})
}

// offsetPage answers one page with all offset headers.
func offsetPage(w http.ResponseWriter, r *http.Request, base string, all []M) {
	q := r.URL.Query()
	page, _ := strconv.Atoi(q.Get("page"))
	per, _ := strconv.Atoi(q.Get("per_page"))
	page = max(page, 1)
	if per == 0 {
		per = 20
	}
	per = min(per, 100)
	last := max((len(all)+per-1)/per, 1)
	var links []string
	link := func(rel string, n int) {
		q.Set("page", fmt.Sprint(n))
		q.Set("per_page", fmt.Sprint(per))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, base, r.URL.Path, q.Encode(), rel))
	}
	h := w.Header()
	h.Set("X-Prev-Page", "")
	h.Set("X-Next-Page", "")
	if page > 1 {
		link("prev", page-1)
		h.Set("X-Prev-Page", fmt.Sprint(page-1))
	}
	if page < last {
		link("next", page+1)
		h.Set("X-Next-Page", fmt.Sprint(page+1))
	}
	link("first", 1)
	link("last", last)
	h.Set("Link", strings.Join(links, ", "))
	for k, v := range map[string]int{"X-Page": page, "X-Per-Page": per, "X-Total": len(all), "X-Total-Pages": last} {
		h.Set(k, fmt.Sprint(v))
	}
	lo, hi := min((page-1)*per, len(all)), min(page*per, len(all))
	reply(w, 200, append([]M{}, all[lo:hi]...))
}

var keyRE = regexp.MustCompile(`^[A-Za-z0-9_]{1,255}$`)

// variables is right except that PUT answers 201 (a planted fault).
func (s *stub) variables() {
	s.api("GET /admin/ci/variables", func(w http.ResponseWriter, _ *http.Request, u M) {
		if adminOnly(w, u) {
			out := []M{}
			for _, v := range s.vars {
				out = append(out, v)
			}
			reply(w, 200, out)
		}
	})
	s.api("POST /admin/ci/variables", func(w http.ResponseWriter, r *http.Request, u M) {
		if !adminOnly(w, u) {
			return
		}
		in := params(r)
		key, value := fmt.Sprint(in["key"]), fmt.Sprint(in["value"])
		v := M{"key": key, "value": value, "description": nil, "variable_type": "env_var", "protected": false, "masked": false, "raw": false}
		for _, k := range []string{"variable_type", "protected", "masked", "raw"} {
			if x, given := in[k]; given {
				v[k] = x
			}
		}
		kind := fmt.Sprint(v["variable_type"])
		if in["key"] == nil || in["value"] == nil || !keyRE.MatchString(key) || len(value) > 10000 || (kind != "env_var" && kind != "file") {
			reply(w, 400, M{"error": "invalid"})
			return
		}
		s.vars[key] = v
		reply(w, 201, v)
	})
	one := func(method string, h func(w http.ResponseWriter, r *http.Request, v M)) {
		s.api(method+" /admin/ci/variables/{key}", func(w http.ResponseWriter, r *http.Request, u M) {
			if !adminOnly(w, u) {
				return
			}
			if v := s.vars[r.PathValue("key")]; v != nil {
				h(w, r, v)
				return
			}
			reply(w, 404, M{"message": "404 InstanceVariable Not Found"})
		})
	}
	one("GET", func(w http.ResponseWriter, _ *http.Request, v M) { reply(w, 200, v) })
	one("PUT", func(w http.ResponseWriter, r *http.Request, v M) { reply(w, 201, v) })
	one("DELETE", func(w http.ResponseWriter, r *http.Request, _ M) {
		delete(s.vars, r.PathValue("key"))
		w.WriteHeader(204)
	})
}

// forge has groups, projects, notification levels and a tiny CI engine.
func (s *stub) forge() {
	s.api("POST /groups", func(w http.ResponseWriter, r *http.Request, _ M) {
		in := params(r)
		reply(w, 201, M{"id": s.next(), "full_path": in["path"]})
	})
	s.api("POST /groups/{id}/members", func(w http.ResponseWriter, _ *http.Request, _ M) { reply(w, 201, M{}) })
	s.api("POST /projects", func(w http.ResponseWriter, r *http.Request, _ M) {
		in, id := params(r), s.next()
		s.projects[id] = M{"id": id, "name": in["name"], "path_with_namespace": fmt.Sprintf("g/%v", in["name"]), "default_branch": "main", "visibility": in["visibility"]}
		reply(w, 201, s.projects[id])
	})
	s.mux.HandleFunc("GET /api/v4/projects/{id}", func(w http.ResponseWriter, r *http.Request) {
		for id, p := range s.projects {
			if fmt.Sprint(id) == r.PathValue("id") || p["path_with_namespace"] == r.PathValue("id") {
				reply(w, 200, p)
				return
			}
		}
		reply(w, 404, M{"message": "404 Project Not Found"})
	})
	for _, prefix := range []string{"", "/groups/{id}", "/projects/{id}"} {
		s.api("GET "+prefix+"/notification_settings", func(w http.ResponseWriter, r *http.Request, u M) { reply(w, 200, s.level(r, u, prefix == "")) })
		s.api("PUT "+prefix+"/notification_settings", func(w http.ResponseWriter, r *http.Request, u M) {
			in := params(r)
			if l, given := in["level"]; given && !slices.Contains(notificationLevels, fmt.Sprint(l)) {
				reply(w, 400, M{"message": "bad level"})
				return
			}
			m := s.level(r, u, prefix == "")
			if l, given := in["level"]; given {
				m["level"] = l
			}
			delete(m, "events")
			if m["level"] == "custom" && prefix != "" {
				ev := M{}
				for _, f := range notificationFlags {
					ev[f] = in[f] == true
				}
				m["events"] = ev
			}
			reply(w, 200, m)
		})
	}
	s.api("POST /projects/{id}/repository/commits", func(w http.ResponseWriter, r *http.Request, _ M) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		for _, x := range params(r)["actions"].([]any) {
			if f := x.(M); f["file_path"] == ".svc-ci.yml" {
				s.configs[id] = fmt.Sprint(f["content"])
			}
		}
		reply(w, 201, M{"id": strings.Repeat("a", 40)})
	})
	s.api("POST /projects/{id}/pipeline", func(w http.ResponseWriter, r *http.Request, _ M) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		pid := s.next()
		s.addJobs(id, pid)
		s.release()
		reply(w, 201, M{"id": pid})
	})
	s.api("GET /projects/{id}/pipelines/{pid}/jobs", func(w http.ResponseWriter, r *http.Request, _ M) {
		out := []M{}
		for _, j := range s.jobs {
			if fmt.Sprint(j["pid"]) == r.PathValue("pid") {
				out = append(out, j)
			}
		}
		reply(w, 200, out)
	})
	s.api("GET /projects/{id}/jobs", func(w http.ResponseWriter, r *http.Request, _ M) {
		out := []M{}
		scope := r.URL.Query().Get("scope")
		for _, j := range slices.Backward(s.jobs) {
			if fmt.Sprint(j["project_id"]) == r.PathValue("id") && (scope == "" || j["status"] == scope) {
				out = append(out, j)
			}
		}
		reply(w, 200, out)
	})
	s.api("POST /user/runners", func(w http.ResponseWriter, r *http.Request, _ M) {
		tok := fmt.Sprintf("run-%d", s.next())
		s.runners[tok], _ = strconv.Atoi(fmt.Sprint(params(r)["project_id"]))
		reply(w, 201, M{"id": s.next(), "token": tok, "token_expires_at": nil})
	})
	s.mux.HandleFunc("POST /api/v4/jobs/request", func(w http.ResponseWriter, r *http.Request) {
		project := s.runners[fmt.Sprint(params(r)["token"])]
		for _, j := range s.jobs {
			if j["project_id"] == project && j["status"] == "pending" && strings.HasPrefix(fmt.Sprint(j["tag"]), "go-") {
				j["status"] = "running"
				tok := fmt.Sprintf("job-%v", j["id"])
				reply(w, 201, M{"id": j["id"], "token": tok, "job_info": M{"name": j["name"]}, "variables": []M{{"key": "CI_JOB_TOKEN", "value": tok}}})
				return
			}
		}
		w.WriteHeader(204)
	})
	s.mux.HandleFunc("PATCH /api/v4/jobs/{id}/trace", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) })
	s.mux.HandleFunc("POST /api/v4/jobs/{id}/artifacts", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(201)
	})
	s.mux.HandleFunc("PUT /api/v4/jobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, j := range s.jobs {
			if fmt.Sprint(j["id"]) == r.PathValue("id") {
				j["status"] = params(r)["state"]
			}
		}
		s.release()
		w.WriteHeader(200)
	})
	s.mux.HandleFunc("GET /api/v4/job", func(w http.ResponseWriter, r *http.Request) {
		tok := r.Header.Get("JOB-TOKEN") + r.URL.Query().Get("job_token") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		for _, j := range s.jobs {
			if tok == fmt.Sprintf("job-%v", j["id"]) {
				reply(w, 200, j)
				return
			}
		}
		reply(w, 401, M{"message": "401 Unauthorized"})
	})
}

func (s *stub) level(r *http.Request, u M, global bool) M {
	key := r.URL.Path + fmt.Sprint(u["id"])
	if s.levels[key] == nil {
		s.levels[key] = M{"level": "global"}
		if global {
			s.levels[key] = M{"level": "participating", "notification_email": u["email"]}
		}
	}
	return s.levels[key]
}

// addJobs reads just enough of the configuration for the fixtures.
func (s *stub) addJobs(project, pipeline int) {
	var cur M
	stages := []string{"test"}
	for _, line := range strings.Split(s.configs[project], "\n") {
		word := strings.Trim(strings.TrimSpace(line[strings.Index(line, ":")+1:]), "[]")
		switch {
		case strings.HasPrefix(line, "stages:"):
			stages = strings.Split(strings.ReplaceAll(word, " ", ""), ",")
		case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " "):
			cur = M{"id": s.next(), "name": strings.TrimSuffix(line, ":"), "status": "created", "project_id": project, "pid": pipeline, "stage": stages[0], "when": ""}
			s.jobs = append(s.jobs, cur)
		case strings.HasPrefix(line, "  stage:"):
			cur["stage"] = word
		case strings.HasPrefix(line, "  tags:"):
			cur["tag"] = word
		case strings.HasPrefix(line, "  when:"):
			cur["when"] = word
		}
		if cur != nil {
			cur["order"] = slices.Index(stages, fmt.Sprint(cur["stage"]))
		}
	}
}

// release moves created jobs on when all earlier stages are done.
func (s *stub) release() {
	for _, j := range s.jobs {
		if j["status"] != "created" {
			continue
		}
		done, failed := true, false
		for _, k := range s.jobs {
			if k["pid"] == j["pid"] && k["order"].(int) < j["order"].(int) {
				st := fmt.Sprint(k["status"])
				done = done && slices.Contains([]string{"success", "failed", "skipped", "manual"}, st)
				failed = failed || st == "failed"
			}
		}
		switch {
		case !done:
		case failed:
			j["status"] = "skipped"
		case j["when"] == "manual":
			j["status"] = "manual"
		default:
			j["status"] = "pending"
		}
	}
}

// oauth has a sign-in page, consent page and token endpoint; token_type is
// wrong on purpose.
func (s *stub) oauth() {
	s.api("POST /applications", func(w http.ResponseWriter, _ *http.Request, _ M) {
		id := fmt.Sprintf("app-%d", s.next())
		s.apps[id] = "secret-" + id
		reply(w, 201, M{"id": s.next(), "application_id": id, "secret": s.apps[id]})
	})
	s.mux.HandleFunc("GET /users/sign_in", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<html><form class="search" method="get"><input type="text" name="q"></form>
<form action="/users/sign_in" method="post"><input type="hidden" name="authenticity_token" value="a&amp;b">
<input name="user[login]" type='text'><input type=password name="user[password]"><button type="submit">Sign in</button></form></html>`)
	})
	s.mux.HandleFunc("POST /users/sign_in", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		for id, u := range s.users {
			if r.Form.Get("authenticity_token") == "a&b" && u["username"] == r.Form.Get("user[login]") && u["password"] == r.Form.Get("user[password]") {
				c := fmt.Sprintf("sess%d", s.next())
				s.sessions[c] = id
				http.SetCookie(w, &http.Cookie{Name: "_svc_session", Value: c, Path: "/", HttpOnly: true})
			}
		}
		http.Redirect(w, r, "/", http.StatusFound)
	})
	s.mux.HandleFunc("GET /oauth/authorize", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("_svc_session"); err != nil || s.sessions[c.Value] == 0 {
			http.Redirect(w, r, "/users/sign_in", http.StatusFound)
			return
		}
		q := r.URL.Query()
		if s.apps[q.Get("client_id")] == "" || q.Get("redirect_uri") != redirectURI || q.Get("response_type") != "code" {
			_, _ = io.WriteString(w, "invalid")
			return
		}
		_, _ = fmt.Fprintf(w, `<form action="/oauth/authorize" method="post"><input type="hidden" name="_method" value="delete"><input type="submit" value="Deny"></form>
<form action="/oauth/authorize" method="post"><input type="hidden" name="q" value="%s"><button type="submit" name="commit" value="yes">Authorize</button></form>`, url.QueryEscape(r.URL.RawQuery))
	})
	s.mux.HandleFunc("POST /oauth/authorize", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		raw, _ := url.QueryUnescape(r.Form.Get("q"))
		q, _ := url.ParseQuery(raw)
		c, _ := r.Cookie("_svc_session")
		code := fmt.Sprintf("code%d", s.next())
		q.Set("user", fmt.Sprint(s.sessions[c.Value]))
		s.codes[code] = q
		out := url.Values{"code": {code}}
		if q.Get("state") != "" {
			out.Set("state", q.Get("state"))
		}
		http.Redirect(w, r, redirectURI+"?"+out.Encode(), http.StatusFound)
	})
	s.mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		f := r.Form
		user := 0
		app := f.Get("client_id")
		switch f.Get("grant_type") {
		case "authorization_code":
			q := s.codes[f.Get("code")]
			if q != nil && f.Get("redirect_uri") == redirectURI && f.Get("client_secret") == s.apps[app] {
				user, _ = strconv.Atoi(q.Get("user"))
			}
		case "refresh_token":
			user = s.refresh[f.Get("refresh_token")]
		case "password":
			for id, u := range s.users {
				if u["username"] == f.Get("username") && u["password"] == f.Get("password") {
					user = id
				}
			}
		}
		if user == 0 {
			reply(w, 400, M{"error": "invalid_grant"})
			return
		}
		tok, ref := fmt.Sprintf("oauth-token-%020d", s.next()), fmt.Sprintf("ref-%d", s.next())
		s.tokens[tok] = stubToken{user: user, scopes: []string{"api"}, oauth: app}
		out := M{"access_token": tok, "token_type": "Bearer", "expires_in": 7200, "created_at": time.Now().Unix()}
		if f.Get("grant_type") != "password" {
			s.refresh[ref] = user
			out["refresh_token"] = ref
		}
		reply(w, 200, out)
	})
}

// intake accepts generic alerts; nothing is ever grouped (a planted fault).
func (s *stub) intake() {
	s.api("POST /projects/{id}/alert_management_integrations", func(w http.ResponseWriter, r *http.Request, _ M) {
		key := fmt.Sprintf("key-%d", s.next())
		reply(w, 201, M{"id": s.next(), "url": "http://elsewhere.example.com/alerts/" + key, "token": key, "name": params(r)["name"]})
	})
	s.mux.HandleFunc("POST /alerts/{key}", func(w http.ResponseWriter, r *http.Request) {
		_, pass, _ := r.BasicAuth()
		if key := r.PathValue("key"); r.Header.Get("Authorization") != "Bearer "+key && pass != key {
			reply(w, 401, M{"message": "401 Unauthorized"})
			return
		}
		in := params(r)
		title := in["title"]
		if title == nil {
			title = "New: Alert"
		}
		reply(w, 200, []M{{"iid": s.next(), "title": title}})
	})
}
