// Package artifact owns what jobs leave behind: their logs, while they run
// and afterwards, and the files that they hand in. It keeps the bytes, their
// checksums and their expiry, hides secrets in logs, reads single files of an
// archive, and understands the reports that others show.
//
// It does not own jobs (pipeline) nor the endpoints: whoever asks has been
// judged before. It knows a project and a job by their ids alone.
//
// Tables: job_logs, job_log_chunks, job_artifacts.
package artifact

import "time"

// Format is how a file is packed.
type Format string

const (
	Zip  Format = "zip"
	Gzip Format = "gzip"
	Raw  Format = "raw"
)

// Types of files that the room itself reads. Others are kept as they are.
const (
	Archive = "archive"
	JUnit   = "junit"
	Dotenv  = "dotenv"
)

// File is a file that a job handed in.
type File struct {
	ID        int64
	ProjectID int64
	JobID     int64
	Type      string // archive, junit, dotenv, ...
	Format    Format
	Filename  string
	Size      int64
	SHA256    []byte
	Public    bool
	Kept      bool           // it does not expire
	Locked    bool           // given to Store: it does not expire before Unlock
	ExpireIn  *time.Duration // given to Store; nil never expires
	ExpireAt  *time.Time
	CreatedAt time.Time

	key string // of the blob
}

// Entry is one file of an archive.
type Entry struct {
	Name string
	Size int64
	// ContentType is one that a browser does not run, whatever is in the file.
	ContentType string
}

// Pair is a variable that a job handed in for those that follow it.
type Pair struct{ Key, Value string }

// Report is what test reports say, by suite.
type Report struct{ Suites []Suite }

// Suite is the tests of one job, or of one suite of it.
type Suite struct {
	Name  string
	JobID int64
	Cases []Case
	Error string // why the report could not be read
}

// Outcome of a test.
type Outcome string

const (
	Passed  Outcome = "success"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
	Errored Outcome = "error"
)

// Case is one test.
type Case struct {
	Name      string
	Classname string
	File      string
	Outcome   Outcome
	Seconds   float64
	Output    string // why it failed or was left out
	// SystemOutput is what the test printed.
	SystemOutput string
	Attachment   string // path in the job's archive
}
