package note

import (
	"iter"
	"strconv"
	"strings"

	"stithy/internal/gitstore"
)

// Position is what a note is about in the diff of a commit: a line, a point of a picture or a whole file. Which commits are compared follows from the
// commit.
type Position struct {
	Type    PositionType `json:"position_type"`
	OldPath string       `json:"old_path"`
	NewPath string       `json:"new_path"`
	OldLine *int         `json:"old_line,omitempty"` // of a line that went; of one that stayed both
	NewLine *int         `json:"new_line,omitempty"` // of a line that came
	Width   *int         `json:"width,omitempty"`    // of a picture
	Height  *int         `json:"height,omitempty"`
	X       *float64     `json:"x,omitempty"` // from the left
	Y       *float64     `json:"y,omitempty"` // from above
}

// PositionType says what a position is about.
type PositionType string

const (
	OnText  PositionType = "text"
	OnImage PositionType = "image"
	OnFile  PositionType = "file"
)

// DiffRefs are the commits that a diff is between, as positions name them.
type DiffRefs struct{ Base, Start, Head string }

// refs are those of a commit.
func (at AtCommit) refs() DiffRefs {
	base := gitstore.Zero
	if len(at.Commit.Parents) > 0 {
		base = at.Commit.Parents[0]
	}
	return DiffRefs{Base: string(base), Start: string(base), Head: string(at.Commit.ID)}
}

var (
	errRefs       = invalid("commit_id", "does not match the diff refs")
	errIncomplete = invalid("position", "is incomplete")
	errNoLine     = invalid("line_code", "can't be blank", "must be a valid line code")
)

// complete refuses a position that says too little to be looked for.
func (p *Position) complete() error {
	missing := p.OldPath == "" && p.NewPath == ""
	switch p.Type {
	case OnText:
		missing = missing || (p.OldLine == nil && p.NewLine == nil)
	case OnImage:
		missing = missing || or(p.Width, 0) <= 0 || or(p.Height, 0) <= 0 || or(p.X, -1) < 0 || or(p.Y, -1) < 0
	}
	if missing {
		return errIncomplete
	}
	return nil
}

// in finds a position in a diff, and takes the paths from there. What limits cut from the diff is not found.
func (p *Position) in(d *gitstore.Diff) error {
	for n := range d.Files {
		f := &d.Files[n]
		if (p.NewPath != "" && p.NewPath != f.NewPath) || (p.OldPath != "" && p.OldPath != f.OldPath) || max(len(f.NewPath), len(f.OldPath)) > maxPath {
			continue
		}
		if p.Type != OnText || hasLine(f.Patch, or(p.OldLine, 0), or(p.NewLine, 0)) {
			p.OldPath, p.NewPath = f.OldPath, f.NewPath
			return nil
		}
	}
	return errNoLine
}

func hasLine(patch string, old, now int) bool {
	for before, after := range linesOf(patch) {
		if before == old && after == now {
			return true
		}
	}
	return false
}

// linesOf are the lines of a patch, by their numbers in the old file and in the new one: 0 where a line is not in it.
func linesOf(patch string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		before, after := 0, 0
		for line := range strings.Lines(patch) {
			more := true
			switch line[0] {
			case '@':
				before, after = hunkStart(line)
			case '-':
				more = yield(before, 0)
				before++
			case '+':
				more = yield(0, after)
				after++
			case ' ':
				more = yield(before, after)
				before++
				after++
			}
			if !more {
				return
			}
		}
	}
}

// hunkStart reads where a hunk begins in both files, from "@@ -3,4 +5,6 @@".
func hunkStart(line string) (before, after int) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return 0, 0
	}
	number := func(field, sign string) int {
		text, _, _ := strings.Cut(strings.TrimPrefix(field, sign), ",")
		n, _ := strconv.Atoi(text)
		return n
	}
	return number(fields[1], "-"), number(fields[2], "+")
}

// line is the line that a position is about, in the words of an older API.
func (p *Position) line() (line *int, of *string) {
	switch {
	case p.NewLine != nil:
		return p.NewLine, new("new")
	case p.OldLine != nil:
		return p.OldLine, new("old")
	}
	return nil, nil
}
