package guides

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// module is how the import paths of our own packages begin.
const module = "stithy/"

// program is the packages of a tree, type-checked from their source. The compiler would take minutes: of an example in a low room it
// compiles most of the house again, each time that something below has changed.
type program struct {
	tree    string
	tested  map[string]bool // packages whose tests are read, too
	fset    *token.FileSet
	sources map[string]sources
	done    map[string]*types.Package
	others  types.Importer // of what is not ours, as it was compiled
	flaws   []error
}

// sources is what a package is made of: with the tests that are in the package, and the tests that are outside.
type sources struct{ inside, outside []*ast.File }

// typeCheck reads packages with their tests and all that they import, and says what is wrong with them.
func typeCheck(tree string, packages, tested []string) error {
	p := &program{
		tree: tree, tested: map[string]bool{}, fset: token.NewFileSet(), sources: map[string]sources{}, done: map[string]*types.Package{},
	}
	for _, path := range tested {
		p.tested[path] = true
	}
	others := map[string]bool{}
	for _, path := range slices.Concat(packages, tested) {
		if err := p.read(path, others); err != nil {
			return err
		}
	}
	if err := p.findCompiled(others); err != nil {
		return err
	}
	for _, path := range slices.Concat(packages, tested) {
		if _, err := p.Import(path); err != nil {
			return err
		}
		if outside := p.sources[path].outside; len(outside) > 0 {
			p.check(path+"_test", outside)
		}
	}
	return errors.Join(p.flaws...)
}

// read parses a package and ours that it imports, and notes what it imports of others.
func (p *program) read(path string, others map[string]bool) error {
	if _, done := p.sources[path]; done {
		return nil
	}
	context := build.Default
	context.CgoEnabled = false
	dir := filepath.Join(p.tree, strings.TrimPrefix(path, module))
	names, err := context.ImportDir(dir, 0)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	inside, outside := names.GoFiles, []string(nil)
	if p.tested[path] {
		inside, outside = slices.Concat(names.GoFiles, names.TestGoFiles), names.XTestGoFiles
	}
	var s sources
	for i, name := range slices.Concat(inside, outside) {
		file, err := parser.ParseFile(p.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if i < len(inside) {
			s.inside = append(s.inside, file)
		} else {
			s.outside = append(s.outside, file)
		}
	}
	p.sources[path] = s
	for _, file := range slices.Concat(s.inside, s.outside) {
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !strings.HasPrefix(imported, module) {
				others[imported] = true
			} else if err := p.read(imported, others); err != nil {
				return err
			}
		}
	}
	return nil
}

// compiling lets one test at a time compile: all want the same.
var compiling sync.Mutex

// findCompiled has what is not ours compiled, unless it was before.
func (p *program) findCompiled(others map[string]bool) error {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for path := range others {
		args = append(args, path)
	}
	compiling.Lock()
	out, err := run(p.tree, nil, "go", args...)
	compiling.Unlock()
	if err != nil {
		return err
	}
	compiled := map[string]string{}
	for line := range strings.Lines(out) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		compiled[path] = file
	}
	p.others = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	return nil
}

// Import is a package as those see it that import it.
func (p *program) Import(path string) (*types.Package, error) {
	if !strings.HasPrefix(path, module) {
		return p.others.Import(path)
	}
	if p.done[path] == nil {
		p.done[path] = p.check(path, p.sources[path].inside)
	}
	return p.done[path], nil
}

func (p *program) check(path string, files []*ast.File) *types.Package {
	config := types.Config{Importer: p, Error: func(err error) { p.flaws = append(p.flaws, err) }}
	checked, _ := config.Check(path, p.fset, files, nil) // what is wrong went to Error
	return checked
}
