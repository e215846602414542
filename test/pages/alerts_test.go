package pages

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
)

// alertPages are those of a project that takes alerts.
func (f *forge) alertPages() []page {
	f.t.Helper()
	team := f.api("POST", "/groups", map[string]any{"name": "Watch", "path": "watch"}, "ada")
	home := f.api("POST", "/projects", map[string]any{"name": "tide-table", "namespace_id": id(team)}, "ada")
	f.api("POST", "/projects", map[string]any{"name": "quiet", "namespace_id": id(team)}, "ada")
	at := fmt.Sprintf("/projects/%d", id(home))
	in := f.api("POST", at+"/alert_management_integrations", map[string]any{"name": "Alertmanager", "type": "prometheus"}, "ada")
	f.api("POST", at+"/alert_management_integrations", map[string]any{"name": "Probes at the quay", "type": "http", "active": false}, "ada")
	address, err := url.Parse(in["url"].(string))
	if err != nil {
		f.t.Fatal(err)
	}
	send := func(text string) {
		f.t.Helper()
		r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+address.Path, bytes.NewReader([]byte(text)))
		if err != nil {
			f.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+in["token"].(string))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			f.t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			f.t.Fatalf("%s: %d", text, resp.StatusCode)
		}
	}
	for range 6 {
		send(`{"title":"Gauge at Grinden has sent nothing for 10 minutes","description":"The last value came at 9:12.","severity":"critical","service":"gauges","monitoring_tool":"probe","hosts":["grinden-1.quay.example"],"runbook":"https://runbooks.example/gauge","fingerprint":"g"}`)
	}
	send(`{"title":"tided: one request in ten takes longer than a second","severity":"high"}`)
	send(`{"title":"Disk of quay-2 is 80 % full","severity":"low"}`)
	send(`{"title":"\"><script>alert(1)</script> Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen","severity":"unknown"}`)
	send(`{"title":"Certificate of tides.quay.example ends in 14 days","severity":"medium"}`)
	f.api("PUT", at+"/alert_management_alerts/5", map[string]any{"status": "acknowledged", "assignee_ids": []int64{id(f.api("GET", "/user", nil, "ada"))}}, "ada")
	f.api("PUT", at+"/alert_management_alerts/1", map[string]any{"status": "acknowledged"}, "ada")
	f.api("PUT", at+"/alert_management_alerts/1", map[string]any{"status": "triggered"}, "ada")
	const own = "/watch/tide-table/-/"
	return []page{
		{Name: "alerts", Path: own + "alert_management?state=all", As: "ada", Small: true},
		{Name: "alerts-none", Path: "/watch/quiet/-/alert_management", As: "ada", Small: true},
		{Name: "alert", Path: own + "alert_management/1/details", As: "ada", Small: true},
		{Name: "alert-integrations", Path: own + "settings/alert_integrations", As: "ada", Small: true},
		{Name: "alert-integrations-none", Path: "/watch/quiet/-/settings/alert_integrations", As: "ada"},
	}
}
