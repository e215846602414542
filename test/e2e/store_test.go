package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"stithy/internal/platform/postgres"
)

// gateway is the S3 server of the tests, which checks signatures as the large ones do: the one on PATH, or the one that
// `make tools` builds.
var gateway = sync.OnceValues(func() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	built, err := filepath.Abs(filepath.Join(root, "bin", "tools", "versitygw"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(built); err != nil {
		return "", fmt.Errorf("no versitygw: run make tools: %w", err)
	}
	return built, nil
})

// bucketStore is a bucket behind a line that can be cut.
type bucketStore struct {
	*toxiproxy.Proxy
	t      *testing.T
	client *minio.Client // past the line
	url    string        // through it
}

const bucketName = "blobs"

func newBucket(t *testing.T) *bucketStore {
	t.Helper()
	path, err := gateway()
	if err != nil {
		t.Fatal(err)
	}
	key, secret := "e2e", rand.Text()
	address, log := freeAddress(t), &capture{}
	run := exec.Command(path, "--port", address, "--access", key, "--secret", secret, "--quiet", "posix", "--sidecar", t.TempDir(), t.TempDir())
	run.Stdout, run.Stderr = log, log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("log of the store:\n%s", log)
		}
	})
	b := &bucketStore{t: t}
	b.client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "the store has a bucket", func() bool {
		there, err := b.client.BucketExists(t.Context(), bucketName)
		if err == nil && !there {
			err = b.client.MakeBucket(t.Context(), bucketName, minio.MakeBucketOptions{Region: "us-east-1"})
		}
		return err == nil
	})
	line := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	b.Proxy = toxiproxy.NewProxy(line, bucketName, freeAddress(t), address)
	b.mend()
	t.Cleanup(b.Stop)
	b.url = "s3://" + key + ":" + secret + "@" + b.Listen + "/" + bucketName + "?tls=false&region=us-east-1"
	return b
}

// cut ends every connection to the store and refuses new ones.
func (b *bucketStore) cut() { b.Stop() }

func (b *bucketStore) mend() {
	b.t.Helper()
	if err := b.Start(); err != nil {
		b.t.Fatal(err)
	}
}

// has reports how large an object is; -1 when there is none.
func (b *bucketStore) has(key string) int64 {
	o, err := b.client.StatObject(b.t.Context(), bucketName, key, minio.StatObjectOptions{})
	if err != nil {
		return -1
	}
	return o.Size
}

// hand is a runner that a test plays itself, call by call.
type hand struct {
	f     *forge
	token string
}

func (f *forge) hand() *hand {
	f.t.Helper()
	var made struct{ Token string }
	if got := f.asRoot(http.MethodPost, "/user/runners", map[string]string{"runner_type": "instance_type", "run_untagged": "true"}, &made); got != http.StatusCreated {
		f.t.Fatalf("creating a runner: %d", got)
	}
	return &hand{f, f.secret(made.Token)}
}

// held is a job that a hand has taken.
type held struct {
	f     *forge
	ID    int64
	Token string
	said  int
}

type said struct {
	status int
	body   string
	header http.Header
}

func (f *forge) speak(method, path string, body io.Reader, header map[string]string) said {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v4"+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return said{resp.StatusCode, string(text), resp.Header}
}

// take waits for a job.
func (h *hand) take() *held {
	h.f.t.Helper()
	j := &held{f: h.f}
	eventually(h.f.t, patience, "there is a job", func() bool {
		body, _ := json.Marshal(map[string]any{"token": h.token, "info": map[string]any{"features": map[string]bool{"upload_multiple_artifacts": true}}})
		got := h.f.speak(http.MethodPost, "/jobs/request", bytes.NewReader(body), map[string]string{"Content-Type": "application/json"})
		if got.status != http.StatusCreated {
			return false
		}
		if err := json.Unmarshal([]byte(got.body), j); err != nil {
			h.f.t.Fatal(err)
		}
		h.f.secret(j.Token)
		return true
	})
	return j
}

func (j *held) path(below string) string { return "/jobs/" + strconv.FormatInt(j.ID, 10) + below }

// say appends to the log.
func (j *held) say(text string) {
	j.f.t.Helper()
	got := j.f.speak(http.MethodPatch, j.path("/trace"), strings.NewReader(text), map[string]string{
		"Job-Token": j.Token, "Content-Range": fmt.Sprintf("%d-%d", j.said, j.said+len(text)-1), "Content-Type": "text/plain",
	})
	if got.status != http.StatusAccepted {
		j.f.t.Fatalf("a piece of the log: %+v", got)
	}
	j.said += len(text)
}

// leave hands in an archive; between the two halves of it something may happen.
func (j *held) leave(archive []byte, between func()) said {
	j.f.t.Helper()
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		part, err := form.CreateFormFile("file", "artifacts.zip")
		if err == nil {
			_, err = part.Write(archive[:len(archive)/2])
		}
		if between != nil {
			between()
		}
		if err == nil {
			_, err = part.Write(archive[len(archive)/2:])
		}
		if err == nil {
			err = form.Close()
		}
		_ = to.CloseWithError(err)
	}()
	return j.f.speak(http.MethodPost, j.path("/artifacts?artifact_type=archive&artifact_format=zip"), body, map[string]string{
		"Job-Token": j.Token, "Content-Type": form.FormDataContentType(),
	})
}

func (j *held) succeed() {
	j.f.t.Helper()
	body := fmt.Sprintf(`{"token":%q,"state":"success","output":{"bytesize":%d}}`, j.Token, j.said)
	if got := j.f.speak(http.MethodPut, j.path(""), strings.NewReader(body), map[string]string{"Content-Type": "application/json"}); got.status != http.StatusOK {
		j.f.t.Fatalf("the end of a job: %+v", got)
	}
}

// archiveOf is a zip with one file that does not pack.
func archiveOf(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	entry, err := z.CreateHeader(&zip.FileHeader{Name: "out/noise", Method: zip.Store})
	if err == nil {
		_, err = io.CopyN(entry, rand.Reader, int64(size))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func logObject(job int64) string { return fmt.Sprintf("logs/%03d/%d", job%1000, job) }

const storeWords = "The store of files cannot be reached. Try again in a minute"

// Logs, files and large files lie in a bucket. When the store is cut off in the middle, who sends hears that it was and
// what to do, and all that was acknowledged is there when it is back.
func TestDL11_AStoreThatIsCutOffLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	store := newBucket(t)
	f := start(t, "STITHY_BLOB_URL="+store.url)
	f.secret(store.url)
	project := f.project("tool")
	dir := f.tree()
	f.commit(dir, ciFile, "first: {stage: build, script: [x]}\nsecond: {stage: test, script: [x]}\n")
	f.mustGit(dir, nil, "push", f.remote("tool"), "HEAD:refs/heads/main")
	h := f.hand()
	fetch := func(job *held, below string) said {
		t.Helper()
		return f.speak(http.MethodGet, fmt.Sprintf("/projects/%d/jobs/%d/%s", project, job.ID, below), nil, map[string]string{"Private-Token": f.token})
	}

	// All is well: more than one part of an upload, and the log becomes an object.
	first, archive := h.take(), archiveOf(t, 20<<20)
	first.say("one\n")
	if got := first.leave(archive, nil); got.status != http.StatusCreated {
		t.Fatalf("handing in: %+v", got)
	}
	first.succeed()
	eventually(t, patience, "the log is an object", func() bool { return store.has(logObject(first.ID)) == 4 })
	if got := fetch(first, "artifacts"); got.status != http.StatusOK || got.body != string(archive) {
		t.Errorf("the archive: %d, %d bytes", got.status, len(got.body))
	}
	if got := fetch(first, "artifacts/out/noise"); got.status != http.StatusOK || len(got.body) != 20<<20 {
		t.Errorf("a file of the archive: %d, %d bytes", got.status, len(got.body))
	}
	if got := f.trace(project, first.ID); got != "one\n" {
		t.Errorf("the log is %q", got)
	}

	// Cut in the middle of an upload: it fails, says so, and works when it is sent again.
	second := h.take()
	second.say("begins\n")
	got := second.leave(archive, store.cut)
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, storeWords) || got.header.Get("Retry-After") == "" {
		t.Errorf("an upload that was cut: %+v", got)
	}
	second.say("goes on without a store\n")
	for _, below := range []string{"artifacts", "artifacts/out/noise", "trace"} {
		if got := fetch(first, below); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, storeWords) {
			t.Errorf("GET %s while the store is gone: %d %.300s", below, got.status, got.body)
		}
	}
	if got := fetch(second, "artifacts"); got.status != http.StatusNotFound {
		t.Errorf("half an archive is there: %d", got.status)
	}
	store.mend()
	if got := second.leave(archive, nil); got.status != http.StatusCreated {
		t.Fatalf("the same upload again: %+v", got)
	}

	// Cut while a job ends: what it said is readable, and archived when the store is back.
	store.cut()
	second.say("ends\n")
	second.succeed()
	const whole = "begins\ngoes on without a store\nends\n"
	db := f.open()
	eventually(t, patience, "archiving was tried in vain", func() bool {
		tries, err := postgres.Value[int](t.Context(), db,
			`select count(*) from river_job where kind = 'job_log_archive' and args->>'job_id' = $1 and state <> 'completed' and array_length(errors, 1) > 0`,
			strconv.FormatInt(second.ID, 10))
		return err == nil && tries > 0
	})
	if got := f.trace(project, second.ID); got != whole {
		t.Errorf("the log while the store is gone: %q", got)
	}
	store.mend()
	eventually(t, converges, "the log is an object after all", func() bool { return store.has(logObject(second.ID)) == int64(len(whole)) })
	eventually(t, patience, "its rows are gone", func() bool {
		left, err := postgres.Value[int](t.Context(), db, `select count(*) from job_log_chunks where job_id = $1`, second.ID)
		return err == nil && left == 0
	})
	if got := f.trace(project, second.ID); got != whole {
		t.Errorf("the log is %q", got)
	}
	for _, job := range []*held{first, second} {
		if got := fetch(job, "artifacts"); got.status != http.StatusOK || got.body != string(archive) {
			t.Errorf("the archive of job %d: %d, %d bytes", job.ID, got.status, len(got.body))
		}
	}
}
