package pages

import (
	"fmt"
	"net/http"
	"strings"
)

const stack = `"exception":{"values":[{"type":"IndexError","value":"list index out of range, 12 of 11","stacktrace":{"frames":[
	{"filename":"app/main.py","function":"main","lineno":12,"in_app":true,"context_line":"    run(stations)"},
	{"filename":"app/tides.py","function":"predict","lineno":87,"in_app":true,"pre_context":["    for n in range(12):"],"context_line":"        height = rows[n]","post_context":["    return height"]}]}}]}`

// errorPages are those of a project whose programs report errors.
func (f *forge) errorPages() []page {
	f.t.Helper()
	team := f.api("POST", "/groups", map[string]any{"name": "Tower", "path": "tower"}, "ada")
	home := f.api("POST", "/projects", map[string]any{"name": "tide-table", "namespace_id": id(team)}, "ada")
	f.api("POST", "/projects", map[string]any{"name": "quiet", "namespace_id": id(team)}, "ada")
	at := fmt.Sprintf("/projects/%d/error_tracking", id(home))
	f.api("PUT", at+"/settings", map[string]any{"active": true, "integrated": true}, "ada")
	key := f.api("POST", at+"/client_keys", nil, "ada")["public_key"].(string)
	send := func(event string) {
		f.t.Helper()
		address := fmt.Sprintf("%s/errortracking/api/v1/projects/api/%d/store/?sentry_key=%s", f.url, id(home), key)
		resp, err := http.Post(address, "application/json", strings.NewReader(event))
		if err != nil {
			f.t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			f.t.Fatalf("%s: %d", event, resp.StatusCode)
		}
	}
	for n := range 6 {
		send(fmt.Sprintf(`{"event_id":"%032x","platform":"python","level":"error","environment":"production","release":"tided@2.4.%d","user":{"id":"%d"},%s,
			"breadcrumbs":[{"message":"read stations","level":"info"}],"tags":{"station":"grinden"}}`, n+1, n%2, n, stack))
	}
	send(`{"level":"warning","message":"The gauge at Holm was silent for 17 minutes","environment":"staging"}`)
	send(`{"level":"fatal","message":"\"><script>alert(1)</script> Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"}`)
	const own = "/tower/tide-table/-/error_tracking"
	return []page{
		{Name: "errors", Path: own, As: "ada", Small: true},
		{Name: "errors-none", Path: "/tower/quiet/-/error_tracking", As: "ada", Small: true},
		{Name: "error", Path: own + "/1", As: "ada", Small: true},
		{Name: "error-settings", Path: own + "/settings", As: "ada", Small: true},
	}
}
