package httpapitest_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
)

type params struct {
	Word string `param:"word" doc:"A word"`
}

func TestACallSaysWhoFromWhereAndWhat(t *testing.T) {
	t.Parallel()
	client := httpapitest.Serve(t, httpapi.Do(httpapi.Spec{Route: "POST /echo", Needs: access.Anyone},
		func(_ context.Context, call httpapi.Call[httpapi.None, params]) (map[string]string, error) {
			who := "nobody"
			if call.Actor.SignedIn() {
				who = call.Actor.Person.Username
			}
			return map[string]string{"who": who, "from": call.Actor.Address.String(), "word": call.Params.Word}, nil
		}))
	client.Do(t, "POST", "/echo", nil).Want(t, 200, `{"from":"192.0.2.7","who":"nobody","word":""}`)
	for _, body := range []any{`{"word":"a"}`, url.Values{"word": {"a"}}, map[string]string{"word": "a"}} {
		client.As(httpapitest.User).Do(t, "POST", "/echo", body).Want(t, 200, `{"from":"192.0.2.7","who":"ada","word":"a"}`)
	}
	client.With("Content-Type", "application/json").Do(t, "POST", "/echo", strings.NewReader(`{"word":"b"}`)).
		Want(t, 200, `{"from":"192.0.2.7","who":"nobody","word":"b"}`)
	client.With("Private-Token", "unheard-of").Do(t, "POST", "/echo", nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
	client.As(httpapitest.Admin, access.ScopeReadAPI).Do(t, "POST", "/echo", nil).WantStatus(t, 403)
}
