package errortracking

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/platform/sorting"
	"stithy/internal/platform/unpack"
)

// errUnsupported is an event that does not have the form of one.
var errUnsupported = errors.New("the event is not supported")

// Bounds of what is kept of an event. What goes beyond is cut off, as programs cannot be told.
const (
	maxName       = 255
	maxMessage    = 8 << 10
	maxShown      = 1024 // of the message beside an error
	maxPlatform   = 64
	maxText       = 512
	maxDigits     = 64 // of a number
	maxExceptions = 10
	maxFrames     = 100 // of one exception; the innermost are kept
	maxLines      = 11  // of source around a frame
	maxTags       = 100
	maxCrumbs     = 100
	maxNested     = 6        // levels of what programs add freely
	maxFree       = 16 << 10 // bytes of it
	maxParts      = 20       // of a fingerprint
	maxPayload    = 256 << 10
	maxElements   = 50_000 // of an event as it is sent
	maxDepth      = 32
)

// Report is an event as a program reported it: what is known of its form, cut to size.
type Report struct {
	ID          [16]byte  `json:"-"`
	Happened    time.Time `json:"-"` // zero where the program does not say
	Fingerprint []string  `json:"fingerprint,omitempty"`

	Platform    string         `json:"platform"`
	Level       string         `json:"level"`
	Message     string         `json:"message,omitempty"`
	Logger      string         `json:"logger,omitempty"`
	Release     string         `json:"release,omitempty"`
	Environment string         `json:"environment,omitempty"`
	Transaction string         `json:"transaction,omitempty"`
	ServerName  string         `json:"server_name,omitempty"`
	SDK         string         `json:"sdk,omitempty"`
	Exceptions  []Exception    `json:"exceptions,omitempty"` // what was thrown last comes last; earlier ones are its causes
	Tags        []Pair         `json:"tags,omitempty"`
	User        *Person        `json:"user,omitempty"`
	Request     *Request       `json:"request,omitempty"`
	Crumbs      []Crumb        `json:"breadcrumbs,omitempty"`
	Contexts    map[string]any `json:"contexts,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// Exception is something that was thrown.
type Exception struct {
	Type   string  `json:"type"`
	Value  string  `json:"value,omitempty"`
	Module string  `json:"module,omitempty"`
	Frames []Frame `json:"frames,omitempty"` // the innermost comes last
}

// Frame is one call on a stack. Variables are not kept.
type Frame struct {
	Function string   `json:"function,omitempty"`
	Module   string   `json:"module,omitempty"`
	File     string   `json:"filename,omitempty"`
	Line     int      `json:"lineno,omitempty"`
	Column   int      `json:"colno,omitempty"`
	InApp    bool     `json:"in_app"`
	Source   []string `json:"source,omitempty"` // lines around Line
	First    int      `json:"first_line,omitempty"`
}

// Pair is a name and a value.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Person is who met the error.
type Person struct {
	ID        string `json:"id,omitempty"`
	Username  string `json:"username,omitempty"`
	Email     string `json:"email,omitempty"`
	IPAddress string `json:"ip_address,omitempty"`
}

// Request is what the program was asked when it failed.
type Request struct {
	Method  string `json:"method,omitempty"`
	URL     string `json:"url,omitempty"`
	Query   string `json:"query,omitempty"`
	Headers []Pair `json:"headers,omitempty"`
}

// Crumb is something that happened before.
type Crumb struct {
	At       string `json:"at,omitempty"`
	Type     string `json:"type,omitempty"`
	Category string `json:"category,omitempty"`
	Level    string `json:"level,omitempty"`
	Message  string `json:"message,omitempty"`
}

// object is a part of an event. Members of another type than the expected are taken for absent: SDKs differ, and most of an event is better than none.
type object map[string]any

// parse reads an event. envelopeID is the id that its envelope has for it.
func parse(text []byte, envelopeID string) (*Report, error) {
	if err := modest(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var o object
	if dec.Decode(&o) != nil || o == nil || dec.More() {
		return nil, errUnsupported
	}
	r := &Report{
		Platform: o.text("platform", maxPlatform), Level: levelOf(o.text("level", maxPlatform)), Logger: o.text("logger", maxName),
		Release: o.text("release", maxName), Environment: o.text("environment", maxName), ServerName: o.text("server_name", maxName),
		Transaction: o.text("transaction", maxName), Happened: timeOf(o["timestamp"]), Message: messageOf(o), Exceptions: exceptionsOf(o), Tags: pairsOf(o["tags"]),
		User: personOf(o.object("user")), Request: requestOf(o.object("request")), Crumbs: crumbsOf(o), Contexts: freeOf(o["contexts"]), Extra: freeOf(o["extra"]),
	}
	if r.Platform == "" {
		r.Platform = "other"
	}
	if r.Transaction == "" {
		r.Transaction = o.text("culprit", maxName)
	}
	if sdk := o.object("sdk"); sdk != nil {
		r.SDK = strings.TrimSpace(sdk.text("name", maxPlatform) + " " + sdk.text("version", maxPlatform))
	}
	for _, part := range listOf(o["fingerprint"], maxParts) {
		if text, ok := textOf(part, maxText); ok {
			r.Fingerprint = append(r.Fingerprint, text)
		}
	}
	return r, r.name(o.text("event_id", maxName), envelopeID, text)
}

// modest refuses a text of too many elements, or nested too deeply, before anything is built of it.
func modest(text []byte) error {
	budget := unpack.Budget{Entries: maxElements, Depth: maxDepth}
	inString := false
	for i := 0; i < len(text); i++ {
		var err error
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			err = errors.Join(budget.Enter(), budget.Entry())
		case c == '}' || c == ']':
			budget.Leave()
		case c == ',':
			err = budget.Entry()
		}
		if err != nil {
			return errTooLarge
		}
	}
	return nil
}

// name takes the id of an event, or makes one of what was sent: what is sent twice has the same.
func (r *Report) name(own, envelopeID string, text []byte) error {
	given := own
	if given == "" {
		given = envelopeID
	}
	if given == "" {
		sum := sha256.Sum256(text)
		r.ID = [16]byte(sum[:16])
		return nil
	}
	id, err := hex.DecodeString(strings.ReplaceAll(given, "-", ""))
	if err != nil || len(id) != len(r.ID) {
		return errUnsupported
	}
	r.ID = [16]byte(id)
	return nil
}

func levelOf(given string) string {
	switch given = strings.ToLower(given); given {
	case "fatal", "error", "warning", "info", "debug":
		return given
	case "critical":
		return "fatal"
	case "warn":
		return "warning"
	case "log":
		return "info"
	}
	return "error"
}

// timeOf reads seconds since 1970, or a date.
func timeOf(v any) time.Time {
	switch v := v.(type) {
	case json.Number:
		seconds, err := v.Float64()
		if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > 1e11 {
			return time.Time{}
		}
		return time.UnixMicro(int64(seconds * 1e6)).UTC()
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
			if t, err := time.Parse(layout, v); err == nil {
				return t.UTC()
			}
		}
		return timeOf(json.Number(v))
	}
	return time.Time{}
}

// messageOf is the text of an event: SDKs write it in two places and three forms.
func messageOf(o object) string {
	for _, name := range []string{"logentry", "message", "sentry.interfaces.Message"} {
		if entry := o.object(name); entry != nil {
			if text := entry.text("formatted", maxMessage); text != "" {
				return text
			}
			if text := entry.text("message", maxMessage); text != "" {
				return text
			}
		}
		if text := o.text(name, maxMessage); text != "" {
			return text
		}
	}
	return ""
}

func exceptionsOf(o object) (all []Exception) {
	values := valuesOf(o["exception"])
	if len(values) == 0 {
		if stack := framesOf(o.object("stacktrace")); stack != nil { // of a message
			return []Exception{{Frames: stack}}
		}
		return crashed(o)
	}
	for _, v := range values[max(0, len(values)-maxExceptions):] {
		e, ok := v.(map[string]any)
		if !ok {
			continue
		}
		one := object(e)
		frames := framesOf(one.object("stacktrace"))
		if frames == nil {
			frames = framesOf(one.object("raw_stacktrace"))
		}
		all = append(all, Exception{
			Type: one.text("type", maxName), Value: one.text("value", maxMessage), Module: one.text("module", maxName), Frames: frames,
		})
	}
	return all
}

// crashed is the stack of the thread that crashed, where there is no exception.
func crashed(o object) []Exception {
	for _, v := range valuesOf(o["threads"]) {
		thread, _ := v.(map[string]any)
		if thread["crashed"] != true && thread["current"] != true {
			continue
		}
		if stack := framesOf(object(thread).object("stacktrace")); stack != nil {
			return []Exception{{Frames: stack}}
		}
	}
	return nil
}

func framesOf(stack object) (all []Frame) {
	frames := listOf(stack["frames"], math.MaxInt)
	for _, v := range frames[max(0, len(frames)-maxFrames):] {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		f := object(m)
		frame := Frame{
			Function: f.text("function", maxText), Module: f.text("module", maxText), File: f.text("filename", maxText), Line: f.number("lineno"),
			Column: f.number("colno"), InApp: f["in_app"] == true,
		}
		if frame.File == "" {
			frame.File = f.text("abs_path", maxText)
		}
		frame.source(f)
		all = append(all, frame)
	}
	return all
}

// source takes a few lines around the one that failed.
func (f *Frame) source(from object) {
	line, ok := textOf(from["context_line"], maxName)
	if !ok {
		return
	}
	before, after := linesOf(from["pre_context"]), linesOf(from["post_context"])
	const each = maxLines / 2
	before, after = before[max(0, len(before)-each):], after[:min(len(after), each)]
	f.First = max(1, f.Line-len(before))
	f.Source = slices.Concat(before, []string{line}, after)
}

func linesOf(v any) (lines []string) {
	for _, line := range listOf(v, maxFrames) {
		text, _ := textOf(line, maxName)
		lines = append(lines, text)
	}
	return lines
}

func personOf(u object) *Person {
	p := Person{ID: u.text("id", maxName), Username: u.text("username", maxName), Email: u.text("email", maxName), IPAddress: u.text("ip_address", maxPlatform)}
	if p == (Person{}) {
		return nil
	}
	return &p
}

func requestOf(r object) *Request {
	if r == nil {
		return nil
	}
	q := Request{Method: r.text("method", maxPlatform), URL: r.text("url", maxShown), Query: r.text("query_string", maxShown), Headers: pairsOf(r["headers"])}
	return &q
}

func crumbsOf(o object) (all []Crumb) {
	values := valuesOf(o["breadcrumbs"])
	for _, v := range values[max(0, len(values)-maxCrumbs):] {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		c := object(m)
		crumb := Crumb{Type: c.text("type", maxPlatform), Category: c.text("category", maxName), Level: c.text("level", maxPlatform), Message: c.text("message", maxText)}
		if at := timeOf(c["timestamp"]); !at.IsZero() {
			crumb.At = at.Format(time.RFC3339Nano)
		}
		all = append(all, crumb)
	}
	return all
}

// pairsOf reads names and values, as an object or as a list of two each, in the order of their names.
func pairsOf(v any) (pairs []Pair) {
	add := func(name, value any) {
		key, ok := textOf(name, maxText)
		text, told := textOf(value, maxText)
		if ok && told && key != "" {
			pairs = append(pairs, Pair{key, text})
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			add(name, value)
		}
	case []any:
		for _, one := range v {
			switch two := one.(type) {
			case []any:
				if len(two) == 2 {
					add(two[0], two[1])
				}
			case map[string]any:
				add(two["key"], two["value"])
			}
		}
	}
	sorting.Stably(pairs, func(a, b Pair) int { return strings.Compare(a.Name, b.Name) })
	return pairs[:min(len(pairs), maxTags)]
}

// freeOf is what programs add in a form of their own, if it is not too much.
func freeOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	if len(m) == 0 {
		return nil
	}
	trimmed, _ := trim(m, maxNested).(map[string]any)
	if text, err := json.Marshal(trimmed); err != nil || len(text) > maxFree {
		return map[string]any{"…": "left out: too large"}
	}
	return trimmed
}

// trim makes texts short, and cuts off what is nested too deeply.
func trim(v any, levels int) any {
	if levels == 0 {
		return "…"
	}
	switch v := v.(type) {
	case string:
		return clean(v, maxText)
	case json.Number:
		if f, err := v.Float64(); err != nil || math.IsInf(f, 0) || len(v) > maxDigits {
			return clean(v.String(), maxText) // no reader could take it for a number
		}
	case []any:
		out := make([]any, 0, min(len(v), maxTags))
		for _, one := range v[:min(len(v), maxTags)] {
			out = append(out, trim(one, levels-1))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, one := range v {
			out[clean(name, maxText)] = trim(one, levels-1)
		}
		return out
	}
	return v
}

func (o object) object(name string) object {
	m, _ := o[name].(map[string]any)
	return m
}

func (o object) text(name string, most int) string {
	text, _ := textOf(o[name], most)
	return text
}

func (o object) number(name string) int {
	n, ok := o[name].(json.Number)
	if !ok {
		return 0
	}
	i, err := strconv.ParseInt(n.String(), 10, 32)
	if err != nil || i < 0 {
		return 0
	}
	return int(i)
}

// textOf is a text, or a number or truth value as text.
func textOf(v any, most int) (string, bool) {
	switch v := v.(type) {
	case string:
		return clean(v, most), true
	case json.Number:
		return clean(v.String(), most), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// clean is a text that the database takes, no longer than most bytes.
func clean(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= most {
		return s
	}
	for most -= len("…"); !utf8.RuneStart(s[most]); most-- {
	}
	return s[:most] + "…"
}

func listOf(v any, most int) []any {
	l, _ := v.([]any)
	return l[:min(len(l), most)]
}

// valuesOf reads a list that may stand in a member of its own, or be one object alone.
func valuesOf(v any) []any {
	if m, ok := v.(map[string]any); ok {
		if inner, ok := m["values"]; ok {
			return listOf(inner, math.MaxInt)
		}
		return []any{m}
	}
	return listOf(v, math.MaxInt)
}

// main is what was thrown last; nil for a message.
func (r *Report) main() *Exception {
	if len(r.Exceptions) == 0 {
		return nil
	}
	return &r.Exceptions[len(r.Exceptions)-1]
}

// Title is the name of the error: the type that was thrown, or what was said.
func (r *Report) Title() string {
	if e := r.main(); e != nil && e.Type != "" {
		return clean(e.Type, maxName)
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(r.Description()), "\n"); line != "" {
		return clean(line, maxName)
	}
	return "(no message)"
}

// Description is what the error says.
func (r *Report) Description() string {
	if e := r.main(); e != nil && e.Value != "" {
		return clean(e.Value, maxShown)
	}
	return clean(r.Message, maxShown)
}

// Culprit is where it happened, in few words: what the program was doing, or the innermost call of its own.
func (r *Report) Culprit() string {
	if r.Transaction != "" {
		return clean(r.Transaction, maxName) // what takes the place of a secret may be longer
	}
	e := r.main()
	if e == nil || len(e.Frames) == 0 {
		return ""
	}
	at := e.Frames[len(e.Frames)-1]
	for _, f := range slices.Backward(e.Frames) {
		if f.InApp {
			at = f
			break
		}
	}
	where := at.Module
	if where == "" {
		where = path.Base(strings.ReplaceAll(at.File, `\`, "/"))
	}
	if at.Function == "" {
		return clean(where, maxName)
	}
	return clean(at.Function+" in "+where, maxName)
}

// payload is the report as it is kept: when it is too large, without what matters least.
func (r Report) payload() ([]byte, error) {
	for _, lessen := range []func(){
		func() {}, func() { r.Extra = nil }, func() { r.Contexts = nil }, func() { r.Crumbs = nil }, r.withoutSource,
		func() { r.Exceptions = r.Exceptions[max(0, len(r.Exceptions)-1):] },
	} {
		lessen()
		if text, err := json.Marshal(r); err != nil || len(text) <= maxPayload {
			return text, err
		}
	}
	return []byte("{}"), nil
}

func (r *Report) withoutSource() {
	for i := range r.Exceptions {
		for j := range r.Exceptions[i].Frames {
			r.Exceptions[i].Frames[j].Source = nil
		}
	}
}
