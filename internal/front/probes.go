package front

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Check is one thing that the process depends on.
type Check struct {
	Name string // "db": shown as db_check
	Do   func(ctx context.Context) error
	// Optional things are shown, and their failure does not take the node out
	// of service: it goes on without them.
	Optional bool
}

// ReasonError is an error of a check whose words those who watch may read. Of all
// other errors they learn that the thing does not answer; the log has the rest.
type ReasonError string

func (r ReasonError) Error() string { return string(r) }

type checkResult struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// probed reports whether a path is one that the watchers ask for.
func probed(path string) bool {
	switch path {
	case "/-/health", "/-/liveness", "/-/readiness", "/-/metrics":
		return true
	}
	return false
}

const checkTimeout = 3 * time.Second

// probe answers those who watch over the process. To anyone else the pages do
// not exist; a request that a stranger's proxy passed on comes from anyone.
func (f *Front) probe(w *recorder, r *http.Request, proxied bool) {
	w.probe, w.about.Route = true, r.URL.Path
	allowed := !proxied && contains(f.Watchers, w.about.Address)
	switch {
	case !allowed || (r.Method != http.MethodGet && r.Method != http.MethodHead):
		w.about.Route = "/-/"
		w.text(http.StatusNotFound, "")
	case r.URL.Path == "/-/health":
		w.text(http.StatusOK, f.Title+" OK")
	case r.URL.Path == "/-/liveness":
		w.json(http.StatusOK, `{"status":"ok"}`)
	case r.URL.Path == "/-/readiness":
		f.readiness(w, r)
	default:
		f.Metrics.Handler().ServeHTTP(w, r)
	}
}

// readiness says whether the node should be given requests. With all=1 it
// names each dependency.
func (f *Front) readiness(w *recorder, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	status, code := "ok", http.StatusOK
	all := map[string]any{}
	master := checkResult{Status: "ok"}
	fail := func(message string) {
		status, code, master = "failed", http.StatusServiceUnavailable, checkResult{Status: "failed", Message: message}
	}
	for _, check := range f.Checks {
		result := checkResult{Status: "ok"}
		if err := check.Do(ctx); err != nil {
			if hungUp(r) {
				return
			}
			result = checkResult{Status: "failed", Message: check.Name + " does not answer"}
			if reason, ok := errors.AsType[ReasonError](err); ok {
				result.Message = string(reason)
			}
			f.Log.WarnContext(ctx, "readiness check failed", "check", check.Name, "error", err)
			if !check.Optional {
				fail(result.Message)
			}
		}
		all[check.Name+"_check"] = []checkResult{result}
	}
	select {
	case <-f.Draining:
		fail("the node is about to stop")
	default:
	}
	if r.URL.Query().Get("all") == "" {
		all = map[string]any{}
	}
	all["status"], all["master_check"] = status, []checkResult{master}
	body, _ := json.Marshal(all)
	w.json(code, string(body))
}
