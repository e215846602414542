package bus

import "stithy/internal/kit/access"

// AuditRecord is an administrative act as the audit trail keeps it.
type AuditRecord struct {
	Type    string // "user_blocked"
	By      access.Actor
	Entity  Entity // whose trail the act belongs to
	Target  Target // what was acted on; the entity when empty
	Message string
	Change  *Change
	Add     string // kind of thing that came to be
	Remove  string // kind of thing that ceased to be
}

// EntityKind says whose trail it is.
type EntityKind string

const (
	OfUser     EntityKind = "User"
	OfGroup    EntityKind = "Group"
	OfProject  EntityKind = "Project"
	OfInstance EntityKind = "Instance"
)

// Entity is the owner of a trail.
type Entity struct {
	Kind EntityKind
	ID   int64
	Path string
	Name string
}

// Instance is the owner of the acts that concern everyone.
func Instance() Entity { return Entity{Kind: OfInstance, ID: 1} }

// Target is what was acted on.
type Target struct {
	Type    string
	ID      int64
	Details string
}

// Change is one attribute before and after.
type Change struct{ What, From, To string }

// Audited is an event that leaves a trace.
type Audited interface {
	Event
	AuditRecord() AuditRecord
}
