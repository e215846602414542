// Package deploykey owns deploy keys: SSH keys of machines that fetch from the
// projects they are enabled for, and push where that was allowed. A push has
// the rights that whoever made the key has now, and no key proves both a
// machine and an account.
//
// It does not own the keys of people (user), nor the door that takes either
// (gitssh).
//
// Tables: deploy_keys, deploy_key_projects. ssh_fingerprints follows from them.
package deploykey

import (
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"stithy/internal/kit/fault"
	"stithy/internal/user"
)

// Key is a deploy key, as a project has it where it was asked for in one.
type Key struct {
	ID                int64
	Title             string
	Key               string // type and blob
	FingerprintMD5    string
	FingerprintSHA256 string
	CreatedByID       *int64
	ExpiresAt         *time.Time
	CreatedAt         time.Time
	CanPush           bool
}

// Expired reports whether the key has stopped working by itself.
func (k *Key) Expired(now time.Time) bool { return k.ExpiresAt != nil && !now.Before(*k.ExpiresAt) }

// Draft is what someone says of a key that they add.
type Draft struct {
	Title     string
	Key       string
	CanPush   bool
	ExpiresAt *time.Time
}

// check reads the key and lists all that is wrong with it.
func (d Draft) check(now time.Time) (ssh.PublicKey, error) {
	var f fault.Fields
	checkTitle(d.Title, &f)
	key := user.ParseSSHKey(d.Key, &f)
	if d.ExpiresAt != nil && !d.ExpiresAt.After(now) {
		f.Add("key", "has expired")
	}
	return key, f.Err()
}

func checkTitle(title string, f *fault.Fields) {
	switch {
	case strings.TrimSpace(title) == "":
		f.Add("title", "can't be blank")
	case utf8.RuneCountInString(title) > 255:
		f.Add("title", "is too long (maximum is 255 characters)")
	}
}
