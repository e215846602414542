package secretbox_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/platform/secretbox"
)

const place = "variables.value:17"

func TestWhatIsSealedOpensInItsPlaceAlone(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	rapid.Check(t, func(t *rapid.T) {
		plaintext := rapid.SliceOf(rapid.Byte()).Draw(t, "plaintext")
		home := rapid.StringN(1, -1, -1).Draw(t, "home")
		elsewhere := rapid.String().Filter(func(s string) bool { return s != home }).Draw(t, "elsewhere")

		sealed := mustSeal(t, box, plaintext, home)
		if got, err := box.Open(sealed, home); err != nil || !bytes.Equal(got, plaintext) {
			t.Fatalf("Open = %q, %v, want %q", got, err, plaintext)
		}
		if len(plaintext) > 3 && bytes.Contains(sealed, plaintext) {
			t.Fatal("the plaintext shows in the sealed value")
		}
		if got, err := box.Open(sealed, elsewhere); err == nil {
			t.Fatalf("opened elsewhere as %q", got)
		}
	})
}

func TestSU03_SwappedCiphertextDoesNotOpen(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	mine := mustSeal(t, box, []byte("mine"), "variables.value:1")
	yours := mustSeal(t, box, []byte("yours"), "variables.value:2")

	for place, sealed := range map[string][]byte{"variables.value:1": yours, "variables.value:2": mine} {
		_, err := box.Open(sealed, place)
		if err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("opening another row's value at %s: %v", place, err)
		}
	}
}

func TestADamagedValueDoesNotOpen(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	sealed := mustSeal(t, box, []byte("payload"), place)
	for i := range sealed {
		for bit := range 8 {
			damaged := bytes.Clone(sealed)
			damaged[i] ^= 1 << bit
			if got, err := box.Open(damaged, place); err == nil {
				t.Fatalf("byte %d, bit %d: opened as %q", i, bit, got)
			}
		}
		if got, err := box.Open(sealed[:i], place); err == nil {
			t.Fatalf("cut to %d bytes: opened as %q", i, got)
		}
	}
	if _, err := box.Open(append(bytes.Clone(sealed), 0), place); err == nil {
		t.Fatal("opened with a byte too many")
	}
}

func TestAValueThatDoesNotOpenSaysWhy(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	sealed := mustSeal(t, box, []byte("payload"), place)
	otherVersion := append([]byte{2}, sealed[1:]...)
	otherKey := slices.Concat([]byte{1, 4}, []byte("lost"), sealed[2+int(sealed[1]):])

	tests := []struct {
		sealed []byte
		want   string
	}{
		{nil, "too short"},
		{[]byte{1}, "too short"},
		{[]byte{1, 9, 'a'}, "too short"},
		{otherVersion, "unknown version 2"},
		{otherKey, `no seal key "lost"`},
		{[]byte{1, 0}, `no seal key ""`},
		{sealed[:len(sealed)-1], "damaged"},
		{sealed[:2+int(sealed[1])], "damaged"},
	}
	for _, test := range tests {
		if _, err := box.Open(test.sealed, place); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("opening %x: %v, want %q", test.sealed, err, test.want)
		}
	}
}

func TestTheSealedFormatIsStable(t *testing.T) {
	t.Parallel()
	box := loadText(t, "digest "+someKey+"\nseal k1 "+someKey+"\n")
	// Databases hold values like this one; whoever changes the format has to keep opening them.
	sealed, err := base64.StdEncoding.DecodeString("AQJrMd1QtLurmvOaFtwiNH0rNo0QTqUb6Zl6tHiY89edU7lfPVG9")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := box.Open(sealed, place); err != nil || string(got) != "payload" {
		t.Errorf("Open = %q, %v", got, err)
	}
}

func TestEqualValuesSealDifferently(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	if bytes.Equal(mustSeal(t, box, []byte("same"), place), mustSeal(t, box, []byte("same"), place)) {
		t.Error("equal values can be told from their sealed form")
	}
}

func TestAValueWithoutAPlaceIsNotSealed(t *testing.T) {
	t.Parallel()
	if sealed, err := secretbox.Random().Seal([]byte("payload"), ""); err == nil {
		t.Errorf("sealed as %x", sealed)
	}
}

func TestAnotherBoxOpensNothing(t *testing.T) {
	t.Parallel()
	sealed := mustSeal(t, secretbox.Random(), []byte("payload"), place)
	if got, err := secretbox.Random().Open(sealed, place); err == nil {
		t.Errorf("opened as %q", got)
	}
}

func TestTheActiveKeyRotatesAndOldValuesStillOpen(t *testing.T) {
	t.Parallel()
	digest, oldSeal := generatedLines(t)
	_, newSeal := generatedLines(t)
	before := loadText(t, digest+oldSeal)
	during := loadText(t, digest+newSeal+oldSeal)
	after := loadText(t, digest+newSeal)
	old := mustSeal(t, before, []byte("payload"), place)

	if _, err := after.Open(old, place); err == nil || !strings.Contains(err.Error(), "no seal key") {
		t.Errorf("opening with the old key gone: %v", err)
	}
	if _, _, err := during.Reseal(old, "elsewhere"); err == nil {
		t.Error("resealed in another place")
	}
	fresh, changed, err := during.Reseal(old, place)
	if err != nil || !changed {
		t.Fatalf("Reseal: changed %v, %v", changed, err)
	}
	if got, err := after.Open(fresh, place); err != nil || string(got) != "payload" {
		t.Errorf("the new key opens it as %q, %v", got, err)
	}
	if _, err := before.Open(fresh, place); err == nil {
		t.Error("the old key still opens the new value")
	}
	again, changed, err := during.Reseal(fresh, place)
	if err != nil || changed || !bytes.Equal(again, fresh) {
		t.Errorf("resealing twice: changed %v, %v", changed, err)
	}
	if before.Fingerprint() != after.Fingerprint() {
		t.Error("the fingerprint changed with the seal key")
	}
}

func TestADigestIsAKeyedHashOfKindAndSecret(t *testing.T) {
	t.Parallel()
	box := loadText(t, "digest "+someKey+"\nseal k1 "+someKey+"\n")

	mac := hmac.New(sha256.New, []byte("0123456789abcdef0123456789abcdef")) // someKey
	mac.Write(binary.BigEndian.AppendUint64(nil, 3))
	mac.Write([]byte("pat" + "a secret"))
	want := mac.Sum(nil)
	for range 3 { // the state behind it is used again
		if got := box.Digest("pat", "a secret"); !bytes.Equal(got, want) {
			t.Fatalf("Digest = %x, want %x", got, want)
		}
	}
}

func TestTK10_SecretsOfDifferentKindsNeverShareADigest(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	rapid.Check(t, func(t *rapid.T) {
		kind, secret := rapid.String().Draw(t, "kind"), rapid.String().Draw(t, "secret")
		otherKind, otherSecret := rapid.String().Draw(t, "other kind"), rapid.String().Draw(t, "other secret")
		if rapid.Bool().Draw(t, "shifted") { // the same bytes, cut elsewhere
			all := kind + secret
			cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
			otherKind, otherSecret = all[:cut], all[cut:]
		}
		same := kind == otherKind && secret == otherSecret
		if got := bytes.Equal(box.Digest(kind, secret), box.Digest(otherKind, otherSecret)); got != same {
			t.Fatalf("digests equal: %v, want %v", got, same)
		}
	})
}

func TestConcurrentDigestsDoNotMix(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	want := box.Digest("kind", strings.Repeat("a", 40))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 200 {
				box.Digest("kind", strings.Repeat("b", i))
				if !bytes.Equal(box.Digest("kind", strings.Repeat("a", 40)), want) {
					t.Error("digest of another secret")
				}
			}
		})
	}
	group.Wait()
}

func TestTheFingerprintNamesTheDigestKey(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	if got := box.Fingerprint(); !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(got) || got != box.Fingerprint() {
		t.Errorf("fingerprint = %q", got)
	}
	if box.Fingerprint() == secretbox.Random().Fingerprint() {
		t.Error("two keys, one fingerprint")
	}
}

func FuzzOpen(f *testing.F) {
	box := secretbox.Random()
	genuine := mustSeal(f, box, []byte("payload"), place)
	f.Add(genuine, place)
	f.Add(genuine, "variables.value:18")
	f.Add(genuine[:20], place)
	f.Add([]byte{}, "")
	f.Add([]byte{1, 255}, place)
	f.Fuzz(func(t *testing.T, sealed []byte, at string) {
		got, err := box.Open(sealed, at)
		if isGenuine := bytes.Equal(sealed, genuine) && at == place; isGenuine != (err == nil) {
			t.Fatalf("genuine %v, but Open = %q, %v", isGenuine, got, err)
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	box := secretbox.Random()
	b.ReportAllocs()
	for b.Loop() {
		box.Digest("personal access token", "a token of twenty-six bytes")
	}
}

func mustSeal(t interface{ Fatal(...any) }, box *secretbox.Box, plaintext []byte, place string) []byte {
	sealed, err := box.Seal(plaintext, place)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func loadText(t *testing.T, text string) *secretbox.Box {
	t.Helper()
	box, err := secretbox.Load(writeKeyFile(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func writeKeyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// generatedLines are the digest and the seal line of a new key file.
func generatedLines(t *testing.T) (digest, seal string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret.key")
	if err := secretbox.Generate(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "digest "):
			digest = line
		case strings.HasPrefix(line, "seal "):
			seal = line
		}
	}
	return digest, seal
}
