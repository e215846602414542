package app

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// browser keeps cookies, follows redirects and fills in forms, as people's do.
type browser struct {
	t       testing.TB
	handler http.Handler
	cookies map[string]*http.Cookie
	change  func(*http.Request) // of every request
}

func (i *instance) browser(t testing.TB) *browser {
	return &browser{t: t, handler: i.handler, cookies: map[string]*http.Cookie{}}
}

// screen is what the browser shows.
type screen struct {
	*httptest.ResponseRecorder
	path  string
	forms []*pageForm
}

// pageForm is a form as a person sees it.
type pageForm struct {
	method, action string
	values         url.Values
	types          map[string]int // how many inputs there are of each type
	buttons        []string
}

func (b *browser) send(method, target string, form url.Values) *httptest.ResponseRecorder {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, target, body)
	r.RemoteAddr = "192.0.2.7:4711"
	r.Host = "forge.example"
	r.Header.Set("User-Agent", "Browser/1")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://forge.example")
	}
	for _, c := range b.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	if b.change != nil {
		b.change(r)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	return w
}

// follow sends a request and goes where the answers lead.
func (b *browser) follow(method, target string, form url.Values) *screen {
	b.t.Helper()
	w := b.send(method, target, form)
	for range 5 {
		to := w.Header().Get("Location")
		if to == "" {
			break
		}
		if w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
			b.t.Fatalf("led astray: %d %q", w.Code, to)
		}
		target = to
		w = b.send(http.MethodGet, to, nil)
	}
	s := &screen{ResponseRecorder: w, path: target}
	s.read(b.t)
	return s
}

func (b *browser) get(target string) *screen {
	b.t.Helper()
	return b.follow(http.MethodGet, target, nil)
}

// submit fills in the form that goes to an action and sends it.
func (b *browser) submit(s *screen, action string, values map[string]string) *screen {
	b.t.Helper()
	f := s.form(action)
	if f == nil {
		b.t.Fatalf("%s has no form for %s:\n%s", s.path, action, s.Body)
	}
	all := maps.Clone(f.values)
	for name, value := range values {
		all.Set(name, value)
	}
	return b.follow(http.MethodPost, f.action, all)
}

func (s *screen) form(action string) *pageForm {
	for _, f := range s.forms {
		if f.action == action {
			return f
		}
	}
	return nil
}

func (s *screen) says(text string) bool {
	shown := strings.ReplaceAll(s.Body.String(), "<wbr>", "") // where an address may break
	return strings.Contains(html.UnescapeString(shown), text)
}

func (s *screen) read(t testing.TB) {
	t.Helper()
	if !strings.HasPrefix(s.Header().Get("Content-Type"), "text/html") {
		return
	}
	root, err := html.Parse(strings.NewReader(s.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(*html.Node, *pageForm)
	walk = func(n *html.Node, in *pageForm) {
		attr := func(name string) string {
			for _, a := range n.Attr {
				if a.Key == name {
					return a.Val
				}
			}
			return ""
		}
		checked := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "checked" })
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "form":
			in = &pageForm{method: attr("method"), action: attr("action"), values: url.Values{}, types: map[string]int{}}
			s.forms = append(s.forms, in)
		case in != nil && n.Data == "input":
			in.types[attr("type")]++
			if attr("type") != "checkbox" || checked {
				in.values.Add(attr("name"), attr("value"))
			}
		case in != nil && n.Data == "textarea" && n.FirstChild != nil:
			in.values.Add(attr("name"), n.FirstChild.Data)
		case in != nil && n.Data == "button" && n.FirstChild != nil:
			in.buttons = append(in.buttons, n.FirstChild.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, in)
		}
	}
	walk(root, nil)
}

const goodPassword = "correct horse 7 staple"

// withPassword seeds an account that can sign in.
func (i *instance) withPassword(t testing.TB, options ...usertest.Option) *user.User {
	t.Helper()
	hash, err := secretbox.NewHasher(2).Hash(t.Context(), goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	return usertest.New(t, i.DB, append([]usertest.Option{usertest.With("password_hash", hash)}, options...)...)
}

// signIn sends a name and password through the page.
func (b *browser) signIn(login, password string) *screen {
	b.t.Helper()
	return b.submit(b.get("/users/sign_in"), "/users/sign_in", map[string]string{"user[login]": login, "user[password]": password})
}
