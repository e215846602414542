package secretbox

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const keyFileHeader = `# Secret keys. Without this file nothing that was sealed can be read again and no token is accepted:
# keep a copy apart from the backups of the database, and let nobody else read it.
# To rotate, put a new seal line (a new name and 32 random bytes in base64) above the others;
# keep the old ones until everything is sealed anew. The digest line never changes.
`

// Generate writes a key file with new keys, readable by its owner alone. It never overwrites one.
func Generate(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("opening the directory of the key file: %w", err)
	}
	defer dir.Close()

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("creating the key file: %w", err)
	}
	// A strict umask may have left the owner without the right to read.
	chmodErr := f.Chmod(0o600)
	_, writeErr := io.WriteString(f, randomKeySet().text())
	// Sealed values must not outlive their keys in a power cut: the file and its name go to disk now.
	return errors.Join(chmodErr, writeErr, f.Sync(), f.Close(), dir.Sync())
}

// Load reads the key file. It refuses one that others could have read.
func Load(path string) (*Box, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the key file: %w", err)
	}
	defer f.Close()

	info, statErr := f.Stat()
	text, readErr := io.ReadAll(f)
	if err := errors.Join(statErr, readErr); err != nil {
		return nil, fmt.Errorf("reading the key file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("key file %s has mode %04o, open to other users: run chmod 600 %s, and replace the keys if others may have read them",
			path, mode, path)
	}
	keys, err := parseKeySet(string(text))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return newBox(keys), nil
}

func (s keySet) text() string {
	var b strings.Builder
	b.WriteString(keyFileHeader)
	fmt.Fprintf(&b, "digest %s\n", base64.StdEncoding.EncodeToString(s.digest[:]))
	for _, k := range s.seals {
		fmt.Fprintf(&b, "seal %s %s\n", k.id, base64.StdEncoding.EncodeToString(k.key[:]))
	}
	return b.String()
}

// parseKeySet never quotes a line in an error: it may hold a key.
func parseKeySet(text string) (keySet, error) {
	var keys keySet
	var hasDigest bool
	validID := regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	ids := map[string]bool{}

	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		k, ok := parseKey(words[len(words)-1])
		switch {
		case !ok:
			return keySet{}, fmt.Errorf("line %d does not end in 32 bytes of base64", number)
		case words[0] == "digest" && len(words) == 2:
			if hasDigest {
				return keySet{}, fmt.Errorf("line %d is a second digest line", number)
			}
			keys.digest, hasDigest = k, true
		case words[0] == "seal" && len(words) == 3:
			id := words[1]
			if !validID.MatchString(id) {
				return keySet{}, fmt.Errorf("line %d: a seal key's name is 1 to 32 letters, digits, - or _", number)
			}
			if ids[id] {
				return keySet{}, fmt.Errorf("line %d: another seal key has the same name", number)
			}
			ids[id] = true
			keys.seals = append(keys.seals, sealKey{id: id, key: k})
		default:
			return keySet{}, fmt.Errorf(`line %d is neither "digest KEY" nor "seal NAME KEY"`, number)
		}
	}
	if !hasDigest {
		return keySet{}, errors.New("it has no digest line")
	}
	if len(keys.seals) == 0 {
		return keySet{}, errors.New("it has no seal line")
	}
	return keys, nil
}

func parseKey(word string) (k key, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(word)
	if err != nil || len(raw) != len(k) {
		return key{}, false
	}
	return key(raw), true
}
