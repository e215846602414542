package secretbox

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"
)

// ErrPasswordTooLong refuses passwords that no person types and that only make hashing dear.
var ErrPasswordTooLong = errors.New("password is longer than 128 bytes")

const maxPasswordBytes = 128

// Hasher hashes passwords with argon2id. Each hash takes 19 MiB, so it runs only so many at a time.
type Hasher struct {
	slots chan struct{}
	work  atomic.Uint64
}

// NewHasher hashes at most concurrent passwords at a time; the others wait.
func NewHasher(concurrent int) *Hasher {
	return &Hasher{slots: make(chan struct{}, max(concurrent, 1))}
}

// argonHash is a hash in parts; as text it is a PHC string, which carries its own parameters: raising them
// leaves older hashes valid.
type argonHash struct {
	memory, time uint32 // memory in KiB
	threads      uint8
	salt, sum    []byte
}

// freshHash has the parameters of new hashes and no sum yet.
func freshHash() argonHash {
	h := argonHash{memory: 19 * 1024, time: 2, threads: 1, salt: make([]byte, 16), sum: make([]byte, 32)}
	_, _ = rand.Read(h.salt) // never fails: the process ends first
	return h
}

// Hash gives the text to store for a password.
func (h *Hasher) Hash(ctx context.Context, password Secret) (string, error) {
	if len(password) > maxPasswordBytes {
		return "", ErrPasswordTooLong
	}
	hash := freshHash()
	sum, err := h.sum(ctx, hash, password)
	if err != nil {
		return "", err
	}
	hash.sum = sum
	return hash.String(), nil
}

// Verify tells whether the password is the one that was hashed. No hash (no such account, or one without a
// password) costs the same time as a wrong password, so that the answer does not tell them apart.
func (h *Hasher) Verify(ctx context.Context, hash string, password Secret) (bool, error) {
	if len(password) > maxPasswordBytes {
		return false, nil
	}
	stored := freshHash()
	if hash != "" {
		var err error
		if stored, err = parseHash(hash); err != nil {
			return false, err
		}
	}
	sum, err := h.sum(ctx, stored, password)
	if err != nil {
		return false, err
	}
	same := subtle.ConstantTimeCompare(sum, stored.sum) == 1
	return same && hash != "", nil
}

func (h *Hasher) sum(ctx context.Context, a argonHash, password Secret) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to hash a password: %w", context.Cause(ctx))
	}
	defer func() { <-h.slots }()
	h.work.Add(uint64(a.memory) * uint64(a.time))
	return argon2.IDKey([]byte(password.Reveal()), a.salt, a.time, a.memory, a.threads, uint32(len(a.sum))), nil
}

// Work is how much was hashed so far, in kibibytes that were passed over.
func (h *Hasher) Work() uint64 { return h.work.Load() }

const phcFormat = "$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s"

func (a argonHash) String() string {
	return fmt.Sprintf(phcFormat, a.memory, a.time, a.threads,
		base64.RawStdEncoding.EncodeToString(a.salt), base64.RawStdEncoding.EncodeToString(a.sum))
}

func parseHash(text string) (argonHash, error) {
	malformed := errors.New("the stored password hash is malformed")
	parts := strings.Split(text, "$")
	if len(parts) != 6 {
		return argonHash{}, malformed
	}
	var a argonHash
	_, scanErr := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &a.memory, &a.time, &a.threads)
	var saltErr, sumErr error
	a.salt, saltErr = base64.RawStdEncoding.DecodeString(parts[4])
	a.sum, sumErr = base64.RawStdEncoding.DecodeString(parts[5])
	if scanErr != nil || saltErr != nil || sumErr != nil {
		return argonHash{}, malformed
	}
	// Writing it again catches all that the lenient parsers above let through.
	if a.String() != text {
		return argonHash{}, malformed
	}
	// A damaged or foreign row must not take the memory of the machine.
	if a.memory < 8*uint32(a.threads) || a.memory > 256*1024 || a.time < 1 || a.time > 16 ||
		a.threads < 1 || a.threads > 16 || len(a.salt) < 8 || len(a.sum) < 16 || len(a.sum) > 64 {
		return argonHash{}, errors.New("the stored password hash has parameters out of bounds")
	}
	return a, nil
}
