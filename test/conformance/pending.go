package main

import (
	"fmt"
	"os"
	"strings"
)

// readPending reads the ids of rules that fail for now, separated by white space; # begins a comment. No name means no such rules.
// An id that is listed twice or that no rule has is an error.
func readPending(name string, areas []Area) (map[string]bool, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, a := range areas {
		for _, r := range a.Rules {
			known[r.ID] = true
		}
	}
	pending := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		for _, id := range strings.Fields(line) {
			if !known[id] {
				return nil, fmt.Errorf("%s: there is no rule %s", name, id)
			}
			if pending[id] {
				return nil, fmt.Errorf("%s: %s is listed twice", name, id)
			}
			pending[id] = true
		}
	}
	return pending, nil
}
