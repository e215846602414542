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

	"stithy/internal/platform/blob"
)

const (
	maxReport      = 64 << 20 // unpacked, of one job
	maxReportDepth = 64
	maxCases       = 50_000
	maxCaseText    = 64 << 10 // of an output
	maxCaseName    = 1024
)

var errReport = errors.New("the report is too large")

// ParseJUnit reads a test report: suites in suites, each with its cases. It
// fetches nothing and knows no entities but those of XML itself.
func ParseJUnit(from io.Reader) ([]Case, error) {
	d := xml.NewDecoder(from)
	d.CharsetReader = charset
	p := junit{}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			if len(p.open) > 0 {
				return p.cases, errors.New("the report ends too early")
			}
			return p.cases, nil
		}
		if err != nil {
			return p.cases, fmt.Errorf("the report is not XML: %w", err)
		}
		if err := p.take(token); err != nil {
			return p.cases, err
		}
	}
}

// charset reads the encodings that reports come in. Others are refused.
func charset(name string, from io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return from, nil
	case "iso-8859-1", "latin1", "windows-1252":
		return &latin1{from: bufio.NewReader(from)}, nil
	}
	return nil, errors.New("its encoding is not known")
}

// latin1 gives text in UTF-8 of which every byte is a character.
type latin1 struct {
	from *bufio.Reader
	rest []byte
}

func (l *latin1) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		b, err := l.from.ReadByte()
		if err != nil {
			return 0, err
		}
		l.rest = utf8.AppendRune(nil, rune(b))
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// junit is a report half read.
type junit struct {
	open  []string
	cases []Case
	in    *Case
	text  *strings.Builder // of the element that is read, if it matters
	file  string           // of the suite
}

func (p *junit) take(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if len(p.open) == maxReportDepth {
			return errors.New("the report is nested too deeply")
		}
		p.open = append(p.open, t.Name.Local)
		return p.begin(t)
	case xml.EndElement:
		if len(p.open) == 0 || p.open[len(p.open)-1] != t.Name.Local {
			return errors.New("the report is not XML: an element ends that did not begin")
		}
		p.open = p.open[:len(p.open)-1]
		p.end(t.Name.Local)
	case xml.CharData:
		if p.text != nil && p.text.Len() < maxCaseText {
			p.text.Write(t[:min(len(t), maxCaseText-p.text.Len())])
		}
	}
	return nil
}

func (p *junit) begin(t xml.StartElement) error {
	attributes := map[string]string{}
	for _, a := range t.Attr {
		attributes[a.Name.Local] = clip(a.Value, maxCaseText)
	}
	switch t.Name.Local {
	case "testsuite":
		p.file = clip(attributes["file"], maxCaseName)
	case "testcase":
		if len(p.cases) == maxCases {
			return errReport
		}
		seconds, err := strconv.ParseFloat(strings.ReplaceAll(attributes["time"], ",", ""), 64)
		if err != nil || !(seconds >= 0 && seconds < 1e9) {
			seconds = 0
		}
		p.in = &Case{
			Name: clip(attributes["name"], maxCaseName), Classname: clip(attributes["classname"], maxCaseName), Outcome: Passed,
			File: clip(attributes["file"], maxCaseName), Seconds: seconds,
		}
		if p.in.File == "" {
			p.in.File = p.file
		}
	case "failure", "error", "skipped":
		if p.in == nil {
			return nil
		}
		p.in.Outcome = map[string]Outcome{"failure": Failed, "error": Errored, "skipped": Skipped}[t.Name.Local]
		p.in.Output = attributes["message"]
		p.text = &strings.Builder{}
	case "system-out", "system-err":
		if p.in != nil {
			p.text = &strings.Builder{}
		}
	}
	return nil
}

func (p *junit) end(name string) {
	if p.in == nil {
		return
	}
	text := ""
	if p.text != nil {
		text = strings.ToValidUTF8(strings.TrimSpace(p.text.String()), "\ufffd")
	}
	switch name {
	case "failure", "error", "skipped":
		if text != "" {
			p.in.Output = clip(strings.TrimSpace(p.in.Output+"\n"+text), maxCaseText)
		}
		p.text = nil
	case "system-out", "system-err":
		if name == "system-out" {
			if _, rest, found := strings.Cut(text, "[[ATTACHMENT|"); found {
				if at, _, found := strings.Cut(rest, "]]"); found && goodName(at) {
					p.in.Attachment = at
				}
			}
		}
		p.in.SystemOutput = clip(p.in.SystemOutput+text, maxCaseText)
		p.text = nil
	case "testcase":
		p.cases = append(p.cases, *p.in)
		p.in = nil
	}
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

// bounded fails where a report becomes too long.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errReport
	}
	return n, err
}

// readJUnit reads a report as it was handed in.
func readJUnit(f Format, packed io.Reader) ([]Case, error) {
	if f != Gzip {
		return ParseJUnit(&bounded{from: packed, left: maxReport})
	}
	// Several files come as several streams, one behind the other.
	source := bufio.NewReader(packed)
	z, err := gzip.NewReader(source)
	if err != nil {
		return nil, errors.New("the report is not packed as it should be")
	}
	var all []Case
	limit := &bounded{from: z, left: maxReport}
	for {
		z.Multistream(false)
		cases, err := ParseJUnit(limit)
		all = append(all, cases...)
		if err != nil {
			return all, err
		}
		if len(all) > maxCases {
			return all[:maxCases], errReport
		}
		switch err := z.Reset(source); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, errors.New("the report is not packed as it should be")
		}
	}
}

// TestReport reads the test reports of jobs, one suite for each. One that
// cannot be read says so and hides no other.
func (s *Service) TestReport(ctx context.Context, jobIDs ...int64) (Report, error) {
	var report Report
	files, err := s.Files(ctx, jobIDs...)
	if err != nil {
		return report, err
	}
	for _, f := range files {
		if f.Type != JUnit {
			continue
		}
		body, err := s.Blobs.Open(ctx, f.key, 0, -1)
		if err != nil {
			return report, told(err)
		}
		suite := Suite{JobID: f.JobID}
		suite.Cases, err = readJUnit(f.Format, body)
		_ = body.Close()
		if errors.Is(err, blob.ErrUnavailable) {
			return report, told(err)
		}
		if err != nil {
			suite.Error = "JUnit XML parsing failed: " + err.Error()
		}
		report.Suites = append(report.Suites, suite)
	}
	return report, nil
}
