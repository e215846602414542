package main

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// texts are values that programs stumble over.
var texts = []string{
	"", " ", "\x00", "a\x00b", "\xff\xfe", "\xc3\x28", "\xed\xa0\x80", "\u202e\u200b", "ß\u0130ı", "😀", strings.Repeat("e\u0301", 500), "'", `"`, `\`, "%", "%00", "%zz", "%2e%2e%2f", "..",
	"../../../../etc/passwd", "..\\..\\", "/", "//", "\n", "\r\nX-A: b", "null", "undefined", "NaN", "Infinity", "true", "[]", "{}", "[[]]", "0", "-0", "-1", "1e400", "1.5", "0x10", "01",
	"2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "1'; drop table users; --", "$1", "$$", "{{7*7}}",
	"<script>alert(1)</script>", "*", "**", "?", "(", "(a+)+$", "a{1000}", "[a", "\\", "refs/heads/main", "HEAD", "@{-1}", "main..dev", "--upload-pack=x", "-x", ".git", ".lock", "a.lock", "@",
	strings.Repeat("a", 256), strings.Repeat("a", 5000), strings.Repeat("ü", 70000), strings.Repeat("../", 2000), strings.Repeat("[", 10000),
	"2026-02-30", "0000-00-00", "9999-12-31", "10000-01-01T00:00:00Z", "-0001-01-01", "2026-11-16T00:00:00+99:99", "1 week", "1000000000 years", "* * * * *", "60 25 32 13 8", "UTC", "../UTC",
	"http://127.0.0.1:1/", "file:///etc/passwd", "javascript:alert(1)", "a@b", "a@b\x00.c", "@", "xn--a", "::1", "ssh-rsa AAAA", "-----BEGIN PGP PUBLIC KEY BLOCK-----", "sha256:", strings.Repeat("0", 40),
	strings.Repeat("f", 64),
}

func text(r *rand.Rand) string { return texts[r.IntN(len(texts))] }

// value makes something for a member of a body: often what its schema says, otherwise anything.
func value(r *rand.Rand, w *fixture, s *schema, depth int) any {
	if r.IntN(3) == 0 {
		return odd(r, depth)
	}
	if s == nil {
		return text(r)
	}
	if len(s.Enum) > 0 && r.IntN(4) > 0 {
		return s.Enum[r.IntN(len(s.Enum))]
	}
	switch s.kind() {
	case "integer", "number":
		if n, err := strconv.ParseInt(w.any(r), 10, 64); err == nil {
			return n
		}
		return int64(r.IntN(100)) - 10
	case "boolean":
		return r.IntN(2) == 0
	case "array":
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = value(r, w, s.Items, depth+1)
		}
		return list
	case "object":
		return object(r, w, s.Properties, depth+1)
	}
	switch r.IntN(3) {
	case 0:
		return w.any(r)
	case 1:
		return "storm" + strconv.FormatUint(r.Uint64(), 36)
	}
	return text(r)
}

func object(r *rand.Rand, w *fixture, properties map[string]*schema, depth int) map[string]any {
	o := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if r.IntN(2) == 0 && depth < 5 {
			o[name] = value(r, w, properties[name], depth)
		}
	}
	return o
}

// odd makes a value of no particular kind.
func odd(r *rand.Rand, depth int) any {
	switch r.IntN(12) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return -r.Int64()
	case 3:
		return 1e308
	case 4:
		return []any{}
	case 5:
		return map[string]any{}
	case 6:
		if depth < 4 {
			return []any{odd(r, depth+1), text(r), []any{odd(r, depth+1)}}
		}
	case 7:
		if depth < 4 {
			return map[string]any{text(r): odd(r, depth+1), "id": odd(r, depth+1)}
		}
	case 8:
		many := make([]any, 3000)
		for i := range many {
			many[i] = strconv.Itoa(i)
		}
		return many
	case 9:
		deep := any("x")
		for range 200 {
			deep = []any{deep}
		}
		return deep
	}
	return text(r)
}
