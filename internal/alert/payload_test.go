package alert

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)

func read(t *testing.T, body string) report {
	t.Helper()
	p, err := parse([]byte(body), nil, now, true)
	if err != nil || len(p.reports) != 1 {
		t.Fatalf("%d reports, %v", len(p.reports), err)
	}
	return p.reports[0]
}

func TestAnEmptyObjectIsAnAlertWithDefaults(t *testing.T) {
	t.Parallel()
	r := read(t, `{}`)
	if r.title != "New: Alert" || r.severity != Critical || !r.startedAt.Equal(now) || r.resolves || r.endedAt != nil || len(r.hosts) != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestFieldsOfTheGenericFormatAreTaken(t *testing.T) {
	t.Parallel()
	r := read(t, `{"title":" Disk\u0000 full ","description":"d","start_time":"2024-01-02T03:04:05+02:00","service":"db","monitoring_tool":"probe",
		"hosts":["a",["b",3]],"severity":"HiGh","svc_environment_name":"production","runbook":"https://r.example","more":{"x":[1]}}`)
	got := []any{r.title, r.description, r.startedAt.Format(time.RFC3339), r.service, r.tool, strings.Join(r.hosts, " "), r.severity, r.environment, r.runbook}
	want := []any{"Disk full", "d", "2024-01-02T01:04:05Z", "db", "probe", "a b 3", High, "production", "https://r.example"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(r.payload, `"more":{"x":[1]}`) {
		t.Errorf("payload: %s", r.payload)
	}
}

func TestWrongTypesInEveryFieldAreNoFault(t *testing.T) {
	t.Parallel()
	for _, field := range append([]string{"status", "labels", "annotations", "alerts"}, mappable...) {
		for _, value := range []string{"null", "true", "17", "1e999", `""`, `" "`, "[]", "{}", `[{"a":[null]}]`, `"\u0000"`, `{"path":"x"}`} {
			p, err := parse([]byte(fmt.Sprintf(`{"%s":%s}`, field, value)), nil, now, true)
			if err != nil || len(p.reports) != 1 || p.reports[0].title == "" {
				t.Errorf("%s = %s: %+v, %v", field, value, p, err)
			}
			alert := fmt.Sprintf(`{"labels":{"alertname":"x"},"startsAt":"2024-01-01T00:00:00Z","%s":%s}`, field, value)
			if _, err := parse([]byte(metrics(alert)), nil, now, true); err != nil {
				t.Errorf("%s = %s in an alert: %v", field, value, err)
			}
		}
	}
}

func TestWhatIsTooLongIsCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 5000)
	r := read(t, fmt.Sprintf(`{"title":%[1]q,"description":%[1]q,"service":%[1]q,"monitoring_tool":%[1]q,"hosts":["h",%[1]q,"z"],"svc_environment_name":%[1]q,"runbook":%[1]q}`, long))
	for name, have := range map[string]struct {
		text string
		most int
	}{
		"title": {r.title, 200}, "description": {r.description, 1000}, "service": {r.service, 100}, "tool": {r.tool, 100},
		"hosts": {strings.Join(r.hosts, ""), 255}, "environment": {r.environment, 255}, "runbook": {r.runbook, 2048},
	} {
		if n := len([]rune(have.text)); n != have.most {
			t.Errorf("%s has %d characters, not %d", name, n, have.most)
		}
	}
}

func TestIN02_WhatIsNoObjectWithinTheBoundsIsRefused(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing": "", "a list": "[]", "a word": `"x"`, "null": "null", "half": `{"title":`, "two": "{}{}", "not UTF-8": "{\"a\":\"\xff\"}",
		"too deep":   strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101),
		"depth 1000": strings.Repeat(`{"a":[`, 500) + strings.Repeat("]}", 500),
		"too large":  `{"a":"` + strings.Repeat("x", maxPayload) + `"}`,
	} {
		if _, err := parse([]byte(body), nil, now, true); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := parse([]byte(strings.Repeat(`{"a":`, 100)+`"[[{{"`+strings.Repeat("}", 100)), nil, now, true); err != nil {
		t.Errorf("depth 100 is refused: %v", err)
	}
}

func TestEndTimeResolvesWhereItCanBeRead(t *testing.T) {
	t.Parallel()
	if r := read(t, `{"end_time":"2024-01-02T03:04:05Z"}`); !r.resolves || r.endedAt.Year() != 2024 {
		t.Errorf("got %+v", r)
	}
	for _, end := range []string{`"soon"`, `""`, "null", "{}"} {
		if r := read(t, `{"end_time":`+end+`}`); r.resolves {
			t.Errorf("%s resolves", end)
		}
	}
}

func TestFingerprintsOfTheGenericFormat(t *testing.T) {
	t.Parallel()
	mark := func(body string) string { return string(read(t, body).fingerprint) }
	given := mark(`{"title":"a","fingerprint":"f"}`)
	for body, same := range map[string]bool{
		`{"title":"b","fingerprint":"f","hosts":"x"}`:  true,
		`{"title":"a","fingerprint":["f"]}`:            true,
		`{"title":"a","fingerprint":"g"}`:              false,
		`{"title":"a"}`:                                false,
		`{"fingerprint":["f","g"],"title":"a"}`:        false,
		`{"title":"a","fingerprint":[["f"],[]],"x":1}`: true,
	} {
		if (mark(body) == given) != same {
			t.Errorf("%s: the same is not %t", body, same)
		}
	}
	made := mark(`{"title":"a","x":{"b":1,"a":[2]}}`)
	for body, same := range map[string]bool{
		`{"x":{"a":[2],"b":1},"title":"a"}`:                                                   true,
		`{"title":"a","x":{"b":1,"a":[2]},"start_time":"2024-01-01T00:00:00Z","hosts":["h"]}`: true,
		`{"title":"a","x":{"b":1,"a":[2]},"end_time":"2024-01-01T00:00:00Z"}`:                 true,
		`{"title":"a","x":{"b":2,"a":[2]}}`:                                                   false,
		`{"title":"a","x":{"b":1,"a":[2]},"severity":"low"}`:                                  false,
	} {
		if (mark(body) == made) != same {
			t.Errorf("%s: the same is not %t", body, same)
		}
	}
	if p, err := parse([]byte(`{"title":"a"}`), nil, now, false); err != nil || p.reports[0].fingerprint != nil {
		t.Errorf("without the feature: %+v, %v", p, err)
	}
}

func TestAMappingFindsFieldsThatStandElsewhere(t *testing.T) {
	t.Parallel()
	m := Mapping{"title": {"event", "name"}, "severity": {"event", "level"}, "hosts": {"nodes"}, "service": {"missing", "path"}}
	p, err := parse([]byte(`{"title":"outer","service":"kept","event":{"name":"inner","level":"low"},"nodes":["n1"]}`), m, now, true)
	if err != nil {
		t.Fatal(err)
	}
	r := p.reports[0]
	if r.title != "inner" || r.severity != Low || r.service != "kept" || strings.Join(r.hosts, "") != "n1" || !strings.Contains(r.payload, `"title":"outer"`) {
		t.Errorf("got %+v", r)
	}
}

// metrics is a payload of the metrics format with some alerts.
func metrics(alerts ...string) string {
	return `{"receiver":"r","status":"firing","groupLabels":{},"commonLabels":{},"commonAnnotations":{},"externalURL":"","groupKey":"","version":"4","alerts":[` +
		strings.Join(alerts, ",") + `]}`
}

func TestTheMetricsFormatIsRecognisedByItsKeysAndVersion(t *testing.T) {
	t.Parallel()
	whole := map[string]any{}
	if err := json.Unmarshal([]byte(metrics()), &whole); err != nil {
		t.Fatal(err)
	}
	if !isMetrics(whole) {
		t.Fatal("the whole is not recognised")
	}
	for _, key := range metricsKeys {
		without := map[string]any{}
		for k, v := range whole {
			if k != key {
				without[k] = v
			}
		}
		if isMetrics(without) {
			t.Errorf("recognised without %s", key)
		}
	}
	for _, version := range []any{"5", 4, json.Number("4"), nil} {
		whole["version"] = version
		if isMetrics(whole) {
			t.Errorf("recognised with version %v", version)
		}
	}
}

func TestFieldsOfTheMetricsFormatAreTaken(t *testing.T) {
	t.Parallel()
	p, err := parse([]byte(metrics(`{"status":"firing","labels":{"alertname":"n","severity":"WARN","service":"db","svc_environment_name":"prod"},
		"annotations":{"summary":"s","title":"t","description":"d","runbook":"r"},"startsAt":"2024-01-02T03:04:05.123456789Z","endsAt":"0001-01-01T00:00:00Z",
		"generatorURL":"http://p.example/graph?g0.expr=up+%3D%3D+0&g0.tab=1"}`)), nil, now, true)
	if err != nil || !p.metrics || len(p.reports) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	r := p.reports[0]
	got := []any{r.title, r.description, r.service, r.tool, r.severity, r.environment, r.runbook, r.query, r.resolves, r.endedAt == nil}
	if diff := cmp.Diff([]any{"t", "d", "db", "Prometheus", Low, "prod", "r", "up == 0", false, true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAlertOfTheMetricsFormatWithoutTitleOrStartIsLeftOut(t *testing.T) {
	t.Parallel()
	p, err := parse([]byte(metrics(`{"labels":{"alertname":"x"}}`, `{"startsAt":"2024-01-02T03:04:05Z"}`, `7`, `null`,
		`{"labels":{"alertname":"x"},"startsAt":"never"}`, `{"labels":{"alertname":"kept"},"startsAt":"2024-01-02T03:04:05Z"}`)), nil, now, true)
	if err != nil || len(p.reports) != 1 || p.reports[0].title != "kept" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestOfOneMetricsPayloadAHundredAlertsAreTaken(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 10_000 {
		all = append(all, fmt.Sprintf(`{"labels":{"alertname":"n%d"},"startsAt":"2024-01-02T03:04:05Z"}`, i))
	}
	p, err := parse([]byte(metrics(all...)), nil, now, true)
	if err != nil || len(p.reports) != 100 {
		t.Errorf("%d alerts, %v", len(p.reports), err)
	}
}

func TestTheStatusAndNotTheEndResolvesInTheMetricsFormat(t *testing.T) {
	t.Parallel()
	for body, end := range map[string]time.Time{
		`"status":"resolved","endsAt":"2024-03-04T05:06:07Z"`: time.Date(2024, 3, 4, 5, 6, 7, 0, time.UTC),
		`"status":"resolved"`: now,
		`"status":"resolved","endsAt":"0001-01-01T00:00:00Z"`: now,
		`"status":"firing","endsAt":"2024-03-04T05:06:07Z"`:   {},
	} {
		p, err := parse([]byte(metrics(`{"labels":{"alertname":"n"},"startsAt":"2024-01-02T03:04:05Z",`+body+`}`)), nil, now, true)
		if err != nil || len(p.reports) != 1 {
			t.Fatalf("%s: %v", body, err)
		}
		if r := p.reports[0]; r.resolves == end.IsZero() || (r.resolves && !r.endedAt.Equal(end)) {
			t.Errorf("%s: %+v", body, r)
		}
	}
}

func TestSeveritiesAndTheirSynonyms(t *testing.T) {
	t.Parallel()
	for want, words := range map[Severity]string{
		Critical: "critical s1 p1 emergency fatal odd", High: "high s2 p2 major page", Medium: "medium s3 p3 error alert", Low: "low s4 p4 warn warning minor",
		Info: "info s5 p5 debug information notice", Unknown: "unknown",
	} {
		for word := range strings.FieldsSeq(words + " " + strings.ToUpper(words)) {
			if got := metricsSeverity(word); got != want {
				t.Errorf("%s is %s", word, got)
			}
		}
	}
	if genericSeverity("warning") != Critical {
		t.Error("the generic format knows synonyms")
	}
}

func FuzzPayloadsAreReadOrRefused(f *testing.F) {
	for _, body := range []string{
		`{}`, `[]`, `{"title":"t","hosts":["a",{"b":1}],"fingerprint":[1,[2]],"end_time":"2024-01-01"}`, `{"monitoring_tool":"Prometheus","startsAt":"x"}`,
		metrics(`{"labels":{"alertname":"n","severity":"p1"},"startsAt":"2024-01-02T03:04:05Z","generatorURL":"%zz"}`), "{\"a\":\"\\u0000\\ud800\"}",
	} {
		f.Add([]byte(body))
	}
	m := Mapping{"title": {"a", "b"}, "fingerprint": {"x"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := parse(body, m, now, true)
		if err != nil {
			return
		}
		for _, r := range p.reports {
			whole := r.title + r.description + r.service + r.tool + r.environment + r.runbook + r.query + r.payload + strings.Join(r.hosts, "")
			if r.title == "" || strings.ContainsRune(whole, 0) || len(r.payload) > 2*maxPayload || !json.Valid([]byte(r.payload)) || len(r.fingerprint) != 32 || r.resolves != (r.endedAt != nil) {
				t.Errorf("got %+v", r)
			}
		}
	})
}
