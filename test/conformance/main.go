// Command conformance measures how many rules of the specification a
// running server satisfies. It talks to the server only over HTTP and
// imports nothing of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

type options struct {
	base, token, areas, json, pending string
	verbose, bulk, rulesMD            bool
	limit                             time.Duration
}

func allAreas() []Area {
	return []Area{
		areaAuth(), areaErrorsLimits(), areaOAuth(), areaJobs(), areaRepository(), areaUsers(),
		areaVariables(), areaAlerts(), areaPages(), areaGroupExport(), areaNotifications(),
		areaEvents(), areaErrorTracking(), areaAudit(), areaPagination(), areaStorageMoves(),
	}
}

// extraAreas are areas that run only when they are named.
var extraAreas []func() Area

// selectAreas keeps the areas named in the comma list, all when it is empty.
func selectAreas(areas []Area, names string) ([]Area, error) {
	if names == "" {
		return areas, nil
	}
	for _, extra := range extraAreas {
		areas = append(areas, extra())
	}
	var out []Area
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		found := false
		for _, a := range areas {
			if a.Name == name {
				out, found = append(out, a), true
			}
		}
		if !found {
			return nil, fmt.Errorf("unknown area %q", name)
		}
	}
	return out, nil
}

// run executes the selected areas and returns the exit code.
func run(o options, out io.Writer) int {
	areas, err := selectAreas(allAreas(), o.areas)
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 2
	}
	if o.rulesMD {
		writeRules(out, areas)
		return 0
	}
	waiting, err := readPending(o.pending, allAreas())
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	env := newEnv(newClient(ctx, o.base), o.token)
	rep := &Report{out: out, verbose: o.verbose, pending: waiting}
	for _, a := range areas {
		rep.runArea(env, a, o.bulk)
	}
	if o.json != "" {
		if err := rep.writeJSON(o.json); err != nil {
			_, _ = fmt.Fprintln(out, "writing JSON:", err)
			return 2
		}
	}
	if !rep.finish() {
		return 1
	}
	return 0
}

func main() {
	var o options
	flag.StringVar(&o.base, "base", "http://127.0.0.1:8080", "base URL of the server under test")
	flag.StringVar(&o.token, "admin-token", "", "personal access token of an administrator")
	flag.StringVar(&o.areas, "area", "", "comma list of areas (default all)")
	flag.StringVar(&o.json, "json", "", "write results as JSON to this file")
	flag.BoolVar(&o.verbose, "v", false, "print passing rules too")
	flag.BoolVar(&o.bulk, "bulk", false, "select rules that create more than 10,000 records")
	flag.BoolVar(&o.rulesMD, "rules-md", false, "print the rule list as Markdown and stop")
	flag.StringVar(&o.pending, "pending", "", "file that lists the rules that fail for now: each of them must")
	flag.DurationVar(&o.limit, "limit", 15*time.Minute, "bounds the whole run")
	flag.Parse()
	if o.token == "" && !o.rulesMD {
		fmt.Fprintln(os.Stderr, "conformance: -admin-token is required")
		os.Exit(2)
	}
	os.Exit(run(o, os.Stdout))
}
