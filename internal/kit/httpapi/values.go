package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/lifecycle"
)

// Caps at the door. A request beyond one of them is refused before any of its
// values is looked at, so that its price stays small (DO-07).
const (
	maxQuery        = 16 << 10
	maxCookies      = 16 << 10
	maxNames        = 1000
	maxDepth        = 32
	maxJSONElements = 50_000
	maxBody         = 1 << 20
	maxMultipart    = 10 << 20 // most of which is not kept
	// maxStrange is the most that a caller sends who has not shown who they are: what is read of a body is
	// held until its end comes.
	maxStrange = 32 << 10
)

// values is the tree that a request's parameters form, wherever they came
// from. A node is a string, json.Number, bool, nil, []any, map[string]any,
// *File, or repeated.
type values map[string]any

// repeated is a plain name given more than once. Lists take it, scalars
// refuse it: which of the values counts must never be a matter of parsing.
type repeated []any

// File is an uploaded part of a multipart body.
type File struct {
	Name        string
	ContentType string
	Size        int64
	Data        []byte // nothing where the file is larger than what a request may hold in memory
}

// errNotText is answered in plain text, as broken encodings are not a
// client's parameters but a client's fault.
var errNotText = errors.New("NUL byte or invalid UTF-8")

func cleanText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// readQuery adds the parameters of an encoded query or form.
func (v values) readQuery(encoded string) error {
	names := 0
	for encoded != "" {
		var pair string
		pair, encoded, _ = strings.Cut(encoded, "&")
		if pair == "" {
			continue
		}
		if names++; names > maxNames {
			return fault.WithMessage(fault.BadParams, "too many parameters")
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return errNotText
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil || !cleanText(name) || !cleanText(value) {
			return errNotText
		}
		if err := v.put(name, value); err != nil {
			return err
		}
	}
	return nil
}

// put stores a value under a name such as a, a[], a[k] or a[][k].
func (v values) put(name string, value any) error {
	head, rest, nested := strings.Cut(name, "[")
	if !nested {
		v.set(name, value)
		return nil
	}
	if !strings.HasSuffix(rest, "]") {
		return fault.WithMessage(fault.BadParams, "%s is invalid", head)
	}
	keys := strings.Split(strings.TrimSuffix(rest, "]"), "][")
	if len(keys) > maxDepth {
		return fault.WithMessage(fault.BadParams, "%s is nested too deeply", head)
	}
	merged, ok := merge(v[head], keys, value)
	if !ok {
		return fault.WithMessage(fault.BadParams, "%s is invalid", head)
	}
	v[head] = merged
	return nil
}

// set stores a value under a plain name, and keeps the one that is there.
func (v values) set(name string, value any) {
	old, given := v[name]
	if !given {
		v[name] = value
		return
	}
	several, ok := old.(repeated)
	if !ok {
		several = repeated{old}
	}
	v[name] = append(several, value)
}

// merge grows the tree at old by one value below keys. It reports false where
// a name is used both as a list and as a hash, or holds a plain value already.
func merge(old any, keys []string, value any) (any, bool) {
	if len(keys) == 0 {
		return value, old == nil
	}
	if keys[0] != "" {
		hash, ok := old.(map[string]any)
		if old != nil && !ok {
			return nil, false
		}
		if hash == nil {
			hash = map[string]any{}
		}
		child, ok := merge(hash[keys[0]], keys[1:], value)
		if ok { // a refused value must leave no trace: a[][k] tries the last hash first
			hash[keys[0]] = child
		}
		return hash, ok
	}
	list, ok := old.([]any)
	if old != nil && !ok {
		return nil, false
	}
	if len(keys) > 1 && keys[1] != "" && len(list) > 0 {
		// a[][k]=1&a[][l]=2 is one hash until a key comes again.
		if last, isHash := list[len(list)-1].(map[string]any); isHash {
			if _, given := last[keys[1]]; !given || len(keys) > 2 {
				if grown, ok := merge(last, keys[1:], value); ok {
					list[len(list)-1] = grown
					return list, true
				}
			}
		}
	}
	item, ok := merge(nil, keys[1:], value)
	return append(list, item), ok
}

// overlay lets the names of over win.
func (v values) overlay(over values) {
	for name, value := range over {
		v[name] = value
	}
}

// readBody adds the parameters of a body, whose names win over the query's. It holds limit bytes of it at the most;
// 0 stands for the usual limit. A multipart body may be larger, as far as a file makes it so.
func (v values) readBody(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	declared := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(declared)
	if err != nil {
		media = ""
	}
	kept := limit
	if limit == 0 {
		kept, limit = maxBody, maxBody
		if media == "multipart/form-data" {
			limit = maxMultipart
		}
	}
	if r.ContentLength > limit {
		return fault.New(fault.TooLarge)
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	over := values{}
	switch {
	case media == "multipart/form-data":
		err = over.readMultipart(multipart.NewReader(body, params["boundary"]), kept)
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		err = over.readJSON(body)
	case media == "application/x-www-form-urlencoded":
		var form []byte
		if form, err = io.ReadAll(body); err != nil {
			err = unreadable(err)
		} else {
			err = over.readQuery(string(form))
		}
	default:
		var first [1]byte
		if n, _ := body.Read(first[:]); n == 0 {
			return nil
		}
		return fault.WithMessage(fault.UnsupportedMedia, "The provided content-type '%s' is not supported.", media)
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.New(fault.TooLarge)
	}
	if err != nil {
		return err
	}
	v.overlay(over)
	return nil
}

// readMultipart keeps so many bytes of the parts together. Of a file that does not fit, only the size is kept.
func (v values) readMultipart(parts *multipart.Reader, kept int64) error {
	for names := 1; ; names++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
		if names > maxNames {
			return fault.WithMessage(fault.BadParams, "too many parameters")
		}
		data, err := io.ReadAll(io.LimitReader(part, kept))
		if err != nil {
			return unreadable(err)
		}
		more, err := io.Copy(io.Discard, part)
		if err != nil {
			return unreadable(err)
		}
		size := int64(len(data)) + more
		if more > 0 {
			if part.FileName() == "" {
				return fault.New(fault.TooLarge)
			}
			data = nil
		}
		kept -= int64(len(data))
		if !cleanText(part.FormName()) || !cleanText(part.FileName()) {
			return errNotText
		}
		var value any = &File{Name: part.FileName(), ContentType: part.Header.Get("Content-Type"), Size: size, Data: data}
		if part.FileName() == "" {
			if !cleanText(string(data)) {
				return errNotText
			}
			value = string(data)
		}
		if err := v.put(part.FormName(), value); err != nil {
			return err
		}
	}
}

func (v values) readJSON(body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return unreadable(err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if !utf8.Valid(text) {
		return errNotText
	}
	if !ModestJSON(text) {
		return fault.WithMessage(fault.BadParams, "the body is nested too deeply or has too many elements")
	}
	if !json.Valid(text) {
		return unparsable()
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	tree := jsonNode(dec)
	if tree == nil {
		return nil // null is what some clients send for no parameters
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return unparsable()
	}
	if !cleanTree(object) {
		return errNotText
	}
	v.overlay(object)
	return nil
}

// ModestJSON reports whether a text has few enough elements, nested not too
// deeply. It counts them without building anything.
func ModestJSON(text []byte) bool {
	elements, depth, inString := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			elements++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			elements++
		}
		if depth > maxDepth || elements > maxJSONElements {
			return false
		}
	}
	return true
}

// jsonNode builds the next node of a valid text. It does not leave that to the
// decoder, which lets the last of two equal names win without a word.
func jsonNode(dec *json.Decoder) any {
	token, _ := dec.Token()
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			list = append(list, jsonNode(dec))
		}
		_, _ = dec.Token()
		return list
	case json.Delim('{'):
		object := values{}
		for dec.More() {
			name, _ := dec.Token()
			object.set(name.(string), jsonNode(dec))
		}
		_, _ = dec.Token()
		return map[string]any(object)
	}
	return token
}

// cleanTree refuses the NUL that JSON can spell as an escape.
func cleanTree(node any) bool {
	switch n := node.(type) {
	case string:
		return strings.IndexByte(n, 0) < 0
	case []any:
		for _, item := range n {
			if !cleanTree(item) {
				return false
			}
		}
	case repeated:
		return cleanTree([]any(n))
	case map[string]any:
		for key, item := range n {
			if strings.IndexByte(key, 0) >= 0 || !cleanTree(item) {
				return false
			}
		}
	}
	return true
}

func unparsable() error {
	return fault.WithMessage(fault.BadParams, "\nProblem:\n  message body does not match declared format\nResolution:\n  when specifying application/json as content-type, you must pass a JSON object in the request's body\n")
}

// unreadable keeps the errors that say that a body is too large or comes too slowly.
func unreadable(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, lifecycle.ErrSlow) {
		return err
	}
	return unparsable()
}
