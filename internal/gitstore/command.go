package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"stithy/internal/platform/fairshare"
)

// class says how long a command may take and how many may run at once.
type class uint8

const (
	reading   class = iota
	pooled          // readers that stay
	history         // log, diff, blame
	archiving       //
	blobs           // large ones
	copying         // from elsewhere, and from one repository to another
	moving          // packs from and to clients
	upkeep          // maintenance
	classes
)

// limit is what a class may use. Every class has a share of its own, so that a push which waits for a reader never
// waits for another push.
type limit struct {
	time     time.Duration // from start to end; 0 is the context's
	idle     time.Duration // without a byte in or out
	client   bool          // it may have to wait for a client, who must keep to MaxSilence and LeastRate
	share    int           // of 64 processes
	each     int           // for one repository
	nice     int
	patience time.Duration // how long one waits for its turn; 0 is the context's
}

var limits = [classes]limit{
	reading:   {time: 10 * time.Second, share: 8, each: 4, patience: 10 * time.Second},
	pooled:    {share: 20, each: 8, patience: 10 * time.Second},
	history:   {time: time.Minute, share: 8, each: 4, nice: 5, patience: 20 * time.Second},
	archiving: {time: 10 * time.Minute, share: 4, each: 2, nice: 10, patience: 30 * time.Second},
	blobs:     {time: 10 * time.Minute, client: true, share: 4, each: 3, nice: 5, patience: 30 * time.Second},
	copying:   {idle: 10 * time.Minute, share: 4, each: 3, nice: 5, patience: 30 * time.Second},
	moving:    {client: true, share: 14, each: 12, nice: 5, patience: 30 * time.Second},
	upkeep:    {share: 2, each: 1, nice: 15},
}

// What a client must do while a command waits for it, so that its slot is free again soon if it does not. Git says
// something every ten seconds while it works for one that waits (keepAlive), so silence is the client's.
const (
	maxSilence = time.Minute
	leastRate  = 4 << 10 // bytes a second
)

// pace judges how fast a client is. Only time in which a command waited for it counts.
type pace struct {
	window time.Duration
	least  int64 // bytes a second

	mu     sync.Mutex
	waited time.Duration
	moved  int64
}

// slow adds one wait, and reports at the end of each window whether too little came of it.
func (p *pace) slow(waited time.Duration, moved int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited += waited
	p.moved += int64(moved)
	if p.waited < p.window {
		return false
	}
	slow := float64(p.moved) < float64(p.least)*p.waited.Seconds()
	p.waited, p.moved = 0, 0
	return slow
}

// allowed is every subcommand that is ever run, with its flags. A flag that ends in "=" takes a word of letters, digits
// and a few marks; one that ends in "=*" takes any text, which stays part of the flag.
var allowed = map[string][]string{
	"archive":      {"--format=", "--prefix=*"},
	"blame":        {"--porcelain", "--incremental", "-L="},
	"cat-file":     {"--batch-command", "--buffer", "--batch=", "--batch-check=", "--unordered", "blob"},
	"commit-graph": {"write", "verify", "--reachable", "--changed-paths", "--split", "--split=", "--no-progress"},
	"diff-tree": {"--raw", "--numstat", "--patch", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color",
		"-r", "-t", "-z", "-M", "-M=", "-l=", "--root", "--no-commit-id", "--stdin", "--no-renames", "-m",
		"--first-parent", "--merge-base", "--abbrev=", "--unified=", "--find-renames=", "--always", "--name-only", "--name-status"},
	"fast-import":      {"--quiet", "--force", "--done"},
	"fetch":            {"--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--stdin", "--atomic", "--prune", "--porcelain"},
	"for-each-ref":     {"--format=*", "--contains=", "--merged=", "--count=", "--sort="},
	"fsck":             {"--full", "--strict", "--no-dangling", "--no-progress", "--connectivity-only"},
	"index-pack":       {"--stdin", "--strict", "--fix-thin", "--keep"},
	"log":              {"-z", "--format=*", "--max-count=", "--skip=", "--author=*", "--grep=*", "--fixed-strings", "--no-merges", "--first-parent", "--topo-order", "--date-order", "--reverse", "--since=", "--until=", "--all", "--branches", "--tags", "--full-history", "--follow", "--no-show-signature", "--numstat", "--no-color", "--stdin", "-i", "--no-walk", "--no-walk="},
	"ls-remote":        {"--symref", "--quiet"},
	"merge-base":       {"--is-ancestor", "--all", "--octopus"},
	"merge-tree":       {"--write-tree", "-z", "--name-only", "--no-messages", "--messages", "--allow-unrelated-histories", "--merge-base="},
	"multi-pack-index": {"write", "verify", "--bitmap", "--no-progress"},
	"pack-objects":     {"--revs", "--stdout", "-q", "--delta-base-offset"},
	"pack-refs":        {"--all", "--prune"},
	"prune":            {"--expire="},
	"receive-pack":     {"--stateless-rpc", "--http-backend-info-refs", "--advertise-refs", "--skip-connectivity-check"},
	"repack":           {"-d", "-l", "-q", "-a", "-A", "--cruft", "--cruft-expiration=", "--geometric=", "--write-midx", "--write-bitmap-index", "--keep-unreachable"},
	"rev-list":         {"--max-count=", "--skip=", "--count", "--author=*", "--grep=*", "--fixed-strings", "--no-merges", "--first-parent", "--topo-order", "--date-order", "--reverse", "--max-age=", "--min-age=", "--all", "--branches", "--tags", "--objects", "--not", "--stdin", "--use-bitmap-index", "--disk-usage", "-z", "--full-history", "--parents", "--boundary", "--left-right", "--in-commit-order", "--filter=*", "--filter-provided-objects", "--no-object-names", "--quiet", "-i", "--ignore-missing", "--missing="},
	"rev-parse":        {"--verify", "--quiet", "--disambiguate="},
	"shortlog":         {"-s", "-n", "-e", "--no-merges", "--since=", "--until="},
	"symbolic-ref":     {},
	"unpack-objects":   {"-q", "--strict", "--strict=", "--max-input-size="},
	"update-ref":       {"--stdin", "-z", "--no-deref", "--create-reflog"},
	"upload-pack":      {"--stateless-rpc", "--http-backend-info-refs", "--advertise-refs", "--strict", "--timeout="},
}

// takesDir are the subcommands that want the repository as their argument.
var takesDir = []string{"upload-pack", "receive-pack"}

// takesLocks are the subcommands that hold lock files of git while they run.
var takesLocks = []string{"fast-import", "fetch", "pack-refs", "receive-pack", "update-ref"}

// takesIDs are the subcommands that do not know --end-of-options. Their arguments are object ids.
var takesIDs = []string{"archive", "blame"}

// word is what may stand behind the "=" of a flag.
var word = regexp.MustCompile(`^[A-Za-z0-9@%():,._+/^ -]*$`)

// call is one command on the repository. flags are constants of this package that the table allows; args are values
// that came from outside and stand behind --end-of-options.
type call struct {
	class      class
	sub        string
	flags      []string
	args       []string
	paths      []string // behind --, taken literally
	stdin      io.Reader
	quarantine Quarantine
	config     [][2]string // more settings, constants of this package
	env        []string    // more variables, constants of this package or secrets that it made
	files      []*os.File  // inherited as descriptors 3, 4, …
}

// argv is the command line. It is built here and nowhere else.
func (c call) argv(dir string) ([]string, error) {
	flags, known := allowed[c.sub]
	if !known {
		return nil, fmt.Errorf("git %s is not in the table of commands", c.sub)
	}
	for _, flag := range c.flags {
		if !allows(flags, flag) {
			return nil, fmt.Errorf("git %s: flag %.60q is not in the table: %w", c.sub, flag, ErrInvalid)
		}
	}
	for _, arg := range c.args {
		if arg == "" || arg[0] == '-' || strings.ContainsAny(arg, "\x00\n\r") || slices.Contains(takesIDs, c.sub) && !IsOID(arg) {
			return nil, fmt.Errorf("argument %.60q: %w", arg, ErrInvalid)
		}
	}
	for _, path := range c.paths {
		if path == "" || strings.ContainsRune(path, 0) {
			return nil, fmt.Errorf("path %.60q: %w", path, ErrInvalid)
		}
	}
	argv := make([]string, 0, len(c.flags)+len(c.args)+len(c.paths)+5)
	argv = append(argv, "--git-dir="+dir, c.sub)
	argv = append(argv, c.flags...)
	if slices.Contains(takesDir, c.sub) {
		return append(argv, dir), nil
	}
	if len(c.args) > 0 && !slices.Contains(takesIDs, c.sub) {
		argv = append(argv, "--end-of-options")
	}
	argv = append(argv, c.args...)
	if len(c.paths) > 0 {
		argv = append(argv, "--")
		argv = append(argv, c.paths...)
	}
	return argv, nil
}

func allows(flags []string, flag string) bool {
	if slices.Contains(flags, flag) && !strings.HasSuffix(flag, "*") {
		return true
	}
	// Git glues the value of a short flag to it: "-M50%" is "-M=" with a value here.
	name, value, long := strings.Cut(flag, "=")
	if !long && len(flag) > 2 && flag[0] == '-' && flag[1] != '-' {
		name, value = flag[:2], flag[2:]
	}
	if value == "" || strings.ContainsAny(value, "\x00\n\r") {
		return false
	}
	return slices.Contains(flags, name+"=*") || slices.Contains(flags, name+"=") && word.MatchString(value)
}

// settings apply to every command.
var settings = [][2]string{
	{"core.useReplaceRefs", "false"},
	{"core.fsync", "objects,derived-metadata,reference"},
	{"core.fsyncMethod", "fsync"},
	{"core.bigFileThreshold", "50m"}, // beyond it nothing is held in memory, compared or tried as a delta
	{"core.hooksPath", "/dev/null"},
	{"core.alternateRefsCommand", "exit 0 #"},
	{"core.attributesFile", "/dev/null"},
	{"core.logAllRefUpdates", "false"},
	{"core.filesRefLockTimeout", "2000"},
	{"core.packedRefsTimeout", "5000"},
	{"credential.helper", ""},
	{"diff.renameLimit", "1000"},
	{"fetch.fsckObjects", "true"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"pack.threads", "2"},
	{"pack.windowMemory", "100m"},
	{"pack.writeReverseIndex", "true"},
	{"protocol.allow", "never"},
	{"receive.autogc", "false"},
	{"repack.updateServerInfo", "false"},
	{"submodule.recurse", "false"},
	{"transfer.fsckObjects", "true"},
}

// environment is all that git is told about the world. Nothing of our own environment is passed on.
func environment(more ...[2]string) []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_COMMITTER_NAME=stithy",
		"GIT_COMMITTER_EMAIL=stithy@localhost",
		"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings)+len(more)),
	}
	for i, setting := range slices.Concat(settings, more) {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+setting[0], "GIT_CONFIG_VALUE_"+n+"="+setting[1])
	}
	return env
}

// Quarantine names objects that are not part of the repository yet. The zero value is the repository as it is.
type Quarantine struct {
	dir    string // name below objects/, "tmp_objdir-…"
	beside string // directory of another repository
}

// quarantinePattern is how git names its own, and we ours.
var quarantinePattern = regexp.MustCompile(`^tmp_objdir-[A-Za-z0-9-]+$`)

// In is the repository as seen together with a quarantine.
func (r *Repo) In(q Quarantine) *Repo {
	in := *r
	in.quarantine = q
	return &in
}

// Beside is the repository as seen together with another of the same actor's
// reach, to compare the two. Like a quarantine it is read by processes of its
// own, and nothing of the other is readable here afterwards.
func (r *Repo) Beside(other *Repo) *Repo {
	in := *r
	in.quarantine = Quarantine{beside: "-"} // refused where the other has no place
	if _, dir, err := other.place(); err == nil {
		in.quarantine.beside = dir
	}
	return &in
}

// variables are those of a command's environment that depend on the call.
func (q Quarantine) variables(dir string) ([]string, error) {
	if q.beside == "-" {
		return nil, ErrUnavailable
	}
	if q.beside != "" {
		return []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(q.beside, "objects")}, nil
	}
	if q.dir == "" {
		return nil, nil
	}
	if !quarantinePattern.MatchString(q.dir) {
		return nil, fmt.Errorf("quarantine %.60q: %w", q.dir, ErrInvalid)
	}
	objects := filepath.Join(dir, "objects")
	return []string{
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(objects, q.dir),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + objects,
	}, nil
}

// process is a command that runs.
type process struct {
	cmd    *exec.Cmd
	ctx    context.Context
	end    context.CancelCauseFunc
	call   call
	stderr tail
	place  *storage
	touch  func()        // a byte moved
	pace   *pace         // nil where no client is waited for
	fed    chan struct{} // closed when nobody reads the input any more
	free   func()
	wait   func() error // once
}

// grace is how long a process may clean up before it is killed.
const grace = 3 * time.Second

// start runs a command. Who starts one must wait for it.
func (r *Repo) start(ctx context.Context, c call, stdout io.Writer) (*process, error) {
	place, dir, err := r.place()
	if err != nil {
		return nil, err
	}
	argv, err := c.argv(dir)
	if err != nil {
		return nil, err
	}
	if c.quarantine == (Quarantine{}) {
		c.quarantine = r.quarantine
	}
	variables, err := c.quarantine.variables(dir)
	if err != nil {
		return nil, err
	}
	limit := limits[c.class]
	free := func() {}
	if c.class != pooled { // a pooled one keeps no slot while nobody uses it
		if free, err = r.take(ctx, c.class, r.cacheKey()); err != nil {
			return nil, err
		}
	}
	if slices.Contains(takesLocks, c.sub) {
		writing, err := r.hold()
		if err != nil {
			free()
			return nil, err
		}
		defer writing.Close() // the command has it by then
		c.files = append(slices.Clone(c.files), writing)
	}
	p := &process{call: c, place: place, free: free, touch: func() {}}
	p.ctx, p.end = context.WithCancelCause(ctx)
	if limit.time > 0 {
		timer := time.AfterFunc(limit.time, func() { p.end(ErrTimeout) })
		p.free = func() { timer.Stop(); free() }
	}
	p.cmd = exec.CommandContext(p.ctx, r.store.git, argv...) //nolint:gosec // the table above is the guard
	p.cmd.Dir = "/"
	p.cmd.Env = slices.Concat(environment(c.config...), variables, c.env)
	p.cmd.ExtraFiles = c.files
	if r.ticket != nil && c.class != pooled {
		p.cmd.ExtraFiles = append(slices.Clone(c.files), r.ticket.file)
	}
	p.cmd.Stdout, p.cmd.Stderr = stdout, &p.stderr
	idle := limit.idle
	if limit.client {
		idle = r.store.MaxSilence
		p.pace = &pace{window: idle, least: r.store.LeastRate}
	}
	if idle > 0 {
		p.watch(idle)
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = p.kill
	p.cmd.WaitDelay = 2 * grace
	p.wait = sync.OnceValue(p.finish)
	if r.store.Trace != nil {
		r.store.Trace(argv, p.cmd.Env)
	}
	feed, err := p.takeInput()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.end(nil)
		p.free()
		return nil, fmt.Errorf("starting git %s: %w: %w", c.sub, ErrUnavailable, err)
	}
	go feed()
	if limit.nice > 0 {
		// It may have ended already; and a command that could not be slowed down is still right.
		_ = syscall.Setpriority(syscall.PRIO_PGRP, p.cmd.Process.Pid, limit.nice)
	}
	return p, nil
}

// takeInput connects the input of the command. It is copied by hand, since Cmd.Wait would wait for a reader that blocks
// even when the command is long dead.
func (p *process) takeInput() (feed func(), err error) {
	p.fed = make(chan struct{})
	if file, ok := p.call.stdin.(*os.File); ok || p.call.stdin == nil {
		if ok {
			p.cmd.Stdin = file
		}
		return func() { close(p.fed) }, nil
	}
	in, err := p.cmd.StdinPipe()
	return func() {
		defer close(p.fed)
		defer func() { _ = in.Close() }()
		b := make([]byte, 32<<10)
		for {
			began := time.Now()
			n, err := p.call.stdin.Read(b)
			if n > 0 {
				p.waited(time.Since(began), n)
			}
			p.touch()
			if _, gone := in.Write(b[:n]); gone != nil {
				return // the command has what it wanted; its exit code counts
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				p.end(fmt.Errorf("reading its input: %w", err))
				return
			}
		}
	}, err
}

// waited says that the client was waited for. One that is too slow loses its command.
func (p *process) waited(took time.Duration, n int) {
	if p.pace != nil && p.pace.slow(took, n) {
		p.end(fmt.Errorf("a client that is too slow: %w", ErrTimeout))
	}
}

// kill ends the whole process group: politely, so that locks and temporary files go, then for good.
func (p *process) kill() error {
	group := -p.cmd.Process.Pid
	err := syscall.Kill(group, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	timer := time.AfterFunc(grace, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	free := p.free
	p.free = func() { timer.Stop(); free() }
	return err
}

// finish waits, and says what went wrong in the package's own words.
func (p *process) finish() error {
	err := p.cmd.Wait()
	select {
	case <-p.fed: // the reader is the caller's again
	case <-time.After(grace / 10):
	}
	cause := context.Cause(p.ctx)
	p.end(nil)
	p.free()
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	switch {
	case cause != nil:
		return fmt.Errorf("git %s: %w", p.call.sub, cause)
	case errors.As(err, &exit):
		failure := &commandError{sub: p.call.sub, code: exit.ExitCode(), text: p.stderr.String()}
		failure.kind = kindOf(failure.text)
		if bytes.Contains(p.stderr.text, []byte("Input/output error")) {
			p.place.failed.Store(true)
		}
		return failure
	}
	return fmt.Errorf("git %s: %w", p.call.sub, err)
}

// run starts a command and waits; stdout goes to w. exit codes are errors, mapped to the package's own.
func (r *Repo) run(ctx context.Context, c call, w io.Writer) error {
	p, err := r.start(ctx, c, w)
	if err != nil {
		return err
	}
	return p.wait()
}

// output is run for a small result; more than limit bytes are ErrTooLarge.
func (r *Repo) output(ctx context.Context, c call, limit int64) ([]byte, error) {
	out := bounded{limit: limit}
	err := r.run(ctx, c, &out)
	if out.over {
		return nil, ErrTooLarge
	}
	return out.text.Bytes(), err
}

// stream starts a command whose output is read as it comes. Reading to the end reports how the command went; Close
// ends it.
func (r *Repo) stream(ctx context.Context, c call) (io.ReadCloser, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w: %w", ErrUnavailable, err)
	}
	p, err := r.start(ctx, c, in)
	in.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	return &outputStream{process: p, pipe: out}, nil
}

// outputStream is what a command writes. Its end is io.EOF only if the command succeeded.
type outputStream struct {
	*process
	pipe *os.File
	left time.Time // when the reader had its last piece
	took int       // how large that was
}

func (o *outputStream) Read(b []byte) (int, error) {
	began := time.Now()
	if !o.left.IsZero() {
		o.waited(began.Sub(o.left), o.took) // the reader was away with what it took
	}
	n, err := o.pipe.Read(b)
	o.left, o.took = time.Now(), n
	o.touch()
	if err != nil {
		if failure := o.wait(); failure != nil {
			return n, failure
		}
	}
	return n, err
}

func (o *outputStream) Close() error {
	o.end(context.Canceled) // nothing happens to a command that has ended
	o.pipe.Close()
	_ = o.wait() // a reader that stops early does not care, and one that read to the end has been told
	return nil
}

// watch ends a command that moves no byte for a while.
func (p *process) watch(limit time.Duration) {
	file, direct := p.cmd.Stdout.(*os.File)
	var timer atomic.Pointer[time.Timer]
	p.touch = func() { timer.Load().Reset(limit) }
	var had int64
	timer.Store(time.AfterFunc(limit, func() {
		// What is written to a file passes by nobody.
		if info, err := file.Stat(); err == nil && info.Size() > had {
			had = info.Size()
			p.touch()
			return
		}
		p.end(ErrTimeout)
	}))
	if p.cmd.Stdout != nil && !direct {
		p.cmd.Stdout = &touchingWriter{p.cmd.Stdout, p}
	}
	free := p.free
	p.free = func() { timer.Load().Stop(); free() }
}

// touchingWriter tells a process what it wrote.
type touchingWriter struct {
	io.Writer
	process *process
}

func (w *touchingWriter) Write(b []byte) (int, error) {
	began := time.Now()
	n, err := w.Writer.Write(b)
	w.process.waited(time.Since(began), n)
	w.process.touch()
	return n, err
}

// bounded keeps what is written up to a limit.
type bounded struct {
	text  bytes.Buffer
	limit int64
	over  bool
}

func (b *bounded) Write(text []byte) (int, error) {
	if int64(b.text.Len()+len(text)) > b.limit {
		b.over = true
		return 0, ErrTooLarge
	}
	return b.text.Write(text)
}

// tail keeps the end of what is written, where git says why it gave up.
type tail struct{ text []byte }

const tailSize = 8 << 10

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(text), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.text)) }

// commandError is a command that ended with another code than 0.
type commandError struct {
	sub  string
	code int
	text string
	kind error // of errors.go, or nil
}

func (e *commandError) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", e.sub, e.code, e.text)
}

func (e *commandError) Unwrap() error { return e.kind }

// exitCode is the code that a command ended with; 0 for success, -1 for what is no answer of git.
func exitCode(err error) int {
	var failure *commandError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failure):
		return failure.code
	}
	return -1
}

// kinds are the words of git that mean one of our errors. The first that fits counts.
var kinds = []struct {
	text string
	kind error
}{
	{"Input/output error", ErrUnavailable},
	{"No space left on device", ErrUnavailable},
	{"Disk quota exceeded", ErrUnavailable},
	{"Read-only file system", ErrUnavailable},
	{"Too many open files", ErrUnavailable},
	{"Cannot allocate memory", ErrUnavailable},
	{"not a git repository", ErrNoRepo},
	{"does not appear to be a git repository", ErrNoRepo},
	{"short object ID", ErrAmbiguous},
	{"short SHA1", ErrAmbiguous},
	{"Another git process seems to be running", errLocked},
	{"reference already exists", ErrConflict},
	{"but expected", ErrConflict},
	{"cannot lock ref", ErrConflict},
	{"unable to resolve reference", ErrConflict},
	{"maximum allowed size", ErrTooLarge},
	{"is corrupt", ErrCorrupt},
	{"is empty", ErrCorrupt},
	{"inflate: ", ErrCorrupt},
	{"packfile", ErrCorrupt},
	{"unable to read tree", ErrCorrupt},
	{"bad object", ErrNotFound},
	{"not a valid object", ErrNotFound},
	{"Not a valid", ErrNotFound},
	{"unknown revision", ErrNotFound},
	{"bad revision", ErrNotFound},
	{"invalid object name", ErrNotFound},
	{"could not get object info", ErrNotFound},
	{"did not match any", ErrNotFound},
	{"no such path", ErrNotFound},
	{"does not exist in", ErrNotFound},
	{"Needed a single revision", ErrNotFound},
}

func kindOf(text string) error {
	for _, k := range kinds {
		if strings.Contains(text, k.text) {
			return k.kind
		}
	}
	return nil
}

// newSlots are those of a class, shared among callers and repositories.
func newSlots(l limit, processes int) *fairshare.Slots {
	return fairshare.New(l.share*processes/64, l.each)
}

// take waits for the turn of a command. Who is too many for too long hears ErrUnavailable.
func (r *Repo) take(ctx context.Context, c class, item string) (free func(), err error) {
	if patience := limits[c].patience; patience > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, patience, fmt.Errorf("too many commands at once: %w", ErrUnavailable))
		defer stop()
	}
	return r.store.slots[c].Take(ctx, item)
}
