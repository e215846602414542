// Package secretbox keeps secrets secret at rest.
//
// It owns the key file, the digests by which tokens are looked up, the sealing of values that must be read
// again, the hashing of passwords, and the Secret type that does not let itself be printed. It does not own
// where any of these are stored, what kinds of token exist, or which passwords are good enough.
//
// The keys live outside the database: a copy of the database alone lets no one in.
package secretbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
)

// Box seals, opens and digests with one set of keys. It is safe for concurrent use.
type Box struct {
	active string
	seals  map[string]cipher.AEAD
	macs   sync.Pool
}

// keySet is the contents of a key file.
type keySet struct {
	digest key
	seals  []sealKey // the first one seals, all of them open
}

type sealKey struct {
	id  string
	key key
}

type key [32]byte

func randomKey() (k key) {
	_, _ = rand.Read(k[:]) // never fails: the process ends first
	return k
}

func randomKeySet() keySet {
	id := strings.ToLower(rand.Text()[:8])
	return keySet{digest: randomKey(), seals: []sealKey{{id: id, key: randomKey()}}}
}

// Random is a Box whose keys die with it, for tests.
func Random() *Box { return newBox(randomKeySet()) }

func newBox(keys keySet) *Box {
	b := &Box{active: keys.seals[0].id, seals: make(map[string]cipher.AEAD, len(keys.seals))}
	for _, s := range keys.seals {
		block, _ := aes.NewCipher(s.key[:])                    // fails only on a wrong key length
		b.seals[s.id], _ = cipher.NewGCMWithRandomNonce(block) // fails only on a block that is not AES
	}
	b.macs.New = func() any { return &mac{Hash: hmac.New(sha256.New, keys.digest[:])} }
	return b
}

// mac is a keyed hash with the buffer that feeds it; both are costly to make anew for each request.
type mac struct {
	hash.Hash
	message []byte
}

// Digest is what the database stores in place of a secret that is only ever presented, never read back. The
// kind is part of it, so that a secret of one kind is never found as one of another.
func (b *Box) Digest(kind, secret string) []byte {
	m := b.macs.Get().(*mac)
	defer b.macs.Put(m)

	m.message = binary.BigEndian.AppendUint64(m.message[:0], uint64(len(kind)))
	m.message = append(m.message, kind...)
	m.message = append(m.message, secret...)
	m.Reset()
	m.Write(m.message)
	clear(m.message)
	return m.Sum(make([]byte, 0, sha256.Size))
}

// Fingerprint names the digest key without telling it, so that a database or a backup can remember which key
// file it belongs to. It outlives the rotation of seal keys.
func (b *Box) Fingerprint() string {
	return hex.EncodeToString(b.Digest("key fingerprint", "")[:8])
}

// A sealed value is this version, the length of the key id, the key id, then nonce, ciphertext and tag.
const sealVersion = 1

// Seal encrypts a value for one place, "table.column:rowkey": copied to any other place it does not open.
func (b *Box) Seal(plaintext []byte, place string) ([]byte, error) {
	if place == "" {
		return nil, errors.New("sealing a value: its place is not named")
	}
	aead := b.seals[b.active]
	sealed := make([]byte, 0, 2+len(b.active)+len(plaintext)+aead.Overhead())
	sealed = append(sealed, sealVersion, byte(len(b.active)))
	sealed = append(sealed, b.active...)
	return aead.Seal(sealed, nil, plaintext, []byte(place)), nil
}

// Open gives back what was sealed for this place, by any key of the set.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	id, body, err := split(sealed)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", place, err)
	}
	aead, ok := b.seals[id]
	if !ok {
		return nil, fmt.Errorf("opening %s: the key file has no seal key %q", place, id)
	}
	plaintext, err := aead.Open(nil, nil, body, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("opening %s: damaged, moved from another place, or sealed by another key", place)
	}
	return plaintext, nil
}

// Reseal brings a sealed value to the active key. Unchanged values are opened too: a rotation that reports
// success has read everything.
func (b *Box) Reseal(sealed []byte, place string) (out []byte, changed bool, err error) {
	plaintext, err := b.Open(sealed, place)
	if err != nil {
		return nil, false, err
	}
	if id, _, _ := split(sealed); id == b.active {
		return sealed, false, nil
	}
	out, err = b.Seal(plaintext, place)
	return out, err == nil, err
}

func split(sealed []byte) (id string, body []byte, err error) {
	if len(sealed) < 2 {
		return "", nil, errors.New("too short to be a sealed value")
	}
	if sealed[0] != sealVersion {
		return "", nil, fmt.Errorf("sealed in unknown version %d", sealed[0])
	}
	end := 2 + int(sealed[1])
	if len(sealed) < end {
		return "", nil, errors.New("too short to be a sealed value")
	}
	return string(sealed[2:end]), sealed[end:], nil
}
