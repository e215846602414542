package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

type spokenParams struct {
	ID    string `param:"id" doc:"ID of the thing"`
	Words string `param:"words" doc:"What is said"`
}

type spokenError struct {
	Wrong string `json:"wrong"`
}

// spoken is a protocol of plain text below the path of a project, with one endpoint.
func spoken() (*Dialect, []Endpoint) {
	d := &Dialect{
		Name: "spoken", Base: "/{project}.say", Media: "text/words", Error: spokenError{},
		Path: func(x *Request) string { _, rest, _ := strings.Cut(x.R.URL.Path, ".say"); return rest },
		Begin: func(_ context.Context, x *Request) (bool, error) {
			if x.Endpoint == nil {
				return false, fault.New(fault.NotFound)
			}
			x.SetRoute(x.Endpoint)
			return false, nil
		},
		Bind: func(x *Request, params any) error {
			words, err := io.ReadAll(x.R.Body)
			if err != nil {
				return err
			}
			return x.Fill(params, map[string]any{"words": string(words)})
		},
		Write: func(_ context.Context, x *Request, reply any) error {
			writeText(x.W, x.Endpoint.Status, reply.(string))
			return nil
		},
		Fail: func(x *Request, err error) error {
			f, _ := fault.Of(err)
			writeText(x.W, StatusOf(f.Kind), "no")
			return Hidden(err)
		},
	}
	say := Do(Spec{Route: "POST /things/{id}", Needs: access.Anyone, Credentials: []string{"basic"}, Summary: "Say."},
		func(_ context.Context, c Call[None, spokenParams]) (string, error) {
			return c.Params.ID + " " + c.Params.Words, nil
		})
	return d, d.In(say)
}

func TestAServerSpeaksOneDialectAndLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	d, endpoints := spoken()
	endpoints = append(endpoints, answer("POST /things/{id}", 1))
	server := &Server{Dialect: d, Endpoints: endpoints}
	h := server.Handler()
	for target, want := range map[string]string{"/a/b.say/things/7": "200 7 hello", "/a/b.say/nothing": "404 no", "/a/b.say/things/7/": "404 no"} {
		w := httptest.NewRecorder()
		about := &Recorder{}
		h.ServeHTTP(w, httptest.NewRequest("POST", target, strings.NewReader("hello")).WithContext(WithRecorder(t.Context(), about)))
		if got := fmt.Sprint(w.Code, " ", w.Body); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
		if w.Code == http.StatusOK && about.Route != "/{project}.say/things/{id}" {
			t.Errorf("the route is called %s", about.Route)
		}
	}
	if !h.Owns("/things/7") || h.Owns("/nothing") {
		t.Error("a server does not know its own paths")
	}
	wantStatus(t, open(t, endpoints...).do("POST", "/things/7"), http.StatusOK)
}

func TestDocumentsSayWhereADialectIsSpoken(t *testing.T) {
	t.Parallel()
	_, endpoints := spoken()
	document, err := OpenAPI(Info{Title: "T", Version: "4", ServerURL: "https://forge.example/api/v4"}, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"url: https://forge.example/{project}.say", "default: <project>", "tags: [spoken]", "text/words:", "httpapi.spokenError", "- basic: []",
	} {
		if !strings.Contains(string(document), want) {
			t.Errorf("the document lacks %q:\n%s", want, document)
		}
	}
	if got, want := Routes(endpoints), "POST /{project}.say/things/{id} public []\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(Permissions(endpoints), "| `POST /{project}.say/things/{id}` | `public` | yes | yes | yes |") {
		t.Error("the table lacks it")
	}
}
