package e2e

import (
	"strings"
	"testing"
)

// A browser takes keys only at a name, so this forge is at one.
func TestASecurityKeyInARealBrowser(t *testing.T) {
	t.Parallel()
	f := install(t)
	f.url = strings.Replace(f.url, "127.0.0.1", "localhost", 1)
	f.env = append(f.env, "STITHY_EXTERNAL_URL="+f.url)
	f.serve()
	f.person("ada")
	t.Log(f.script(nil, "node", "node/security_key.mjs"))
}
