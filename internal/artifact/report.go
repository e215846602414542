package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/blob"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
)

const (
	// Of one answer about a pipeline.
	maxShownCases = 10_000
	maxShownText  = 8 << 20
	// readAtOnce is how many reports are read for one who asks. The others are
	// read by jobs.
	readAtOnce = 20
	// maxReports is as many as a pipeline may have jobs.
	maxReports = 5000
	// maxReportError is as long as a reason may be.
	maxReportError = 500
)

// errUnread is what a report says of itself until it is read.
const errUnread = "The report has not been read yet. Try again in a minute."

// Counts are how many tests ended how, and how long all took.
type Counts struct {
	Passed, Failed, Skipped, Errored int
	Seconds                          float64
}

func (c *Counts) add(t *Case) {
	c.Seconds += t.Seconds
	switch t.Outcome {
	case Failed:
		c.Failed++
	case Skipped:
		c.Skipped++
	case Errored:
		c.Errored++
	default:
		c.Passed++
	}
}

// All is how many tests there are.
func (c Counts) All() int { return c.Passed + c.Failed + c.Skipped + c.Errored }

// outcomes is the order that tests are shown in.
var outcomes = []Outcome{Errored, Failed, Passed, Skipped}

func casesKey(f File) string { return f.key + ".cases" }

// ReportArgs asks for a test report to be read.
type ReportArgs struct {
	FileID int64 `json:"file_id"`
}

// Kind names the job.
func (ReportArgs) Kind() string { return "job_test_report" }

// Apart keeps reports from holding up other work.
func (ReportArgs) Apart() (queue string, share int64) { return jobqueue.Reports, 0 }

// reportRow is a report, and what was found in it when it was read.
type reportRow struct {
	fileRow
	Passed, Failed, Skipped, Errored *int
	Seconds                          *float64
	Error                            *string
}

// suite is what is known of a report that was read.
func (r *reportRow) suite() Suite {
	return Suite{
		JobID: r.JobID, Error: *r.Error,
		Counts: Counts{Passed: *r.Passed, Failed: *r.Failed, Skipped: *r.Skipped, Errored: *r.Errored, Seconds: *r.Seconds},
	}
}

// TestReport is what those test reports of jobs say that somebody may read, one
// suite for each; with some of their cases if they are wanted, those that
// failed first. One that cannot be read says so and hides no other.
func (s *Service) TestReport(ctx context.Context, may func(Audience) bool, cases bool, jobIDs ...int64) (Report, error) {
	var report Report
	rows, err := postgres.All[reportRow](ctx, s.deps.DB, sqlReports, jobIDs, s.deps.Clock.Now(), maxReports)
	if err != nil {
		return report, err
	}
	read, left, room := 0, maxShownCases, maxShownText
	for _, r := range rows {
		f := r.file()
		if !may(f.Access) {
			continue
		}
		var suite Suite
		switch {
		case r.Error != nil:
			suite = r.suite()
		case read < readAtOnce:
			read++
			if suite, err = s.readReport(ctx, f); err != nil {
				return report, err
			}
		default:
			suite = Suite{JobID: f.JobID, Error: errUnread}
			if err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
				return s.deps.Queue.Insert(ctx, tx, ReportArgs{FileID: f.ID}, jobqueue.Unique())
			}); err != nil {
				return report, err
			}
		}
		if cases && left > 0 && room > 0 && suite.Counts.All() > 0 {
			if suite.Cases, err = s.cases(ctx, f, left, &room); err != nil {
				return report, err
			}
			left -= len(suite.Cases)
		}
		report.Suites = append(report.Suites, suite)
	}
	return report, nil
}

// cases reads the first cases of a report that was read.
func (s *Service) cases(ctx context.Context, f File, most int, room *int) ([]Case, error) {
	body, err := s.deps.Blobs.Open(ctx, casesKey(f), 0, -1)
	if err != nil {
		return nil, fmt.Errorf("the cases of a test report: %w", told(err))
	}
	defer func() { _ = body.Close() }()
	var all []Case
	for d := json.NewDecoder(body); len(all) < most && *room > 0 && d.More(); {
		var c Case
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("the cases of a test report: %w", told(err))
		}
		*room -= len(c.Name) + len(c.Classname) + len(c.File) + len(c.Output) + len(c.Attachment)
		all = append(all, c)
	}
	return all, nil
}

// ReadReport reads a test report, once, and keeps what it says.
func (s *Service) ReadReport(ctx context.Context, fileID int64) error {
	r, err := postgres.One[reportRow](ctx, s.deps.DB, sqlReport, fileID)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && r.Error != nil) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.readReport(ctx, r.file())
	return err
}

// readReport reads a report that has not been read: few at a time, each by one.
func (s *Service) readReport(ctx context.Context, f File) (Suite, error) {
	leave, err := s.enter(ctx, f)
	if err != nil {
		return Suite{}, err
	}
	defer leave()
	if r, err := postgres.One[reportRow](ctx, s.deps.DB, sqlReport, f.ID); err == nil && r.Error != nil {
		return r.suite(), nil // by somebody else meanwhile
	}
	body, err := s.deps.Blobs.Open(ctx, f.key, 0, -1)
	if err != nil {
		return Suite{}, s.lost(ctx, f, err)
	}
	suite := Suite{JobID: f.JobID}
	cases, err := readJUnit(ctx, f.Format, body)
	_ = body.Close()
	switch {
	case errors.Is(err, blob.ErrUnavailable), ctx.Err() != nil:
		return Suite{}, told(errors.Join(err, ctx.Err()))
	case err != nil:
		suite.Error = clip("JUnit XML parsing failed: "+strings.ToValidUTF8(err.Error(), "\ufffd"), maxReportError)
	}
	for i := range cases {
		suite.Counts.add(&cases[i])
	}
	sorting.Stably(cases, func(a, b Case) int { return slices.Index(outcomes, a.Outcome) - slices.Index(outcomes, b.Outcome) })
	next := 0
	var line bytes.Buffer
	lines := pieces(func([]byte) []byte {
		line.Reset()
		if next < len(cases) {
			_ = json.NewEncoder(&line).Encode(&cases[next]) // texts and numbers always have a form
			next++
		}
		return line.Bytes()
	})
	if err := s.deps.Blobs.Put(ctx, casesKey(f), lines, -1); err != nil {
		return Suite{}, fmt.Errorf("storing what a test report says: %w", told(err))
	}
	c := suite.Counts
	if _, err := s.deps.DB.Exec(ctx, sqlReportRead, f.ID, c.Passed, c.Failed, c.Skipped, c.Errored, c.Seconds, suite.Error, s.deps.Clock.Now()); err != nil {
		return Suite{}, err
	}
	return suite, s.beside(ctx, f)
}
