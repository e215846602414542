package markdown

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	more "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	markup "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	maxDepth = 50              // of quotes and lists in each other
	maxMarks = 1_000           // of emphasis, links and code in one paragraph, which the parser pairs
	maxCells = 5_000           // the same in one table, whose cells are paragraphs
	maxLines = 50_000          // of a text
	maxTable = 20_000          // cells of all tables of a text, with those that a short row does not write
	maxHTML  = 4 << 20         // bytes of what comes of a text
	budget   = 1 * time.Second // of one text
)

// errCostly ends the rendering of a text that takes too long.
var errCostly = errors.New("markdown: the text takes too long to render")

// tools are made when the first text is rendered: their tables are large, and a node may never need them.
var tools = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.TaskList,
			extension.NewFootnote(extension.WithFootnoteIDPrefixFunction(prefixOf), extension.WithFootnoteBacklinkHTML("↩")),
			extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
		),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithInlineParsers(util.Prioritized(&watch{}, 10), util.Prioritized(&formulas{}, 90)), // before code, whose marks it begins with
			parser.WithParagraphTransformers(util.Prioritized(tangle{}, 1)),
			parser.WithASTTransformers(util.Prioritized(&finder{}, 900)),
		),
		goldmark.WithRendererOptions(
			markup.WithUnsafe(), // what is raw is cleaned with the rest
			renderer.WithNodeRenderers(util.Prioritized(&writer{}, 100)),
		),
	)
})

// Render turns a text into a document. It fails only when the context ends.
func Render(ctx context.Context, source string) (*Document, error) {
	return renderWithin(ctx, source, budget)
}

// renderWithin is Render with a budget of its own.
func renderWithin(ctx context.Context, source string, most time.Duration) (*Document, error) {
	source = strings.ReplaceAll(strings.ToValidUTF8(source, "\uFFFD"), "\x00", "\uFFFD")
	if len(source) > MaxText || !modest(source) {
		return asWritten(source), nil
	}
	ctx, stop := context.WithTimeoutCause(ctx, most, errCostly)
	defer stop()
	d, err := render(ctx, []byte(source))
	switch {
	case errors.Is(err, errCostly):
		return asWritten(source), nil
	case err != nil:
		return nil, err
	}
	return d, nil
}

// endedError is the panic by which a parser that cannot be told to stop is ended.
type endedError struct{ cause error }

func (e endedError) Error() string { return e.cause.Error() }

// ended is why the parser was ended, after a recover.
func ended(recovered any) error {
	if r, ok := recovered.(endedError); ok {
		return r.cause
	}
	return fmt.Errorf("rendering a text: %v: %w", recovered, errCostly) // a fault of the parser ends no request
}

func render(ctx context.Context, source []byte) (d *Document, err error) {
	defer func() {
		if r := recover(); r != nil {
			d, err = nil, ended(r)
		}
	}()
	run, root := parse(ctx, source)
	out := page{run: run}
	if err := tools().Renderer().Render(&out, source, root); err != nil {
		return nil, err
	}
	run.check()
	return run.assemble(clean(out.Bytes())), nil
}

// parse reads a text. It panics with an endedError when its time is over.
func parse(ctx context.Context, source []byte) (*run, ast.Node) {
	var secret [16]byte
	_, _ = rand.Read(secret[:])
	run := &run{ctx: ctx, secret: hex.EncodeToString(secret[:]), prefix: "user-content-" + Digest(string(source))[:8] + "-"}
	pc := parser.NewContext(parser.WithIDs(&headings{taken: map[string]bool{}, prefix: run.prefix}))
	pc.Set(runKey, run)
	root := tools().Parser().Parse(text.NewReader(source), parser.WithContext(pc))
	root.OwnerDocument().SetMeta(map[string]any{"run": run})
	return run, root
}

// page is the HTML as it is written. A text that becomes very much more, as one address that many links name does, is ended before it is whole.
type page struct {
	bytes.Buffer
	run *run
}

func (p *page) Write(part []byte) (int, error) {
	p.run.check()
	if p.Len()+len(part) > maxHTML {
		panic(endedError{errCostly})
	}
	return p.Buffer.Write(part)
}

var runKey = parser.NewContextKey()

// run is the rendering of one text.
type run struct {
	ctx     context.Context
	secret  string // by which what is put in after cleaning is found; no text can hold it
	prefix  string // of the ids of this text
	inserts []insert

	references int
	addressed  int // where the mentions end that the text begins with
	steps      int
	cells      int // of tables
}

// insert is put into the HTML after it was cleaned.
type insert struct {
	html      string // of ours, for a formula
	reference *Reference
	from, to  int // where the reference stands in the text; both 0 where it is part of an address
}

// check ends the run when its time is over.
func (r *run) check() {
	if r.ctx.Err() != nil {
		panic(endedError{context.Cause(r.ctx)})
	}
}

// step looks at the clock each time that so many steps were taken.
func (r *run) step(every int) {
	if r.steps++; r.steps%every == 0 {
		r.check()
	}
}

func (r *run) add(i insert) int {
	r.inserts = append(r.inserts, i)
	return len(r.inserts) - 1
}

// assemble cuts the cleaned HTML where something is put in.
func (r *run) assemble(cleaned string) *Document {
	d := &Document{}
	var piece strings.Builder
	parts := strings.Split(cleaned, r.secret+"-")
	piece.WriteString(parts[0])
	for _, part := range parts[1:] {
		number, rest, _ := strings.Cut(part, ".")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(r.inserts) {
			continue
		}
		if in := r.inserts[n]; in.reference == nil {
			piece.WriteString(in.html)
		} else {
			d.Pieces = append(d.Pieces, piece.String())
			d.References = append(d.References, *in.reference)
			piece.Reset()
		}
		piece.WriteString(rest)
	}
	d.Pieces = append(d.Pieces, piece.String())
	return d
}

// modest reports whether the parser may be given a text: it nests containers in each other and pairs the marks of a
// heading, at a cost that grows faster than the text.
func modest(source string) bool {
	lines := 0
	for line := range strings.Lines(source) {
		if lines++; lines > maxLines {
			return false
		}
		if depth(line) > maxDepth {
			return false
		}
		if content := strings.TrimLeft(line, " \t>-+*0123456789.)"); strings.HasPrefix(content, "#") && marks(content) > maxMarks {
			return false
		}
	}
	return true
}

// marks counts what the parser may pair.
func marks(line string) (n int) {
	for _, c := range []byte(line) {
		if strings.IndexByte("*_[]~`<!(&\\$^|", c) >= 0 {
			n++
		}
	}
	return n
}

// tangle shows a paragraph as it was written that has too many marks to pair.
type tangle struct{}

func (tangle) Transform(p *ast.Paragraph, reader text.Reader, pc parser.Context) {
	run := pc.Get(runKey).(*run)
	run.check()
	all, most := 0, maxMarks
	for i := range p.Lines().Len() {
		line := p.Lines().At(i)
		content := string(line.Value(reader.Source()))
		all += marks(content)
		if strings.Contains(content, "-") && strings.Trim(content, "|:- \t\r\n") == "" {
			most = maxCells // below the head of a table
			run.cells += (strings.Count(content, "|") + 1) * (p.Lines().Len() - i)
		}
	}
	if all > most || run.cells > maxTable {
		written := ast.NewCodeBlock()
		written.SetLines(p.Lines())
		p.Parent().ReplaceChild(p.Parent(), p, written)
	}
}

// depth is how many containers a line may stand in: quotes and items that it begins, and those that its indent may
// belong to if it begins any.
func depth(line string) int {
	begun, indent := 0, 0
	for {
		switch {
		case line == "":
			return begun
		case line[0] == ' ':
			indent++
		case line[0] == '\t':
			indent += 4
		case line[0] == '>':
			begun++
		default:
			length := itemLength(line)
			if length == 0 {
				if begun == 0 {
					return 0
				}
				return begun + indent/2
			}
			begun++
			line = line[length-1:]
		}
		line = line[1:]
	}
}

// itemLength is the length of the mark that an item of a list begins with.
func itemLength(line string) int {
	n := count(line, 9, digit)
	switch {
	case n == 0 && strings.IndexByte("-+*", line[0]) >= 0, n > 0 && n < len(line) && (line[n] == '.' || line[n] == ')'):
		n++
	default:
		return 0
	}
	if n < len(line) && strings.IndexByte(" \t\n", line[n]) < 0 {
		return 0
	}
	return n
}

// headings gives the ids of headings.
type headings struct {
	taken  map[string]bool
	prefix string
}

func (h *headings) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, c := range strings.ToLower(string(value)) {
		switch {
		case wordly(c) || c == '-':
			b.WriteRune(c)
		case c == ' ':
			b.WriteByte('-')
		}
		if b.Len() >= 100 {
			break
		}
	}
	base := h.prefix + strings.Trim(b.String(), "-")
	id := base
	for n := 1; h.taken[id]; n++ {
		id = base + "-" + strconv.Itoa(n+len(h.taken))
	}
	h.taken[id] = true
	return []byte(id)
}

func (h *headings) Put(value []byte) { h.taken[string(value)] = true }

func prefixOf(n ast.Node) []byte {
	if r, ok := n.OwnerDocument().Meta()["run"].(*run); ok {
		return []byte(r.prefix)
	}
	return nil
}

// finder finds references in text, and alerts among quotes, once all is parsed.
type finder struct{}

func (finder) Transform(root *ast.Document, reader text.Reader, pc parser.Context) {
	r, source := pc.Get(runKey).(*run), reader.Source()
	var texts []*ast.Text
	var quotes []*ast.Blockquote
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		r.step(1000)
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = r.uploaded(n.Destination)
			return ast.WalkSkipChildren, nil
		case *ast.Image:
			n.Destination = r.uploaded(n.Destination)
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan, *ast.AutoLink, *ast.RawHTML, *ast.HTMLBlock, *ast.CodeBlock, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Blockquote:
			quotes = append(quotes, n)
		case *ast.Text:
			texts = append(texts, n)
		}
		return ast.WalkContinue, nil
	})
	for _, q := range quotes {
		alert(q, source)
	}
	read := map[*ast.Text]bool{} // with the one before
	for _, t := range texts {
		if !read[t] && t.Parent() != nil {
			r.refer(t, source, read)
		}
	}
}

// uploads are the addresses that texts have of files of their project. Letters are not counted: a pattern that does takes megabytes.
var uploads = regexp.MustCompile(`^/uploads/([0-9a-f]{32}/[\p{L}\p{N}_.+-]+)$`)

// uploaded is an address, or a mark in the place of that of a file, which depends on the project.
func (r *run) uploaded(address []byte) []byte {
	m := uploads.FindSubmatch(address)
	if m == nil || len(address) > maxPath || r.references >= maxReferences {
		return address
	}
	r.references++
	n := r.add(insert{reference: &Reference{Kind: Upload, Text: string(address), Name: string(m[1])}})
	return fmt.Appendf(nil, "%s-%d.", r.secret, n)
}

// refer puts references in the place of the text that names them. Marks that turned out to be none cut a text into
// several: those are read as one.
func (r *run) refer(t *ast.Text, source []byte, read map[*ast.Text]bool) {
	r.check()
	parent, end := t.Parent(), t
	for !end.SoftLineBreak() && !end.HardLineBreak() {
		next, ok := end.NextSibling().(*ast.Text)
		if !ok || next.Segment.Start != end.Segment.Stop {
			break
		}
		end = next
		read[end] = true
	}
	from, to := t.Segment.Start, end.Segment.Stop
	content := string(source[from:to])
	before := ' '
	if from > 0 {
		before, _ = utf8.DecodeLastRune(source[:from])
	}
	var parts []ast.Node
	last := 0
	for at := 0; r.references < maxReferences; {
		r.check()
		ref, start, stop, found := scan(content, at, before)
		if !found {
			break
		}
		if start > last {
			parts = append(parts, ast.NewTextSegment(text.NewSegment(from+last, from+start)))
		}
		r.references++
		if ref.Kind == Mention && strings.Trim(string(source[r.addressed:from+start]), " \t\r\n,") == "" {
			ref.Direct, r.addressed = true, from+stop
		}
		parts = append(parts, &put{n: r.add(insert{reference: &ref, from: from + start, to: from + stop})})
		at, last = stop, stop
	}
	if len(parts) == 0 {
		return
	}
	tail := ast.NewTextSegment(text.NewSegment(from+last, to))
	tail.SetSoftLineBreak(end.SoftLineBreak())
	tail.SetHardLineBreak(end.HardLineBreak())
	for _, n := range append(parts, tail) {
		parent.InsertBefore(parent, t, n)
	}
	for n := ast.Node(t); n != nil; {
		next := n.NextSibling()
		parent.RemoveChild(parent, n)
		if n == ast.Node(end) {
			break
		}
		n = next
	}
}

// put is where something is put in after cleaning.
type put struct {
	ast.BaseInline
	n int
}

var kindPut = ast.NewNodeKind("Put")

func (*put) Kind() ast.NodeKind            { return kindPut }
func (p *put) Dump(source []byte, lvl int) { ast.DumpHelper(p, source, lvl, nil, nil) }

// alerts are quotes that begin with a mark such as [!note], and what each is called.
var alerts = map[string]string{"note": "Note", "tip": "Tip", "important": "Important", "warning": "Warning", "caution": "Caution"}

// alert makes a quote that begins with [!kind] an alert of that kind. What follows the mark on its line is its title.
func alert(q *ast.Blockquote, source []byte) {
	p, ok := q.FirstChild().(*ast.Paragraph)
	if !ok || p.Lines().Len() == 0 {
		return
	}
	first := p.Lines().At(0)
	line := strings.TrimSpace(string(first.Value(source)))
	mark, title, closed := strings.Cut(line, "]")
	kind := strings.ToLower(strings.TrimPrefix(mark, "[!"))
	name := alerts[kind]
	if !closed || !strings.HasPrefix(mark, "[!") || name == "" {
		return
	}
	if title = strings.TrimSpace(title); title == "" || len(title) > maxName {
		title = name
	}
	for n := p.FirstChild(); n != nil; { // all of the first line
		next := n.NextSibling()
		t, isText := n.(*ast.Text)
		p.RemoveChild(p, n)
		if isText && (t.SoftLineBreak() || t.HardLineBreak()) {
			break
		}
		n = next
	}
	q.SetAttributeString("class", []byte("alert alert-"+kind))
	q.SetAttributeString("data-title", []byte(title))
	if p.ChildCount() == 0 {
		q.RemoveChild(q, p)
	}
}

// writer writes what is ours, and looks at the clock.
type writer struct{}

func (w *writer) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(kindPut, w.put)
	to.Register(ast.KindBlockquote, w.quote)
	to.Register(ast.KindFencedCodeBlock, w.fenced)
	to.Register(more.KindTaskCheckBox, w.box)
}

func runOf(n ast.Node) *run {
	r := n.OwnerDocument().Meta()["run"].(*run)
	r.step(1000)
	return r
}

func (*writer) put(to util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = fmt.Fprintf(to, "%s-%d.", runOf(n).secret, n.(*put).n)
	}
	return ast.WalkContinue, nil
}

// box is the mark of a task. Nobody else puts a field of a form into a text.
func (*writer) box(to util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		box := `<input type="checkbox" disabled> `
		if n.(*more.TaskCheckBox).IsChecked {
			box = `<input type="checkbox" checked disabled> `
		}
		r := runOf(n)
		_, _ = fmt.Fprintf(to, "%s-%d.", r.secret, r.add(insert{html: box}))
	}
	return ast.WalkContinue, nil
}

func (*writer) quote(to util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	class, isAlert := n.AttributeString("class")
	switch {
	case !isAlert && entering:
		_, _ = to.WriteString("<blockquote>\n")
	case !isAlert:
		_, _ = to.WriteString("</blockquote>\n")
	case entering:
		title, _ := n.AttributeString("data-title")
		_, _ = fmt.Fprintf(to, "<div class=\"%s\">\n<p class=\"alert-title\">%s</p>\n", class, html.EscapeString(string(title.([]byte))))
	default:
		_, _ = to.WriteString("</div>\n")
	}
	return ast.WalkContinue, nil
}

func (*writer) fenced(to util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.FencedCodeBlock)
	r := runOf(n)
	var code strings.Builder
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		code.Write(line.Value(source))
	}
	language := string(block.Language(source))
	if language == "math" {
		_, _ = fmt.Fprintf(to, "%s-%d.\n", r.secret, r.add(insert{html: Formula(code.String(), true)}))
		return ast.WalkSkipChildren, nil
	}
	_, _ = to.WriteString("<pre><code")
	if language != "" {
		_, _ = to.WriteString(` class="language-` + html.EscapeString(language) + `"`)
	}
	_, _ = to.WriteString(">" + html.EscapeString(code.String()) + "</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

// watch looks at the clock between the marks of a text. The parser cannot be told to stop.
type watch struct{}

func (*watch) Trigger() []byte { return []byte("*_[`<~!") }

func (*watch) Parse(_ ast.Node, _ text.Reader, pc parser.Context) ast.Node {
	pc.Get(runKey).(*run).step(100)
	return nil
}

// formulas reads $`…`$ in a line.
type formulas struct{}

func (*formulas) Trigger() []byte { return []byte{'$'} }

func (*formulas) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	r := pc.Get(runKey).(*run)
	r.check()
	line, _ := block.PeekLine()
	inside, ok := bytes.CutPrefix(line, []byte("$`"))
	if !ok {
		return nil
	}
	formula, _, closed := bytes.Cut(inside, []byte("`$"))
	if !closed || len(formula) == 0 {
		return nil
	}
	block.Advance(len(formula) + 4)
	return &put{n: r.add(insert{html: Formula(string(formula), false)})}
}
