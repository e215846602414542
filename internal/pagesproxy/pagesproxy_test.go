package pagesproxy_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/pages"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

func TestASiteIsServedByItsHostAndPath(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.publish(t, w.project, "", files{
		"index.html": "home", "about.html": "about", "docs/index.html": "docs", "docs/a b.txt": "blank", "style.css": "css", "data.unknown": "?", "404.html": "own 404",
	})
	for path, want := range map[string]string{
		"/forge/": "home", "/Forge/index.html": "home", "/forge/about": "about", "/forge/about.html": "about", "/forge/docs/": "docs", "/forge/docs/a%20b.txt": "blank",
	} {
		w.want(t, "house.pages.test"+path, http.StatusOK, want)
	}
	w.want(t, "HOUSE.pages.test:8443/forge/", http.StatusOK, "home")
	for path, to := range map[string]string{"/forge": "/forge/", "/forge/docs?a=1": "/forge/docs/?a=1"} {
		if got := w.want(t, "house.pages.test"+path, http.StatusFound, ""); got.Header().Get("Location") != to {
			t.Errorf("%s leads to %s", path, got.Header().Get("Location"))
		}
	}
	if got := w.want(t, "house.pages.test/forge/none", http.StatusNotFound, "own 404"); got.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Error(got.Header())
	}
	for _, address := range []string{"house.pages.test/", "house.pages.test/other/", "none.pages.test/forge/", "pages.test/forge/", "forge.example/", "pages.test/"} {
		w.want(t, address, http.StatusNotFound, "There is no page here, or you may not see it.\n")
	}
	for name, want := range map[string]string{"style.css": "text/css; charset=utf-8", "data.unknown": "application/octet-stream"} {
		if got := w.get(t, "house.pages.test/forge/"+name); got.Header().Get("Content-Type") != want || got.Header().Get("Cache-Control") != "max-age=600" || len(got.Result().Cookies()) > 0 {
			t.Errorf("%s: %v", name, got.Header())
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"} {
		if got := w.ask(t, method, "house.pages.test/forge/"); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
	w.publish(t, w.project, "", files{"index.html": "second"})
	w.want(t, "house.pages.test/forge/", http.StatusOK, "second")
	w.want(t, "house.pages.test/forge/about", http.StatusNotFound, "")
}

func TestSitesOfSubgroupsOfGroupsAndBelowPrefixes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	below := grouptest.New(t, w.DB, grouptest.Named("tools"), grouptest.Under(w.house), grouptest.Visible(access.Public))
	deep := w.newProject(t, below, "deep", access.Public, project.Everyone)
	own := w.newProject(t, w.house, "house.pages.test", access.Public, project.Everyone)
	w.publish(t, deep, "", files{"index.html": "deep"})
	w.publish(t, own, "", files{"index.html": "own", "tools/index.html": "of own"})
	w.publish(t, w.project, "", files{"index.html": "main", "preview/x.html": "hidden by the prefix"})
	w.publish(t, w.project, "preview", files{"index.html": "preview", "x.html": "x"})
	for path, want := range map[string]string{
		"/tools/deep/": "deep", "/": "own", "/tools/": "of own", "/forge/": "main", "/forge/preview/": "preview", "/forge/preview/x": "x", "/forge/preview/x.html": "x",
	} {
		w.want(t, "house.pages.test"+path, http.StatusOK, want)
	}
	if got := w.want(t, "house.pages.test/forge/preview", http.StatusFound, ""); got.Header().Get("Location") != "/forge/preview/" {
		t.Error(got.Header())
	}
	w.Turn(24 * time.Hour)
	w.want(t, "house.pages.test/forge/preview/x", http.StatusOK, "hidden by the prefix")
}

func TestAReaderAsksForWhatChangedForPartsAndForPackedFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	long := strings.Repeat("0123456789", 10_000)
	w.publish(t, w.project, "", files{
		"long.txt": long, "stored.bin": long, "image.png": long, "app.js": "plain", "app.js.br": "brotli", "app.js.gz": "gzipped", "empty.txt": "",
	})
	at := func(name string) string { return "house.pages.test/forge/" + name }
	plain := w.get(t, at("long.txt"))
	tag := plain.Header().Get("Etag")
	if plain.Body.String() != long || plain.Header().Get("Content-Length") != "100000" || len(tag) != 34 || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v", plain.Header())
	}
	packed := w.get(t, at("long.txt"), "Accept-Encoding", "br, gzip")
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > 10_000 || packed.Header().Get("Content-Length") != fmt.Sprint(packed.Body.Len()) {
		t.Errorf("%d bytes, %v", packed.Body.Len(), packed.Header())
	}
	packedTag := packed.Header().Get("Etag")
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || string(text) != long || packedTag == tag {
		t.Errorf("%d bytes, %v, %s", len(text), err, packedTag)
	}
	for _, headers := range [][]string{
		{"If-None-Match", tag}, {"If-None-Match", `"a", ` + tag}, {"If-None-Match", "*"}, {"If-None-Match", packedTag, "Accept-Encoding", "gzip"},
		{"If-None-Match", "W/" + packedTag, "Accept-Encoding", "gzip"},
	} {
		if got := w.get(t, at("long.txt"), headers...); got.Code != http.StatusNotModified || got.Body.Len() > 0 {
			t.Errorf("%v: %d", headers, got.Code)
		}
	}
	for _, name := range []string{"long.txt", "stored.bin"} {
		for span, want := range map[string]string{"bytes=5-14": "5678901234", "bytes=-3": "789", "bytes=99995-": "56789"} {
			got := w.get(t, at(name), "Range", span, "Accept-Encoding", "gzip")
			if got.Code != http.StatusPartialContent || got.Body.String() != want {
				t.Errorf("%s of %s: %d %q", span, name, got.Code, got.Body)
			}
		}
		if got := w.get(t, at(name), "Range", "bytes=200000-"); got.Code != http.StatusRequestedRangeNotSatisfiable {
			t.Error(got.Code)
		}
		if got := w.get(t, at(name), "Range", "bytes=0-1,5-6,9-10"); got.Code != http.StatusOK || got.Body.String() != long {
			t.Error(got.Code)
		}
		if got := w.get(t, at(name), "Range", "bytes=0-1", "If-Range", `"old"`); got.Code != http.StatusOK || got.Body.String() != long {
			t.Error(got.Code)
		}
	}
	for accepted, want := range map[string]string{"br;q=1.0, gzip": "brotli", "gzip, br;q=0": "gzipped", "identity": "plain", "": "plain"} {
		got := w.get(t, at("app.js"), "Accept-Encoding", accepted)
		if got.Body.String() != want || got.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || (got.Header().Get("Content-Encoding") == "") != (want == "plain") {
			t.Errorf("%q: %q %v", accepted, got.Body, got.Header())
		}
	}
	if got := w.get(t, at("image.png"), "Accept-Encoding", "gzip"); got.Header().Get("Content-Encoding") != "" || got.Body.String() != long {
		t.Error(got.Header())
	}
	if got := w.ask(t, "HEAD", at("long.txt"), "Accept-Encoding", "gzip"); got.Code != http.StatusOK || got.Body.Len() > 0 || got.Header().Get("Etag") != packedTag {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	if got := w.get(t, at("empty.txt")); got.Code != http.StatusOK || got.Body.Len() > 0 {
		t.Error(got.Code)
	}
}

func TestRedirectsStayOnTheHostOfTheSite(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.publish(t, w.project, "", files{"index.html": "home", "app.html": "app", "real.html": "real", "_redirects": `
# comments and nonsense are passed over
/forge/old /forge/new
/forge/temporary /forge/new 302
/forge/posts/:year/:name /forge/archive/:name/:year 301
/forge/splat/* /forge/to/:splat
/forge/app/* /forge/app.html 200
/forge/escape/* /other/secret.html 200
/forge/real /forge/shadow
/forge/loop /forge/loop
/forge/evil1 https://evil.example/
/forge/evil2 //evil.example/
/forge/evil3 /\evil.example/
/forge/evil4 /forge/x 500
/forge/evil5/* /:splat
/forge/../up /forge/x
/forge/a*b /forge/x
one
`})
	for path, to := range map[string]string{
		"/forge/old": "301 /forge/new", "/forge/temporary": "302 /forge/new", "/forge/posts/2024/spring": "301 /forge/archive/spring/2024",
		"/forge/splat/a/b%20c": "301 /forge/to/a/b%20c", "/forge/evil5/evil.example": "301 /evil.example",
	} {
		if got := w.get(t, "house.pages.test"+path); fmt.Sprint(got.Code, " ", got.Header().Get("Location")) != to {
			t.Errorf("%s: %d %s", path, got.Code, got.Header().Get("Location"))
		}
	}
	w.want(t, "house.pages.test/forge/app/any/where", http.StatusOK, "app")
	w.want(t, "house.pages.test/forge/real", http.StatusOK, "real")
	for _, path := range []string{
		"/forge/escape/x", "/forge/loop", "/forge/evil1", "/forge/evil2", "/forge/evil3", "/forge/evil4", "/forge/evil5//evil.example", "/forge/axb", "/forge/posts/2024",
		"/forge/evil5/%5Cevil.example", "/forge/evil5/%2Fevil.example",
	} {
		if got := w.get(t, "house.pages.test"+path); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.Code, got.Header().Get("Location"))
		}
	}
}

func TestPG03_AUniqueDomainIsNotTakenOverByAGroupOfItsName(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := access.Actor{Person: w.owner.Person(), Account: w.owner}
	on := true
	set, err := w.Pages.Set(t.Context(), by, w.project, pages.SettingsChange{UniqueDomainEnabled: &on})
	if err != nil {
		t.Fatal(err)
	}
	w.publish(t, w.project, "", files{"index.html": "unique", "a.html": "a"})
	host := *set.UniqueDomain + ".pages.test"
	w.want(t, host+"/", http.StatusOK, "unique")
	w.want(t, strings.ToUpper(host)+"/a", http.StatusOK, "a")
	// Scripts of other sites of the group are kept from it.
	if got := w.want(t, "house.pages.test/forge/a?x=1", http.StatusFound, ""); got.Header().Get("Location") != "https://"+host+"/a?x=1" {
		t.Error(got.Header())
	}
	thief := grouptest.New(t, w.DB, grouptest.Named(*set.UniqueDomain), grouptest.Visible(access.Public))
	stolen := w.newProject(t, thief, host, access.Public, project.Everyone)
	w.publish(t, stolen, "", files{"index.html": "stolen"})
	w.want(t, host+"/", http.StatusOK, "unique")
	w.want(t, host+"/"+host+"/", http.StatusNotFound, "")
	off := false
	if _, err := w.Pages.Set(t.Context(), by, w.project, pages.SettingsChange{UniqueDomainEnabled: &off}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want(t, "house.pages.test/forge/a", http.StatusOK, "a")
}

func TestPG02_ACustomDomainIsServedForTheProjectThatProvedIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.newProject(t, w.house, "other", access.Public, project.Everyone)
	w.publish(t, w.project, "", files{"index.html": "mine"})
	w.publish(t, other, "", files{"index.html": "theirs"})
	by := access.Actor{Person: w.owner.Person(), Account: w.owner}
	const host = "www.example.org"
	if _, err := w.Pages.Create(t.Context(), by, w.project, pages.Draft{Domain: host}); err != nil {
		t.Fatal(err)
	}
	w.want(t, host+"/", http.StatusNotFound, "")
	prove := func() {
		w.exec(t, `update pages_domains set verified_at = $1, proven = true, enabled_until = $2`, w.Now(), w.Now().Add(24*time.Hour))
		w.settle()
	}
	prove()
	w.want(t, host+"/", http.StatusOK, "mine")
	w.want(t, "WWW.example.org:80/", http.StatusOK, "mine")
	for _, draft := range []string{host, "WWW.EXAMPLE.org"} {
		if _, err := w.Pages.Create(t.Context(), by, other, pages.Draft{Domain: draft}); err == nil {
			t.Error("a domain is claimed by two projects")
		}
	}
	w.Turn(24 * time.Hour)
	w.want(t, host+"/", http.StatusNotFound, "")
	prove()
	w.want(t, host+"/", http.StatusOK, "mine")
	if err := w.Pages.Delete(t.Context(), by, w.project, host); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want(t, host+"/", http.StatusNotFound, "")
	if _, err := w.Pages.Create(t.Context(), by, other, pages.Draft{Domain: host}); err == nil {
		t.Error("a domain that was given up is taken over at once")
	}
	w.Turn(8 * 24 * time.Hour)
	if _, err := w.Pages.Create(t.Context(), by, other, pages.Draft{Domain: host}); err != nil {
		t.Fatal(err)
	}
	w.want(t, host+"/", http.StatusNotFound, "") // nothing is served before it is proven anew
	prove()
	w.want(t, host+"/", http.StatusOK, "theirs")
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.Bus.Publish(t.Context(), tx, project.Removing{ProjectID: other.ID}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from projects where id = $1`, other.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want(t, host+"/", http.StatusNotFound, "")
	w.want(t, "house.pages.test/other/", http.StatusNotFound, "")
}

func TestPG06_HostsAndPathsThatMeanTwoThingsAreNotServed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.publish(t, w.project, "", files{"index.html": "home", ".well-known/acme-challenge/token": "mine", "a/b.html": "b"})
	for _, host := range []string{
		"", "house.pages.test.", ".house.pages.test", "house..pages.test", "house.pages.test@evil.example", "evil.example#house.pages.test", "house.pages.test:80:80",
		"house.pages.test:x", "[::1]", "house.pages.test\x00", "house.pages.test evil", "house%2epages.test", "hoüse.pages.test", strings.Repeat("a.", 200) + "pages.test", "xpages.test", "house.pages.test.evil.example",
	} {
		if got := w.get(t, host+"/forge/"); got.Code != http.StatusNotFound {
			t.Errorf("%q: %d %s", host, got.Code, got.Body)
		}
	}
	for _, header := range []string{"X-Forwarded-Host", "Forwarded", "X-Original-Host", "X-Host"} {
		if got := w.get(t, "none.pages.test/forge/", header, "house.pages.test"); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", header, got.Code)
		}
	}
	for _, path := range []string{
		"/forge/../forge/", "/forge/%2e%2e/forge/", "/forge/./", "/forge//", "//forge/", "//evil.example/", "/forge/..%2f..%2fetc/passwd", "/forge/a/..", `/forge/..\index.html`,
		"/forge/%5c..%5cindex.html", "/forge/index.html%00", "/forge/%00", "/forge/%ff", "/forge/" + strings.Repeat("a/", 3000), "/forge/.well-known/acme-challenge/../../index.html",
	} {
		if got := w.get(t, "house.pages.test"+path); got.Code != http.StatusNotFound {
			t.Errorf("%.60q: %d %s", path, got.Code, got.Header().Get("Location"))
		}
	}
}

// PG-04: what a site calls a challenge is none.
func TestPG04_FilesOfASiteAnswerNoChallenge(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	own := w.newProject(t, w.house, "house.pages.test", access.Public, project.Everyone)
	w.publish(t, own, "", files{"index.html": "x", ".well-known/acme-challenge/token": "mine", ".well-known/security.txt": "yours"})
	w.want(t, "house.pages.test/.well-known/acme-challenge/token", http.StatusNotFound, "")
	w.want(t, "house.pages.test/.well-known/security.txt", http.StatusOK, "yours")
}

func TestWhoMaySeeASiteIsWhatTheProjectSays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := 0
	for _, visible := range []access.Visibility{access.Private, access.Internal, access.Public} {
		for level, public := range map[project.Level]map[access.Visibility]bool{
			project.Off: {}, project.Members: {}, project.Everyone: {access.Public: true},
			project.Strangers: {access.Private: true, access.Internal: true, access.Public: true},
		} {
			n++
			p := w.newProject(t, w.house, fmt.Sprintf("p%d", n), visible, level)
			w.level(t, p, project.Everyone) // nothing is published where it is off
			w.publish(t, p, "", files{"index.html": "x"})
			w.level(t, p, level)
			w.settle()
			want := http.StatusFound // to the sign-in
			switch {
			case level == project.Off:
				want = http.StatusNotFound
			case public[visible]:
				want = http.StatusOK
			}
			if got := w.get(t, fmt.Sprintf("house.pages.test/p%d/", n)); got.Code != want {
				t.Errorf("%v %s: %d", visible, level, got.Code)
			}
		}
	}
}

func TestPG08_APrivateSiteAsksWhoReadsItAndBelievesOneHost(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := w.newProject(t, w.house, "hidden", access.Private, project.Members)
	w.publish(t, hidden, "", files{"index.html": "hidden", "a.html": "a", "404.html": "hidden 404"})
	reader := usertest.New(t, w.DB, usertest.Named("reader"))
	projecttest.Join(t, w.DB, hidden, reader, access.Guest)

	start := w.get(t, "house.pages.test/hidden/a?q=1")
	ask := location(t, start)
	if start.Code != http.StatusFound || ask.Host != "forge.example" || ask.Path != "/oauth/authorize" || start.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", start.Code, ask)
	}
	begun := start.Result().Cookies()[0]
	if !begun.HttpOnly || !begun.Secure || begun.Domain != "" || begun.SameSite != http.SameSiteLaxMode || begun.Path != "/-/auth" {
		t.Errorf("%+v", begun)
	}
	answer := location(t, w.forge(t, ask.String(), w.session(t, reader)))
	if answer.Host != "pages.test" || answer.Path != "/-/auth" || answer.Query().Get("code") == "" {
		t.Fatal(answer)
	}
	back := location(t, w.get(t, bare(answer)))
	if back.Host != "house.pages.test" || back.Path != "/-/auth" {
		t.Fatal(back)
	}
	// PG-08: only the browser that set out, and only at the host where it did.
	if got := w.get(t, bare(back)); got.Code != http.StatusBadRequest || len(got.Result().Cookies()) > 0 {
		t.Errorf("another browser: %d", got.Code)
	}
	if got := w.get(t, "other.pages.test"+back.RequestURI(), "Cookie", cookies(start)); got.Code != http.StatusBadRequest {
		t.Errorf("another host: %d", got.Code)
	}
	in := w.get(t, bare(back), "Cookie", cookies(start))
	if in.Code != http.StatusFound || in.Header().Get("Location") != "/hidden/a?q=1" {
		t.Fatalf("%d %s %s", in.Code, in.Header().Get("Location"), in.Body)
	}
	session := in.Result().Cookies()[0]
	if !session.HttpOnly || !session.Secure || session.Domain != "" || session.Path != "/hidden/" || session.MaxAge != 3600 {
		t.Errorf("%+v", session)
	}
	if got := w.get(t, bare(back), "Cookie", cookies(start)); got.Code != http.StatusBadRequest {
		t.Errorf("a code is used twice: %d", got.Code)
	}
	page := w.get(t, "house.pages.test/hidden/a", "Cookie", "pages_session=tossed; "+cookies(in))
	if page.Code != http.StatusOK || page.Body.String() != "a" || page.Header().Get("Cache-Control") != "private, no-cache" || !strings.Contains(strings.Join(page.Header().Values("Vary"), ","), "Cookie") {
		t.Errorf("%d %s %v", page.Code, page.Body, page.Header())
	}
	if n := w.tokens(t); n != 0 {
		t.Errorf("%d tokens of the door are good", n)
	}

	// PG-08: what was given for one site opens no other, nor the same at another host.
	another := w.newProject(t, w.house, "another", access.Private, project.Members)
	projecttest.Join(t, w.DB, another, reader, access.Guest)
	w.publish(t, another, "", files{"index.html": "another"})
	if got := w.get(t, "house.pages.test/another/", "Cookie", cookies(in)); got.Code != http.StatusFound {
		t.Errorf("another site: %d %s", got.Code, got.Body)
	}
	by := access.Actor{Person: w.owner.Person(), Account: w.owner}
	if _, err := w.Pages.Create(t.Context(), by, hidden, pages.Draft{Domain: "www.example.org"}); err != nil {
		t.Fatal(err)
	}
	w.exec(t, `update pages_domains set verified_at = $1, proven = true, enabled_until = $2`, w.Now(), w.Now().Add(24*time.Hour))
	w.settle()
	if got := w.get(t, "www.example.org/", "Cookie", cookies(in)); got.Code != http.StatusFound {
		t.Errorf("another host: %d %s", got.Code, got.Body)
	}

	// Rights are asked again.
	w.exec(t, `delete from members where user_id = $1`, reader.ID)
	w.Turn(20 * time.Second)
	if got := w.get(t, "house.pages.test/hidden/a", "Cookie", cookies(in)); got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "hidden") {
		t.Errorf("who left reads on: %d %s", got.Code, got.Body)
	}
	projecttest.Join(t, w.DB, hidden, reader, access.Guest)
	w.Turn(20 * time.Second)
	if got := w.get(t, "house.pages.test/hidden/a", "Cookie", cookies(in)); got.Code != http.StatusOK {
		t.Errorf("%d", got.Code)
	}
	w.exec(t, `update users set state = 'blocked' where id = $1`, reader.ID)
	w.Turn(20 * time.Second)
	if got := w.get(t, "house.pages.test/hidden/a", "Cookie", cookies(in)); got.Code != http.StatusNotFound {
		t.Errorf("who is blocked reads on: %d", got.Code)
	}
	w.exec(t, `update users set state = 'active' where id = $1`, reader.ID)
	w.Turn(time.Hour)
	if got := w.get(t, "house.pages.test/hidden/a", "Cookie", cookies(in)); got.Code != http.StatusFound {
		t.Errorf("a session has no end: %d", got.Code)
	}
}

func (w *fixture) tokens(t testing.TB) (n int) {
	t.Helper()
	if err := w.DB.QueryRow(t.Context(), `select count(*) from oauth_tokens where revoked_at is null`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWhoMayNotSeeAPrivateSiteIsToldNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := w.newProject(t, w.house, "hidden", access.Private, project.Members)
	w.publish(t, hidden, "", files{"index.html": "hidden", "404.html": "hidden 404"})
	stranger := usertest.New(t, w.DB, usertest.Named("stranger"))
	start := w.get(t, "house.pages.test/hidden/")
	answer := location(t, w.forge(t, location(t, start).String(), w.session(t, stranger)))
	in := w.get(t, bare(location(t, w.get(t, bare(answer)))), "Cookie", cookies(start))
	for _, path := range []string{"/hidden/", "/hidden/none"} {
		if got := w.get(t, "house.pages.test"+path, "Cookie", cookies(in)); got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "hidden") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	// A crafted return goes nowhere.
	for _, query := range []string{"", "?state=x&code=y", "?state=" + strings.Repeat("a", 9000), "?code=y&domain=https://evil.example"} {
		if got := w.get(t, "pages.test/-/auth"+query); got.Code != http.StatusNotFound {
			t.Errorf("%.40s: %d %s", query, got.Code, got.Header().Get("Location"))
		}
	}
	late := location(t, start)
	w.Turn(11 * time.Minute)
	if got := w.get(t, "pages.test/-/auth?code=x&state="+late.Query().Get("state")); got.Code != http.StatusNotFound {
		t.Errorf("%d", got.Code)
	}
}

// PG-09: a cookie of the forge means nothing to a site, and a site has none for the forge.
func TestPG09_CookiesOfTheForgeOpenNoSite(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := w.newProject(t, w.house, "hidden", access.Private, project.Members)
	w.publish(t, hidden, "", files{"index.html": "hidden"})
	w.publish(t, w.project, "", files{"index.html": "public"})
	cookie := w.session(t, w.owner)
	got := w.get(t, "house.pages.test/hidden/", "Cookie", cookie)
	if got.Code != http.StatusFound || strings.Contains(got.Body.String(), "hidden") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, c := range got.Result().Cookies() {
		if c.Domain != "" || c.Name == strings.SplitN(cookie, "=", 2)[0] {
			t.Errorf("%+v", c)
		}
	}
	if got := w.get(t, "house.pages.test/forge/", "Cookie", cookie); got.Code != http.StatusOK || len(got.Result().Cookies()) > 0 || strings.Contains(fmt.Sprint(got.Header()), cookie) {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

func TestASiteOverHTTPSAloneSendsReadersThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_TRUSTED_PROXIES=203.0.113.0/24")
	by := access.Actor{Person: w.owner.Person(), Account: w.owner}
	on := true
	if _, err := w.Pages.Set(t.Context(), by, w.project, pages.SettingsChange{HTTPSOnly: &on}); err != nil {
		t.Fatal(err)
	}
	w.publish(t, w.project, "", files{"index.html": "x"})
	if got := w.get(t, "house.pages.test/forge/?a=1", "X-Forwarded-Proto", "http"); got.Code != http.StatusMovedPermanently || got.Header().Get("Location") != "https://house.pages.test/forge/?a=1" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	if got := w.get(t, "house.pages.test/forge/", "X-Forwarded-Proto", "https"); got.Code != http.StatusOK {
		t.Error(got.Code)
	}
}

// slow takes nothing of an answer until it is let.
type slow struct {
	*httptest.ResponseRecorder
	begun, let chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.let
	return s.ResponseRecorder.Write(p)
}

// DO-08: those who read one site slowly keep nobody from another.
func TestDO08_SlowReadersOfOneSiteLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.newProject(t, w.house, "other", access.Public, project.Everyone)
	w.publish(t, w.project, "", files{"index.html": "slow"})
	w.publish(t, other, "", files{"index.html": "other"})
	begun, let, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	request := func(ctx context.Context, path string) *http.Request {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://house.pages.test"+path, http.NoBody)
		r.RemoteAddr = "203.0.113.9:1234"
		return r
	}
	for range 32 {
		go func() {
			w.door.ServeHTTP(&slow{httptest.NewRecorder(), begun, let}, request(t.Context(), "/forge/"))
			done <- struct{}{}
		}()
	}
	for range 32 {
		<-begun
	}
	w.want(t, "house.pages.test/other/", http.StatusOK, "other")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := httptest.NewRecorder()
	w.door.ServeHTTP(rec, request(ctx, "/forge/"))
	if rec.Code == http.StatusOK && rec.Body.Len() > 0 {
		t.Error("a site has more readers at once than it may")
	}
	close(let)
	for range 32 {
		<-done
	}
	w.want(t, "house.pages.test/forge/", http.StatusOK, "slow")
}
