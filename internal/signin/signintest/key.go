// Package signintest is a security key in software, for tests that register one
// or sign in with it.
package signintest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
)

// Key signs what it is asked to. Its fields may be changed to lie.
type Key struct {
	ID     []byte
	Count  uint32
	Origin string // what the browser says it is at
	Party  string
	Flags  byte

	private *ecdsa.PrivateKey
}

// New makes a key whose browser is at an address.
func New(t testing.TB, origin string) *Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	const touched = 1
	return &Key{ID: id, private: private, Origin: origin, Party: at.Hostname(), Flags: touched}
}

// But is a copy of the key with a change.
func (k *Key) But(change func(*Key)) *Key {
	other := *k
	change(&other)
	return &other
}

// Asked is what a page tells the browser.
type Asked struct {
	Challenge        string `json:"challenge"`
	AllowCredentials []struct {
		ID string `json:"id"`
	} `json:"allowCredentials"`
}

// Read finds what a page tells the browser.
func Read(t testing.TB, page string) (a Asked) {
	t.Helper()
	_, after, found := strings.Cut(page, `data-options="`)
	text, _, _ := strings.Cut(after, `"`)
	if !found || json.Unmarshal([]byte(html.UnescapeString(text)), &a) != nil || a.Challenge == "" {
		t.Fatalf("no key is asked for:\n%s", page)
	}
	return a
}

// Text is bytes as they travel.
func Text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (k *Key) client(kind, challenge string) []byte {
	text, _ := json.Marshal(map[string]any{"type": "webauthn." + kind, "challenge": challenge, "origin": k.Origin, "crossOrigin": false})
	return text
}

func (k *Key) data(attested []byte) []byte {
	party, flags := sha256.Sum256([]byte(k.Party)), k.Flags
	if attested != nil {
		flags |= 0x40
	}
	k.Count++
	return append(binary.BigEndian.AppendUint32(append(party[:], flags), k.Count), attested...)
}

// Register is what the browser sends for a new key.
func (k *Key) Register(t testing.TB, challenge string) string {
	t.Helper()
	point, err := k.private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	public, err := webauthncbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		t.Fatal(err)
	}
	attested := append(make([]byte, 16), binary.BigEndian.AppendUint16(nil, uint16(len(k.ID)))...)
	attested = append(append(attested, k.ID...), public...)
	object, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": k.data(attested)})
	if err != nil {
		t.Fatal(err)
	}
	return k.answer(map[string]any{
		"clientDataJSON": Text(k.client("create", challenge)), "attestationObject": Text(object), "transports": []string{"usb"},
	})
}

// Sign is what the browser sends when the key answers.
func (k *Key) Sign(t testing.TB, challenge string) string {
	t.Helper()
	client, data := k.client("get", challenge), k.data(nil)
	hash := sha256.Sum256(client)
	signed := sha256.Sum256(append(bytes.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, signed[:])
	if err != nil {
		t.Fatal(err)
	}
	return k.answer(map[string]any{"clientDataJSON": Text(client), "authenticatorData": Text(data), "signature": Text(signature)})
}

func (k *Key) answer(response map[string]any) string {
	id := Text(k.ID)
	text, _ := json.Marshal(map[string]any{"id": id, "rawId": id, "type": "public-key", "response": response})
	return string(text)
}
