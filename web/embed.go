// Package web holds what the pages that people see are made of and that is not
// Go: style sheets. Those of others are copied from npm, see package.json, and
// committed, so that a build of the binary needs nothing but Go.
package web

import "embed"

// Assets are the files below assets/.
//
//go:embed assets
var Assets embed.FS
