package telemetry

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics holds the counters of one process in a registry of its own.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewMetrics also counts what the Go runtime and the operating system know of the process.
func NewMetrics(version, revision string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stithy_http_request_duration_seconds",
			Help: "Time from the first byte of a request to the last byte of its answer.",
			// Few, because each is a series for every route.
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}, []string{"method", "route", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "stithy_http_requests_in_flight",
			Help: "Requests being answered.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "stithy_build_info",
		Help:        "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.inFlight, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Sample is what a gauge shows at one moment. Samples of one name have the same help and label.
type Sample struct {
	Name, Help   string
	Label, Value string // at most one; a label never holds what a client wrote
	Is           float64
}

// Sampled shows gauges that somebody reads when they are asked for. read is called at each scrape and must be quick.
func (m *Metrics) Sampled(read func() []Sample) { m.registry.MustRegister(sampled{read}) }

type sampled struct{ read func() []Sample }

// Describe says nothing: which samples there are is known when they are read.
func (sampled) Describe(chan<- *prometheus.Desc) {}

func (s sampled) Collect(out chan<- prometheus.Metric) {
	for _, sample := range s.read() {
		var labels prometheus.Labels
		if sample.Label != "" {
			labels = prometheus.Labels{sample.Label: sample.Value}
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(sample.Name, sample.Help, nil, labels), prometheus.GaugeValue, sample.Is)
	}
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	// A scrape reads every series; more than a few at once are somebody's mistake.
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// RequestStarted counts a request as in flight until ObserveRequest.
func (m *Metrics) RequestStarted() { m.inFlight.Inc() }

// RequestParked takes a request out of flight that will start again.
func (m *Metrics) RequestParked() { m.inFlight.Dec() }

// ObserveRequest counts a request that RequestStarted announced. The route is the pattern that matched, never
// the path: each route is a set of series for the life of the process.
func (m *Metrics) ObserveRequest(method, route string, status int, d time.Duration) {
	m.inFlight.Dec()
	m.requests.WithLabelValues(knownMethod(method), route, statusClass(status)).Observe(d.Seconds())
}

// knownMethod keeps clients from inventing series.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

func statusClass(status int) string {
	switch status / 100 {
	case 1:
		return "1xx"
	case 2:
		return "2xx"
	case 3:
		return "3xx"
	case 4:
		return "4xx"
	case 5:
		return "5xx"
	}
	return "other"
}
