package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisTimeout is the most that a hit waits for the shared counter.
const redisTimeout = 50 * time.Millisecond

// Redis is a Counter in Redis or Valkey.
type Redis struct {
	client  *redis.Client
	timeout time.Duration
}

// NewRedis makes a counter in the server at a redis://, rediss:// or unix:// URL. It does not connect yet: the
// server may come later.
func NewRedis(url string) (*Redis, error) { return NewRedisWithin(url, redisTimeout) }

// NewRedisWithin is NewRedis with another time to wait.
func NewRedisWithin(url string, timeout time.Duration) (*Redis, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		// The cause quotes the URL, which may hold a password.
		return nil, errors.New("the Redis URL is not of the form redis://user:password@host:port/database")
	}
	// A count is worth one try within the timeout. A slow dial goes on in the background for a later hit.
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DialTimeout = time.Second
	options.PoolTimeout = timeout
	options.ReadTimeout = timeout
	options.WriteTimeout = timeout
	options.ContextTimeoutEnabled = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &Redis{client: redis.NewClient(options), timeout: timeout}, nil
}

// One script is one round trip, and leaves no count without an expiry whatever dies in between.
const incrementScript = `
local hits = redis.call('INCR', KEYS[1])
if hits == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return hits`

// Increment implements Counter.
func (r *Redis) Increment(ctx context.Context, key string, keep time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	hits, err := r.client.Eval(ctx, incrementScript, []string{key}, max(keep.Milliseconds(), 1)).Int()
	if err != nil {
		return 0, fmt.Errorf("counting in Redis: %w", err)
	}
	return hits, nil
}

// Ping tells whether the server answers.
func (r *Redis) Ping(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("reaching Redis: %w", err)
	}
	return nil
}

// Close ends the connections.
func (r *Redis) Close() error { return r.client.Close() }
