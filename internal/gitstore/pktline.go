package gitstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Git's messages come in lines with their length in front: four hexadecimal
// digits that count themselves. Lengths below four are marks.
const (
	maxLine = 65516 // bytes of text in one line

	bandData     = 1
	bandProgress = 2
	bandError    = 3
)

// mark is what stands in a stream instead of a line.
type mark uint8

const (
	noMark mark = iota
	flush       // 0000
	delim       // 0001
	end         // 0002
)

var errLine = fmt.Errorf("a malformed line of the protocol: %w", ErrInvalid)

// lines reads pkt-lines. What it gives is valid until the next call.
type lines struct {
	in  *bufio.Reader
	buf []byte
}

func newLines(in io.Reader) *lines { return &lines{in: bufio.NewReaderSize(in, maxLine+4)} }

// next is the next line or mark. io.EOF comes between lines only.
func (l *lines) next() ([]byte, mark, error) {
	var head [4]byte
	if _, err := io.ReadFull(l.in, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errLine
		}
		return nil, noMark, err
	}
	n := 0
	for _, c := range head {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | int(c-'a'+10)
		case 'A' <= c && c <= 'F':
			n = n<<4 | int(c-'A'+10)
		default:
			return nil, noMark, errLine
		}
	}
	switch {
	case n < 3:
		return nil, flush + mark(n), nil
	case n == 3 || n > maxLine+4:
		return nil, noMark, errLine
	}
	if n -= 4; cap(l.buf) < n {
		l.buf = make([]byte, max(n, 1024))
	}
	if _, err := io.ReadFull(l.in, l.buf[:n]); err != nil {
		return nil, noMark, errLine
	}
	return l.buf[:n], noMark, nil
}

// text is a line without the newline that most end in.
func text(line []byte) string {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	return string(line)
}

// appendLine adds a line to b.
func appendLine(b []byte, parts ...string) []byte {
	n := 4
	for _, part := range parts {
		n += len(part)
	}
	const hex = "0123456789abcdef"
	b = append(b, hex[n>>12&15], hex[n>>8&15], hex[n>>4&15], hex[n&15])
	for _, part := range parts {
		b = append(b, part...)
	}
	return b
}

func appendMark(b []byte, m mark) []byte { return append(b, '0', '0', '0', '0'+byte(m-flush)) }

// appendBand adds text to b as lines of a band.
func appendBand(b []byte, band byte, text string) []byte {
	for len(text) > 0 {
		n := min(len(text), maxLine-1)
		b = appendLine(b, string([]byte{band}), text[:n])
		text = text[n:]
	}
	return b
}

// clean takes what a terminal would obey out of a text that somebody else may
// have had a hand in.
func clean(text string) string {
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\n' || c == '\r' || c == '\t' || c >= 0x20 && c != 0x7f:
			out = append(out, c)
		default:
			out = append(out, '?')
		}
	}
	return string(out)
}
