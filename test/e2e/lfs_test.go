package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The unmodified client of Git LFS, over HTTP and with a ticket got over SSH.
func TestLargeFilesGoInAndOutWithTheirOwnClient(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	f := start(t, "STITHY_SSH_LISTEN="+address)
	f.project("art")
	dir, large := f.tree(), bytes.Repeat([]byte("a large file\n"), 100_000)
	f.mustGit(dir, nil, "lfs", "install", "--local")
	f.mustGit(dir, nil, "lfs", "track", "*.psd")
	f.commit(dir, "ship.psd", string(large))
	f.mustGit(dir, nil, "remote", "add", "origin", f.remote("art"))
	f.mustGit(dir, nil, "config", "lfs.locksverify", "true")
	f.mustGit(dir, nil, "push", "-q", "origin", "main")
	if pointer := f.mustGit(dir, nil, "show", "main:ship.psd"); !strings.HasPrefix(pointer, "version https://git-lfs") {
		t.Fatalf("what was pushed is no pointer: %.200s", pointer)
	}
	for way, clone := range map[string]func(to string){
		"http": func(to string) {
			f.mustGit(dir, nil, "-c", "filter.lfs.smudge=git-lfs smudge -- %f", "-c", "filter.lfs.process=git-lfs filter-process", "clone", "-q", f.remote("art"), to)
		},
		"ssh": func(to string) {
			host, port, _ := strings.Cut(address, ":")
			f.mustGit(dir, f.keyPair(address), "-c", "filter.lfs.smudge=git-lfs smudge -- %f", "-c", "filter.lfs.process=git-lfs filter-process",
				"clone", "-q", "ssh://git@"+host+":"+port+"/root/art.git", to)
		},
	} {
		to := filepath.Join(t.TempDir(), way)
		clone(to)
		if got, err := os.ReadFile(filepath.Join(to, "ship.psd")); err != nil || !bytes.Equal(got, large) {
			t.Errorf("over %s: %d bytes, %v", way, len(got), err)
		}
	}

	f.mustGit(dir, nil, "lfs", "lock", "ship.psd")
	if out := f.mustGit(dir, nil, "lfs", "locks"); !strings.Contains(out, "ship.psd") {
		t.Errorf("the lock is not listed: %s", out)
	}
	f.mustGit(dir, nil, "lfs", "unlock", "ship.psd")
	if out := f.mustGit(dir, nil, "lfs", "locks"); strings.Contains(out, "ship.psd") {
		t.Errorf("the lock is still listed: %s", out)
	}
}
