package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutation is one mistake: a text of a file becomes another.
type mutation struct {
	name     string // what is wrong with the code then
	file     string
	tests    string // packages, and -run with what its tests must match
	by       string // the test that noticed it last, if it is known: it is tried first
	old, new string
}

// readAll reads the files of a folder in the order of their names, or the one that list names.
func readAll(dir, list string) ([]mutation, error) {
	if list == "" {
		list = "*"
	}
	names, err := filepath.Glob(filepath.Join(dir, list+".txt"))
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := parse(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// parse reads mutations. "file F" and "test ARGS" hold for all that follow; "# NAME" begins a mutation; lines that begin with "- "
// are the old text, those with "+ " the new one; "by TEST" is the test that noticed it last.
func parse(source, text string) ([]mutation, error) {
	var all []mutation
	var file, tests string
	open := false // whether lines of text may follow
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			continue
		case word == "file":
			file, open = rest, false
			continue
		case word == "test":
			tests, open = rest, false
			continue
		case word == "#" && file != "" && tests != "":
			all, open = append(all, mutation{name: rest, file: file, tests: tests}), true
			continue
		}
		if open && word == "by" {
			all[len(all)-1].by = rest
			continue
		}
		if !open || (word != "-" && word != "+") {
			return nil, fmt.Errorf("%s:%d: not understood: %s", source, n, line)
		}
		last := &all[len(all)-1]
		if word == "-" {
			last.old += rest + "\n"
		} else {
			last.new += rest + "\n"
		}
	}
	for i := range all {
		m := &all[i]
		m.old, m.new = strings.TrimSuffix(m.old, "\n"), strings.TrimSuffix(m.new, "\n")
		if m.old == "" || m.old == m.new {
			return nil, fmt.Errorf("%s: %s: %s changes nothing", source, m.file, m.name)
		}
	}
	return all, nil
}

// apply returns the file with the mistake. The old text must stand in it exactly once: code moves on, and a mutation has to follow.
func (m mutation) apply() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s: %s: the old text stands there %d times:\n%s", m.file, m.name, n, m.old)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// suites takes a line of tests apart: packages, and flags of their test programs.
func suites(tests string) (packages, flags []string) {
	words := strings.Fields(tests)
	if i := slices.Index(words, "-run"); i >= 0 {
		return words[:i], []string{"-test.run=" + strings.Join(words[i+1:], " ")}
	}
	return words, nil
}
