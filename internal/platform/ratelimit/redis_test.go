package ratelimit

import (
	"crypto/rand"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

const redisAddress = "127.0.0.1:6379"

// connect gives a counter that has the patience for a busy test machine.
func connect(t *testing.T, address string) *Redis {
	t.Helper()
	r, err := NewRedisWithin("redis://"+address+"/0", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// uniqueRule keeps the counts of a test apart from all others in the server.
func uniqueRule(limit int) Rule {
	return Rule{Name: "test-" + rand.Text(), Limit: limit, Period: time.Minute}
}

func TestTwoLimitersShareACount(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon}
	one, two := New(h.clock(), connect(t, redisAddress)), New(h.clock(), connect(t, redisAddress))
	rule := uniqueRule(3)
	for i, limiter := range []*Limiter{one, two, one, two, two} {
		if got := limiter.Hit(t.Context(), rule, "key"); got.Observed != i+1 || got.Allowed() != (i < 3) {
			t.Errorf("hit %d: %+v", i+1, got)
		}
	}
	h.turn(time.Minute)
	if got := two.Hit(t.Context(), rule, "key"); got.Observed != 1 {
		t.Errorf("in the next window: %+v", got)
	}
}

func TestConcurrentHitsOnTwoNodesAllowExactlyTheLimit(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon}
	rule := uniqueRule(50)
	var allowed atomic.Int32
	var group sync.WaitGroup
	for range 2 {
		limiter := New(h.clock(), connect(t, redisAddress))
		for range 4 {
			group.Go(func() {
				for range 20 {
					if limiter.Hit(t.Context(), rule, "key").Allowed() {
						allowed.Add(1)
					}
				}
			})
		}
	}
	group.Wait()
	if got := allowed.Load(); got != 50 {
		t.Errorf("%d hits allowed, want 50", got)
	}
}

func TestASharedCountExpires(t *testing.T) {
	t.Parallel()
	r := connect(t, redisAddress)
	key := "ratelimit:test-" + rand.Text()
	for range 2 {
		if _, err := r.Increment(t.Context(), key, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	left, err := redis.Int64(r.do(t.Context(), "PTTL", key))
	if err != nil || left <= 0 || left > time.Minute.Milliseconds() {
		t.Errorf("expires in %d ms, want a minute; %v", left, err)
	}
}

func TestMN06_LimitsHoldWhenRedisIsGone(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon}
	line := newProxy(t)
	limiter := New(h.clock(), connect(t, line.address))
	rule := uniqueRule(4)
	hit := func(limiter *Limiter, key string, want int) {
		t.Helper()
		if got := limiter.Hit(t.Context(), rule, key); got.Observed != want || got.Allowed() != (want <= 4) {
			t.Errorf("%s: %+v, want %d observed", key, got, want)
		}
	}
	hit(limiter, "attacker", 1)
	hit(limiter, "attacker", 2)

	line.cut()
	hit(limiter, "attacker", 3) // this one finds Redis gone
	hit(limiter, "attacker", 4)
	hit(limiter, "attacker", 5)
	hit(limiter, "somebody else", 1)
	h.turn(time.Second)
	hit(limiter, "attacker", 6) // this one tries again, in vain

	line.mend()
	h.turn(time.Second)
	hit(limiter, "attacker", 7)
	other := New(h.clock(), connect(t, redisAddress))
	hit(limiter, "newcomer", 1)
	hit(other, "newcomer", 2)
	hit(limiter, "newcomer", 3)
}

func TestMN06_ARedisThatDoesNotAnswerCostsOneShortWait(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in the backlog for ever
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r, err := NewRedis("redis://" + silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	limiter := New((&hands{now: noon}).clock(), r)
	rule := uniqueRule(10)

	began := time.Now()
	for i := range 1000 {
		if got := limiter.Hit(t.Context(), rule, "key"); got.Observed != i+1 || got.Allowed() != (i < 10) {
			t.Fatalf("hit %d: %+v", i+1, got)
		}
	}
	// A thousand waits would take 50 s; the margin is for a busy machine.
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestPingTellsWhetherRedisAnswers(t *testing.T) {
	t.Parallel()
	line := newProxy(t)
	r := connect(t, line.address)
	if err := r.Ping(t.Context()); err != nil {
		t.Errorf("up: %v", err)
	}
	line.cut()
	if err := r.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "reaching Redis") {
		t.Errorf("down: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestRedisAnswersOnASocketOfTheMachine(t *testing.T) {
	t.Parallel()
	line := newProxyOn(t, "unix", filepath.Join(t.TempDir(), "redis.sock"))
	r, err := NewRedisWithin("unix://"+line.address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestABadRedisURLIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"",
		"127.0.0.1:6379",
		"http://:hunter2@127.0.0.1:6379",
		"redis://:hun/ter2@127.0.0.1:6379",
		"redis://:hunter2@127.0.0.1:6379/many",
		"redis://:hunter2%zz@127.0.0.1:6379",
		"redis://127.0.0.1:6379?password=hunter2",
		"redis:",
		"unix://",
	} {
		r, err := NewRedis(url)
		if err == nil {
			t.Errorf("%s: accepted", url)
			_ = r.Close()
		} else if strings.Contains(err.Error(), "hun") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: the error tells the password: %v", url, err)
		}
	}
}

// proxy is a line to Redis that a test can cut.
type proxy struct {
	address string
	mu      sync.Mutex
	broken  bool
	open    []net.Conn
}

func newProxy(t *testing.T) *proxy { return newProxyOn(t, "tcp", "127.0.0.1:0") }

func newProxyOn(t *testing.T, network, address string) *proxy {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: listener.Addr().String()}
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.join(client)
		}
	}()
	return p
}

func (p *proxy) join(client net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		_ = client.Close()
		return
	}
	server, err := net.Dial("tcp", redisAddress)
	if err != nil {
		_ = client.Close()
		return
	}
	p.open = append(p.open, client, server)
	go func() { _, _ = io.Copy(server, client) }()
	go func() { _, _ = io.Copy(client, server) }()
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = false
}
