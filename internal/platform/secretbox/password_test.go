package secretbox

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAPasswordVerifiesAgainstItsHashAlone(t *testing.T) {
	t.Parallel()
	h := NewHasher(2)
	hash, err := h.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	format := regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)
	if !format.MatchString(hash) {
		t.Errorf("hash = %q", hash)
	}
	for password, want := range map[Secret]bool{
		"correct horse":  true,
		"correct horse ": false,
		"Correct horse":  false,
		"":               false,
	} {
		if ok, err := h.Verify(t.Context(), hash, password); ok != want || err != nil {
			t.Errorf("Verify(%q) = %v, %v, want %v", password.Reveal(), ok, err, want)
		}
	}
	if again, err := h.Hash(t.Context(), "correct horse"); err != nil || again == hash {
		t.Errorf("the same hash twice, or %v", err)
	}
}

func TestHashesOfOlderParametersStillVerify(t *testing.T) {
	t.Parallel()
	h := NewHasher(1)
	// From the test suite of the reference implementation of Argon2.
	for _, hash := range []string{
		"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
		"$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc",
		"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
	} {
		if ok, err := h.Verify(t.Context(), hash, "password"); !ok || err != nil {
			t.Errorf("%s: %v, %v", hash, ok, err)
		}
		if ok, err := h.Verify(t.Context(), hash, "differentpassword"); ok || err != nil {
			t.Errorf("%s with another password: %v, %v", hash, ok, err)
		}
	}
}

func TestDO10_APasswordHasAtMost128Bytes(t *testing.T) {
	t.Parallel()
	h := NewHasher(1)
	longest := Secret(strings.Repeat("x", 128))
	hash, err := h.Hash(t.Context(), longest)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := h.Verify(t.Context(), hash, longest); !ok || err != nil {
		t.Errorf("128 bytes: %v, %v", ok, err)
	}
	if _, err := h.Hash(t.Context(), longest+"x"); !errors.Is(err, ErrPasswordTooLong) {
		t.Errorf("hashing 129 bytes: %v", err)
	}
	h.slots <- struct{}{} // hashing would wait for ever
	if ok, err := h.Verify(t.Context(), hash, longest+"x"); ok || err != nil {
		t.Errorf("verifying 129 bytes: %v, %v", ok, err)
	}
}

func TestDO10_HashingWaitsForAFreeSlotAsLongAsItsCaller(t *testing.T) {
	t.Parallel()
	h := NewHasher(0) // still one at a time
	hash, err := h.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	h.slots <- struct{}{}
	gone, leave := context.WithCancelCause(t.Context())
	hungUp := errors.New("the client hung up")
	leave(hungUp)
	if _, err := h.Hash(gone, "correct horse"); !errors.Is(err, hungUp) {
		t.Errorf("Hash: %v", err)
	}
	if ok, err := h.Verify(gone, hash, "correct horse"); ok || !errors.Is(err, hungUp) {
		t.Errorf("Verify: %v, %v", ok, err)
	}

	done := make(chan error)
	go func() {
		ok, err := h.Verify(t.Context(), hash, "correct horse")
		if !ok && err == nil {
			err = errors.New("the right password was refused")
		}
		done <- err
	}()
	<-h.slots
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(h.slots) != 0 {
		t.Error("a slot was not given back")
	}
}

// Not parallel: it measures the memory that the whole process takes.
func TestWithoutAHashTheSameWorkIsDoneInVain(t *testing.T) {
	h := NewHasher(1)
	for _, password := range []Secret{"", "correct horse"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ok, err := h.Verify(t.Context(), "", password)
		runtime.ReadMemStats(&after)
		if ok || err != nil {
			t.Errorf("Verify = %v, %v", ok, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took < 19<<20 {
			t.Errorf("took %d bytes: no password was hashed", took)
		}
	}
}

func TestAMalformedHashIsAnErrorThatDoesNotQuoteIt(t *testing.T) {
	t.Parallel()
	h := NewHasher(1)
	const salt, sum = "c29tZXNhbHQ", "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for _, hash := range []string{
		"x",
		"$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
		"$argon2id$v=19$m=256,t=2,p=1$" + salt,
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + sum + "$",
		"$argon2i$v=19$m=256,t=2,p=1$" + salt + "$" + sum,
		"$argon2id$v=16$m=256,t=2,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=256,t=2$" + salt + "$" + sum,
		"$argon2id$v=19$m=256,t=2,p=1,x=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=0256,t=2,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=-1,t=2,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=256,t=2,p=257$" + salt + "$" + sum,
		"$argon2id$v=19$m=256,t=2,p=1$!" + salt + "$" + sum,
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$!" + sum,
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "==$" + sum,
		"$argon2id$v=19$m=256,t=2,p=1$" + salt[:10] + "R$" + sum, // stray bits behind the last byte
		" $argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + sum,
	} {
		ok, err := h.Verify(t.Context(), hash, "password")
		if ok || err == nil || !strings.Contains(err.Error(), "malformed") || strings.Contains(err.Error(), salt) {
			t.Errorf("%s: %v, %v", hash, ok, err)
		}
	}
}

func TestAHashOutOfBoundsIsNotComputed(t *testing.T) {
	t.Parallel()
	fits := argonHash{memory: 256, time: 2, threads: 2, salt: make([]byte, 8), sum: make([]byte, 16)}
	tests := map[string]struct {
		change func(*argonHash)
		ok     bool
	}{
		"smallest salt and sum": {func(*argonHash) {}, true},
		"short salt":            {func(a *argonHash) { a.salt = make([]byte, 7) }, false},
		"short sum":             {func(a *argonHash) { a.sum = make([]byte, 15) }, false},
		"long sum":              {func(a *argonHash) { a.sum = make([]byte, 64) }, true},
		"too long sum":          {func(a *argonHash) { a.sum = make([]byte, 65) }, false},
		"little memory":         {func(a *argonHash) { a.memory = 16 }, true},
		"too little memory":     {func(a *argonHash) { a.memory = 15 }, false},
		"much memory":           {func(a *argonHash) { a.memory = 256 * 1024 }, true},
		"too much memory":       {func(a *argonHash) { a.memory = 256*1024 + 1 }, false},
		"one pass":              {func(a *argonHash) { a.time = 1 }, true},
		"no pass":               {func(a *argonHash) { a.time = 0 }, false},
		"many passes":           {func(a *argonHash) { a.time = 16 }, true},
		"too many passes":       {func(a *argonHash) { a.time = 17 }, false},
		"one thread":            {func(a *argonHash) { a.threads = 1 }, true},
		"no thread":             {func(a *argonHash) { a.threads = 0 }, false},
		"many threads":          {func(a *argonHash) { a.threads = 16 }, true},
		"too many threads":      {func(a *argonHash) { a.threads = 17 }, false},
	}
	for name, test := range tests {
		hash := fits
		test.change(&hash)
		_, err := parseHash(hash.String())
		if ok := err == nil; ok != test.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "out of bounds") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryPasswordIsRecognised(t *testing.T) {
	t.Parallel()
	h := NewHasher(2)
	rapid.Check(t, func(t *rapid.T) {
		// Small parameters: the property is about the text, not the cost.
		hash := argonHash{memory: 8, time: 1, threads: 1, salt: rapid.SliceOfN(rapid.Byte(), 8, 32).Draw(t, "salt"), sum: make([]byte, 32)}
		password := Secret(rapid.StringN(0, -1, 128).Draw(t, "password"))
		wrong := Secret(rapid.StringN(0, -1, 128).Draw(t, "wrong"))
		sum, err := h.sum(context.Background(), hash, password)
		if err != nil {
			t.Fatal(err)
		}
		hash.sum = sum
		for _, guess := range []Secret{password, wrong} {
			ok, err := h.Verify(context.Background(), hash.String(), guess)
			if err != nil || ok != (guess == password) {
				t.Fatalf("Verify = %v, %v", ok, err)
			}
		}
	})
}

func FuzzParseHash(f *testing.F) {
	f.Add("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4")
	f.Add("$argon2id$v=19$m=4294967296,t=0,p=999$$")
	f.Add("$$$$$")
	f.Fuzz(func(t *testing.T, text string) {
		if hash, err := parseHash(text); err == nil && hash.String() != text {
			t.Fatalf("%q is read as %q", text, hash)
		}
	})
}
