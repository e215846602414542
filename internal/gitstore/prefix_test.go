package gitstore

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A client may name half a million prefixes before anybody knows who it is, and each ref is held against all of them.
func TestDO02_APrefixFilterFindsWhatALookAtEveryPrefixFinds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	word := func(most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = "ab/"[random.IntN(3)]
		}
		return string(b)
	}
	for range 2000 {
		prefixes := make([]string, random.IntN(5))
		for i := range prefixes {
			prefixes[i] = word(6)
		}
		wanted := prefixFilter(prefixes)
		for range 20 {
			name := word(10)
			slow := len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
			if wanted(name) != slow {
				t.Fatalf("%q with the prefixes %q: %t", name, prefixes, !slow)
			}
		}
	}
}
