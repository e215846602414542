package issue

import "strings"

// Box is a check box in a description, which stands for a task.
type Box struct {
	Text string
	Done bool
	at   int // of the sign in the box
}

// TasksIn are the check boxes of a description. What stands in a block of code is none.
func TasksIn(description *string) (all []Box) {
	if description == nil || !strings.Contains(*description, "[") {
		return nil
	}
	fence, begin := "", 0
	for whole := range strings.Lines(*description) {
		start := begin
		begin += len(whole)
		line := strings.TrimSpace(whole)
		if mark := fenceOf(line); mark != "" && (fence == "" || (mark[0] == fence[0] && len(mark) >= len(fence))) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		if box, ok := boxOf(line); ok {
			open := strings.IndexByte(whole, '[') // nothing but the mark of the item stands before it
			all = append(all, Box{Text: strings.TrimSpace(whole[open+3:]), Done: box != ' ', at: start + open + 1})
		}
	}
	return all
}

// Ticked is a description whose check boxes are ticked or not, as done says of each. The rest of it stays.
func Ticked(description string, done []bool) string {
	text := []byte(description)
	for n, box := range TasksIn(&description) {
		switch {
		case n >= len(done) || done[n] == box.Done:
		case done[n]:
			text[box.at] = 'x'
		default:
			text[box.at] = ' '
		}
	}
	return string(text)
}
