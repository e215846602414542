package errortracking

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/kit/fault"
)

func read(t testing.TB, text string) *Report {
	t.Helper()
	r, err := parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestTheFormsOfSDKsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Report{
		`{"message":"a"}`: {Message: "a"},
		`{"message":{"formatted":"a 1","message":"a %d"}}`:   {Message: "a 1"},
		`{"logentry":{"message":"a"}}`:                       {Message: "a"},
		`{"level":"critical"}`:                               {Level: "fatal"},
		`{"level":5,"platform":"go"}`:                        {Platform: "go"},
		`{"exception":{"values":[{"type":"A"}]}}`:            {Exceptions: []Exception{{Type: "A"}}},
		`{"exception":[{"type":"A"},5]}`:                     {Exceptions: []Exception{{Type: "A"}}},
		`{"exception":{"type":"A","value":7}}`:               {Exceptions: []Exception{{Type: "A", Value: "7"}}},
		`{"tags":{"b":1,"a":"x"}}`:                           {Tags: []Pair{{"a", "x"}, {"b", "1"}}},
		`{"tags":[["b",true],["a","x"],["c"]]}`:              {Tags: []Pair{{"a", "x"}, {"b", "true"}}},
		`{"tags":[{"key":"a","value":"x"}]}`:                 {Tags: []Pair{{"a", "x"}}},
		`{"user":{"id":5}}`:                                  {User: &Person{ID: "5"}},
		`{"user":"x","request":5,"breadcrumbs":"x"}`:         {},
		`{"breadcrumbs":[{"message":"m","timestamp":0}]}`:    {Crumbs: []Crumb{{Message: "m", At: "1970-01-01T00:00:00Z"}}},
		`{"timestamp":1714662245.5}`:                         {Happened: time.Date(2024, 5, 2, 15, 4, 5, 5e8, time.UTC)},
		`{"timestamp":"2024-05-02T17:04:05+02:00"}`:          {Happened: time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)},
		`{"timestamp":"2024-05-02T15:04:05.5"}`:              {Happened: time.Date(2024, 5, 2, 15, 4, 5, 5e8, time.UTC)},
		`{"timestamp":1e300}`:                                {},
		`{"transaction":"t","culprit":"c"}`:                  {Transaction: "t"},
		`{"sdk":{"name":"n","version":"1"}}`:                 {SDK: "n 1"},
		`{"fingerprint":["{{ default }}","a",5,{}]}`:         {Fingerprint: []string{"{{ default }}", "a", "5"}},
		`{"stacktrace":{"frames":[{"function":"f"}]}}`:       {Exceptions: []Exception{{Frames: []Frame{{Function: "f"}}}}},
		`{"message":"a\u0000b\ud800"}`:                       {Message: "a\uFFFDb\uFFFD"},
		`{"extra":{"a":[1,{"b":null}]},"unknown":{"x":"y"}}`: {Extra: map[string]any{"a": []any{json.Number("1"), map[string]any{"b": nil}}}},
	} {
		if want.Platform == "" {
			want.Platform = "other"
		}
		if want.Level == "" {
			want.Level = "error"
		}
		got := *read(t, text)
		got.ID = [16]byte{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestAnEventIsNamedByItsIDOrByWhatItSays(t *testing.T) {
	t.Parallel()
	plain := read(t, `{"event_id":"5d9b0c1a7e3f4a2b8c6d1e2f3a4b5c6d"}`)
	if dashed := read(t, `{"event_id":"5D9B0C1A-7e3f-4a2b-8c6d-1e2f3a4b5c6d"}`); dashed.ID != plain.ID {
		t.Error("dashes make another id")
	}
	if of, err := parse([]byte(`{}`), "5d9b0c1a7e3f4a2b8c6d1e2f3a4b5c6d"); err != nil || of.ID != plain.ID {
		t.Error("the id of the envelope is not taken", err)
	}
	a, same, b := read(t, `{"message":"a"}`), read(t, `{"message":"a"}`), read(t, `{"message":"b"}`)
	if a.ID != same.ID || a.ID == b.ID {
		t.Error("without an id it is not what was sent that counts")
	}
	for _, bad := range []string{`{"event_id":"x"}`, `{"event_id":"5d9b"}`, `[]`, `null`, `5`, `{"a"`, `{} {}`, ``} {
		if _, err := parse([]byte(bad), ""); !errors.Is(err, errUnsupported) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	if _, err := parse([]byte(`{"extra":`+deep+`}`), ""); !fault.Is(err, fault.TooLarge) {
		t.Error(err)
	}
}

func TestAnErrorIsShownByWhatWasThrownLast(t *testing.T) {
	t.Parallel()
	python := samples(t, "python.envelope")["testdata/python.envelope"]
	all, err := readEnvelope(bytes.NewReader(python))
	if err != nil {
		t.Fatal(err)
	}
	r := all[0]
	if r.Title() != "ZeroDivisionError" || r.Description() != "division by zero" || r.Culprit() != "/cart/{id}" {
		t.Errorf("%q, %q, %q", r.Title(), r.Description(), r.Culprit())
	}
	if r.Transaction = ""; r.Culprit() != "total in shop.cart" {
		t.Errorf("%q", r.Culprit())
	}
	if f := r.Exceptions[0].Frames[1]; f.First != 16 || f.Source[f.Line-f.First] != "    return cart.sum / cart.count" {
		t.Errorf("%+v", f)
	}
	if r := read(t, `{"message":"first\nsecond"}`); r.Title() != "first" || r.Description() != "first\nsecond" {
		t.Errorf("%q, %q", r.Title(), r.Description())
	}
	if r := read(t, `{}`); r.Title() == "" {
		t.Error("no name")
	}
}

func TestER01_WhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	frame := `{"function":"` + strings.Repeat("f", 600) + `","context_line":"` + strings.Repeat("x", 500) + `","lineno":3}`
	frames := strings.Repeat(frame+",", 400) + frame
	r := read(t, `{"message":"`+strings.Repeat("é", 20000)+`","extra":{"a":"`+strings.Repeat("x", 20000)+`"},"exception":[`+
		strings.Repeat(`{"stacktrace":{"frames":[`+frames+`]}},`, 1)+`{"type":"A"}]}`)
	text, err := r.payload()
	if err != nil || len(text) > maxPayload || !utf8.Valid(text) || len(r.Exceptions[0].Frames) != maxFrames {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if len(r.Message) > maxMessage || len(r.Description()) > maxShown {
		t.Errorf("a message of %d", len(r.Message))
	}
}

func FuzzEvent(f *testing.F) {
	for _, text := range samples(f, "*.json") {
		f.Add(text)
	}
	for _, text := range samples(f, "*.envelope") {
		f.Add(bytes.Split(text, []byte("\n"))[2])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parse(text, "")
		if err != nil {
			if !errors.Is(err, errUnsupported) && !fault.Is(err, fault.TooLarge) {
				t.Fatal(err)
			}
			return
		}
		mark := fingerprint(r)
		again, err := parse(text, "")
		if err != nil || fingerprint(again) != mark || again.ID != r.ID {
			t.Fatal("the same event is another error", err)
		}
		scrubber{}.scrub(r)
		for what, shown := range map[string]string{"title": r.Title(), "description": r.Description(), "culprit": r.Culprit()} {
			if !utf8.ValidString(shown) || strings.Contains(shown, "\x00") || utf8.RuneCountInString(shown) > maxShown {
				t.Fatalf("%s: %q", what, shown)
			}
		}
		if len(r.Title()) > maxName || len(r.Culprit()) > maxName || r.Title() == "" {
			t.Fatalf("%q, %q", r.Title(), r.Culprit())
		}
		kept, err := r.payload()
		if err != nil || len(kept) > maxPayload {
			t.Fatalf("%d bytes, %v", len(kept), err)
		}
		var back Report
		if err := json.Unmarshal(kept, &back); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEventsOfOneErrorHaveOneFingerprint(t *testing.T) {
	t.Parallel()
	stack := func(kind, value string, frames ...string) string {
		return `{"platform":"go","exception":[{"type":"` + kind + `","value":"` + value + `","stacktrace":{"frames":[` + strings.Join(frames, ",") + `]}}]}`
	}
	const main, lib, work = `{"function":"main","module":"app","lineno":10,"in_app":true}`, `{"function":"Do","module":"lib","in_app":false}`,
		`{"function":"work","module":"app","lineno":20,"in_app":true}`
	for _, c := range []struct {
		fact, one, other string
		same             bool
	}{
		{"another line of the same call", stack("E", "", main, work), stack("E", "", main, strings.Replace(work, "20", "25", 1)), true},
		{"another message with the same stack", stack("E", "a", main, work), stack("E", "b", main, work), true},
		{"another call", stack("E", "", main), stack("E", "", main, work), false},
		{"another type", stack("E", "", main), stack("F", "", main), false},
		{"another way through a library", stack("E", "", main, lib, work), stack("E", "", main, work), true},
		{"a library alone", stack("E", "", lib), stack("E", "", lib, lib), true},
		{"a function that calls itself more often", stack("E", "", main, work, work), stack("E", "", main, work, work, work, work), true},
		{"another number in a message", `{"message":"job 12 took 3.5 s"}`, `{"message":"job 7 took 12.25 s"}`, true},
		{"another id in a message", `{"message":"no user 6f9619ff-8b86-d011-b42d-00c04fc964ff"}`, `{"message":"no user 1b4e28ba-2fa1-11d2-883f-0016d3cca427"}`, true},
		{"another digest in a message", `{"message":"commit 3f2a9c1b7d is gone"}`, `{"message":"commit a01bc33e9f0 is gone"}`, true},
		{"another address in a message", `{"message":"mail to ann@example.com from 192.0.2.1"}`, `{"message":"mail to bob@example.org from 198.51.100.77"}`, true},
		{"another word in a message", `{"message":"disk is full"}`, `{"message":"disk is slow"}`, false},
		{"another value without a stack", `{"exception":[{"type":"E","value":"a"}]}`, `{"exception":[{"type":"E","value":"b"}]}`, false},
		{"another platform", `{"message":"a","platform":"go"}`, `{"message":"a","platform":"php"}`, false},
		{"the program's own word", `{"message":"a","fingerprint":["x"]}`, `{"message":"b","fingerprint":["x"]}`, true},
		{"another word of the program", `{"message":"a","fingerprint":["x"]}`, `{"message":"a","fingerprint":["y"]}`, false},
		{"the usual rule by its name", `{"message":"a","fingerprint":["{{ default }}"]}`, `{"message":"a"}`, true},
		{"the usual rule without spaces", `{"message":"a","fingerprint":["{{default}}"]}`, `{"message":"a"}`, true},
		{"the usual rule and a word", `{"message":"a","fingerprint":["{{ default }}","x"]}`, `{"message":"a"}`, false},
		{"words that run together", `{"fingerprint":["ab","c"]}`, `{"fingerprint":["a","bc"]}`, false},
		{"another build of a bundle", stack("E", "", `{"filename":"/a/main.3f2a9c1b.js","function":"f"}`), stack("E", "", `{"filename":"/b/main.ffeeddcc11.js","function":"f"}`), true},
		{"another closure", stack("E", "", `{"module":"m","function":"Serve.func1"}`), stack("E", "", `{"module":"m","function":"Serve.func2.1"}`), true},
	} {
		if same := fingerprint(read(t, c.one)) == fingerprint(read(t, c.other)); same != c.same {
			t.Errorf("%s is the same error: %v", c.fact, same)
		}
	}
}

func TestWhatIsFoldedOnceIsFolded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9a-f]{1,12}`), rapid.SampledFrom([]string{
			" ", "-", ".", "@", "0x1f", "1.2.3.4", "a@b.cd", "2024-05-02", "6f9619ff-8b86-d011-b42d-00c04fc964ff",
		}))).Draw(t, "parts")
		text := strings.Join(parts, "")
		once := Fold(text)
		if twice := Fold(once); twice != once {
			t.Fatalf("%q becomes %q becomes %q", text, once, twice)
		}
	})
}

func TestER02_SecretsAndAddressesAreTakenOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, personal string }{
		{"nothing to hide", "nothing to hide", ""},
		{"password=hunter2 user=ann", "password=[Filtered] user=ann", ""},
		{`{"api_key": "abc", "n": 1}`, `{"api_key": "[Filtered]", "n": 1}`, ""},
		{"https://ann:secret@example.com/x?access_token=abc&page=2", "https://[Filtered]@example.com/x?access_token=[Filtered]&page=2", ""},
		{"Authorization: Bearer abcdefgh12345678", "Authorization: [Filtered]", ""},
		{"token svcpat-abcdefghij0123456789 is bad", "token [Filtered] is bad", ""},
		{"card 4111 1111 1111 1111 refused", "card [Filtered] refused", ""},
		{"order 4111111111111112 refused", "order 4111111111111112 refused", ""},
		{"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- x", "[Filtered] x", ""},
		{"mail ann@example.com from 192.0.2.7:443", "mail [email] from [ip]", "mail ann@example.com from 192.0.2.7:443"},
		{"at 2001:db8::1, 12:30:45", "at [ip], 12:30:45", "at 2001:db8::1, 12:30:45"},
		{"peer:2001:db8::1 and host:192.0.2.7:5432:x", "peer:[ip] and host:[ip]:5432:x", "peer:2001:db8::1 and host:192.0.2.7:5432:x"},
		{"panicked in core::fmt::Write and a::b", "panicked in core::fmt::Write and a::b", ""},
		{`password="two words" and secret='it is'`, `password="[Filtered]" and secret='[Filtered]'`, ""},
		{`password="a\"b" x`, `password="[Filtered]" x`, ""},
		{`body {\"password\":\"hunter2\",\"user\":\"ann\"}`, `body {\"password\":\"[Filtered]\",\"user\":\"ann\"}`, ""},
		{`{\"token\":12345}`, `{\"token\":[Filtered]}`, ""},
		{"Cookie: a=b; c=d\nHost: x", "Cookie: [Filtered]\nHost: x", ""},
		{`{"Set-Cookie":"a=b; Path=/","n":1}`, `{"Set-Cookie":"[Filtered]","n":1}`, ""},
		{"Proxy-Authorization: opaque one", "Proxy-Authorization: [Filtered]", ""},
		{"version 1.2.3 of std::io::Error", "version 1.2.3 of std::io::Error", ""},
	} {
		if got := (scrubber{}).text(c.text); got != c.want {
			t.Errorf("%q becomes %q", c.text, got)
		}
		want := c.personal
		if want == "" {
			want = c.want
		}
		if got := (scrubber{personal: true}).text(c.text); got != want {
			t.Errorf("%q becomes %q where addresses are kept", c.text, got)
		}
	}
	r := read(t, `{"release":"shop@1.2.3.4?token=abc","environment":"at secret=abc","exception":[{"type":"E password=abc","module":"m token=abc","value":"v",
		"stacktrace":{"frames":[{"function":"f(token=abc)","module":"m password=abc","filename":"/x?token=abc"}]}}],
		"breadcrumbs":[{"category":"token=abc","message":"password=abc"}],"user":{"id":"5","email":"ann@example.com","ip_address":"192.0.2.7"},"tags":{"session_token":"x","author":"ann"},
		"request":{"url":"https://x.example/?token=abc","headers":{"Cookie":"a=b","X-Forwarded-For":"192.0.2.7","Accept":"*/*"}},
		"extra":{"api_key":"x","list":[{"password":{"a":1}}],"pairs":[["Authorization","x"],{"key":"secret","value":"x"},{"name":"token","value":["x"]}],"note":"from 192.0.2.7"},"contexts":{"trace":{"span_id":"abc"}}}`)
	scrubber{}.scrub(r)
	text, err := r.payload()
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"ann@", "192.0.2.7", "a=b", "=abc", `"x"`, `{"a":1}`} {
		if strings.Contains(string(text), hidden) {
			t.Errorf("%s is kept: %s", hidden, text)
		}
	}
	if !strings.Contains(string(text), "shop@1.2.3.4?token=[Filtered]") {
		t.Errorf("the version is gone: %s", text)
	}
	if i := slices.IndexFunc(r.Tags, func(p Pair) bool { return p.Name == "author" }); i < 0 || r.Tags[i].Value != "ann" {
		t.Errorf("%+v", r.Tags)
	}
}

// Patterns are left out where a text has no sign of them; what is taken out is the same.
func TestER02_SignsOfSecretsMissNone(t *testing.T) {
	t.Parallel()
	plain := func(text string, personal bool) string {
		for _, secret := range secretText {
			text = secret.form.ReplaceAllString(text, filtered)
		}
		text = userinfo.ReplaceAllString(text, "${1}"+filtered+"@")
		for _, form := range append(slices.Clone(assigned), headerLine) {
			text = form.ReplaceAllString(text, "${1}"+filtered)
		}
		text = digits.ReplaceAllStringFunc(text, func(number string) string {
			if luhn(number) {
				return filtered
			}
			return number
		})
		if personal {
			return text
		}
		return address.ReplaceAllStringFunc(email.ReplaceAllString(text, "[email]"), withoutAddress)
	}
	part := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9_.:=@ /-]{0,24}`), rapid.SampledFrom([]string{
		"passWord", "\u017fecret", "coo\u212aie", "Authorization", `"`, `\"`, "'", "to\u212aen", "api-key", "=", ": ", "bearer ", "BA\u017fIC ", "eyJ", "svcpat-", "xoxb-", "xoxb-0123456789", "AKIA", "ghp_", "sk_live_",
		"0123456789abcdef", "4111 1111 1111 1111", "4111111111111111", "https://", "ann:x@", "a@b.cd", "-----BEGIN PRIVATE KEY-----", ".", ":", "192.0.2.1", "2001:db8::1",
	}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
		for _, personal := range []bool{true, false} {
			if got, want := (scrubber{personal: personal}).text(text), plain(text, personal); got != want {
				t.Fatalf("%q becomes %q, with every pattern %q", text, got, want)
			}
		}
	})
}

func TestAResolvedErrorThatHappensAgainIsUnresolved(t *testing.T) {
	t.Parallel()
	resolved := time.Date(2024, 5, 2, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		was       Status
		at        *time.Time
		in        string
		happened  time.Time
		release   string
		want      Status
		regressed bool
	}{
		{Resolved, &resolved, "", resolved.Add(time.Second), "", Unresolved, true},
		{Resolved, &resolved, "", resolved.Add(-time.Second), "", Resolved, false},
		{Resolved, &resolved, "", resolved, "", Resolved, false},
		{Resolved, nil, "", resolved, "", Unresolved, true},
		{Ignored, nil, "", resolved, "", Ignored, false},
		{Unresolved, nil, "", resolved, "", Unresolved, false},
		{Resolved, &resolved, "1.5", resolved.Add(time.Second), "1.4.9", Resolved, false},
		{Resolved, &resolved, "1.5", resolved.Add(time.Second), "1.5.0", Unresolved, true},
		{Resolved, &resolved, "1.5", resolved.Add(time.Second), "1.10", Unresolved, true},
		{Resolved, &resolved, "1.5", resolved.Add(-time.Second), "1.10", Resolved, false},
		{Resolved, &resolved, "1.5", resolved.Add(time.Second), "", Unresolved, true},
		{Resolved, &resolved, "1.5", resolved.Add(time.Second), "3f2a9c1b", Unresolved, true},
	} {
		if got, regressed := afterEvent(c.was, solution{c.at, c.in}, c.happened, c.release); got != c.want || regressed != c.regressed {
			t.Errorf("%s becomes %s, %v", c.was, got, regressed)
		}
	}
}

func TestVersionsAreOrderedByTheirNumbers(t *testing.T) {
	t.Parallel()
	ordered := []string{"1.0.0-alpha", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0-beta", "1.0.0", "1.0.1", "1.2", "1.10.0", "2-rc.1", "2.0.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			if precedes(a, b) != (i < j) || precedes("shop@v"+a+"+3f2a", "shop@"+b) != (i < j) || precedes("shop@"+a, b) != (i < j) {
				t.Errorf("%s precedes %s: %v", a, b, precedes(a, b))
			}
		}
	}
	for _, c := range [][2]string{{"1.0", "1.0.0"}, {"1.0.0", "1"}, {"a@1", "b@2"}, {"main", "2"}, {"1", "main"}, {"", "1"}, {"1..2", "3"}, {"-1", "3"}, {"99999999999", "3"}} {
		if precedes(c[0], c[1]) {
			t.Errorf("%s precedes %s", c[0], c[1])
		}
	}
}
