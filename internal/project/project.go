// Package project owns projects: their settings, features, visibility, forks
// and stars, and their life from creation to removal. It does not own the
// namespaces they stand in (group), who is a member (grant, member), nor what
// is in their repositories (repository).
//
// Tables: projects, project_avatars, project_stars, project_custom_attributes.
package project

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Project is a project with the namespace it stands in and the role of
// whoever asked for it.
type Project struct {
	ID             int64
	NamespaceID    int64
	CreatorID      *int64
	Name           string
	Path           string
	Description    string
	Visibility     access.Visibility
	Archived       bool
	DefaultBranch  *string
	Topics         []string
	Avatar         string
	Features       Features
	Settings       Settings
	Storage        string
	StarCount      int
	ForksCount     int
	ForkedFromID   *int64
	ImportStatus   string
	ImportError    string
	LastActivityAt time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time

	NamespaceKind       string
	NamespaceName       string
	NamespacePath       string
	NamespaceFullName   string
	NamespaceFullPath   string
	NamespaceParentID   *int64
	NamespaceOwnerID    *int64
	NamespaceVisibility access.Visibility
	NamespaceAvatar     string

	Role access.Role

	powerless bool // see access.Target
}

// FullPath is the path that the project is found under.
func (p *Project) FullPath() string { return p.NamespaceFullPath + "/" + p.Path }

// FullName is the names on the way to the project.
func (p *Project) FullName() string { return p.NamespaceFullName + " / " + p.Name }

// ModifiedAt lets a client delete only what it has seen.
func (p *Project) ModifiedAt() time.Time { return p.UpdatedAt }

// Target is the project as the actor stands in it. Its features are part of
// it, so that whoever asks for an ability asks for the feature, too.
func (p *Project) Target() access.Target {
	place := access.Target{Visibility: p.Visibility, Role: p.Role, Frozen: p.Archived, Powerless: p.powerless}
	runs := p.Features.Builds
	switch p.Features.Repository {
	case Off:
		place.Off, runs = []access.Feature{access.Code}, Off // nothing runs without code
	case Members:
		place.Private = []access.Feature{access.Code}
		if runs == Everyone {
			runs = Members
		}
	}
	switch {
	case runs == Off:
		place.Off = append(place.Off, access.Pipelines, access.Jobs)
	case runs == Members:
		place.Private = append(place.Private, access.Pipelines, access.Jobs)
	case !p.Settings.PublicJobs:
		place.Private = append(place.Private, access.Jobs)
	}
	for _, feature := range [...]struct {
		of    access.Feature
		level Level
	}{{access.Issues, p.Features.Issues}, {access.Wiki, p.Features.Wiki}, {access.Snippets, p.Features.Snippets}} {
		switch feature.level {
		case Off:
			place.Off = append(place.Off, feature.of)
		case Members:
			place.Private = append(place.Private, feature.of)
		}
	}
	// What sorts issues and merge requests is there as long as either is, for whoever uses either.
	switch issues, requests := p.Features.Issues, p.Features.MergeRequests; {
	case issues == Off && requests == Off:
		place.Off = append(place.Off, access.Planning)
	case issues != Everyone && requests != Everyone:
		place.Private = append(place.Private, access.Planning)
	}
	if p.Settings.PublicJobs {
		place.Lowered = map[access.Ability]access.Role{
			access.ReadPipelines: access.Guest, access.ReadJobs: access.Guest, access.ViewJobs: access.Guest, access.DownloadArtifacts: access.Guest,
		}
	}
	return place
}

// LimitKey tells the project apart where requests are counted.
func (p *Project) LimitKey() string { return strconv.FormatInt(p.ID, 10) }

// Entity is the owner of the project's trail.
func (p *Project) Entity() bus.Entity {
	return bus.Entity{Kind: bus.OfProject, ID: p.ID, Path: p.FullPath(), Name: p.Name}
}

// Level says who may use a feature.
type Level string

const (
	Off       Level = "disabled"
	Members   Level = "private"
	Everyone  Level = "enabled" // who sees the project
	Strangers Level = "public"  // Pages alone: anyone, even of a private project
)

// Features are the parts of a project and who may use them. Absent members
// have their defaults.
type Features struct {
	Issues                Level `json:"issues"`
	Repository            Level `json:"repository"`
	MergeRequests         Level `json:"merge_requests"`
	Forking               Level `json:"forking"`
	Wiki                  Level `json:"wiki"`
	Builds                Level `json:"builds"`
	Snippets              Level `json:"snippets"`
	Pages                 Level `json:"pages"`
	Analytics             Level `json:"analytics"`
	ContainerRegistry     Level `json:"container_registry"`
	SecurityAndCompliance Level `json:"security_and_compliance"`
	Releases              Level `json:"releases"`
	Environments          Level `json:"environments"`
	FeatureFlags          Level `json:"feature_flags"`
	Infrastructure        Level `json:"infrastructure"`
	Monitor               Level `json:"monitor"`
}

// levels are the features by name, in the order that the API shows them.
func (f *Features) levels() []namedLevel {
	return []namedLevel{
		{"issues", &f.Issues}, {"repository", &f.Repository}, {"merge_requests", &f.MergeRequests}, {"forking", &f.Forking},
		{"wiki", &f.Wiki}, {"builds", &f.Builds}, {"snippets", &f.Snippets}, {"pages", &f.Pages}, {"analytics", &f.Analytics},
		{"container_registry", &f.ContainerRegistry}, {"security_and_compliance", &f.SecurityAndCompliance}, {"releases", &f.Releases},
		{"environments", &f.Environments}, {"feature_flags", &f.FeatureFlags}, {"infrastructure", &f.Infrastructure}, {"monitor", &f.Monitor},
	}
}

type namedLevel struct {
	area  string
	level *Level
}

func defaultFeatures() Features {
	return Features{
		Issues: Everyone, Repository: Everyone, MergeRequests: Everyone, Forking: Everyone, Wiki: Everyone, Builds: Everyone,
		Snippets: Everyone, Pages: Members, Analytics: Everyone, ContainerRegistry: Everyone, SecurityAndCompliance: Members,
		Releases: Everyone, Environments: Everyone, FeatureFlags: Everyone, Infrastructure: Everyone, Monitor: Everyone,
	}
}

// Scan reads the document over the defaults.
func (f *Features) Scan(src any) error {
	*f = defaultFeatures()
	return decode(src, f)
}

// Scan reads the document over the defaults.
func (s *Settings) Scan(src any) error {
	*s = defaultSettings()
	return decode(src, s)
}

func decode(src, dst any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("project: a document comes as %T", src)
	}
	return json.Unmarshal([]byte(text), dst)
}

// MayRead reports whether the actor may use a feature that asks for at least
// a role on a private project or a members-only feature.
func (p *Project) MayRead(a access.Actor, level Level, from access.Role) bool {
	switch {
	case level == Off:
		return false
	case a.Admin(), a.Auditor(), p.Role >= from:
		return true
	}
	return level != Members && access.Sees(a, access.Target{Visibility: p.Visibility})
}

// MayReadCode reports whether the actor may read the repository.
func (p *Project) MayReadCode(a access.Actor) bool {
	return access.Holds(a, access.ReadCode, p.Target())
}

// mayFork reports whether the actor may make a copy of the project.
func (p *Project) mayFork(a access.Actor) bool {
	return access.Holds(a, access.ForkProject, p.Target()) && p.MayRead(a, p.Features.Forking, access.Guest)
}
