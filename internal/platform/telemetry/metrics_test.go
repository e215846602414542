package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stithy/internal/platform/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/-/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func TestAScrapeShowsRequestsBuildAndProcess(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics("1.2.3", "abc")
	for range 3 {
		m.RequestStarted()
	}
	m.ObserveRequest(http.MethodGet, "/projects/{id}", http.StatusOK, 3*time.Millisecond)
	m.ObserveRequest("BREW", "/projects/{id}", http.StatusTeapot, time.Second)
	text := scrape(t, m)
	for _, want := range []string{
		`stithy_http_request_duration_seconds_bucket{method="GET",route="/projects/{id}",status="2xx",le="0.002"} 0`,
		`stithy_http_request_duration_seconds_bucket{method="GET",route="/projects/{id}",status="2xx",le="0.005"} 1`,
		`stithy_http_request_duration_seconds_count{method="other",route="/projects/{id}",status="4xx"} 1`,
		`stithy_http_requests_in_flight 1`,
		`revision="abc",version="1.2.3"} 1`,
		"\ngo_goroutines ",
		"\nprocess_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the scrape lacks %s", want)
		}
	}
}

func TestTwoSetsOfMetricsShareNothing(t *testing.T) {
	t.Parallel()
	a, b := telemetry.NewMetrics("a", ""), telemetry.NewMetrics("b", "")
	a.RequestStarted()
	a.ObserveRequest(http.MethodGet, "/a", http.StatusOK, 0)
	if strings.Contains(scrape(t, b), `route="/a"`) {
		t.Error("a request of one shows in the other")
	}
}

func BenchmarkObserveRequest(b *testing.B) {
	m := telemetry.NewMetrics("1", "")
	b.ReportAllocs()
	for b.Loop() {
		m.RequestStarted()
		m.ObserveRequest(http.MethodGet, "/projects/{id}/repository/commits", http.StatusOK, 3*time.Millisecond)
	}
}
