package page

import (
	"net/url"
	"strings"
	"testing"
)

// WB-07: whatever a return parameter says, the browser stays on this instance.
func TestWB07_AReturnPathNeverLeavesTheInstance(t *testing.T) {
	t.Parallel()
	hosts := []string{"evil.example", "evil.example/..", "forge.example@evil.example", "evil.example:80", "[::1]", "1.1.1.1"}
	prefixes := []string{
		"//", "///", "////", `/\`, `\/`, `\\`, "/\t/", "/\n/", "/\r/", "\t//", " //", "/ /", "http://", "https://", "HTTPS://", "http:/", "http:",
		"https:\\\\", "javascript:alert(1)//", "data:text/html,", "ftp://", "/%09/", "/%2f/", "/%5c", "/.//", "/..//", "/users/../..//",
		"/%2f%2f", "//%2f",
		"?//", "#//", "", "x", "/\x00/", "/\u2044/", "/\uff0f", "///\\", "/\\/", "/;//", "/@",
	}
	tried := 0
	for _, prefix := range prefixes {
		for _, host := range hosts {
			tried++
			got := LocalPath(prefix + host)
			u, err := url.Parse(got)
			if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") ||
				strings.ContainsAny(got, "\\\r\n\t ") {
				t.Errorf("%q became %q", prefix+host, got)
			}
			// Whatever stands between may unescape it.
			if err == nil && (strings.HasPrefix(u.Path, "//") || strings.ContainsAny(u.Path, "\\\r\n\t")) {
				t.Errorf("%q became %q, which is %q once unescaped", prefix+host, got, u.Path)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d forms were tried", tried)
	}
	for _, path := range []string{"/", "/oauth/authorize?client_id=1&redirect_uri=https%3A%2F%2Fapp.example%2F&state=a%2Bb",
		"/-/user_settings/profile", "/a/b%2Fc"} {
		if got := LocalPath(path); got != path {
			t.Errorf("%q became %q", path, got)
		}
	}
	if got := LocalPath("/users/sign_out"); got != "/" {
		t.Errorf("a circle: %q", got)
	}
}
