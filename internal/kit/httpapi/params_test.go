package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stithy/internal/kit/access"
)

// rich has a parameter of every type.
type rich struct {
	Text       string            `param:"text" doc:"Text"`
	Count      int64             `param:"count" doc:"Count"`
	Small      int               `param:"small" default:"20" doc:"Small"`
	Ratio      float64           `param:"ratio" doc:"Ratio"`
	Flag       bool              `param:"flag" doc:"Flag"`
	When       time.Time         `param:"when" doc:"Moment"`
	Day        time.Time         `param:"day" format:"date" doc:"Day"`
	Names      []string          `param:"names" doc:"Names"`
	IDs        []int64           `param:"ids" split:"comma" doc:"IDs"`
	Attributes map[string]string `param:"attributes" doc:"Attributes"`
	Variables  []richVariable    `param:"variables" doc:"Variables"`
	Anything   any               `param:"anything" doc:"Anything"`
	Upload     *File             `param:"upload" doc:"Upload"`

	MaybeText  Opt[string]    `param:"maybe_text" doc:"Text"`
	MaybeCount Opt[int64]     `param:"maybe_count" doc:"Count"`
	MaybeFlag  Opt[bool]      `param:"maybe_flag" doc:"Flag"`
	MaybeTime  Opt[time.Time] `param:"maybe_time" doc:"Moment"`
	MaybeNames Opt[[]string]  `param:"maybe_names" doc:"Names"`

	Sort   string      `param:"sort" enum:"asc,desc" default:"desc" doc:"Order"`
	Levels []int       `param:"levels" enum:"10,20" doc:"Levels"`
	State  Opt[string] `param:"state" enum:"open,closed" doc:"State"`
}

type richVariable struct {
	Key   string      `param:"key" required:"true" doc:"Key"`
	Value Opt[string] `param:"value" doc:"Value"`
}

// defaults are the params of a request without any.
func defaults() rich { return rich{Small: 20, Sort: "desc"} }

func multipartBody(t testing.TB, write func(*multipart.Writer)) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

func TestEveryTypeIsReadFromEverySource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, query, json string
		want              func(*rich)
	}{
		{"text", "text=a+b%26c", `{"text":"a b&c"}`, func(p *rich) { p.Text = "a b&c" }},
		{"empty text", "text=", `{"text":""}`, func(p *rich) { p.Text = "" }},
		{"number as text", "text=7", `{"text":7}`, func(p *rich) { p.Text = "7" }},
		{"truth as text", "text=true", `{"text":true}`, func(p *rich) { p.Text = "true" }},
		{"integer", "count=-42", `{"count":-42}`, func(p *rich) { p.Count = -42 }},
		{"integer as text", "count=42", `{"count":"42"}`, func(p *rich) { p.Count = 42 }},
		{"largest integer", "count=9223372036854775807", `{"count":9223372036854775807}`, func(p *rich) { p.Count = 1<<63 - 1 }},
		{"empty integer", "count=", `{"count":""}`, func(p *rich) {}},
		{"float", "ratio=2.5", `{"ratio":2.5}`, func(p *rich) { p.Ratio = 2.5 }},
		{"float with exponent", "ratio=1e3", `{"ratio":1e3}`, func(p *rich) { p.Ratio = 1000 }},
		{"true", "flag=true", `{"flag":true}`, func(p *rich) { p.Flag = true }},
		{"yes", "flag=YES", `{"flag":"YES"}`, func(p *rich) { p.Flag = true }},
		{"one", "flag=1", `{"flag":1}`, func(p *rich) { p.Flag = true }},
		{"off", "flag=off", `{"flag":"off"}`, func(p *rich) {}},
		{"moment", "when=2024-02-03T04:05:06.789%2B02:00", `{"when":"2024-02-03T04:05:06.789+02:00"}`,
			func(p *rich) { p.When = time.Date(2024, 2, 3, 2, 5, 6, 789e6, time.UTC) }},
		{"moment by day", "when=2024-02-03", `{"when":"2024-02-03"}`, func(p *rich) { p.When = time.Date(2024, 2, 3, 0, 0, 0, 0, time.UTC) }},
		{"day by moment", "day=2024-02-03T22:00:00-05:00", `{"day":"2024-02-03T22:00:00-05:00"}`,
			func(p *rich) { p.Day = time.Date(2024, 2, 4, 0, 0, 0, 0, time.UTC) }},
		{"list", "names[]=a&names[]=b", `{"names":["a","b"]}`, func(p *rich) { p.Names = []string{"a", "b"} }},
		{"list by repeating", "names=a&names=b", `{"names":["a","b"]}`, func(p *rich) { p.Names = []string{"a", "b"} }},
		{"list of one", "names=a,b", `{"names":"a,b"}`, func(p *rich) { p.Names = []string{"a,b"} }},
		{"list by position", "names[1]=b&names[0]=a", `{"names":{"1":"b","0":"a"}}`, func(p *rich) { p.Names = []string{"a", "b"} }},
		{"empty list", "names=", `{"names":[]}`, func(p *rich) {}},
		{"comma list", "ids=1,+2,,3", `{"ids":"1, 2,,3"}`, func(p *rich) { p.IDs = []int64{1, 2, 3} }},
		{"comma list as list", "ids[]=1&ids[]=2", `{"ids":[1,2]}`, func(p *rich) { p.IDs = []int64{1, 2} }},
		{"hash", "attributes[a]=1&attributes[b]=", `{"attributes":{"a":"1","b":""}}`,
			func(p *rich) { p.Attributes = map[string]string{"a": "1", "b": ""} }},
		{"list of hashes", "variables[][key]=A&variables[][value]=1&variables[][key]=B", `{"variables":[{"key":"A","value":"1"},{"key":"B"}]}`,
			func(p *rich) {
				p.Variables = []richVariable{{Key: "A", Value: Opt[string]{Given: true, Value: "1"}}, {Key: "B"}}
			}},
		{"list of hashes by position", "variables[0][key]=A&variables[10][key]=C&variables[9][key]=B", `{"variables":{"0":{"key":"A"},"10":{"key":"C"},"9":{"key":"B"}}}`,
			func(p *rich) { p.Variables = []richVariable{{Key: "A"}, {Key: "B"}, {Key: "C"}} }},
		{"anything", "anything[a][]=1", `{"anything":{"a":["1"]}}`, func(p *rich) { p.Anything = map[string]any{"a": []any{"1"}} }},
		{"anything repeated", "anything=1&anything=2", `{"anything":["1","2"]}`, func(p *rich) { p.Anything = []any{"1", "2"} }},
		{"optional text", "maybe_text=x", `{"maybe_text":"x"}`, func(p *rich) { p.MaybeText = Opt[string]{Given: true, Value: "x"} }},
		{"optional empty text", "maybe_text=", `{"maybe_text":""}`, func(p *rich) { p.MaybeText = Opt[string]{Given: true} }},
		{"optional integer", "maybe_count=0", `{"maybe_count":0}`, func(p *rich) { p.MaybeCount = Opt[int64]{Given: true} }},
		{"optional empty integer", "maybe_count=", `{"maybe_count":""}`, func(p *rich) { p.MaybeCount = Opt[int64]{Given: true, Null: true} }},
		{"optional empty flag", "maybe_flag=", `{"maybe_flag":null}`, func(p *rich) { p.MaybeFlag = Opt[bool]{Given: true, Null: true} }},
		{"optional moment", "maybe_time=2024-02-03", `{"maybe_time":"2024-02-03"}`,
			func(p *rich) {
				p.MaybeTime = Opt[time.Time]{Given: true, Value: time.Date(2024, 2, 3, 0, 0, 0, 0, time.UTC)}
			}},
		{"optional list", "maybe_names[]=a", `{"maybe_names":["a"]}`, func(p *rich) { p.MaybeNames = Opt[[]string]{Given: true, Value: []string{"a"}} }},
		{"enum", "sort=asc", `{"sort":"asc"}`, func(p *rich) { p.Sort = "asc" }},
		{"enum of numbers", "levels[]=20&levels[]=10", `{"levels":[20,10]}`, func(p *rich) { p.Levels = []int{20, 10} }},
		{"optional enum", "state=open", `{"state":"open"}`, func(p *rich) { p.State = Opt[string]{Given: true, Value: "open"} }},
		{"default of an empty number", "small=", `{"small":null}`, func(p *rich) {}},
		{"unknown names", "unknown=1&other[]=2", `{"unknown":1,"other":[2]}`, func(p *rich) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := defaults()
			c.want(&want)
			endpoint, got := capture[rich]("POST /things")
			d := open(t, endpoint)
			multi, parts := multipartBody(t, func(w *multipart.Writer) {
				for pair := range strings.SplitSeq(c.query, "&") {
					name, value, _ := strings.Cut(pair, "=")
					value, _ = url.QueryUnescape(value)
					if err := w.WriteField(name, value); err != nil {
						t.Fatal(err)
					}
				}
			})
			for source, send := range map[string]func() *httptest.ResponseRecorder{
				"query": func() *httptest.ResponseRecorder { return d.do("POST", "/things?"+c.query) },
				"form": func() *httptest.ResponseRecorder {
					return d.post("/things", "application/x-www-form-urlencoded", c.query)
				},
				"multipart": func() *httptest.ResponseRecorder { return d.post("/things", multi, parts) },
				"json":      func() *httptest.ResponseRecorder { return d.post("/things", "application/json; charset=utf-8", c.json) },
				"+json":     func() *httptest.ResponseRecorder { return d.post("/things", "application/merge-patch+json", c.json) },
			} {
				*got = rich{}
				wantStatus(t, send(), http.StatusNoContent)
				if diff := cmp.Diff(want, *got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", source, diff)
				}
			}
		})
	}
}

func TestNullInJSONIsNoValue(t *testing.T) {
	t.Parallel()
	endpoint, got := capture[rich]("POST /things")
	d := open(t, endpoint)
	names := []string{
		"text", "count", "small", "ratio", "flag", "when", "day", "names", "ids", "attributes", "variables", "anything", "upload",
		"maybe_text", "maybe_count", "maybe_flag", "maybe_time", "maybe_names", "sort", "levels", "state",
	}
	body := map[string]any{}
	for _, name := range names {
		body[name] = nil
	}
	text, _ := json.Marshal(body)
	wantStatus(t, d.post("/things", "application/json", string(text)), http.StatusNoContent)
	want := defaults()
	want.MaybeText = Opt[string]{Given: true, Null: true}
	want.MaybeCount = Opt[int64]{Given: true, Null: true}
	want.MaybeFlag = Opt[bool]{Given: true, Null: true}
	want.MaybeTime = Opt[time.Time]{Given: true, Null: true}
	want.MaybeNames = Opt[[]string]{Given: true, Null: true}
	want.State = Opt[string]{Given: true, Null: true}
	if diff := cmp.Diff(want, *got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFileKeepsItsNameTypeAndBytes(t *testing.T) {
	t.Parallel()
	endpoint, got := capture[rich]("POST /things")
	d := open(t, endpoint)
	contentType, body := multipartBody(t, func(w *multipart.Writer) {
		upload, _ := w.CreateFormFile("upload", "a b.png")
		_, _ = upload.Write([]byte{0, 1, 0xff})
		text, _ := w.CreateFormFile("text", "note.txt")
		_, _ = text.Write([]byte("from a file"))
	})
	wantStatus(t, d.post("/things", contentType, body), http.StatusNoContent)
	want := &File{Name: "a b.png", ContentType: "application/octet-stream", Size: 3, Data: []byte{0, 1, 0xff}}
	if diff := cmp.Diff(want, got.Upload); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Text != "from a file" {
		t.Errorf("got text %q", got.Text)
	}
}

func TestABinaryFileIsNoText(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[rich]("POST /things")
	d := open(t, endpoint)
	contentType, body := multipartBody(t, func(w *multipart.Writer) {
		upload, _ := w.CreateFormFile("text", "a.bin")
		_, _ = upload.Write([]byte{0, 1, 0xff})
	})
	wantRefusal(t, d.post("/things", contentType, body), "text is invalid")
}

func TestTheBodyWinsOverTheQueryAndThePathOverAll(t *testing.T) {
	t.Parallel()
	type params struct {
		ID    int64    `param:"id" doc:"ID"`
		Text  string   `param:"text" doc:"Text"`
		Names []string `param:"names" doc:"Names"`
	}
	endpoint, got := capture[params]("POST /things/{id:digits}")
	d := open(t, endpoint)
	contentType, parts := multipartBody(t, func(w *multipart.Writer) {
		for _, pair := range [][2]string{{"id", "3"}, {"text", "body"}, {"names[]", "b"}} {
			_ = w.WriteField(pair[0], pair[1])
		}
	})
	for _, body := range [][2]string{
		{"application/x-www-form-urlencoded", "id=3&text=body&names[]=b"},
		{"application/json", `{"id":3,"text":"body","names":["b"]}`},
		{contentType, parts},
	} {
		wantStatus(t, d.post("/things/1?id=2&text=query&names[]=q&names[]=r", body[0], body[1]), http.StatusNoContent)
		if diff := cmp.Diff(params{ID: 1, Text: "body", Names: []string{"b"}}, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body[0], diff)
		}
	}
}

func TestPathParametersHaveTypes(t *testing.T) {
	t.Parallel()
	type params struct {
		ID int64 `param:"email_id" doc:"ID"`
	}
	endpoint, _ := capture[params]("GET /user/emails/{email_id}")
	d := open(t, endpoint)
	wantStatus(t, d.do("GET", "/user/emails/5"), http.StatusNoContent)
	wantRefusal(t, d.do("GET", "/user/emails/abc?email_id=5"), "email_id is invalid")
	wantRefusal(t, d.do("GET", "/user/emails/99999999999999999999"), "email_id is invalid")
}

type strict struct {
	Name   string      `param:"name" required:"true" doc:"Name"`
	Scopes []string    `param:"scopes" required:"true" blank:"refuse" enum:"api,read_api" split:"comma" doc:"Scopes"`
	Active bool        `param:"active" blank:"refuse" doc:"Active"`
	First  Opt[string] `param:"first" doc:"First"`
	Second Opt[string] `param:"second" doc:"Second"`

	Variables []richVariable `param:"variables" doc:"Variables"`
}

func (p strict) Validate() []string {
	if p.First.Given != p.Second.Given {
		return []string{"first, second provide all or none of parameters"}
	}
	return nil
}

func TestRefusalsSayWhatIsWrongInTheOrderOfDeclaration(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[strict]("POST /things")
	d := open(t, endpoint)
	for body, text := range map[string]string{
		`{}`:                                                           "name is missing, scopes is missing, scopes is empty",
		`{"scopes":["api"]}`:                                           "name is missing",
		`{"name":"x"}`:                                                 "scopes is missing, scopes is empty",
		`{"name":"x","scopes":[]}`:                                     "scopes is empty",
		`{"name":"x","scopes":""}`:                                     "scopes is empty",
		`{"name":"x","scopes":" "}`:                                    "scopes is empty",
		`{"name":"x","scopes":null}`:                                   "scopes is empty",
		`{"name":"x","scopes":["nope"]}`:                               "scopes does not have a valid value",
		`{"name":"x","scopes":"api,nope"}`:                             "scopes does not have a valid value",
		`{"name":"x","scopes":["api"],"active":"maybe"}`:               "active is invalid",
		`{"name":"x","scopes":["api"],"active":""}`:                    "active is empty",
		`{"name":["x"],"scopes":{"a":"b"},"active":2}`:                 "name is invalid, scopes is invalid, active is invalid",
		`{"name":"x","scopes":["api"],"first":"1"}`:                    "first, second provide all or none of parameters",
		`{"first":"1","scopes":["api"]}`:                               "name is missing, first, second provide all or none of parameters",
		`{"name":"x","scopes":["api"],"variables":[{"value":"1"}]}`:    "variables[key] is missing",
		`{"name":"x","scopes":["api"],"variables":[{"key":"a"},7]}`:    "variables is invalid",
		`{"name":"x","scopes":["api"],"variables":[{"key":["a"]}]}`:    "variables is invalid",
		`{"name":"x","scopes":["api"],"variables":{"a":{"key":"b"}}}`:  "variables is invalid",
		`{"name":"x","scopes":["api"],"variables":{"-1":{"key":"b"}}}`: "variables is invalid",
	} {
		wantRefusal(t, d.post("/things", "application/json", body), text)
	}
	wantStatus(t, d.post("/things", "application/json", `{"name":null,"scopes":["api","read_api"],"active":false}`), http.StatusNoContent)
}

func TestValuesOfTheWrongTypeAreInvalid(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[rich]("POST /things")
	d := open(t, endpoint)
	for _, query := range []string{
		"count=x", "count=1.5", "count=9223372036854775808", "count=1e3", "count=+", "count=0x10", "count=1_000",
		"ratio=x", "ratio=NaN", "ratio=-Inf", "ratio=1e999",
		"flag=2", "flag=truee", "flag[]=true",
		"when=x", "when=2024-13-01", "when=2024-02-30", "when=0000-01-01", "when=9999-12-31T23:59:59-05:00", "when=" + strings.Repeat("1", 65),
		"day=tomorrow", "day[]=2024-01-01",
		"names[a]=1", "ids=1,x", "attributes=x", "attributes[a][b]=1", "attributes[]=x",
		"variables=x", "variables[]=x", "upload=x", "upload[]=x",
		"maybe_count=x", "maybe_time=x", "maybe_text[]=x", "maybe_flag=x", "maybe_names[a]=x",
	} {
		name, _, _ := strings.Cut(query, "=")
		name, _, _ = strings.Cut(name, "[")
		w := d.do("POST", "/things?"+strings.ReplaceAll(query, "+", "%2B"))
		wantRefusal(t, w, name+" is invalid")
	}
	for _, query := range []string{"sort=up", "sort=", "levels[]=30", "state=ajar"} {
		name, _, _ := strings.Cut(strings.Replace(query, "[]", "", 1), "=")
		wantRefusal(t, d.do("POST", "/things?"+query), name+" does not have a valid value")
	}
}

func TestAU01_AScalarRefusesArraysAndRepeats(t *testing.T) {
	t.Parallel()
	type params struct {
		Email string      `param:"email" doc:"Email"`
		ID    int64       `param:"id" doc:"ID"`
		Flag  bool        `param:"flag" doc:"Flag"`
		When  time.Time   `param:"when" doc:"When"`
		Note  Opt[string] `param:"note" doc:"Note"`
	}
	endpoint, got := capture[params]("POST /password")
	d := open(t, endpoint)
	values := map[string]string{"email": "a@example.com", "id": "1", "flag": "true", "when": "2024-01-01", "note": "x"}
	for name, value := range values {
		v, quoted := url.QueryEscape(value), `"`+value+`"`
		for _, query := range []string{
			name + "=" + v + "&" + name + "=" + v,
			name + "[]=" + v,
			name + "[]=" + v + "&" + name + "[]=" + v,
			name + "[0]=" + v,
			name + "[" + name + "]=" + v,
			name + "=" + v + "&" + name + "[]=" + v,
			name + "[]=" + v + "&" + name + "=" + v,
			name + "=&" + name + "=" + v,
		} {
			wantRefusal(t, d.do("POST", "/password?"+query), name+" is invalid")
			wantRefusal(t, d.post("/password", "application/x-www-form-urlencoded", query), name+" is invalid")
			contentType, parts := multipartBody(t, func(w *multipart.Writer) {
				for pair := range strings.SplitSeq(query, "&") {
					n, value, _ := strings.Cut(pair, "=")
					_ = w.WriteField(n, value)
				}
			})
			wantRefusal(t, d.post("/password", contentType, parts), name+" is invalid")
		}
		for _, body := range []string{
			`{"` + name + `":[` + quoted + `]}`,
			`{"` + name + `":[` + quoted + `,` + quoted + `]}`,
			`{"` + name + `":{"0":` + quoted + `}}`,
			`{"` + name + `":[]}`,
			`{"` + name + `":` + quoted + `,"` + name + `":` + quoted + `}`,
			`{"` + name + `":null,"` + name + `":` + quoted + `}`,
			`{"\u00` + hex(name[0]) + name[1:] + `":` + quoted + `,"` + name + `":` + quoted + `}`,
		} {
			wantRefusal(t, d.post("/password", "application/json", body), name+" is invalid")
		}
	}
	// A comma makes no list of a scalar.
	wantStatus(t, d.do("POST", "/password?email=a@example.com,b@example.com"), http.StatusNoContent)
	if got.Email != "a@example.com,b@example.com" {
		t.Errorf("got %q", got.Email)
	}
}

func hex(b byte) string { return string([]byte{"0123456789abcdef"[b>>4], "0123456789abcdef"[b&15]}) }

func TestOptTellsAbsentNullAndGivenApart(t *testing.T) {
	t.Parallel()
	absent, null, given := Opt[int]{}, Opt[int]{Given: true, Null: true}, Opt[int]{Given: true, Value: 3}
	if absent.Or(7) != 7 || null.Or(7) != 7 || given.Or(7) != 3 {
		t.Error("Or does not fall back where there is no value")
	}
	if absent.Ptr() != nil || null.Ptr() != nil || *given.Ptr() != 3 {
		t.Error("Ptr is not nil where there is no value")
	}
}

func TestTypesThatCannotBeReadAreRefusedAtDeclaration(t *testing.T) {
	t.Parallel()
	for name, declare := range map[string]func(){
		"a channel": func() {
			capture[struct {
				C chan int `param:"c"`
			}]("GET /x")
		},
		"a route without a path":     func() { answer("GET", NoContent{}) },
		"a path without a slash":     func() { answer("GET users", NoContent{}) },
		"an unknown kind of segment": func() { answer("GET /users/{id:hex}", NoContent{}) },
		"no ability": func() {
			Do(Spec{Route: "GET /x"}, func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil })
		},
		"two endpoints on one route": func() { open(t, answer("GET /x", 1), answer("GET /x", 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			declare()
		})
	}
}

type shelfRef struct {
	Shelf int64 `param:"shelf" doc:"Shelf"`
}

type boxRef struct {
	Room string `param:"room" doc:"Room"`
	Box  int64  `param:"box" doc:"Box"`
}

// Validate refuses one box.
func (r boxRef) Validate() []string {
	if r.Box == 13 {
		return []string{"box is closed"}
	}
	return nil
}

type itemParams struct {
	Item  int64  `param:"item" doc:"Item"`
	Color string `param:"color" required:"true" doc:"Color"`
}

// Validate refuses one color.
func (p itemParams) Validate() []string {
	if p.Color == "none" {
		return []string{"color is invisible"}
	}
	return nil
}

func TestAnEndpointStandsBelowParentsOfSeveralKinds(t *testing.T) {
	t.Parallel()
	handle := func(_ context.Context, call Call[string, itemParams]) (map[string]any, error) {
		return map[string]any{"at": call.Subject, "item": call.Params.Item, "color": call.Params.Color}, nil
	}
	shelf := Below(Spec{Route: "POST /shelves/{shelf}/items/{item}", Needs: access.Anyone},
		func(_ context.Context, _ access.Actor, ref shelfRef) (string, error) {
			return fmt.Sprintf("shelf %d", ref.Shelf), nil
		}, handle)
	box := Below(Spec{Route: "POST /rooms/{room}/boxes/{box}/items/{item}", Needs: access.Anyone},
		func(_ context.Context, _ access.Actor, ref boxRef) (string, error) {
			return fmt.Sprintf("box %d in %s", ref.Box, ref.Room), nil
		}, handle)
	var names []string
	for _, p := range box.Params {
		names = append(names, fmt.Sprintf("%s %t", p.Name, p.InPath))
	}
	if got := strings.Join(names, ", "); got != "room true, box true, item true, color false" {
		t.Errorf("its parameters are %s", got)
	}
	listed := Below(Spec{Route: "GET /shelves/{shelf}/items", Needs: access.Anyone},
		func(context.Context, access.Actor, shelfRef) (string, error) { return "", nil },
		func(_ context.Context, call Call[string, struct{ Paging }]) (NoContent, error) {
			_, err := call.Params.Request()
			return NoContent{}, err
		})
	d := open(t, shelf, box, listed)
	if w := d.do("GET", "/shelves/7/items?page=500&per_page=100"); w.Code != http.StatusNoContent {
		t.Errorf("the last page answers %d", w.Code)
	}
	if w := d.do("GET", "/shelves/7/items?page=501&per_page=100"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a page that is too deep answers %d", w.Code)
	}
	for target, want := range map[string]string{
		"/shelves/7/items/5?color=red":            `{"at":"shelf 7","color":"red","item":5}`,
		"/rooms/hall/boxes/3/items/5?color=red":   `{"at":"box 3 in hall","color":"red","item":5}`,
		"/shelves/7/items/5":                      `{"error":"color is missing"}`,
		"/shelves/x/items/5?color=red":            `{"error":"shelf is invalid"}`,
		"/rooms/hall/boxes/13/items/5?color=none": `{"error":"box is closed, color is invisible"}`,
		"/rooms/hall/boxes/3/items/x?color=red":   `{"error":"item is invalid"}`,
	} {
		if got := strings.TrimSpace(d.do("POST", target).Body.String()); got != want {
			t.Errorf("%s: %s, wanted %s", target, got, want)
		}
	}
}
