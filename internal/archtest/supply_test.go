package archtest

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	// credential matches what lets somebody in: tokens of this and other forges and clouds, private keys.
	credential = regexp.MustCompile(`(?:svc|gl)[a-z]{2,5}-[A-Za-z0-9_-]{20}|\bgh[pousr]_[A-Za-z0-9]{36}|\bAKIA[0-9A-Z]{16}\b|` +
		`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/=:-]{16}`)
	// passwordHash matches what somebody with the password would be let in by.
	passwordHash = regexp.MustCompile(`\$argon2id?\$v=[0-9]+\$[^$]+\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}|\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}`)
)

// credentials finds them in a text. What counts up the alphabet is an example.
func credentials(text string) (found []string) {
	for _, match := range credential.FindAllString(text, -1) {
		if !strings.Contains(strings.ToLower(match), "abcdefghij") {
			found = append(found, match)
		}
	}
	return found
}

// eachText calls f with every text file of the tree.
func eachText(t *testing.T, f func(name, text string)) {
	t.Helper()
	tree := os.DirFS("../..")
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "node_modules", "tmp"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err == nil && utf8.Valid(text) {
			f(name, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSU04_NoKeyOrTokenIsInTheTree(t *testing.T) {
	t.Parallel()
	files := 0
	eachText(t, func(name, text string) {
		files++
		for _, found := range credentials(text) {
			t.Errorf("%s holds %.12s…", name, found)
		}
	})
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
	for _, text := range []string{
		"svcpat-" + "x7Qk_Zt-03bVnM9sLw2R", "-----BEGIN OPENSSH PRIVATE" + " KEY-----\nb3BlbnNzaC1rZXktdjEA", "gh" + "p_" + strings.Repeat("x1", 18),
	} {
		if credentials(text) == nil {
			t.Errorf("%q is not found", text)
		}
	}
}

// AU-11: the program is delivered without an account and without a credential that would fit one.
func TestAU11_TheProgramHoldsNoCredential(t *testing.T) {
	t.Parallel()
	for _, s := range theTree(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && (credential.MatchString(text) || passwordHash.MatchString(text)) {
					t.Error(s.breach(lit.Pos(), "a credential"))
				}
			}
			return true
		})
	}
	eachText(t, func(name, text string) {
		if path.Dir(name) == "db/migrations" && path.Ext(name) == ".sql" && strings.Contains(strings.ToLower(text), "insert into users") {
			t.Errorf("%s makes an account", name)
		}
	})
}

var (
	// replacement matches what go.mod puts in the place of a module.
	replacement  = regexp.MustCompile(`(?m)=>\s*(\S+)`)
	exactVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	// unpinned matches commands that fetch whatever is newest today.
	unpinned = regexp.MustCompile(`@(latest|main|master)\b|:latest\b|\bnpx\b|\bnpm (i|install|update)\b|\bpip3? install\b|\bgo get\b|\|\s*(ba)?sh\b`)
)

// SU-05: what is fetched to build, test or check is named by an exact version and checked by its content.
func TestSU05_NothingIsFetchedByAnOpenVersion(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	eachText(t, func(name, text string) {
		switch base := path.Base(name); {
		case base == "package.json":
			seen["npm"]++
			var project struct{ Dependencies, DevDependencies map[string]string }
			if err := json.Unmarshal([]byte(text), &project); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, wanted := range []map[string]string{project.Dependencies, project.DevDependencies} {
				for dependency, version := range wanted {
					if !exactVersion.MatchString(version) {
						t.Errorf("%s wants %s %s", name, dependency, version)
					}
				}
			}
			lock, err := os.ReadFile("../../" + path.Join(path.Dir(name), "package-lock.json"))
			if err != nil {
				t.Fatal(err)
			}
			var locked struct {
				Packages map[string]struct {
					Integrity string
					InBundle  bool // comes within another, whose content is pinned
				}
			}
			if err := json.Unmarshal(lock, &locked); err != nil || len(locked.Packages) < 2 {
				t.Errorf("%s is not locked: %v", name, err)
			}
			for dependency, pin := range locked.Packages {
				if dependency != "" && !pin.InBundle && !strings.HasPrefix(pin.Integrity, "sha512-") {
					t.Errorf("%s: %s is not pinned by its content", name, dependency)
				}
			}
		case base == "go.mod":
			seen["go"]++
			if _, err := os.Stat("../../" + path.Join(path.Dir(name), "go.sum")); err != nil && strings.Contains(text, "require") {
				t.Error(err)
			}
			for _, by := range replacement.FindAllStringSubmatch(text, -1) {
				if !strings.HasPrefix(by[1], "./") || strings.Contains(by[1], "..") {
					t.Errorf("%s replaces a module by %s, which is not within its folder", name, by[1])
				}
			}
		case base == "Makefile", strings.HasPrefix(name, ".ci/"), path.Dir(name) == "tools" && path.Ext(name) == "":
			seen["scripts"]++
			for i, line := range strings.Split(text, "\n") {
				if found := unpinned.FindString(line); found != "" {
					t.Errorf("%s:%d: %s", name, i+1, found)
				}
				if strings.Contains(line, "npm ci") && !strings.Contains(line, "--ignore-scripts") {
					t.Errorf("%s:%d: npm runs the scripts of packages", name, i+1)
				}
			}
		}
	})
	if seen["npm"] < 2 || seen["go"] < 2 || seen["scripts"] < 3 {
		t.Errorf("only %v were found", seen)
	}
	for _, line := range []string{"go run example.com/x@latest", "npm install", "curl -s https://x.example | bash"} {
		if !unpinned.MatchString(line) {
			t.Errorf("%s passes", line)
		}
	}
}

// SU-06: the module names the oldest Go that it trusts, to the patch, and is not built with an older one. Packages that
// nobody mends any more are not used.
func TestSU06_GoIsAtLeastWhatTheModuleAsksFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../go.mod", "../../tools/go.mod", "../../tools/s3/go.mod", "../../tools/glab/go.mod", "../../tools/pebble/go.mod", "../../test/runner/go.mod"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		floor := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(text))
		if floor == nil || !exactVersion.MatchString(floor[1]) {
			t.Fatalf("%s names no release of Go: %q", name, floor)
		}
		if built, _, _ := strings.Cut(runtime.Version(), " "); version.Compare(built, "go"+floor[1]) < 0 {
			t.Errorf("%s asks for Go %s, and this is %s", name, floor[1], built)
		}
	}
	for _, s := range theTree(t) {
		for _, breach := range s.imports("is not maintained", "golang.org/x/crypto/openpgp", "golang.org/x/crypto/openpgp/armor", "golang.org/x/crypto/openpgp/packet") {
			t.Error(breach)
		}
	}
}

// chosen are the modules that the program is made of, each with a decision behind it. A new one costs size, memory and trust for as long
// as it stays. What only tests use stands in go.mod, too, and not here (docs/adr/0050-one-module.md).
var chosen = []string{
	"github.com/Masterminds/semver/v3", "github.com/ProtonMail/go-crypto", "github.com/a-h/templ", "github.com/andybalholm/brotli", "github.com/cespare/xxhash/v2",
	"github.com/go-chi/chi/v5", "github.com/go-webauthn/webauthn", "github.com/golang-jwt/jwt/v5", "github.com/gomodule/redigo",
	"github.com/jackc/pgx/v5", "github.com/maypok86/otter/v2", "github.com/microcosm-cc/bluemonday", "github.com/minio/minio-go/v7",
	"github.com/pquerna/otp", "github.com/pressly/goose/v3", "github.com/prometheus/client_golang", "github.com/riverqueue/river",
	"github.com/spf13/cobra", "github.com/wneessen/go-mail", "github.com/yuin/goldmark",
	"go.yaml.in/yaml/v3", "golang.org/x/crypto", "golang.org/x/net", "golang.org/x/text",
}

func TestTheProgramIsMadeOfChosenModules(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range theTree(t) {
		if s.test || strings.HasSuffix(s.dir(), "test") || strings.HasPrefix(s.path, "test/") || strings.HasPrefix(s.path, "tools/") {
			continue
		}
		for _, spec := range s.file.Imports {
			name := imported(spec)
			if host, _, _ := strings.Cut(name, "/"); !strings.Contains(host, ".") {
				// html/template and text/template call methods by name, so that the linker has to keep all of them: eight megabytes.
				if name == "html/template" || name == "text/template" {
					t.Error(s.breach(spec.Pos(), "%s is imported; write a component with templ", name))
				}
				continue
			}
			i := slices.IndexFunc(chosen, func(module string) bool { return name == module || strings.HasPrefix(name, module+"/") })
			if i < 0 {
				t.Error(s.breach(spec.Pos(), "%s is of no chosen module", name))
				continue
			}
			used[chosen[i]] = true
		}
	}
	for _, module := range chosen {
		if !used[module] {
			t.Errorf("%s is used nowhere any more", module)
		}
	}
}
