package gitstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Git calls back before it takes a push. The two talk over a pair of sockets of
// which git's end is inherited: there is no address that another process could
// connect to, and no secret that one could learn.
//
// What git calls is a few lines of shell, which start in a fiftieth of the time
// that this program takes. Where a shell or the folder cannot be run it is this
// program, under the hook's name.
const (
	hookName       = "pre-receive"
	hookVariable   = "STITHY_HOOK"
	hookDescriptor = 3 // the ticket comes behind it
	maxHookMessage = 64 << 20

	hookScript = `#!/bin/sh
# Written by stithy. It asks the process that takes the push, and refuses without one.
set -eu
alone() { echo "The push could not be checked: nobody is there to ask" >&2; exit 1; }
[ "${STITHY_HOOK-}" = 3 ] || alone
quarantine=${GIT_QUARANTINE_PATH-}
{
	printf '%s\n' "${quarantine##*/}"
	while IFS= read -r line; do printf '%s\n' "$line"; done
	echo
} >&3 || alone
IFS= read -r verdict <&3 || alone
while IFS= read -r line; do printf '%s\n' "$line" >&2; done <&3
[ "$verdict" = go ]
`
)

// settleTimeout bounds what is finished although the client has gone.
const settleTimeout = time.Minute

// hookRequest is what the hook asks: the name of the quarantine, a line for
// each update, an empty line. The answer is "go" or "no", and behind it lines
// for the person who pushes.
type hookRequest struct {
	quarantine string // without a path
	updates    []RefUpdate
}

// socketPair makes two connected sockets, which no other process inherits
// unless it is given one.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making sockets: %w: %w", ErrUnavailable, err)
	}
	if err := syscall.SetNonblock(pair[0], true); err != nil {
		return nil, nil, fmt.Errorf("making sockets: %w: %w", ErrUnavailable, err)
	}
	return os.NewFile(uintptr(pair[0]), "hook"), os.NewFile(uintptr(pair[1]), "hook"), nil
}

// answerHook answers the one question of a push. A git that never asks closes
// its end.
func answerHook(channel *os.File, approve func(Quarantine, []RefUpdate) error) error {
	q, err := readHookRequest(channel)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("reading what the hook asks: %w", err)
	}
	quarantine := Quarantine{dir: q.quarantine}
	if q.quarantine != "" && !quarantinePattern.MatchString(q.quarantine) {
		return fmt.Errorf("quarantine %.60q: %w", q.quarantine, ErrInvalid)
	}
	failed := approve(quarantine, q.updates)
	answer := "go\n"
	if refused, ok := errors.AsType[*RefusedError](failed); ok {
		answer, failed = "no\n"+clean(refused.Text)+"\n", nil
	} else if failed != nil {
		answer = "no\nInternal error: the push could not be checked.\n"
	}
	_, err = io.WriteString(channel, answer)
	if err == nil {
		err = endOf(channel)
	}
	if err != nil && failed == nil {
		failed = err // the hook is gone, and git with it
	}
	return failed
}

// endOf tells the other side of a socket that nothing more comes.
func endOf(socket *os.File) error {
	conn, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = syscall.Shutdown(int(fd), syscall.SHUT_WR) })
	return errors.Join(err, failed)
}

// readHookRequest reads what a hook asks. io.EOF says that none did.
func readHookRequest(in io.Reader) (q hookRequest, err error) {
	lines := bufio.NewScanner(io.LimitReader(in, maxHookMessage))
	lines.Buffer(nil, 1<<16)
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return q, err
		}
		return q, io.EOF
	}
	q.quarantine = lines.Text()
	for lines.Scan() {
		if lines.Text() == "" {
			return q, nil
		}
		fields := strings.SplitN(lines.Text(), " ", 3)
		if len(fields) != 3 || len(q.updates) >= maxUpdates {
			return q, errLine
		}
		q.updates = append(q.updates, RefUpdate{Old: OID(fields[0]), New: OID(fields[1]), Name: fields[2]})
	}
	if err := lines.Err(); err != nil {
		return q, err
	}
	return q, errLine // it ended before it was done
}

// IsHook reports whether this program was called by git instead of a person.
func IsHook(argv0 string) bool { return filepath.Base(argv0) == hookName }

// Hook is what the script does, by this program.
func Hook(in io.Reader, out io.Writer) (exit int) {
	answer, err := askServer(in)
	verdict, said, _ := strings.Cut(string(answer), "\n")
	if err != nil || verdict != "go" && verdict != "no" {
		fmt.Fprintln(out, "The push could not be checked: nobody is there to ask")
		return 1
	}
	_, _ = io.WriteString(out, said) // git shows it, or not
	if verdict != "go" {
		return 1
	}
	return 0
}

func askServer(in io.Reader) (answer []byte, err error) {
	if os.Getenv(hookVariable) != strconv.Itoa(hookDescriptor) {
		return nil, errors.New("no descriptor is named")
	}
	question := []byte("\n")
	if dir := os.Getenv("GIT_QUARANTINE_PATH"); dir != "" {
		question = []byte(filepath.Base(dir) + "\n")
	}
	updates, err := io.ReadAll(io.LimitReader(in, maxHookMessage))
	if err != nil {
		return nil, err
	}
	channel := os.NewFile(hookDescriptor, "hook")
	if _, err := channel.Write(append(append(question, updates...), '\n')); err != nil {
		return nil, err
	}
	return io.ReadAll(channel)
}

// layHooks makes the folder of hooks.
func (s *Store) layHooks() error {
	if s.Hook == "" {
		return nil
	}
	dir := filepath.Join(s.CacheDir, "hooks")
	if err := s.layHook(dir); err != nil {
		return err
	}
	s.hooks = dir
	return nil
}

// layHook makes the one hook. It is made again when somebody has emptied the cache.
func (s *Store) layHook(dir string) error {
	s.laying.Lock()
	defer s.laying.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of hooks: %w", err)
	}
	path := filepath.Join(dir, hookName)
	err := layScript(path)
	if !runnable("/bin/sh") || !runnable(path) {
		err = layLink(path, s.Hook)
	}
	if err != nil {
		return fmt.Errorf("making the hook: %w", err)
	}
	return nil
}

func layScript(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode() == 0o700 && info.Size() == int64(len(hookScript)) {
		if text, err := os.ReadFile(path); err == nil && string(text) == hookScript {
			return nil
		}
	}
	fresh := path + strconv.Itoa(os.Getpid())
	return errors.Join(os.WriteFile(fresh, []byte(hookScript), 0o700), os.Rename(fresh, path)) //nolint:gosec // it is to be run
}

func layLink(path, program string) error {
	fresh := path + strconv.Itoa(os.Getpid())
	return errors.Join(os.Symlink(program, fresh), os.Rename(fresh, path))
}

// runnable reports whether the kernel would start a file. Git passes over a
// hook that it cannot start, as if there were none.
func runnable(path string) bool {
	const execute = 1
	return syscall.Access(path, execute) == nil
}
