package httpapi_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
)

type lamp struct {
	Lit    bool           `json:"lit" needs:"colour,watts" doc:"Whether it shines"`
	Colour string         `json:"colour" enum:"red,green" doc:"Which colour"`
	Watts  int            `json:"watts" doc:"How much"`
	Hours  *int           `json:"hours" doc:"How long"`
	Rooms  []string       `json:"rooms" split:"comma" doc:"Where"`
	Spares map[string]int `json:"spares" doc:"What is left"`
}

// change applies what a request gives to a lamp and shows both.
func change(t *testing.T, to lamp, body any) (lamp, *httpapitest.Reply) {
	endpoint := httpapi.Do(httpapi.Spec{Route: "PUT /lamp", Needs: access.Administer},
		func(_ context.Context, call httpapi.Call[httpapi.None, httpapi.Changes[lamp]]) (bool, error) {
			call.Params.Apply(&to)
			return true, nil
		})
	reply := httpapitest.Serve(t, endpoint).As(httpapitest.Admin).Do(t, "PUT", "/lamp", body)
	return to, reply
}

func TestOnlyTheMembersThatWereGivenChange(t *testing.T) {
	t.Parallel()
	before := lamp{Lit: true, Colour: "red", Watts: 5, Hours: new(3), Rooms: []string{"hall"}, Spares: map[string]int{"bulb": 1}}
	for _, test := range []struct {
		body any
		want lamp
	}{
		{`{"lit":false}`, lamp{Colour: "red", Watts: 5, Hours: new(3), Rooms: before.Rooms, Spares: before.Spares}},
		{`{"colour":"","watts":0,"hours":null}`, lamp{Lit: true, Rooms: before.Rooms, Spares: before.Spares}},
		{`{"rooms":[],"spares":{},"hours":4}`, lamp{Lit: true, Colour: "red", Watts: 5, Hours: new(4), Rooms: []string{}, Spares: map[string]int{}}},
		{url.Values{"rooms": {"attic, cellar"}, "spares[fuse]": {"2"}, "hours": {""}},
			lamp{Lit: true, Colour: "red", Watts: 5, Rooms: []string{"attic", "cellar"}, Spares: map[string]int{"fuse": 2}}},
	} {
		got, reply := change(t, before, test.body)
		reply.Want(t, 200, "true")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v: %s", test.body, diff)
		}
	}
}

func TestChangesThatCannotBeReadAreRefusedTogether(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                                    `{"error":"lit, colour, watts, hours, rooms, spares are missing, at least one parameter must be provided"}`,
		`{"other":1}`:                           `{"error":"lit, colour, watts, hours, rooms, spares are missing, at least one parameter must be provided"}`,
		`{"lit":true}`:                          `{"error":"colour is missing, watts is missing"}`,
		`{"lit":true,"colour":"red"}`:           `{"error":"watts is missing"}`,
		`{"lit":"dim","watts":[],"hours":"x"}`:  `{"error":"lit is invalid, watts is invalid, hours is invalid"}`,
		`{"lit":null}`:                          `{"error":"lit is invalid"}`,
		`{"watts":""}`:                          `{"error":"watts is invalid"}`,
		`{"spares":null}`:                       `{"error":"spares is invalid"}`,
		`{"spares":{"bulb":"many"},"rooms":{}}`: `{"error":"spares is invalid"}`,
	} {
		before := lamp{Colour: "green"}
		got, reply := change(t, before, body)
		reply.Want(t, 400, want)
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestChangesAreDocumentedAndGuarded(t *testing.T) {
	t.Parallel()
	endpoint := httpapi.Do(httpapi.Spec{Route: "PUT /lamp", Needs: access.Administer},
		func(context.Context, httpapi.Call[httpapi.None, httpapi.Changes[lamp]]) (bool, error) {
			return true, nil
		})
	want := []httpapi.Param{
		{Name: "lit", Doc: "Whether it shines"}, {Name: "colour", Doc: "Which colour", Enum: []string{"red", "green"}},
		{Name: "watts", Doc: "How much"}, {Name: "hours", Doc: "How long"}, {Name: "rooms", Doc: "Where"}, {Name: "spares", Doc: "What is left"},
	}
	if diff := cmp.Diff(want, endpoint.Params, cmpopts.IgnoreFields(httpapi.Param{}, "Type")); diff != "" {
		t.Error(diff)
	}
	if watts, hours := endpoint.Params[2].Type, endpoint.Params[3].Type; watts != hours {
		t.Errorf("a number that may be null is shown as %v", hours)
	}
	client := httpapitest.Serve(t, endpoint)
	client.Do(t, "PUT", "/lamp", `{}`).Want(t, 401, `{"message":"401 Unauthorized"}`)
	client.As(httpapitest.User).Do(t, "PUT", "/lamp", `{}`).Want(t, 403, `{"message":"403 Forbidden"}`)
}
