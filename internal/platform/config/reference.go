package config

import (
	"fmt"
	"strings"
)

// Reference is a Markdown table of all settings.
func Reference() string {
	var b strings.Builder
	b.WriteString("| Key | Variable | Default | Meaning |\n|---|---|---|---|\n")
	for _, k := range keys() {
		initial, doc := "`"+k.initial+"`", k.doc
		switch {
		case k.derive != nil:
			initial = k.initial
		case k.initial == "":
			initial = "none"
		}
		if k.list {
			doc += " A list; commas between the items of the variable."
		}
		if k.pairs {
			doc += " Written `name=folder` in the variable, with commas between."
		}
		if k.secret {
			doc += " `" + k.variable() + fileSuffix + "` names a file that holds the value."
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", k.name, k.variable(), initial, doc)
	}
	return b.String()
}
