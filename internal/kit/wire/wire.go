// Package wire owns the names on the wire that hold the service's own name or that of the error-tracking
// backend: cookies, headers, token prefixes, file names, members of answers. An operator who has clients
// that know another service's names changes three settings and every name follows.
//
// It does not own names that clients match byte for byte whatever the settings say (CI_*, PRIVATE-TOKEN):
// those stand as literals where they are used. The runner's token prefix is the one exception, because it
// sits in a family that otherwise follows the settings.
package wire

import (
	"cmp"
	"strings"
)

// Brand is what people call the program on its pages, whatever its names on the wire.
const Brand = "Stithy"

// Names are the settings from which all names follow. Service and Errors are of the form [a-z][a-z0-9]*,
// ServiceName is the service's name as text.
type Names struct {
	Service     string
	ServiceName string
	Errors      string
}

// TokenKind is the part of a token prefix that says what the token is for.
type TokenKind string

// The kinds of tokens that carry a prefix.
const (
	PersonalToken    TokenKind = "pat" // also of projects, groups and impersonation
	OAuthSecret      TokenKind = "oas"
	RunnerToken      TokenKind = "rt"
	JobToken         TokenKind = "cbt"
	TriggerToken     TokenKind = "ptt"
	DeployToken      TokenKind = "dt"
	FeedToken        TokenKind = "ft"
	IncomingMail     TokenKind = "imt"
	AgentToken       TokenKind = "agent"
	ErrorTrackingKey TokenKind = "et"
)

// TokenPrefix is what a token of this kind begins with.
func (n Names) TokenPrefix(kind TokenKind) string {
	service := n.Service
	// Clients of that name know the short form. A runner knows nothing else: without "glrt-" it takes its
	// token for a registration token and registers a second time.
	if service == "gitlab" || kind == RunnerToken {
		service = "gl"
	}
	end := "-"
	if kind == ErrorTrackingKey {
		end = "_" // the key is the user name of a DSN
	}
	return service + string(kind) + end
}

// Text is the service's name in sentences that clients show or look for.
func (n Names) Text() string { return cmp.Or(n.ServiceName, n.capital()) }

// capital is the service's name inside identifiers that begin with a capital.
func (n Names) capital() string {
	first := min(1, len(n.Service))
	return strings.ToUpper(n.Service[:first]) + n.Service[first:]
}

// SessionCookie is the cookie of a signed-in browser.
func (n Names) SessionCookie() string { return "_" + n.Service + "_session" }

// Header is a header of the service's own, for example Header("File-Name").
func (n Names) Header(name string) string { return "X-" + n.capital() + "-" + name }

// CIFile is where a repository keeps its pipeline.
func (n Names) CIFile() string { return "." + n.Service + "-ci.yml" }

// ChangelogConfig is where a repository says how its changelog is written.
func (n Names) ChangelogConfig() string { return "." + n.Service + "/changelog_config.yml" }

// IssueTemplates is the folder in which a repository keeps what issues begin with.
func (n Names) IssueTemplates() string { return "." + n.Service + "/issue_templates" }

// MergeRequestTemplates is the folder in which a repository keeps what merge requests begin with.
func (n Names) MergeRequestTemplates() string { return "." + n.Service + "/merge_request_templates" }

// InstanceScope is the entity type of audit events that concern the whole instance.
func (n Names) InstanceScope() string { return n.capital() + "::Audit::InstanceScope" }

// InstancePath is the entity path of audit events that concern the whole instance.
func (n Names) InstancePath() string { return n.Service + "_instance" }

// EnvironmentLabel is the alert label that names an environment.
func (n Names) EnvironmentLabel() string { return n.Service + "_environment_name" }

// IncidentMarkdown is the alert annotation that is appended to an incident.
func (n Names) IncidentMarkdown() string { return n.Service + "_incident_markdown" }

// YLabel is the alert annotation that names the Y axis.
func (n Names) YLabel() string { return n.Service + "_y_label" }

// ErrorsDSN is the member of a client key that holds its connection string.
func (n Names) ErrorsDSN() string { return n.Errors + "_dsn" }

// ErrorsExternalURL is the member of the error-tracking settings that links to the backend.
func (n Names) ErrorsExternalURL() string { return n.Errors + "_external_url" }
