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

	pairs  bool // the file may hold a mapping; elsewhere it is written name=value, with commas
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
			name: "tls", initial: "off",
			doc: "`auto` has `listen` speak TLS, with a certificate for the host of `external_url` that is got and renewed by itself; the world must reach that port as 443. `off` where a proxy in front does so.",
			set: func(c *Config, s string) error { c.TLS.Auto = s == "auto"; return tlsMode(s, c.ExternalURL) },
		},
		{
			name: "redirect_listen",
			doc:  "Address and port that the world reaches as 80, for example `:80`, where `tls` is `auto`: who comes there is sent to `external_url`, and certificate authorities are answered.",
			set:  func(c *Config, s string) (err error) { c.TLS.RedirectListen, err = listenAddress(s); return err },
		},
		{
			name: "acme.directory", initial: "https://acme-v02.api.letsencrypt.org/directory",
			doc: "Directory of the certificate authority, which speaks ACME.",
			set: func(c *Config, s string) error {
				c.TLS.Directory = s
				return urlOf(s, "https://acme.example.com/directory", "https")
			},
		},
		{
			name: "acme.contact",
			doc:  "Mail address that the certificate authority may write to.",
			set:  func(c *Config, s string) error { c.TLS.Contact = s; return nil },
		},
		{
			name: "acme.ca_file",
			doc:  "File of certificates (PEM) that the authority's own address is trusted by, in place of those of the system.",
			set:  func(c *Config, s string) error { c.TLS.CAFile = s; return nil },
		},
		{
			name: "pages.external_url",
			doc:  "How people reach the sites of projects (Pages): each stands at a name below this host, for example `https://pages.example.net`. Without it there are none. Take another domain than that of `external_url`: what runs in a site must not reach the cookies of the forge.",
			set: func(c *Config, s string) (err error) {
				c.Pages.ExternalURL, err = pagesURL(s, c.ExternalURL)
				return err
			},
		},
		{
			name: "pages.listen",
			doc:  "Address and port to serve sites on over HTTP, for example `127.0.0.1:8090`. Without it no site is served here; give it on the nodes that have the role `pages`.",
			set:  func(c *Config, s string) (err error) { c.Pages.Listen, err = listenAddress(s); return err },
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
			doc: "PostgreSQL, for example `postgres://stithy@localhost:5432/stithy`. A server of the same machine is spoken to without TLS unless `sslmode` is given.",
			set: func(c *Config, s string) error {
				c.DatabaseURL = secretbox.Secret(s)
				return urlOf(s, "postgres://user@host:5432/name", "postgres", "postgresql")
			},
		},
		{
			name: "database_max_conns", initial: "16",
			doc: "Most connections that this process opens to the database for its work. It needs up to four more to be told of changes.",
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
			doc: "Object store of artifacts, logs, uploads and sites: `s3://key:secret@host/bucket?region=r`, or `file:///folder`.",
			set: func(c *Config, s string) error {
				c.BlobURL = secretbox.Secret(s)
				return urlOf(s, "s3://bucket or file:///folder", "s3", "file")
			},
		},
		{
			name: "storages", pairs: true, initial: "`default` is `repositories` in `data_dir`",
			derive: func(c *Config) string { return "default=" + filepath.Join(c.DataDir, "repositories") },
			doc:    "Folders of repositories, by name. A name stands in the database: keep it when a folder moves.",
			set:    func(c *Config, s string) (err error) { c.Storages, err = storages(s); return err },
		},
		{
			name: "cache_dir", initial: "`cache` in `data_dir`",
			derive: func(c *Config) string { return filepath.Join(c.DataDir, "cache") },
			doc:    "Folder of packs and archives that can be made again. Empty it at any time.",
			set:    func(c *Config, s string) error { c.CacheDir = s; return nil },
		},
		{
			name: "min_free_space", initial: "1000",
			doc: "Free megabytes below which a disk of repositories, data or caches counts as full: `doctor` fails, and `/-/readiness?all=1` says so. 0 is never.",
			set: func(c *Config, s string) error {
				n, err := number(s, 0, 1_000_000_000)
				c.MinFreeSpace = int64(n) * 1_000_000
				return err
			},
		},
		{
			name: "git.program", initial: "git",
			doc: "The git program, 2.39.4 or newer (of 2.40 to 2.45: 2.40.2, 2.41.1, 2.42.2, 2.43.4, 2.44.1, 2.45.1).",
			set: func(c *Config, s string) error { c.Git.Program = s; return nil },
		},
		{
			name: "git.max_push", initial: "0",
			doc: "Most megabytes of one push, whatever administrators allow. 0 is no limit.",
			set: func(c *Config, s string) error {
				n, err := number(s, 0, 1<<20)
				c.Git.MaxPush = int64(n) << 20
				return err
			},
		},
		{
			name: "git.max_large_file", initial: "5120",
			doc: "Most megabytes of one large file (Git LFS). 0 is no limit.",
			set: func(c *Config, s string) error {
				n, err := number(s, 0, 1<<20)
				c.Git.MaxLargeFile = int64(n) << 20
				return err
			},
		},
		{
			name: "git.ban_failures", initial: "0",
			doc: "How many wrong credentials of git, within `git.ban_within`, close the door of git over HTTP to an address. 0 closes it to nobody; 30 is a good number.",
			set: func(c *Config, s string) error {
				n, err := number(s, 0, 1_000_000)
				c.Git.Ban.Failures = int(n)
				return err
			},
		},
		{
			name: "git.ban_within", initial: "3m",
			doc: "Time in which wrong credentials of git are counted together.",
			set: func(c *Config, s string) (err error) { c.Git.Ban.Within, err = duration(s, 24*time.Hour); return err },
		},
		{
			name: "git.ban_for", initial: "1h",
			doc: "How long an address is kept out. Addresses of this machine never are.",
			set: func(c *Config, s string) (err error) { c.Git.Ban.For, err = duration(s, 30*24*time.Hour); return err },
		},
		{
			name: "ssh.listen",
			doc:  "Address and port to serve git over SSH on, for example `0.0.0.0:2222`. Without it there is no SSH.",
			set:  func(c *Config, s string) (err error) { c.SSH.Listen, err = listenAddress(s); return err },
		},
		{
			name: "ssh.host_keys", initial: "`ssh` in `data_dir`",
			derive: func(c *Config) string { return filepath.Join(c.DataDir, "ssh") },
			doc:    "Folder of the keys that the SSH server proves itself with. Those that are missing are made.",
			set:    func(c *Config, s string) error { c.SSH.HostKeys = s; return nil },
		},
		{
			name: "ssh.port", initial: "that of `ssh.listen`",
			derive: func(c *Config) string {
				_, port, _ := net.SplitHostPort(c.SSH.Listen) // "" where there is no SSH
				return port
			},
			doc: "Port that clients reach SSH at, where it is another one than the server listens on. It stands in the addresses that the API gives.",
			set: func(c *Config, s string) error {
				n, err := number(s, 1, 65535)
				c.SSH.Port = int(n)
				return err
			},
		},
		{
			name: "smtp_url", secret: true,
			doc: "Mail server, for example `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. Without it no mail is sent: nobody can reset a password or register alone.",
			set: func(c *Config, s string) error {
				c.SMTPURL = secretbox.Secret(s)
				return urlOf(s, "smtp://user:password@host:587", "smtp", "smtps")
			},
		},
		{
			name: "mail_from", initial: "`noreply@` and the host of `external_url`",
			derive: func(c *Config) string {
				if c.ExternalURL == nil {
					return ""
				}
				return "noreply@" + c.ExternalURL.Hostname()
			},
			doc: "Address that mail is sent from.",
			set: func(c *Config, s string) error { c.MailFrom = s; return nil },
		},
		{
			name: "trusted_proxies", list: true,
			doc: "Addresses or networks of proxies whose `X-Forwarded-For` header is believed.",
			set: func(c *Config, s string) (err error) { c.TrustedProxies, err = networks(s); return err },
		},
		{
			name: "http.stall", initial: "30s",
			doc: "How long a client may send nothing of its request, or take nothing of its answer, before it is cut off. So is one that sends or takes less than a kilobyte a second for long.",
			set: func(c *Config, s string) (err error) { c.HTTP.Stall, err = duration(s, time.Hour); return err },
		},
		{
			name: "http.connections_per_address", initial: "1024",
			doc: "Most connections of one address, or of 64 bits of addresses of IPv6. `trusted_proxies` and this machine may have more.",
			set: func(c *Config, s string) error {
				n, err := number(s, 1, 1_000_000)
				c.HTTP.ConnectionsPerAddress = int(n)
				return err
			},
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
			name: "job_request_hold", initial: "50s",
			doc: "How long a runner's request for a job is held open while there is none. A proxy in front has to wait longer.",
			set: func(c *Config, s string) (err error) { c.JobRequestHold, err = duration(s, 5*time.Minute); return err },
		},
		{
			name: "identifiers.service", initial: "svc",
			doc: "The service's name inside identifiers that clients see.",
			set: func(c *Config, s string) error { c.Identifiers.Service = s; return identifier(s) },
		},
		{
			name: "identifiers.service_name", initial: "`GitLab` where `identifiers.service` is `gitlab`, else that name with a capital: `Svc`", derive: nameOfService,
			doc: "The service's name as text in messages that clients show or look for, such as those of git.",
			set: func(c *Config, s string) error { c.Identifiers.ServiceName = s; return nameInText(s) },
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
		{
			name: "instance.password_grant", initial: "true",
			doc: "Whether programs may exchange a username and password for an OAuth token. Accounts with a second factor or another way to sign in are always refused.",
			set: func(c *Config, s string) error {
				c.Instance.PasswordGrant = s == "true"
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
