package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors lists the packages from the ground up, without "internal/". A package imports lower floors only; packages of
// one floor do not import each other. What lies below an entry belongs to its room. Test files may look upwards.
var floors = [][]string{
	{"db/migrations", "web/assets"},
	// platform: knows no forge words
	{"platform/sorting"},
	{
		"platform/batch", "platform/blob", "platform/clock", "platform/deps", "platform/failpoint", "platform/fairshare", "platform/memory", "platform/secretbox",
		"platform/unpack",
	},
	{
		"platform/config", "platform/httpfile", "platform/lifecycle", "platform/mail", "platform/outbound", "platform/postgres",
		"platform/ratelimit", "platform/telemetry",
	},
	{"platform/schema"},
	{"platform/postgres/postgrestest"}, // tests get a migrated database
	{"platform/jobqueue"},
	{"platform/acme"},
	{"gitstore"},
	// kit: the shared words
	{"kit/emoji", "kit/fault", "kit/markdown", "kit/quickaction", "kit/wire"},
	{"kit/access", "ciconfig", "joblog"},
	{"kit/bus", "kit/paging"},
	{"kit/httpapi"},
	{"kit/attribute", "kit/avatar"},
	// components and the kit of pages: they know no room
	{"web/ui"},
	{"web/page"},
	// rooms
	{"setting"},
	{"user"},
	{"token"},
	{"signin"},
	{"grant"},
	{"group"},
	{"project"},
	{"owner", "subscription"},
	{"member", "protection"},
	{"bot", "deploytoken", "oauth", "repository"},
	{"changelog", "lfs", "deploykey", "template", "upload"},
	{"artifact", "runner", "variable"},
	{"badge", "label", "milestone", "snippet"},
	{"issue"},
	{"markdown"},
	{"board", "note", "wiki"},
	{"mention"},
	{"todo"},
	{"alert"},
	{"pipeline"},
	{"schedule"},
	{"errortracking", "pages"},
	{"dispatch"},
	// listeners: no room imports them
	{"audit", "event", "notification"},
	// pages: what several areas need, then the areas, which never import each other
	{"web/grouppage", "web/jobstatus", "web/projectpage"},
	{"web/account", "web/admin", "web/ci", "web/monitor", "web/overview", "web/planning", "web/sites", "web/texts"},
	// doors
	{"gitpath"},
	{"apidocs", "githttp", "gitssh", "front", "pagesproxy", "web"},
	// composition: the rooms that every other stands on, then all of them
	{"core"},
	{"app"},
	{"cmd/stithy"},
	// what looks at the tree from outside
	{"archtest", "ledger", "test"},
}

// speaksHTTP lists who may know HTTP in any file. Everyone else does so in api*.go alone.
var speaksHTTP = []string{
	"platform/acme", "platform/httpfile", "platform/lifecycle", "platform/outbound", "platform/telemetry", "kit/httpapi", "kit/avatar", "apidocs", "front", "githttp",
	"pagesproxy", "web",
	"web/account", "web/admin", "web/ci", "web/grouppage", "web/monitor", "web/overview", "web/page", "web/planning", "web/projectpage", "web/sites", "web/texts", "app",
	"cmd/stithy",
}

// startsProcesses lists who may start other programs.
var startsProcesses = []string{"gitstore"}

// dials lists who may open connections: to addresses that people choose, and to the certificate authority that the operator named.
var dials = []string{"platform/acme", "platform/outbound"}

// madeInCore lists the rooms that core puts together, for the application and for tests.
var madeInCore = []string{"setting", "user", "token", "group", "project", "owner"}

// madeSQL lists the statements outside queries*.go and list*.go, by file and how they begin.
var madeSQL = map[string]string{
	"internal/audit/partitions.go": "create index concurrently if not exists audit_events_", // DDL takes no arguments
	"internal/event/partitions.go": "create table if not exists events_",
	"internal/event/retention.go":  "drop table if exists events_",
}

// givesVariables is the file that reads the variables which jobs are given. It asks first who they are for.
const givesVariables = "internal/pipeline/variables.go"

// partsOfSQL lists constants that read like statements and are parts of some.
var partsOfSQL = []string{
	"internal/grant.direct", "internal/grant.inherited", "internal/grant.Namespaces", "internal/grant.Projects",
	"internal/group.roots", "internal/member.chosen", "internal/member.origins",
}

func TestImportsPointDownwards(t *testing.T)               { keep(t, downwards) }
func TestOnlyAPIFilesOfRoomsKnowHTTP(t *testing.T)         { keep(t, httpInAPIFiles) }
func TestNobodyStartsProcesses(t *testing.T)               { keep(t, noProcesses) }
func TestPackagesAreNamedByWhatTheyOwn(t *testing.T)       { keep(t, tellingNames) }
func TestOwnPackagesHaveNoAliases(t *testing.T)            { keep(t, noAliases) }
func TestNothingRunsBeforeMain(t *testing.T)               { keep(t, noInit) }
func TestHK04_NobodyDialsPastTheGuard(t *testing.T)        { keep(t, noDialing) }
func TestStatementsAreConstantsInQueriesGo(t *testing.T)   { keep(t, constantSQL) }
func TestCI04_OneFileReadsTheVariablesOfJobs(t *testing.T) { keep(t, oneGiver) }
func TestEveryTODONamesTheIssueItWaitsFor(t *testing.T)    { keep(t, numberedTODOs) }
func TestCommentsNameWhatTheyStandAbove(t *testing.T)      { keep(t, namedComments) }
func TestRoomsAreCompleteWhenTheyAreMade(t *testing.T)     { keep(t, completeRooms) }
func TestOnlyCoreMakesWhatOthersStandOn(t *testing.T)      { keep(t, madeOnce) }

func TestNoTypeOfPagesHasManyMethods(t *testing.T) {
	t.Parallel()
	for _, breach := range crowded(theTree(t), "internal/web") {
		t.Error(breach)
	}
}

func TestRoomsAskForNothingThatTheyDoNotUse(t *testing.T) {
	t.Parallel()
	for _, breach := range unread(theTree(t)) {
		t.Error(breach)
	}
}

func keep(t *testing.T, rule func(*source) []string) {
	t.Helper()
	t.Parallel()
	for _, s := range theTree(t) {
		for _, breach := range rule(s) {
			t.Error(breach)
		}
	}
}

func floorOf(room string) int {
	return slices.IndexFunc(floors, func(rooms []string) bool { return slices.Contains(rooms, room) })
}

func roomOf(dir string) string {
	for room := strings.TrimPrefix(dir, "internal/"); room != "."; room = path.Dir(room) {
		if floorOf(room) >= 0 {
			return room
		}
	}
	return ""
}

func downwards(s *source) []string {
	// Whatever is below web has a floor of its own: there, one area may not hide in another.
	if s.room == "" || (s.room == "web" && !s.test && s.dir() != "internal/web") {
		return []string{s.breach(s.file.Package, "package %s has no floor", s.dir())}
	}
	var breaches []string
	for _, spec := range s.file.Imports {
		dir, ours := strings.CutPrefix(imported(spec), module)
		if !ours {
			continue
		}
		to := roomOf(dir)
		switch {
		case isHelper(dir) && !s.test:
			breaches = append(breaches, s.breach(spec.Pos(), "%s is for tests only", dir))
		case to != s.room && floorOf(to) >= floorOf(s.room) && !strings.HasSuffix(s.path, "_test.go"):
			breaches = append(breaches, s.breach(spec.Pos(), "%s imports %s, which is not below it", s.room, to))
		}
	}
	return breaches
}

func httpInAPIFiles(s *source) []string {
	if s.test || slices.Contains(speaksHTTP, s.room) || s.is("api") {
		return nil
	}
	return s.imports("belongs in api*.go", "net/http", module+"internal/kit/httpapi")
}

func noProcesses(s *source) []string {
	if s.test || slices.Contains(startsProcesses, s.room) {
		return nil
	}
	return s.imports("starts processes", "os/exec")
}

func (s *source) imports(why string, forbidden ...string) []string {
	var breaches []string
	for _, spec := range s.file.Imports {
		if slices.Contains(forbidden, imported(spec)) {
			breaches = append(breaches, s.breach(spec.Pos(), "import of %s: %s", imported(spec), why))
		}
	}
	return breaches
}

// hollow are names that tell nothing, under which anything would find a place.
var hollow = []string{
	"common", "helper", "helpers", "impl", "manager", "misc", "models", "shared", "types", "util", "utils",
}

func tellingNames(s *source) []string {
	for _, name := range []string{path.Base(s.dir()), s.file.Name.Name} {
		if slices.Contains(hollow, strings.TrimSuffix(name, "_test")) {
			return []string{s.breach(s.file.Package, "the name %s says nothing", name)}
		}
	}
	return nil
}

func noAliases(s *source) []string {
	if s.test {
		return nil
	}
	var breaches []string
	for _, spec := range s.file.Imports {
		if strings.HasPrefix(imported(spec), module) && spec.Name != nil {
			breaches = append(breaches, s.breach(spec.Pos(), "%s is called %s", imported(spec), spec.Name.Name))
		}
	}
	return breaches
}

func noInit(s *source) []string {
	var breaches []string
	for _, decl := range s.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			breaches = append(breaches, s.breach(fn.Pos(), "func init"))
		}
	}
	return breaches
}

// ways are the ways to reach another machine.
var ways = map[string][]string{
	"net":        {"Dial", "DialIP", "DialTCP", "DialTimeout", "DialUDP", "DialUnix", "Dialer"},
	"net/http":   {"Client", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "Transport"},
	"crypto/tls": {"Dial", "DialWithDialer", "Dialer"},
}

func noDialing(s *source) []string {
	if s.test || slices.Contains(dials, s.room) {
		return nil
	}
	names := map[string][]string{}
	for importPath, way := range ways {
		if local := s.local(importPath); local != "" {
			names[local] = way
		}
	}
	var breaches []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(names[pkg.Name], sel.Sel.Name) {
				breaches = append(breaches, s.breach(sel.Pos(), "%s.%s connects to any address", pkg.Name, sel.Sel.Name))
			}
		}
		return true
	})
	return breaches
}

// oneGiver wants the variables of jobs to be read where it is judged who may have them. Types are not known here, so the
// name alone counts, called or passed on.
func oneGiver(s *source) []string {
	if s.test || s.path == givesVariables {
		return nil
	}
	var breaches []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "ForJob" {
			breaches = append(breaches, s.breach(sel.Pos(), "ForJob is called by "+givesVariables+" alone, which knows who asks"))
		}
		return true
	})
	return breaches
}

// statement matches text that begins like SQL.
var statement = regexp.MustCompile(`(?is)^\s*(select\s|insert\s+into\s|update\s+\S+\s+(\w+\s+)?set\s|delete\s+from\s|` +
	`with\s+(recursive\s+)?\w+\s+as\s|truncate\s|(create|alter|drop)\s+(unique\s+)?(table|index|database|extension|sequence)\s)`)

// constantSQL wants statements where TestEverySQLConstantPrepares finds them: among the constants of queries*.go. Text
// that depends on input is put together by postgres.List, in list*.go. Packages of the platform may write a statement
// where they use it, but not format one.
func constantSQL(s *source) []string {
	if s.test || s.is("list") {
		return nil
	}
	var breaches []string
	inspect := func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || !statement.MatchString(text) {
			return true
		}
		if made, ok := madeSQL[s.path]; !ok || !strings.HasPrefix(text, made) {
			breaches = append(breaches, s.breach(lit.Pos(), "a statement that is no constant of queries*.go"))
		}
		return true
	}
	if strings.HasPrefix(s.room, "platform/") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && s.formats(call) {
				ast.Inspect(call, inspect)
			}
			return true
		})
		return breaches
	}
	for _, decl := range s.file.Decls {
		if gen, ok := decl.(*ast.GenDecl); !ok || gen.Tok != token.CONST || !s.is("queries") {
			ast.Inspect(decl, inspect)
		}
	}
	return breaches
}

// formats tells a call of fmt.Sprintf and its like.
func (s *source) formats(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == s.local("fmt") && slices.Contains([]string{"Appendf", "Fprintf", "Sprintf"}, sel.Sel.Name)
}

// completeRooms wants a Service to be finished when New returns it, and nobody to reach through it for what it was
// given: its fields are its own, and none is set later. What is late is in a field of another type, with a lock.
func completeRooms(s *source) []string {
	if s.test {
		return nil
	}
	var breaches []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if fields, ok := n.Type.(*ast.StructType); ok {
				breaches = append(breaches, s.openFields(n.Name.Name, fields)...)
			}
		case *ast.FuncDecl:
			if n.Recv != nil && n.Body != nil && len(n.Recv.List[0].Names) == 1 {
				breaches = append(breaches, s.lateFields(n)...)
			}
		}
		return true
	})
	return breaches
}

// openFields are the embedded Deps of any struct, and whatever others can see in a Service.
func (s *source) openFields(name string, fields *ast.StructType) []string {
	var breaches []string
	for _, field := range fields.Fields.List {
		switch {
		case len(field.Names) == 0 && typeName(field.Type) == "Deps":
			breaches = append(breaches, s.breach(field.Pos(), "%s embeds Deps, so that others reach through it: keep them in a field deps", name))
		case name == "Service" && s.is("service") && slices.ContainsFunc(field.Names, (*ast.Ident).IsExported):
			breaches = append(breaches, s.breach(field.Pos(), "Service shows its field %s to others", field.Names[0].Name))
		}
	}
	return breaches
}

// lateFields are the assignments of a method to a field of its Service, or to the deps of whatever it belongs to.
func (s *source) lateFields(fn *ast.FuncDecl) []string {
	self, of := fn.Recv.List[0].Names[0].Name, typeName(fn.Recv.List[0].Type)
	var breaches []string
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		set, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, to := range set.Lhs {
			if field, whole := fieldOf(to, self); field == "deps" || whole && of == "Service" {
				breaches = append(breaches, s.breach(to.Pos(), "%s sets %s.%s after New: give it in Deps", fn.Name.Name, of, field))
			}
		}
		return true
	})
	return breaches
}

// typeName is the name of a type, without its package and without a star.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// fieldOf is the field of a variable that an expression is, as a whole, or is a part of; empty for anything else.
func fieldOf(e ast.Expr, variable string) (field string, whole bool) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	if x, ok := sel.X.(*ast.Ident); ok && x.Name == variable {
		return sel.Sel.Name, true
	}
	field, _ = fieldOf(sel.X, variable)
	return field, false
}

// madeOnce wants the rooms of core to be made there, in tests too: a fixture that wires them by itself shows how another
// application behaves. Settings stand on no room, and their own tests make them as they like.
func madeOnce(s *source) []string {
	if s.room == "core" {
		return nil
	}
	rooms := map[string]bool{}
	for _, room := range madeInCore {
		if local := s.local(module + "internal/" + room); local != "" && (room != "setting" || s.room != room) {
			rooms[local] = true
		}
	}
	var breaches []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "New" {
			if pkg, ok := sel.X.(*ast.Ident); ok && rooms[pkg.Name] {
				breaches = append(breaches, s.breach(sel.Pos(), "%s.New is called by core alone: tests take the room from coretest", pkg.Name))
			}
		}
		return true
	})
	return breaches
}

const needsNumber = "work to do without the number of its issue, (#n)"

var (
	todo         = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	numberedTODO = regexp.MustCompile(`\bTODO\(#[0-9]+\)`)
)

func numberedTODOs(s *source) []string {
	var breaches []string
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			if todo.MatchString(numberedTODO.ReplaceAllString(comment.Text, "")) {
				breaches = append(breaches, s.breach(comment.Pos(), needsNumber))
			}
		}
	}
	return breaches
}

// namedComments finds comments of functions and types that begin with another name, which theirs was once. Names of tests are
// sentences, which their comments do not repeat.
func namedComments(s *source) []string {
	if s.test || strings.HasSuffix(s.path, "_templ.go") {
		return nil
	}
	var breaches []string
	check := func(doc *ast.CommentGroup, name *ast.Ident) {
		if doc == nil {
			return
		}
		if word := firstWord.FindString(doc.Text()); word != name.Name {
			breaches = append(breaches, s.breach(doc.Pos(), "the comment of %s begins with %q", name.Name, word))
		}
	}
	for _, declared := range s.file.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name)
		case *ast.GenDecl:
			if d.Tok == token.TYPE && !d.Lparen.IsValid() {
				check(d.Doc, d.Specs[0].(*ast.TypeSpec).Name)
			}
		}
	}
	return breaches
}

var firstWord = regexp.MustCompile(`^\w*`)

// unread are the fields of a Deps that nothing in its package reads. A name that is read of something else in the package
// counts as read: this looks at names, not at types.
func unread(tree []*source) []string {
	read, given := map[string]bool{}, map[string]string{}
	for _, s := range tree {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); !ok || !s.importsAs(x.Name) {
					read[s.dir()+"."+n.Sel.Name] = true
				}
			case *ast.TypeSpec:
				fields, ok := n.Type.(*ast.StructType)
				if !ok || n.Name.Name != "Deps" {
					break
				}
				for _, field := range fields.Fields.List {
					for _, name := range field.Names {
						given[s.dir()+"."+name.Name] = s.breach(name.Pos(), "nothing reads the field %s of Deps: do without it", name.Name)
					}
				}
			}
			return true
		})
	}
	var breaches []string
	for field, breach := range given {
		if !read[field] {
			breaches = append(breaches, breach)
		}
	}
	slices.Sort(breaches)
	return breaches
}

// importsAs reports whether the file calls an imported package by this name.
func (s *source) importsAs(name string) bool {
	return slices.ContainsFunc(s.file.Imports, func(spec *ast.ImportSpec) bool { return s.local(imported(spec)) == name })
}

// most is how many methods a type may have before nobody knows them all.
const most = 30

// crowded are the types below a folder that have more methods than that.
func crowded(tree []*source, folder string) []string {
	methods := map[string]int{}
	for _, s := range tree {
		if s.dir() != folder && !strings.HasPrefix(s.dir(), folder+"/") {
			continue
		}
		for _, decl := range s.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			to := fn.Recv.List[0].Type
			if star, ok := to.(*ast.StarExpr); ok {
				to = star.X
			}
			if name, ok := to.(*ast.Ident); ok {
				methods[s.dir()+"."+name.Name]++
			}
		}
	}
	var breaches []string
	for name, n := range methods {
		if n > most {
			breaches = append(breaches, fmt.Sprintf("%s has %d methods, %d at most", name, n, most))
		}
	}
	return breaches
}
