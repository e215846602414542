package notification_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/notification"
	"stithy/internal/platform/mail/mailtest"
)

// fault is what goes wrong at one step of a conversation with the mail server. Step 0 is its greeting, the others are the answers to commands.
type fault struct {
	step int
	act  act
}

type act int

const (
	nothing   act = iota
	cutBefore     // the connection ends before the server hears of the command
	cutAfter      // it ends after the server did what it was told, and before the answer is through
	later         // the server refuses for now
	never         // the server refuses for good
	delayed       // the answer waits until somebody lets it pass
	acts
)

func (a act) String() string {
	return [acts]string{"nothing", "cut before", "cut after", "later", "never", "delayed"}[a]
}

// proxy stands between the instance and the mail server, and does what it is told to the next connection.
type proxy struct {
	listener net.Listener
	server   string

	mu      sync.Mutex
	next    fault
	said    []string // the commands of the last conversation, by step
	done    bool     // whether the next fault has happened
	held    chan struct{}
	release chan struct{}
}

func newProxy(t testing.TB, sink *mailtest.Sink) *proxy {
	t.Helper()
	u, err := url.Parse(sink.URL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: u.Host}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var talks sync.WaitGroup
	talks.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			talks.Go(func() { p.talk(client) })
		}
	})
	t.Cleanup(func() { _ = p.listener.Close(); talks.Wait() })
	return p
}

// meet sets what happens to the next connection.
func (p *proxy) meet(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.said, p.done = f, nil, false
	p.held, p.release = make(chan struct{}), make(chan struct{})
}

func (p *proxy) talk(client net.Conn) {
	defer func() { _ = client.Close() }()
	p.mu.Lock()
	f, held, release := p.next, p.held, p.release
	p.next = fault{}
	p.mu.Unlock()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	in, out := bufio.NewReader(client), bufio.NewReader(server)
	command := ""
	for step := 0; ; step++ {
		p.mu.Lock()
		p.said = append(p.said, strings.ToUpper(strings.Fields(command + " -")[0]))
		hit := f.act != nothing && f.step == step
		p.done = p.done || hit
		p.mu.Unlock()
		if hit && f.act == cutBefore {
			return
		}
		if hit && (f.act == later || f.act == never) {
			refuse(client, in, step, f.act)
			return
		}
		if _, err := io.WriteString(server, command); err != nil {
			return
		}
		answer, err := reply(out)
		if err != nil || (hit && f.act == cutAfter) {
			return
		}
		if hit && f.act == delayed {
			close(held)
			<-release
		}
		if _, err := io.WriteString(client, answer); err != nil {
			return
		}
		if command, err = said(in, strings.HasPrefix(answer, "354")); err != nil {
			return
		}
	}
}

// refuse answers in the place of the server, and listens no more to what it is told.
func refuse(client io.Writer, in *bufio.Reader, step int, a act) {
	answer := "451 4.3.0 not now\r\n"
	switch {
	case a == never:
		answer = "554 5.3.0 never\r\n"
	case step == 0:
		answer = "421 4.3.2 not now\r\n"
	}
	for {
		if _, err := io.WriteString(client, answer); err != nil {
			return
		}
		command, err := said(in, false)
		if err != nil {
			return
		}
		if answer = "250 2.0.0 fine\r\n"; strings.HasPrefix(strings.ToUpper(command), "QUIT") {
			answer = "221 2.0.0 bye\r\n"
		}
	}
}

// reply is an answer of the server, of one line or more.
func reply(from *bufio.Reader) (all string, err error) {
	for {
		line, err := from.ReadString('\n')
		if all += line; err != nil || len(line) < 4 || line[3] != '-' {
			return all, err
		}
	}
}

// said is what the client says next: a command, or a message up to its dot.
func said(from *bufio.Reader, message bool) (all string, err error) {
	for {
		line, err := from.ReadString('\n')
		if all += line; err != nil || !message || line == ".\r\n" {
			return all, err
		}
	}
}

// waits is how many rows are still to be sent.
func (w *mailing) waits(t testing.TB) int {
	t.Helper()
	return value[int](t, w.DB, `select count(*) from mails where failed_at is null`)
}

// settled is what became of one mail: how often the server has it, under which ids, and how many rows count as failed.
type settled struct {
	arrived, failed int
	ids             []string
}

// settle sends a mail through faults until it is sent or given up.
func (w *mailing) settle(t testing.TB, p *proxy, job notification.MailArgs, faults func(n int) fault) (s settled) {
	t.Helper()
	before := len(w.sink.All())
	for n := 0; w.waits(t) > 0; n++ {
		if n == 100 {
			t.Fatal("it is tried without end")
		}
		f := faults(n)
		p.meet(f)
		if f.act == delayed {
			w.sendDelayed(t, p, job)
		} else {
			_ = w.Notifications.Send(t.Context(), job) // the error is for the queue, which tries again
		}
		w.Turn(5 * time.Minute)
	}
	for _, m := range w.sink.All()[before:] {
		s.arrived++
		if id := m.Header.Get("Message-Id"); !slices.Contains(s.ids, id) {
			s.ids = append(s.ids, id)
		}
	}
	s.failed = value[int](t, w.DB, `select count(*) from mails where failed_at is not null`)
	w.exec(t, `delete from mails`)
	w.exec(t, `delete from refused_addresses`)
	w.exec(t, `delete from mail_counts`)
	w.exec(t, `delete from river_job where kind = 'notification_mail'`) // of who found the mail in other hands
	return s
}

// sendDelayed lets another job run while an answer of the server is on its way.
func (w *mailing) sendDelayed(t testing.TB, p *proxy, job notification.MailArgs) {
	t.Helper()
	p.mu.Lock()
	held, release := p.held, p.release
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Notifications.Send(t.Context(), job)
	}()
	select {
	case <-held:
		if err := w.Notifications.Send(t.Context(), job); err != nil {
			t.Error(err)
		}
		close(release)
	case <-ended: // the conversation was shorter
	}
	<-ended
}

// one leaves one mail to the person who watches.
func (w *mailing) one(t testing.TB) notification.MailArgs {
	t.Helper()
	w.open(t, w.ann, nil)
	queued := w.spread(t)
	if len(queued) != 1 {
		t.Fatalf("queued %v", queued)
	}
	return queued[0]
}

func newMailingBehind(t testing.TB) (*mailing, *proxy) {
	t.Helper()
	sink := mailtest.New(t)
	p := newProxy(t, sink)
	return newMailingBy(t, sink, "smtp://"+p.listener.Addr().String()), p
}

// Wherever the conversation with the server is cut, refused or held up, a mail arrives once or is reported as failed. Only when the server took it and
// its answer was lost can nobody know: then it arrives twice, under one Message-ID.
func TestEM05_AMailArrivesOnceWhateverHappensToTheConversation(t *testing.T) {
	t.Parallel()
	w, p := newMailingBehind(t)
	whole := w.settle(t, p, w.one(t), func(int) fault { return fault{} })
	steps := slices.Clone(p.said)
	if whole.arrived != 1 || whole.failed != 0 || len(steps) < 6 {
		t.Fatalf("%+v after %q", whole, steps)
	}
	end := slices.Index(steps, "DATA") + 1 // the answer to the dot
	for step := range steps {
		for a := cutBefore; a < acts; a++ {
			name := fmt.Sprintf("%s at step %d, %s", a, step, steps[step])
			got := w.settle(t, p, w.one(t), func(n int) fault {
				if n == 0 {
					return fault{step, a}
				}
				return fault{}
			})
			want := settled{arrived: 1}
			switch {
			case a == cutAfter && step == end:
				want.arrived = 2
			case a == never && step > 0 && step <= end && got.failed == 1:
				want = settled{failed: 1}
			}
			if got.arrived != want.arrived || got.failed != want.failed || len(got.ids) > 1 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

func TestEM05_AMailArrivesOnceThroughManyFaults(t *testing.T) {
	t.Parallel()
	w, p := newMailingBehind(t)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 5))
		lost := 0
		var last fault
		note := func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if last.act == cutAfter && p.done && last.step > 0 && last.step < len(p.said) && p.said[last.step-1] == "DATA" {
				lost++
			}
		}
		got := w.settle(t, p, w.one(t), func(int) fault {
			note()
			last = fault{r.IntN(8), act(r.IntN(int(acts)))}
			return last
		})
		note()
		if got.arrived+got.failed == 0 || got.arrived > 1+lost || got.arrived > 2 || len(got.ids) > 1 || (got.failed == 0 && got.arrived == 0) {
			t.Errorf("seed %d: %+v, %d answers were lost", seed, got, lost)
		}
	}
}
