package pages

import (
	"strings"
	"testing"
	"time"
)

func TestAClaimIsVerifiedEnabledAndRemovedByTheClock(t *testing.T) {
	t.Parallel()
	born := time.Date(2024, 5, 2, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	s := Standing{CheckAt: born}
	if s.Enabled(born) || s.Verified() {
		t.Fatal("a new claim counts as proven")
	}

	s = s.after(false, born, born)
	if s.Enabled(born) || s.RemoveAt == nil || !s.RemoveAt.Equal(born.Add(7*day)) || !s.CheckAt.Equal(born.Add(recheck)) {
		t.Errorf("not found at first: %+v", s)
	}
	s = s.after(false, born, born.Add(2*day))
	if !s.RemoveAt.Equal(born.Add(7*day)) || !s.CheckAt.Equal(born.Add(2*day+recheckLater)) {
		t.Errorf("the removal moved, or is looked for too often: %+v", s)
	}

	seen := born.Add(3 * day)
	s = s.after(true, born, seen)
	if !s.Verified() || !s.Proven || !s.Enabled(seen.Add(7*day-1)) || s.Enabled(seen.Add(7*day)) || s.RemoveAt != nil || !s.CheckAt.Equal(seen.Add(4*day)) {
		t.Errorf("found: %+v", s)
	}
	long := seen.Add(30 * day)
	if kept := (Standing{EnabledUntil: &long}).after(true, born, seen); !kept.EnabledUntil.Equal(long) {
		t.Errorf("a longer time was cut: %+v", kept)
	}

	gone := seen.Add(4 * day)
	s = s.after(false, born, gone)
	if s.Verified() || !s.Proven || !s.Enabled(gone) || s.RemoveAt != nil {
		t.Errorf("lost, but still enabled: %+v", s)
	}
	end := seen.Add(7 * day)
	s = s.after(false, born, end)
	if s.EnabledUntil != nil || s.RemoveAt == nil || !s.RemoveAt.Equal(end.Add(7*day)) || !s.Proven {
		t.Errorf("past its time: %+v", s)
	}
}

func TestPG03_OnlyNamesOfHostsAreHosts(t *testing.T) {
	t.Parallel()
	label63 := strings.Repeat("a", 63)
	for name, want := range map[string]bool{
		"example.com": true, "a.b.example.co": true, "xn--bcher-kva.example": true, "EXAMPLE.com": true, "1.example.com": true, label63 + ".org": true,
		"": false, "localhost": false, "two words": false, "example.com.": false, ".example.com": false, "a..b": false, "-a.example": false, "a-.example": false,
		"a_b.example": false, "127.0.0.1": false, "1.2.3": false, "[::1]": false, "exämple.com": false, "*.example.com": false, "example.com:80": false,
		"example.com/a": false, "a@example.com": false, label63 + "a.org": false, strings.Repeat("a.", 126) + "org": false, "a.example\x00": false,
	} {
		if hostName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	for host, want := range map[string]bool{
		"pages.test": true, "a.pages.test": true, "A.PAGES.TEST": true, "a.b.pages.test": true, "xpages.test": false, "pages.test.example": false, "test": false,
	} {
		if below(host, "pages.test") != want {
			t.Errorf("%q below the root: %v", host, !want)
		}
	}
}

func TestTheLabelOfASiteIsAHostLabel(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"forge", "My.Site_x", "---", strings.Repeat("long-", 40), "ünï"} {
		a, b := uniqueLabel(path), uniqueLabel(path)
		if !hostLabel(a) || a == b || a != strings.ToLower(a) {
			t.Errorf("%q: %q %q", path, a, b)
		}
	}
}
