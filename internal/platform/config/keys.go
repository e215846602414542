package config

import (
	"net"
	"path/filepath"
	"strings"
	"time"

	"stithy/internal/platform/secretbox"
)

// key is one row of the table of settings.
type key struct {
	name    string // in the file; the variable's name follows from it
	initial string // the default, as an operator would write it
	doc     string
	set     func(c *Config, text string) error

	// derive gives a default that follows from keys further up; initial then describes it in words.
	derive func(c *Config) string

	list   bool // the file may hold a sequence; elsewhere values are separated by commas
	secret bool // a URL that may hold a password; the variable has a _FILE twin
}

func (k key) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

const (
	prefix     = "STITHY_"
	fileSuffix = "_FILE"
)

// keys is the table of settings.
func keys() []key {
	return []key{
		{
			name: "listen", initial: "127.0.0.1:8080",
			doc: "Address and port to serve HTTP on.",
			set: func(c *Config, s string) (err error) { c.Listen, err = listenAddress(s); return err },
		},
		{
			name: "external_url", initial: "`http://` and the listen address", derive: externalFromListen,
			doc: "How people and clients reach this instance. All links begin with it.",
			set: func(c *Config, s string) (err error) { c.ExternalURL, err = externalURL(s); return err },
		},
		{
			name: "data_dir", initial: "./data",
			doc: "Folder of repositories and, without `blob_url`, of blobs.",
			set: func(c *Config, s string) error { c.DataDir = s; return nil },
		},
		{
			name: "secret_key_file", initial: "`secret.key` in `data_dir`",
			derive: func(c *Config) string { return filepath.Join(c.DataDir, "secret.key") },
			doc:    "File of the keys that protect secrets at rest. Back it up apart from the database.",
			set:    func(c *Config, s string) error { c.SecretKeyFile = s; return nil },
		},
		{
			name: "database_url", secret: true,
			doc: "PostgreSQL, for example `postgres://stithy@localhost:5432/stithy`.",
			set: func(c *Config, s string) error {
				c.DatabaseURL = secretbox.Secret(s)
				return urlOf(s, "postgres://user@host:5432/name", "postgres", "postgresql")
			},
		},
		{
			name: "database_max_conns", initial: "16",
			doc: "Most connections this process opens to the database.",
			set: func(c *Config, s string) (err error) { c.DatabaseMaxConns, err = number(s, 1, 1000); return err },
		},
		{
			name: "redis_url", secret: true,
			doc: "Redis or Valkey, for counters and wake-ups shared by several nodes, for example `redis://localhost:6379/0`. One node needs none.",
			set: func(c *Config, s string) error {
				c.RedisURL = secretbox.Secret(s)
				return urlOf(s, "redis://host:6379/0", "redis", "rediss", "unix")
			},
		},
		{
			name: "blob_url", secret: true,
			doc: "Object store of artifacts, logs, uploads and sites: `s3://bucket`, or `file:///folder`.",
			set: func(c *Config, s string) error {
				c.BlobURL = secretbox.Secret(s)
				return urlOf(s, "s3://bucket or file:///folder", "s3", "file")
			},
		},
		{
			name: "trusted_proxies", list: true,
			doc: "Addresses or networks of proxies whose `X-Forwarded-For` header is believed.",
			set: func(c *Config, s string) (err error) { c.TrustedProxies, err = networks(s); return err },
		},
		{
			name: "monitoring_allow", list: true, initial: "127.0.0.0/8, ::1/128",
			doc: "Addresses or networks that may read `/-/health`, `/-/liveness`, `/-/readiness` and `/-/metrics`.",
			set: func(c *Config, s string) (err error) { c.MonitoringAllow, err = networks(s); return err },
		},
		{
			name: "log_level", initial: "info",
			doc: "Least severe events to log: `debug`, `info`, `warn` or `error`.",
			set: func(c *Config, s string) error {
				if err := oneOf(s, "debug", "info", "warn", "error"); err != nil {
					return err
				}
				return c.LogLevel.UnmarshalText([]byte(s))
			},
		},
		{
			name: "log_format", initial: "json",
			doc: "Form of a log line: `json` or `text`.",
			set: func(c *Config, s string) error { c.LogFormat = s; return oneOf(s, "json", "text") },
		},
		{
			name: "shutdown_grace", initial: "30s",
			doc: "Time that work in flight has to finish when the process is told to stop.",
			set: func(c *Config, s string) (err error) { c.ShutdownGrace, err = duration(s, time.Hour); return err },
		},
		{
			name: "drain_delay", initial: "0s",
			doc: "Time between readiness saying no and the listener closing, so that a balancer can look elsewhere. It comes before `shutdown_grace`.",
			set: func(c *Config, s string) (err error) { c.DrainDelay, err = duration(s, time.Hour); return err },
		},
		{
			name: "identifiers.service", initial: "svc",
			doc: "The service's name inside identifiers that clients see.",
			set: func(c *Config, s string) error { c.Identifiers.Service = s; return identifier(s) },
		},
		{
			name: "identifiers.errors", initial: "errsvc",
			doc: "The error-tracking backend's name inside identifiers that clients see.",
			set: func(c *Config, s string) error { c.Identifiers.Errors = s; return identifier(s) },
		},
		{
			name: "instance.tier", initial: "ultimate",
			doc: "Features on offer: `free`, `premium` or `ultimate`.",
			set: func(c *Config, s string) error { c.Instance.Tier = s; return oneOf(s, "free", "premium", "ultimate") },
		},
		{
			name: "instance.hosted", initial: "false",
			doc: "`true` where the instance is offered to the public as a service, `false` where it is self-managed.",
			set: func(c *Config, s string) error { c.Instance.Hosted = s == "true"; return oneOf(s, "true", "false") },
		},
		{
			name: "instance.impersonation", initial: "true",
			doc: "Whether impersonation tokens, which administrators make for other users, work.",
			set: func(c *Config, s string) error {
				c.Instance.Impersonation = s == "true"
				return oneOf(s, "true", "false")
			},
		},
	}
}

// externalFromListen is empty when the listen address is unusable: that problem is reported once, there.
func externalFromListen(c *Config) string {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}
