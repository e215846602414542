// Package outbound is the one way out to addresses that people choose. It
// resolves a name once, looks at every address, and dials one of those: what
// was checked is what is called. The machine itself and the network around it
// are closed unless an administrator opens them.
package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rules say what of the local network may be called.
type Rules struct {
	AllowLocal bool
	Allowed    []string // names, addresses and networks that may be called in any case, with or without a port
}

// Guard checks where connections go.
type Guard struct {
	rules   func() Rules
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// New makes a guard; rules are asked for each connection.
func New(rules func() Rules) *Guard {
	return &Guard{rules: rules, resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}}
}

// BlockedError says why an address is not called, in words that may be shown.
type BlockedError struct{ Reason string }

func (e *BlockedError) Error() string { return e.Reason }

// Reasons. None tells what a name resolves to.
var (
	errScheme     = &BlockedError{"Only allowed schemes are http, https"}
	errHost       = &BlockedError{"Host cannot be resolved or invalid"}
	errLoopback   = &BlockedError{"Requests to localhost are not allowed"}
	errLinkLocal  = &BlockedError{"Requests to the link local network are not allowed"}
	errLocal      = &BlockedError{"Requests to the local network are not allowed"}
	errUserInfo   = &BlockedError{"Credentials do not belong in the address"}
	errNoRedirect = errors.New("outbound: redirects are not followed")
)

const (
	dialTimeout = 10 * time.Second
	answerAfter = 30 * time.Second // the longest wait for the head of an answer
)

// Check says whether a URL may be called now. Dialling checks again.
func (g *Guard) Check(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errHost
	case u.Scheme != "http" && u.Scheme != "https":
		return errScheme
	case u.User != nil:
		return errUserInfo
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	_, err = g.addresses(ctx, u.Hostname(), port)
	return err
}

// DialContext connects to an address that may be called.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errHost
	}
	addresses, err := g.addresses(ctx, host, port)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	var failed error
	for _, a := range addresses {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, failed
}

// addresses are those of a host, if every one of them may be called: one bad
// address among them is a trick, not a choice.
func (g *Guard) addresses(ctx context.Context, host, port string) ([]netip.Addr, error) {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, errHost
	}
	found, err := g.lookUp(ctx, host)
	if err != nil || len(found) == 0 {
		return nil, errHost
	}
	rules := g.rules()
	for i, a := range found {
		found[i] = a.Unmap().WithZone("")
		if rules.names(host, port) || rules.covers(found[i], port) {
			continue
		}
		if err := reserved(found[i]); err != nil && (!rules.AllowLocal || !mayBeOpened(found[i])) {
			return nil, err
		}
	}
	return found, nil
}

// lookUp reads an address, or asks for that of a name. Forms of addresses that
// only some readers know, as 127.1 or 0x7f000001, are names here and go to
// no resolver.
func (g *Guard) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	if host == "" || strings.ContainsAny(host, "%:[]/\\@\x00 \t\r\n") || strings.Trim(last, "0123456789.") == "" || strings.HasPrefix(last, "0x") {
		return nil, errHost
	}
	return g.resolve(ctx, host)
}

// names reports whether the rules open a host by its name.
func (r Rules) names(host, port string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(r.Allowed, func(entry string) bool {
		entry = strings.ToLower(strings.TrimSpace(entry))
		return entry == host || entry == host+":"+port
	})
}

// covers reports whether the rules open an address, alone or with its network.
func (r Rules) covers(a netip.Addr, port string) bool {
	return slices.ContainsFunc(r.Allowed, func(entry string) bool {
		entry = strings.TrimSpace(entry)
		if network, err := netip.ParsePrefix(entry); err == nil {
			return network.Contains(a)
		}
		if one, err := netip.ParseAddr(entry); err == nil {
			return one.Unmap() == a
		}
		one, err := netip.ParseAddrPort(entry)
		return err == nil && one.Addr().Unmap() == a && strconv.Itoa(int(one.Port())) == port
	})
}

// networks that are neither private by name nor anyone's to call.
var networks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("5f00::/16"), netip.MustParsePrefix("fec0::/10"),
}

// embeddings are networks of IPv6 whose addresses lead to one of IPv4, and where in them that one begins.
var embeddings = []struct {
	network netip.Prefix
	at      int
	flipped bool
}{
	{network: netip.MustParsePrefix("::/96"), at: 12},                    // compatible
	{network: netip.MustParsePrefix("::ffff:0:0/96"), at: 12},            // mapped
	{network: netip.MustParsePrefix("::ffff:0:0:0/96"), at: 12},          // translated
	{network: netip.MustParsePrefix("64:ff9b::/96"), at: 12},             // NAT64
	{network: netip.MustParsePrefix("64:ff9b:1::/48"), at: 12},           // NAT64 of a network's own
	{network: netip.MustParsePrefix("2002::/16"), at: 2},                 // 6to4
	{network: netip.MustParsePrefix("2001::/32"), at: 12, flipped: true}, // Teredo
}

// embedded is the address of IPv4 that one of IPv6 leads to.
func embedded(a netip.Addr) (inner netip.Addr, ok bool) {
	for _, e := range embeddings {
		if !e.network.Contains(a) {
			continue
		}
		whole := a.As16()
		four := [4]byte(whole[e.at : e.at+4])
		if e.flipped {
			for i := range four {
				four[i] ^= 0xff
			}
		}
		return netip.AddrFrom4(four), true
	}
	return netip.Addr{}, false
}

// reserved says what an address is that is not out in the world. One that leads to an address of IPv4 is not,
// wherever it leads.
func reserved(a netip.Addr) error {
	inner, leads := embedded(a)
	switch {
	case a.IsLoopback():
		return errLoopback
	case a.IsUnspecified():
		return errLocal
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast(), a.IsInterfaceLocalMulticast(), leads && errors.Is(reserved(inner), errLinkLocal):
		return errLinkLocal
	case leads, a.IsPrivate(), a.IsMulticast(), slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) }):
		return errLocal
	}
	return nil
}

// mayBeOpened reports whether the setting for the local network opens an
// address. Machines of clouds tell their secrets at link-local ones: those are
// named one by one or stay closed.
func mayBeOpened(a netip.Addr) bool { return !errors.Is(reserved(a), errLinkLocal) }

// Transport sends requests to where they may go. It follows no redirect and
// uses no proxy that the environment names.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		DialContext: g.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: answerAfter, MaxIdleConnsPerHost: 2,
		IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
}

// Client is for calls of our own. A redirect is an error: it would lead past
// what was checked.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: g.Transport(), Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errNoRedirect },
	}
}

// ErrTooLarge is what Get says of an answer beyond its limit.
var ErrTooLarge = errors.New("outbound: the answer is too large")

// Get fetches a small document. The status is 0 unless somebody answered.
func (g *Guard) Get(ctx context.Context, address string, timeout time.Duration, limit int64) (status int, body []byte, err error) {
	if err := g.Check(ctx, address); err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, errHost
	}
	client := g.Client(timeout)
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = ErrTooLarge
	}
	return resp.StatusCode, body, err
}
