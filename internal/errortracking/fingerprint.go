package errortracking

import (
	"crypto/sha256"
	"encoding/binary"
	"path"
	"regexp"
	"strings"
	"sync"
)

// groupingVersion is part of every fingerprint. It changes with the rules: events are then grouped anew, and old groups stay as they are.
const groupingVersion = "1"

// fingerprint says which error an event is of. It depends on nothing but the event.
//
// A program may say so itself, and name the usual rule as a part of it. Otherwise it is the stack, where there is one: for each exception its type and
// the calls of the program's own code, by name and not by line, so that an edit above does not make another error. Without a stack it is the type and
// the message, with what differs from one event to the next folded.
func fingerprint(r *Report) [32]byte {
	parts := []string{groupingVersion}
	ruled := sync.OnceValue(func() []string { return usual(r) })
	if len(r.Fingerprint) == 0 {
		parts = append(parts, ruled()...)
	}
	for _, part := range r.Fingerprint {
		if isDefault(part) {
			parts = append(parts, ruled()...)
		} else {
			parts = append(parts, part)
		}
	}
	return digest(parts)
}

// digest keeps parts apart by their lengths.
func digest(parts []string) (sum [32]byte) {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	h.Sum(sum[:0])
	return sum
}

func isDefault(part string) bool {
	inner, ok := strings.CutPrefix(strings.TrimSpace(part), "{{")
	if !ok {
		return false
	}
	inner, ok = strings.CutSuffix(inner, "}}")
	return ok && strings.TrimSpace(inner) == "default"
}

// usual is the rule for events of programs that do not say.
func usual(r *Report) []string {
	if parts := byStack(r); parts != nil {
		return append([]string{"stack", r.Platform}, parts...)
	}
	parts := []string{"message", r.Platform}
	said := false
	for _, e := range r.Exceptions {
		parts = append(parts, e.Type, Fold(e.Value))
		said = said || e.Type != "" || e.Value != ""
	}
	if r.Message != "" && !said {
		parts, said = append(parts, r.Logger, Fold(r.Message)), true
	}
	if !said {
		parts = append(parts, r.Transaction)
	}
	return parts
}

// byStack is nil where no exception has a call to go by.
func byStack(r *Report) (parts []string) {
	calls := false
	for _, e := range r.Exceptions {
		parts = append(parts, "exception", e.Type)
		frames := own(e.Frames)
		for i, f := range frames {
			call := f.call()
			if call == "" || (i > 0 && frames[i-1].call() == call) { // how deep something went on calling itself differs
				continue
			}
			parts, calls = append(parts, call), true
		}
	}
	if !calls {
		return nil
	}
	return parts
}

// own are the calls of the program's own code, or all where the program does not tell them apart.
func own(frames []Frame) []Frame {
	var mine []Frame
	for _, f := range frames {
		if f.InApp {
			mine = append(mine, f)
		}
	}
	if mine == nil {
		return frames
	}
	return mine
}

// call is the name of a call, the same in every build of the program.
func (f Frame) call() string {
	where := f.Module
	if where == "" {
		where = bundle.ReplaceAllString(path.Base(strings.ReplaceAll(f.File, `\`, "/")), "$1")
	}
	name := f.Function
	if strings.ContainsAny(name, ".$@") { // which every ending begins with
		name = anonymous.ReplaceAllString(name, "")
	}
	switch {
	case name != "" && name != "?":
		return where + ":" + Fold(name)
	case f.Source != nil && f.Line >= f.First && f.Line-f.First < len(f.Source):
		return where + ":" + Fold(strings.TrimSpace(f.Source[f.Line-f.First]))
	}
	return where
}

var (
	// bundle is the digest that builds put into names of files: main.3f2a9c1b.js.
	bundle = regexp.MustCompile(`[.-][0-9a-fA-F]{8,}(\.[a-z]+)$`)
	// anonymous is what compilers append to functions without a name: func1, lambda$0, <locals>.
	anonymous = regexp.MustCompile(`(\.func\d+(\.\d+)*|\$\$?Lambda\$?\d*(/0x[0-9a-f]+)?|\$\d+|@[0-9a-f]{6,})+$`)
)

// maxFolded is how much of a message tells errors apart.
const maxFolded = 1000

// variable are parts of messages that differ from one event of an error to the next, the special ones first. Each is looked for a bounded way ahead:
// what could begin one at every letter would else be read to its end from every letter.
var variable = regexp.MustCompile(strings.Join([]string{
	`(?P<email>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})`,
	`(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)`,
	`(?P<ip>\b\d{1,3}(?:\.\d{1,3}){3}\b)`,
	`(?P<date>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)`,
	`(?P<hex>\b0[xX][0-9a-fA-F]{1,128}\b|\b[0-9a-fA-F]{7,128}\b)`,
	`(?P<number>-?\d+(?:[.,]\d+)*)`,
}, "|"))

var variableNames = variable.SubexpNames()

// Fold puts the kind of a part in place of it, where it differs from one event of an error to the next: numbers, digests, ids, addresses, dates.
func Fold(message string) string {
	message = clean(message, maxFolded)
	if !strings.ContainsAny(message, "0123456789@") { // of which every variable part has one
		return strings.Join(strings.Fields(message), " ")
	}
	var b strings.Builder
	end := 0
	for _, at := range variable.FindAllStringSubmatchIndex(message, -1) {
		if !strings.ContainsAny(message[at[0]:at[1]], "0123456789@") {
			continue // a word of the letters that digests are made of
		}
		b.WriteString(message[end:at[0]])
		for i := 1; i < len(variableNames); i++ {
			if at[2*i] >= 0 {
				b.WriteString("<" + variableNames[i] + ">")
			}
		}
		end = at[1]
	}
	b.WriteString(message[end:])
	return clean(strings.Join(strings.Fields(b.String()), " "), maxFolded)
}
