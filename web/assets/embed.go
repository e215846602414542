// Package assets holds what the pages that people see are made of and that is
// not Go: style sheets and a script. Those of others are copied from npm, see package.json
// in the folder above, and committed, so that a build of the binary needs
// nothing but Go.
package assets

import "embed"

// Files are the style sheets and scripts, the icon and what crawlers are told, by
// name.
//
//go:embed *.css *.js favicon.png robots.txt
var Files embed.FS
