package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
)

type cat struct {
	Lives int `json:"lives"`
}

type dog struct {
	Name string `json:"name"`
}

type pet = Either[cat, dog]

func TestAnEitherIsWrittenAsTheFormThatItHolds(t *testing.T) {
	t.Parallel()
	tried := Do(Spec{Route: "POST /try", Needs: access.Anyone, Status: http.StatusCreated},
		func(context.Context, Call[None, struct{}]) (Either[cat, DryRun[dog]], error) {
			return Either[cat, DryRun[dog]]{}.Other(DryRun[dog]{dog{"<rex>"}}), nil
		})
	told := Do(Spec{Route: "POST /tell", Needs: access.Anyone, Status: http.StatusCreated},
		func(context.Context, Call[None, struct{}]) (Either[cat, NothingCreated[dog]], error) {
			return Either[cat, NothingCreated[dog]]{}.Other(NothingCreated[dog]{dog{"rex"}}), nil
		})
	d := open(t, tried, told,
		answer("GET /one", pet{}.One(cat{9})),
		answer("GET /other", pet{}.Other(dog{"<rex>"})),
		answer("GET /within", map[string]pet{"pet": pet{}.One(cat{9})}),
		answer("GET /headed", WithHeaders[pet]{Body: pet{}.One(cat{9}), Header: map[string]string{"X-Own": "1"}}),
		answer("GET /list", List[pet]{Result: paging.Result[pet]{Items: []pet{pet{}.Other(dog{"rex"}), pet{}.One(cat{7})}}, Request: paging.Request{Page: 1, PerPage: 20}}),
		answer("GET /empty", List[pet]{Request: paging.Request{Page: 1, PerPage: 20}}),
		answer("GET /stream", Either[cat, Stream]{}.Other(bytesOf("purr", new(int)))))
	wantJSON(t, d.do("GET", "/one"), http.StatusOK, `{"lives":9}`)
	wantJSON(t, d.do("GET", "/other"), http.StatusOK, `{"name":"\u003crex\u003e"}`)
	wantJSON(t, d.do("GET", "/within"), http.StatusOK, `{"pet":{"lives":9}}`)
	wantJSON(t, d.do("GET", "/list"), http.StatusOK, `[{"name":"rex"},{"lives":7}]`)
	wantJSON(t, d.do("GET", "/empty"), http.StatusOK, `[]`)
	wantJSON(t, d.do("POST", "/try"), http.StatusOK, `{"name":"\u003crex\u003e"}`)
	wantJSON(t, d.do("POST", "/tell"), http.StatusAccepted, `{"name":"rex"}`)
	headed := d.do("GET", "/headed")
	wantJSON(t, headed, http.StatusOK, `{"lives":9}`)
	if headed.Header().Get("X-Own") != "1" {
		t.Errorf("got %v", headed.Header())
	}
	if w := d.do("GET", "/stream"); w.Body.String() != "purr" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestAnEitherThatHoldsNothingIsAFailure(t *testing.T) {
	t.Parallel()
	d := open(t,
		answer("GET /pet", pet{}),
		answer("GET /headed", WithHeaders[pet]{}),
		answer("GET /within", map[string]pet{"pet": {}}),
		answer("GET /list", List[pet]{Result: paging.Result[pet]{Items: []pet{pet{}.One(cat{9}), {}}}, Request: paging.Request{Page: 1, PerPage: 20}}))
	for _, path := range []string{"/pet", "/headed", "/within", "/list"} {
		d.log.Reset()
		w := d.do("GET", path)
		wantStatus(t, w, http.StatusInternalServerError)
		if !strings.Contains(d.log.String(), "holds neither form") || w.Header().Get("Link") != "" {
			t.Errorf("%s: %v, logged %s", path, w.Header(), d.log)
		}
	}
	if _, err := json.Marshal(pet{}); err == nil {
		t.Error("it is written")
	}
}

func TestMembersWhoseNamesComeLaterStandAfterThoseOfTheForm(t *testing.T) {
	t.Parallel()
	d := open(t,
		answer("GET /more", Extended[dog]{dog{"rex"}, []Member{{"b", []int{1}}, {`a"`, nil}}}),
		answer("GET /none", Extended[dog]{Body: dog{"rex"}}))
	wantJSON(t, d.do("GET", "/more"), http.StatusOK, `{"name":"rex","b":[1],"a\"":null}`)
	wantJSON(t, d.do("GET", "/none"), http.StatusOK, `{"name":"rex"}`)
}

func TestDocumentsShowTheFormsOfAReply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply any
		want  []reflect.Type
	}{
		{cat{}, []reflect.Type{reflect.TypeFor[cat]()}},
		{pet{}, []reflect.Type{reflect.TypeFor[cat](), reflect.TypeFor[dog]()}},
		{Either[pet, DryRun[int]]{}, []reflect.Type{reflect.TypeFor[cat](), reflect.TypeFor[dog](), reflect.TypeFor[int]()}},
		{Either[cat, Stream]{}, []reflect.Type{reflect.TypeFor[cat]()}},
		{Later[WithHeaders[Either[cat, NothingAvailable]]]{}, []reflect.Type{reflect.TypeFor[cat]()}},
		{WithHeaders[Extended[dog]]{}, []reflect.Type{reflect.TypeFor[dog]()}},
		{Stream{}, nil},
	} {
		if got := formsOf(reflect.TypeOf(c.reply)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T: got %v, want %v", c.reply, got, c.want)
		}
	}
	text, doc := openAPI(t, []Endpoint{
		described[struct{}, Either[cat, Stream]](Spec{Route: "GET /cats", Summary: "Show a cat.", Needs: access.SignIn}),
		described[struct{}, map[string]pet](Spec{Route: "GET /pets", Summary: "Show pets.", Needs: access.SignIn}),
	})
	shape := func(path string) *openapi3.SchemaRef {
		return doc.Paths.Value(path).Get.Responses.Value("200").Value.Content["application/json"].Schema
	}
	if shape("/cats").Ref != "#/components/schemas/httpapi.cat" || len(shape("/pets").Value.AdditionalProperties.Schema.Value.AnyOf) != 2 {
		t.Errorf("got %s", text)
	}
}

func TestAReplyIsNoInterface(t *testing.T) {
	t.Parallel()
	for name, declare := range map[string]func(Spec) Endpoint{
		"alone": described[struct{}, any], "with headers": described[struct{}, WithHeaders[any]], "in a list": described[struct{}, List[any]],
		"in an Either": described[struct{}, Either[cat, error]],
	} {
		func() {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, "GET /pets answers with an interface") {
					t.Errorf("%s: got %q", name, said)
				}
			}()
			declare(Spec{Route: "GET /pets", Summary: "Show pets.", Needs: access.SignIn})
		}()
	}
}
