package page

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"stithy/internal/kit/wire"
	"stithy/internal/platform/secretbox"
)

// A message that carries a secret is shown for two minutes, however long somebody keeps its cookie.
func TestAMessageForTheNextPageIsNotShownLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 22, 10, 0, 0, time.UTC)
	kit := &Kit{Clock: func() time.Time { return now }, Names: wire.Names{Service: "svc"}, box: secretbox.Random()}
	w := httptest.NewRecorder()
	said := &Request{Kit: kit, W: w, R: httptest.NewRequest(http.MethodGet, "/", nil)}
	said.Session = "one"
	if err := said.Say(Flash{Text: "made", Secret: "svcpat-x"}); err != nil {
		t.Fatal(err)
	}
	shown := func(session string) *Flash {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(w.Result().Cookies()[0])
		x := &Request{Kit: kit, W: httptest.NewRecorder(), R: r}
		x.Session = session
		return x.Flash()
	}
	now = now.Add(flashSeconds * time.Second)
	if f := shown("one"); f == nil || f.Secret != "svcpat-x" {
		t.Errorf("in time: %+v", f)
	}
	if f := shown("two"); f != nil {
		t.Errorf("in another session: %+v", f)
	}
	now = now.Add(time.Second)
	if f := shown("one"); f != nil {
		t.Errorf("later: %+v", f)
	}
}
