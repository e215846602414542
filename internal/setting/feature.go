package setting

import (
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
)

// Definition describes a feature flag that some room asks for.
type Definition struct {
	Name           string
	Type           string // "development" until it is finished, "ops" for a switch that stays
	DefaultEnabled bool
}

// Definitions are the flags that rooms ask for, by name. An administrator may
// set others; they do nothing.
var Definitions = []Definition{
	{Name: "changelog_commits_limitation", Type: "ops", DefaultEnabled: true},
	{Name: "generic_alert_fingerprinting", Type: "development", DefaultEnabled: true},
	{Name: "integrated_error_tracking", Type: "development", DefaultEnabled: true},
	{Name: "ops_prune_old_events", Type: "ops", DefaultEnabled: true},
	{Name: "override_bulk_import_disabled", Type: "ops", DefaultEnabled: false},
	{Name: "prometheus_notify_max_alerts", Type: "ops", DefaultEnabled: true},
}

func definition(name string) (d Definition, known bool) {
	i := slices.IndexFunc(Definitions, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return d, false
	}
	return Definitions[i], true
}

// Actor is whom or what a flag may be open for, a kind and an id: "User:5".
type Actor string

// Gates are the ways in which a flag opens; one that is open is enough.
type Gates struct {
	Boolean            bool     `json:"boolean,omitempty"`
	Actors             []Actor  `json:"actors,omitempty"`
	PercentageOfActors float64  `json:"percentage_of_actors,omitempty"`
	PercentageOfTime   float64  `json:"percentage_of_time,omitempty"`
	Groups             []string `json:"groups,omitempty"` // kept for clients; no group of actors is defined
}

// Feature is a flag that an administrator has set.
type Feature struct {
	Name  string
	Gates Gates
}

// State sums the gates up.
func (g Gates) State() string {
	switch {
	case g.Boolean || g.PercentageOfTime == 100:
		return "on"
	case len(g.Actors) > 0 || len(g.Groups) > 0 || g.PercentageOfActors > 0 || g.PercentageOfTime > 0:
		return "conditional"
	}
	return "off"
}

func (g Gates) open(name string, actors []Actor) bool {
	if g.Boolean || (g.PercentageOfTime > 0 && rand.Float64()*100 < g.PercentageOfTime) {
		return true
	}
	return slices.ContainsFunc(actors, func(a Actor) bool {
		return slices.Contains(g.Actors, a) || share(name, a) < g.PercentageOfActors
	})
}

// share places an actor between 0 and 100, always at the same place for one
// flag and at another for the next.
func share(name string, a Actor) float64 {
	const grain = 1000
	return float64(crc32.ChecksumIEEE([]byte(name+string(a)))%(100*grain)) / grain
}

// FeatureChange is what an administrator asks of a flag, in their own words.
type FeatureChange struct {
	Value  string // true, false or a percentage
	Key    string // which percentage; of time when empty
	Groups []string
	Actors []ActorRef // whom to open it for, or to shut it for
}

// ActorRef names an actor as people do: a kind of user, group, namespace,
// project or repository, and its name or path.
type ActorRef struct{ Kind, Ref string }

// move is a FeatureChange that was understood.
type move struct {
	open       bool
	percentage float64
	gate       string // the percentage that is set; empty opens or shuts
	actors     []Actor
	groups     []string
}

func (c FeatureChange) move(name string, actors []Actor) (move, error) {
	m := move{actors: actors, groups: c.Groups}
	n, numeric := percentage(c.Value)
	switch {
	case c.Value == "true", numeric && n == 100:
		m.open = true
	case c.Value == "false", numeric && n == 0:
	case !numeric:
		return m, fault.WithReason(fault.Rejected, "Value must be boolean or numeric, got %s", c.Value)
	case n > 100:
		return m, fault.WithReason(fault.Rejected, "Value must not be more than 100, got %s", c.Value)
	case len(actors) > 0 || len(c.Groups) > 0:
		return m, fault.WithReason(fault.Rejected, "Cannot set '%s' to %q for single actors", name, c.Value)
	case c.Key == "", c.Key == percentageOfTime:
		m.gate, m.percentage = percentageOfTime, n
	case c.Key == percentageOfActors:
		m.gate, m.percentage = percentageOfActors, n
	default:
		return m, fault.WithReason(fault.Rejected, "Cannot set '%s' (%q) to %q", name, c.Key, c.Value)
	}
	return m, nil
}

const (
	percentageOfActors = "percentage_of_actors"
	percentageOfTime   = "percentage_of_time"
)

func (g Gates) after(m move) Gates {
	switch {
	case m.gate == percentageOfActors:
		g.PercentageOfActors = m.percentage
	case m.gate == percentageOfTime:
		g.PercentageOfTime = m.percentage
	case len(m.actors) == 0 && len(m.groups) == 0:
		return Gates{Boolean: m.open}
	default:
		g.Actors = members(g.Actors, m.actors, m.open)
		g.Groups = members(g.Groups, m.groups, m.open)
	}
	return g
}

// members adds to a set, or takes from it.
func members[T ~string](set, some []T, add bool) []T {
	all := map[T]bool{}
	for _, item := range set {
		all[item] = true
	}
	for _, item := range some {
		if delete(all, item); add {
			all[item] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// describe is the flag for people who read the audit trail.
func (g Gates) describe() string {
	parts := []string{g.State()}
	if g.PercentageOfActors > 0 {
		parts = append(parts, fmt.Sprintf("%v%% of actors", g.PercentageOfActors))
	}
	if g.PercentageOfTime > 0 {
		parts = append(parts, fmt.Sprintf("%v%% of time", g.PercentageOfTime))
	}
	for _, a := range g.Actors {
		parts = append(parts, string(a))
	}
	parts = append(parts, g.Groups...)
	return shown(strings.Join(parts, ", "))
}

// percentage reads a number as clients write it; neither NaN nor exponents.
func percentage(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}
