package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stithy/internal/kit/access"
	"stithy/internal/platform/ratelimit"
)

func TestTheFirstCredentialDecides(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil }
	d := open(t,
		Do(Spec{Route: "GET /things", Needs: access.Anyone}, handle),
		Do(Spec{Route: "POST /things", Needs: access.Anyone}, handle),
		Do(Spec{Route: "GET /job", Needs: access.Anyone, JobToken: true}, handle),
		Do(Spec{Route: "POST /personal_access_tokens/{id}/rotate", Needs: access.Anyone}, handle))
	var (
		personal = []access.Kind{access.PersonalToken}
		oauth    = []access.Kind{access.OAuthToken}
		job      = []access.Kind{access.JobToken}
		session  = []access.Kind{access.Session}
	)
	const short, long = "svcpat-0123456789abcdefghij", "0123456789012345678901234567890123456789012345678901234567890123"
	bearer := func(secret string) option { return header("Authorization", "Bearer "+secret) }
	for _, c := range []struct {
		name    string
		method  string
		target  string
		options []option
		secret  string // "-" when none is looked up
		kinds   []access.Kind
	}{
		{"nothing", "GET", "/things", nil, "-", nil},
		{"header", "GET", "/things", []option{token("t")}, "t", personal},
		{"empty header", "GET", "/things", []option{token("")}, "-", nil},
		{"query", "GET", "/things?private_token=q", nil, "q", personal},
		{"query before header", "GET", "/things?private_token=q", []option{token("t")}, "q", personal},
		{"bearer of a personal token's length", "GET", "/things", []option{bearer(short)}, short, personal},
		{"bearer of another length", "GET", "/things", []option{bearer(long)}, long, oauth},
		{"short bearer", "GET", "/things", []option{bearer("x")}, "x", oauth},
		{"bearer in other letters", "GET", "/things", []option{header("Authorization", "bEARER x")}, "x", oauth},
		{"bearer before private token", "GET", "/things?private_token=q", []option{bearer(long), token("t")}, long, oauth},
		{"access token before bearer", "GET", "/things?access_token=a", []option{bearer(long)}, "a", oauth},
		{"bearer before bearer token", "GET", "/things?bearer_token=b", []option{bearer(long)}, long, oauth},
		{"bearer token before private token", "GET", "/things?bearer_token=b&private_token=q", nil, "b", oauth},
		{"basic", "GET", "/things", []option{header("Authorization", "Basic bWlhOng=")}, "-", nil},
		{"basic beside a token", "GET", "/things", []option{header("Authorization", "Basic bWlhOng="), token("t")}, "t", personal},
		{"empty bearer", "GET", "/things", []option{header("Authorization", "Bearer ")}, "-", nil},
		{"session", "GET", "/things", []option{cookie("s")}, "s", session},
		{"token before session", "GET", "/things", []option{cookie("s"), token("t")}, "t", personal},
		{"repeated query", "GET", "/things?private_token=q&private_token=r", []option{token("t")}, "", personal},
		{"list in query", "GET", "/things?access_token[]=q", []option{token("t")}, "", oauth},
		{"overlong", "GET", "/things", []option{token(strings.Repeat("x", maxSecret+1))}, "", personal},
		{"broken text", "GET", "/things", []option{token("\xff")}, "", personal},
		{"job token elsewhere", "GET", "/things?job_token=j", []option{header("JOB-TOKEN", "j")}, "-", nil},
		{"job token header", "GET", "/job", []option{header("JOB-TOKEN", "j")}, "j", job},
		{"job token query", "GET", "/job?job_token=j&token=k", []option{header("JOB-TOKEN", "l")}, "j", job},
		{"token query", "GET", "/job?token=k", []option{header("JOB-TOKEN", "l")}, "k", job},
		{"private token before job token", "GET", "/job?job_token=j", []option{token("t")}, "t", personal},
		{"job token as bearer", "GET", "/job", []option{bearer(short)}, short, []access.Kind{access.JobToken, access.PersonalToken}},
		{"token query elsewhere", "GET", "/things?token=k", nil, "-", nil},
		{"deploy token", "GET", "/things", []option{header("Deploy-Token", "d")}, "-", nil},
	} {
		d.people.presented = nil
		d.do(c.method, c.target, c.options...)
		if c.secret == "-" {
			if len(d.people.presented) > 0 {
				t.Errorf("%s: looked up %q", c.name, d.people.presented[0].Secret)
			}
			continue
		}
		want := []access.Presented{{Secret: c.secret, Kinds: c.kinds, Reading: true, Address: netip.MustParseAddr("192.0.2.7")}}
		if diff := cmp.Diff(want, d.people.presented, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}

	d.people.presented = nil
	d.do("POST", "/things", cookie("s"), header("X-CSRF-Token", "c"))
	d.do("HEAD", "/things", cookie("s"))
	d.do("POST", "/personal_access_tokens/1/rotate", token("t"))
	if got := d.people.presented[0]; got.CSRF != "c" || got.Reading || got.Rotates {
		t.Errorf("writing session: got %+v", got)
	}
	if got := d.people.presented[1]; !got.Reading {
		t.Errorf("reading session: got %+v", got)
	}
	if got := d.people.presented[2]; !got.Rotates {
		t.Errorf("rotation: got %+v", got)
	}
}

func TestAnUnknownCredentialNeverFallsThrough(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	w := d.do("GET", "/things", token("unknown"), cookie("session"))
	wantJSON(t, w, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
	if len(d.people.presented) != 1 {
		t.Errorf("looked up %d credentials", len(d.people.presented))
	}
}

func TestACredentialIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	d.limits.signedIn = &ratelimit.Rule{Name: "throttle", Limit: 10, Period: time.Minute}
	wantStatus(t, d.do("GET", "/things", token("member")), http.StatusOK)
	if len(d.people.presented) != 1 {
		t.Errorf("looked up %d times", len(d.people.presented))
	}
}
