package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"stithy/internal/kit/access"
)

// BenchmarkGetUser is the price of the cheapest request with a token, from the
// front door to the answer, the network aside.
func BenchmarkGetUser(b *testing.B) {
	i := newInstance(b)
	secret := i.token(b, i.ann, access.ScopeAPI)
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("GET", "/api/v4/user", nil)
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("PRIVATE-TOKEN", secret)
		w := httptest.NewRecorder()
		i.handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
