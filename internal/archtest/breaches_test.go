package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// rules are all that look at one file.
var rules = []func(*source) []string{
	downwards, httpInAPIFiles, noProcesses, tellingNames, noAliases, noInit, noDialing, constantSQL, numberedTODOs,
}

func TestEachBreachIsReported(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact     string
		path     string
		source   string
		breaches []string
	}{
		{
			fact: "a package without a floor", path: "internal/weather/weather.go",
			source:   "package weather",
			breaches: []string{"1: package internal/weather has no floor"},
		},
		{
			fact: "a part of a room needs no floor of its own", path: "internal/user/avatar/avatar.go",
			source: "package avatar\nimport \"stithy/internal/setting\"",
		},
		{
			fact: "an import upwards", path: "internal/user/user.go",
			source:   "package user\nimport \"stithy/internal/token\"",
			breaches: []string{"2: user imports token, which is not below it"},
		},
		{
			fact: "an import on the same floor", path: "internal/platform/postgres/postgres.go",
			source:   "package postgres\nimport \"stithy/internal/platform/config\"",
			breaches: []string{"2: platform/postgres imports platform/config, which is not below it"},
		},
		{
			fact: "an import into part of an upper room", path: "internal/kit/fault/fault.go",
			source:   "package fault\nimport \"stithy/internal/kit/httpapi/multipart\"",
			breaches: []string{"2: kit/fault imports kit/httpapi, which is not below it"},
		},
		{
			fact: "imports downwards and within the room", path: "internal/token/service.go",
			source: "package token\nimport (\n\"stithy/internal/user\"\n\"stithy/internal/token/digest\"\n\"stithy/db/migrations\"\n)",
		},
		{
			fact: "a test looks upwards", path: "internal/user/user_test.go",
			source: "package user_test\nimport \"stithy/internal/audit\"",
		},
		{
			fact: "test helpers look downwards only", path: "internal/user/usertest/usertest.go",
			source:   "package usertest\nimport (\n\"stithy/internal/user\"\n\"stithy/internal/platform/postgres/postgrestest\"\n\"stithy/internal/token/tokentest\"\n)",
			breaches: []string{"5: user imports token, which is not below it"},
		},
		{
			fact: "test helpers outside a test", path: "internal/token/service.go",
			source:   "package token\nimport \"stithy/internal/user/usertest\"",
			breaches: []string{"2: internal/user/usertest is for tests only"},
		},
		{
			fact: "HTTP beside the API", path: "internal/user/service.go",
			source: "package user\nimport (\n\"net/http\"\n\"stithy/internal/kit/httpapi\"\n)",
			breaches: []string{
				"3: import of net/http: belongs in api*.go",
				"4: import of stithy/internal/kit/httpapi: belongs in api*.go",
			},
		},
		{
			fact: "HTTP in the API", path: "internal/user/api_keys.go",
			source: "package user\nimport (\n\"net/http\"\n\"stithy/internal/kit/httpapi\"\n)",
		},
		{
			fact: "HTTP in a door", path: "internal/front/front.go",
			source: "package front\nimport (\n\"net/http\"\n\"stithy/internal/kit/httpapi\"\n)",
		},
		{
			fact: "HTTP on a floor that does not speak it", path: "internal/kit/fault/fault.go",
			source:   "package fault\nimport \"net/http\"",
			breaches: []string{"2: import of net/http: belongs in api*.go"},
		},
		{
			fact: "a process", path: "internal/user/keys.go",
			source:   "package user\nimport \"os/exec\"",
			breaches: []string{"2: import of os/exec: starts processes"},
		},
		{
			fact: "a process in a test", path: "internal/user/keys_test.go",
			source: "package user\nimport \"os/exec\"",
		},
		{
			fact: "a directory that says nothing", path: "internal/user/util/strings.go",
			source:   "package text",
			breaches: []string{"1: the name util says nothing"},
		},
		{
			fact: "a package that says nothing", path: "internal/user/text/text_test.go",
			source:   "package helpers_test",
			breaches: []string{"1: the name helpers_test says nothing"},
		},
		{
			fact: "an alias of our own", path: "internal/token/service.go",
			source:   "package token\nimport people \"stithy/internal/user\"",
			breaches: []string{"2: stithy/internal/user is called people"},
		},
		{
			fact: "an alias of another's, and one in a test", path: "internal/token/service_test.go",
			source: "package token\nimport people \"stithy/internal/user\"\nimport str \"strings\"",
		},
		{
			fact: "an init", path: "internal/user/user.go",
			source:   "package user\nfunc init() {}\ntype T struct{}\nfunc (T) init() {}",
			breaches: []string{"2: func init"},
		},
		{
			fact: "the default client, under any name", path: "internal/user/api.go",
			source: "package user\nimport (\nweb \"net/http\"\n\"net\"\n)\nfunc f() { web.Get(\"\"); net.Dial(\"\", \"\"); net.Listen(\"\", \"\") }\nvar c = web.DefaultClient",
			breaches: []string{
				"6: net.Dial connects to any address",
				"6: web.Get connects to any address",
				"7: web.DefaultClient connects to any address",
			},
		},
		{
			fact: "a variable called http", path: "internal/user/user.go",
			source: "package user\nfunc f() { http.Get() }",
		},
		{
			fact: "a statement in a service", path: "internal/user/service.go",
			source:   "package user\nconst sqlByID = `select id from users where id = $1`",
			breaches: []string{"2: a statement that is no constant of queries*.go"},
		},
		{
			fact: "a statement made by a function of queries.go", path: "internal/user/queries.go",
			source:   "package user\nimport \"fmt\"\nfunc sql(table string) string { return fmt.Sprintf(`delete from %s`, table) }",
			breaches: []string{"3: a statement that is no constant of queries*.go"},
		},
		{
			fact: "a statement in a variable", path: "internal/user/queries_keys.go",
			source:   "package user\nvar sqlSet = `\n\tupdate users u set name = $1`",
			breaches: []string{"2: a statement that is no constant of queries*.go"},
		},
		{
			fact: "statements where they belong, and prose", path: "internal/user/queries.go",
			source: "package user\nconst sqlByID = `select id from users`\nvar help = \"update the name first; selected rows\"",
		},
		{
			fact: "the filtered list", path: "internal/user/list.go",
			source: "package user\nvar l = `select id from users`",
		},
		{
			fact: "a formatted statement on the platform", path: "internal/platform/jobqueue/jobqueue.go",
			source:   "package jobqueue\nimport \"fmt\"\nvar a = `select 1 from river_job`\nvar b = fmt.Sprintf(`drop table %s`, a)",
			breaches: []string{"4: a statement that is no constant of queries*.go"},
		},
		{
			fact: "the listed statement and another beside it", path: "internal/audit/service.go",
			source:   "package audit\nvar a = `create table if not exists audit_events_%s`\nvar b = `drop table audit_events_%s`",
			breaches: []string{"3: a statement that is no constant of queries*.go"},
		},
		{
			fact: "work to do", path: "internal/user/user.go",
			source:   "package user\n// TODO: more\n/* TODO(ann) */\n// TODO(#12) and FIXME\n// TODO(#12): fine\nconst todo = `TODO`",
			breaches: []string{"2: " + needsNumber, "3: " + needsNumber, "4: " + needsNumber},
		},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			files, err := load(fstest.MapFS{tt.path: {Data: []byte(tt.source)}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rule := range rules {
				for _, s := range files {
					got = append(got, rule(s)...)
				}
			}
			slices.Sort(got)
			var want []string
			for _, breach := range tt.breaches {
				want = append(want, fmt.Sprintf("%s:%s", tt.path, breach))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("breaches of\n%s\n(-want +got):\n%s", tt.source, diff)
			}
		})
	}
}

func TestOnlyOurOwnSourceIsRead(t *testing.T) {
	t.Parallel()
	files, err := load(fstest.MapFS{
		"cmd/stithy/main.go":                  {Data: []byte("package main")},
		"internal/user/user.go":               {Data: []byte("package user")},
		"internal/user/testdata/broken.go":    {Data: []byte("not Go")},
		"internal/user/README.md":             {Data: []byte("not Go")},
		"web/node_modules/esbuild/install.go": {Data: []byte("package install")},
		"tools/fuzz.go":                       {Data: []byte("package tools")},
		".cache/x.go":                         {Data: []byte("package x")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range files {
		got = append(got, s.path)
	}
	if diff := cmp.Diff([]string{"cmd/stithy/main.go", "internal/user/user.go"}, got); diff != "" {
		t.Error(diff)
	}
}

// A list that names a package of the past would let a new one of that name pass unseen.
func TestTheListsNameWhatExists(t *testing.T) {
	t.Parallel()
	rooms, paths := map[string]bool{}, map[string]bool{}
	for _, s := range theTree(t) {
		rooms[s.room], paths[s.path] = true, true
	}
	for _, room := range slices.Concat(slices.Concat(floors...), speaksHTTP, startsProcesses, dials) {
		if !rooms[room] {
			t.Errorf("%s is listed and does not exist", room)
		}
	}
	for path, text := range madeSQL {
		if !paths[path] || strings.TrimSpace(text) == "" {
			t.Errorf("%s is listed and does not exist", path)
		}
	}
}
