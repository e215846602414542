package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// request is one as it goes over the wire: no client library would send most of them.
type request struct {
	what    string // the operation, to group faults by
	method  string
	target  string // path and query
	header  []string
	speaker string
	body    []byte
	hangUp  hangUp
}

// hangUp says when a client goes away.
type hangUp int

const (
	never hangUp = iota
	inBody
	beforeAnswer
	inAnswer
)

// waits says that an answer may take long on purpose: a runner waits for a job, or the server for the rest of a body.
func (q *request) waits() bool {
	return strings.HasPrefix(q.target, "/api/v4/jobs/request") || slices.ContainsFunc(q.header, func(h string) bool { return h == "Transfer-Encoding: chunked" })
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// escape writes a text as it may stand in a target, most of the time.
func escape(r *rand.Rand, s string) string {
	if r.IntN(10) == 0 && !strings.ContainsAny(s, " \r\n\t") {
		return s
	}
	return url.PathEscape(s)
}

// newRequest makes a request of the API, or of one of the other doors.
func (s *storm) newRequest(r *rand.Rand, w *fixture) *request {
	q := &request{speaker: pick(r, speakers...)}
	if r.IntN(4) == 0 {
		s.elsewhere(r, w, q)
	} else {
		s.ofAPI(r, w, q)
	}
	if r.IntN(12) == 0 {
		q.method = pick(r, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "X")
	}
	s.strange(r, w, q)
	if r.IntN(16) == 0 {
		q.hangUp = pick(r, inBody, beforeAnswer, inAnswer)
	}
	return q
}

// deadly operations end what the others need. They are sent, but not often.
var deadly = regexp.MustCompile(`^DELETE /(users|groups|projects|personal_access_tokens|user)|(block|ban|deactivate|rotate|transfer|archive|reject|housekeeping)$`)

func (s *storm) ofAPI(r *rand.Rand, w *fixture, q *request) {
	o := s.operations[r.IntN(len(s.operations))]
	for deadly.MatchString(o.String()) && r.IntN(20) > 0 {
		o = s.operations[r.IntN(len(s.operations))]
	}
	q.what, q.method = o.String(), o.method
	var path strings.Builder
	path.WriteString(strings.ReplaceAll(o.base, "{project}", pick(r, w.paths...)))
	before := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(o.path, "/"), "/") {
		path.WriteByte('/')
		for part != "" {
			plain, rest, found := strings.Cut(part, "{")
			path.WriteString(plain)
			if !found {
				break
			}
			name, after, _ := strings.Cut(rest, "}")
			switch r.IntN(8) {
			case 0:
				path.WriteString(escape(r, text(r)))
			case 1:
				path.WriteString(w.any(r))
			default:
				path.WriteString(w.fits(r, name, before))
			}
			part = after
		}
		before = part
		if before == "" {
			before = "projects"
		}
	}
	q.target = path.String()
	if strings.Contains(o.base, "{project}") {
		q.basic(w)
	}
	var query []string
	for _, m := range o.query {
		if r.IntN(3) > 0 {
			continue
		}
		switch v := value(r, w, m.schema, 3).(type) {
		case []any:
			for _, one := range v[:min(len(v), 20)] {
				query = append(query, m.name+"[]="+url.QueryEscape(fmt.Sprint(one)))
			}
		case map[string]any:
			for key, one := range v {
				query = append(query, m.name+"["+url.QueryEscape(key)+"]="+url.QueryEscape(fmt.Sprint(one)))
			}
		default:
			query = append(query, m.name+"="+url.QueryEscape(fmt.Sprint(v)))
		}
	}
	if r.IntN(20) == 0 {
		query = append(query, pick(r, "sudo="+w.any(r), "private_token=x", "id=2&id[]=3&id[a]=4", "&&=&", "%", "a=%zz", "page=-1", "per_page=1000000", strings.Repeat("a=b&", 3000)))
	}
	if len(query) > 0 {
		q.target += "?" + strings.Join(query, "&")
	}
	if len(o.types) > 0 || r.IntN(20) == 0 {
		s.bodyOf(r, w, o, q)
	}
}

// bodyOf writes the members of a body in one of the ways that there are.
func (s *storm) bodyOf(r *rand.Rand, w *fixture, o operation, q *request) {
	members := map[string]any{}
	for _, m := range o.body {
		if r.IntN(2) == 0 {
			members[m.name] = value(r, w, m.schema, 0)
		}
	}
	if o.path == "/application/settings" {
		// One wrong member refuses all: the storm would not get far with settings like these.
		members["default_projects_limit"] = "no number"
	}
	kind := "application/json"
	if len(o.types) > 0 {
		kind = pick(r, o.types...)
	}
	switch kind {
	case "multipart/form-data":
		q.body = []byte("--b\r\nContent-Disposition: form-data; name=\"" + pick(r, "file", "avatar", "x", "") + "\"; filename=\"" + pick(r, "a.zip", "../a", "", "\x00") +
			"\"\r\n\r\n" + pick(r, text(r), strings.Repeat("PK\x03\x04", 1000)) + pick(r, "\r\n--b--\r\n", "\r\n--b", ""))
		q.header = append(q.header, "Content-Type: multipart/form-data; boundary=b")
		return
	case "application/x-www-form-urlencoded":
		form := url.Values{}
		for name, v := range members {
			form.Add(name, fmt.Sprint(v))
		}
		q.body = []byte(form.Encode())
	default:
		q.body, _ = json.Marshal(members)
		switch r.IntN(12) {
		case 0:
			q.body = q.body[:r.IntN(len(q.body)+1)]
		case 1:
			q.body = []byte(pick(r, "null", "[]", "1", `"x"`, "{", `{"a":1,"a":2}`, strings.Repeat(`{"a":`, 5000), "\xff", `{"a":"\ud800"}`, `{"\u0000":"\u0000"}`))
		case 2:
			q.body = append(bytes.TrimSuffix(q.body, []byte("}")), []byte(`,"storm":"`+strings.Repeat("x", 1<<20)+`"}`)...)
		}
	}
	if r.IntN(10) == 0 {
		kind = pick(r, "text/plain", "application/xml", "application/json; charset=utf-16", "x", "", "multipart/form-data", "application/octet-stream", "multipart/form-data; boundary="+strings.Repeat("b", 100))
	}
	q.header = append(q.header, "Content-Type: "+kind)
}

// elsewhere makes a request of git, of large files, of OAuth or of a page.
func (s *storm) elsewhere(r *rand.Rand, w *fixture, q *request) {
	project := pick(r, w.paths...)
	if r.IntN(6) == 0 {
		project = escape(r, text(r)) + "/" + escape(r, text(r))
	}
	form := func(names ...string) {
		values := url.Values{}
		for _, name := range names {
			if r.IntN(4) > 0 {
				values.Add(name, pick(r, text(r), w.any(r), "code", "authorization_code", "password", "refresh_token", "api", "http://127.0.0.1/back"))
			}
		}
		q.body, q.header = []byte(values.Encode()), append(q.header, "Content-Type: application/x-www-form-urlencoded")
	}
	// at fills a template, which names the operation: {project}, {number} and {text} stand for values of any kind.
	at := func(method string, templates ...string) {
		template := pick(r, templates...)
		q.what, q.method = method+" "+template, method
		filled := strings.ReplaceAll(template, "{project}", project)
		for strings.Contains(filled, "{number}") {
			filled = strings.Replace(filled, "{number}", escape(r, pick(r, w.any(r), w.fits(r, "job_id", ""), w.fits(r, "pipeline_id", ""), text(r))), 1)
		}
		for strings.Contains(filled, "{text}") {
			filled = strings.Replace(filled, "{text}", url.PathEscape(text(r)), 1)
		}
		q.target = filled
	}
	switch r.IntN(5) {
	case 0:
		at("GET", "/{project}.git/info/refs?service=git-upload-pack", "/{project}.git/info/refs?service=git-receive-pack", "/{project}.git/info/refs", "/{project}.git/info/refs?service={text}", "/{project}.git/HEAD",
			"/{project}.git/objects/info/packs")
		if r.IntN(2) == 0 {
			service := pick(r, "git-upload-pack", "git-receive-pack", "git-upload-archive")
			at("POST", "/{project}.git/"+service)
			q.header = append(q.header, "Content-Type: application/x-"+service+"-request", "Git-Protocol: "+pick(r, "version=2", "version=1", "version=99", "x"))
			q.body = spoken(r, w)
			if r.IntN(6) == 0 {
				var packed bytes.Buffer
				z := gzip.NewWriter(&packed)
				_, _ = z.Write(q.body)
				_ = z.Close()
				q.body = packed.Bytes()
				q.header = append(q.header, "Content-Encoding: gzip")
			}
		}
		q.basic(w)
	case 1:
		oid := pick(r, strings.Repeat("a", 64), text(r), strings.Repeat("a", 63))
		at(pick(r, "POST", "GET", "PUT"), "/{project}.git/info/lfs/objects/batch", "/{project}.git/info/lfs/locks", "/{project}.git/info/lfs/locks/verify", "/{project}.git/info/lfs/locks/{number}/unlock",
			"/{project}.git/gitlab-lfs/objects/"+strings.Repeat("a", 64), "/{project}.git/gitlab-lfs/objects/{text}", "/{project}.git/gitlab-lfs/objects/"+strings.Repeat("a", 64)+"/{number}", "/{project}.git/info/lfs/{text}",
			"/{project}.git/info/lfs/locks?path={text}&cursor={text}&limit={text}")
		q.body, _ = json.Marshal(map[string]any{
			"operation": pick[any](r, "download", "upload", odd(r, 0)), "objects": pick[any](r, []any{map[string]any{"oid": oid, "size": odd(r, 0)}}, odd(r, 0)), "path": odd(r, 0),
			"transfers": odd(r, 0), "ref": odd(r, 0), "hash_algo": odd(r, 0), "force": odd(r, 0), "cursor": odd(r, 0), "limit": odd(r, 0),
		})
		q.header = append(q.header, "Content-Type: application/vnd.git-lfs+json", "Accept: application/vnd.git-lfs+json")
		q.basic(w)
	case 2:
		at("POST", "/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/token/info", "/oauth/userinfo", "/oauth/discovery/keys", "/.well-known/openid-configuration", "/.well-known/{text}")
		form("grant_type", "code", "redirect_uri", "client_id", "client_secret", "code_verifier", "refresh_token", "token", "token_type_hint", "scope", "username", "password")
		if r.IntN(3) == 0 {
			at("GET", "/oauth/authorize?response_type=code&", "/oauth/authorize?response_type={text}&")
			q.target, q.body = q.target+string(q.body), nil
		}
	case 3:
		at("GET", "/", "/users/sign_in", "/users/sign_up", "/users/password/new", "/users/password/edit?reset_password_token={text}", "/users/confirmation?confirmation_token={text}", "/-/user_settings/two_factor", "/-/api",
			"/-/api/{text}", "/-/liveness", "/-/readiness", "/-/metrics", "/admin", "/admin/users?search={text}&page={number}", "/groups/{text}/-/settings/ci_cd", "/uploads/-/system/user/avatar/{number}/{text}",
			"/uploads/-/system/user/avatar/{number}/a.png", "/uploads/-/system/project/avatar/{number}/{text}", "/uploads/-/system/group/avatar/{number}/a.png", "/robots.txt", "/favicon.ico", "/assets/{text}", "/{text}", "/api",
			"/api/v3/{text}", "/api/v4", "*", "//", "/%2e%2e/%2e%2e/etc/passwd", "/oauth/authorized_applications/{number}")
	default:
		at("GET", "/{project}", "/{project}/-/jobs", "/{project}/-/jobs/{number}", "/{project}/-/jobs/{number}/log?from={text}", "/{project}/-/jobs/{number}/raw", "/{project}/-/jobs/{number}/artifacts/download",
			"/{project}/-/pipelines", "/{project}/-/pipelines?cursor={text}&status={text}", "/{project}/-/pipelines/{number}", "/{project}/-/ci/lint", "/{project}/-/settings/ci_cd", "/{project}/-/{text}")
		if r.IntN(4) == 0 {
			at("POST", "/users/sign_in", "/{project}/-/pipelines", "/{project}/-/ci/lint", "/{project}/-/jobs/{number}/retry", "/{project}/-/jobs/{number}/{text}", "/users/password", "/users", "/oauth/authorize")
			form("content", "run", "ref", "key", "value", "_method", "authenticity_token", "back", "scope", "page", "user[login]", "user[password]")
		}
	}
}

// spoken is what a client of git says, or something like it.
func spoken(r *rand.Rand, w *fixture) []byte {
	zero, sha := strings.Repeat("0", 40), strings.Repeat("1", 40)
	if known := w.known["sha"]; len(known) > 0 {
		sha = known[0]
	}
	line := func(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }
	return []byte(pick(r, "", "0000", "zzzz", "ffff", "0001", line("want "+sha+"\n")+"0000"+line("done\n"), line("command=ls-refs\n")+"0001"+line("peel\n")+"0000",
		line("command=fetch\n")+"0001"+line("want "+sha+"\n")+line("done\n")+"0000", line("command="+text(r)+"\n")+"0000", line(zero+" "+sha+" refs/heads/storm\x00report-status")+"0000PACK",
		line(zero+" "+sha+" refs/heads/storm\x00report-status")+"0000", line(sha+" "+zero+" refs/heads/"+text(r)+"\x00report-status")+"0000", strings.Repeat(line("want "+sha+"\n"), 500)+"0000",
		line("want "+sha+" filter\n")+line("filter "+text(r)+"\n")+line("deepen "+text(r)+"\n")+"0000"+line("done\n")))
}

// basic shows the speaker's token as git does.
func (q *request) basic(w *fixture) {
	if token := w.tokens[q.speaker]; token != "" {
		q.header = append(q.header, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("x:"+token)))
	}
}

// strange adds headers.
func (s *storm) strange(r *rand.Rand, w *fixture, q *request) {
	if r.IntN(4) > 0 {
		return
	}
	q.header = append(q.header, pick(r,
		"Range: bytes="+pick(r, "0-0", "-1", "5-2", "0-,1-,2-", "99999999999999999999-", "x", strings.Repeat("0-1,", 2000)), "If-None-Match: "+pick(r, "*", `"x"`, "W/", `W/"`), "If-Modified-Since: x",
		"If-Unmodified-Since: Mon, 01 Jan 1970 00:00:00 GMT", "Content-Range: "+pick(r, "0-10", "bytes 0-10/20", "5-1", "x-y", "99999999999999999999-1"), "Accept: "+pick(r, "text/html", "*/*;q=x", "application/xml"),
		"Accept-Language: "+pick(r, "*", strings.Repeat("a,", 3000)), "Accept-Encoding: "+pick(r, "gzip", "x", "gzip;q=x"), "Content-Encoding: "+pick(r, "gzip", "x", "gzip, gzip"), "Sudo: "+pick(r, w.any(r), "x"),
		"X-Forwarded-For: "+pick(r, "1.2.3.4", "x", strings.Repeat("1.1.1.1,", 500)), "X-Request-Id: "+strings.Repeat("a", 3000), "Authorization: "+pick(r, "Bearer", "Bearer x", "Basic", "Basic %%%", "Basic eDp5", "X y"),
		"JOB-TOKEN: x", "PRIVATE-TOKEN: "+strings.Repeat("x", 5000), "Cookie: "+pick(r, "_svc_session=x", strings.Repeat("a=b; ", 1000), "\xff=\xff"), "Host: "+pick(r, "x", "a b", "127.0.0.1:99999", ""),
		"X-HTTP-Method-Override: DELETE", "Upgrade: websocket", "Expect: "+pick(r, "100-continue", "x"), "Transfer-Encoding: "+pick(r, "chunked", "x", "gzip, chunked"), "X: "+strings.Repeat("y", 20000),
	))
}

// says reports whether the request has a header of that name.
func (q *request) says(name string) bool {
	return slices.ContainsFunc(q.header, func(h string) bool { return strings.HasPrefix(h, name+":") })
}

// bytes are what goes over the wire.
func (q *request) bytes(w *fixture) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", q.method, q.target)
	if !q.says("Host") {
		b.WriteString("Host: storm\r\n")
	}
	if token := w.tokens[q.speaker]; token != "" && !q.says("Authorization") && !q.says("PRIVATE-TOKEN") {
		b.WriteString("PRIVATE-TOKEN: " + token + "\r\n")
	}
	for _, h := range q.header {
		b.WriteString(h + "\r\n")
	}
	if len(q.body) > 0 || (q.method != "GET" && q.method != "HEAD") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(q.body))
	}
	b.WriteString("Connection: close\r\n\r\n")
	b.Write(q.body)
	return b.Bytes()
}

// answer is what came of a request.
type answer struct {
	status int // 0 when there is none
	took   time.Duration
	text   string // its beginning
	err    error
}

const (
	longest    = 2 * time.Minute // until a client gives up
	longestAsk = time.Second     // the same, where an answer may take long
)

// send sends a request and waits for its answer, or goes away before.
func (s *storm) send(w *fixture, q *request) answer {
	began := time.Now()
	conn, err := net.DialTimeout("tcp", s.address, longest)
	if err != nil {
		return answer{err: err, took: time.Since(began)}
	}
	defer conn.Close()
	patience := longest
	if q.waits() {
		patience = longestAsk
	}
	_ = conn.SetDeadline(began.Add(patience))
	wire := q.bytes(w)
	if q.hangUp == inBody {
		wire = wire[:len(wire)-len(q.body)/2]
	}
	_, writing := conn.Write(wire) // what is too large is answered before all of it is sent
	if q.hangUp == inBody || q.hangUp == beforeAnswer {
		return answer{took: time.Since(began)}
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: q.method})
	if err != nil {
		return answer{err: errors.Join(err, writing), took: time.Since(began)}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode}
	if q.hangUp != inAnswer {
		beginning, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		a.text = string(beginning)
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 8<<20))
	}
	a.took = time.Since(began)
	return a
}

// curl is a line that sends the request again. A long body goes to a file beside the report.
func (q *request) curl(dir string, n int) string {
	quoted := func(s string) string { return "$'" + shellEscape(s) + "'" }
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS -i -g --path-as-is -X %s", quoted(q.method))
	if q.speaker != "nobody" {
		fmt.Fprintf(&b, ` -H "PRIVATE-TOKEN: $%s"`, strings.ToUpper(q.speaker))
	}
	for _, h := range q.header {
		if !strings.HasPrefix(h, "Authorization: Basic") {
			b.WriteString(" -H " + quoted(h))
		}
	}
	if len(q.body) > 1000 {
		name := filepath.Join(dir, fmt.Sprintf("storm-%d.body", n))
		if err := os.WriteFile(name, q.body, 0o600); err == nil {
			b.WriteString(" --data-binary @" + name)
		}
	} else if len(q.body) > 0 {
		b.WriteString(" --data-binary " + quoted(string(q.body)))
	}
	b.WriteString(" " + quoted("$URL"+q.target))
	return strings.Replace(b.String(), "$'$URL", "$URL$'", 1)
}

func shellEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
