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
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
)

// Store is all storages of an instance.
type Store struct {
	Config
	caches

	git      string // absolute
	storages map[string]*storage
	slots    [classes]*fairshare.Slots
	large    *fairshare.Slots // of requests
	pool     *pool
	cache    *cache
	packs    packs
	hooks    string     // folder of hooks, "" when pushes are refused
	laying   sync.Mutex // held while the hook is made
	answers  *packCache // nil without a folder for it
}

// storage is an open Storage.
type storage struct {
	Storage
	identity string
	failed   atomic.Bool // its disk reported an error; writing is refused until the next Open
}

// Open checks the storages and the version of git. A storage that is used for
// the first time gets its identity.
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.Git == "" {
		c.Git = "git"
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.MaxProcesses == 0 {
		c.MaxProcesses = 64
	}
	if c.MaxSilence == 0 {
		c.MaxSilence = maxSilence
	}
	if c.LeastRate == 0 {
		c.LeastRate = leastRate
	}
	git, err := exec.LookPath(c.Git)
	if err == nil {
		git, err = filepath.Abs(git)
	}
	if err != nil {
		return nil, fmt.Errorf("finding git: %w", err)
	}
	s := &Store{Config: c, git: git, storages: map[string]*storage{}, cache: newCache(), large: fairshare.New(largeRequests, largeRequests)}
	s.pool = newPool(limits[pooled], c.MaxProcesses)
	for class := range s.slots {
		s.slots[class] = newSlots(limits[class], c.MaxProcesses)
	}
	version, err := s.version(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	if c.CacheDir != "" {
		if err := os.MkdirAll(c.CacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("making the directory of caches: %w", err)
		}
		if s.answers, err = openPackCache(filepath.Join(c.CacheDir, "packs"), packCacheSize, c.Log); err != nil {
			return nil, err
		}
		if err := s.layHooks(); err != nil {
			return nil, err
		}
	}
	if s.caches, err = openCaches(c); err != nil {
		return nil, fmt.Errorf("opening the caches: %w", err)
	}
	aliases := map[string]string{}
	for _, place := range c.Storages {
		open, err := openStorage(place)
		if err != nil {
			return nil, fmt.Errorf("opening storage %q: %w", place.Name, err)
		}
		// Two names for one disk would make a move between them delete the only copy.
		if other, taken := aliases[open.identity]; taken {
			return nil, fmt.Errorf("storages %q and %q are the same place", other, place.Name)
		}
		if _, taken := s.storages[place.Name]; taken {
			return nil, fmt.Errorf("two storages are called %q", place.Name)
		}
		aliases[open.identity] = place.Name
		s.storages[place.Name] = open
	}
	return s, nil
}

// Close ends the pooled processes.
func (s *Store) Close() error {
	s.pool.close()
	s.cache.Close()
	return nil
}

// Identity is what a storage says of itself, the same whatever it is called and wherever it is mounted.
func (s *Store) Identity(name string) (string, error) {
	place, ok := s.storages[name]
	if !ok {
		return "", fmt.Errorf("storage %q: %w", name, ErrUnavailable)
	}
	return place.identity, nil
}

// fixed are the patch levels from which on the holes known by May 2024 are closed, by minor version of git 2.
var fixed = map[int]int{39: 4, 40: 2, 41: 1, 42: 2, 43: 4, 44: 1, 45: 1}

const oldestMinor = 39

var versionPattern = regexp.MustCompile(`^git version (\d+)\.(\d+)(?:\.(\d+))?`)

func (s *Store) version(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, s.git, "version") //nolint:gosec // the operator says which git
	cmd.Env = environment()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking git for its version: %w", err)
	}
	return string(out), nil
}

func checkVersion(text string) error {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("git does not tell its version: %.80q", text)
	}
	major, _ := strconv.Atoi(m[1]) // digits, or "" for a patch level of 0
	minor, _ := strconv.Atoi(m[2])
	patch, _ := strconv.Atoi(m[3])
	if major > 2 || major == 2 && minor >= oldestMinor && patch >= fixed[minor] {
		return nil
	}
	return fmt.Errorf("git %s.%s.%d is too old or has known holes: 2.%d.%d or newer is needed",
		m[1], m[2], patch, oldestMinor, fixed[oldestMinor])
}

// identityFile lies in the root of a storage. It tells a disk that is not mounted from one that is empty, and two
// names of one place from two places.
const identityFile = ".stithy-storage"

// tmpDir is where repositories are put together and taken apart, on the same file system as the finished ones.
const tmpDir = "@tmp"

type identity struct {
	ID string `json:"id"`
}

func openStorage(place Storage) (*storage, error) {
	if place.Name == "" || !filepath.IsAbs(place.Root) {
		return nil, errors.New("it needs a name and an absolute path")
	}
	open := &storage{Storage: place}
	id, err := open.readIdentity()
	if errors.Is(err, fs.ErrNotExist) {
		id, err = open.giveIdentity()
	}
	if err != nil {
		return nil, err
	}
	if place.Identity != "" && place.Identity != id {
		return nil, fmt.Errorf("it says that it is %s and should be %s: %w", id, place.Identity, ErrUnavailable)
	}
	open.identity = id
	return open, os.MkdirAll(filepath.Join(place.Root, tmpDir), 0o700)
}

func (p *storage) readIdentity() (string, error) {
	text, err := os.ReadFile(filepath.Join(p.Root, identityFile))
	if err != nil {
		return "", err
	}
	var i identity
	if err := json.Unmarshal(text, &i); err != nil || i.ID == "" {
		return "", fmt.Errorf("%s is damaged", identityFile)
	}
	return i.ID, nil
}

// giveIdentity marks an empty directory as a storage, unless it is known to have had a mark.
func (p *storage) giveIdentity() (string, error) {
	if p.Identity != "" {
		return "", fmt.Errorf("its mark is missing; is it mounted? %w", ErrUnavailable)
	}
	if err := WriteMark(p.Root, rand.Text()); err != nil {
		return "", err
	}
	return p.readIdentity()
}

// check says whether the storage is still the one that was opened.
func (p *storage) check() error {
	if id, err := p.readIdentity(); err != nil || id != p.identity {
		return fmt.Errorf("storage %q is not what was opened: %w", p.Name, ErrUnavailable)
	}
	return nil
}

// keyPattern is what KeyOf and TextKeyOf make.
var keyPattern = regexp.MustCompile(`^@hashed/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{64}(\+[0-9]{1,19})?\.git$`)

// place finds the storage and the directory of the repository.
func (r *Repo) place() (*storage, string, error) {
	place, ok := r.store.storages[r.key.Storage]
	if !ok {
		return nil, "", fmt.Errorf("storage %q: %w", r.key.Storage, ErrUnavailable)
	}
	if !keyPattern.MatchString(r.key.Path) {
		return nil, "", fmt.Errorf("key %.100q: %w", r.key.Path, ErrInvalid)
	}
	return place, filepath.Join(place.Root, r.key.Path), nil
}

// writable is place for those who change something.
func (r *Repo) writable() (*storage, string, error) {
	place, dir, err := r.place()
	if err == nil && place.failed.Load() {
		err = fmt.Errorf("storage %q had a disk error and is read-only: %w", place.Name, ErrUnavailable)
	}
	return place, dir, err
}

// Exists reports whether the repository is there; a storage that cannot be read is ErrUnavailable, not "no".
func (r *Repo) Exists(_ context.Context) (bool, error) {
	place, dir, err := r.place()
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil {
		return true, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("looking for a repository: %w: %w", ErrUnavailable, err)
	}
	return false, place.check()
}

// missing is the error for something of the repository that could not be read: was it the file alone, the
// repository, or the disk?
func (r *Repo) missing(ctx context.Context, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch there, gone := r.Exists(ctx); {
	case gone != nil:
		return gone
	case there:
		return ErrNotFound
	}
	return ErrNoRepo
}

// configuration is all that a repository's own config says. The rest comes with every command.
const configuration = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"

// Create makes an empty repository whose HEAD names a branch. Doing it again changes nothing.
func (r *Repo) Create(ctx context.Context, head string) error {
	if err := CheckRefName(Branches + head); err != nil {
		return err
	}
	place, dir, err := r.writable()
	if err != nil {
		return err
	}
	if there, err := r.Exists(ctx); there || err != nil {
		return err
	}
	tmp, done, err := place.scratch("create")
	if err != nil {
		return err
	}
	defer done()
	if err := layOut(tmp, head); err != nil {
		return fmt.Errorf("making a repository: %w", err)
	}
	return place.install(tmp, dir)
}

// layOut writes the files of an empty repository.
func layOut(dir, head string) error {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(
		writeSynced(filepath.Join(dir, "HEAD"), []byte("ref: "+Branches+head+"\n")),
		writeSynced(filepath.Join(dir, "config"), []byte(configuration)),
		syncDir(dir),
	)
}

// scratch makes a directory of that purpose on the storage. It is locked as long as its process lives; done removes
// what is left of it.
func (p *storage) scratch(purpose string) (dir string, done func(), err error) {
	if err := p.check(); err != nil {
		return "", nil, err
	}
	p.sweep()
	for {
		if dir, err = os.MkdirTemp(filepath.Join(p.Root, tmpDir), purpose+"-*"); err != nil {
			return "", nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		held, err := os.Open(dir)
		if err == nil {
			err = flock(held, syscall.LOCK_EX)
		}
		if _, gone := os.Stat(dir); err == nil && gone == nil {
			return dir, func() { _ = errors.Join(os.RemoveAll(dir), held.Close()) }, nil
		}
		_ = held.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it was swept before it was locked
			return "", nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
}

// sweep removes what processes that died were putting together or taking apart.
func (p *storage) sweep() {
	left, _ := os.ReadDir(filepath.Join(p.Root, tmpDir)) // the next one tries again
	for _, entry := range left {
		dir := filepath.Join(p.Root, tmpDir, entry.Name())
		if held, err := os.Open(dir); err == nil {
			if flock(held, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				_ = os.RemoveAll(dir)
			}
			_ = held.Close()
		}
	}
}

// install moves a finished repository to its place. One that is there already wins.
func (p *storage) install(tmp, dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if errors.Is(err, fs.ErrExist) { // also ENOTEMPTY
			return nil
		}
		return fmt.Errorf("putting a repository in its place: %w", err)
	}
	for ; len(parent) >= len(p.Root); parent = filepath.Dir(parent) {
		if err := syncDir(parent); err != nil {
			return err
		}
	}
	return nil
}

// writeSynced writes a new file and waits until the disk has it.
func writeSynced(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir waits until the disk has the names in a directory.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
