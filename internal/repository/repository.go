// Package repository owns the repositories of projects: where they lie, every
// push that was made, branches, tags, commits and files as the API shows them.
// It keeps the repositories of texts, too, for the rooms that own the texts.
// It does not own the disk or git (gitstore), the project around it (project),
// the rules that judge changes of refs (protection), what is said about
// commits (note), nor the transports (githttp, gitssh), which ask this room
// before they let anyone in.
//
// Tables: repositories, text_repositories, pushes, commit_statuses,
// repository_imports.
package repository

import (
	"time"

	"stithy/internal/gitstore"
)

// State is how far the life of a repository has come.
type State string

const (
	Planned   State = "new"       // the row is there, the disk is not
	Copying   State = "copying"   // a fork that a job is filling
	Importing State = "importing" // from elsewhere, by a job
	Ready     State = "ready"
	Failed    State = "failed" // the copy or the import did not work out
)

// Repository is the row: where the repository of a project is.
type Repository struct {
	ProjectID  int64
	Storage    string
	Generation int64 // counted up when another takes its place
	State      State
	ReadOnly   bool // while it is moved
	Empty      bool // nothing was ever pushed
	PushedAt   *time.Time
}

// Key is where it lies.
func (r *Repository) Key() gitstore.Key {
	return gitstore.KeyOf(r.Storage, r.ProjectID, r.Generation)
}

// Via is the door that a push came through.
type Via string

const (
	ViaHTTP Via = "http"
	ViaSSH  Via = "ssh"
	ViaAPI  Via = "api"
	ViaJob  Via = "job"
)

// Progress is how far a push has come.
type Progress string

const (
	Pending Progress = "pending" // written down; the refs may have moved or not
	Done    Progress = "done"
	Void    Progress = "void" // no ref moved
)

// Push is the row: who changed which refs.
type Push struct {
	ID        int64
	ProjectID *int64 // or
	TextID    *int64 // of a repository of texts
	UserID    *int64
	Via       Via
	State     Progress
	Updates   []gitstore.RefUpdate // what is to change, and what did when it is done
	Options   []string
	CreatedAt time.Time
}

// landed are the updates of a push that became true, judged afterwards by what
// the refs are now and by what others did since. Who built on a value has seen
// it. Two pushes may ask for the same: then the one that is known to be done
// did it.
func landed(asked []gitstore.RefUpdate, now map[string]gitstore.OID, since []Push) []gitstore.RefUpdate {
	var moved []gitstore.RefUpdate
	for _, u := range asked {
		there, others := now[u.Name] == u.New, false
		for _, p := range since {
			for _, v := range p.Updates {
				if v.Name == u.Name {
					there = there || v.Old == u.New
					others = others || (p.State == Done && v.New == u.New)
				}
			}
		}
		if there && !others {
			moved = append(moved, u)
		}
	}
	return moved
}
