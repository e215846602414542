package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listed is a package as go list shows it.
type listed struct {
	ImportPath string
	Dir        string
	Export     string // file of what others may know of it
	GoFiles    []string
}

// compileAll checks the types of each package once for each mutation of it, and once with all of them, against what the other packages are without any.
func compileAll(all []mutation, changed map[string]string) error {
	var dirs []string
	for _, m := range all {
		dirs = append(dirs, "./"+filepath.Dir(m.file))
	}
	slices.Sort(dirs)
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, slices.Compact(dirs)...)
	command := exec.Command("go", args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("listing packages: %w", err)
	}
	exports, byDir := map[string]string{}, map[string]listed{}
	for packages := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		exports[p.ImportPath], byDir[p.Dir] = p.Export, p
	}
	files := token.NewFileSet()
	known := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var wrong []error
	for _, m := range all {
		if err := m.compiles(files, known, byDir); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %w", m.file, m.name, err))
		}
	}
	wrong = append(wrong, compileRooms(files, known, byDir, changed)...)
	if len(wrong) == 0 {
		fmt.Printf("%d mutations fit the code and compile\n", len(all))
	}
	return errors.Join(wrong...)
}

// compileRooms checks the types of rooms as the program has them that holds all their mutations: a constant that became a variable does not fit
// wherever the constant did.
func compileRooms(files *token.FileSet, known types.Importer, byDir map[string]listed, changed map[string]string) (wrong []error) {
	rooms := map[string]map[string]string{}
	for name, text := range changed {
		dir := filepath.Dir(name)
		if rooms[dir] == nil {
			rooms[dir] = map[string]string{}
		}
		rooms[dir][filepath.Base(name)] = text
	}
	for room, texts := range rooms {
		dir, err := filepath.Abs(room)
		if err == nil {
			err = compileRoom(files, known, byDir[dir], texts)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s with all of its mutations: %w", room, err))
		}
	}
	return wrong
}

func compileRoom(files *token.FileSet, known types.Importer, room listed, texts map[string]string) error {
	var parsed []*ast.File
	for _, name := range append(slices.Clone(room.GoFiles), switchName) {
		var changed any // nil is what the file holds
		if text, has := texts[name]; has {
			changed = text
		}
		file, err := parser.ParseFile(files, filepath.Join(room.Dir, name), changed, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	_, err := (&types.Config{Importer: known}).Check(room.ImportPath, files, parsed, nil)
	return err
}

func (m mutation) compiles(files *token.FileSet, known types.Importer, byDir map[string]listed) error {
	dir, err := filepath.Abs(filepath.Dir(m.file))
	if err != nil {
		return err
	}
	text, err := m.apply()
	if err != nil {
		return err
	}
	var parsed []*ast.File
	for _, name := range byDir[dir].GoFiles {
		var changed any // nil is what the file holds
		if name == filepath.Base(m.file) {
			changed = text
		}
		file, err := parser.ParseFile(files, filepath.Join(dir, name), changed, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	_, err = (&types.Config{Importer: known}).Check(byDir[dir].ImportPath, files, parsed, nil)
	return err
}
