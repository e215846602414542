package secretbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stithy/internal/platform/secretbox"
)

const someKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func TestAGeneratedKeyFileLoads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	if err := secretbox.Generate(path); err != nil {
		t.Fatal(err)
	}
	first, err := secretbox.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := secretbox.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Open(mustSeal(t, first, []byte("payload"), place), place); err != nil || string(got) != "payload" {
		t.Errorf("after a restart the value opens as %q, %v", got, err)
	}
	if first.Fingerprint() != second.Fingerprint() {
		t.Error("one file, two fingerprints")
	}
}

// Not parallel: the umask belongs to the whole process.
func TestAGeneratedKeyFileIsItsOwnersAloneUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o777} {
		path := filepath.Join(t.TempDir(), "secret.key")
		old := syscall.Umask(umask)
		err := secretbox.Generate(path)
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != 0o600 {
			t.Errorf("umask %04o: mode %v, want -rw-------", umask, got)
		}
	}
}

func TestAKeyFileIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	path := writeKeyFile(t, "precious")
	if err := secretbox.Generate(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error = %v, want it to exist", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "precious" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestNoKeyFileIsGeneratedInAMissingDirectory(t *testing.T) {
	t.Parallel()
	if err := secretbox.Generate(filepath.Join(t.TempDir(), "missing", "secret.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}

func TestSU08_AKeyFileOpenToOthersIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	path := writeKeyFile(t, "digest "+someKey+"\nseal k1 "+someKey+"\n")
	for _, mode := range []fs.FileMode{0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o644, 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := secretbox.Load(path)
		if err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	for _, mode := range []fs.FileMode{0o600, 0o400, 0o700} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secretbox.Load(path); err != nil {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}

func TestAKeyFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := secretbox.Load(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := secretbox.Load(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("directory: %v", err)
	}
}

func TestAKeyFileMayHoldCommentsAndBlanks(t *testing.T) {
	t.Parallel()
	loadText(t, "# kept in the safe\n\n  \t seal\tk-1_A   "+someKey+"  \r\n#seal k1\ndigest "+someKey)
}

func TestABadKeyFileIsRefusedWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	digest, seal := "digest "+someKey+"\n", "seal k1 "+someKey+"\n"
	tests := map[string]struct{ text, want string }{
		"empty":              {"", "no digest line"},
		"no digest":          {seal, "no digest line"},
		"no seal":            {digest, "no seal line"},
		"two digests":        {digest + seal + digest, "line 3 is a second digest"},
		"name twice":         {digest + seal + seal, "line 3: another seal key"},
		"no base64":          {"digest !" + someKey[1:], "line 1 does not end in 32 bytes"},
		"short key":          {"\ndigest " + someKey[4:], "line 2 does not end in 32 bytes"},
		"long key":           {"digest AAAA" + someKey, "line 1 does not end in 32 bytes"},
		"name alone":         {digest + "seal " + someKey, "line 2 is neither"},
		"digest with a name": {"digest k1 " + someKey, "line 1 is neither"},
		"seal of four words": {"seal k1 k2 " + someKey, "line 1 is neither"},
		"unknown word":       {"sign k1 " + someKey, "line 1 is neither"},
		"bare key":           {someKey, "line 1 is neither"},
		"name with a colon":  {"seal k:1 " + someKey, "line 1: a seal key's name"},
		"name too long":      {"seal " + strings.Repeat("k", 33) + " " + someKey, "line 1: a seal key's name"},
	}
	for name, test := range tests {
		_, err := secretbox.Load(writeKeyFile(t, test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), someKey[8:]) {
			t.Errorf("%s: the error tells the key: %v", name, err)
		}
	}
	loadText(t, digest+"seal "+strings.Repeat("k", 32)+" "+someKey)
}
