package telemetry_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/platform/telemetry"
)

const canary = "CANARY7f3a"

func TestARecordedURLHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                    "",
		"/api/v4/user":                        "/api/v4/user",
		"/api/v4/projects/a%2Fb?x=1&y":        "/api/v4/projects/a%2Fb?x=1&y",
		"/x?scope=code&page=2&search=%zz":     "/x?scope=code&page=2&search=%zz",
		"/x?private_token=CANARY7f3a":         "/x?private_token=[REDACTED]",
		"/x?private_token=":                   "/x?private_token=",
		"/x?private_token":                    "/x?private_token",
		"/x?a=1&private_token=CANARY7f3a&b=2": "/x?a=1&private_token=[REDACTED]&b=2",
		"/x?private%5Ftoken=CANARY7f3a":       "/x?private%5Ftoken=[REDACTED]",
		"/x?private_token[]=CANARY7f3a&private_token%5B%5D=CANARY7f3a": "/x?private_token[]=[REDACTED]&private_token%5B%5D=[REDACTED]",
		"/x?Private_TOKEN=CANARY7f3a":                                  "/x?Private_TOKEN=[REDACTED]",
		"/x?user[password]=CANARY7f3a":                                 "/x?user[password]=[REDACTED]",
		"/x?code=CANARY7f3a&c%6fde=CANARY7f3a&code[]=CANARY7f3a":       "/x?code=[REDACTED]&c%6fde=[REDACTED]&code[]=[REDACTED]",
		"/x?code_verifier=CANARY7f3a&device_code=CANARY7f3a":           "/x?code_verifier=[REDACTED]&device_code=[REDACTED]",
		"/x?user_code=CANARY7f3a&variables[][value]=CANARY7f3a":        "/x?user_code=[REDACTED]&variables[][value]=[REDACTED]",
		"/x?value=CANARY7f3a&values=1":                                 "/x?value=[REDACTED]&values=1",
		"/api/7/envelope/?sentry_key=CANARY7f3a":                       "/api/7/envelope/?sentry_key=[REDACTED]",
		"/-/unsubscribe/6.project.CANARY7f3a?x=1":                      "/-/unsubscribe/[REDACTED]?x=1",
		"/x?error_code=12":                                             "/x?error_code=12",
		"/x?token=a;b;CANARY7f3a":                                      "/x?token=[REDACTED]",
		"/x?a=b;token=CANARY7f3a":                                      "/x?a=b;token=[REDACTED]",
		"/x?token=a=CANARY7f3a":                                        "/x?token=[REDACTED]",
		"/x?token=a?b=CANARY7f3a":                                      "/x?token=[REDACTED]",
		"/x#access_token=CANARY7f3a":                                   "/x#access_token=[REDACTED]",
		"/x?X-Amz-Signature=CANARY7f3a":                                "/x?X-Amz-Signature=[REDACTED]",
		"/x?to=http://h/?job_token=CANARY7f3a":                         "/x?to=http://h/?job_token=[REDACTED]",
		"/x?to=http%3A%2F%2Fh%2F%3Fjob_token%3DCANARY7f3a&a":           "/x?to=[REDACTED]&a",
		"/x?to=http%253A%252F%252Fu%253ACANARY7f3a%2540h":              "/x?to=[REDACTED]",
		"/x%3Fjob_token%3DCANARY7f3a?a=b":                              "/x%[REDACTED]?a=b",
		"https://u:CANARY7f3a@h:80/x?a=b@c":                            "https://h:80/x?a=b@c",
		"https://CANARY7f3a@h":                                         "https://h",
		"https://u:p@CANARY7f3a@h/":                                    "https://h/",
		"https://u:p/CANARY7f3a@h/x":                                   "https://[REDACTED]h/x",
		"https://u:p?CANARY7f3a@h/x":                                   "https://[REDACTED]h/x",
		"https://a@u:p/CANARY7f3a@h/x":                                 "https://[REDACTED]h/x",
		"https://u:CANARY7f3a%40h/x":                                   "https://[REDACTED]/x",
		"https://[::1]:80/x":                                           "https://[::1]:80/x",
		"//u:CANARY7f3a@h/x":                                           "//h/x",
		"/x?a=http://h&mail=b@c":                                       "/x?a=http://h&mail=b@c",
		"/x?a=http://u:CANARY7f3a@h&b=1":                               "/x?a=http://h&b=1",
		"clone https://u:CANARY7f3a@h/a.git to ssh://CANARY7f3a@h/b":   "clone https://h/a.git to ssh://h/b",
		"\x00\xff?token=CANARY7f3a\x00":                                "\x00\xff?token=[REDACTED]",
	} {
		if got := telemetry.RedactURL(given); got != want {
			t.Errorf("%q is recorded as %q, want %q", given, got, want)
		}
	}
}

func TestARecordedURLIsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300<<10)
	for given, want := range map[string]string{
		"/api/v4/users?page=1&search=" + long:  "/api/v4/users?page=1&…",
		"/api/" + long:                         "/api/…",
		"https://" + canary + long + "@h":      "https://…",
		"/x?token=" + canary + "/" + long:      "/x?token=[REDACTED]…",
		"/x?to=https%3A%2F%2F" + canary + long: "/x?…",
	} {
		if got := telemetry.RedactURL(given); got != want {
			t.Errorf("%.40q… is recorded as %q, want %q", given, got, want)
		}
	}
	if got := telemetry.RedactURL("/?" + strings.Repeat("token=é&", 1<<10)); len(got) > 2<<10 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes ending in %q", len(got), got[len(got)-12:])
	}
}

func secretNames() []string {
	return []string{
		"private_token", "access_token", "job_token", "bearer_token", "token", "refresh_token", "client_secret",
		"code", "password", "secret", "feed_token", "signature",
	}
}

// shows reports whether the canary can be read in a record, however it is escaped.
func shows(record string) bool {
	for range 5 {
		if strings.Contains(record, canary) {
			return true
		}
		var b strings.Builder
		for i := 0; i < len(record); i++ {
			if i+2 < len(record) && record[i] == '%' {
				if plain, err := url.PathUnescape(record[i : i+3]); err == nil {
					b.WriteString(plain)
					i += 2
					continue
				}
			}
			b.WriteByte(record[i])
		}
		record = b.String()
	}
	return false
}

// escape writes some characters as escapes and some letters in the other case, as bits say.
func escape(s string, bits uint64, keepCase bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i : i+1]
		if !keepCase && bits>>(2*i%64)&1 == 1 {
			c = strings.ToUpper(c)
		}
		if bits>>((2*i+1)%64)&1 == 1 {
			c = fmt.Sprintf("%%%02x", c[0])
		}
		b.WriteString(c)
	}
	return b.String()
}

func FuzzNoSecretSurvivesInARecordedURL(f *testing.F) {
	f.Add("https://h/x?a=b&", "&c=d", uint8(0), uint8(0), uint64(0))
	f.Add("/a%2Fb;x=y?", "[]", uint8(7), uint8(1), uint64(0xAAAA))
	f.Add("//h?", "@x", uint8(3), uint8(2), uint64(0x5555))
	f.Add("git clone ", "/x.git", uint8(3), uint8(3), uint64(1))
	f.Fuzz(func(t *testing.T, before, after string, which, shape uint8, bits uint64) {
		if shows(before) || shows(after) {
			t.Skip("the surroundings hold the canary")
		}
		name := escape(secretNames()[int(which)%len(secretNames())], bits, false)
		value := escape(canary, bits>>1, true)
		var given string
		switch shape % 4 {
		case 0:
			given = before + "?" + name + "=" + value + "&" + after
		case 1:
			given = before + "&" + name + "[]=" + value + "&" + after
		case 2:
			given = "/x?" + before + "&to=" + url.QueryEscape("https://h/?"+name+"="+value) + "&" + after
		case 3:
			given = "https://u:" + value + "@h/" + before + after
		}
		got := telemetry.RedactURL(given)
		if shows(got) {
			t.Errorf("%q is recorded as %q", given, got)
		}
		if len(got) > 2<<10 {
			t.Errorf("%d bytes", len(got))
		}
	})
}

func TestAURLWithoutASecretIsRecordedAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`(/[a-z0-9._-]{1,8}(%2F[a-z]{1,3})?){0,4}`).Draw(t, "path")
		query := rapid.StringMatching(`(\?(page|per_page|search|ref|order_by)=[a-zA-Z0-9%+.:@-]{0,12}(&state=[a-z]{1,5}){0,3})?`).Draw(t, "query")
		if given := path + query; telemetry.RedactURL(given) != given {
			t.Errorf("%q is recorded as %q", given, telemetry.RedactURL(given))
		}
	})
}

func BenchmarkRedactURL(b *testing.B) {
	for b.Loop() {
		telemetry.RedactURL("/api/v4/projects/group%2Fproject/repository/commits?ref_name=main&per_page=20&page=2")
	}
}
