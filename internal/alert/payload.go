package alert

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/fault"
)

// Bounds of what is sent.
const (
	maxPayload = 1 << 20
	maxDepth   = 100
	maxAlerts  = 100 // of one metrics payload; further ones are dropped
)

// Bounds of single fields, in characters. What is longer is cut.
const (
	maxTitle       = 200
	maxDescription = 1000
	maxShort       = 100
	maxHosts       = 255 // of all together
	maxEnvironment = 255
	maxRunbook     = 2048
	maxQuery       = 4096
)

// defaultTitle is that of an alert whose sender gave none.
const defaultTitle = "New: Alert"

// metricsTool is who sends the metrics format.
const metricsTool = "Prometheus"

// report is one alert as it was sent.
type report struct {
	title, description, service, tool string
	hosts                             []string
	severity                          Severity
	environment, runbook, query       string
	startedAt                         time.Time
	endedAt                           *time.Time
	resolves                          bool
	fingerprint                       []byte // a digest; nil groups with nothing
	payload                           string
}

var errPayload = errors.New("not a JSON object, too large, or nested too deeply")

// parsed is what a payload says. Of a metrics payload, alerts that have no title or start are left out.
type parsed struct {
	reports []report
	metrics bool
}

// parse reads a payload. The payload decides which format it has. fingerprinting generates fingerprints for generic alerts without
// one. Times that are missing are now.
func parse(body []byte, m Mapping, now time.Time, fingerprinting bool) (parsed, error) {
	fields, err := decode(body)
	if err != nil {
		return parsed{}, err
	}
	if isMetrics(fields) {
		return parsed{reports: metricsReports(fields, now), metrics: true}, nil
	}
	if text(fields["monitoring_tool"]) == metricsTool {
		if r, ok := metricsReport(fields, now); ok {
			return parsed{reports: []report{r}}, nil
		}
	}
	return parsed{reports: []report{genericReport(m.apply(fields), fields, now, fingerprinting)}}, nil
}

// decode reads a JSON object within the bounds.
func decode(body []byte) (map[string]any, error) {
	if len(body) > maxPayload || !utf8.Valid(body) || !json.Valid(body) || depth(body) > maxDepth {
		return nil, errPayload
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil || fields == nil {
		return nil, errPayload
	}
	return fields, nil
}

// depth is how deeply valid JSON is nested.
func depth(body []byte) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// metricsKeys are what a metrics payload has at its top.
var metricsKeys = []string{
	"alerts", "commonAnnotations", "commonLabels", "externalURL", "groupKey", "groupLabels", "receiver", "status", "version",
}

func isMetrics(fields map[string]any) bool {
	for _, key := range metricsKeys {
		if _, given := fields[key]; !given {
			return false
		}
	}
	return fields["version"] == "4"
}

func metricsReports(fields map[string]any, now time.Time) (all []report) {
	alerts, _ := fields["alerts"].([]any)
	for _, one := range alerts[:min(len(alerts), maxAlerts)] {
		object, _ := one.(map[string]any)
		if r, ok := metricsReport(object, now); ok {
			all = append(all, r)
		}
	}
	return all
}

// metricsReport reads one alert of the metrics format; false where it lacks what is required.
func metricsReport(fields map[string]any, now time.Time) (report, bool) {
	labels, _ := fields["labels"].(map[string]any)
	annotations, _ := fields["annotations"].(map[string]any)
	title := first(text(annotations["title"]), text(annotations["summary"]), text(labels["alertname"]))
	start := text(fields["startsAt"])
	startedAt, ok := moment(start)
	if title == "" || !ok {
		return report{}, false
	}
	query := queryOf(first(text(fields["generatorURL"]), text(fields["generatorUrl"])))
	r := report{
		title: cut(title, maxTitle), description: cut(text(annotations["description"]), maxDescription), service: cut(text(labels["service"]), maxShort),
		tool: metricsTool, hosts: []string{}, severity: metricsSeverity(text(labels["severity"])), environment: cut(text(labels["svc_environment_name"]), maxEnvironment),
		runbook: cut(text(annotations["runbook"]), maxRunbook), query: cut(query, maxQuery), startedAt: startedAt,
		fingerprint: digest(start + "/" + title + "/" + query), payload: keep(fields),
		resolves: text(fields["status"]) == "resolved",
	}
	if r.resolves {
		r.endedAt = new(ending(text(fields["endsAt"]), now))
	}
	return r, true
}

// queryOf is the query in the address of a graph.
func queryOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return clean(u.Query().Get("g0.expr"))
}

// genericReport reads an alert of the generic format. all is everything that was sent, fields the same with mapped fields in their places.
func genericReport(fields, all map[string]any, now time.Time, fingerprinting bool) report {
	r := report{
		title: cut(first(text(fields["title"]), defaultTitle), maxTitle), description: cut(text(fields["description"]), maxDescription),
		service: cut(text(fields["service"]), maxShort), tool: cut(text(fields["monitoring_tool"]), maxShort), hosts: hosts(fields["hosts"]),
		severity: genericSeverity(text(fields["severity"])), environment: cut(text(fields["svc_environment_name"]), maxEnvironment),
		runbook: cut(text(fields["runbook"]), maxRunbook), startedAt: now, payload: keep(all),
	}
	if at, ok := moment(text(fields["start_time"])); ok {
		r.startedAt = at
	}
	if at, ok := moment(text(fields["end_time"])); ok {
		r.resolves, r.endedAt = true, &at
	}
	switch given := flatten(fields["fingerprint"]); {
	case len(given) > 0:
		r.fingerprint = digest(strings.Join(given, ""))
	case fingerprinting:
		rest := maps.Clone(all)
		for _, varying := range []string{"start_time", "end_time", "hosts"} {
			delete(rest, varying)
		}
		r.fingerprint = digest(keep(rest))
	}
	return r
}

// keep is a value as JSON, its members in their order by name.
func keep(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "{}" // a decoded value is one that can be encoded
	}
	return strings.TrimSpace(b.String())
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}

// moment reads a time as senders write it.
func moment(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", time.RFC1123Z, time.RFC1123, time.DateOnly} {
		// What is within the years here may be outside of them in UTC, in which nothing else could be written.
		if at, err := time.Parse(layout, s); err == nil && at.UTC().Year() >= 1 && at.UTC().Year() <= 9999 {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// ending is when an alert that is over ended. Senders write the year 1 where they do not know.
func ending(s string, now time.Time) time.Time {
	if at, ok := moment(s); ok && at.Year() > 1 {
		return at
	}
	return now
}

// genericSeverity and metricsSeverity read how bad an alert is. Whatever they do not know is critical.
func genericSeverity(name string) Severity {
	s, ok := ParseSeverity(strings.ToLower(name))
	if !ok {
		return Critical
	}
	return s
}

var synonyms = map[string]Severity{
	"s1": Critical, "p1": Critical, "emergency": Critical, "fatal": Critical,
	"s2": High, "p2": High, "major": High, "page": High,
	"s3": Medium, "p3": Medium, "error": Medium, "alert": Medium,
	"s4": Low, "p4": Low, "warn": Low, "warning": Low, "minor": Low,
	"s5": Info, "p5": Info, "debug": Info, "information": Info, "notice": Info,
}

func metricsSeverity(name string) Severity {
	if s, ok := synonyms[strings.ToLower(name)]; ok {
		return s
	}
	return genericSeverity(name)
}

// text is a value as text: words, numbers and truth as they are written, nothing else.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return clean(v)
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return ""
}

// clean takes away what PostgreSQL does not store and what nobody sees around a text.
func clean(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
}

// cut is the first characters of a text.
func cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:most]))
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// flatten is all texts in a value, however they are nested in arrays.
func flatten(v any) (all []string) {
	if list, ok := v.([]any); ok {
		for _, one := range list {
			all = append(all, flatten(one)...)
		}
		return all
	}
	if t := text(v); t != "" {
		return []string{t}
	}
	return nil
}

func hosts(v any) []string {
	all, left := []string{}, maxHosts
	for _, host := range flatten(v) {
		if host = cut(host, left); host == "" {
			break
		}
		all, left = append(all, host), left-utf8.RuneCountInString(host)
		if left == 0 {
			break
		}
	}
	return all
}

// Mapping says where in a payload the fields of an alert stand, by the name of the field. Each is a path of member names.
type Mapping map[string][]string

// mappable are the fields that may stand elsewhere.
var mappable = []string{
	"title", "description", "start_time", "end_time", "service", "monitoring_tool", "hosts", "severity", "fingerprint", "svc_environment_name", "runbook",
}

func (m Mapping) check(f *fault.Fields) {
	for field, path := range m {
		if !slices.Contains(mappable, field) {
			f.Add("payload_attribute_mapping", "knows no field %q", cut(field, maxShort))
			return
		}
		if len(path) == 0 || len(path) > maxDepth || slices.ContainsFunc(path, func(s string) bool { return len(s) > maxName || strings.ContainsRune(s, 0) }) {
			f.Add("payload_attribute_mapping", "%s needs a path of member names", field)
			return
		}
	}
}

// apply is the fields of a payload with those that stand elsewhere in their places.
func (m Mapping) apply(fields map[string]any) map[string]any {
	if len(m) == 0 {
		return fields
	}
	out := maps.Clone(fields)
	for field, path := range m {
		if v, found := at(fields, path); found {
			out[field] = v
		}
	}
	return out
}

func at(v any, path []string) (any, bool) {
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// readPayload takes the whole body, within the bound.
func readPayload(body io.Reader) ([]byte, error) {
	all, err := io.ReadAll(io.LimitReader(body, maxPayload+1))
	if err == nil && len(all) > maxPayload {
		err = errPayload
	}
	return all, err
}
