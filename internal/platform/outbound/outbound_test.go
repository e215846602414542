package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// guard resolves a handful of names and nothing else.
func guard(rules Rules, names map[string]string) *Guard {
	return &Guard{rules: func() Rules { return rules }, resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
		var found []netip.Addr
		for a := range strings.FieldsSeq(names[host]) {
			found = append(found, netip.MustParseAddr(a))
		}
		if found == nil {
			return nil, errors.New("no such host")
		}
		return found, nil
	}}
}

var resolvable = map[string]string{
	"public.example": "93.184.216.34 2606:2800:220:1::1", "internal.example": "10.1.2.3", "localhost": "127.0.0.1 ::1",
	"mixed.example": "93.184.216.34 127.0.0.1", "metadata.example": "169.254.169.254", "mapped.example": "::ffff:127.0.0.1",
}

func TestIM07_NothingLocalIsCalled(t *testing.T) {
	t.Parallel()
	g := guard(Rules{}, resolvable)
	for address, want := range map[string]error{
		"https://public.example/x.git": nil, "http://93.184.216.34": nil, "https://public.example:8443/": nil, "https://[2606:2800::1]/": nil,
		"http://localhost/": errLoopback, "http://127.0.0.1/": errLoopback, "http://127.8.9.1/": errLoopback, "http://[::1]/": errLoopback,
		"http://[::ffff:127.0.0.1]/": errLoopback, "http://mapped.example/": errLoopback, "http://mixed.example/": errLoopback,
		"http://10.0.0.1/": errLocal, "http://172.16.0.1/": errLocal, "http://192.168.0.1/": errLocal, "http://[fd00::1]/": errLocal,
		"http://internal.example/": errLocal, "http://0.0.0.0/": errLocal, "http://[::]/": errLocal, "http://100.64.0.1/": errLocal,
		"http://255.255.255.255/": errLocal, "http://224.0.0.251/": errLinkLocal, "http://239.1.1.1/": errLocal, "http://198.18.0.1/": errLocal,
		"http://[64:ff9b::7f00:1]/": errLocal, "http://[2002:7f00:1::]/": errLocal, "http://[fec0::1]/": errLocal,
		// What holds an address of IPv4 is that one, or closed.
		"http://[::ffff:10.0.0.1]/": errLocal, "http://[::ffff:192.168.1.1]/": errLocal, "http://[::ffff:169.254.169.254]/": errLinkLocal,
		"http://[::ffff:100.64.0.1]/": errLocal, "http://[::ffff:93.184.216.34]/": nil, "http://[::ffff:0.0.0.0]/": errLocal,
		"http://[::127.0.0.1]/": errLocal, "http://[::10.0.0.1]/": errLocal, "http://[::169.254.169.254]/": errLinkLocal, "http://[::93.184.216.34]/": errLocal,
		"http://[::2]/": errLocal, "http://[::ffff:0:7f00:1]/": errLocal, "http://[::ffff:0:a9fe:a9fe]/": errLinkLocal,
		"http://[64:ff9b::a9fe:a9fe]/": errLinkLocal, "http://[64:ff9b:1::7f00:1]/": errLocal, "http://[64:ff9b:1::a9fe:a9fe]/": errLinkLocal,
		"http://[2002:a9fe:a9fe::1]/": errLinkLocal, "http://[2002:5db8:d822::1]/": errLocal,
		"http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/": errLocal, "http://[2001:0:4136:e378:8000:63bf:5601:5601]/": errLinkLocal,
		"http://[100::1]/": errLocal, "http://[2001:db8::1]/": errLocal, "http://[3fff::1]/": errLocal, "http://[ff02::1]/": errLinkLocal,
		"http://169.254.169.254/latest": errLinkLocal, "http://metadata.example/": errLinkLocal, "http://[fe80::1]/": errLinkLocal,
		"http://[fe80::1%25eth0]/": errLinkLocal,
		"http://0/":                errHost, "http://127.1/": errHost, "http://0x7f000001/": errHost, "http://2130706433/": errHost, "http://0177.0.0.1/": errHost,
		"http://127.0.0.1./": errHost, "http://unknown.example/": errHost, "http:///x": errHost, "http://": errHost, "http://a b/": errHost,
		"http://public.example:0/": errHost, "http://public.example:99999/": errHost, "http://public.example%00.x/": errHost,
		"file:///etc/passwd": errHost, "ftp://public.example/": errScheme, "ssh://git@public.example/x": errScheme, "git://public.example/x": errScheme,
		"ext::sh -c touch% /tmp/pwn": errHost, "/etc": errHost, "-oProxyCommand=x": errHost, "https://me:secret@public.example/": errUserInfo,
		"git@public.example:x": errHost, "javascript:alert(1)": errHost, "gopher://127.0.0.1:6379/_x": errScheme,
	} {
		if err := g.Check(t.Context(), address); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
}

func TestAnAdministratorOpensWhatTheyName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules   Rules
		address string
		blocked bool
	}{
		{Rules{AllowLocal: true}, "http://127.0.0.1/", false},
		{Rules{AllowLocal: true}, "http://internal.example/", false},
		{Rules{AllowLocal: true}, "http://169.254.169.254/", true},
		{Rules{AllowLocal: true}, "http://[::ffff:169.254.169.254]/", true},
		{Rules{AllowLocal: true}, "http://[::169.254.169.254]/", true},
		{Rules{AllowLocal: true}, "http://[64:ff9b::a9fe:a9fe]/", true},
		{Rules{AllowLocal: true}, "http://[2002:a9fe:a9fe::1]/", true},
		{Rules{Allowed: []string{"10.0.0.0/8"}}, "http://[::ffff:10.1.2.3]/", false},
		{Rules{Allowed: []string{"10.0.0.0/8"}}, "http://[::ffff:192.168.0.1]/", true},
		{Rules{Allowed: []string{"10.0.0.0/8"}}, "http://10.1.2.3/", false},
		{Rules{Allowed: []string{"10.0.0.0/8"}}, "http://192.168.0.1/", true},
		{Rules{Allowed: []string{"internal.example"}}, "http://internal.example/", false},
		{Rules{Allowed: []string{"INTERNAL.example:8080"}}, "http://internal.example:8080/", false},
		{Rules{Allowed: []string{"internal.example:8080"}}, "http://internal.example/", true},
		{Rules{Allowed: []string{"127.0.0.1:9000"}}, "http://127.0.0.1:9000/", false},
		{Rules{Allowed: []string{"127.0.0.1:9000"}}, "http://127.0.0.1:9001/", true},
		{Rules{Allowed: []string{"169.254.169.254"}}, "http://169.254.169.254/", false},
		{Rules{Allowed: []string{"::1"}}, "http://[::1]/", false},
	} {
		if err := guard(c.rules, resolvable).Check(t.Context(), c.address); (err != nil) != c.blocked {
			t.Errorf("%+v, %s: %v", c.rules, c.address, err)
		}
	}
}

// A name that answers otherwise the second time does not get past: what was
// looked at is what is dialled.
func TestIM07_TheAddressThatWasCheckedIsTheOneDialled(t *testing.T) {
	t.Parallel()
	asked := 0
	g := &Guard{rules: func() Rules { return Rules{} }, resolve: func(context.Context, string) ([]netip.Addr, error) {
		if asked++; asked == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	if err := g.Check(t.Context(), "http://rebind.example/"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.DialContext(t.Context(), "tcp", "rebind.example:80"); !errors.Is(err, errLoopback) {
		t.Errorf("%v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var reached bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/secret" {
			reached = true
		}
		http.Redirect(w, r, "/secret", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := guard(Rules{AllowLocal: true}, nil).Client(time.Minute).Do(r)
	if reply != nil {
		_ = reply.Body.Close()
	}
	if !errors.Is(err, errNoRedirect) || reached {
		t.Errorf("%v, reached %v", err, reached)
	}
}

func TestAProgramGetsOutOnlyThroughTheGuard(t *testing.T) {
	t.Parallel()
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello "+r.Header.Get("Proxy-Authorization"))
	})
	plain, encrypted := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	t.Cleanup(plain.Close)
	t.Cleanup(encrypted.Close)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(plain.URL, "http://"))
	for _, c := range []struct {
		name   string
		rules  Rules
		login  bool
		server *httptest.Server
		want   string // of the body, or of the error
	}{
		{"plain", Rules{AllowLocal: true}, true, plain, "hello "},
		{"encrypted", Rules{AllowLocal: true}, true, encrypted, "hello "},
		{"plain, blocked", Rules{}, true, plain, "Requests to localhost are not allowed"},
		{"encrypted, blocked", Rules{Allowed: []string{"127.0.0.1:" + port}}, true, encrypted, "Bad Gateway"},
		{"stranger", Rules{AllowLocal: true}, false, plain, "who asks?"},
		{"encrypted stranger", Rules{AllowLocal: true}, false, encrypted, "Proxy Authentication Required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := guard(c.rules, nil).Proxy(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			way := *p.URL
			if !c.login {
				way.User = nil
			}
			transport := c.server.Client().Transport.(*http.Transport).Clone()
			transport.Proxy = http.ProxyURL(&way)
			t.Cleanup(transport.CloseIdleConnections)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			var said string
			if reply, err := transport.RoundTrip(r); err != nil {
				said = err.Error()
			} else {
				body, _ := io.ReadAll(reply.Body)
				_ = reply.Body.Close()
				said = string(body)
			}
			if !strings.HasPrefix(said, c.want) {
				t.Errorf("%q, want %q", said, c.want)
			}
		})
	}
}

func TestAProxyThatIsClosedLetsNobodyFinish(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p, err := guard(Rules{AllowLocal: true}, nil).Proxy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.URL.Host) //nolint:noctx // a test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := &http.Request{Method: http.MethodConnect, Host: listener.Addr().String(), URL: &url.URL{Host: listener.Addr().String()}, Header: http.Header{}}
	secret, _ := p.URL.User.Password()
	login := &http.Request{Header: http.Header{}}
	login.SetBasicAuth("stithy", secret)
	r.Header.Set("Proxy-Authorization", login.Header.Get("Authorization"))
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 200" {
		t.Fatalf("%s, %v", answer, err)
	}
	p.Close()
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}
