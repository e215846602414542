package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/lifecycle"
)

// NoContent is an empty reply: 204, or the status that the endpoint declares if
// that is not 200.
type NoContent struct{}

// EmptyBody is an empty reply with the endpoint's own status, 200 included.
type EmptyBody struct{}

// NothingAvailable is 204 from an endpoint that otherwise returns a body, such
// as a runner's request for a job.
type NothingAvailable struct{}

// DryRun is the reply of an endpoint that creates, when it was only asked
// whether it could.
type DryRun[T any] struct{ Body T }

func (d DryRun[T]) instead() (int, any) { return http.StatusOK, d.Body }

// NothingCreated is 202 from a creating endpoint that carried out the request
// without creating anything.
type NothingCreated[T any] struct{ Body T }

func (n NothingCreated[T]) instead() (int, any) { return http.StatusAccepted, n.Body }

// Accepted is the body of a reply whose work goes on after the answer.
type Accepted struct {
	Message string `json:"message"`
}

// WorkAccepted is what v4 says of work that was only queued.
func WorkAccepted() Accepted { return Accepted{Message: "202 Accepted"} }

// Time is a moment as v4 writes it: UTC, to the millisecond.
type Time time.Time

// MarshalJSON writes the moment.
func (t Time) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(make([]byte, 0, 26), `"2006-01-02T15:04:05.000Z"`), nil
}

// At is an optional moment.
func At(t *time.Time) *Time { return (*Time)(t) }

// Date is a day as v4 writes it.
type Date time.Time

// MarshalJSON writes the day.
func (d Date) MarshalJSON() ([]byte, error) {
	return time.Time(d).AppendFormat(make([]byte, 0, 12), `"2006-01-02"`), nil
}

// Day is an optional day.
func Day(t *time.Time) *Date { return (*Date)(t) }

type buffer struct {
	bytes.Buffer
	enc *json.Encoder
}

// buffers saves the hot path an encoder and its growing buffer per answer.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{pool: sync.Pool{New: func() any {
		b := &buffer{}
		b.enc = json.NewEncoder(&b.Buffer)
		return b
	}}}
}

// put keeps a buffer for the next answer, unless it is one of the few that are large.
func (b *buffers) put(used *buffer) {
	if used.Cap() <= largeAnswer {
		b.pool.Put(used)
	}
}

// write presents what a handler returned.
func (x *Request) write(ctx context.Context, reply any) error {
	var err error
	for {
		switch r := reply.(type) {
		case headed:
			body, own := r.headed()
			setHeaders(x.W.Header(), own)
			reply = body
		case either:
			if reply, err = formOf(r); err != nil {
				return err
			}
		default:
			return x.s.dialect.Write(ctx, x, reply)
		}
	}
}

func writeV4(ctx context.Context, x *Request, reply any) error {
	status := x.Endpoint.Status
	if s, ok := reply.(Stream); ok {
		return x.stream(ctx, s)
	}
	if w, ok := reply.(waiting); ok {
		return x.wait(ctx, w.untyped())
	}
	if n, ok := reply.(interface{ instead() (int, any) }); ok {
		status, reply = n.instead()
	}
	if _, none := reply.(NothingAvailable); none {
		x.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	if _, empty := reply.(NoContent); empty {
		if status == http.StatusOK {
			status = http.StatusNoContent
		}
		x.W.WriteHeader(status)
		return nil
	}
	if _, bare := reply.(EmptyBody); bare {
		x.W.WriteHeader(status)
		return nil
	}
	if list, ok := reply.(lister); ok {
		var err error
		if reply, err = bare(list.items()); err != nil {
			return err
		}
		list.position().writeHeaders(x.W.Header(), x.here())
	}
	buf := x.s.buffers.pool.Get().(*buffer)
	defer x.s.buffers.put(buf)
	buf.Reset()
	if err := buf.enc.Encode(reply); err != nil {
		return err
	}
	body := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if len(body) > largeAnswer {
		release, err := x.take(ctx, x.s.large)
		if err != nil {
			return err
		}
		defer release()
	}
	h := x.W.Header()
	h["Content-Type"] = jsonType
	if status == http.StatusOK && (x.R.Method == http.MethodGet || x.R.Method == http.MethodHead) {
		tag := append(strconv.AppendUint([]byte(`W/"`), xxhash.Sum64(body), 16), '"')
		h["Etag"] = []string{string(tag)}
		h["Cache-Control"] = revalidate
		if matches(x.R.Header.Get("If-None-Match"), string(tag)) {
			x.W.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.W.WriteHeader(status)
	_, _ = x.W.Write(body)
	return nil
}

// A large reply stays in memory until the client has read it, so at most
// largeAnswers are sent at once, and one caller may have at most half of them.
const (
	largeAnswer  = 512 << 10 // bytes; replies above this are large
	largeAnswers = 32
	largeWait    = time.Second
	largeRate    = 32 << 10 // bytes a second that keep whoever has such a slot from being cut
)

// take waits briefly for a slot for something large that is held in memory.
func (x *Request) take(ctx context.Context, slots *fairshare.Slots) (release func(), err error) {
	ctx, cancel := context.WithTimeout(fairshare.With(ctx, x.Actor.Caller()), largeWait)
	defer cancel()
	if release, err = slots.Take(ctx, ""); err != nil {
		x.W.Header().Set("Retry-After", "10")
		return nil, fault.New(fault.TooMany)
	}
	lifecycle.Hurry(x.R, largeRate)
	return release, nil
}

var (
	jsonType   = []string{"application/json"}
	revalidate = []string{"max-age=0, private, must-revalidate"}
)

func matches(ifNoneMatch, tag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		if candidate = strings.TrimSpace(candidate); candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}
