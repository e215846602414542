package secretbox_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/platform/secretbox"
)

const dots = "••••"

type credentials struct {
	User     string
	Password secretbox.Secret
}

func TestASecretPrintsAsDotsUnderEveryVerb(t *testing.T) {
	t.Parallel()
	secret := secretbox.Secret("hunter2")
	for _, verb := range strings.Split("%v,%+v,%#v,%q,%+q,%s,%x,%X,% x,%d,%10s,%-10v,%.2s,%t,%c,%U,%e,%b,%o", ",") {
		if got := fmt.Sprintf(verb, secret); got != dots {
			t.Errorf("%s prints %q, want dots", verb, got)
		}
	}
	if got := secret.String() + secret.GoString(); got != dots+dots {
		t.Errorf("String and GoString give %q", got)
	}
}

func TestASecretInsideOtherValuesPrintsAsDots(t *testing.T) {
	t.Parallel()
	secret := secretbox.Secret("hunter2")
	values := map[string]any{
		"struct":  credentials{"ada", secret},
		"pointer": &credentials{"ada", secret},
		"slice":   []secretbox.Secret{secret},
		"map":     map[secretbox.Secret]secretbox.Secret{secret: secret},
	}
	for name, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%x"} {
			got := fmt.Sprintf(verb, value)
			if strings.Contains(got, "hunter2") || !strings.Contains(got, dots) {
				t.Errorf("%s of a %s prints %q", verb, name, got)
			}
		}
	}
	if err := fmt.Errorf("signing in %v: %w", secret, fmt.Errorf("%s", secret)); strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error tells %q", err)
	}
}

func TestASecretMarshalsAsDots(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(map[string]any{"a": &credentials{"ada", "hunter2"}, "b": secretbox.Secret("hunter2")})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":{"User":"ada","Password":"` + dots + `"},"b":"` + dots + `"}`; string(got) != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
	got, err = xml.Marshal(credentials{"ada", "hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "hunter2") || !strings.Contains(string(got), dots) {
		t.Errorf("XML = %s", got)
	}
}

func TestASecretIsLoggedAsDots(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		out.Reset()
		secret := secretbox.Secret("hunter2")
		slog.New(handler).With("with", secret).
			Info("sign-in", "bare", secret, "nested", credentials{"ada", secret}, slog.Group("group", "in", secret))
		if got := out.String(); strings.Contains(got, "hunter2") || strings.Count(got, dots) != 4 {
			t.Errorf("logged %s", got)
		}
	}
	if got := secretbox.Secret("hunter2").LogValue(); got.String() != dots {
		t.Errorf("LogValue = %v", got)
	}
}

func TestOnlyRevealGivesTheSecret(t *testing.T) {
	t.Parallel()
	var read credentials
	if err := json.Unmarshal([]byte(`{"User":"ada","Password":"hunter2"}`), &read); err != nil {
		t.Fatal(err)
	}
	if got := read.Password.Reveal(); got != "hunter2" {
		t.Errorf("Reveal = %q", got)
	}
}

func TestARandomTokenHasItsLengthAndAlphabet(t *testing.T) {
	t.Parallel()
	alphabet := regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "n")
		token := secretbox.RandomToken(n)
		if len(token) != n || !alphabet.MatchString(token) {
			t.Fatalf("RandomToken(%d) = %q", n, token)
		}
		if n >= 20 && secretbox.RandomToken(n) == token {
			t.Fatalf("the same token twice: %q", token)
		}
	})
}

func TestARandomTokenFavoursNoCharacter(t *testing.T) {
	t.Parallel()
	const perCharacter = 10_000
	counts := map[rune]int{}
	for _, c := range secretbox.RandomToken(64 * perCharacter) {
		counts[c]++
	}
	if len(counts) != 64 {
		t.Errorf("%d different characters, want 64", len(counts))
	}
	for c, n := range counts {
		// Eight standard deviations: chance alone does not fail this, a biased modulus does.
		if n < perCharacter-800 || n > perCharacter+800 {
			t.Errorf("%q came %d times, want about %d", c, n, perCharacter)
		}
	}
}
