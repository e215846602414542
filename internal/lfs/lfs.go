// Package lfs owns large files: which project has which, where their bytes
// are, and who is working on which path. The bytes are in the blob store under
// their digest; a project has what was uploaded to it, bytes and all. Knowing a
// digest proves nothing.
//
// It does not own the door (githttp), which says who asks and what they may do,
// nor the pointers, which are ordinary files in a repository.
//
// Tables: lfs_objects, lfs_project_objects, lfs_locks.
package lfs

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Object is a large file by its digest.
type Object struct {
	OID  string `param:"oid" doc:"Digest of the file"`
	Size int64  `param:"size" doc:"Its size in bytes"`
}

var oidPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// valid reports whether the object can be one at all.
func (o Object) valid() bool { return oidPattern.MatchString(o.OID) && o.Size >= 0 }

// key is where the bytes are. It is made of a checked digest alone.
func (o Object) key() string { return "lfs/" + o.OID[:2] + "/" + o.OID[2:4] + "/" + o.OID }

// validPath reports whether a path can be kept at all.
func validPath(path string) bool {
	return len(path) <= 4096 && utf8.ValidString(path) && !strings.ContainsRune(path, 0)
}

// Lock says that somebody works on a path.
type Lock struct {
	ID        int64
	UserID    int64
	OwnerName string
	Path      string
	CreatedAt time.Time
}

// grace is how long bytes stay that no project has.
const grace = 7 * 24 * time.Hour

// ticketLife is how long a ticket given out over SSH opens the door.
const ticketLife = 30 * time.Minute
