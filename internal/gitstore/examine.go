package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Version asks a git program for its version, and refuses one that is too old
// or has known holes. It is for those who look before they open a store.
func Version(ctx context.Context, program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("finding git: %w", err)
	}
	said, err := (&Store{git: path}).version(ctx)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(said), checkVersion(said)
}

// IsStorage reports whether a folder was made a storage by some Open.
func IsStorage(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
