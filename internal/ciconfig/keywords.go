package ciconfig

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// texts reads a list of strings.
func (c *checker) texts(n *node, path, otherwise string) []string {
	if !n.is(list) {
		c.add(n, path, "%s", otherwise)
		return nil
	}
	all := make([]string, 0, len(n.items))
	for _, item := range n.items {
		if !item.is(text) {
			c.add(item, path, "%s", otherwise)
			return nil
		}
		all = append(all, item.text)
	}
	return all
}

// textOrTexts reads a string or a list of them.
func (c *checker) textOrTexts(n *node, path, attribute string) []string {
	if n.is(text) {
		return []string{n.text}
	}
	return c.texts(n, path, attribute+" should be an array of strings or a string")
}

func (c *checker) text(n *node, path, attribute string) string {
	if !n.is(text) {
		c.add(n, path, "%s should be a string", attribute)
	}
	return n.text
}

func (c *checker) boolean(n *node, path, attribute string) bool {
	if !n.is(boolean) {
		c.add(n, path, "%s should be a boolean value", attribute)
	}
	return n.text == "true"
}

func (c *checker) duration(n *node, path, attribute string, limit time.Duration) time.Duration {
	d, never, err := ParseDuration(n.text)
	switch {
	case err != nil || never || !n.scalar():
		c.add(n, path, "%s should be a duration", attribute)
		return 0
	case d > limit:
		c.add(n, path, "%s should not exceed the limit", attribute)
	}
	return d
}

func (c *checker) script(n *node, path string) []string {
	const otherwise = "config should be a string or a nested array of strings up to 10 levels deep"
	if n.is(text) {
		if n.text == "" {
			return nil
		}
		return []string{n.text}
	}
	if !n.is(list) {
		c.add(n, path, otherwise)
		return nil
	}
	lines := []string{}
	for _, item := range flatten(n, MaxReference-1) {
		if !item.is(text) {
			c.add(item, path, otherwise)
			return nil
		}
		lines = append(lines, item.text)
	}
	return lines
}

var variableName = regexp.MustCompile(`^[A-Za-z0-9_]{1,255}$`)

func (c *checker) variables(n *node, path string, global bool) Variables {
	if n.is(null) {
		return nil
	}
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	var all Variables
	for _, e := range n.entries {
		if !variableName.MatchString(e.key) {
			c.add(&node{at: e.at}, path+":"+e.key, "key can contain only letters, digits and '_'.")
			continue
		}
		v := Variable{Key: e.key}
		switch {
		case e.value.scalar():
			v.Value = e.value.text
		case e.value.is(hash):
			c.variable(&v, e.value, path+":"+e.key, global)
		default:
			p := problem(e.value.at, "variable definition must be either a string or a hash")
			c.problems = append(c.problems, *p)
			continue
		}
		all = append(all, v)
	}
	return all
}

func (c *checker) variable(v *Variable, n *node, path string, global bool) {
	allowed := []string{"value", "expand"}
	if global {
		allowed = []string{"value", "description", "options", "expand"}
	}
	for _, key := range []string{"description", "options"} {
		if !global && n.has(key) {
			c.add(n.get(key), path, "config uses invalid data keys: %s", key)
			return
		}
	}
	if !c.keys(n, path, allowed...) {
		return
	}
	if value := n.get("value"); value != nil {
		if !value.scalar() {
			c.add(value, path, "config value must be an alphanumeric string")
		}
		v.Value = value.text
	}
	if d := n.get("description"); d != nil {
		if !d.scalar() {
			c.add(d, path, "config description must be an alphanumeric string")
		}
		v.Description = d.text
	}
	if e := n.get("expand"); e != nil {
		v.Raw = !c.boolean(e, path, "config expand")
	}
	if o := n.get("options"); o != nil {
		v.Options = c.texts(o, path, "config options should be an array of strings")
		if len(v.Options) > 0 && !slices.Contains(v.Options, v.Value) {
			c.add(o, path, "config value must be present in options")
		}
	}
}

var imageKeys = []string{"name", "entrypoint", "pull_policy", "docker", "kubernetes", "ports"}

func (c *checker) image(n *node, path string) *Image {
	if n.is(text) {
		if strings.TrimSpace(n.text) == "" {
			c.add(n, path, "name can't be blank")
		}
		return &Image{Name: n.text}
	}
	if !n.is(hash) {
		c.add(n, path, "config should be a hash or a string")
		return nil
	}
	c.keys(n, path, imageKeys...)
	return c.imageParts(n, path)
}

func (c *checker) imageParts(n *node, path string) *Image {
	i := &Image{}
	switch name := n.get("name"); {
	case name == nil || name.is(null) || name.is(text) && strings.TrimSpace(name.text) == "":
		c.add(n, path, "name can't be blank")
	default:
		i.Name = c.text(name, path, "name")
	}
	if v := n.get("entrypoint"); v != nil {
		i.Entrypoint = c.texts(v, path, "entrypoint should be an array of strings")
	}
	if v := n.get("pull_policy"); v != nil {
		i.PullPolicy = c.textOrTexts(v, path+":pull_policy", "config")
		for _, p := range i.PullPolicy {
			if !slices.Contains([]string{"always", "never", "if-not-present"}, p) {
				c.add(v, path+":pull_policy", "config should be one of: always, never, if-not-present")
			}
		}
	}
	if v := n.get("docker"); v != nil {
		if !v.is(hash) {
			c.add(v, path+":docker", "config should be a hash")
			return i
		}
		c.keys(v, path+":docker", "platform", "user")
		if p := v.get("platform"); p != nil {
			i.Platform = c.text(p, path+":docker", "platform")
		}
		if u := v.get("user"); u != nil {
			i.User = c.text(u, path+":docker", "user")
		}
	}
	return i
}

func (c *checker) services(n *node, path string) []Service {
	if n.is(null) {
		return nil
	}
	if !n.is(list) {
		c.add(n, path, "config should be a array")
		return nil
	}
	all := []Service{}
	for _, item := range n.items {
		below := path + ":service"
		switch {
		case item.is(text):
			if item.text == "" {
				c.add(item, below, "name can't be blank")
			}
			all = append(all, Service{Image: Image{Name: item.text}})
		case item.is(hash):
			c.keys(item, below, append([]string{"alias", "command", "variables"}, imageKeys...)...)
			s := Service{Image: *c.imageParts(item, below)}
			if v := item.get("alias"); v != nil {
				s.Alias = c.text(v, below, "alias")
			}
			if v := item.get("command"); v != nil {
				s.Command = c.texts(v, below, "command should be an array of strings")
			}
			if v := item.get("variables"); v != nil {
				s.Variables = c.variables(v, below+":variables", false)
			}
			all = append(all, s)
		default:
			c.add(item, below, "config should be a hash or a string")
		}
	}
	return all
}

func (c *checker) tags(n *node, path string) []string {
	all := c.texts(n, path, "config should be an array of strings")
	if len(all) >= MaxTags {
		c.add(n, path, "config must be less than the limit of %d tags", MaxTags)
	}
	return all
}

var reportTypes = []string{
	"junit", "dotenv", "codequality", "sast", "secret_detection", "dependency_scanning", "container_scanning", "cluster_image_scanning",
	"dast", "license_scanning", "performance", "browser_performance", "load_performance", "metrics", "lsif", "terraform",
	"accessibility", "requirements", "requirements_v2", "coverage_fuzzing", "api_fuzzing", "cyclonedx", "annotations",
}

func (c *checker) artifacts(n *node, path string) *Artifacts {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	c.keys(n, path, "name", "untracked", "paths", "exclude", "reports", "when", "expire_in", "expose_as", "public", "access")
	a := &Artifacts{}
	for _, e := range n.entries {
		v := e.value
		switch e.key {
		case "name":
			a.Name = c.text(v, path, "name")
		case "untracked":
			a.Untracked = c.boolean(v, path, "untracked")
		case "paths":
			a.Paths = c.texts(v, path, "paths should be an array of strings")
		case "exclude":
			a.Exclude = c.texts(v, path, "exclude should be an array of strings")
		case "reports":
			a.Reports = c.reports(v, path+":reports")
		case "when":
			if a.When = v.text; !slices.Contains([]string{OnSuccess, OnFailure, Always}, v.text) {
				c.add(v, path, "when should be one of: on_success, on_failure, always")
			}
		case "expire_in":
			if _, _, err := ParseDuration(v.text); err != nil || !v.scalar() {
				c.add(v, path, "expire in should be a duration")
			}
			a.ExpireIn = v.text
		case "expose_as":
			a.ExposeAs = c.text(v, path, "expose as")
			switch {
			case len([]rune(a.ExposeAs)) > 100:
				c.add(v, path, "expose as is too long (maximum is 100 characters)")
			case !exposed.MatchString(a.ExposeAs) && v.is(text):
				c.add(v, path, "expose as can contain only letters, digits, '-', '_' and spaces")
			}
		case "public":
			if a.Access == "" {
				a.Access = map[bool]string{true: "all", false: "developer"}[c.boolean(v, path, "public")]
			}
		case "access":
			if a.Access = v.text; !slices.Contains([]string{"all", "developer", "maintainer", "none"}, v.text) {
				c.add(v, path, "access should be one of: none, developer, maintainer, all")
			}
		}
	}
	if n.has("public") && n.has("access") {
		c.add(n, path, "please use only one of the following keys: public, access")
	}
	if a.ExposeAs != "" {
		switch {
		case len(a.Paths) == 0:
			c.add(n.get("expose_as"), path, "expose as requires paths")
		case slices.ContainsFunc(a.Paths, func(p string) bool { return strings.Contains(p, "*") }):
			c.add(n.get("paths"), path, "paths can't contain '*' when used with 'expose_as'")
		}
	}
	return a
}

var exposed = regexp.MustCompile(`^[a-zA-Z0-9_ -]+$`)

func (c *checker) reports(n *node, path string) []Report {
	if n.is(null) {
		return nil
	}
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	c.keys(n, path, append([]string{"coverage_report"}, reportTypes...)...)
	var all []Report
	for _, e := range n.entries {
		switch {
		case e.key == "coverage_report":
			if r := c.coverageReport(e.value, path+":coverage_report"); r != nil {
				all = append(all, *r)
			}
		case slices.Contains(reportTypes, e.key):
			all = append(all, Report{Type: e.key, Paths: c.textOrTexts(e.value, path, strings.ReplaceAll(e.key, "_", " "))})
		}
	}
	return all
}

func (c *checker) coverageReport(n *node, path string) *Report {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	c.keys(n, path, "coverage_format", "path")
	r := &Report{}
	switch format := n.get("coverage_format"); {
	case format == nil:
		c.add(n, path, "coverage format can't be blank")
	case format.text != "cobertura" && format.text != "jacoco":
		c.add(format, path, "coverage format must be one of supported formats: cobertura, jacoco.")
	default:
		r.Type = format.text
	}
	if p := n.get("path"); p != nil {
		r.Paths = []string{c.text(p, path, "path")}
	} else {
		c.add(n, path, "path can't be blank")
	}
	return r
}

func (c *checker) caches(n *node, path string) []Cache {
	if n.is(null) {
		return nil
	}
	if n.is(hash) {
		return []Cache{c.cache(n, path)}
	}
	if !n.is(list) {
		c.add(n, path, "config should be a hash or an array of hashes")
		return nil
	}
	if len(n.items) > 4 {
		c.add(n, path, "config no more than 4 caches can be created")
		return nil
	}
	all := []Cache{}
	for _, item := range n.items {
		if !item.is(hash) {
			c.add(item, path, "config should be a hash or an array of hashes")
			return nil
		}
		all = append(all, c.cache(item, path))
	}
	return all
}

func (c *checker) cache(n *node, path string) Cache {
	out := Cache{Policy: "pull-push", When: OnSuccess}
	c.keys(n, path, "key", "paths", "untracked", "policy", "when", "unprotect", "fallback_keys")
	for _, e := range n.entries {
		v := e.value
		switch e.key {
		case "key":
			c.cacheKey(&out, v, path+":key")
		case "paths":
			out.Paths = c.texts(v, path+":paths", "config should be an array of strings")
		case "untracked":
			out.Untracked = c.boolean(v, path+":untracked", "config")
		case "policy":
			if out.Policy = v.text; !slices.Contains([]string{"pull-push", "push", "pull"}, v.text) && !strings.HasPrefix(v.text, "$") {
				c.add(v, path, "policy should be a variable or one of: pull-push, push, pull")
			}
		case "when":
			if out.When = v.text; !slices.Contains([]string{OnSuccess, OnFailure, Always}, v.text) && !strings.HasPrefix(v.text, "$") {
				c.add(v, path, "when should be one of: on_success, on_failure, always")
			}
		case "unprotect":
			out.Unprotect = c.boolean(v, path+":unprotect", "config")
		case "fallback_keys":
			if out.FallbackKeys = c.texts(v, path, "fallback keys should be an array of strings"); len(out.FallbackKeys) > 5 {
				c.add(v, path, "fallback keys has too many entries (maximum 5)")
			}
		}
	}
	return out
}

func (c *checker) cacheKey(out *Cache, n *node, path string) {
	switch {
	case n.scalar():
		out.Key = n.text
		if bad := strings.Trim(n.text, "."); strings.ContainsAny(n.text, "/") || strings.Contains(strings.ToLower(n.text), "%2f") || bad == "" && len(n.text) < 3 && n.text != "" {
			c.add(n, path, `config cannot contain the "/" character, and cannot be "." or ".."`)
		}
	case n.is(hash):
		c.keys(n, path, "files", "prefix")
		files := n.get("files")
		if files == nil {
			c.add(n, path, "config missing required keys: files")
			return
		}
		out.KeyFiles = c.texts(files, path+":files", "config should be an array of strings")
		switch {
		case files.is(list) && len(files.items) == 0:
			c.add(files, path+":files", "config requires at least 1 item")
		case len(out.KeyFiles) > 2:
			c.add(files, path+":files", "config has too many items (maximum is 2)")
		}
		if p := n.get("prefix"); p != nil {
			if !p.scalar() {
				c.add(p, path+":prefix", "config should be a string or a symbol")
			}
			out.KeyPrefix = p.text
		}
	default:
		c.add(n, path, "should be a hash, a string or a symbol")
	}
}

var failureReasons = []string{
	"always", "unknown_failure", "script_failure", "api_failure", "stuck_or_timeout_failure", "runner_system_failure",
	"missing_dependency_failure", "runner_unsupported", "stale_schedule", "job_execution_timeout", "archived_failure",
	"unmet_prerequisites", "scheduler_failure", "data_integrity_failure", "forward_deployment_failure", "user_blocked", "project_deleted",
	"ci_quota_exceeded", "pipeline_loop_detected", "no_matching_runner", "trace_size_exceeded", "builds_disabled",
	"environment_creation_failure", "deployment_rejected", "failed_outdated_deployment_job", "protected_environment_failure",
	"insufficient_bridge_permissions", "downstream_bridge_project_not_found", "invalid_bridge_trigger",
	"upstream_bridge_project_not_found", "insufficient_upstream_permissions", "bridge_pipeline_is_child_pipeline",
	"downstream_pipeline_creation_failed", "secrets_provider_not_found", "reached_max_descendant_pipelines_depth", "ip_restriction_failure",
	"reached_max_pipeline_hierarchy_size",
}

func (c *checker) retry(n *node, path string) Retry {
	var r Retry
	switch {
	case n.is(integer):
		r.Max = c.retryMax(n, path, "config")
	case n.is(hash):
		c.keys(n, path, "max", "when", "exit_codes")
		if v := n.get("max"); v != nil {
			if !v.is(integer) {
				c.add(v, path, "max is not a number")
			}
			r.Max = c.retryMax(v, path, "max")
		}
		if v := n.get("when"); v != nil {
			r.When = c.textOrTexts(v, path, "when")
			var unknown []string
			for _, w := range r.When {
				if !slices.Contains(failureReasons, w) {
					unknown = append(unknown, w)
				}
			}
			if unknown != nil {
				c.add(v, path, "when contains unknown values: %s", strings.Join(unknown, ", "))
			}
		}
		if v := n.get("exit_codes"); v != nil {
			r.ExitCodes = c.integers(v, path, "exit codes")
		}
	default:
		c.add(n, path, "config has to be either an integer or a hash")
	}
	return r
}

func (c *checker) retryMax(n *node, path, attribute string) int {
	i, _ := strconv.Atoi(n.text)
	switch {
	case i < 0:
		c.add(n, path, "%s must be greater than or equal to 0", attribute)
	case i > 2:
		c.add(n, path, "%s must be less than or equal to 2", attribute)
	}
	return i
}

func (c *checker) integers(n *node, path, attribute string) []int {
	items := []*node{n}
	if n.is(list) {
		items = n.items
	}
	all := []int{}
	for _, item := range items {
		i, err := strconv.Atoi(item.text)
		if !item.is(integer) || err != nil {
			c.add(item, path, "%s should be an array of integers or an integer", attribute)
			return nil
		}
		all = append(all, i)
	}
	return all
}

func (c *checker) allowFailure(n *node, path string, j *Job) AllowFailure {
	switch {
	case n.is(boolean):
		return AllowFailure{Allowed: n.text == "true"}
	case n.is(hash):
		c.keys(n, path+":allow_failure", "exit_codes")
		codes := n.get("exit_codes")
		if codes == nil {
			c.add(n, path+":allow_failure", "config missing required keys: exit_codes")
			return j.AllowFailure
		}
		return AllowFailure{ExitCodes: c.integers(codes, path+":allow_failure", "exit codes")}
	}
	c.add(n, path, "allow failure should be a hash or a boolean value")
	return AllowFailure{}
}

func (c *checker) coverage(n *node, path string) string {
	if _, ok := compileRegexp(n.text); !ok || !n.is(text) {
		c.add(n, path, "config must be a regular expression")
		return ""
	}
	return n.text[1:strings.LastIndexByte(n.text, '/')]
}

func (c *checker) hooks(n *node, path string) Hooks {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return Hooks{}
	}
	c.keys(n, path, "pre_get_sources_script")
	var h Hooks
	if v := n.get("pre_get_sources_script"); v != nil {
		h.PreGetSources = c.script(v, path+":pre_get_sources_script")
	}
	return h
}

func (c *checker) idTokens(n *node, path string) []IDToken {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	var all []IDToken
	for _, e := range n.entries {
		below := path + ":" + e.key
		if !e.value.is(hash) {
			c.add(e.value, below, "config should be a hash")
			continue
		}
		c.keys(e.value, below, "aud")
		aud := e.value.get("aud")
		if aud == nil {
			c.add(e.value, below, "config missing required keys: aud")
			continue
		}
		all = append(all, IDToken{Name: e.key, Aud: c.textOrTexts(aud, below, "aud")})
	}
	return all
}

var environmentName = regexp.MustCompile(`^[a-zA-Z0-9_/$\{\}\. -]+$`)

func (c *checker) environment(n *node, path string) *Environment {
	e := &Environment{Action: "start"}
	switch {
	case n.is(text):
		e.Name = n.text
	case n.is(hash):
		c.keys(n, path, "name", "url", "action", "on_stop", "auto_stop_in", "kubernetes", "deployment_tier")
		c.environmentParts(e, n, path)
	default:
		c.add(n, path, "config should be a hash or a string")
		return nil
	}
	switch {
	case e.Name == "":
		c.add(n, path, "name can't be blank")
	case !environmentName.MatchString(e.Name) || strings.HasPrefix(e.Name, "/") || strings.HasSuffix(e.Name, "/"):
		c.add(n, path, "name can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'")
	}
	return e
}

func (c *checker) environmentParts(e *Environment, n *node, path string) {
	for _, part := range n.entries {
		v := part.value
		switch part.key {
		case "name":
			e.Name = v.text
			if !v.scalar() && !v.is(null) {
				c.add(v, path, "name should be a string")
			}
		case "url":
			e.URL = c.text(v, path, "url")
			if u, err := url.Parse(e.URL); !strings.Contains(e.URL, "$") && e.URL != "" &&
				(err != nil || u.Scheme != "http" && u.Scheme != "https") {
				c.add(v, path, "url must be a valid url")
			}
		case "action":
			if e.Action = v.text; !slices.Contains([]string{"start", "stop", "prepare", "verify", "access"}, v.text) {
				c.add(v, path, "action should be start, stop, prepare, verify, or access")
			}
		case "on_stop":
			e.OnStop = c.text(v, path, "on stop")
		case "auto_stop_in":
			e.AutoStopIn = v.text
			if _, _, err := ParseDuration(v.text); !strings.Contains(v.text, "$") && (err != nil || !v.scalar()) {
				c.add(v, path, "auto stop in should be a duration")
			}
		case "deployment_tier":
			if e.Tier = v.text; !slices.Contains([]string{"production", "staging", "testing", "development", "other"}, v.text) {
				c.add(v, path, "deployment tier must be one of production, staging, testing, development, or other")
			}
		case "kubernetes":
			if !v.is(hash) {
				c.add(v, path+":kubernetes", "config should be a hash")
				continue
			}
			c.keys(v, path+":kubernetes", "namespace", "agent", "flux_resource_path")
			if ns := v.get("namespace"); ns != nil {
				e.KubernetesNamespace = c.text(ns, path+":kubernetes", "namespace")
			}
		}
	}
}

func (c *checker) needs(n *node, path string) []Need {
	all := []Need{}
	items := []*node{n}
	switch {
	case n.is(list):
		items = n.items
	case !n.is(hash, text):
		c.add(n, path, "config can only be a hash or an array")
		return all
	}
	for _, item := range items {
		below := path + ":need"
		switch {
		case item.is(text):
			all = append(all, Need{Job: item.text, Artifacts: true})
		case item.is(hash):
			all = append(all, c.need(item, below))
		default:
			c.add(item, below, "has an unsupported type")
		}
	}
	return all
}

func (c *checker) need(n *node, path string) Need {
	need := Need{Artifacts: true}
	switch {
	case n.has("project"):
		c.keys(n, path, "project", "ref", "job", "artifacts")
		for _, key := range []string{"job", "ref"} {
			if !n.has(key) {
				c.add(n, path, "%s can't be blank", key)
			}
		}
	case n.has("pipeline"):
		c.keys(n, path, "pipeline", "job", "artifacts")
	default:
		c.keys(n, path, "job", "artifacts", "optional", "parallel")
		if !n.has("job") {
			c.add(n, path, "job can't be blank")
		}
	}
	for _, e := range n.entries {
		v := e.value
		switch e.key {
		case "job":
			need.Job = c.text(v, path, "job")
		case "project":
			need.Project = c.text(v, path, "project")
		case "ref":
			need.Ref = c.text(v, path, "ref")
		case "pipeline":
			need.Pipeline = v.text
			if !v.scalar() {
				c.add(v, path, "pipeline should be a string")
			}
		case "artifacts":
			need.Artifacts = c.boolean(v, path, "artifacts")
		case "optional":
			need.Optional = c.boolean(v, path, "optional")
		case "parallel":
			if p := c.parallel(v, path+":parallel"); p != nil {
				if need.Matrix = p.Matrix; p.Count > 0 {
					c.add(v, path+":parallel", "should be a hash")
				}
			}
		}
	}
	return need
}

func (c *checker) parallel(n *node, path string) *Parallel {
	switch {
	case n.is(integer):
		count, err := strconv.Atoi(n.text)
		switch {
		case err != nil || count > MaxParallel:
			c.add(n, path, "config must be less than or equal to %d", MaxParallel)
		case count < 1:
			c.add(n, path, "config must be greater than or equal to 1")
		}
		return &Parallel{Count: count}
	case n.is(hash):
		c.keys(n, path, "matrix")
		m := n.get("matrix")
		if m == nil {
			c.add(n, path, "config missing required keys: matrix")
			return nil
		}
		return &Parallel{Matrix: c.matrix(m, path+":matrix")}
	}
	c.add(n, path, "should be an integer or a hash")
	return nil
}

// matrix unfolds the products, after it knows how many there are.
func (c *checker) matrix(n *node, path string) []Variables {
	if !n.is(list) {
		c.add(n, path, "config should be an array of hashes")
		return nil
	}
	total := 0
	for _, item := range n.items {
		if !item.is(hash) {
			c.add(item, path, "config should be an array of hashes")
			return nil
		}
		if len(item.entries) == 0 {
			c.add(item, path, "config requires at least 1 variable")
			return nil
		}
		product := 1
		for _, e := range item.entries {
			values := e.value.items
			if e.value.scalar() {
				values = []*node{e.value}
			}
			if len(values) == 0 || slices.ContainsFunc(values, func(v *node) bool { return !v.scalar() }) {
				c.add(e.value, path, "config should be a hash of key value pairs, value can be an array")
				return nil
			}
			if slices.ContainsFunc(values, func(v *node) bool { return len(v.text) > MaxJobName }) {
				c.add(e.value, path, "config values are part of the name and too long (maximum is %d characters)", MaxJobName)
				return nil
			}
			product = min(product*len(values), MaxParallel+1)
		}
		total += product
	}
	if total > MaxParallel {
		c.add(n, path, "config generates too many jobs (maximum is %d)", MaxParallel)
		return nil
	}
	if total == 0 {
		c.add(n, path, "config requires at least 1 variable")
		return nil
	}
	var all []Variables
	for _, item := range n.items {
		rows := []Variables{nil}
		for _, e := range item.entries {
			values := e.value.items
			if e.value.scalar() {
				values = []*node{e.value}
			}
			var longer []Variables
			for _, row := range rows {
				for _, v := range values {
					longer = append(longer, append(slices.Clone(row), Variable{Key: e.key, Value: v.text}))
				}
			}
			rows = longer
		}
		all = append(all, rows...)
	}
	return all
}

func (c *checker) release(n *node, path string) *Release {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	c.keys(n, path, "tag_name", "tag_message", "name", "description", "ref", "milestones", "released_at", "assets")
	r := &Release{}
	for _, must := range []string{"tag_name", "description"} {
		if v := n.get(must); v == nil || v.text == "" {
			c.add(n, path, "%s can't be blank", strings.ReplaceAll(must, "_", " "))
		}
	}
	into := map[string]*string{
		"tag_name": &r.TagName, "tag_message": &r.TagMessage, "name": &r.Name, "description": &r.Description, "ref": &r.Ref,
		"released_at": &r.ReleasedAt,
	}
	for _, e := range n.entries {
		v := e.value
		switch to, ok := into[e.key]; {
		case ok:
			*to = v.text
			if !v.scalar() {
				c.add(v, path, "%s should be a string", strings.ReplaceAll(e.key, "_", " "))
			}
			if _, err := time.Parse(time.RFC3339, v.text); e.key == "released_at" && err != nil && !strings.Contains(v.text, "$") {
				c.add(v, path, "released at must be a valid datetime")
			}
		case e.key == "milestones":
			r.Milestones = c.textOrTexts(v, path, "milestones")
		case e.key == "assets":
			r.Links = c.links(v, path+":assets")
		}
	}
	return r
}

func (c *checker) links(n *node, path string) []ReleaseLink {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	c.keys(n, path, "links")
	links := n.get("links")
	if !links.is(list) {
		c.add(n, path, "links should be an array of hashes")
		return nil
	}
	var all []ReleaseLink
	for _, item := range links.items {
		below := path + ":links:link"
		if !item.is(hash) {
			c.add(item, path+":links", "config should be an array of hashes")
			continue
		}
		c.keys(item, below, "name", "url", "filepath", "link_type")
		l := ReleaseLink{}
		for key, to := range map[string]*string{"name": &l.Name, "url": &l.URL, "filepath": &l.FilePath, "link_type": &l.LinkType} {
			if v := item.get(key); v != nil {
				*to = v.text
			}
		}
		if l.Name == "" {
			c.add(item, below, "name can't be blank")
		}
		if l.URL == "" {
			c.add(item, below, "url can't be blank")
		}
		all = append(all, l)
	}
	return all
}

var secretKeys = []string{"vault", "gcp_secret_manager", "azure_key_vault", "file", "token"}

func (c *checker) secrets(n *node, path string) map[string]any {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return nil
	}
	all := map[string]any{}
	for _, e := range n.entries {
		below := path + ":" + e.key
		if !e.value.is(hash) {
			c.add(e.value, below, "config should be a hash")
			continue
		}
		c.keys(e.value, below, secretKeys...)
		secret, _ := e.value.value().(map[string]any)
		providers := 0
		for _, p := range secretKeys[:3] {
			if e.value.has(p) {
				providers++
			}
		}
		if providers != 1 {
			c.add(e.value, below, "config must use exactly one of these keys: %s", strings.Join(secretKeys[:3], ", "))
		}
		if v := e.value.get("vault"); v != nil {
			secret["vault"] = c.vault(v, below+":vault")
		}
		if v := e.value.get("file"); v == nil {
			secret["file"] = true
		} else {
			secret["file"] = c.boolean(v, below, "file")
		}
		all[e.key] = secret
	}
	return all
}

// vault reads path/field@engine, or the same in parts.
func (c *checker) vault(n *node, path string) map[string]any {
	switch {
	case n.is(text):
		where, engine, ok := strings.Cut(n.text, "@")
		if !ok {
			engine = "kv-v2"
		}
		i := strings.LastIndexByte(where, '/')
		if i < 0 {
			c.add(n, path, "config should be a path and a field")
			return nil
		}
		return map[string]any{"engine": map[string]any{"name": "kv-v2", "path": engine}, "path": where[:i], "field": where[i+1:]}
	case n.is(hash):
		c.keys(n, path, "engine", "path", "field")
		for _, must := range []string{"engine", "path", "field"} {
			if !n.has(must) {
				c.add(n, path, "config missing required keys: %s", must)
			}
		}
		v, _ := n.value().(map[string]any)
		return v
	}
	c.add(n, path, "config should be a hash or a string")
	return nil
}

func (c *checker) inherit(n *node, path string) Inherit {
	out := Inherit{Defaults: Inherited{All: true}, Variables: Inherited{All: true}}
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return out
	}
	c.keys(n, path, "default", "variables")
	read := func(key string, to *Inherited) {
		switch v := n.get(key); {
		case v == nil:
		case v.is(boolean):
			to.All = v.text == "true"
		case v.is(list):
			to.All = false
			to.Names = c.texts(v, path+":"+key, "config should be an array of strings")
			if key == "default" {
				for _, name := range to.Names {
					if !slices.Contains(defaultKeys, name) {
						c.add(v, path+":default", "config contains unknown values: %s", name)
					}
				}
			}
		default:
			c.add(v, path+":"+key, "should be a bool or array of strings")
		}
	}
	read("default", &out.Defaults)
	read("variables", &out.Variables)
	return out
}

func (c *checker) trigger(n *node, path string) *Trigger {
	t := &Trigger{YAML: true}
	switch {
	case n.is(text):
		if t.Project = n.text; t.Project == "" {
			c.add(n, path, "project can't be blank")
		}
		return t
	case !n.is(hash):
		c.add(n, path, "config has to be either a string or a hash")
		return t
	case n.has("project") == n.has("include"):
		c.add(n, path, "config must specify exactly one of: project, include")
		return t
	case n.has("project"):
		c.keys(n, path, "project", "branch", "strategy", "forward", "inputs")
	default:
		c.keys(n, path, "include", "strategy", "forward", "inputs")
	}
	for _, e := range n.entries {
		v := e.value
		switch e.key {
		case "project":
			t.Project = c.text(v, path, "project")
		case "branch":
			t.Branch = c.text(v, path, "branch")
		case "strategy":
			if t.Strategy = v.text; v.text != "depend" && v.text != "mirror" {
				c.add(v, path, "strategy should be depend or mirror")
			}
		case "forward":
			c.forward(t, v, path+":forward")
		case "inputs":
			if !v.is(hash) {
				c.add(v, path, "inputs should be a hash")
			}
			t.Inputs, _ = v.value().(map[string]any)
		case "include":
			t.Include = c.triggerIncludes(v, path+":include")
		}
	}
	for i := range t.Include {
		if t.Include[i].Inputs == nil {
			t.Include[i].Inputs = t.Inputs
		}
	}
	return t
}

func (c *checker) forward(t *Trigger, n *node, path string) {
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return
	}
	c.keys(n, path, "yaml_variables", "pipeline_variables")
	if v := n.get("yaml_variables"); v != nil {
		t.YAML = c.boolean(v, path, "yaml variables")
	}
	if v := n.get("pipeline_variables"); v != nil {
		t.Pipelines = c.boolean(v, path, "pipeline variables")
	}
}

func (c *checker) triggerIncludes(n *node, path string) []TriggerInclude {
	items := []*node{n}
	if n.is(list) {
		items = n.items
	}
	if len(items) > 3 {
		c.add(n, path, "config is too long (maximum is 3)")
		return nil
	}
	var all []TriggerInclude
	for _, item := range items {
		if item.is(text) {
			if isURL(item.text) {
				all = append(all, TriggerInclude{Remote: item.text})
			} else {
				all = append(all, TriggerInclude{Local: item.text})
			}
			continue
		}
		if !item.is(hash) {
			c.add(item, path, "config should be an array of hashes or strings")
			continue
		}
		all = append(all, c.triggerInclude(item, path))
	}
	return all
}

func (c *checker) triggerInclude(n *node, path string) TriggerInclude {
	c.keys(n, path, "local", "file", "ref", "template", "remote", "project", "component", "artifact", "job", "inputs")
	var t TriggerInclude
	into := map[string]*string{
		"local": &t.Local, "ref": &t.Ref, "template": &t.Template, "remote": &t.Remote, "project": &t.Project,
		"component": &t.Component, "artifact": &t.Artifact, "job": &t.Job,
	}
	for _, e := range n.entries {
		if to, ok := into[e.key]; ok {
			*to = e.value.text
			if !e.value.scalar() {
				c.add(e.value, path, "%s should be a string", e.key)
			}
		}
	}
	if v := n.get("file"); v != nil {
		t.File = c.textOrTexts(v, path, "file")
	}
	if v := n.get("inputs"); v != nil {
		if t.Inputs, _ = v.value().(map[string]any); !v.is(hash) {
			c.add(v, path, "inputs should be a hash")
		}
	}
	switch {
	case t.Project != "" && len(t.File) == 0:
		c.add(n, path, "config must specify the file where to fetch the config from")
	case t.Artifact != "" && t.Job == "":
		c.add(n, path, "config must specify the job where to fetch the artifact from")
	}
	return t
}
