package config_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/platform/config"
)

// file writes a configuration file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stithy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, yaml string, environ ...string) *config.Config {
	t.Helper()
	c, err := config.Load(file(t, yaml), environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// problems are the lines of Load's error, the file called by its base name.
func problems(t *testing.T, yaml string, environ ...string) []string {
	t.Helper()
	path := file(t, yaml)
	c, err := config.Load(path, environ)
	if err == nil {
		t.Fatal("Load found no problem")
	}
	if c != nil {
		t.Error("Load gave a configuration along with the error")
	}
	return strings.Split(strings.ReplaceAll(err.Error(), path, filepath.Base(path)), "\n")
}

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func TestAnEmptyFileGivesTheDefaults(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"", "# nothing yet\n", "---\n", "redis_url:\nidentifiers:\nlisten: ''\n"} {
		c := load(t, yaml, "STITHY_BLOB_URL=", "PATH=/bin", "STITHY_TEST_ANYTHING=1")
		got := map[string]any{
			"listen": c.Listen, "external": c.ExternalURL.String(), "data": c.DataDir, "key": c.SecretKeyFile,
			"urls": c.DatabaseURL.Reveal() + c.RedisURL.Reveal() + c.BlobURL.Reveal() + c.SMTPURL.Reveal(), "conns": c.DatabaseMaxConns, "from": c.MailFrom,
			"proxies": len(c.TrustedProxies), "monitoring": fmt.Sprint(c.MonitoringAllow),
			"level": c.LogLevel, "format": c.LogFormat, "grace": c.ShutdownGrace, "drain": c.DrainDelay,
			"identifiers": c.Identifiers, "instance": c.Instance,
			"storages": c.Storages, "cache": c.CacheDir, "free": c.MinFreeSpace, "git": c.Git, "ssh": c.SSH,
		}
		want := map[string]any{
			"listen": "127.0.0.1:8080", "external": "http://127.0.0.1:8080", "data": "./data", "key": "data/secret.key",
			"urls": "", "conns": int32(16), "from": "noreply@127.0.0.1",
			"proxies": 0, "monitoring": "[127.0.0.0/8 ::1/128]",
			"level": slog.LevelInfo, "format": "json", "grace": 30 * time.Second, "drain": time.Duration(0),
			"identifiers": config.Identifiers{Service: "svc", ServiceName: "Svc", Errors: "errsvc"}, "instance": config.Instance{Tier: "ultimate", Impersonation: true, PasswordGrant: true},
			"storages": []config.Storage{{Name: "default", Path: "data/repositories"}}, "cache": "data/cache", "free": int64(1_000_000_000),
			"git": config.Git{Program: "git", MaxLargeFile: 5 << 30, Ban: config.Ban{Within: 3 * time.Minute, For: time.Hour}}, "ssh": config.SSH{HostKeys: "data/ssh"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", yaml, diff)
		}
		if err := c.RequireDatabase(); err == nil || !strings.Contains(err.Error(), "STITHY_DATABASE_URL") {
			t.Errorf("a command that needs a database says %v", err)
		}
	}
}

const everything = `listen: 0.0.0.0:80
external_url: https://code.example.com/forge/
tls: auto
redirect_listen: 0.0.0.0:82
acme: {directory: "https://acme.example.com/dir", contact: ops@example.com, ca_file: /etc/stithy/ca.pem}
pages: {external_url: "https://pages.example.net", listen: "0.0.0.0:81"}
data_dir: /var/lib/stithy
secret_key_file: /etc/stithy/secret.key
database_url: postgres://stithy:pw@db/stithy?sslmode=require
database_max_conns: 40
redis_url: rediss://:pw@cache:6380/1
blob_url: s3://bucket?region=eu-1
storages:
  default: /srv/a
  fast: /srv/b
cache_dir: /var/cache/stithy
min_free_space: 2
git:
  program: /opt/git/bin/git
  max_push: 200
  max_large_file: 300
  ban_failures: 10
  ban_within: 60s
  ban_for: 2h
ssh:
  listen: 0.0.0.0:2222
  host_keys: /etc/stithy/ssh
  port: 22
smtp_url: smtp://forge:pw@mail:587
mail_from: forge@code.example.com
http:
  stall: 20s
  connections_per_address: 300
trusted_proxies: [10.0.0.0/8, "::1", "::ffff:192.0.2.1"]
monitoring_allow: 192.0.2.0/24
log_level: debug
log_format: text
shutdown_grace: 1m30s
drain_delay: 5s
job_request_hold: 20s
identifiers:
  service: gitlab
  service_name: Our Forge
  errors: sentry
instance:
  tier: free
  hosted: true
  impersonation: false
  password_grant: false
`

func TestTheNameOfTheServiceFollowsFromItsIdentifier(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"":                                    "Svc",
		"identifiers: {service: forge}":       "Forge",
		"identifiers: {service: gitlab}":      "GitLab",
		"identifiers: {service_name: My Hub}": "My Hub",
		"identifiers: {service: gitlab, service_name: Hub 2.0}": "Hub 2.0",
	} {
		if got := load(t, yaml).Identifiers.ServiceName; got != want {
			t.Errorf("%q: %q instead of %q", yaml, got, want)
		}
	}
}

func TestEveryKeyCanStandInTheFileOrInTheEnvironment(t *testing.T) {
	t.Parallel()
	fromFile := load(t, everything)
	var environ []string
	for _, v := range fromFile.Values() {
		if !strings.Contains(v.Origin, "stithy.yaml:") {
			t.Errorf("%s comes from %s; the file should set every key", v.Key, v.Origin)
		}
		value := v.Value
		switch v.Key {
		case "database_url":
			value = fromFile.DatabaseURL.Reveal()
		case "smtp_url":
			value = fromFile.SMTPURL.Reveal()
		case "redis_url":
			value = fromFile.RedisURL.Reveal()
		}
		environ = append(environ, "STITHY_"+strings.ToUpper(strings.ReplaceAll(v.Key, ".", "_"))+"="+value)
	}
	for _, c := range []*config.Config{fromFile, load(t, "listen: 127.0.0.1:1\n", environ...)} {
		got := []any{
			c.Listen, c.ExternalURL.String(), c.DataDir, c.SecretKeyFile,
			c.DatabaseURL.Reveal(), c.DatabaseMaxConns, c.RedisURL.Reveal(), c.BlobURL.Reveal(),
			fmt.Sprint(c.TrustedProxies), fmt.Sprint(c.MonitoringAllow),
			c.LogLevel, c.LogFormat, c.ShutdownGrace, c.DrainDelay, c.Identifiers, c.Instance, c.RequireDatabase(),
			c.Storages, c.CacheDir, c.MinFreeSpace, c.Git, c.SSH, c.Pages.ExternalURL.String(), c.Pages.Listen,
		}
		want := []any{
			"0.0.0.0:80", "https://code.example.com/forge", "/var/lib/stithy", "/etc/stithy/secret.key",
			"postgres://stithy:pw@db/stithy?sslmode=require", int32(40), "rediss://:pw@cache:6380/1", "s3://bucket?region=eu-1",
			fmt.Sprint(prefixes("10.0.0.0/8", "::1/128", "192.0.2.1/32")), fmt.Sprint(prefixes("192.0.2.0/24")),
			slog.LevelDebug, "text", 90 * time.Second, 5 * time.Second,
			config.Identifiers{Service: "gitlab", ServiceName: "Our Forge", Errors: "sentry"}, config.Instance{Tier: "free", Hosted: true}, nil,
			[]config.Storage{{Name: "default", Path: "/srv/a"}, {Name: "fast", Path: "/srv/b"}}, "/var/cache/stithy", int64(2_000_000),
			config.Git{Program: "/opt/git/bin/git", MaxPush: 200 << 20, MaxLargeFile: 300 << 20, Ban: config.Ban{Failures: 10, Within: time.Minute, For: 2 * time.Hour}},
			config.SSH{Listen: "0.0.0.0:2222", HostKeys: "/etc/stithy/ssh", Port: 22}, "https://pages.example.net", "0.0.0.0:81",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestEveryValueSaysWhereItCameFrom(t *testing.T) {
	t.Parallel()
	path := file(t, "log_level: warn\n\nlisten: 127.0.0.1:1\ninstance:\n  tier: free\nmonitoring_allow: []\n")
	c, err := config.Load(path, []string{"STITHY_LISTEN=127.0.0.1:2"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]config.Value{}
	for _, v := range c.Values() {
		got[v.Key] = v
	}
	for _, want := range []config.Value{
		{Key: "log_level", Value: "warn", Origin: path + ":1"},
		{Key: "listen", Value: "127.0.0.1:2", Origin: "STITHY_LISTEN"},
		{Key: "external_url", Value: "http://127.0.0.1:2", Origin: "default"},
		{Key: "instance.tier", Value: "free", Origin: path + ":5"},
		{Key: "monitoring_allow", Value: "", Origin: path + ":6"},
		{Key: "shutdown_grace", Value: "30s", Origin: "default"},
	} {
		if got[want.Key] != want {
			t.Errorf("got %+v, want %+v", got[want.Key], want)
		}
	}
	if len(c.MonitoringAllow) != 0 {
		t.Errorf("an empty list allows %v", c.MonitoringAllow)
	}
}

func TestPasswordsAreShownAsDots(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"postgres://u:CANARY@db:5432/x":                          "postgres://u:••••@db:5432/x",
		"postgres://u:CAN%40ARY@db":                              "postgres://u:••••@db",
		"postgres://u:C:CANARY@db/":                              "postgres://u:••••@db/",
		"postgres://u@db/x@y":                                    "postgres://u@db/x@y",
		"postgres:///x?host=/run&password=CANARY&sslmode=p":      "postgres:///x?host=/run&password=••••&sslmode=p",
		"postgres://u:CANARY@db/x?pass%77ord=CANARY&user=CANARI": "postgres://u:••••@db/x?pass%77ord=••••&user=CANARI",
	} {
		c := load(t, "", "STITHY_DATABASE_URL="+given)
		for _, v := range c.Values() {
			if v.Key == "database_url" && v.Value != want {
				t.Errorf("%s is shown as %s, want %s", given, v.Value, want)
			}
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if shown := fmt.Sprintf(verb, *c); strings.Contains(shown, "CANARY") {
				t.Errorf("%s of the configuration shows the password: %s", verb, shown)
			}
		}
	}
}

func TestASecretCanComeFromAFile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(secret, []byte("postgres://u:pw@db/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, "database_url: postgres://other/x\n", "STITHY_DATABASE_URL_FILE="+secret)
	if got := c.DatabaseURL.Reveal(); got != "postgres://u:pw@db/x" {
		t.Errorf("got %q", got)
	}
	got := problems(t, "", "STITHY_DATABASE_URL_FILE="+secret, "STITHY_DATABASE_URL=postgres://db/x",
		"STITHY_REDIS_URL_FILE="+secret+".missing")
	want := []string{
		"STITHY_DATABASE_URL and STITHY_DATABASE_URL_FILE are both set; keep one",
		"STITHY_REDIS_URL_FILE: the file cannot be read: open " + secret + ".missing: no such file or directory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllProblemsAreListedAtOnce(t *testing.T) {
	t.Parallel()
	got := problems(t, `listn: 127.0.0.1:1
identifiers:
  servce: x
  errors: Sentry
database_url: postgres://u:CANARY#1@db/x
redis_url: "mysql://:CANARY@db"
blob_url: file://CANARY
log_level: info
log_level: warn
instance: ultimate
data_dir: {path: x}
trusted_proxies: [10.0.0.1/8]
monitoring_allow: [[127.0.0.1]]
shutdown_grace: 30
`,
		"STITHY_LISTEN=8080", "STITHY_EXTERNAL_URL=code.example.com", "STITHY_DATABASE_MAX_CONNS=0",
		"STITHY_INSTANCE_TIER=gold", "STITHY_DATABASE_URI=postgres://db/x", "STITHY_LOGLEVEL=warn", "STITHY_DRAIN_DELAY=-1s",
		"STITHY_INSTANCE_HOSTED=yes", "STITHY_LOG_FORMAT=xml", "STITHY_IDENTIFIERS_SERVICE_NAME=a\"b")
	want := []string{
		`stithy.yaml:1: unknown key "listn"; the nearest known key is listen`,
		`stithy.yaml:3: unknown key "identifiers.servce"; the nearest known key is identifiers.service`,
		`stithy.yaml:9: log_level stands already at stithy.yaml:8; keep one`,
		`stithy.yaml:10: instance is a group of keys; write them indented below it`,
		`stithy.yaml:11: data_dir takes one plain value`,
		`stithy.yaml:13: monitoring_allow takes a list of plain values`,
		`STITHY_DATABASE_URI: unknown variable; the nearest known one is STITHY_DATABASE_URL`,
		`STITHY_LOGLEVEL: unknown variable; the nearest known one is STITHY_LOG_LEVEL`,
		`STITHY_LISTEN: "8080" is not an address with a port; write for example 127.0.0.1:8080`,
		`STITHY_EXTERNAL_URL: "code.example.com" is not a web address; write for example https://code.example.com`,
		`stithy.yaml:5: database_url: the value is not a URL of the form postgres://user@host:5432/name; percent-encode special characters in a password`,
		`STITHY_DATABASE_MAX_CONNS: "0" is not a whole number from 1 to 1000`,
		`stithy.yaml:6: redis_url: the value is not a URL of the form redis://host:6379/0; percent-encode special characters in a password`,
		`stithy.yaml:7: blob_url: the value is not a URL of the form s3://bucket or file:///folder; percent-encode special characters in a password`,
		`stithy.yaml:12: trusted_proxies: "10.0.0.1/8" holds "10.0.0.1/8", an address inside a network; write 10.0.0.0/8 for the network`,
		`STITHY_LOG_FORMAT: "xml" is not known; write json or text`,
		`stithy.yaml:14: shutdown_grace: "30" is not a time from 0s to 1h0m0s; write for example 30s`,
		`STITHY_DRAIN_DELAY: "-1s" is not a time from 0s to 1h0m0s; write for example 30s`,
		`STITHY_IDENTIFIERS_SERVICE_NAME: "a\"b" is not a name of at most 63 letters, digits, spaces, dots, hyphens and underscores`,
		`stithy.yaml:4: identifiers.errors: "Sentry" is not a word of lower-case letters and digits that begins with a letter`,
		`STITHY_INSTANCE_TIER: "gold" is not known; write free, premium or ultimate`,
		`STITHY_INSTANCE_HOSTED: "yes" is not known; write true or false`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFileThatIsNoMappingIsRefused(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"- listen\n":             "stithy.yaml:1: expected keys and values, for example listen: 127.0.0.1:8080",
		"listen: a: b\n":         "stithy.yaml is not YAML: mapping values are not allowed in this context",
		"log_level: info\n---\n": "stithy.yaml: a second document begins after the first; keep one",
	} {
		if got := problems(t, yaml); len(got) != 1 || got[0] != want {
			t.Errorf("%q: got %q, want %q", yaml, got, want)
		}
	}
}

func TestStoragesHavePlainNamesAndFoldersOfTheirOwn(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"default":                "is not a list of names and folders; write for example default=/var/lib/stithy/repositories",
		"a=/x, ../b=/y":          "is not a list of names and folders; write for example default=/var/lib/stithy/repositories",
		"default=":               "is not a list of names and folders; write for example default=/var/lib/stithy/repositories",
		"default=/a, b=/a":       "names b, or its folder, twice",
		"default=/a, default=/b": "names default, or its folder, twice",
	} {
		if got := problems(t, "", "STITHY_STORAGES="+given); len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%q: got %q", given, got)
		}
	}
	if got := problems(t, "storages: {a: [b]}\n"); got[0] != "stithy.yaml:1: storages takes names with plain values" {
		t.Errorf("got %q", got)
	}
}

func TestTheExternalURLIsAPlainWebAddress(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"ftp://h", "https://", "https://:80", "https:h", "https://h?a=b", "https://h?", "https://h#x", "https://u:p@h", "//h", "http://h:x",
	} {
		if got := problems(t, "", "STITHY_EXTERNAL_URL="+bad); len(got) != 1 {
			t.Errorf("%s: %q", bad, got)
		}
	}
	for listen, want := range map[string]string{
		":80": "http://localhost:80", "0.0.0.0:80": "http://localhost:80", "[::]:80": "http://localhost:80",
		"[::1]:0": "http://[::1]:0", "code:80": "http://code:80",
	} {
		if got := load(t, "", "STITHY_LISTEN="+listen).ExternalURL.String(); got != want {
			t.Errorf("%s gives %s, want %s", listen, got, want)
		}
	}
}

// Not parallel: it changes the working directory.
func TestTheFileIsFoundByFlagThenVariableThenFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"flag", "variable", "stithy"} {
		if err := os.WriteFile(name+".yaml", []byte("data_dir: "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ path, variable, want string }{
		{"flag.yaml", "variable.yaml", "flag"},
		{"", "variable.yaml", "variable"},
		{"", "", "stithy"},
	} {
		c, err := config.Load(row.path, []string{"STITHY_CONFIG=" + row.variable})
		if err != nil {
			t.Fatal(err)
		}
		if c.DataDir != row.want {
			t.Errorf("%+v: read %s.yaml", row, c.DataDir)
		}
	}
	if _, err := config.Load("missing.yaml", nil); err == nil || !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("a named file that is missing gives %v", err)
	}
}

func TestTheReferenceHasARowForEveryKey(t *testing.T) {
	t.Parallel()
	reference := config.Reference()
	values := load(t, "").Values()
	for _, v := range values {
		if !strings.Contains(reference, "\n| `"+v.Key+"` | `STITHY_") {
			t.Errorf("no row for %s", v.Key)
		}
	}
	if rows := strings.Count(reference, "\n") - 2; rows != len(values) {
		t.Errorf("%d rows for %d keys", rows, len(values))
	}
	for _, want := range []string{
		"| `listen` | `STITHY_LISTEN` | `127.0.0.1:8080` | Address and port to serve HTTP on. |\n",
		"| `external_url` | `STITHY_EXTERNAL_URL` | `http://` and the listen address | ",
		"| `instance.tier` | `STITHY_INSTANCE_TIER` | `ultimate` | ",
		"| `redis_url` | `STITHY_REDIS_URL` | none | ",
		"`STITHY_REDIS_URL_FILE` names a file",
	} {
		if !strings.Contains(reference, want) {
			t.Errorf("the reference lacks %q", want)
		}
	}
}

func TestClientsReachSSHWhereItListensUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]int{
		"": 0, "ssh: {listen: 127.0.0.1:2222}": 2222, "ssh: {listen: 127.0.0.1:2222, port: 22}": 22,
	} {
		if got := load(t, yaml).SSH.Port; got != want {
			t.Errorf("%q: got %d, want %d", yaml, got, want)
		}
	}
}

func TestSitesStandApartFromTheForge(t *testing.T) {
	t.Parallel()
	if c := load(t, "external_url: https://code.example.com\n"); c.Pages.ExternalURL != nil || c.Pages.Listen != "" {
		t.Errorf("there are sites without a setting: %+v", c.Pages)
	}
	c := load(t, "external_url: https://code.example.com\npages:\n  external_url: https://Pages.example.net:8443/\n  listen: 127.0.0.1:8090\n")
	if c.Pages.ExternalURL.String() != "https://pages.example.net:8443" || c.Pages.Listen != "127.0.0.1:8090" {
		t.Errorf("%+v", c.Pages)
	}
	for _, root := range []string{
		"https://code.example.com", "http://CODE.example.com:8080", "https://pages.code.example.com", "https://example.com", "https://10.0.0.1", "https://pages.example.net/sites",
	} {
		if got := problems(t, "external_url: https://code.example.com\npages:\n  external_url: "+root+"\n"); len(got) != 1 || !strings.Contains(got[0], "pages.external_url") {
			t.Errorf("%s: %q", root, got)
		}
	}
}

func TestTLSNeedsANameThatTheWorldKnows(t *testing.T) {
	t.Parallel()
	c := load(t, "external_url: https://code.example.com\ntls: auto\nredirect_listen: ':80'\nacme: {contact: ops@example.com}\n")
	want := config.TLS{Auto: true, RedirectListen: ":80", Directory: "https://acme-v02.api.letsencrypt.org/directory", Contact: "ops@example.com"}
	if c.TLS != want {
		t.Errorf("%+v", c.TLS)
	}
	for _, address := range []string{"http://code.example.com", "https://192.0.2.1", "https://localhost"} {
		if got := problems(t, "external_url: "+address+"\ntls: auto\n"); len(got) != 1 || !strings.Contains(got[0], "tls") {
			t.Errorf("%s: %q", address, got)
		}
		if load(t, "external_url: "+address+"\ntls: off\n").TLS.Auto {
			t.Errorf("%s speaks TLS", address)
		}
	}
	for _, wrong := range []string{"tls: always", "acme: {directory: 'http://acme.example.com'}", "redirect_listen: eighty"} {
		if got := problems(t, "external_url: https://code.example.com\n"+wrong+"\n"); len(got) != 1 {
			t.Errorf("%s: %q", wrong, got)
		}
	}
}
