package gitssh

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// TestGI13_TheAlgorithmsAreThese fails when the list grows or shrinks without
// somebody saying so.
func TestGI13_TheAlgorithmsAreThese(t *testing.T) {
	t.Parallel()
	offered := slices.Concat(algorithms.KeyExchanges, algorithms.Ciphers, algorithms.MACs, algorithms.HostKeys, algorithms.PublicKeyAuths)
	if len(offered) != 30 {
		t.Errorf("%d algorithms are offered: %q", len(offered), offered)
	}
	weak := ssh.InsecureAlgorithms()
	for _, name := range slices.Concat(weak.KeyExchanges, weak.Ciphers, weak.MACs, weak.HostKeys, weak.PublicKeyAuths) {
		if slices.Contains(offered, name) {
			t.Errorf("%s is offered and weak", name)
		}
	}
}

func TestGI13_HostKeysAreMadeOnceAndKeptFromOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ssh")
	var first []string
	for range 2 {
		signers, err := EnsureHostKeys(dir)
		if err != nil {
			t.Fatal(err)
		}
		var prints []string
		for _, s := range signers {
			prints = append(prints, ssh.FingerprintSHA256(s.PublicKey()))
		}
		if first == nil {
			first = prints
		} else if !slices.Equal(first, prints) {
			t.Error("a second start makes other keys")
		}
	}
	key := filepath.Join(dir, kinds[0].file)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v %v", info.Mode(), err)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureHostKeys(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read is used: %v", err)
	}
}

func TestGI12_TheLimitsAreThese(t *testing.T) {
	t.Parallel()
	want := Limits{
		Connections: 1000, PerAddress: 100, Handshake: 15 * time.Second, Command: 15 * time.Second, Reading: time.Minute, Thinking: 10 * time.Minute,
	}
	if got := (Limits{}).orDefaults(); got != want {
		t.Errorf("%+v", got)
	}
	if got := (Limits{PerAddress: 3}).orDefaults(); got.PerAddress != 3 || got.Connections != 1000 {
		t.Errorf("%+v", got)
	}
}

func TestGI12_OneNetworkDoesNotTakeAllConnections(t *testing.T) {
	t.Parallel()
	s := &Server{deps: Deps{Limits: Limits{Connections: 10, PerAddress: 3}}, address: map[string]int{}}
	from := func(text string) netip.Addr { return netip.MustParseAddr(text) }
	for n := range 3 {
		if !s.enter(from(fmt.Sprintf("2001:db8::%x", n+1))) {
			t.Fatalf("connection %d is refused", n+1)
		}
	}
	if s.enter(from("2001:db8::9")) {
		t.Error("a network has more connections than an address may have")
	}
	if !s.enter(from("2001:db8:0:1::1")) || !s.enter(from("192.0.2.1")) || !s.enter(from("192.0.2.2")) {
		t.Error("others are refused")
	}
	s.leave(from("2001:db8::2"))
	if !s.enter(from("2001:db8::9")) {
		t.Error("a connection that ended still counts")
	}
}

func TestCommandsAreWordsAndNeverAShell(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"git-upload-pack 'a/b.git'":   "git-upload-pack|a/b.git",
		"git upload-pack 'a/b.git'":   "git-upload-pack|a/b.git",
		"git-receive-pack /a/b":       "git-receive-pack|/a/b",
		`git-upload-pack 'a'\''b'`:    "git-upload-pack|a'b",
		"":                            "",
		"git-upload-pack 'a;b $(c)'":  "git-upload-pack|a;b $(c)",
		"git-lfs-authenticate a down": "git-lfs-authenticate|a|down",
	} {
		if got, ok := parseCommand(line); !ok || strings.Join(got, "|") != want {
			t.Errorf("%q: got %q %t", line, got, ok)
		}
	}
	for _, line := range []string{"git-upload-pack 'a", "a; b", "a $(b)", "a `b`", "a && b", "a > b", "a\nb", "a\x00b", "a | b", "~/x", "a \"b\""} {
		if got, ok := parseCommand(line); ok {
			t.Errorf("%q was read as %q", line, got)
		}
	}
}

func TestGI14_NoTextMovesATerminal(t *testing.T) {
	t.Parallel()
	if got := clean("a\x1b[31mb\u009bc\x07\r\n"); got != "a?[31mb?c??\n" {
		t.Errorf("got %q", got)
	}
}
