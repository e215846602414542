package pipeline

import (
	"context"
	"crypto/sha1" //nolint:gosec // see cacheKey
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/ciconfig"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

const (
	maxJobs        = 5000 // of one pipeline
	maxDeployments = 500  // of one pipeline
	maxVariables   = 1000 // given to one pipeline
	maxValue       = 1 << 20
	maxYAMLErrors  = 65_536
)

// CreateRequest is what somebody wants a pipeline for. Who that is, is an argument of
// Create: nothing of a request says as whom jobs run.
type CreateRequest struct {
	Source    Source
	Ref       string // short, or full when both a branch and a tag have it
	Variables []Variable

	// Of a push.
	SHA     string // instead of what the ref is now
	Before  string
	PushID  *int64
	Options []string

	ScheduleID *int64

	// Of a bridge.
	parent  *Pipeline
	bridge  *Job
	content []byte // of a child
	place   ciconfig.Place
	inputs  map[string]any
	within  func(ctx context.Context, tx pgx.Tx, made *Pipeline) error // in the transaction that makes it
}

// quiet reports whether nobody waits for an answer: what is wrong with the
// configuration is then kept as a pipeline that failed.
func (w *CreateRequest) quiet() bool { return w.Source == FromPush || w.Source == FromSchedule }

// refused are the texts for whoever asked for a pipeline.
func refused(texts ...string) error {
	return &fault.Error{Kind: fault.Rejected, Fields: fault.Fields{"base": texts}}
}

// textOf is what a refusal says.
func textOf(err error) string {
	f, _ := fault.Of(err)
	return strings.Join(f.Fields["base"], ", ")
}

// ErrNoRef says that there is no such branch or tag, in the words that clients know.
var ErrNoRef = refused("Reference not found")

// What is wrong with a request, in the words that clients know.
var (
	errDisabled    = refused("Pipelines are disabled!")
	errMayNot      = refused("Insufficient permissions to create a new pipeline")
	errVariables   = refused("Insufficient permissions to set pipeline variables")
	errAmbiguous   = refused("Ref is ambiguous")
	errNoCommit    = refused("Commit not found")
	errNoConfig    = refused("Missing CI config file")
	errTooLarge    = refused(fmt.Sprintf("The CI config file is larger than %d kB", ciconfig.MaxFile>>10))
	errFiltered    = refused("Pipeline filtered out by workflow rules.")
	errNoJobs      = refused("Pipeline will not run for the selected trigger. The rules configuration prevented any jobs from being added to the pipeline.")
	errTooMany     = refused("Too many pipelines created in the last minute. Try again later.")
	errImporting   = refused("Import in progress")
	errAlreadyMade = errors.New("the pipeline of this push is there")
)

// Create makes a pipeline with the rights that the actor has now, or says why
// not. The result is nil without an error where nothing was to be made: by a
// push whose configuration asks for no pipeline.
func (s *Service) Create(ctx context.Context, by access.Actor, p *project.Project, w CreateRequest) (*Pipeline, error) {
	c, err := s.createContext(ctx, by, p, &w)
	if err != nil {
		return nil, err
	}
	d := &draft{createContext: c, request: &w, by: by}
	if w.Source == FromPush && (skips(c.commit.Message) || slices.Contains(w.Options, "ci.skip")) {
		c.pipeline.Status = Skipped
		return s.write(ctx, d)
	}
	failed := func(problems ...string) (*Pipeline, error) {
		text := strings.Join(problems, ", ")
		c.pipeline.Status, c.pipeline.YAMLErrors, c.pipeline.FailureReason = Failed, new(cut(text, maxYAMLErrors)), new("config_error")
		return s.write(ctx, d)
	}
	name, content, err := s.configuration(ctx, by, c, &w)
	switch {
	case errors.Is(err, errNoConfig) && w.Source == FromPush:
		return nil, nil
	case errors.Is(err, errTooLarge) && w.quiet():
		return failed(textOf(err))
	case err != nil:
		return nil, err
	}
	if err := s.gather(ctx, by, c); err != nil {
		return nil, err
	}
	plan, problems, err := s.plan(ctx, by, c, &w, name, content)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		if !w.quiet() {
			return nil, refused(problems...)
		}
		return failed(problems...)
	}
	switch {
	case plan.Outcome == ciconfig.Filtered && w.Source == FromPush, plan.Outcome == ciconfig.NoJobs && w.Source == FromPush:
		return nil, nil
	case plan.Outcome == ciconfig.Filtered:
		return nil, errFiltered
	case plan.Outcome == ciconfig.NoJobs:
		return nil, errNoJobs
	}
	if err := keyCaches(ctx, c, plan); err != nil {
		return nil, err
	}
	d.plan = plan
	return s.write(ctx, d)
}

// maxKeyFiles is how many files the caches of one pipeline are named by.
const maxKeyFiles = 100

// keyCaches names the caches that are named by files: by the commits that
// touched those last.
func keyCaches(ctx context.Context, c *createContext, plan *ciconfig.Plan) error {
	var paths []string
	each := func(do func(index int, cache *ciconfig.Cache)) {
		for i := range plan.Jobs {
			for k := range plan.Jobs[i].Cache {
				if cache := &plan.Jobs[i].Cache[k]; len(cache.KeyFiles) > 0 {
					do(k, cache)
				}
			}
		}
	}
	each(func(_ int, cache *ciconfig.Cache) {
		for _, path := range cache.KeyFiles {
			if gitstore.CheckPath(path) == nil {
				paths = append(paths, path)
			}
		}
	})
	slices.Sort(paths)
	if paths = slices.Compact(paths); len(paths) > maxKeyFiles {
		return refused(fmt.Sprintf("The number of files that caches are named by has exceeded the limit of %d", maxKeyFiles))
	}
	last, err := c.repo.LastCommits(ctx, c.commit.ID, paths)
	if err != nil {
		return err
	}
	each(func(index int, cache *ciconfig.Cache) { cache.Key = cacheKey(index, cache, last) })
	return nil
}

// cacheKey is what runners know a cache by that is named by files.
func cacheKey(index int, cache *ciconfig.Cache, last map[string]gitstore.OID) string {
	var ids, stems []string
	for _, path := range cache.KeyFiles {
		if id, ok := last[path]; ok {
			ids = append(ids, string(id))
		}
		stem, _, _ := strings.Cut(path, ".")
		stems = append(stems, strings.ReplaceAll(stem, "/", "_"))
	}
	digest := "default"
	if len(ids) > 0 {
		slices.Sort(ids)
		digest = fmt.Sprintf("%x", sha1.Sum([]byte(strings.Join(ids, "-")))) //nolint:gosec // a name, as clients know it
	}
	if cache.KeyPrefix != "" {
		return cache.KeyPrefix + "-" + digest
	}
	return fmt.Sprintf("%d_%s-%s", index, strings.Join(stems, "_"), digest)
}

func cut(text string, most int) string {
	for most < len(text) && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:min(most, len(text))]
}

var skipMark = regexp.MustCompile(`(?i)\[(?:skip[ _-]ci|ci[ _-]skip)\]`)

// skips reports whether a commit asks for nothing to run.
func skips(message string) bool { return skipMark.MatchString(message) }

// createContext checks who wants what, and finds the commit.
func (s *Service) createContext(ctx context.Context, by access.Actor, p *project.Project, w *CreateRequest) (*createContext, error) {
	switch {
	case p.Features.Builds == project.Off || p.Features.Repository == project.Off || p.Archived:
		return nil, errDisabled
	case !access.Holds(by, access.CreatePipeline, p.Target()):
		return nil, errMayNot
	case p.ImportStatus == "started" || p.ImportStatus == "scheduled":
		return nil, errImporting
	}
	if err := s.checkVariables(by, p, w.Variables); err != nil {
		return nil, err
	}
	repo, err := s.deps.Repositories.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	name, tag, target, err := s.resolve(ctx, repo, w)
	if err != nil {
		return nil, err
	}
	may, err := s.deps.Protection.MayUpdateRef(ctx, by, p, name, tag)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, refused("You do not have sufficient permission to run a pipeline on '" + name +
			"'. Please select a different branch or contact your administrator for assistance.")
	}
	commit, err := repo.Commit(ctx, target)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid) {
		return nil, errNoCommit
	}
	if err != nil {
		return nil, err
	}
	if err := s.checkRate(ctx, by, p, string(commit.ID)); err != nil {
		return nil, err
	}
	protected, err := s.deps.Protection.ProtectedRef(ctx, s.deps.DB, p.ID, name, tag)
	if err != nil {
		return nil, err
	}
	before := w.Before
	if before == "" {
		before = string(gitstore.Zero)
	}
	c := &createContext{project: p, repo: repo, commit: commit, protected: protected, variables: w.Variables}
	c.pipeline = Pipeline{
		ProjectID: p.ID, SHA: string(commit.ID), BeforeSHA: before, Ref: name, Tag: tag, Status: Created, Source: w.Source,
		UserID: new(by.ID()), PushID: w.PushID, ScheduleID: w.ScheduleID, CommittedAt: new(commit.Committer.When), CreatedAt: s.deps.Clock.Now(),
	}
	if w.parent != nil {
		c.pipeline.ParentID, c.pipeline.RootID = new(w.parent.ID), w.parent.RootID
		if c.pipeline.RootID == nil {
			c.pipeline.RootID = new(w.parent.ID)
		}
		if w.Source == FromParent {
			c.pipeline.Child, c.pipeline.Depth = true, w.parent.Depth+1
		}
	}
	return c, nil
}

// resolve finds the ref that is meant and what it points to.
func (s *Service) resolve(ctx context.Context, repo *gitstore.Repo, w *CreateRequest) (name string, tag bool, target gitstore.OID, err error) {
	var hits []gitstore.Ref
	for _, kind := range []string{gitstore.Branches, gitstore.Tags} {
		full := kind + w.Ref
		if strings.HasPrefix(w.Ref, "refs/") {
			if full = w.Ref; !strings.HasPrefix(full, kind) {
				continue
			}
		}
		ref, err := repo.Ref(ctx, full)
		switch {
		case err == nil:
			hits = append(hits, ref)
		case !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, gitstore.ErrInvalid):
			return "", false, "", err
		}
	}
	switch len(hits) {
	case 0:
		return "", false, "", ErrNoRef
	case 1:
	default:
		return "", false, "", errAmbiguous
	}
	target = hits[0].Peeled
	if w.SHA != "" {
		target = gitstore.OID(w.SHA)
	}
	if name = hits[0].Branch(); name != "" {
		return name, false, target, nil
	}
	return hits[0].TagName(), true, target, nil
}

var keyForm = regexp.MustCompile(`^[A-Za-z0-9_]{1,255}$`)

// ValidKey reports whether a variable may be called so.
func ValidKey(key string) bool { return keyForm.MatchString(key) }

// checkVariables refuses variables that nobody may give, and names twice given.
func (s *Service) checkVariables(by access.Actor, p *project.Project, vars []Variable) error {
	if len(vars) == 0 {
		return nil
	}
	if p.Settings.RestrictUserDefinedVariables && p.Role < access.Maintainer && !by.Admin() {
		return errVariables
	}
	if len(vars) > maxVariables {
		return refused("Too many variables")
	}
	seen, twice := map[string]bool{}, []string(nil)
	for _, v := range vars {
		switch {
		case !ValidKey(v.Key):
			return refused("Variables key can contain only letters, digits and '_'.")
		case len(v.Value) > maxValue:
			return refused("Variables value is too long")
		case seen[v.Key] && !slices.Contains(twice, v.Key):
			twice = append(twice, v.Key)
		}
		seen[v.Key] = true
	}
	switch len(twice) {
	case 0:
		return nil
	case 1:
		return refused("Duplicate variable name: " + twice[0])
	}
	return refused("Duplicate variable names: " + strings.Join(twice, ", "))
}

// checkRate counts the pipelines that a person made of a commit in the last
// minute, if the instance limits them.
func (s *Service) checkRate(ctx context.Context, by access.Actor, p *project.Project, sha string) error {
	most := s.deps.Settings.Current().PipelineLimitPerProjectUserSHA
	if most <= 0 {
		return nil
	}
	n, err := postgres.Value[int](ctx, s.deps.DB, sqlRecentPipelines, p.ID, by.ID(), sha, s.deps.Clock.Now().Add(-time.Minute), most)
	if err == nil && n >= most {
		return errTooMany
	}
	return err
}

// configuration finds the file. Without one a push makes no pipeline.
func (s *Service) configuration(ctx context.Context, by access.Actor, c *createContext, w *CreateRequest) (name string, content []byte, err error) {
	if w.content != nil {
		return s.ConfigPath(c.project), w.content, nil
	}
	w.place = ciconfig.Place{Project: c.project.FullPath(), ProjectID: c.project.ID, SHA: c.pipeline.SHA}
	f := s.filesFor(by)
	path := s.ConfigPath(c.project)
	file, err := s.configFile(ctx, f, c, path)
	var missing *ciconfig.FetchError
	if errors.As(err, &missing) && missing.Reason == ciconfig.FileAbsent && path == s.deps.Names.CIFile() {
		file, err = f.read(ctx, c.project, c.repo, c.commit.ID, ".gitlab-ci.yml") // what clients know besides
	}
	switch {
	case errors.As(err, &missing) && missing.Reason == ciconfig.TooLarge:
		return "", nil, errTooLarge
	case errors.As(err, &missing):
		return "", nil, errNoConfig
	case err != nil:
		return "", nil, err
	}
	if file.Place.ProjectID != 0 {
		w.place = file.Place
	}
	return path, file.Body, nil
}

// configFile reads the configuration from where a project keeps it: here, in
// another project, or at an address.
func (s *Service) configFile(ctx context.Context, f *files, c *createContext, path string) (ciconfig.File, error) {
	if strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://") {
		return f.Remote(ctx, path)
	}
	if file, elsewhere, ok := strings.Cut(path, "@"); ok {
		home, ref, _ := strings.Cut(elsewhere, ":")
		return f.Project(ctx, ciconfig.Place{}, home, ref, file)
	}
	return f.read(ctx, c.project, c.repo, c.commit.ID, path)
}

// plan reads the configuration and says what the pipeline holds.
func (s *Service) plan(
	ctx context.Context, by access.Actor, c *createContext, w *CreateRequest, name string, content []byte,
) (*ciconfig.Plan, []string, error) {
	seat, err := s.takeSeat(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { seat.end() }()
	ctx, cancel := context.WithTimeout(ctx, fetchAll)
	defer cancel()
	src := s.filesFor(by)
	src.seat = seat
	config, problems, err := ciconfig.Load(ctx, s.sourceFor(src, w), ciconfig.LoadOptions{
		Content: content, Name: name, Place: w.place, Facts: c.facts, Inputs: w.inputs, Child: w.Source == FromParent, Kept: w.quiet(),
	})
	if err != nil {
		return nil, nil, err
	}
	if len(problems) > 0 {
		return nil, messages(problems), nil
	}
	plan, problems := config.Plan(c.facts)
	if len(problems) > 0 || plan.Outcome == ciconfig.Broken {
		return nil, messages(problems), nil
	}
	deployments := 0
	for _, j := range plan.Jobs {
		if j.Environment != nil {
			deployments++
		}
	}
	switch {
	case len(plan.Jobs) > maxJobs:
		return nil, []string{fmt.Sprintf("The number of jobs has exceeded the limit of %d. Try splitting the configuration with parent-child-pipelines", maxJobs)}, nil
	case deployments > maxDeployments:
		return nil, []string{fmt.Sprintf("Too many deployments created in the pipeline, the limit is %d", maxDeployments)}, nil
	}
	return plan, nil, nil
}

func messages(problems []ciconfig.Problem) []string {
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.Message)
	}
	return texts
}

// draft is a pipeline about to be written.
type draft struct {
	*createContext
	request *CreateRequest
	by      access.Actor
	plan    *ciconfig.Plan // nil: without jobs
}

// write makes a pipeline and its jobs true in one transaction, and lets them
// begin. It is the only place that says as whom jobs run.
func (s *Service) write(ctx context.Context, d *draft) (*Pipeline, error) {
	var made Pipeline
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		pl := d.pipeline
		if d.plan != nil {
			if d.plan.Name != "" {
				pl.Name = new(cut(d.plan.Name, 255))
			}
			pl.AutoCancel, pl.FailFast = d.plan.AutoCancel.OnNewCommit, d.plan.AutoCancel.OnJobFailure == "all"
		}
		var err error
		if pl.IID, err = postgres.Value[int64](ctx, tx, sqlNextIID, pl.ProjectID); err != nil {
			return err
		}
		pl.ID, err = postgres.Value[int64](ctx, tx, sqlInsertPipeline, pl.ProjectID, pl.IID, pl.SHA, pl.BeforeSHA, pl.Ref, pl.Tag, pl.Status,
			pl.Source, pl.Name, pl.FailureReason, pl.YAMLErrors, pl.AutoCancel, pl.FailFast, pl.UserID, pl.PushID, pl.ScheduleID, pl.ParentID,
			pl.RootID, pl.Child, pl.Depth, pl.CommittedAt, pl.CreatedAt, s.deps.Settings.Current().KeepLatestArtifact && d.project.Settings.KeepLatestArtifact)
		if err != nil {
			return postgres.Faults{"pipelines_push": errAlreadyMade, "pipelines_project_id_fkey": errMissing}.Translate(err)
		}
		if err := s.writeVariables(ctx, tx, pl.ID, d.variables); err != nil {
			return err
		}
		if d.plan != nil {
			if err := s.writeJobs(ctx, tx, &pl, d); err != nil {
				return err
			}
		}
		if d.request.within != nil {
			if err := d.request.within(ctx, tx, &pl); err != nil {
				return err
			}
		}
		if err := s.deps.Queue.Insert(ctx, tx, KeepArgs{PipelineID: pl.ID, ProjectID: pl.ProjectID, SHA: pl.SHA}); err != nil {
			return err
		}
		if d.plan != nil && !pl.Child && d.project.Settings.AutoCancelPendingPipelines != "disabled" {
			if err := s.deps.Queue.Insert(ctx, tx, SupersedeArgs{PipelineID: pl.ID}); err != nil {
				return err
			}
		}
		t, err := s.begin(ctx, tx, pl.ID)
		if err != nil {
			return err
		}
		t.was = ""
		if err := t.settle(ctx); err != nil {
			return err
		}
		made = t.pipeline
		return nil
	})
	if errors.Is(err, errAlreadyMade) {
		return found(postgres.One[Pipeline](ctx, s.deps.DB, sqlPipelineOfPush, d.pipeline.PushID, d.pipeline.Tag, d.pipeline.Ref))
	}
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// variablePlace is what a sealed variable is bound to.
func variablePlace(pipelineID int64, key string) string {
	return fmt.Sprintf("pipeline_variables.value:%d:%s", pipelineID, key)
}

func (s *Service) writeVariables(ctx context.Context, tx pgx.Tx, pipelineID int64, vars []Variable) error {
	for i, v := range vars {
		sealed, err := s.deps.Box.Seal([]byte(v.Value), variablePlace(pipelineID, v.Key))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlInsertVariable, pipelineID, v.Key, sealed, v.File, v.Raw, i); err != nil {
			return err
		}
	}
	return nil
}

type variableRow struct {
	Key   string
	Value []byte
	File  bool
	Raw   bool
}

// VariablesOf reads what a pipeline was given, in that order.
func (s *Service) VariablesOf(ctx context.Context, q postgres.Querier, pipelineID int64) ([]Variable, error) {
	rows, err := postgres.All[variableRow](ctx, q, sqlVariables, pipelineID)
	if err != nil {
		return nil, err
	}
	return s.openVariables(pipelineID, rows)
}

func (s *Service) openVariables(pipelineID int64, rows []variableRow) (vars []Variable, err error) {
	for _, r := range rows {
		value, err := s.deps.Box.Open(r.Value, variablePlace(pipelineID, r.Key))
		if err != nil {
			return nil, fmt.Errorf("opening a variable of a pipeline: %w", err)
		}
		vars = append(vars, Variable{Key: r.Key, Value: string(value), File: r.File, Raw: r.Raw})
	}
	return vars, nil
}

// Given reads the variables that people gave to a pipeline and to one of its
// jobs, in one round trip.
func (s *Service) Given(ctx context.Context, q postgres.Querier, pipelineID, jobID int64) (ofPipeline, played []Variable, err error) {
	var b pgx.Batch
	var rows []variableRow
	var documents [][]byte
	postgres.Queue(&b, &rows, sqlVariables, pipelineID)
	postgres.QueueValues(&b, &documents, sqlJobVariables, jobID)
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return nil, nil, err
	}
	if ofPipeline, err = s.openVariables(pipelineID, rows); err != nil {
		return nil, nil, err
	}
	played, err = s.openPlayed(jobID, documents)
	return ofPipeline, played, err
}

// resourceKey is what a resource group may be called.
var resourceKey = regexp.MustCompile(`^[a-zA-Z0-9_/\\${}. -]{1,255}$`)

// writeJobs stores what was planned.
func (s *Service) writeJobs(ctx context.Context, tx pgx.Tx, pl *Pipeline, d *draft) error {
	predefined := s.Predefined(d.project, pl, d.commit, d.protected, d.by.Person)
	type planned struct {
		*ciconfig.PlannedJob
		resource, environment string
	}
	jobs := make([]planned, len(d.plan.Jobs))
	var resources, environments []string
	for i := range d.plan.Jobs {
		j := &d.plan.Jobs[i]
		vars := slices.Concat(predefined, ciconfig.Variables{{Key: "CI_JOB_NAME", Value: j.Name, Raw: true}, {Key: "CI_JOB_STAGE", Value: j.Stage, Raw: true}},
			j.YAMLVariables, d.facts.Variables)
		expand := ciconfig.Expander(vars)
		jobs[i].PlannedJob = j
		for k, tag := range j.Tags {
			j.Tags[k] = expand(tag)
		}
		j.Publish, j.PathPrefix = expand(j.Publish), expand(j.PathPrefix)
		if j.Environment != nil {
			jobs[i].environment = cut(expand(j.Environment.Name), 255)
			environments = append(environments, jobs[i].environment)
		}
		if key := expand(j.ResourceGroup); resourceKey.MatchString(key) {
			jobs[i].resource = key
			resources = append(resources, key)
		}
	}
	groups, err := s.resourceIDs(ctx, tx, pl.ProjectID, resources)
	if err != nil {
		return err
	}
	if err := s.writeEnvironments(ctx, tx, pl.ProjectID, environments, d.plan); err != nil {
		return err
	}
	var b pgx.Batch
	for _, j := range jobs {
		document, err := json.Marshal(Spec{
			Job: j.Job, Group: j.Group, Variables: j.YAMLVariables, Needed: j.Needed, NodeIndex: j.NodeIndex, NodeTotal: j.NodeTotal, Because: j.Because,
		})
		if err != nil {
			return err
		}
		var needs []string
		if j.Needed != nil {
			needs = []string{}
			for _, n := range j.Needed {
				if n.Here() {
					needs = append(needs, n.Job)
				}
			}
		}
		tags := slices.Clone(j.Tags)
		slices.Sort(tags)
		if tags == nil {
			tags = []string{}
		}
		b.Queue(sqlInsertJob, pl.ProjectID, pl.ID, document, pl.UserID, j.Bridge(), j.Name, j.Stage, j.StageIndex, j.When,
			j.AllowFailure.Allowed && len(j.AllowFailure.ExitCodes) == 0, needs, slices.Compact(tags), j.Interruptible,
			int64(j.StartIn/time.Second), filled(j.environment), groups[j.resource], pl.CreatedAt)
	}
	return tx.SendBatch(ctx, &b).Close()
}

func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// resourceIDs finds resource groups by their keys, and makes those that are new.
func (s *Service) resourceIDs(ctx context.Context, tx pgx.Tx, projectID int64, keys []string) (map[string]*int64, error) {
	slices.Sort(keys) // two pipelines make them in one order
	ids := map[string]*int64{}
	for _, key := range slices.Compact(keys) {
		id, err := postgres.Value[int64](ctx, tx, sqlResourceID, projectID, key, s.deps.Clock.Now())
		if err != nil {
			return nil, err
		}
		ids[key] = &id
	}
	return ids, nil
}

// tierOf guesses what an environment is for from its name.
func tierOf(name string) string {
	name = strings.ToLower(name)
	for _, g := range []struct{ tier, pattern string }{
		{"production", `(?:^|[^a-z])(?:prod|production|live)(?:$|[^a-z])`},
		{"staging", `(?:^|[^a-z])(?:stag|staging|stage|stg|preprod|pre-prod|model|preview|pre)(?:$|[^a-z])`},
		{"testing", `(?:^|[^a-z])(?:test|tests|testing|tst|acceptance|acpt|qa|qc|control|quality|int|integration|gate)(?:$|[^a-z])`},
		{"development", `(?:^|[^a-z])(?:dev|development|review|trunk)(?:$|[^a-z])`},
	} {
		if regexp.MustCompile(g.pattern).MatchString(name) {
			return g.tier
		}
	}
	return "other"
}

func (s *Service) writeEnvironments(ctx context.Context, tx pgx.Tx, projectID int64, names []string, plan *ciconfig.Plan) error {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		tier := tierOf(name)
		for _, j := range plan.Jobs {
			if j.Environment != nil && j.Environment.Name == name && j.Environment.Tier != "" {
				tier = j.Environment.Tier
			}
		}
		if _, err := tx.Exec(ctx, sqlInsertEnvironment, projectID, name, cut(ciconfig.EnvironmentSlug(name), 24), tier, s.deps.Clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

// Supersede cancels the older pipelines of a ref that a new one makes
// redundant: those of other commits that nothing has begun in which must not be
// interrupted. It may run any number of times.
func (s *Service) Supersede(ctx context.Context, pipelineID int64) error {
	latest, err := s.ByID(ctx, s.deps.DB, pipelineID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	older, err := postgres.Values[int64](ctx, s.deps.DB, sqlRedundant, latest.ProjectID, latest.Ref, latest.Tag, latest.ID, latest.SHA,
		latest.CreatedAt.Add(-3*24*time.Hour))
	if err != nil {
		return err
	}
	for _, id := range older {
		err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			t, err := s.begin(ctx, tx, id)
			if err != nil {
				return err
			}
			switch t.pipeline.AutoCancel {
			case "none":
				return nil
			case "interruptible":
				for _, j := range t.jobs {
					if j.Interruptible && (j.Status == Created || j.Status == Scheduled || j.Status.Active()) {
						if err := t.move(j, Cancel); err != nil {
							return err
						}
					}
				}
				return t.settle(ctx)
			}
			if slices.ContainsFunc(t.jobs, func(j *Job) bool { return !j.Interruptible && j.StartedAt != nil && j.Status != Canceled }) {
				return nil
			}
			t.cancelAll()
			return t.settle(ctx)
		})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// Kept reports whether the commit of a pipeline is held.
func (s *Service) Kept(ctx context.Context, repo *gitstore.Repo, pipelineID int64) bool {
	_, err := repo.Ref(ctx, refOf(pipelineID))
	return err == nil
}

// KeepRef holds the commit of a pipeline, so that its jobs can be run again when
// the branch is gone.
func (s *Service) KeepRef(ctx context.Context, args KeepArgs) error {
	p, err := s.deps.Projects.Known(ctx, args.ProjectID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	repo, err := s.deps.Repositories.Open(ctx, p)
	if err != nil {
		return err
	}
	name := refOf(args.PipelineID)
	_, err = s.ByID(ctx, s.deps.DB, args.PipelineID)
	switch ref, lost := repo.Ref(ctx, name); {
	case fault.Is(err, fault.NotFound) && lost == nil:
		return repo.UpdateRefs(ctx, []gitstore.RefUpdate{{Name: name, Old: ref.Target, New: gitstore.Zero}})
	case fault.Is(err, fault.NotFound), err == nil && lost == nil:
		return nil
	case err != nil:
		return err
	}
	err = repo.UpdateRefs(ctx, []gitstore.RefUpdate{{Name: name, Old: gitstore.Zero, New: gitstore.OID(args.SHA)}})
	if err == nil {
		return nil
	}
	if _, lost := repo.Ref(ctx, name); lost != nil { // nobody else was quicker
		return err
	}
	return nil
}

func refOf(pipelineID int64) string { return gitstore.Pipelines + strconv.FormatInt(pipelineID, 10) }
