package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// redisTimeout is the most that a hit waits for the shared counter.
	redisTimeout = 50 * time.Millisecond
	// dialTimeout is the most that a new connection takes. The hit that wanted it does not wait so long; later ones use it.
	dialTimeout = time.Second
	// redisConns bounds the connections, and so the hits that wait for one.
	redisConns = 64
)

// Redis is a Counter in Redis or Valkey.
type Redis struct {
	pool    *redis.Pool
	timeout time.Duration
}

// NewRedis makes a counter in the server at a redis://, rediss:// or unix:// URL. It does not connect yet: the
// server may come later.
func NewRedis(url string) (*Redis, error) { return NewRedisWithin(url, redisTimeout) }

// NewRedisWithin is NewRedis with another time to wait.
func NewRedisWithin(address string, timeout time.Duration) (*Redis, error) {
	at, err := url.Parse(address)
	if err != nil || !dialable(at) {
		// The cause quotes the URL, which may hold a password.
		return nil, errors.New("the Redis URL is not of the form redis://user:password@host:port/database")
	}
	options := []redis.DialOption{
		redis.DialConnectTimeout(dialTimeout), redis.DialReadTimeout(max(timeout, dialTimeout)), redis.DialWriteTimeout(timeout),
	}
	return &Redis{timeout: timeout, pool: &redis.Pool{
		MaxIdle: redisConns / 8, MaxActive: redisConns, IdleTimeout: 5 * time.Minute,
		Dial: func() (redis.Conn, error) {
			if at.Scheme != "unix" {
				return redis.DialURL(address, options...)
			}
			password, _ := at.User.Password()
			return redis.Dial("unix", at.Path, append(options, redis.DialUsername(at.User.Username()), redis.DialPassword(password))...)
		},
	}}, nil
}

var database = regexp.MustCompile(`^(/[0-9]{0,3})?$`)

// dialable reports whether a URL names a server and says nothing that would be ignored.
func dialable(at *url.URL) bool {
	if at.RawQuery != "" || at.Fragment != "" || at.Opaque != "" {
		return false
	}
	switch at.Scheme {
	case "redis", "rediss":
		return at.Host != "" && database.MatchString(at.Path)
	case "unix":
		return at.Host == "" && at.Path != ""
	}
	return false
}

// One script is one round trip, and leaves no count without an expiry whatever dies in between.
const incrementScript = `
local hits = redis.call('INCR', KEYS[1])
if hits == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return hits`

// Increment implements Counter.
func (r *Redis) Increment(ctx context.Context, key string, keep time.Duration) (int, error) {
	hits, err := redis.Int(r.do(ctx, "EVAL", incrementScript, 1, key, max(keep.Milliseconds(), 1)))
	if err != nil {
		return 0, fmt.Errorf("counting in Redis: %w", err)
	}
	return hits, nil
}

// Ping tells whether the server answers.
func (r *Redis) Ping(ctx context.Context) error {
	if _, err := r.do(ctx, "PING"); err != nil {
		return fmt.Errorf("reaching Redis: %w", err)
	}
	return nil
}

// do sends a command and waits for its answer no longer than the timeout. A slow connection is made to its end beside,
// for whoever comes later.
func (r *Redis) do(ctx context.Context, command string, args ...any) (any, error) {
	type answer struct {
		value any
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		conn := r.pool.Get()
		defer func() { _ = conn.Close() }()
		if err := conn.Err(); err != nil { // no connection, or too many
			answered <- answer{err: err}
			return
		}
		value, err := redis.DoWithTimeout(conn, r.timeout, command, args...)
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the connections.
func (r *Redis) Close() error { return r.pool.Close() }
