// Package artifact owns what jobs leave behind: their logs, while they run
// and afterwards, and the files that they hand in. It keeps the bytes, their
// checksums and their expiry, hides secrets in logs, reads single files of an
// archive, and understands the reports that others show.
//
// It does not own jobs (pipeline) nor the endpoints: whoever asks has been
// judged before. It knows a project and a job by their ids alone.
//
// Tables: job_logs, job_log_chunks, job_artifacts, job_test_reports.
package artifact

import (
	"cmp"
	"slices"
	"time"
)

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

// Audience is who may read a file, of those who may see the job.
type Audience string

const (
	Everyone    Audience = "all"
	Developers  Audience = "developer"
	Maintainers Audience = "maintainer"
	Nobody      Audience = "none"
)

// audiences are all of them, each smaller than the one before.
var audiences = []Audience{Everyone, Developers, Maintainers, Nobody}

// Smaller is the smaller of two audiences. One that is not known is nobody, and
// none at all is everyone.
func Smaller(a, b Audience) Audience {
	rank := func(a Audience) int {
		i := slices.Index(audiences, cmp.Or(a, Everyone))
		if i < 0 {
			i = len(audiences) - 1
		}
		return i
	}
	return audiences[max(rank(a), rank(b))]
}

// types are the kinds of files that jobs hand in, one of each.
var types = []string{
	Archive, "metadata", JUnit, Dotenv, "accessibility", "annotations", "api_fuzzing", "browser_performance", "cluster_image_scanning", "cobertura",
	"codequality", "container_scanning", "coverage_fuzzing", "cyclonedx", "dast", "dependency_scanning", "jacoco", "license_scanning",
	"load_performance", "lsif", "metrics", "performance", "repository_xray", "requirements", "requirements_v2", "sast", "secret_detection", "terraform",
}

// CheckType refuses a type of files that jobs do not hand in.
func CheckType(kind string) error {
	if slices.Contains(types, kind) {
		return nil
	}
	return errType
}

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
	Access    Audience
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
	Name   string
	JobID  int64
	Counts Counts
	Cases  []Case // some of them, those that failed first
	Error  string // why the report could not be read
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
	// Attachment is a path in the job's archive.
	Attachment string
}
