package paging_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/kit/paging"
)

func TestTheOffsetIsWhatComesBeforeThePage(t *testing.T) {
	t.Parallel()
	for req, want := range map[paging.Request]int{{Page: 1, PerPage: 20}: 0, {Page: 2, PerPage: 20}: 20, {Page: 500, PerPage: 100}: 49_900} {
		if got := req.Offset(); got != want {
			t.Errorf("%+v: got %d, want %d", req, got, want)
		}
	}
}

func TestTotalsAreExactUpToTheirBound(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]bool{0: true, paging.MaxTotal: true, paging.MaxTotal + 1: false} {
		if got := (paging.Result[int]{Total: total}).Counted(); got != want {
			t.Errorf("%d: got %v", total, got)
		}
	}
}

func TestAPageIsCutFromAListInMemory(t *testing.T) {
	t.Parallel()
	all := []int{1, 2, 3, 4, 5}
	for page, want := range map[int]paging.Result[int]{
		1: {Items: []int{1, 2}, Total: 5, More: true}, 2: {Items: []int{3, 4}, Total: 5, More: true},
		3: {Items: []int{5}, Total: 5}, 4: {Items: []int{}, Total: 5}, 50: {Items: []int{}, Total: 5},
	} {
		if diff := cmp.Diff(want, paging.Cut(all, paging.Request{Page: page, PerPage: 2})); diff != "" {
			t.Errorf("page %d (-want +got):\n%s", page, diff)
		}
	}
	if got := paging.Cut(all[:4], paging.Request{Page: 2, PerPage: 2}); got.More {
		t.Errorf("more than there is: %+v", got)
	}
}

func TestMapKeepsWhatIsKnownOfTheWhole(t *testing.T) {
	t.Parallel()
	next := &paging.Cursor{OrderBy: "id", After: []string{"3"}}
	got := paging.Map(paging.Result[int]{Items: []int{1, 2}, Total: 9, More: true, Next: next}, func(n int) string { return strings.Repeat("x", n) })
	want := paging.Result[string]{Items: []string{"x", "xx"}, Total: 9, More: true, Next: next}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if empty := paging.Map(paging.Result[int]{}, func(n int) int { return n }); empty.Items == nil {
		t.Error("no items are nil, which JSON writes as null")
	}
}

func TestACursorSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[^\x00]{0,40}`)
	rapid.Check(t, func(t *rapid.T) {
		want := paging.Cursor{
			OrderBy: text.Draw(t, "order"), Desc: rapid.Bool().Draw(t, "desc"),
			After: rapid.SliceOfN(text, 1, 4).Draw(t, "after"),
		}
		got, err := paging.Parse(want.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if s := want.String(); strings.ContainsAny(s, "+/=&?%\" ") {
			t.Fatalf("%s needs escaping in a URL", s)
		}
	})
}

func TestWhatIsNoCursorIsRefused(t *testing.T) {
	t.Parallel()
	encode := base64.RawURLEncoding.EncodeToString
	for _, s := range []string{
		"", "x", "%", "e30=", encode([]byte("{}")), encode([]byte("null")), encode([]byte("[]")), encode([]byte(`{"o":"id"}`)),
		encode([]byte(`{"o":"id","a":[]}`)), encode([]byte(`{"o":"id","a":[1]}`)), encode([]byte(`{"o":"id","a":["1"]} x`)),
		encode([]byte(`{"o":"id","a":["\u0000"]}`)), encode([]byte(`{"o":1,"a":["1"]}`)), strings.Repeat("A", 4097),
	} {
		if c, err := paging.Parse(s); err == nil {
			t.Errorf("%.40q: got %+v", s, c)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(paging.Cursor{OrderBy: "id", Desc: true, After: []string{"5"}}.String())
	f.Add("e30")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := paging.Parse(s)
		if err != nil {
			return
		}
		again, err := paging.Parse(c.String())
		if err != nil && len(c.String()) <= 4096 { // escapes may have made it longer
			t.Fatalf("%q parses, what it says does not: %v", s, err)
		}
		if diff := cmp.Diff(c, again); err == nil && diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
