package setting

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/ratelimit"
)

// rate is how often something may be done. A rate that no administrator can
// change has a fixed limit.
type rate struct {
	period    time.Duration
	fixed     int
	anonymous int // fixed, for everyone who is not signed in
	setting   func(*Settings) int
}

// rates are the limits on single endpoints and acts, by name. Rooms count by
// person or address; where more belongs to the key, the room adds it.
var rates = map[string]rate{
	"users_get_by_id":                         {period: 10 * time.Minute, setting: func(s *Settings) int { return s.UsersGetByIDLimit }},
	"projects_api_rate_limit_unauthenticated": {period: 10 * time.Minute, setting: func(s *Settings) int { return s.ProjectsAPIRateLimitUnauthenticated }},
	"project_repositories_archive":            {period: time.Minute, fixed: 5, anonymous: 100},
	"jobs_index":                              {period: time.Minute, setting: func(s *Settings) int { return s.ProjectJobsAPIRateLimit }},
	"project_export":                          {period: time.Minute, setting: func(s *Settings) int { return s.ProjectExportLimit }},
	"project_generate_new_export":             {period: time.Minute, setting: func(s *Settings) int { return s.ProjectExportLimit }},
	"project_download_export":                 {period: time.Minute, setting: func(s *Settings) int { return s.ProjectDownloadExportLimit }},
	"project_import":                          {period: time.Minute, setting: func(s *Settings) int { return s.ProjectImportLimit }},
	"group_export":                            {period: time.Minute, setting: func(s *Settings) int { return s.GroupExportLimit }},
	"group_download_export":                   {period: time.Minute, setting: func(s *Settings) int { return s.GroupDownloadExportLimit }},
	"group_import":                            {period: time.Minute, setting: func(s *Settings) int { return s.GroupImportLimit }},
	"search_rate_limit":                       {period: time.Minute, setting: func(s *Settings) int { return s.SearchRateLimit }},
	"search_rate_limit_unauthenticated":       {period: time.Minute, setting: func(s *Settings) int { return s.SearchRateLimitUnauthenticated }},
	"raw_blob":                                {period: time.Minute, setting: func(s *Settings) int { return s.RawBlobRequestLimit }},
	"issues_create":                           {period: time.Minute, setting: func(s *Settings) int { return s.IssuesCreateLimit }},
	"notes_create":                            {period: time.Minute, setting: func(s *Settings) int { return s.NotesCreateLimit }},
	"members_delete":                          {period: time.Minute, setting: func(s *Settings) int { return s.MembersDeleteLimit }},
	"pipelines_create":                        {period: time.Minute, setting: func(s *Settings) int { return s.PipelineLimitPerProjectUserSHA }},
	"project_uploads":                         {period: time.Hour, fixed: 300},
	"snippets_create":                         {period: time.Hour, fixed: 300},
	"play_pipeline_schedule":                  {period: time.Minute, fixed: 1},
	"project_testing_hook":                    {period: time.Minute, fixed: 5},
	"group_testing_hook":                      {period: time.Minute, fixed: 5},
	"project_testing_integration":             {period: time.Minute, fixed: 5},
	"bulk_import":                             {period: time.Minute, fixed: 6},
	"user_sign_in":                            {period: 10 * time.Minute, fixed: 5},
	"issues_update":                           {period: time.Minute, fixed: 600},
	"user_sign_up":                            {period: time.Minute, fixed: 20},
	"username_exists":                         {period: time.Minute, fixed: 20},
	"email_verification":                      {period: 10 * time.Minute, fixed: 10},
	"update_namespace_name":                   {period: time.Hour, fixed: 120},
}

// Throttle is the limit on API traffic, with or without a person.
func (s *Service) Throttle(signedIn bool) (ratelimit.Rule, bool) {
	now := s.Current()
	if signedIn {
		return ratelimit.Rule{
			Name:   "throttle_authenticated_api",
			Limit:  now.ThrottleAuthenticatedAPIRequestsPerPeriod,
			Period: time.Duration(now.ThrottleAuthenticatedAPIPeriodInSeconds) * time.Second,
		}, now.ThrottleAuthenticatedAPIEnabled
	}
	return ratelimit.Rule{
		Name:   "throttle_unauthenticated_api",
		Limit:  now.ThrottleUnauthenticatedAPIRequestsPerPeriod,
		Period: time.Duration(now.ThrottleUnauthenticatedAPIPeriodInSeconds) * time.Second,
	}, now.ThrottleUnauthenticatedAPIEnabled
}

// PageThrottle is the limit on pages, with or without a person.
func (s *Service) PageThrottle(signedIn bool) (ratelimit.Rule, bool) {
	now := s.Current()
	if signedIn {
		return ratelimit.Rule{
			Name:   "throttle_authenticated_web",
			Limit:  now.ThrottleAuthenticatedWebRequestsPerPeriod,
			Period: time.Duration(now.ThrottleAuthenticatedWebPeriodInSeconds) * time.Second,
		}, now.ThrottleAuthenticatedWebEnabled
	}
	return ratelimit.Rule{
		Name:   "throttle_unauthenticated_web",
		Limit:  now.ThrottleUnauthenticatedWebRequestsPerPeriod,
		Period: time.Duration(now.ThrottleUnauthenticatedWebPeriodInSeconds) * time.Second,
	}, now.ThrottleUnauthenticatedWebEnabled
}

// LargeFileThrottle is the limit on requests of LFS clients, for each person.
func (s *Service) LargeFileThrottle() (ratelimit.Rule, bool) {
	now := s.Current()
	return ratelimit.Rule{
		Name:   "throttle_authenticated_git_lfs",
		Limit:  now.ThrottleAuthenticatedGitLFSRequestsPerPeriod,
		Period: time.Duration(now.ThrottleAuthenticatedGitLFSPeriodInSeconds) * time.Second,
	}, now.ThrottleAuthenticatedGitLFSEnabled
}

// ProtectedPath is the limit on what is sent to a path, if it is one of those
// that the administrator watches.
func (s *Service) ProtectedPath(path string, signedIn bool) (ratelimit.Rule, bool) {
	now := s.Current()
	watched := func(prefix string) bool { return prefix != "" && strings.HasPrefix(path, prefix) }
	if !now.ThrottleProtectedPathsEnabled || !slices.ContainsFunc(now.ProtectedPaths, watched) {
		return ratelimit.Rule{}, false
	}
	rule := ratelimit.Rule{
		Name:   "throttle_unauthenticated_protected_paths",
		Limit:  now.ThrottleProtectedPathsRequestsPerPeriod,
		Period: time.Duration(now.ThrottleProtectedPathsPeriodInSeconds) * time.Second,
	}
	if signedIn {
		rule.Name = "throttle_authenticated_protected_paths_web"
	}
	return rule, true
}

// ThrottleText is what a throttled client reads.
func (s *Service) ThrottleText() string {
	return cmp.Or(string(s.Current().RateLimitingResponseText), "Retry later")
}

// MaxOffset is how deep paging by offset goes; 0 has no end.
func (s *Service) MaxOffset() int { return s.Current().OffsetPaginationLimit }

// Endpoint is the limit of this name for an actor; false when there is none
// for them.
func (s *Service) Endpoint(name string, a access.Actor) (ratelimit.Rule, bool) {
	r, known := rates[name]
	now := s.Current()
	if !known || exempt(now, name, a) {
		return ratelimit.Rule{}, false
	}
	rule := ratelimit.Rule{Name: name, Limit: r.fixed, Period: r.period}
	if r.setting != nil {
		rule.Limit = r.setting(now)
	}
	if r.anonymous > 0 && !a.SignedIn() {
		rule.Limit = r.anonymous
	}
	return rule, rule.Limit > 0
}

func exempt(now *Settings, name string, a access.Actor) bool {
	if !a.SignedIn() {
		return false
	}
	listed := func(usernames []string) bool {
		return slices.ContainsFunc(usernames, func(u string) bool { return strings.EqualFold(u, a.Person.Username) })
	}
	switch name {
	case "projects_api_rate_limit_unauthenticated", "search_rate_limit_unauthenticated":
		return true
	case "users_get_by_id":
		return a.Admin() || listed(now.UsersGetByIDLimitAllowlist)
	case "notes_create":
		return listed(now.NotesCreateLimitAllowlist)
	}
	return false
}
