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
	downwards, httpInAPIFiles, noProcesses, tellingNames, noAliases, noInit, noDialing, constantSQL, oneGiver, numberedTODOs, completeRooms,
	madeOnce, namedComments,
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
			fact: "an area of pages imports another", path: "internal/web/admin/users.go",
			source:   "package admin\nimport (\n\"stithy/internal/web/account\"\n\"stithy/internal/web/page\"\n)",
			breaches: []string{"3: web/admin imports web/account, which is not below it"},
		},
		{
			fact: "the kit of pages imports an area", path: "internal/web/page/page.go",
			source:   "package page\nimport \"stithy/internal/web/account\"",
			breaches: []string{"2: web/page imports web/account, which is not below it"},
		},
		{
			fact: "an area of pages without a floor", path: "internal/web/weather/pages.go",
			source:   "package weather",
			breaches: []string{"1: package internal/web/weather has no floor"},
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
			fact: "variables of jobs read elsewhere, and the reading passed on", path: "internal/pipeline/lint.go",
			source: "package pipeline\nfunc (s *Service) f() { s.Variables.ForJob(); read(s.Variables.ForJob); s.SignForJob() }",
			breaches: []string{
				"2: ForJob is called by internal/pipeline/variables.go alone, which knows who asks",
				"2: ForJob is called by internal/pipeline/variables.go alone, which knows who asks",
			},
		},
		{
			fact: "variables of jobs where they are read", path: "internal/pipeline/variables.go",
			source: "package pipeline\nfunc (s *Service) f() { s.Variables.ForJob() }",
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
			fact: "the listed statement and another beside it", path: "internal/audit/partitions.go",
			source:   "package audit\nvar a = `create index concurrently if not exists audit_events_%s`\nvar b = `drop table audit_events_%s`",
			breaches: []string{"3: a statement that is no constant of queries*.go"},
		},
		{
			fact: "a room that others reach through", path: "internal/token/service.go",
			source: "package token\ntype Deps struct{ DB int }\ntype Service struct {\n*Deps\nDB, log int\n}\ntype door struct{ user.Deps }",
			breaches: []string{
				"4: Service embeds Deps, so that others reach through it: keep them in a field deps",
				"5: Service shows its field DB to others",
				"7: door embeds Deps, so that others reach through it: keep them in a field deps",
			},
		},
		{
			fact: "a room that is finished after it was made", path: "internal/user/avatar.go",
			source: "package user\nfunc (s *Service) KeepIn(k int) { s.keeper = k }\n" +
				"func (d *door) Limit(n int) {\nd.deps.Limits.Most, d.seen = n, true\n}",
			breaches: []string{
				"2: KeepIn sets Service.keeper after New: give it in Deps",
				"4: Limit sets door.deps after New: give it in Deps",
			},
		},
		{
			fact: "a complete room", path: "internal/user/service.go",
			source: "package user\ntype Deps struct{ DB int }\ntype Service struct {\ndeps Deps\nhost string\n}\n" +
				"func New(d Deps) *Service { s := &Service{deps: d}\ns.host = \"x\"\nreturn s }\n" +
				"func (s *Service) Find(u *User) { u.Name = s.host; s.counts[u.Name]++; s.cache.at = 1 }",
		},
		{
			fact: "rooms of core made elsewhere, under any name, in tests too", path: "internal/member/fixture_test.go",
			source: "package member_test\nimport (\npeople \"stithy/internal/user\"\n\"stithy/internal/project\"\n\"stithy/internal/setting\"\n)\n" +
				"var u = people.New(people.Deps{})\nvar make = project.New\nvar s = setting.New(setting.Deps{})",
			breaches: []string{
				"7: people.New is called by core alone: tests take the room from coretest",
				"8: project.New is called by core alone: tests take the room from coretest",
				"9: setting.New is called by core alone: tests take the room from coretest",
			},
		},
		{
			fact: "a room of core made by its own tests", path: "internal/user/api_test.go",
			source:   "package user_test\nimport \"stithy/internal/user\"\nvar u = user.New(user.Deps{})",
			breaches: []string{"3: user.New is called by core alone: tests take the room from coretest"},
		},
		{
			fact: "rooms of core where they are made", path: "internal/core/core.go",
			source: "package core\nimport \"stithy/internal/user\"\nvar u = user.New(user.Deps{})",
		},
		{
			fact: "settings made by their own tests, seeds and other rooms", path: "internal/setting/settingtest/settingtest.go",
			source: "package settingtest\nimport \"stithy/internal/setting\"\nvar s, u = setting.New(setting.Deps{}), usertest.New()\nvar l = lfs.New()",
		},
		{
			fact: "work to do", path: "internal/user/user.go",
			source:   "package user\n// TODO: more\n/* TODO(ann) */\n// TODO(#12) and FIXME\n// TODO(#12): fine\nconst todo = `TODO`",
			breaches: []string{"2: " + needsNumber, "3: " + needsNumber, "4: " + needsNumber},
		},
		{
			fact: "a comment with a name that is no longer", path: "internal/user/user.go",
			source:   "package user\n// Move blocks.\nfunc Block() {}\n// Open is one.\ntype State int\n// Close closes.\nfunc Close() {}",
			breaches: []string{`2: the comment of Block begins with "Move"`, `4: the comment of State begins with "Open"`},
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

func TestATypeWithManyMethodsIsReported(t *testing.T) {
	t.Parallel()
	text := func(from, to int) []byte {
		var b strings.Builder
		b.WriteString("package admin\ntype request struct{}\nfunc (d Deps) do() {}\n")
		for n := from; n < to; n++ {
			fmt.Fprintf(&b, "func (x *request) m%d() {}\n", n)
		}
		return []byte(b.String())
	}
	for methods, want := range map[int]int{most: 0, most + 1: 1} {
		files, err := load(fstest.MapFS{"internal/web/admin/a.go": {Data: text(0, 20)}, "internal/web/admin/b.go": {Data: text(20, methods)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := crowded(files, "internal/web"); len(got) != want {
			t.Errorf("%d methods: %v", methods, got)
		}
	}
}

func TestWhatARoomAsksForAndDoesNotUseIsReported(t *testing.T) {
	t.Parallel()
	files, err := load(fstest.MapFS{
		"internal/user/service.go": {Data: []byte(`package user
import "stithy/internal/kit/wire"
type Deps struct {
	DB, Queue int
	Names wire.Names
	Log   int
}
type Service struct{ deps Deps }
func (s *Service) one() int { return s.deps.DB }`)},
		"internal/user/jobs.go":      {Data: []byte("package user\nfunc (s *Service) two() int { return s.deps.Log }")},
		"internal/user/jobs_test.go": {Data: []byte("package user\nfunc (s *Service) three() int { return s.deps.Queue }")},
		"internal/group/service.go":  {Data: []byte("package group\nfunc f(d struct{ Queue int }) int { return d.Queue }")},
		"internal/web/page/a.go":     {Data: []byte("package page\ntype Deps struct{ Kept int }")},
		"internal/web/page/b.go":     {Data: []byte("package page\nfunc (d Deps) kept() int { return d.Kept }")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"internal/user/service.go:4: nothing reads the field Queue of Deps: do without it",
		"internal/user/service.go:5: nothing reads the field Names of Deps: do without it",
	}
	if diff := cmp.Diff(want, unread(files)); diff != "" {
		t.Error(diff)
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
	for _, room := range slices.Concat(slices.Concat(floors...), speaksHTTP, startsProcesses, dials, madeInCore) {
		if !rooms[room] {
			t.Errorf("%s is listed and does not exist", room)
		}
	}
	if !paths[givesVariables] {
		t.Errorf("%s is named and does not exist", givesVariables)
	}
	for path, text := range madeSQL {
		if !paths[path] || strings.TrimSpace(text) == "" {
			t.Errorf("%s is listed and does not exist", path)
		}
	}
}
