package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The errors here complete a sentence that begins with the value, or with "the value" where the value is
// secret: none of them may quote it.

func listenAddress(s string) (string, error) {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", errors.New("is not an address with a port; write for example 127.0.0.1:8080")
	}
	return s, nil
}

func externalURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("is not a web address; write for example https://code.example.com")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, errors.New("has more than a scheme, a host and a path; leave out user, query and fragment")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// tlsMode refuses a way to speak TLS that cannot work: authorities issue certificates for names alone.
func tlsMode(s string, forge *url.URL) error {
	if err := oneOf(s, "off", "auto"); err != nil || s == "off" || forge == nil {
		return err
	}
	if net.ParseIP(forge.Hostname()) != nil || !strings.Contains(forge.Hostname(), ".") || forge.Scheme != "https" {
		return errors.New("needs an external_url that begins with https:// and a name that the world knows, for example https://code.example.com")
	}
	return nil
}

// pagesURL is the address that sites stand below. Neither it nor the forge may be below the other: one could set cookies for both.
func pagesURL(s string, forge *url.URL) (*url.URL, error) {
	u, err := externalURL(s)
	if err != nil {
		return nil, err
	}
	u.Host = strings.ToLower(u.Host)
	root := u.Hostname()
	if _, err := netip.ParseAddr(root); err == nil || u.Path != "" {
		return nil, errors.New("is not a scheme and a host name; write for example https://pages.example.net")
	}
	if forge != nil {
		host := strings.ToLower(forge.Hostname())
		if host == root || strings.HasSuffix(host, "."+root) || strings.HasSuffix(root, "."+host) {
			return nil, errors.New("shares its host with external_url, so that sites would share cookies with the forge; take another domain")
		}
	}
	return u, nil
}

func urlOf(s, example string, schemes ...string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" || u.Fragment != "":
	case u.Scheme == "file" && (u.Host != "" || !path.IsAbs(u.Path)):
	case u.Scheme == "s3" && u.Host == "":
	default:
		return nil
	}
	return errors.New("is not a URL of the form " + example + "; percent-encode special characters in a password")
}

func networks(s string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		p, err := netip.ParsePrefix(item)
		if addr, addrErr := netip.ParseAddr(item); addrErr == nil && addr.Zone() == "" {
			addr = addr.Unmap()
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("holds %q, which is not an address or network; write for example 10.0.0.0/8", item)
		case p.Addr().Is4In6():
			return nil, fmt.Errorf("holds %q; write the network in its IPv4 form, for example 10.0.0.0/8", item)
		case p != p.Masked():
			return nil, fmt.Errorf("holds %q, an address inside a network; write %s for the network", item, p.Masked())
		}
		list = append(list, p)
	}
	return list, nil
}

var storageName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,254}$`)

func storages(s string) ([]Storage, error) {
	var list []Storage
	for item := range strings.SplitSeq(s, ",") {
		name, path, _ := strings.Cut(strings.TrimSpace(item), "=")
		name, path = strings.TrimSpace(name), strings.TrimSpace(path)
		switch {
		case !storageName.MatchString(name) || path == "":
			return nil, errors.New("is not a list of names and folders; write for example default=/var/lib/stithy/repositories")
		case slices.ContainsFunc(list, func(other Storage) bool { return other.Name == name || other.Path == path }):
			return nil, fmt.Errorf("names %s, or its folder, twice", name)
		}
		list = append(list, Storage{Name: name, Path: path})
	}
	return list, nil
}

func number(s string, least, most int32) (int32, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || int32(n) < least || int32(n) > most {
		return 0, fmt.Errorf("is not a whole number from %d to %d", least, most)
	}
	return int32(n), nil
}

func duration(s string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > most {
		return 0, fmt.Errorf("is not a time from 0s to %s; write for example 30s", most)
	}
	return d, nil
}

func oneOf(s string, words ...string) error {
	if slices.Contains(words, s) {
		return nil
	}
	last := len(words) - 1
	return fmt.Errorf("is not known; write %s or %s", strings.Join(words[:last], ", "), words[last])
}

func identifier(s string) error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9]*$`, s); !ok {
		return errors.New("is not a word of lower-case letters and digits that begins with a letter")
	}
	return nil
}

// nameOfService is the service's name as text.
func nameOfService(c *Config) string {
	service := c.Identifiers.Service
	switch {
	case identifier(service) != nil:
		return "Svc" // which is refused for itself
	case service == "gitlab":
		return "GitLab"
	}
	return strings.ToUpper(service[:1]) + service[1:]
}

// nameInText checks a name that stands in messages and in quoted values of headers.
func nameInText(s string) error {
	if ok, _ := regexp.MatchString(`^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,61}[A-Za-z0-9])?$`, s); !ok {
		return errors.New("is not a name of at most 63 letters, digits, spaces, dots, hyphens and underscores")
	}
	return nil
}

// hidePasswords replaces what an administrator's screen should not show in a URL that urlOf accepted.
func hidePasswords(s string) string {
	const dots = "••••"
	address, query, hasQuery := strings.Cut(s, "?")
	if _, rest, ok := strings.Cut(address, "://"); ok {
		authority, _, _ := strings.Cut(rest, "/")
		userinfo := authority[:max(0, strings.LastIndexByte(authority, '@'))]
		if _, password, _ := strings.Cut(userinfo, ":"); password != "" {
			start := len(address) - len(rest) + len(userinfo) - len(password)
			address = address[:start] + dots + address[start+len(password):]
		}
	}
	if !hasQuery {
		return address
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if plain = strings.ToLower(plain); err != nil || slices.ContainsFunc([]string{"password", "secret", "token", "key"},
			func(word string) bool { return strings.Contains(plain, word) }) {
			pairs[i] = name + "=" + dots
		}
	}
	return address + "?" + strings.Join(pairs, "&")
}
