package wire_test

import (
	"testing"

	"stithy/internal/kit/wire"
)

func TestEveryNameFollowsTheSettings(t *testing.T) {
	t.Parallel()
	svc := wire.Names{Service: "svc", Errors: "errsvc"}
	known := wire.Names{Service: "gitlab", ServiceName: "GitLab", Errors: "sentry"}
	token := func(kind wire.TokenKind) func(wire.Names) string {
		return func(n wire.Names) string { return n.TokenPrefix(kind) }
	}
	for _, row := range []struct {
		name       string
		of         func(wire.Names) string
		svc, known string
	}{
		{"text", wire.Names.Text, "Svc", "GitLab"},
		{"session cookie", wire.Names.SessionCookie, "_svc_session", "_gitlab_session"},
		{"header", func(n wire.Names) string { return n.Header("File-Name") }, "X-Svc-File-Name", "X-Gitlab-File-Name"},
		{"CI file", wire.Names.CIFile, ".svc-ci.yml", ".gitlab-ci.yml"},
		{"changelog", wire.Names.ChangelogConfig, ".svc/changelog_config.yml", ".gitlab/changelog_config.yml"},
		{"templates of issues", wire.Names.IssueTemplates, ".svc/issue_templates", ".gitlab/issue_templates"},
		{"templates of merge requests", wire.Names.MergeRequestTemplates, ".svc/merge_request_templates", ".gitlab/merge_request_templates"},
		{"audit scope", wire.Names.InstanceScope, "Svc::Audit::InstanceScope", "Gitlab::Audit::InstanceScope"},
		{"audit path", wire.Names.InstancePath, "svc_instance", "gitlab_instance"},
		{"environment", wire.Names.EnvironmentLabel, "svc_environment_name", "gitlab_environment_name"},
		{"incident", wire.Names.IncidentMarkdown, "svc_incident_markdown", "gitlab_incident_markdown"},
		{"Y label", wire.Names.YLabel, "svc_y_label", "gitlab_y_label"},
		{"DSN", wire.Names.ErrorsDSN, "errsvc_dsn", "sentry_dsn"},
		{"errors URL", wire.Names.ErrorsExternalURL, "errsvc_external_url", "sentry_external_url"},
		{"personal token", token(wire.PersonalToken), "svcpat-", "glpat-"},
		{"OAuth secret", token(wire.OAuthSecret), "svcoas-", "gloas-"},
		{"runner token", token(wire.RunnerToken), "glrt-", "glrt-"},
		{"job token", token(wire.JobToken), "svccbt-", "glcbt-"},
		{"trigger token", token(wire.TriggerToken), "svcptt-", "glptt-"},
		{"deploy token", token(wire.DeployToken), "svcdt-", "gldt-"},
		{"feed token", token(wire.FeedToken), "svcft-", "glft-"},
		{"incoming mail", token(wire.IncomingMail), "svcimt-", "glimt-"},
		{"agent token", token(wire.AgentToken), "svcagent-", "glagent-"},
		{"error-tracking key", token(wire.ErrorTrackingKey), "svcet_", "glet_"},
	} {
		if got := row.of(svc); got != row.svc {
			t.Errorf("%s of svc is %q, want %q", row.name, got, row.svc)
		}
		if got := row.of(known); got != row.known {
			t.Errorf("%s of gitlab is %q, want %q", row.name, got, row.known)
		}
	}
}
