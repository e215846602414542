package pipeline

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stithy/internal/ciconfig"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/variable"
)

// Predefined are the variables of a pipeline that follow from the instance, its
// project, its commit and whoever made it. Those of the job and of the runner
// come with the job. CI_PIPELINE_ID and CI_PIPELINE_URL are left out while the
// pipeline has no id.
func (s *Service) Predefined(p *project.Project, pl *Pipeline, c *gitstore.Commit, protected bool, by *access.Person) ciconfig.Variables {
	var vars ciconfig.Variables
	set := func(key, value string) { vars = append(vars, ciconfig.Variable{Key: key, Value: value, Raw: true}) }
	set("CI", "true")
	set("GITLAB_CI", "true")
	s.setServer(set)
	set("CI_PROJECT_ID", strconv.FormatInt(p.ID, 10))
	set("CI_PROJECT_NAME", p.Path)
	set("CI_PROJECT_TITLE", p.Name)
	set("CI_PROJECT_DESCRIPTION", p.Description)
	set("CI_PROJECT_PATH", p.FullPath())
	set("CI_PROJECT_PATH_SLUG", ciconfig.Slug(p.FullPath()))
	set("CI_PROJECT_NAMESPACE", p.NamespaceFullPath)
	set("CI_PROJECT_NAMESPACE_ID", strconv.FormatInt(p.NamespaceID, 10))
	root, _, _ := strings.Cut(p.NamespaceFullPath, "/")
	set("CI_PROJECT_ROOT_NAMESPACE", root)
	set("CI_PROJECT_URL", s.deps.ExternalURL+"/"+p.FullPath())
	set("CI_PROJECT_VISIBILITY", p.Visibility.String())
	set("CI_PROJECT_REPOSITORY_LANGUAGES", "")
	set("CI_DEFAULT_BRANCH", s.deps.Projects.BranchOf(p))
	set("CI_CONFIG_PATH", s.ConfigPath(p))
	if pl.ID != 0 {
		set("CI_PIPELINE_ID", strconv.FormatInt(pl.ID, 10))
		set("CI_PIPELINE_URL", s.page(p, "pipelines/"+strconv.FormatInt(pl.ID, 10)))
		set("CI_PIPELINE_IID", strconv.FormatInt(pl.IID, 10))
	}
	set("CI_PIPELINE_SOURCE", string(pl.Source))
	set("CI_PIPELINE_CREATED_AT", pl.CreatedAt.UTC().Format(time.RFC3339))
	if pl.Name != nil {
		set("CI_PIPELINE_NAME", *pl.Name)
	}
	if pl.Source == FromTrigger {
		set("CI_PIPELINE_TRIGGERED", "true")
	}
	set("CI_COMMIT_SHA", pl.SHA)
	set("CI_COMMIT_SHORT_SHA", pl.SHA[:min(8, len(pl.SHA))])
	set("CI_COMMIT_BEFORE_SHA", pl.BeforeSHA)
	set("CI_COMMIT_REF_NAME", pl.Ref)
	set("CI_COMMIT_REF_SLUG", ciconfig.Slug(pl.Ref))
	set("CI_COMMIT_REF_PROTECTED", strconv.FormatBool(protected))
	if pl.Tag {
		set("CI_COMMIT_TAG", pl.Ref)
	} else {
		set("CI_COMMIT_BRANCH", pl.Ref)
	}
	if c != nil {
		title, rest, _ := strings.Cut(c.Message, "\n")
		set("CI_COMMIT_MESSAGE", c.Message)
		set("CI_COMMIT_TITLE", title)
		set("CI_COMMIT_DESCRIPTION", strings.TrimLeft(rest, "\n"))
		set("CI_COMMIT_AUTHOR", fmt.Sprintf("%s <%s>", c.Author.Name, c.Author.Email))
		set("CI_COMMIT_TIMESTAMP", c.Committer.When.Format(time.RFC3339))
	}
	if by != nil {
		set("GITLAB_USER_ID", strconv.FormatInt(by.ID, 10))
		set("GITLAB_USER_LOGIN", by.Username)
		set("GITLAB_USER_NAME", by.Name)
		set("GITLAB_USER_EMAIL", by.Email)
	}
	return vars
}

func (s *Service) setServer(set func(key, value string)) {
	set("CI_SERVER_URL", s.deps.ExternalURL)
	if u, err := url.Parse(s.deps.ExternalURL); err == nil {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		set("CI_SERVER_HOST", u.Hostname())
		set("CI_SERVER_PORT", port)
		set("CI_SERVER_PROTOCOL", u.Scheme)
	}
	set("CI_SERVER_NAME", s.deps.Names.Text())
	set("CI_SERVER_VERSION", setting.Version)
	parts := strings.SplitN(setting.Version, ".", 3)
	for i, name := range []string{"MAJOR", "MINOR", "PATCH"} {
		if i < len(parts) {
			number, _, _ := strings.Cut(parts[i], "-")
			set("CI_SERVER_VERSION_"+name, number)
		}
	}
	set("CI_SERVER_REVISION", s.deps.Settings.Instance().Revision)
	set("CI_API_V4_URL", s.deps.ExternalURL+"/api/v4")
	set("CI_API_GRAPHQL_URL", s.deps.ExternalURL+"/api/graphql")
	set("GITLAB_FEATURES", "")
}

// ConfigPath is where a project keeps its configuration.
func (s *Service) ConfigPath(p *project.Project) string {
	if path := p.Settings.CIConfigPath; path != nil && *path != "" {
		return *path
	}
	return s.deps.Names.CIFile()
}

// On is what somebody is given variables for: something that runs on a ref.
type On struct {
	Project     *project.Project
	Ref         string // short
	Tag         bool
	Protected   bool    // as the rules of the project have it now
	Lineage     []int64 // the groups above the project, from the top; looked up when empty
	Environment string  // "" for none
}

// VariablesFor reads what somebody is given of the variables of a project, its
// groups and the instance, and reports whether they are given any. It is the only
// place that decides it, for whatever is checked, planned or run: those who may
// run pipelines on the ref now are given all that fit it, everyone else nothing,
// so that nothing which a variable decides tells them of its value.
func (s *Service) VariablesFor(ctx context.Context, by access.Actor, on On) (vars []variable.Variable, may bool, err error) {
	if !access.Holds(by, access.CreatePipeline, on.Project.Target()) {
		return nil, false, nil
	}
	if on.Protected {
		if may, err := s.deps.Protection.MayUpdateRef(ctx, by, on.Project, on.Ref, on.Tag); err != nil || !may {
			return nil, false, err
		}
	}
	vars, err = s.stored(ctx, on)
	return vars, true, err
}

// stored reads the variables that something on a ref is given.
func (s *Service) stored(ctx context.Context, on On) (vars []variable.Variable, err error) {
	if len(on.Lineage) == 0 {
		if on.Lineage, err = postgres.Value[[]int64](ctx, s.deps.DB, sqlLineage, on.Project.ID); err != nil {
			return nil, err
		}
	}
	return s.deps.Variables.ForJob(ctx, s.deps.DB, variable.Query{
		ProjectID: on.Project.ID, GroupIDs: on.Lineage, Protected: on.Protected, Environment: on.Environment,
	})
}

// outer are the variables that somebody is given from a project, its groups and
// the instance, as a configuration sees them.
func (s *Service) outer(ctx context.Context, by access.Actor, on On) (vars ciconfig.Variables, given bool, err error) {
	all, given, err := s.VariablesFor(ctx, by, on)
	return forConfig(all), given, err
}

func forConfig(all []variable.Variable) ciconfig.Variables {
	var vars ciconfig.Variables
	for _, v := range all {
		vars = append(vars, ciconfig.Variable{Key: v.Key, Value: v.Value.Reveal(), Raw: v.Raw, File: v.Type == variable.File, Masked: v.Masked})
	}
	return vars
}

// giver is who gave a pipeline its variables: whoever made it, or the owner of the
// schedule that it or the first of its line came from, whoever played that;
// nobody once the schedule is gone.
func (s *Service) giver(ctx context.Context, pl *Pipeline) (*int64, error) {
	first := pl
	if pl.RootID != nil {
		var err error
		if first, err = s.ByID(ctx, s.deps.DB, *pl.RootID); err != nil {
			return nil, notFoundIsNil(err)
		}
	}
	switch {
	case first.Source != FromSchedule:
		return pl.UserID, nil
	case first.ScheduleID == nil:
		return nil, nil
	}
	return s.deps.Schedules.Owner(ctx, *first.ScheduleID)
}

// createContext is all that decides what a pipeline holds.
type createContext struct {
	project   *project.Project
	repo      *gitstore.Repo
	commit    *gitstore.Commit
	pipeline  Pipeline // without an id
	variables []Variable
	protected bool
	given     bool // whoever asks is given variables that are stored
	facts     ciconfig.Facts
}

// gather collects the facts.
func (s *Service) gather(ctx context.Context, by access.Actor, c *createContext) error {
	pl := &c.pipeline
	on := On{Project: c.project, Ref: pl.Ref, Tag: pl.Tag, Protected: c.protected}
	outer, given, err := s.outer(ctx, by, on)
	if err != nil {
		return err
	}
	c.given = given
	own := forFile(c.variables)
	c.facts = ciconfig.Facts{
		Source: string(pl.Source), Ref: pl.Ref, Tag: pl.Tag, Protected: c.protected, Project: c.project.FullPath(),
		Predefined: s.Predefined(c.project, pl, c.commit, c.protected, by.Person), Variables: append(outer, own...),
		ForEnvironment: func(name string) ciconfig.Variables {
			on.Environment = name
			vars, _, err := s.outer(ctx, by, on)
			if err != nil {
				return append(outer, own...)
			}
			return append(vars, own...)
		},
		Changes: func() ([]string, bool) {
			if pl.Tag || pl.Source != FromPush || isZero(pl.BeforeSHA) {
				return nil, false
			}
			return changed(ctx, c.repo, gitstore.OID(pl.BeforeSHA), c.commit.ID)
		},
		ChangesFrom: func(ref string) ([]string, bool) {
			from, err := s.deps.Repositories.Revision(ctx, c.repo, c.project, ref)
			if err != nil {
				return nil, false
			}
			if base, err := c.repo.MergeBase(ctx, from, c.commit.ID); err == nil {
				from = base
			}
			return changed(ctx, c.repo, from, c.commit.ID)
		},
		Exists: ciconfig.ExistsIn(func() []string {
			paths, _ := tree(ctx, c.repo, c.commit.ID)
			return paths
		}),
		ExistsAt: func(path, ref, glob string) (bool, bool) {
			f := s.filesFor(by)
			_, repo, sha, err := f.at(ctx, path, ref)
			if err != nil {
				return false, false
			}
			return ciconfig.ExistsIn(func() []string {
				paths, _ := tree(ctx, repo, sha)
				return paths
			})(glob), true
		},
	}
	return nil
}

func forFile(vars []Variable) ciconfig.Variables {
	var out ciconfig.Variables
	for _, v := range vars {
		out = append(out, ciconfig.Variable{Key: v.Key, Value: v.Value, File: v.File, Raw: v.Raw})
	}
	return out
}

func isZero(sha string) bool { return strings.Trim(sha, "0") == "" }

// changed lists the paths that differ between two commits.
func changed(ctx context.Context, repo *gitstore.Repo, from, to gitstore.OID) ([]string, bool) {
	files, more, err := repo.Changes(ctx, from, to, maxTreeSize)
	if err != nil || more {
		return nil, false
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.NewPath)
	}
	return paths, true
}
