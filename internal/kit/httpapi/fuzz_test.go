package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
)

// fuzzParams is rich with the rules that refuse values.
type fuzzParams struct {
	rich
	KeysetPaging
	Name   string `param:"name" required:"true" blank:"refuse" doc:"Name"`
	Nested []struct {
		List []richVariable `param:"list" required:"true" doc:"List"`
	} `param:"nested" doc:"Nested"`
}

func FuzzParams(f *testing.F) {
	for _, query := range []string{
		"name=x&text=a&count=1&ratio=2.5&flag=on&when=2024-01-01T00:00:00Z&day=2024-01-01",
		"name=x&names[]=a&ids=1,2&attributes[k]=v&variables[][key]=A&variables[][value]=1&anything[a][][b]=c",
		"name=x&nested[][list][][key]=1&nested[][list][][key]=2&nested[0][list][0][key]=3",
		"name=x&maybe_text=&maybe_count=&maybe_flag=&maybe_time=&maybe_names[]=&state=open&sort=asc",
		"name=x&page=2&per_page=5&pagination=keyset&cursor=e30&sudo=mia&private_token=member",
		"name=%00", "name=%ff", "name=%", "a[", "a[b=1", "a[[]]=1", "ratio=NaN&when=9999-12-31T23:59:59-05:00", "name=x&name=y", "&&==&=",
	} {
		f.Add("", query)
		f.Add("application/x-www-form-urlencoded", query)
	}
	for _, body := range []string{
		`{"name":"x","text":1,"count":"2","ratio":1e400,"flag":"t","names":["a",null,1],"ids":[1,"2"],"variables":[{"key":null}]}`,
		`{"name":"x","anything":{"a":[1,{"b":null}],"a":2},"nested":[{"list":[{"key":"a"}]},{}]}`,
		`{"name":"\u0000"}`, `{"name":"\ud800"}`, `[]`, `{"a":{"b":`, `{"name":"x","upload":"y","when":false}`, `null`, ``,
	} {
		f.Add("application/json", body)
	}
	f.Add("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nx\r\n--b\r\n"+
		"Content-Disposition: form-data; name=\"upload\"; filename=\"a\"\r\n\r\n\x00\r\n--b--\r\n")
	f.Add("text/plain", "x")

	d := open(f, Do(Spec{Route: "POST /things", Needs: access.Anyone},
		func(_ context.Context, call Call[None, fuzzParams]) (fuzzParams, error) {
			p := call.Params
			_, err := p.KeysetPaging.Request("id", "desc", Offer{Model: "Thing", OrderBy: []string{"id"}})
			return p, err
		}))
	f.Fuzz(func(t *testing.T, contentType, text string) {
		r := httptest.NewRequest("POST", "/api/v4/things", nil)
		if contentType == "" {
			r.URL.RawQuery = text
		} else {
			r = httptest.NewRequest("POST", "/api/v4/things", strings.NewReader(text))
			r.Header.Set("Content-Type", contentType)
		}
		d.log.Reset()
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, r)
		switch {
		case w.Code >= 400 && w.Code < 500:
			return
		case w.Code != http.StatusOK || d.log.Len() > 0:
			t.Fatalf("got %d %s; log %s", w.Code, w.Body, d.log)
		}
		var got fuzzParams
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("the reply does not parse: %v: %s", err, w.Body)
		}
		for _, s := range []string{got.Name, got.Text, got.MaybeText.Value, strings.Join(got.Names, "")} {
			if !cleanText(s) {
				t.Errorf("a handler was given the broken text %q", s)
			}
		}
		if strings.TrimSpace(got.Name) == "" {
			t.Error("a blank name passed")
		}
		for _, moment := range []time.Time{got.When, got.Day, got.MaybeTime.Value} {
			if y := moment.Year(); y < 1 || y > 9999 {
				t.Errorf("a handler was given the year %d", y)
			}
		}
	})
}

// FuzzQuery holds the tree of plain names against the standard library's.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{"a=1&b=2", "a=1&a=2", "a=%41+b", "a=%zz", "a", "=", "&", "a=1=2", "a=%00", "a;b=1"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got := values{}
		if err := got.readQuery(query); err != nil || strings.ContainsAny(query, ";") {
			return
		}
		want, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("accepted %q, which is refused elsewhere: %v", query, err)
		}
		for name, expected := range want {
			if strings.Contains(name, "[") {
				continue
			}
			items, _ := got[name].(repeated)
			if items == nil {
				items = repeated{got[name]}
			}
			if len(items) != len(expected) {
				t.Fatalf("%q: %s is %v, want %v", query, name, items, expected)
			}
			for i := range items {
				if items[i] != expected[i] {
					t.Errorf("%q: %s is %v, want %v", query, name, items, expected)
				}
			}
		}
	})
}
