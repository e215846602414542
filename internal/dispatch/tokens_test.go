package dispatch

import (
	"slices"
	"strings"
	"testing"

	"stithy/internal/ciconfig"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/runner"
)

// OA-12: a job gets no token that an application of this instance would take
// for a sign-in.
func TestOA12_AJobThatAsksForASignInFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const uid = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	w.exec(t, `insert into oauth_applications (uid, secret_digest, name, redirect_uri, scopes, confidential, trusted, created_at, updated_at)
values ($1, $2, 'app', 'https://app.example/', '{openid}', true, false, $3, $3)`, uid, make([]byte, 32), w.now)
	request := JobRequest{Runner: runner.Runner{ID: 7, Type: runner.Instance, RunUntagged: true}, Secret: "glrt-runnersecret"}
	token := func(aud ...string) func(*pipeline.Spec) {
		return func(s *pipeline.Spec) {
			s.Variables = ciconfig.Variables{{Key: "CLIENT", Value: uid}}
			s.Job.IDTokens = []ciconfig.IDToken{{Name: "ID", Aud: aud}}
		}
	}
	for _, aud := range [][]string{{uid}, {"https://vault.example", uid}, {"$CLIENT"}, {"${CLIENT}"}} {
		job := w.pending(t, w.project, token(aud...))
		if given := w.ask(t, request); given != nil {
			t.Errorf("%v: the job was handed out", aud)
		}
		reason, err := postgres.Value[string](t.Context(), w.deps.DB, `select status || ' ' || coalesce(failure_reason, '') from jobs where id = $1`, job)
		if err != nil || reason != "failed unmet_prerequisites" {
			t.Errorf("%v: %s, %v", aud, reason, err)
		}
	}
	w.pending(t, w.project, token("https://vault.example"))
	given := w.ask(t, request)
	if given == nil || !slices.ContainsFunc(given.Variables, func(v Variable) bool { return v.Key == "ID" && strings.Count(v.Value, ".") == 2 && v.Masked }) {
		t.Errorf("no token for others: %+v", given)
	}
}
