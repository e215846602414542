package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go"

	"stithy/internal/platform/postgres"
)

// alerting is a project that takes alerts.
type alerting struct {
	url, key string
	project  int64
}

func (f *forge) alerting(t *testing.T, c *gitlab.Client, kind string) alerting {
	t.Helper()
	made := call(c.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Site " + kind)})).ok(t, http.StatusCreated)
	var in struct{ URL, Token string }
	req, err := c.NewRequest(http.MethodPost, fmt.Sprintf("projects/%d/alert_management_integrations", made.ID), map[string]string{"name": "From a test", "type": kind}, nil)
	if err == nil {
		_, err = c.Do(req, &in)
	}
	if err != nil || in.Token == "" {
		t.Fatalf("%+v: %v", in, err)
	}
	return alerting{url: in.URL, key: f.secret(in.Token), project: made.ID}
}

// alerts are how many alerts of a status there are, and how many were sent more than once.
func (a alerting) alerts(t *testing.T, db *postgres.DB, status int) (all, repeated int) {
	t.Helper()
	n, err := postgres.One[struct{ All, Repeated int }](t.Context(), db,
		`select count(*) as all, count(*) filter (where events > 1) as repeated from alerts where project_id = $1 and status = $2`, a.project, status)
	if err != nil {
		t.Fatal(err)
	}
	return n.All, n.Repeated
}

const alertmanagerConfig = `
route: {receiver: forge, group_by: ['...'], group_wait: 100ms, group_interval: 1s, repeat_interval: 1s}
receivers:
  - name: forge
    webhook_configs:
      - url: %s
        send_resolved: true
        http_config: {authorization: {credentials: %s}}
`

func TestAlertmanagerFiresRepeatsAndResolvesFiftyAlerts(t *testing.T) {
	t.Parallel()
	need(t, "Alertmanager is missing: apt-get install -y prometheus-alertmanager", "prometheus-alertmanager", "--version")
	f := start(t)
	a := f.alerting(t, f.client(t, f.token), "prometheus")
	db, err := postgres.Open(t.Context(), f.database(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	address, log := freeAddress(t), f.log()
	cmd := exec.Command("prometheus-alertmanager", "--config.file="+f.file("alertmanager.yml", fmt.Sprintf(alertmanagerConfig, a.url, a.key)),
		"--storage.path="+t.TempDir(), "--web.listen-address="+address, "--cluster.listen-address=")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Alertmanager:\n%s", log)
		}
	})
	eventually(t, patience, "Alertmanager answers", func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	const alerts = 50
	post := func(over bool) {
		t.Helper()
		var all []map[string]any
		for i := range alerts {
			one := map[string]any{
				"labels": map[string]string{"alertname": fmt.Sprintf("Alert %d", i), "severity": "warning"}, "annotations": map[string]string{"summary": fmt.Sprintf("Number %d", i)},
				"generatorURL": "http://prometheus.example/graph?g0.expr=up", "startsAt": "2026-01-02T03:04:05Z",
			}
			if over {
				one["endsAt"] = "2026-01-03T00:00:00Z"
			}
			all = append(all, one)
		}
		body, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post("http://"+address+"/api/v2/alerts", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(resp.Body)
			t.Fatalf("%d %s", resp.StatusCode, text)
		}
	}
	post(false)
	eventually(t, 2*patience, "all alerts were sent twice", func() bool {
		all, repeated := a.alerts(t, db, 0)
		return all == alerts && repeated == alerts
	})
	post(true)
	eventually(t, 2*patience, "all alerts are resolved", func() bool { all, _ := a.alerts(t, db, 2); return all == alerts })
	if open, _ := a.alerts(t, db, 0); open != 0 {
		t.Errorf("%d alerts are open beside those that ended", open)
	}
	if wrong, err := postgres.Value[int](t.Context(), db, `select count(*) from alerts where severity <> 3 or title !~ '^Number [0-9]+$' or query <> 'up'`); wrong != 0 || err != nil {
		t.Errorf("%d alerts are not as they were sent, %v", wrong, err)
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if sent := metric(t, metrics, `alertmanager_notifications_total{integration="webhook"}`); sent < 3*alerts {
		t.Errorf("%d notifications", sent)
	}
	failures := regexp.MustCompile(`(?m)^alertmanager_notifications_failed_total\{integration="webhook".*\} (.*)$`).FindAllSubmatch(metrics, -1)
	if len(failures) == 0 {
		t.Error("Alertmanager counts no failures of webhooks")
	}
	for _, f := range failures {
		if string(f[1]) != "0" {
			t.Errorf("Alertmanager says %s", f[0])
		}
	}
}

func metric(t *testing.T, metrics []byte, name string) int {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (.*)$`).FindSubmatch(metrics)
	if found == nil {
		t.Fatalf("there is no metric %s", name)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(value)
}

// What was acknowledged is counted, nothing is counted that was not sent, and the numbers have no gaps, while nodes are killed and
// started. STITHY_TEST_ALERT_KILLS says how often.
func TestAlertsAreCountedAndNumberedWhileNodesDie(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("STITHY_TEST_ALERT_KILLS"), "4"))
	if err != nil {
		t.Fatal(err)
	}
	const hands, prints, between = 16, 8, 100
	p := startPair(t)
	a := p.alerting(t, p.on(t, 0, p.token), "http")
	var begun, acknowledged [prints]atomic.Int64
	var alone atomic.Int64 // acknowledged alerts that have a fingerprint of their own
	progress, stop := make(chan struct{}, 1<<16), make(chan struct{})
	post := func(ctx context.Context, node int, body string) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.nodes[node].url+strings.TrimPrefix(a.url, p.url), strings.NewReader(body))
		if err != nil {
			return false
		}
		req.Header.Set("Authorization", "Bearer "+a.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode == http.StatusOK
	}
	addresses := [2]string{p.nodes[0].url, p.nodes[1].url}
	var group sync.WaitGroup
	for hand := range hands {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				mark := (n*7 + hand) % prints
				if n%5 == 0 {
					if post(t.Context(), (n+hand)%2, fmt.Sprintf(`{"title":"own","fingerprint":"%d of %d"}`, n, hand)) {
						alone.Add(1)
						progress <- struct{}{}
					}
					continue
				}
				begun[mark].Add(1)
				if post(t.Context(), (n+hand)%2, fmt.Sprintf(`{"title":"shared %d","fingerprint":"shared %d"}`, mark, mark)) {
					acknowledged[mark].Add(1)
					progress <- struct{}{}
				}
			}
		})
	}
	await := func(posts int) {
		t.Helper()
		late := time.After(4 * patience)
		for range posts {
			select {
			case <-progress:
			case <-late:
				close(stop)
				t.Fatal("nobody gets ahead")
			}
		}
	}
	for kill := range kills {
		await(between)
		p.nodes[kill%2].kill()
		p.nodes[kill%2] = p.serve("STITHY_LISTEN=" + strings.TrimPrefix(addresses[kill%2], "http://"))
	}
	await(between)
	close(stop)
	group.Wait()

	db, err := postgres.Open(t.Context(), p.database(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	numbers, err := postgres.One[struct{ All, Distinct, Highest, Own int64 }](t.Context(), db,
		`select count(*) as all, count(distinct iid) as distinct, max(iid) as highest, count(*) filter (where title = 'own') as own from alerts where project_id = $1`, a.project)
	if err != nil || numbers.All != numbers.Distinct || numbers.All != numbers.Highest {
		t.Errorf("the numbers have gaps or doubles: %+v %v", numbers, err)
	}
	if numbers.Own < alone.Load() {
		t.Errorf("%d alerts of their own, %d were acknowledged", numbers.Own, alone.Load())
	}
	for mark := range prints {
		rows, err := postgres.Values[int64](t.Context(), db, `select events from alerts where project_id = $1 and title = $2`, a.project, fmt.Sprintf("shared %d", mark))
		if err != nil || len(rows) != 1 {
			t.Errorf("alert %d is there %d times, %v", mark, len(rows), err)
			continue
		}
		if rows[0] < acknowledged[mark].Load() || rows[0] > begun[mark].Load() {
			t.Errorf("alert %d: %d were counted, %d acknowledged, %d sent", mark, rows[0], acknowledged[mark].Load(), begun[mark].Load())
		}
	}
}

// STITHY_TEST_ALERT_POSTS says how many alerts are sent, a fifth of them again. The log says how quickly.
func TestAStormOfAlertsLosesNoneAndCountsExactly(t *testing.T) {
	t.Parallel()
	posts, err := strconv.Atoi(cmp.Or(os.Getenv("STITHY_TEST_ALERT_POSTS"), "500"))
	if err != nil {
		t.Fatal(err)
	}
	f := start(t)
	a := f.alerting(t, f.client(t, f.token), "http")
	const hands = 64
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: hands}}
	defer client.CloseIdleConnections()
	var next, refused atomic.Int64
	took := make([]time.Duration, posts)
	var group sync.WaitGroup
	begin := time.Now()
	for range hands {
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= posts {
					return
				}
				mark := n
				if n%5 == 4 {
					mark = n - 4
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url, strings.NewReader(
					fmt.Sprintf(`{"title":"Alert %d","fingerprint":"%d","severity":"high","service":"web","hosts":["a.example","b.example"],"description":"It is slow"}`, mark, mark)))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+a.key)
				start := time.Now()
				resp, err := client.Do(req)
				took[n] = time.Since(start)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					refused.Add(1)
				}
			}
		})
	}
	group.Wait()
	elapsed := time.Since(begin)
	slices.Sort(took)
	t.Logf("%d posts in %s: %.0f a second, p50 %s, p99 %s", posts, elapsed.Round(time.Millisecond), float64(posts)/elapsed.Seconds(), took[posts/2], took[posts*99/100])
	db, err := postgres.Open(t.Context(), f.database(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n, err := postgres.One[struct{ Alerts, Events, Highest int }](t.Context(), db,
		`select count(*) as alerts, sum(events)::bigint as events, max(iid) as highest from alerts where project_id = $1`, a.project)
	if want := posts - posts/5; err != nil || refused.Load() != 0 || n.Alerts != want || n.Highest != want || n.Events != posts {
		t.Errorf("%d were refused; %+v of %d posts, %v", refused.Load(), n, posts, err)
	}
}
