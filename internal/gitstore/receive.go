package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stithy/internal/platform/failpoint"
)

// Push is one request of a pushing client.
type Push struct {
	Stateless bool // over HTTP: one request, one answer
	Advertise bool // the first request over HTTP: only say what there is
	In        io.Reader
	Out       io.Writer
	MaxSize   int64 // bytes of the pack; 0 is the store's limit

	// Approve is asked once, while the objects are in a quarantine, with everything that the client wants to change.
	// The text of a *RefusedError is shown to the client.
	Approve func(ctx context.Context, q Quarantine, updates []RefUpdate, options []string) error
	// Settle is told what became true, after git has ended and before the client hears of it. known is false when git
	// did not say. It is called after every approval.
	Settle func(ctx context.Context, moved []RefUpdate, known bool) (messages []string, err error)
}

// RefusedError is a refusal with a text for the person who pushes.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// What a client may ask of us. Pushes with a certificate and those that move
// refs one by one are not among it.
const receiveCapabilities = "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1 push-options agent=" + agent

// advertisePush says which refs there are, without a process.
func (r *Repo) advertisePush(ctx context.Context, out io.Writer, stateless bool) error {
	refs, err := r.visibleRefs(ctx, nil)
	if err != nil {
		return err
	}
	var b []byte
	if stateless {
		b = appendMark(appendLine(nil, "# service=", string(ReceivePack), "\n"), flush)
	}
	if len(refs) == 0 {
		refs = []Ref{{Name: "capabilities^{}", Target: Zero}}
	}
	for i, ref := range refs {
		if i == 0 {
			b = appendLine(b, string(ref.Target), " ", ref.Name, "\x00", receiveCapabilities, "\n")
		} else {
			b = appendLine(b, string(ref.Target), " ", ref.Name, "\n")
		}
	}
	_, err = out.Write(appendMark(b, flush))
	return err
}

// Limits of what a client may send before the pack.
const (
	maxUpdates    = 20_000
	maxOptions    = 50
	maxOptionSize = 2 << 10
)

// intent is what a client wants to change, read from the head of its request.
type intent struct {
	updates []RefUpdate
	shallow []OID
	options []string

	report, reportV2, sideband, quiet, wantsOptions bool
}

// readIntent reads commands and push options. No updates at all is a client
// that has nothing to say, or tries whether it is let in.
func readIntent(in *lines) (*intent, error) {
	t := &intent{}
	for {
		line, m, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && len(t.updates) == 0:
			return t, nil
		case err != nil:
			return nil, noEOF(err)
		case m == flush:
			return t, t.readOptions(in)
		case m != noMark:
			return nil, errRequest
		}
		if err := t.take(line); err != nil {
			return nil, err
		}
	}
}

func (t *intent) take(line []byte) error {
	command, capabilities, first := bytes.Cut(line, []byte{0})
	if id, ok := strings.CutPrefix(text(command), "shallow "); ok {
		if !IsOID(id) || len(t.shallow) >= maxUpdates {
			return errRequest
		}
		t.shallow = append(t.shallow, OID(id))
		return nil
	}
	said := text(command)
	if len(said) < 83 || said[40] != ' ' || said[81] != ' ' || !IsOID(said[:40]) || !IsOID(said[41:81]) {
		return errRequest
	}
	u := RefUpdate{Old: OID(said[:40]), New: OID(said[41:81]), Name: said[82:]}
	if strings.ContainsAny(u.Name, "\x00\n\r") || len(u.Name) > 1000 {
		return errRequest
	}
	if len(t.updates) >= maxUpdates {
		return &RefusedError{Text: "more than " + strconv.Itoa(maxUpdates) + " refs in one push"}
	}
	t.updates = append(t.updates, u)
	if first && len(t.updates) == 1 {
		return t.agree(text(capabilities))
	}
	return nil
}

func (t *intent) agree(capabilities string) error {
	for word := range strings.FieldsSeq(capabilities) {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "report-status":
			t.report = true
		case "report-status-v2":
			t.report, t.reportV2 = true, true
		case "side-band-64k":
			t.sideband = true
		case "quiet":
			t.quiet = true
		case "push-options":
			t.wantsOptions = true
		case "object-format":
			if value != "sha1" {
				return errRequest
			}
		case "push-cert":
			return errRequest
		}
	}
	return nil
}

// readOptions reads what came with git push -o. It never reaches git.
func (t *intent) readOptions(in *lines) error {
	if !t.wantsOptions || len(t.updates) == 0 {
		return nil
	}
	for {
		line, m, err := in.next()
		switch {
		case err != nil:
			return noEOF(err)
		case m == flush:
			return nil
		case m != noMark:
			return errRequest
		case len(t.options) >= maxOptions || len(line) > maxOptionSize:
			return &RefusedError{Text: "too many push options, or one that is too long"}
		}
		t.options = append(t.options, text(line))
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errLine
	}
	return err
}

// head is the request as git reads it: written anew, with what we want of git,
// whatever the client wants of us. All refs move, or none.
func (t *intent) head() []byte {
	var b []byte
	for _, id := range t.shallow {
		b = appendLine(b, "shallow ", string(id), "\n")
	}
	for i, u := range t.updates {
		if i == 0 {
			capabilities := "report-status side-band-64k atomic object-format=sha1"
			if t.quiet {
				capabilities += " quiet"
			}
			b = appendLine(b, string(u.Old), " ", string(u.New), " ", u.Name, "\x00", capabilities)
		} else {
			b = appendLine(b, string(u.Old), " ", string(u.New), " ", u.Name)
		}
	}
	return appendMark(b, flush)
}

// removes reports that no pack follows.
func (t *intent) removes() bool {
	return !slices.ContainsFunc(t.updates, func(u RefUpdate) bool { return u.New != Zero })
}

// Push serves a pushing client.
func (r *Repo) Push(ctx context.Context, p Push) error {
	if p.Advertise || !p.Stateless {
		if err := r.advertisePush(ctx, p.Out, p.Stateless); err != nil || p.Advertise {
			return err
		}
	}
	in := newLines(p.In)
	t, err := readIntent(in)
	if err != nil || len(t.updates) == 0 {
		return err
	}
	if t.removes() { // over SSH the client waits for us, and nothing more comes
		return r.receive(ctx, p, t, nil)
	}
	// A client may think for minutes about what it sends. Until the first byte comes no process waits with us.
	if _, err := in.in.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return r.receive(ctx, p, t, in.in)
}

// receive runs git on a push.
func (r *Repo) receive(ctx context.Context, p Push, t *intent, pack io.Reader) error {
	if r.store.hooks == "" {
		return fmt.Errorf("no program is named that git could call back: %w", ErrUnavailable)
	}
	if !runnable(filepath.Join(r.store.hooks, hookName)) { // git would not mind
		if err := r.store.layHook(r.store.hooks); err != nil {
			return fmt.Errorf("git could not call back: %w: %w", ErrUnavailable, err)
		}
	}
	r.sweepLocksOf(t.updates)
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer func() { _ = ours.Close() }()
	stdin := io.NopCloser(bytes.NewReader(t.head()))
	if pack != nil {
		stdin = feed(io.MultiReader(stdin, pack))
	}
	defer func() { _ = stdin.Close() }()
	// Until the push is approved it ends with its client: nothing more comes,
	// and git tidies up by itself. From then on git finishes.
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var approved atomic.Bool
	defer context.AfterFunc(ctx, func() {
		_ = stdin.Close()
		time.AfterFunc(grace, func() {
			if !approved.Load() {
				stop(context.Cause(ctx))
			}
		})
	})()
	asked := make(chan error, 1)
	go func() {
		asked <- answerHook(ours, func(q Quarantine, updates []RefUpdate) error {
			if !slices.Equal(updates, t.updates) {
				return errRequest
			}
			defer r.endReaders(q)
			if err := p.Approve(ctx, q, updates, t.options); err != nil {
				return err
			}
			approved.Store(true)
			return ctx.Err()
		})
	}()
	answer := &held{out: p.Out, sideband: t.sideband, reported: func() { _ = stdin.Close() }}
	c := call{
		class: moving, sub: "receive-pack", flags: []string{"--stateless-rpc"}, stdin: stdin, config: r.receiveSettings(p.MaxSize),
		env: []string{hookVariable + "=" + strconv.Itoa(hookDescriptor)}, files: []*os.File{theirs},
	}
	failed := r.run(running, c, answer)
	_ = theirs.Close()
	if err := <-asked; err != nil && failed == nil {
		failed = err
	}
	moved, known := answer.moved(t.updates)
	var messages []string
	if approved.Load() {
		settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
		defer cancel()
		failpoint.Here(failpoint.RefsMoved)
		messages, err = p.Settle(settling, moved, known)
		failpoint.Here(failpoint.PushSettled)
		if err != nil {
			return errors.Join(err, answer.fail("The push is on its way and could not be noted yet. Fetch to see what became of it.\n"))
		}
	}
	if !known {
		return failed
	}
	return answer.release(t, messages)
}

// feed passes on what a client sends until it is closed, although the client
// may keep its end open: over SSH nothing says where a pack ends but the pack.
// For git a client that was cut off is one that has no more to say.
func feed(from io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		_, _ = io.Copy(in, from)
		_ = in.Close()
	}()
	return fed{out}
}

type fed struct{ *io.PipeReader }

func (f fed) Read(b []byte) (int, error) {
	n, err := f.PipeReader.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

func (r *Repo) receiveSettings(most int64) [][2]string {
	if most == 0 {
		most = r.store.MaxPush
	}
	return append(visible("receive"), [][2]string{
		{"core.hooksPath", r.store.hooks},
		{"receive.maxInputSize", strconv.FormatInt(most, 10)},
		{"receive.unpackLimit", "50"},
		{"receive.denyDeleteCurrent", "ignore"},
		{"receive.denyNonFastForwards", "false"},
		{"receive.keepAlive", "10"},
		// What old programs wrote into histories that people still have.
		{"receive.fsck.badTimezone", "ignore"},
		{"receive.fsck.missingSpaceBeforeDate", "ignore"},
		{"receive.fsck.zeroPaddedFilemode", "ignore"},
	}...)
}

// held is git's answer on its way to the client: progress passes, the report
// waits.
type held struct {
	out      io.Writer
	sideband bool
	reported func() // git has said all
	partial  []byte // the beginning of a line
	report   []byte
	bad      bool
}

// maxReport bounds the report of a push of as many refs as there may be.
const maxReport = 64 << 20

// Write takes what git says, in pieces of any size.
func (h *held) Write(b []byte) (int, error) {
	h.partial = append(h.partial, b...)
	for len(h.partial) >= 4 {
		n, err := strconv.ParseUint(string(h.partial[:4]), 16, 16)
		switch {
		case err != nil || n == 4 || n > 0 && n < 4:
			h.bad = true
			return 0, errLine
		case n == 0:
			h.partial = h.partial[4:]
			h.reported()
			continue
		case len(h.partial) < int(n):
			return len(b), nil
		}
		line := h.partial[4:n]
		if err := h.take(line[0], line[1:]); err != nil {
			return 0, err
		}
		h.partial = h.partial[n:]
	}
	return len(b), nil
}

func (h *held) take(band byte, said []byte) error {
	if band == bandData {
		if h.report = append(h.report, said...); len(h.report) > maxReport {
			h.bad = true
			return ErrTooLarge
		}
		return nil
	}
	if !h.sideband || (band != bandProgress && band != bandError) {
		return nil
	}
	if len(said) == 0 { // it keeps the connection alive
		_, err := h.out.Write(appendLine(nil, string([]byte{bandProgress})))
		return ignoreGone(err)
	}
	_, err := h.out.Write(appendBand(nil, band, clean(string(said))))
	return ignoreGone(err)
}

// ignoreGone lets git go on when its client has gone: what was approved is
// finished, and what was not ends with the context.
func ignoreGone(error) error { return nil }

// moved reads the report: which updates came true.
func (h *held) moved(asked []RefUpdate) (moved []RefUpdate, known bool) {
	if h.bad {
		return nil, false
	}
	in := newLines(bytes.NewReader(h.report))
	for {
		line, m, err := in.next()
		if err != nil {
			return nil, false
		}
		if m == flush {
			return moved, true
		}
		if name, ok := strings.CutPrefix(text(line), "ok "); ok {
			for _, u := range asked {
				if u.Name == name {
					moved = append(moved, u)
				}
			}
		}
	}
}

// release lets the client hear how it went.
func (h *held) release(t *intent, messages []string) error {
	var b []byte
	if h.sideband {
		for _, m := range messages {
			b = appendBand(b, bandProgress, clean(m)+"\n")
		}
	}
	switch {
	case t.report && h.sideband:
		b = appendBand(b, bandData, string(h.report))
	case t.report:
		b = append(b, h.report...)
	}
	if h.sideband {
		b = appendMark(b, flush)
	}
	_, err := h.out.Write(b)
	return err
}

// fail tells the client of an end without a report.
func (h *held) fail(why string) error {
	if !h.sideband {
		return nil
	}
	_, err := h.out.Write(appendMark(appendBand(nil, bandError, why), flush))
	return err
}
