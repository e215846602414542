package pipeline_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/pipeline"
	"stithy/internal/platform/secretbox"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/variable"
)

// secretKeys are variables of every place and kind.
var secretKeys = func() (keys []string) {
	for _, place := range []string{"INSTANCE", "GROUP", "PROJECT"} {
		for _, kind := range []string{"PLAIN", "PROTECTED", "MASKED", "BOTH"} {
			keys = append(keys, place+"_"+kind)
		}
	}
	return keys
}()

// setSecrets gives each place a variable of each kind, all with one value.
func (w *fixture) setSecrets(t testing.TB, value string) {
	t.Helper()
	w.exec(t, `delete from variables`)
	w.exec(t, `delete from instance_variables`)
	for _, key := range secretKeys {
		place, kind, _ := strings.Cut(key, "_")
		v := &variable.Variable{
			Key: key, Value: secretbox.Secret(value), Type: variable.EnvVar, Scope: "*",
			Protected: kind == "PROTECTED" || kind == "BOTH", Masked: kind == "MASKED" || kind == "BOTH",
		}
		var err error
		switch place {
		case "INSTANCE":
			err = w.variables.Create(t.Context(), access.Actor{}, v)
		case "GROUP":
			err = w.variables.CreateIn(t.Context(), access.Actor{}, bus.Entity{Kind: bus.OfGroup, ID: w.home.ID}, v)
		default:
			err = w.variables.CreateIn(t.Context(), access.Actor{}, bus.Entity{Kind: bus.OfProject, ID: w.project.ID}, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// oracles are configurations whose meaning depends on a variable.
func oracles(key string) map[string]string {
	const job = "\njob: {script: [x]}\n"
	return map[string]string{
		"a message about a file":          "include: {local: $" + key + ".yml}" + job,
		"a message about an extension":    "include: {local: a$" + key + "}" + job,
		"a file that is there":            "include: {local: '/$" + key + ".yml'}" + job,
		"a pattern of files":              "include: {local: '*$" + key + "*.yml'}" + job,
		"a project":                       "include: {project: house/$" + key + ", file: a.yml}" + job,
		"a ref":                           "include: {project: house/forge, ref: $" + key + ", file: a.yml}" + job,
		"a template":                      "include: {template: $" + key + "}" + job,
		"a component":                     "include: {component: forge.example/$" + key + "/a@main}" + job,
		"rules of an include":             "include: {local: there.yml, rules: [{if: '$" + key + " =~ /^A/'}]}" + job,
		"inputs":                          "include: {local: inputs.yml, inputs: {a: $" + key + "}}" + job,
		"rules of a job":                  "a: {script: [x], rules: [{if: '$" + key + " =~ /^A/'}]}" + job,
		"rules about being set":           "a: {script: [x], rules: [{if: $" + key + "}]}" + job,
		"rules of the workflow":           "workflow: {rules: [{if: '$" + key + " == \"AAAAAAAAAAAA\"'}]}" + job,
		"a name of the workflow":          "workflow: {name: of $" + key + "}" + job,
		"rules about files":               "a: {script: [x], rules: [{exists: [$" + key + ".yml]}]}" + job,
		"rules about files of a project":  "a: {script: [x], rules: [{exists: {paths: [a], project: house/$" + key + "}}]}" + job,
		"rules about changes from a ref":  "a: {script: [x], rules: [{changes: {paths: [a], compare_to: $" + key + "}}]}" + job,
		"conditions of the former form":   "a: {script: [x], only: {variables: ['$" + key + " =~ /^A/']}}" + job,
		"exceptions of the former form":   "a: {script: [x], except: {variables: ['$" + key + " =~ /^A/']}}" + job,
		"an environment":                  "a: {script: [x], environment: of/$" + key + "}" + job,
		"rules by variables of the file":  "variables: {B: x$" + key + "}\na: {script: [x], rules: [{if: '$B =~ /^xA/'}]}" + job,
		"rules of a job that others need": "a: {script: [x], rules: [{if: '$" + key + " =~ /^A/'}]}\nb: {script: [x], needs: [a]}" + job,
	}
}

const (
	secretA = "AAAAAAAAAAAA"
	secretB = "BBBBBBBBBBBB"
)

// lintWays are the calls that check a configuration, by somebody, for a ref.
func (w *fixture) lintWays(t testing.TB, role access.Role, ref, content string) map[string]string {
	t.Helper()
	client := w.as(t, role)
	said := map[string]string{}
	for _, dry := range []string{"true", "false"} {
		form := url.Values{"content": {content}, "ref": {ref}, "dry_run": {dry}, "include_jobs": {"true"}}
		said["POST dry "+dry] = client.Do(t, "POST", w.at("/ci/lint"), form).Body
		path := w.at("/ci/lint?sha=probe&ref=%s&include_jobs=true&dry_run=%s", url.QueryEscape(ref), dry)
		said["GET dry "+dry] = client.Do(t, "GET", path, nil).Body
	}
	return said
}

// Each answer is asked for twice, with two values: who is not given a variable
// cannot tell them apart.
func TestCI04_CheckingAConfigurationTellsNothingOfVariablesToThoseWhoMayNotRunIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), url.Values{"name": {"main"}}).WantStatus(t, 201)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_tags"), url.Values{"name": {"v*"}}).WantStatus(t, 201)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/repository/tags"), url.Values{"tag_name": {"v1"}, "ref": {"main"}}).WantStatus(t, 201)
	files := repositorytest.Files{
		secretA + ".yml": "there: {script: [x]}\n", "there.yml": "there: {script: [x]}\n",
		"inputs.yml": "spec: {inputs: {a: }}\n---\n'in-$[[ inputs.a ]]': {script: ['$[[ inputs.a ]]']}\n",
	}
	for _, key := range []string{"PROJECT_BOTH", "GROUP_PROTECTED", "INSTANCE_PROTECTED", "PROJECT_PLAIN"} {
		for name, content := range oracles(key) {
			files[".svc-ci.yml"] = content
			repositorytest.Commit(t, w.repo, "probe", "Ask", files)
			for _, who := range []struct {
				role access.Role
				ref  string
			}{{access.Developer, "main"}, {access.Developer, "refs/heads/main"}, {access.Developer, "v1"}, {access.Developer, "refs/tags/v1"}, {access.Reporter, "probe"}} {
				if who.ref != "main" && key != "PROJECT_BOTH" {
					continue // the ref does not depend on the variable
				}
				w.setSecrets(t, secretA)
				first := w.lintWays(t, who.role, who.ref, content)
				w.setSecrets(t, secretB)
				second := w.lintWays(t, who.role, who.ref, content)
				for _, way := range slices.Sorted(maps.Keys(first)) {
					if first[way] != second[way] {
						t.Errorf("%s of %s, %s on %s for %d:\n%s\n%s", name, key, way, who.ref, who.role, first[way], second[way])
					}
				}
			}
		}
	}
}

func TestCheckingAConfigurationUsesTheVariablesOfThoseWhoMayRunIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), url.Values{"name": {"main"}}).WantStatus(t, 201)
	w.setSecrets(t, secretA)
	sees := func(role access.Role, ref, key string) bool {
		t.Helper()
		content := "a: {script: [x], rules: [{if: '$" + key + " =~ /^A/'}]}\njob: {script: [x]}\n"
		form := url.Values{"content": {content}, "ref": {ref}, "dry_run": {"true"}, "include_jobs": {"true"}}
		body := w.as(t, role).Do(t, "POST", w.at("/ci/lint"), form).WantStatus(t, 200).Body
		if warned := strings.Contains(body, "you may not run pipelines on '"+ref+"'"); warned != (role == access.Developer && ref == "main") {
			t.Errorf("%d on %s: %s", role, ref, body)
		}
		return strings.Contains(body, `"name":"a"`)
	}
	for _, key := range secretKeys {
		protected := strings.HasSuffix(key, "_PROTECTED") || strings.HasSuffix(key, "_BOTH")
		for _, c := range []struct {
			role access.Role
			ref  string
			want bool
		}{
			{access.Maintainer, "main", true}, {access.Maintainer, "other", !protected}, {access.Developer, "main", false}, {access.Developer, "other", !protected},
		} {
			if got := sees(c.role, c.ref, key); got != c.want {
				t.Errorf("%s for %d on %s: %v", key, c.role, c.ref, got)
			}
		}
	}
}

func TestCI05_WhatIsWrongWithAPushTellsNoReaderOfAVariable(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	w.setSecrets(t, secretA)
	for _, key := range secretKeys {
		for name, content := range oracles(key) {
			sha := repositorytest.Commit(t, w.repo, "main", "Ask", repositorytest.Files{
				".svc-ci.yml": content, "inputs.yml": "spec: {inputs: {a: {options: [x]}}}\n---\na: {script: [x]}\n",
			})
			pl, err := w.Create(t.Context(), w.actor(access.Maintainer), w.standing(t, access.Maintainer), pipeline.CreateRequest{
				Source: pipeline.FromPush, Ref: "main", SHA: string(sha),
			})
			if err != nil {
				t.Fatal(err)
			}
			if pl != nil && pl.YAMLErrors != nil && strings.Contains(*pl.YAMLErrors, secretA) {
				t.Errorf("%s of %s: %s", name, key, *pl.YAMLErrors)
			}
		}
	}
}

func TestAConfigurationIsCheckedForARefThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	for _, include := range []string{"{local: a.yml}", "{local: '*.yml'}", "{project: house/forge, file: a.yml}", "{project: house/forge, ref: nowhere, file: a.yml}"} {
		for _, dry := range []bool{false, true} {
			content := fmt.Sprintf("include: %s\njob: {script: [x], rules: [{exists: [a]}, {changes: [a]}, {when: always}], cache: {key: {files: [a]}}}\n", include)
			w.as(t, access.Developer).Do(t, "POST", w.at("/ci/lint"), map[string]any{"content": content, "ref": "nowhere", "dry_run": dry}).WantStatus(t, 200)
		}
	}
	w.as(t, access.Developer).Do(t, "GET", w.at("/ci/lint?ref=nowhere"), nil).WantStatus(t, 404)
}
