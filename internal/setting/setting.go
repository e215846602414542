// Package setting owns what an administrator decides for the whole instance
// while it runs: application settings, feature flags and rate limits. It also
// answers what the instance is, as the operator configured it: its tier, how
// it is offered, its version.
//
// It does not own what settings bring about: the room that acts on one reads
// it from [Service.Current]. Neither does it keep the credentials of outside
// services; no setting holds a secret.
//
// Tables: settings, features.
package setting

import (
	"runtime/debug"

	"stithy/internal/kit/wire"
)

// Version is the level of the API that clients look for before they use what
// came with it. It is not the version of this program; Revision tells that.
const Version = "16.11.0"

// The tiers of features on offer.
const (
	Free     = "free"
	Premium  = "premium"
	Ultimate = "ultimate"
)

// Instance is what the operator configured. It does not change while the
// process runs.
type Instance struct {
	Tier     string // Free, Premium or Ultimate
	Hosted   bool   // offered to the public as a service
	Version  string // Version when empty
	Revision string // of the source; read from the binary when empty
	Names    wire.Names
}

// Enterprise reports whether paid features are on offer.
func (i Instance) Enterprise() bool { return i.Tier != Free }

// buildRevision is the commit that the binary was built from, if that is known.
func buildRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(11, len(s.Value))]
		}
	}
	return ""
}
