// Package gitstore keeps repositories on disk, and is the only package that
// runs git. It knows storages, object ids, refs and paths inside of commits; it
// knows no project, no person and no rule about who may do what.
//
// Every operation is one coarse call that could cross a network: no file, no
// path of the machine and no command is seen outside. Revisions that people
// write are resolved to object ids once, by Resolve, and passed on as ids.
// Reading starts no process where a pooled one can answer.
package gitstore

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"stithy/internal/platform/clock"
)

// Storage is a named place for repositories.
type Storage struct {
	Name     string
	Root     string // directory
	Identity string // what the storage must say of itself; "" takes what it says, or marks an empty one
}

// Config is what a store is made of.
type Config struct {
	Storages []Storage
	CacheDir string // packs and archives that can be made again
	Git      string // the git program; "git" when empty
	Hook     string // the program that git calls back, this binary; pushes are refused when empty
	Clock    clock.Clock
	Log      *slog.Logger

	MaxProcesses int // of all repositories together; 64 when zero
	MaxPush      int64
	MaxSilence   time.Duration // of a client that a command waits for; a minute when zero
	LeastRate    int64         // bytes a second that such a client sends or takes; 4 KiB when zero

	Trace func(argv, env []string) // hears of every command before it starts; for tests
}

// Key names a repository. The path follows from an id and never from a name,
// so that nothing a person writes steers a disk.
type Key struct {
	Storage string
	Path    string // "@hashed/6b/86/6b86….git"
}

// KeyOf is where the repository of a project lies. A generation is counted up
// when a repository is put in the place of another.
func KeyOf(storage string, projectID, generation int64) Key {
	path := pathOf(strconv.FormatInt(projectID, 10))
	if generation > 0 {
		path += "+" + strconv.FormatInt(generation, 10)
	}
	return Key{Storage: storage, Path: path + ".git"}
}

// TextKeyOf is where a repository of texts lies, by its id.
func TextKeyOf(storage string, id int64) Key {
	return Key{Storage: storage, Path: pathOf("text "+strconv.FormatInt(id, 10)) + ".git"}
}

func pathOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	name := hex.EncodeToString(sum[:])
	return "@hashed/" + name[:2] + "/" + name[2:4] + "/" + name
}

// OID is the id of an object, 40 lower-case hexadecimal digits.
type OID string

const (
	// Zero stands for "does not exist" in updates of refs.
	Zero OID = "0000000000000000000000000000000000000000"
	// EmptyTree is the tree without entries, which every repository knows.
	EmptyTree OID = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
)

// IsOID reports whether s is written as an object id.
func IsOID(s string) bool {
	if len(s) != 40 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Short is the id as people see it.
func (id OID) Short() string { return string(id[:8]) }

// Kind is what an object is.
type Kind string

const (
	BlobKind   Kind = "blob"
	TreeKind   Kind = "tree"
	CommitKind Kind = "commit"
	TagKind    Kind = "tag"
)

// Mode is the mode of a tree's entry.
type Mode uint32

const (
	DirMode     Mode = 0o040000
	FileMode    Mode = 0o100644
	ExecMode    Mode = 0o100755
	LinkMode    Mode = 0o120000
	SubmodeMode Mode = 0o160000
)

// Kind is what an entry of the mode points to.
func (m Mode) Kind() Kind {
	switch m {
	case DirMode:
		return TreeKind
	case SubmodeMode:
		return CommitKind
	}
	return BlobKind
}

// String is the mode in six octal digits.
func (m Mode) String() string {
	s := strconv.FormatUint(uint64(m), 8)
	return "000000"[:6-len(s)] + s
}

// Object says what an id stands for.
type Object struct {
	ID   OID
	Kind Kind
	Size int64
}

// Entry is one thing in a tree.
type Entry struct {
	ID   OID
	Mode Mode
	Path string // from the root of the commit
}

// Name is the last part of the path.
func (e Entry) Name() string {
	for i := len(e.Path) - 1; i >= 0; i-- {
		if e.Path[i] == '/' {
			return e.Path[i+1:]
		}
	}
	return e.Path
}

// Signature says who did something and when, in the zone where they were.
type Signature struct {
	Name  string
	Email string
	When  time.Time
}

// Commit is a commit as it was read.
type Commit struct {
	ID        OID
	Tree      OID
	Parents   []OID
	Author    Signature
	Committer Signature
	Message   string // UTF-8; what is not becomes U+FFFD
	Signed    bool   // carries a signature, which nobody checked
}

// Tag is an annotated tag.
type Tag struct {
	ID      OID
	Target  OID
	Kind    Kind // of the target
	Name    string
	Tagger  Signature
	Message string
}

// Ref is a name for an object.
type Ref struct {
	Name   string // "refs/heads/main"
	Target OID
	Peeled OID // the commit behind an annotated tag, else Target
}

// Branch is the name below refs/heads, or "".
func (r Ref) Branch() string { return below(r.Name, Branches) }

// TagName is the name below refs/tags, or "".
func (r Ref) TagName() string { return below(r.Name, Tags) }

// Where branches and tags live, what programs note about commits, and the
// commits that pipelines run on.
const (
	Branches  = "refs/heads/"
	Notes     = "refs/notes/"
	Pipelines = "refs/pipelines/"
	Tags      = "refs/tags/"
)

// ShortRef is the name of a branch or tag without its kind, and any other name as
// it is.
func ShortRef(name string) string {
	for _, kind := range []string{Branches, Tags} {
		if short, ok := strings.CutPrefix(name, kind); ok {
			return short
		}
	}
	return name
}

func below(name, prefix string) string {
	if len(name) > len(prefix) && name[:len(prefix)] == prefix {
		return name[len(prefix):]
	}
	return ""
}

// RefUpdate moves a ref from what it must be now to something else. Old is
// Zero where the ref must not exist, New is Zero where it is to go.
type RefUpdate struct {
	Name string `json:"ref"`
	Old  OID    `json:"old"`
	New  OID    `json:"new"`
}

// Repo is a repository of a store. It is a handle: making one costs nothing
// and says nothing about whether the repository exists.
type Repo struct {
	store      *Store
	key        Key
	quarantine Quarantine
	ticket     *Ticket // of the push that is worked on, or nil
}

// Repo is the repository of that key.
func (s *Store) Repo(k Key) *Repo { return &Repo{store: s, key: k} }

// Key names the repository.
func (r *Repo) Key() Key { return r.key }
