// Package gitssh is the door for git over SSH: connections, keys, and the few
// commands that there are. Who may do what inside is decided by repository.
//
// It does not own the keys of people (user) nor of machines (deploykey).
package gitssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"stithy/internal/deploykey"
	"stithy/internal/gitpath"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/lfs"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the door needs from below.
type Deps struct {
	Listen       string
	HostKeys     string // folder
	Settings     *setting.Service
	Users        *user.Service
	Tokens       *token.Service
	DeployKeys   *deploykey.Service
	Projects     *project.Service
	Repositories *repository.Service
	Paths        *gitpath.Service
	LFS          *lfs.Service
	Clock        clock.Clock
	Log          *slog.Logger
	ExternalURL  *url.URL
	Names        wire.Names
	Limits       Limits
	Database     postgres.Limits // for all that a session does
}

// Limits bound what strangers can take up. Zero stands for the default.
type Limits struct {
	Connections int           // in all: 1000
	PerAddress  int           // 100
	Handshake   time.Duration // until a key is proved: 15 seconds
	Command     time.Duration // from then until a command comes: 15 seconds
	Reading     time.Duration // that a client may take nothing of what is sent to it: a minute
	Thinking    time.Duration // that nothing is said on either side while a command runs: ten minutes
}

// Server takes connections.
type Server struct {
	deps     Deps
	config   *ssh.ServerConfig
	listener net.Listener
	died     chan error
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	all     int
	address map[string]int // by network
}

// New makes the server; Part runs it.
func New(d Deps) *Server {
	d.Limits = d.Limits.orDefaults()
	return &Server{deps: deps.Complete(d), died: make(chan error, 1), address: map[string]int{}}
}

// orDefaults are the limits, with those that nobody set.
func (l Limits) orDefaults() Limits {
	return Limits{
		Connections: cmp.Or(l.Connections, 1000), PerAddress: cmp.Or(l.PerAddress, 100),
		Handshake: cmp.Or(l.Handshake, 15*time.Second), Command: cmp.Or(l.Command, 15*time.Second),
		Reading: cmp.Or(l.Reading, time.Minute), Thinking: cmp.Or(l.Thinking, 10*time.Minute),
	}
}

// algorithms are all that is offered. What is weak, or open to the cutting of
// handshakes, is not among it.
var algorithms = ssh.Algorithms{
	KeyExchanges: []string{
		"mlkem768x25519-sha256", "curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256", "ecdh-sha2-nistp384",
		"ecdh-sha2-nistp521", "diffie-hellman-group16-sha512", "diffie-hellman-group14-sha256",
	},
	Ciphers: []string{
		"aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr",
	},
	MACs:     []string{"hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"},
	HostKeys: []string{"ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256"},
	PublicKeyAuths: []string{
		"ssh-ed25519", "sk-ssh-ed25519@openssh.com", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
		"sk-ecdsa-sha2-nistp256@openssh.com", "rsa-sha2-512", "rsa-sha2-256",
	},
}

const maxAuthTries = 6

func (s *Server) configure() error {
	signers, err := EnsureHostKeys(s.deps.HostKeys)
	if err != nil {
		return err
	}
	s.config = &ssh.ServerConfig{
		Config:                  ssh.Config{KeyExchanges: algorithms.KeyExchanges, Ciphers: algorithms.Ciphers, MACs: algorithms.MACs},
		PublicKeyAuthAlgorithms: algorithms.PublicKeyAuths,
		MaxAuthTries:            maxAuthTries,
		ServerVersion:           "SSH-2.0-Stithy",
		PublicKeyCallback:       s.knows,
	}
	for _, signer := range signers {
		s.config.AddHostKey(signer)
	}
	return nil
}

// What is known of a key that was proved: permissions belong to the key that
// signed, not to one that was offered before it.
const (
	ofUser   = "user-key"
	ofDeploy = "deploy-key"
)

var errKey = errors.New("gitssh: unknown key")

// knows says whose a key is. It is asked about every key that a client offers;
// nothing that it does may be believed before the client signed.
func (s *Server) knows(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	if c.User() != "git" {
		return nil, errKey
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.deps.Limits.Handshake)
	defer cancel()
	fingerprint := ssh.FingerprintSHA256(key)
	k, err := s.deps.Users.FindSSHKeyByFingerprint(ctx, fingerprint)
	if err == nil && k.UsageType != "signing" {
		return &ssh.Permissions{Extensions: map[string]string{ofUser: strconv.FormatInt(k.ID, 10)}}, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, s.failed(ctx, "looking for a key", err)
	}
	machine, err := s.deps.DeployKeys.FindByFingerprint(ctx, fingerprint)
	if err == nil {
		return &ssh.Permissions{Extensions: map[string]string{ofDeploy: strconv.FormatInt(machine.ID, 10), "fingerprint": fingerprint}}, nil
	}
	if !fault.Is(err, fault.NotFound) {
		return nil, s.failed(ctx, "looking for a deploy key", err)
	}
	return nil, errKey
}

// failed makes an error of looking for a key known, to the client as well: it would take it for a refusal of its key.
func (s *Server) failed(ctx context.Context, doing string, err error) error {
	s.deps.Log.LogAttrs(ctx, slog.LevelError, doing, slog.Any("error", err), cause(err))
	return &ssh.BannerError{Err: err, Message: unavailable + "\n"}
}

// unavailable is what a client hears when the database does not answer.
const unavailable = "The server is not available right now. Try again in a little while."

// Part is ready once connections are accepted.
func (s *Server) Part() lifecycle.Component {
	return lifecycle.Component{Name: "ssh", Start: s.start, Stop: s.stop, Died: s.died}
}

// Addr is where the server listens, once it does.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

func (s *Server) start(ctx context.Context) error {
	s.ctx, s.cancel = context.WithCancel(postgres.Within(context.WithoutCancel(ctx), s.deps.Database))
	if err := s.configure(); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.deps.Listen)
	if err != nil {
		return fmt.Errorf("listening for SSH: %w", err)
	}
	s.listener = listener
	go s.accept()
	return nil
}

// stop takes no more connections, lets commands finish while ctx lasts, and
// then ends them.
func (s *Server) stop(ctx context.Context) error {
	err := s.listener.Close()
	finished := make(chan struct{})
	go func() {
		s.running.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	s.cancel()
	return err
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.died <- err
			return
		}
		from := addressOf(conn)
		if !s.enter(from) {
			_ = conn.Close()
			continue
		}
		s.running.Go(func() {
			defer s.leave(from)
			s.serve(conn, from)
		})
	}
}

func addressOf(conn net.Conn) netip.Addr {
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap()
}

// enter counts a connection, if there is room for it.
func (s *Server) enter(address netip.Addr) bool {
	from := fairshare.Network(address)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.deps.Limits.Connections || s.address[from] >= s.deps.Limits.PerAddress {
		return false
	}
	s.all++
	s.address[from]++
	return true
}

func (s *Server) leave(address netip.Addr) {
	from := fairshare.Network(address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.address[from]--; s.address[from] == 0 {
		delete(s.address, from)
	}
}
