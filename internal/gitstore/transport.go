package gitstore

import (
	"bufio"
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
	"time"
)

// Service is what a git client asks for.
type Service string

const (
	UploadPack  Service = "git-upload-pack"  // the client fetches
	ReceivePack Service = "git-receive-pack" // the client pushes
)

// agent is how we call ourselves to git clients.
const agent = "stithy/1"

// Fetch is one request of a fetching client.
type Fetch struct {
	Protocol  string // of the header Git-Protocol, or ""
	Stateless bool   // over HTTP: one request, one answer
	Advertise bool   // the first request over HTTP: only say what there is
	In        io.Reader
	Out       io.Writer
	Notices   []string // shown to the person who fetches, before the pack; clients of version 2 see them
	Pipelines bool     // commits that pipelines run on may be fetched as well

	said io.ReadSeeker // all that a client says over HTTP
}

// versionTwo reports whether a client asked for version 2 of the protocol.
// Nothing else that it says here is listened to, and nothing of it is passed on.
func versionTwo(protocol string) bool {
	return len(protocol) < 200 && slices.Contains(strings.Split(protocol, ":"), "version=2")
}

// visible are the settings under which transports see branches, tags and notes
// alone.
func visible(section string) [][2]string {
	return [][2]string{
		{section + ".hideRefs", "refs"}, {section + ".hideRefs", "!refs/heads"}, {section + ".hideRefs", "!refs/notes"}, {section + ".hideRefs", "!refs/tags"},
	}
}

// Fetch serves a fetching client. Which refs there are is answered here; git
// makes packs.
func (r *Repo) Fetch(ctx context.Context, f Fetch) error {
	if f.Stateless && !f.Advertise {
		said, done, err := r.takeIn(ctx, f.In)
		if err != nil {
			return err
		}
		defer done()
		f.In, f.said = said, said
	}
	if !versionTwo(f.Protocol) {
		return r.fetchOld(ctx, f)
	}
	if f.Advertise || !f.Stateless {
		if _, err := f.Out.Write(advertisement); err != nil || f.Advertise {
			return err
		}
	}
	return r.serveTwo(ctx, f)
}

// maxHeld is how much of a request over HTTP is held in memory until its end has come. What is longer waits in a file.
const maxHeld = 32 << 10

// largeRequests is how many requests at a time may be longer than that: each may take maxRequest of the disk.
const largeRequests = 16

// maxTaking is how long one of them may take to come in.
const maxTaking = 3 * time.Minute

// timed is a client who sends, until its time is over. One who sends nothing at all is cut off by whoever owns the connection.
type timed struct {
	io.Reader
	until time.Time
}

func (t *timed) Read(b []byte) (int, error) {
	if time.Now().After(t.until) {
		return 0, fmt.Errorf("a request took longer than %s to come in: %w", maxTaking, ErrTimeout)
	}
	return t.Reader.Read(b)
}

// takeIn reads a request over HTTP to its end, so that a client which sends it slowly holds neither memory nor a process.
func (r *Repo) takeIn(ctx context.Context, in io.Reader) (said io.ReadSeeker, done func(), err error) {
	held, err := io.ReadAll(io.LimitReader(in, maxHeld+1))
	if err != nil || len(held) <= maxHeld {
		return bytes.NewReader(held), func() {}, err
	}
	place, _, err := r.place()
	if err != nil {
		return nil, nil, err
	}
	waiting, stop := context.WithTimeoutCause(ctx, limits[moving].patience, fmt.Errorf("too many large requests at once: %w", ErrUnavailable))
	defer stop()
	free, err := r.store.large.Take(waiting, "")
	if err != nil {
		return nil, nil, err
	}
	file, err := os.CreateTemp(filepath.Join(place.Root, tmpDir), "request-*")
	if err != nil {
		free()
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	_ = os.Remove(file.Name()) // it lives as long as it is open
	done = func() { _ = file.Close(); free() }
	_, err = file.Write(held)
	if err == nil {
		var more int64
		if more, err = io.Copy(file, io.LimitReader(&timed{in, time.Now().Add(maxTaking)}, maxRequest-maxHeld)); more == maxRequest-maxHeld {
			err = fmt.Errorf("a request of more than %d bytes: %w", maxRequest, ErrTooLarge)
		}
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return file, done, nil
}

// advertisement is what version 2 says at first, about every repository.
var advertisement = appendMark(slices.Concat(
	appendLine(nil, "version 2\n"),
	appendLine(nil, "agent="+agent+"\n"),
	appendLine(nil, "ls-refs=unborn\n"),
	appendLine(nil, "fetch=shallow wait-for-done filter\n"),
	appendLine(nil, "server-option\n"),
	appendLine(nil, "object-format=sha1\n"),
), flush)

// fetchOld serves the older protocol. Which refs there are is answered here as
// well; git is started once the client has said what it wants.
func (r *Repo) fetchOld(ctx context.Context, f Fetch) error {
	if f.Advertise || !f.Stateless {
		if err := r.advertiseOld(ctx, f.Out, f.Advertise); err != nil || f.Advertise {
			return err
		}
	}
	c := call{class: moving, sub: "upload-pack", config: append(visible("uploadpack"), uploadSettings...)}
	if !f.Stateless {
		in := newLines(f.In)
		wants, err := readWants(in)
		if err != nil || wants == nil {
			return err
		}
		c.stdin = io.MultiReader(bytes.NewReader(wants), in.in)
		return r.run(ctx, c, &behindFlush{out: f.Out})
	}
	err := r.checkOld(ctx, f.said, f.Pipelines)
	if err == nil {
		_, err = f.said.Seek(0, io.SeekStart)
	}
	if err == nil {
		c.flags, c.stdin = []string{"--stateless-rpc"}, f.said
		err = r.upload(ctx, c, f.Out)
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		_, err := f.Out.Write(appendLine(nil, "ERR ", clean(refused.Text)))
		return err
	}
	return err
}

// What a client of the older protocol may ask of git.
const fetchCapabilities = "multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative no-progress include-tag multi_ack_detailed filter object-format=sha1 agent=" + agent

// advertiseOld says which refs there are, without a process.
func (r *Repo) advertiseOld(ctx context.Context, out io.Writer, stateless bool) error {
	var b []byte
	capabilities := fetchCapabilities
	if stateless {
		b = appendMark(appendLine(nil, "# service=", string(UploadPack), "\n"), flush)
		capabilities += " no-done"
	}
	head, at, err := r.head(ctx)
	if err != nil {
		return err
	}
	refs, err := r.visibleRefs(ctx, nil)
	if err != nil {
		return err
	}
	if at.Target != "" {
		capabilities += " symref=HEAD:" + head
		refs = slices.Insert(refs, 0, Ref{Name: "HEAD", Target: at.Target})
	}
	if len(refs) == 0 {
		refs = []Ref{{Name: "capabilities^{}", Target: Zero}}
	}
	for i, ref := range refs {
		name := ref.Name
		if i == 0 {
			name += "\x00" + capabilities
		}
		b = appendLine(b, string(ref.Target), " ", name, "\n")
		if ref.Peeled != "" && ref.Peeled != ref.Target {
			b = appendLine(b, string(ref.Peeled), " ", ref.Name, "^{}\n")
		}
	}
	_, err = out.Write(appendMark(b, flush))
	return err
}

// readWants reads what a client of the older protocol says first, up to the
// mark behind it. Nothing is a client that has seen enough.
func readWants(in *lines) ([]byte, error) {
	var said []byte
	for {
		line, m, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && said == nil, m == flush && said == nil:
			return nil, nil
		case err != nil:
			return nil, noEOF(err)
		case m == flush:
			return appendMark(said, flush), nil
		case m != noMark:
			return nil, errRequest
		}
		if filter, ok := strings.CutPrefix(text(line), "filter "); ok && !knownFilter(filter, true) {
			return nil, errRequest
		}
		if said = appendLine(said, string(line)); len(said) > maxRequest {
			return nil, ErrTooLarge
		}
	}
}

// behindFlush drops the lines up to the first mark: git says anew which refs
// there are, and the client has heard it.
type behindFlush struct {
	out     io.Writer
	partial []byte
	passed  bool
}

func (w *behindFlush) Write(b []byte) (int, error) {
	if w.passed {
		return w.out.Write(b)
	}
	w.partial = append(w.partial, b...)
	for !w.passed && len(w.partial) >= 4 {
		n, err := strconv.ParseUint(string(w.partial[:4]), 16, 16)
		n = max(n, 4) // a mark
		switch {
		case err != nil:
			return 0, errLine
		case len(w.partial) < int(n):
			return len(b), nil
		}
		w.passed = string(w.partial[:4]) == "0000"
		w.partial = w.partial[n:]
	}
	if !w.passed || len(w.partial) == 0 {
		return len(b), nil
	}
	rest := w.partial
	w.partial = nil
	if _, err := w.out.Write(rest); err != nil {
		return 0, err
	}
	return len(b), nil
}

// checkOld refuses a request of the older protocol that wants what it may not
// see, or that git would not understand: git ends with an error then, which
// is the client's and not ours. Over SSH git refuses by itself whatever is no
// tip of a ref.
func (r *Repo) checkOld(ctx context.Context, said io.Reader, pipelines bool) error {
	in := newLines(said)
	var wants []OID
	var a fetchChecker
	known, ended, filters := []string{"want", "shallow", "deepen", "deepen-since", "deepen-not", "filter"}, false, false
	for {
		line, m, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && ended:
			return r.checkOldWants(ctx, wants, &a, pipelines)
		case err != nil:
			return noEOF(err)
		case m == flush:
			known, ended = []string{"have", "done"}, true
			continue
		}
		word, value, isPair := strings.Cut(text(line), " ")
		if m != noMark || !slices.Contains(known, word) {
			return errRequest
		}
		if word != "want" {
			if !a.line(word, value, isPair) || (word == "filter" && !filters) {
				return errRequest
			}
			continue
		}
		id, capabilities, _ := strings.Cut(value, " ")
		if !IsOID(id) {
			return errRequest
		}
		if len(wants) == 0 {
			filters = slices.Contains(strings.Fields(capabilities), "filter")
		}
		wants = append(wants, OID(id))
	}
}

func (r *Repo) checkOldWants(ctx context.Context, wants []OID, a *fetchChecker, pipelines bool) error {
	if len(wants) == 0 {
		return nil
	}
	slices.Sort(wants)
	refs, err := r.visibleRefs(ctx, nil)
	if err == nil {
		err = a.checkWithout(refs)
	}
	if err != nil {
		return err
	}
	_, err = r.checkWants(ctx, slices.Compact(wants), refs, pipelines)
	return err
}

var uploadSettings = [][2]string{{"uploadpack.allowFilter", "true"}, {"uploadpack.keepAlive", "10"}}

// What a client may use to say what it wants and has. A line about an object has 50 bytes.
const (
	maxRequest = 16 << 20 // bytes
	maxLines   = maxRequest / 50
	maxListed  = 10_000 // prefixes of refs; who names more is shown all
)

// request is one command of version 2.
type request struct {
	command string
	format  string   // of objects
	args    []string // behind the delimiter

	unfiltered bool // it named more prefixes of refs than are kept
}

const refPrefix = "ref-prefix "

var errRequest = fmt.Errorf("a request that makes no sense: %w", ErrInvalid)

// readRequest reads one command; io.EOF says that the client has no more.
func readRequest(in *lines) (*request, error) {
	req, size, behind := &request{}, 0, false
	for first := true; ; first = false {
		line, m, err := in.next()
		switch {
		case err != nil:
			if errors.Is(err, io.EOF) && !first {
				err = errLine
			}
			return nil, err
		case m == flush && first:
			return nil, io.EOF
		case m == flush:
			if req.command == "" {
				return nil, errRequest
			}
			return req, nil
		case m == delim && !behind:
			behind = true
			continue
		case m != noMark:
			return nil, errRequest
		}
		if size += 4 + len(line); size > maxRequest || len(req.args) >= maxLines {
			return nil, fmt.Errorf("a request of more than %d bytes or %d lines: %w", maxRequest, maxLines, ErrTooLarge)
		}
		said := text(line)
		switch name, value, _ := strings.Cut(said, "="); {
		case behind && req.command == "ls-refs" && len(req.args) >= maxListed && strings.HasPrefix(said, refPrefix):
			req.unfiltered = true // as git does: the client picks what it wants
		case behind:
			req.args = append(req.args, said)
		case name == "command" && req.command == "":
			req.command = value
		case name == "command":
			return nil, errRequest
		case name == "object-format":
			req.format = value
		}
	}
}

// serveTwo answers the commands of a client of version 2, one over HTTP, as
// many as come over SSH.
func (r *Repo) serveTwo(ctx context.Context, f Fetch) error {
	in := newLines(f.In)
	for {
		req, err := readRequest(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.serve(ctx, req, f)
		}
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			_, err := f.Out.Write(appendLine(nil, "ERR ", clean(refused.Text)))
			return err
		}
		if err != nil || f.Stateless {
			return err
		}
	}
}

func (r *Repo) serve(ctx context.Context, req *request, f Fetch) error {
	switch {
	case req.format != "" && req.format != "sha1":
		return &RefusedError{Text: "mismatched object format"}
	case req.command == "ls-refs":
		return r.listRefs(ctx, req, f)
	case req.command == "fetch":
		out := f.Out
		if len(f.Notices) > 0 {
			out = &announcer{out: f.Out, notices: f.Notices}
		}
		return r.fetch(ctx, req.args, out, f.Pipelines)
	}
	return &RefusedError{Text: "invalid command '" + req.command + "'"}
}

// listRefs answers ls-refs without a process.
func (r *Repo) listRefs(ctx context.Context, req *request, f Fetch) error {
	out := f.Out
	var peel, symrefs, unborn bool
	var prefixes []string
	for _, arg := range req.args {
		prefix, isPrefix := strings.CutPrefix(arg, refPrefix)
		switch {
		case isPrefix:
			prefixes = append(prefixes, prefix)
		case arg == "peel":
			peel = true
		case arg == "symrefs":
			symrefs = true
		case arg == "unborn":
			unborn = true
		default:
			return &RefusedError{Text: "unexpected line: '" + arg + "'"}
		}
	}
	if req.unfiltered {
		prefixes = nil
	}
	wanted := prefixFilter(prefixes)
	b := make([]byte, 0, 4096)
	if wanted("HEAD") {
		head, ref, err := r.head(ctx)
		switch {
		case err != nil:
			return err
		case ref.Target != "":
			b = appendRef(b, ref, "HEAD", false, symrefs, head)
		case unborn:
			b = appendLine(b, "unborn HEAD symref-target:", head, "\n")
		}
	}
	refs, err := r.visibleRefs(ctx, prefixes)
	if err == nil && f.Pipelines {
		refs, err = r.addPipelines(ctx, refs, prefixes)
	}
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if !wanted(ref.Name) {
			continue
		}
		if b = appendRef(b, ref, ref.Name, peel, false, ""); len(b) > 1<<16 {
			if _, err := out.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err = out.Write(appendMark(b, flush))
	return err
}

// prefixFilter reports whether a name begins with one of some prefixes, or whether there are none. What it costs does not
// depend on how many there are: a client names as many as it likes.
func prefixFilter(prefixes []string) func(name string) bool {
	if len(prefixes) == 0 {
		return func(string) bool { return true }
	}
	known, longest := make(map[string]struct{}, len(prefixes)), 0
	for _, prefix := range prefixes {
		known[prefix] = struct{}{}
		longest = max(longest, len(prefix))
	}
	return func(name string) bool {
		for end := range min(len(name), longest) + 1 {
			if _, is := known[name[:end]]; is {
				return true
			}
		}
		return false
	}
}

func appendRef(b []byte, ref Ref, name string, peel, symref bool, target string) []byte {
	parts := []string{string(ref.Target), " ", name}
	if symref {
		parts = append(parts, " symref-target:", target)
	}
	if peel && ref.Peeled != "" && ref.Peeled != ref.Target {
		parts = append(parts, " peeled:", string(ref.Peeled))
	}
	return appendLine(b, append(parts, "\n")...)
}

// head is the full name that HEAD stands for, and the ref if it exists.
func (r *Repo) head(ctx context.Context) (string, Ref, error) {
	branch, err := r.Head(ctx)
	if err != nil {
		return "", Ref{}, err
	}
	ref, err := r.Ref(ctx, Branches+branch)
	if errors.Is(err, ErrNotFound) {
		return Branches + branch, Ref{}, nil
	}
	return Branches + branch, ref, err
}

// visibleRefs are branches, notes and tags by name, those aside that no prefix
// fits.
func (r *Repo) visibleRefs(ctx context.Context, prefixes []string) ([]Ref, error) {
	var all []Ref
	for _, space := range []string{Branches, Notes, Tags} {
		if len(prefixes) > 0 && !slices.ContainsFunc(prefixes, func(p string) bool {
			return strings.HasPrefix(space, p) || strings.HasPrefix(p, space)
		}) {
			continue
		}
		refs, _, err := r.Refs(ctx, RefQuery{Prefix: space})
		if err != nil {
			return nil, err
		}
		all = append(all, refs...)
	}
	return all, nil
}

// maxPipelineRefs is how many refs of pipelines one request may name. A job fetches its own.
const maxPipelineRefs = 100

// addPipelines adds the refs of pipelines that are asked for by their whole
// name: there are too many to list.
func (r *Repo) addPipelines(ctx context.Context, all []Ref, names []string) ([]Ref, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return below(name, Pipelines) == "" })
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > maxPipelineRefs {
		return nil, &RefusedError{Text: fmt.Sprintf("a request names at most %d refs of pipelines", maxPipelineRefs)}
	}
	for _, name := range names {
		ref, err := r.Ref(ctx, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, ref)
	}
	return all, nil
}

// fetchRequest is what a client wants to fetch, as far as we look at it.
type fetchRequest struct {
	wants []OID
	fresh bool // nothing is there yet and nothing is left to say: the answer depends on the rest alone
	tags  bool // tags of what is sent are wanted, too
	rest  []string
	lines fetchChecker
}

// read sorts the arguments of a fetch.
func (w *fetchRequest) read(args []string) error {
	a := &w.lines
	done, had := false, false
	for _, arg := range args {
		word, value, isPair := strings.Cut(arg, " ")
		if word == "want" {
			if !IsOID(value) {
				return &RefusedError{Text: "unknown want"}
			}
			w.wants = append(w.wants, OID(value))
			continue
		}
		if !a.line(word, value, isPair) {
			return &RefusedError{Text: "unexpected line: '" + arg + "'"}
		}
		switch word {
		case "done":
			done = true
		case "have", "shallow", "deepen-not", "wait-for-done":
			had = true
		case "include-tag":
			w.tags = true
		}
		if word != "deepen-not" {
			w.rest = append(w.rest, arg)
		}
	}
	for _, name := range a.without {
		w.rest = append(w.rest, "deepen-not "+name)
	}
	if len(w.wants) == 0 {
		return &RefusedError{Text: "nothing is wanted"}
	}
	w.fresh = done && !had
	slices.Sort(w.wants)
	w.wants = slices.Compact(w.wants)
	return nil
}

// command is the request as git reads it. It is written anew, so that git sees
// nothing that was not understood here.
func (w *fetchRequest) command() []byte {
	b := appendLine(nil, "command=fetch\n")
	b = appendLine(b, "object-format=sha1\n")
	b = appendMark(b, delim)
	for _, want := range w.wants {
		b = appendLine(b, "want ", string(want), "\n")
	}
	for _, arg := range w.rest {
		b = appendLine(b, arg, "\n")
	}
	return appendMark(b, flush)
}

func (r *Repo) fetch(ctx context.Context, args []string, out io.Writer, pipelines bool) error {
	var w fetchRequest
	if err := w.read(args); err != nil {
		return err
	}
	refs, err := r.visibleRefs(ctx, nil)
	if err != nil {
		return err
	}
	if err := w.lines.checkWithout(refs); err != nil {
		return err
	}
	tips, err := r.checkWants(ctx, w.wants, refs, pipelines)
	if err != nil {
		return err
	}
	request := w.command()
	produce := func(ctx context.Context, to io.Writer) error {
		return r.upload(ctx, call{
			class: moving, sub: "upload-pack", flags: []string{"--stateless-rpc"}, env: []string{"GIT_PROTOCOL=version=2"},
			config: append(append(visible("uploadpack"), [2]string{"uploadpack.hideRefs", "!refs/pipelines"}), uploadSettings...),
			stdin:  bytes.NewReader(request),
		}, to)
	}
	if !w.fresh || !tips || r.store.answers == nil {
		return produce(ctx, out)
	}
	return r.store.answers.serve(ctx, r.packKey(&w, refs), out, produce)
}

// announcer puts notices in front of a pack.
type announcer struct {
	out     io.Writer
	notices []string
	partial []byte
}

// Write looks at the lines of the answer up to the one that says that the pack
// follows.
func (a *announcer) Write(b []byte) (int, error) {
	if a.notices == nil {
		return a.out.Write(b)
	}
	a.partial = append(a.partial, b...)
	at := 0
	for a.notices != nil && len(a.partial)-at >= 4 {
		n, err := strconv.ParseUint(string(a.partial[at:at+4]), 16, 16)
		n = max(n, 4) // a mark
		switch {
		case err != nil:
			return 0, errLine
		case len(a.partial)-at < int(n):
			return len(b), a.pass(at)
		}
		line := string(a.partial[at+4 : at+int(n)])
		if at += int(n); line == "packfile\n" {
			said := ""
			for _, notice := range a.notices {
				said += clean(notice) + "\n"
			}
			a.partial = slices.Insert(a.partial, at, appendBand(nil, bandProgress, said)...)
			a.notices, at = nil, len(a.partial)
		}
	}
	return len(b), a.pass(at)
}

// pass lets the first n bytes go.
func (a *announcer) pass(n int) error {
	_, err := a.out.Write(a.partial[:n])
	a.partial = a.partial[n:]
	return err
}

// checkWants refuses objects that no branch and no tag leads to and, for those
// who may see pipelines, that none runs on: git itself would send whatever it has. tips reports that each is where a ref points.
func (r *Repo) checkWants(ctx context.Context, wants []OID, refs []Ref, pipelines bool) (tips bool, err error) {
	shown := make(map[OID]bool, 2*len(refs))
	for _, ref := range refs {
		shown[ref.Target], shown[ref.Peeled] = true, true
	}
	var others []OID
	for _, want := range wants {
		if !shown[want] {
			others = append(others, want)
		}
	}
	if len(others) == 0 {
		return true, nil
	}
	var kept []Ref
	if pipelines {
		if kept, _, err = r.Refs(ctx, RefQuery{Prefix: Pipelines}); err != nil {
			return false, err
		}
	}
	clear(shown)
	for _, ref := range kept {
		shown[ref.Target] = true
	}
	others = slices.DeleteFunc(others, func(want OID) bool { return shown[want] })
	if len(others) == 0 {
		return true, nil
	}
	reachable, err := r.reachable(ctx, others)
	if err != nil {
		return false, err
	}
	if !reachable {
		return false, &RefusedError{Text: "upload-pack: not our ref " + string(others[0])}
	}
	return false, nil
}

// reachable reports whether branches and tags lead to every one of the
// objects.
func (r *Repo) reachable(ctx context.Context, ids []OID) (bool, error) {
	input := make([]byte, 0, 41*len(ids))
	commits := true
	for _, id := range ids {
		o, err := r.Stat(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		commits = commits && o.Kind == CommitKind
		input = append(append(input, id...), '\n')
	}
	c := call{class: history, sub: "rev-list", stdin: bytes.NewReader(input)}
	if commits {
		c.flags = []string{"--max-count=1", "--stdin", "--not", "--branches", "--tags"}
		out, err := r.output(ctx, c, 1<<10)
		return err == nil && len(out) == 0, err
	}
	// Whether history leads to a file or folder is known to bitmaps; without
	// them it takes a walk.
	c.flags = []string{"--objects", "--use-bitmap-index", "--stdin", "--not", "--branches", "--tags"}
	if out, err := r.output(ctx, c, 1<<20); err == nil && len(out) == 0 {
		return true, nil
	}
	return r.walkFor(ctx, ids)
}

// walkFor looks for objects among all that branches and tags lead to.
func (r *Repo) walkFor(ctx context.Context, ids []OID) (bool, error) {
	left := map[OID]bool{}
	for _, id := range ids {
		left[id] = true
	}
	out, err := r.stream(ctx, call{class: history, sub: "rev-list", flags: []string{"--objects", "--branches", "--tags"}})
	if err != nil {
		return false, err
	}
	defer func() { _ = out.Close() }()
	return scanIDs(out, left)
}

// scanIDs reads lines that begin with an object id until none is left of those
// that are looked for.
func scanIDs(in io.Reader, left map[OID]bool) (found bool, err error) {
	lines := bufio.NewReaderSize(in, 1<<16)
	for len(left) > 0 {
		line, err := lines.ReadSlice('\n')
		if len(line) >= 40 {
			delete(left, OID(line[:40]))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long path
			_, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	return len(left) == 0, nil
}
