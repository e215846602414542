package gitstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// ReadMark is the mark of the storage in a folder, "" where there is none. A folder that does not exist has none.
func ReadMark(root string) (string, error) {
	mark, err := (&storage{Storage: Storage{Root: root}}).readIdentity()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return mark, err
}

// WriteMark makes an empty folder a storage with that mark, and makes the folder where there is none. One that holds
// anything has lost its mark, and a person has to look. Of two processes that mark one folder at once, one does, and
// neither fails: read the mark to learn which.
func WriteMark(root, mark string) error {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	inside, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, entry := range inside {
		if name := entry.Name(); name != "lost+found" && !strings.HasPrefix(name, identityFile) {
			return fmt.Errorf("it is not empty and has no %s", identityFile)
		}
	}
	text, err := json.Marshal(identity{ID: mark})
	if err != nil {
		return err
	}
	tmp := filepath.Join(root, identityFile+"."+rand.Text())
	if err := writeSynced(tmp, append(text, '\n')); err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }()
	if err := os.Link(tmp, filepath.Join(root, identityFile)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(root)
}

// MarkFile is where the mark of a storage lies, and what the file must hold.
func MarkFile(root, mark string) (path, text string) {
	content, _ := json.Marshal(identity{ID: mark})
	return filepath.Join(root, identityFile), string(content)
}

// ErrReadOnly says that a storage can be read and not written to.
var ErrReadOnly = errors.New("the disk is read-only")

// Check reports whether each storage is still the one that was opened and can be written to, by name.
func (s *Store) Check() map[string]error {
	found := map[string]error{}
	for name, place := range s.storages {
		err := place.check()
		if err == nil && (place.failed.Load() || errors.Is(syscall.Access(place.Root, writing), syscall.EROFS)) {
			err = ErrReadOnly
		}
		found[name] = err
	}
	return found
}

const writing = 2 // W_OK of access(2)

// Processes is how many git processes of each class run now, readers that wait for the next question among them.
func (s *Store) Processes() map[string]int {
	running := map[string]int{}
	for class, name := range classNames {
		running[name] = s.slots[class].Used()
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	running[classNames[pooled]] = s.pool.total
	return running
}

// classNames are what people who watch call the classes.
var classNames = [classes]string{
	reading: "reading", pooled: "pooled", history: "history", archiving: "archiving", moving: "moving", upkeep: "upkeep",
}
