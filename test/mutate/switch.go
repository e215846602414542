package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Compiling is most of what a mutation costs. So all mutations of a room are compiled into one program, where an environment variable says
// which of them is made: a function with a mistake stands beside the one without, which calls it first; a constant with one becomes a
// variable.

const (
	switchVariable = "STITHY_MUTANT"
	switchName     = "mutant_switch.go"
)

const switchFile = `package %s

import "os"

var mutantNow = os.Getenv("` + switchVariable + `")

func mutantIs(name string) bool { return mutantNow == name }

func mutantPick[T any](right T, name string, wrong T) T {
	if mutantIs(name) {
		return wrong
	}
	return right
}
`

// source is a file whose text is changed in places.
type source struct {
	path    string
	text    string
	files   *token.FileSet
	syntax  *ast.File
	edits   []edit
	further strings.Builder // follows the text
}

type edit struct {
	from, to int
	text     string
}

func readSource(path, text string) (*source, error) {
	s := &source{path: path, text: text, files: token.NewFileSet()}
	var err error
	s.syntax, err = parser.ParseFile(s.files, path, text, parser.SkipObjectResolution)
	return s, err
}

func (s *source) at(p token.Pos) int         { return s.files.Position(p).Offset }
func (s *source) of(n ast.Node) string       { return s.text[s.at(n.Pos()):s.at(n.End())] }
func (s *source) insert(at int, text string) { s.edits = append(s.edits, edit{at, at, text}) }
func (s *source) replace(n ast.Node, t string) {
	s.edits = append(s.edits, edit{s.at(n.Pos()), s.at(n.End()), t})
}

// result is the text with all changes.
func (s *source) result() string {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	done := 0
	for _, e := range s.edits {
		b.WriteString(s.text[done:e.from] + e.text)
		done = e.to
	}
	return b.String() + s.text[done:] + s.further.String()
}

// switchable returns the files of a program that holds all the mutations. Number i of them is made where the variable is i.
func switchable(all []mutation) (map[string]string, error) {
	changed := map[string]string{}
	rooms := map[string]map[string]*source{}
	moved := map[string]map[string][]string{} // of a room: constants that become variables, and the wrong values of each
	for i, m := range all {
		dir := filepath.Dir(m.file)
		if rooms[dir] == nil {
			room, err := readRoom(dir)
			if err != nil {
				return nil, err
			}
			rooms[dir], moved[dir] = room, map[string][]string{}
			for _, s := range room {
				changed[filepath.Join(dir, switchName)] = fmt.Sprintf(switchFile, s.syntax.Name.Name)
			}
		}
		text, err := m.apply()
		if err != nil {
			return nil, err
		}
		if err := rooms[dir][m.file].add(text, fmt.Sprint(i), moved[dir]); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.file, m.name, err)
		}
	}
	for dir, room := range rooms {
		moveConstants(room, moved[dir])
		for _, s := range room {
			if len(s.edits) > 0 {
				changed[s.path] = s.result()
			}
		}
	}
	return changed, nil
}

func readRoom(dir string) (map[string]*source, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	room := map[string]*source{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if room[name], err = readSource(name, string(text)); err != nil {
			return nil, err
		}
	}
	return room, nil
}

// add puts the one declaration that differs in a mutated text beside the one of the file.
func (s *source) add(mutated, name string, constants map[string][]string) error {
	wrong, err := readSource(s.path, mutated)
	if err != nil {
		return err
	}
	right, other, err := difference(s, wrong, s.syntax.Decls, wrong.syntax.Decls)
	if err != nil {
		return err
	}
	if f, ok := right.(*ast.FuncDecl); ok {
		return s.addFunction(f, wrong, other.(*ast.FuncDecl), name)
	}
	g := right.(*ast.GenDecl)
	a, b, err := difference(s, wrong, g.Specs, other.(*ast.GenDecl).Specs)
	if err != nil {
		return err
	}
	v, ok := a.(*ast.ValueSpec)
	if !ok || g.Tok != token.CONST || len(v.Names) != 1 || len(v.Values) != 1 {
		return errors.New("is neither in a function nor in a constant")
	}
	constants[v.Names[0].Name] = append(constants[v.Names[0].Name], name, wrong.of(b.(*ast.ValueSpec).Values[0]))
	return nil
}

func difference[N ast.Node](s, wrong *source, these, those []N) (one, other N, err error) {
	found := 0
	for i := range these {
		if len(these) == len(those) && s.of(these[i]) != wrong.of(those[i]) {
			one, other = these[i], those[i]
			found++
		}
	}
	if found != 1 {
		err = fmt.Errorf("changes %d declarations", found)
	}
	return one, other, err
}

func (s *source) addFunction(f *ast.FuncDecl, wrong *source, g *ast.FuncDecl, name string) error {
	if f.Name.Name != g.Name.Name || s.of(f.Type) != wrong.of(g.Type) || f.Body == nil {
		return errors.New("changes what a function is called with")
	}
	called := f.Name.Name + "Mutant" + name
	start, at := wrong.at(g.Pos()), wrong.at(g.Name.Pos())
	s.further.WriteString("\n" + wrong.text[start:at] + called + wrong.text[wrong.at(g.Name.End()):wrong.at(g.End())] + "\n")
	if f.Recv != nil {
		called = s.named(f.Recv, "mutantReceiver")[0] + "." + called
	}
	call := called + "(" + strings.Join(s.named(f.Type.Params, "mutantArgument"), ", ") + ")"
	if f.Type.Results.NumFields() > 0 {
		call = "return " + call
	} else {
		call += "; return"
	}
	s.insert(s.at(f.Body.Lbrace)+1, fmt.Sprintf(" if mutantIs(%q) { %s };", name, call))
	return nil
}

// named returns the names of parameters, and gives names to those that have none.
func (s *source) named(fields *ast.FieldList, prefix string) []string {
	var names []string
	for _, field := range fields.List {
		idents := field.Names
		if len(idents) == 0 {
			name := fmt.Sprint(prefix, len(names))
			s.once(edit{s.at(field.Type.Pos()), s.at(field.Type.Pos()), name + " "})
			names = append(names, name)
		}
		for _, ident := range idents {
			name := ident.Name
			if name == "_" {
				name = fmt.Sprint(prefix, len(names))
				s.once(edit{s.at(ident.Pos()), s.at(ident.End()), name})
			}
			names = append(names, name)
		}
		if _, many := field.Type.(*ast.Ellipsis); many {
			names[len(names)-1] += "..."
		}
	}
	return names
}

func (s *source) once(e edit) {
	if !slices.Contains(s.edits, e) {
		s.edits = append(s.edits, e)
	}
}

// moveConstants makes variables of constants, and of those that are made of them.
func moveConstants(room map[string]*source, moved map[string][]string) {
	type place struct {
		in    *source
		at    *ast.ValueSpec
		whole ast.Node // what goes when it goes
	}
	constants := map[string]place{}
	for _, s := range room {
		for _, d := range s.syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				if v := spec.(*ast.ValueSpec); len(v.Names) == 1 && len(v.Values) == 1 {
					constants[v.Names[0].Name] = place{s, v, v}
					if !g.Lparen.IsValid() {
						constants[v.Names[0].Name] = place{s, v, g}
					}
				}
			}
		}
	}
	for again := true; again; {
		again = false
		for name, c := range constants {
			ast.Inspect(c.at.Values[0], func(n ast.Node) bool {
				if ident, ok := n.(*ast.Ident); ok && moved[ident.Name] != nil && moved[name] == nil {
					moved[name], again = []string{}, true
				}
				return true
			})
		}
	}
	for name, wrong := range moved {
		c := constants[name]
		value := c.in.of(c.at.Values[0])
		for i := 0; i < len(wrong); i += 2 {
			value = fmt.Sprintf("mutantPick(%s, %q, %s)", value, wrong[i], wrong[i+1])
		}
		kind := ""
		if c.at.Type != nil {
			kind = " " + c.in.of(c.at.Type)
		}
		c.in.replace(c.whole, strings.Repeat("\n", strings.Count(c.in.of(c.whole), "\n")))
		c.in.further.WriteString("\nvar " + name + kind + " = " + value + "\n")
	}
}
