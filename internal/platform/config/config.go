// Package config owns the settings of the process: which there are, where they come from, and whether they
// make sense. A setting is a key of stithy.yaml or the variable of the same name; the variable wins. One
// table drives the file, the variables, the defaults, `config show` and the reference page.
//
// It does not own settings that administrators change at run time (those are rows in the database), and it
// opens nothing but the files that hold settings.
package config

import (
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"stithy/internal/platform/secretbox"
)

// Config is what the process was told. It is complete and valid, and nobody changes it after Load.
type Config struct {
	Listen      string
	ExternalURL *url.URL // no query, no trailing slash
	TLS         TLS

	DataDir       string
	SecretKeyFile string
	BlobURL       secretbox.Secret // empty: blobs live in DataDir

	DatabaseURL      secretbox.Secret // may be empty, see RequireDatabase
	DatabaseMaxConns int32
	RedisURL         secretbox.Secret // empty: counters and wake-ups stay in the process

	Storages []Storage // of repositories; at least one
	CacheDir string
	// MinFreeSpace is below how many free bytes a disk counts as full.
	MinFreeSpace int64

	Git      Git
	SSH      SSH
	SMTPURL  secretbox.Secret // empty: no mail is sent
	MailFrom string

	HTTP            HTTP
	TrustedProxies  []netip.Prefix
	MonitoringAllow []netip.Prefix

	LogLevel  slog.Level
	LogFormat string // "json" or "text"

	ShutdownGrace time.Duration
	DrainDelay    time.Duration

	JobRequestHold time.Duration

	Identifiers Identifiers
	Instance    Instance
	Pages       Pages

	values []Value
}

// TLS says whether the instance speaks TLS itself, and who issues its certificate.
type TLS struct {
	Auto           bool
	RedirectListen string // "" for none
	Directory      string
	Contact        string
	CAFile         string // "" for those of the system
}

// Storage is a named folder of repositories.
type Storage struct {
	Name string
	Path string
}

// Git says how git is run.
type Git struct {
	Program string
	MaxPush int64 // bytes; 0 leaves it to the instance's settings
	// MaxLargeFile is how many bytes a large file may have; 0 is no limit.
	MaxLargeFile int64
	Ban          Ban
}

// Ban says when an address that guesses credentials of git is kept out. It is
// off without a number of failures.
type Ban struct {
	Failures int
	Within   time.Duration
	For      time.Duration
}

// HTTP says what clients may do to connections.
type HTTP struct {
	Stall                 time.Duration
	ConnectionsPerAddress int
}

// SSH says how the SSH server is reached.
type SSH struct {
	Listen   string // empty: none
	HostKeys string // folder
	Port     int    // that clients use; 0 where there is no SSH
}

// Identifiers are the names that clients see: in identifiers, and one as text.
type Identifiers struct {
	Service     string
	ServiceName string
	Errors      string
}

// Instance says which features the instance has.
type Instance struct {
	Tier          string // "free", "premium" or "ultimate"
	Hosted        bool
	Impersonation bool // impersonation tokens work
	PasswordGrant bool // programs may exchange passwords for OAuth tokens
}

// Pages says where the sites of projects are served.
type Pages struct {
	ExternalURL *url.URL // nil: there are none
	Listen      string   // empty: this process serves none
}

// Value is one setting as an administrator may see it.
type Value struct {
	Key    string
	Value  string // as it was written, passwords replaced by dots
	Origin string // "default", "stithy.yaml:12" or "STITHY_LISTEN"
}

// Values lists every setting in the order of the reference page.
func (c *Config) Values() []Value { return c.values }

// RequireDatabase tells an operator what to do when the command at hand needs a database and none is named.
func (c *Config) RequireDatabase() error {
	if c.DatabaseURL != "" {
		return nil
	}
	return errors.New("no database is named: set STITHY_DATABASE_URL, or database_url in stithy.yaml, " +
		"for example postgres://stithy@localhost:5432/stithy")
}
