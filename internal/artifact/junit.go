package artifact

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"stithy/internal/platform/unpack"
)

const (
	maxReport      = 64 << 20 // unpacked, of one job
	maxReportDepth = 64
	maxElements    = 2 << 20
	maxCases       = 50_000
	maxReportPart  = 4 << 20  // of one text or tag, which is in memory at once
	maxReportText  = 16 << 20 // of all that is kept of a report
	maxCaseText    = 64 << 10 // of an output
	maxCaseName    = 1024
)

var errReport = errors.New("the report is too large")

// reportBudget is what one report may have, with all files that it came in.
func reportBudget() *unpack.Budget {
	return &unpack.Budget{Bytes: maxReport, Entries: maxCases, Depth: maxReportDepth}
}

// ParseJUnit reads a test report: suites in suites, each with its cases. It
// fetches nothing and knows no entities but those of XML itself.
func ParseJUnit(ctx context.Context, from io.Reader) ([]Case, error) {
	p := newJUnit()
	err := p.read(ctx, from)
	return p.cases, err
}

// whileWanted reads until nobody waits for it any more: little that is packed may be hours of work.
type whileWanted struct {
	ctx  context.Context //nolint:containedctx // a reader has no other way to know
	from io.Reader
}

func (r whileWanted) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(b)
}

// part reads the bytes of a report and fails where one token has too many: the
// decoder has all of it in memory.
type part struct {
	*bufio.Reader
	left int
}

func (p *part) ReadByte() (byte, error) {
	if p.left--; p.left < 0 {
		return 0, errReport
	}
	return p.Reader.ReadByte()
}

// charset reads the encodings that reports come in. Others are refused.
func charset(name string, from io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return from, nil
	case "iso-8859-1", "latin1", "windows-1252":
		if bytes, ok := from.(io.ByteReader); ok {
			return &latin1{Reader: from, from: bytes}, nil
		}
	}
	return nil, errors.New("its encoding is not known")
}

// latin1 gives text in UTF-8 of which every byte is a character.
type latin1 struct {
	io.Reader // not used: the decoder reads by bytes
	from      io.ByteReader
	second    byte // of a character of two bytes
}

func (l *latin1) ReadByte() (byte, error) {
	if b := l.second; b != 0 {
		l.second = 0
		return b, nil
	}
	b, err := l.from.ReadByte()
	if err != nil || b < utf8.RuneSelf {
		return b, err
	}
	l.second = 0x80 | b&0x3f
	return 0xc0 | b>>6, nil
}

// junit is a report half read.
type junit struct {
	budget   *unpack.Budget
	room     int // for texts that are kept
	elements int // that may still come
	open     []string
	cases    []Case
	in       *Case
	text     *strings.Builder // of the element that is read, if it matters
	file     string           // of the suite
}

func newJUnit() *junit {
	return &junit{budget: reportBudget(), room: maxReportText, elements: maxElements}
}

// read takes in one file of the report.
func (p *junit) read(ctx context.Context, from io.Reader) error {
	in := &part{Reader: bufio.NewReader(whileWanted{ctx, p.budget.Reader(from)})}
	d := xml.NewDecoder(in)
	d.CharsetReader = charset
	for {
		in.left = maxReportPart
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && len(p.open) > 0:
			return errors.New("the report ends too early")
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, unpack.ErrTooMuch), errors.Is(err, errReport):
			return errReport
		case err != nil:
			return fmt.Errorf("the report is not XML: %w", err)
		}
		if err := p.take(token); err != nil {
			return err
		}
	}
}

func (p *junit) take(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if p.budget.Enter() != nil {
			return errors.New("the report is nested too deeply")
		}
		if p.elements--; p.elements < 0 {
			return errReport
		}
		p.open = append(p.open, t.Name.Local)
		return p.begin(t)
	case xml.EndElement:
		if len(p.open) == 0 || p.open[len(p.open)-1] != t.Name.Local {
			return errors.New("the report is not XML: an element ends that did not begin")
		}
		p.open = p.open[:len(p.open)-1]
		p.budget.Leave()
		return p.end(t.Name.Local)
	case xml.CharData:
		if p.text != nil && p.text.Len() < maxCaseText {
			p.text.Write(t[:min(len(t), maxCaseText-p.text.Len())])
		}
	}
	return nil
}

// attribute is one of an element, of which so much counts.
func attribute(t xml.StartElement, name string, most int) string {
	for i := len(t.Attr) - 1; i >= 0; i-- {
		if t.Attr[i].Name.Local == name {
			return strings.Clone(clip(t.Attr[i].Value, most)) // the rest of a long one is not kept in memory
		}
	}
	return ""
}

func (p *junit) begin(t xml.StartElement) error {
	switch t.Name.Local {
	case "testsuite":
		p.file = attribute(t, "file", maxCaseName)
	case "testcase":
		if p.budget.Entry() != nil {
			return errReport
		}
		seconds, err := strconv.ParseFloat(strings.ReplaceAll(attribute(t, "time", 64), ",", ""), 64)
		if err != nil || !(seconds >= 0 && seconds < 1e9) {
			seconds = 0
		}
		p.in = &Case{
			Name: attribute(t, "name", maxCaseName), Classname: attribute(t, "classname", maxCaseName), Outcome: Passed,
			File: attribute(t, "file", maxCaseName), Seconds: seconds,
		}
		if p.in.File == "" {
			p.in.File = p.file
		}
	case "failure", "error", "skipped":
		if p.in == nil {
			return nil
		}
		p.in.Outcome = map[string]Outcome{"failure": Failed, "error": Errored, "skipped": Skipped}[t.Name.Local]
		p.in.Output = attribute(t, "message", maxCaseText)
		p.text = &strings.Builder{}
	case "system-out":
		if p.in != nil {
			p.text = &strings.Builder{}
		}
	}
	return nil
}

func (p *junit) end(name string) error {
	if p.in == nil {
		return nil
	}
	switch name {
	case "failure", "error", "skipped":
		if text := p.taken(); text != "" {
			p.in.Output = strings.Clone(clip(strings.TrimSpace(p.in.Output+"\n"+text), maxCaseText))
		}
	case "system-out":
		if _, rest, found := strings.Cut(p.taken(), "[[ATTACHMENT|"); found {
			if at, _, found := strings.Cut(rest, "]]"); found && goodName(at) {
				p.in.Attachment = strings.Clone(at)
			}
		}
	case "testcase":
		return p.keep()
	}
	return nil
}

// taken is the text of the element that ends, once.
func (p *junit) taken() string {
	if p.text == nil {
		return ""
	}
	text := p.text.String()
	p.text = nil
	return strings.ToValidUTF8(strings.TrimSpace(text), "\ufffd")
}

// keep adds a case. Where all that is kept becomes too long, outputs are left
// out first.
func (p *junit) keep() error {
	c := *p.in
	p.in = nil
	if p.room -= len(c.Name) + len(c.Classname) + len(c.File) + len(c.Attachment); p.room < 0 {
		return errReport
	}
	if len(c.Output) > p.room {
		c.Output = ""
	}
	p.room -= len(c.Output)
	p.cases = append(p.cases, c)
	return nil
}

// clip cuts a text at a number of bytes, between characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// readJUnit reads a report as it was handed in.
func readJUnit(ctx context.Context, f Format, packed io.Reader) ([]Case, error) {
	if f != Gzip {
		return ParseJUnit(ctx, packed)
	}
	// Several files come as several streams, one behind the other.
	source := bufio.NewReader(packed)
	z, err := gzip.NewReader(source)
	if err != nil {
		return nil, errors.New("the report is not packed as it should be")
	}
	p := newJUnit()
	for {
		z.Multistream(false)
		if p.elements--; p.elements < 0 {
			return p.cases, errReport
		}
		if err := p.read(ctx, z); err != nil {
			return p.cases, err
		}
		switch err := z.Reset(source); {
		case errors.Is(err, io.EOF):
			return p.cases, nil
		case err != nil:
			return p.cases, errors.New("the report is not packed as it should be")
		}
	}
}
