package ci

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/joblog"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/web/page"
)

const (
	// windowBytes bounds what is read for a window: far more than its lines have,
	// but for such that overwrite themselves all the time.
	windowBytes = 40 << 20
	// searchBytes is how much of a log one search reads. The next goes on there.
	searchBytes = 8 << 20
	searchHits  = 20
	maxWords    = 200
)

// logBody is a part of a log, and the way to the others.
type logBody struct {
	Lines                      []byte // as HTML
	First, Last                int64
	Total                      int64
	Stamped                    bool // lines say when they were written
	Job                        page.URL
	Begin, Earlier, Later, End page.URL
	Raw, Download              page.URL
	Follow                     page.URL // where new lines come from; empty when none will
	Next                       int64    // the line that is asked for there
	Search                     *logSearch
}

// logSearch is what was found in a log.
type logSearch struct {
	Words   string
	Hits    []logHit
	From    int64
	Until   int64
	More    page.URL // the next hits
	MoreFor string   // what that is called
}

type logHit struct {
	Number int64
	Text   string
	URL    page.URL
}

// logPart is the part of a job's log that was asked for: around a line, from or
// until one, or else the end. It is nil where there is none.
func logPart(x *request, j *pipeline.Job) (*logBody, error) {
	ctx := x.Context()
	index, err := x.deps.Artifacts.LogIndex(ctx, j.ID)
	if err != nil || (index.Lines == 0 && j.Status != pipeline.Running) {
		return nil, err
	}
	path := jobPath(x, j.ID)
	body := &logBody{Job: x.Link(path), Total: index.Lines, Raw: x.Link(path + "/raw"), Download: x.Link(path + "/raw?download=1")}
	if body.Search, err = searchLog(x, j.ID, path, index); err != nil {
		return nil, err
	}
	w, asked := askedWindow(x, index.Lines, body.Search)
	at, _, err := x.deps.Artifacts.ReadLines(ctx, j.ID, index.Before(w.First()), windowBytes, w.Take)
	if err != nil {
		return nil, err
	}
	body.Lines = w.HTML() // every byte of a log is escaped in there, see TestCI14_NothingInALogActs
	body.First, body.Last = w.Shown()
	body.Stamped = w.Stamped() || j.Status == pipeline.Running // its first lines may come later
	body.Total = max(body.Total, body.Last)
	line := func(name string, n int64) page.URL { return x.Link(path + "?" + name + "=" + strconv.FormatInt(n, 10)) }
	if body.First > 1 {
		body.Begin, body.Earlier = line("from", 1), line("until", body.First-1)+page.URL("#L"+strconv.FormatInt(body.First-1, 10))
	}
	if body.Last < body.Total {
		body.Later, body.End = line("from", body.Last+1), body.Job
	}
	if !j.Status.Complete() && !asked {
		body.Follow, body.Next = x.Link(path+"/log"), goesOn(at, body.Last)
	}
	return body, nil
}

// goesOn is the line that is asked for next: one that did not fit, or one that
// may not be whole yet.
func goesOn(at joblog.State, last int64) int64 { return min(at.Line, last+1) }

// askedWindow is the part of a log that the query names, and whether it names
// one.
func askedWindow(x *request, lines int64, found *logSearch) (w *joblog.Window, asked bool) {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(x.Form.Get(name), 10, 64)
		if err != nil || n < 1 {
			return 0
		}
		return min(n, max(1, lines))
	}
	if n := number("line"); n > 0 {
		return joblog.Around(n), true
	}
	if n := number("from"); n > 0 {
		return joblog.From(n), true
	}
	if n := number("until"); n > 0 {
		return joblog.Until(n), true
	}
	if found != nil && len(found.Hits) > 0 {
		return joblog.Around(found.Hits[0].Number), true
	}
	return joblog.Until(max(1, lines)), found != nil
}

// searchLog looks for words from a line on. It is nil when none were asked for.
func searchLog(x *request, jobID int64, path string, index joblog.Index) (*logSearch, error) {
	words := strings.TrimSpace(x.Form.Get("q"))
	if words == "" || len(words) > maxWords {
		return nil, nil
	}
	from, err := strconv.ParseInt(x.Form.Get("after"), 10, 64)
	if err != nil || from < 0 {
		from = 0
	}
	s := joblog.NewSearch(words, from+1, searchHits)
	_, more, err := x.deps.Artifacts.ReadLines(x.Context(), jobID, index.Before(from+1), searchBytes, s.Take)
	if err != nil {
		return nil, err
	}
	found := &logSearch{Words: words, From: from + 1, Until: s.Seen}
	query := func(also string, n int64) page.URL {
		return x.Link(path + "?" + url.Values{"q": {words}, also: {strconv.FormatInt(n, 10)}}.Encode())
	}
	for _, h := range s.Hits {
		n := strconv.FormatInt(h.Number, 10)
		to := path + "?" + url.Values{"q": {words}, "after": {strconv.FormatInt(from, 10)}, "line": {n}}.Encode() + "#L" + n
		found.Hits = append(found.Hits, logHit{Number: h.Number, Text: h.Text, URL: x.Link(to)})
	}
	switch {
	case len(s.Hits) == searchHits && s.Seen < index.Lines:
		found.More, found.MoreFor = query("after", s.Seen), "Next hits"
	case more:
		found.More, found.MoreFor = query("after", s.Seen), "Search on"
	}
	return found, nil
}

// readable finds the job of a page for a reader who may see its log.
func readable(x *request) (*pipeline.Job, error) {
	j, err := build(x)
	if err == nil {
		err = x.deps.Pipelines.MayReadLog(x.Context(), x.Actor, x.Project, j)
	}
	return j, err
}

// followLog answers with the lines from one on, for the script of the page.
func followLog(x *request) error {
	j, err := readable(x)
	if err != nil {
		return err
	}
	from, err := strconv.ParseInt(x.Form.Get("from"), 10, 64)
	if err != nil || from < 1 {
		return fault.WithMessage(fault.BadParams, "from is not the number of a line.")
	}
	index, err := x.deps.Artifacts.LogIndex(x.Context(), j.ID)
	if err != nil {
		return err
	}
	w := joblog.From(from)
	at, _, err := x.deps.Artifacts.ReadLines(x.Context(), j.ID, index.Before(from), windowBytes, w.Take)
	if err != nil {
		return err
	}
	next := from
	if _, last := w.Shown(); last > 0 {
		next = goesOn(at, last)
	}
	x.Headers()
	h := x.W.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Log-Next", strconv.FormatInt(next, 10))
	h.Set("Job-Took", took(x, j.StartedAt, j.FinishedAt))
	if j.Status.Complete() {
		h.Set("Log-Ended", "1")
	}
	x.W.WriteHeader(http.StatusOK)
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write(w.HTML())
	}
	return nil
}

// rawLog is the log as it was written, as text that no browser runs.
func rawLog(x *request) error {
	j, err := readable(x)
	if err != nil {
		return err
	}
	body, size, err := x.deps.Artifacts.OpenLog(x.Context(), j.ID, 0)
	if err != nil {
		return err
	}
	if size == 0 {
		_ = body.Close()
		return fault.New(fault.NotFound)
	}
	return x.Send(body, size, "text/plain; charset=utf-8", "job-"+strconv.FormatInt(j.ID, 10)+".log", x.Form.Get("download") != "")
}

// words are what is looked for.
func (b *logBody) words() string {
	if b.Search == nil {
		return ""
	}
	return b.Search.Words
}

// shown says which lines are on the page.
func (b *logBody) shown() string {
	if b.First == 0 {
		return "No lines yet"
	}
	return fmt.Sprintf("Lines %d to %d of %d", b.First, b.Last, b.Total)
}

// summary says how many lines were found.
func (s *logSearch) summary() string {
	many := "No line has"
	switch len(s.Hits) {
	case 0:
	case 1:
		many = "1 line has"
	default:
		many = strconv.Itoa(len(s.Hits)) + " lines have"
	}
	return fmt.Sprintf("%s “%s” in lines %d to %d. ", many, s.Words, s.From, s.Until)
}
