package githttp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
)

func TestGI15_OnlyTheSmartRoutesExist(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]target{
		"/a/b.git/info/refs":       {"a/b", "info/refs", true},
		"/a/b/c/d.git/info/refs":   {"a/b/c/d", "info/refs", true},
		"/a/b/info/refs":           {path: "a/b", rest: "info/refs"},
		"/a/b.git/git-upload-pack": {"a/b", "git-upload-pack", true},
		"/a/b.git/objects/info/x":  {"a/b", "objects/info/x", true},
	} {
		if got, ok := parse(path); !ok || got != want {
			t.Errorf("%s: got %+v %t", path, got, ok)
		}
	}
	for _, path := range []string{"/", "/a", "/a/b", "/info/refs", "/a/info/refs", "/.git/config", "/a%2fb.git/info/refs", "/a//b.git/x", `/a\b.git/x`, "/a.git/"} {
		if got, ok := parse(path); ok {
			t.Errorf("%s was read as %+v", path, got)
		}
	}
}

// The service that is run is the one that was asked about.
func TestGI05_ServicePathAndMethodMustAgree(t *testing.T) {
	t.Parallel()
	const up, down = gitstore.UploadPack, gitstore.ReceivePack
	for _, c := range []struct {
		method, url string
		want        gitstore.Service
		advertise   bool
		kind        fault.Kind
	}{
		{"GET", "/a/b.git/info/refs?service=git-upload-pack", up, true, 0},
		{"GET", "/a/b.git/info/refs?service=git-receive-pack", down, true, 0},
		{"POST", "/a/b.git/git-upload-pack", up, false, 0},
		{"POST", "/a/b.git/git-receive-pack", down, false, 0},
		{"HEAD", "/a/b.git/info/refs?service=git-upload-pack", "", false, fault.Forbidden},
		{"POST", "/a/b.git/info/refs?service=git-upload-pack", "", false, fault.Forbidden},
		{"GET", "/a/b.git/info/refs", "", false, fault.NotFound},
		{"GET", "/a/b.git/info/refs?service=git-upload-pack&service=git-receive-pack", "", false, fault.Forbidden},
		{"GET", "/a/b.git/info/refs?service=upload-pack", "", false, fault.Forbidden},
		{"POST", "/a/b.git/git-receive-pack?service=git-upload-pack", "", false, fault.Forbidden},
		{"GET", "/a/b.git/git-upload-pack", "", false, fault.NotFound},
		{"PUT", "/a/b.git/git-receive-pack", "", false, fault.NotFound},
		{"GET", "/a/b.git/HEAD", "", false, fault.NotFound},
		{"GET", "/a/b.git/objects/pack/x", "", false, fault.NotFound},
		{"POST", "/a/b.git/git-upload-archive", "", false, fault.NotFound},
	} {
		r := httptest.NewRequest(c.method, c.url, http.NoBody)
		where, ok := parse(r.URL.EscapedPath())
		if !ok {
			t.Fatalf("%s is not ours", c.url)
		}
		got, advertise, err := where.service(r)
		if got != c.want || advertise != c.advertise || (err == nil) != (c.kind == 0) || (err != nil && !fault.Is(err, c.kind)) {
			t.Errorf("%s %s: got %q %t %v", c.method, c.url, got, advertise, err)
		}
	}
}

// An address that guesses is kept out for a while; one that proves itself
// begins anew, and the own machine is never kept out.
func TestAnAddressThatGuessesIsKeptOut(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)
	b := newBans(Ban{Failures: 3, Within: time.Minute, For: time.Hour}, func() time.Time { return now })
	guesser, other, own := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("127.0.0.1")
	fail := func(a netip.Addr, times int) {
		for range times {
			b.failed(a)
		}
	}
	fail(guesser, 2)
	b.forgive(guesser)
	fail(guesser, 2)
	now = now.Add(2 * time.Minute)
	fail(guesser, 2)
	if b.banned(guesser) {
		t.Error("failures that are forgiven or old count")
	}
	fail(guesser, 1)
	fail(own, 100)
	if !b.banned(guesser) || b.banned(other) || b.banned(own) {
		t.Error("the wrong ones are kept out")
	}
	now = now.Add(time.Hour)
	if b.banned(guesser) {
		t.Error("a ban does not end")
	}
	for n := range 3 {
		fail(netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n+1)), 1)
	}
	if !b.banned(netip.MustParseAddr("2001:db8::ffff")) || b.banned(netip.MustParseAddr("2001:db8:0:1::1")) {
		t.Error("whoever has a network guesses from each of its addresses")
	}
	off := newBans(Ban{}, func() time.Time { return now })
	for range 100 {
		off.failed(guesser)
	}
	if off.banned(guesser) {
		t.Error("somebody is kept out who should not be")
	}
	for i := range maxWatched + 10 {
		b.failed(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if len(b.watched) > maxWatched {
		t.Errorf("%d addresses are remembered", len(b.watched))
	}
}
