package changelog

import (
	"context"
	"strings"
	"testing"
	"time"
)

// render parses and runs a template.
func render(t testing.TB, source string, data any) (string, error) {
	t.Helper()
	parsed, err := parseTemplate(source)
	if err != nil {
		return "", err
	}
	return parsed.render(t.Context(), data)
}

func TestTemplatesPrintChooseAndRepeat(t *testing.T) {
	t.Parallel()
	data := map[string]any{
		"name": "Ada", "count": 2, "yes": true, "no": false, "empty": "", "list": []any{"a", "b"}, "none": []any{},
		"deep": map[string]any{"er": []any{map[string]any{"x": "found"}}}, "trailers": pairs{"Changelog": "added", "By": "bob"},
	}
	for source, want := range map[string]string{
		"plain {x} { %": "plain {x} { %",
		"{{ name }}|{{name}}|{{ count }}|{{yes}}": "Ada|Ada|2|true",
		"{{\n name \n}}":                               "Ada",
		"{{ missing }}{{ name.x }}{{ list.7 }}|":       "|",
		"{{ deep.er.0.x }}":                            "found",
		"{{ trailers.Changelog }}":                     "added",
		"{{ list }}{{ deep }}":                         "",
		"{% if yes %}a{% else %}b{% end %}":            "a",
		"{% if no %}a{% else %}b{% end %}":             "b",
		"{% if empty %}a{% end %}|":                    "|",
		"{% if none %}a{% end %}|":                     "|",
		"{% if missing %}a{% end %}|":                  "|",
		"{% if count %}a{% end %}":                     "a",
		"{% each list %}<{{ it }}>{% end %}":           "<a><b>",
		"{% each name %}x{% end %}|":                   "|",
		"{% each trailers %}{{ 0 }}={{ 1 }};{% end %}": "By=bob;Changelog=added;",
		"{% if yes %}\na\n{% end %}\nb":                "a\nb",
		"a \\\nb":                                      "a b",
		`\{{ name }}`:                                  "{{ name }}",
		`back\slash`:                                   "backslash",
		"a\\":                                          "a\\",
		"{% if yes %}\r\na{% end %}":                   "a",
	} {
		got, err := render(t, source, data)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", source, got, err, want)
		}
	}
}

func TestATemplateThatCannotBeReadSaysSo(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"{{ a", "{{ }}", "{{ a b }}", "{{ a..b }}", "{{ ä }}", "{{ a-b }}", "{{ 12345678901 }}", "{% if a %}", "{% end %}", "{% else %}",
		"{% each a %}{% else %}{% end %}", "{% if a %}{% else %}{% else %}{% end %}", "{% while a %}{% end %}", "{% if %}{% end %}", "{% if a",
		strings.Repeat("{% if a %}", 200) + strings.Repeat("{% end %}", 200), strings.Repeat("x", maxTemplate+1),
	} {
		_, err := parseTemplate(source)
		if err == nil || !strings.HasPrefix(err.Error(), "Failed to parse the template: ") {
			t.Errorf("%.60q: got %v", source, err)
		}
	}
	loops := strings.Repeat("{% each it %}", 5) + strings.Repeat("{% end %}", 5)
	list := []any{[]any{[]any{[]any{[]any{}}}}}
	if _, err := render(t, loops, list); err == nil || err.Error() != "You can only nest up to 4 loops" {
		t.Errorf("got %v", err)
	}
	if _, err := render(t, strings.Repeat("{% each it %}", 4)+strings.Repeat("{% end %}", 4), list); err != nil {
		t.Errorf("four loops: %v", err)
	}
}

// RE-08: whatever a template says, it is over within a second.
func TestRE08_TemplateBombsEndWithinASecond(t *testing.T) {
	t.Parallel()
	many := make([]any, 15_000)
	for i := range many {
		many[i] = map[string]any{"it": "x", "deep": []any{"1", "2", "3"}}
	}
	data := map[string]any{"a": many}
	for name, source := range map[string]string{
		"much output":  "{% each a %}" + strings.Repeat("x", 30_000) + "{% end %}",
		"many loops":   strings.Repeat("{% each a %}{% each deep %}{{ it }}{% end %}{% end %}", 500),
		"empty loops":  strings.Repeat("{% each a %}{% end %}", 1_000),
		"many choices": strings.Repeat("{% each a %}"+strings.Repeat("{% if it %}", 90)+strings.Repeat("{% end %}", 90)+"{% end %}", 10),
	} {
		start := time.Now()
		out, err := render(t, source, data)
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if err == nil || out != "" {
			t.Errorf("%s: got %d bytes", name, len(out))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	parsed, _ := parseTemplate(strings.Repeat("{{ a }}", 4_000))
	if _, err := parsed.render(ctx, data); err == nil {
		t.Error("a template goes on when nobody waits")
	}
	start := time.Now()
	for range 100 { // parsing is linear
		_, _ = parseTemplate(strings.Repeat("{", maxTemplate))
		_, _ = parseTemplate(strings.Repeat("{% if a %}", 3_000))
		_, _ = parseTemplate(strings.Repeat("{{ a.a.a }}", 2_500))
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("parsing took %v", took)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{defaultTemplate, "{{ a.b.0 }}", "{% each a %}\\\n{% end %}", "{{", "{%", "\\", "{% if a %}{% else %}{% end %}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		parsed, err := parseTemplate(source)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "Failed to parse the template: ") {
				t.Fatal(err)
			}
			return
		}
		out, err := parsed.render(t.Context(), map[string]any{"a": []any{"x", map[string]any{"b": []any{1}}}, "categories": []any{}})
		if err == nil && len(out) > maxOutput+maxTemplate {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
