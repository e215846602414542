package lifecycle

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections know the time of a test's own clock.
type pipes struct {
	back chan net.Conn
	done chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.back:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// onPipes runs do beside a server, on a clock of their own. The handler says how it ended.
func onPipes(t *testing.T, handler func(ended chan<- error) http.HandlerFunc, do func(t *testing.T, dial func() net.Conn, ended <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{back: make(chan net.Conn), done: make(chan struct{})}
		ended := make(chan error, 1)
		s := HTTP("test", "", handler(ended), slog.New(slog.DiscardHandler), HTTPOptions{})
		s.door.Listener = p
		go s.serve(s.server, s.door)
		var open []net.Conn
		defer func() {
			_ = s.server.Close()
			for _, c := range open {
				_ = c.Close()
			}
			time.Sleep(time.Minute) // on the test's own clock, until everybody has noticed
		}()
		do(t, func() net.Conn {
			here, there := net.Pipe()
			open = append(open, here)
			p.back <- there
			return here
		}, ended)
	})
}

// readAll is a handler that wants the whole body, and notes what came of it.
func readAll(ended chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if r.ContentLength > 0 && err == nil && n != r.ContentLength {
			err = errors.New("short")
		}
		ended <- err
		if err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// gone waits until the server has hung up, and says how long that took.
func gone(t *testing.T, c net.Conn) (time.Duration, string) {
	t.Helper()
	start := time.Now()
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(start), string(answer)
}

func TestDO08_AStalledBodyIsCut(t *testing.T) {
	t.Parallel()
	for name, beginning := range map[string]string{
		"of a known length": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nx",
		"in pieces":         "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nx",
		"not begun":         "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onPipes(t, readAll, func(t *testing.T, dial func() net.Conn, ended <-chan error) {
				c := dial()
				say(t, c, beginning)
				took, answer := gone(t, c)
				if took < 30*time.Second || took > 32*time.Second || !strings.HasPrefix(answer, "HTTP/1.1 408 ") {
					t.Errorf("cut after %v with %q", took, answer)
				}
				if err := <-ended; !errors.Is(err, ErrSlow) {
					t.Errorf("the handler saw %v", err)
				}
			})
		})
	}
}

// git is answered while it sends.
func TestDO08_AStalledBodyIsCutAlsoWhereTheAnswerHasBegun(t *testing.T) {
	t.Parallel()
	both := func(ended chan<- error) http.HandlerFunc {
		read := readAll(ended)
		return func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
				ended <- err
				return
			}
			read(w, r)
		}
	}
	for name, rest := range map[string]string{"says nothing": "", "says what looks like a request": "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onPipes(t, both, func(t *testing.T, dial func() net.Conn, ended <-chan error) {
				c := dial()
				say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nx")
				go func() {
					time.Sleep(30*time.Second + time.Millisecond)
					_, _ = io.WriteString(c, rest)
				}()
				took, answers := gone(t, c)
				if took > 32*time.Second || strings.Count(answers, "HTTP/1.1 ") != 1 {
					t.Errorf("cut after %v with %q", took, answers)
				}
				if err := <-ended; !errors.Is(err, ErrSlow) {
					t.Errorf("the handler saw %v", err)
				}
			})
		})
	}
}

func TestDO08_ABodyThatNobodyReadsIsCut(t *testing.T) {
	t.Parallel()
	refuse := func(chan<- error) http.HandlerFunc { return http.NotFound }
	onPipes(t, refuse, func(t *testing.T, dial func() net.Conn, _ <-chan error) {
		c := dial()
		say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx")
		if took, _ := gone(t, c); took > 32*time.Second {
			t.Errorf("cut after %v", took)
		}
	})
}

// upload sends pieces of a size, one each pause, and says when the server hung up; 0 if it took them all.
func upload(t *testing.T, c net.Conn, pieces, size int, pause time.Duration) time.Duration {
	t.Helper()
	go func() { _, _ = io.Copy(io.Discard, c) }()
	start := time.Now()
	for range pieces {
		time.Sleep(pause)
		if _, err := c.Write(bytes.Repeat([]byte("x"), size)); err != nil {
			return time.Since(start)
		}
	}
	return 0
}

func TestDO08_ATricklingBodyIsCut(t *testing.T) {
	t.Parallel()
	onPipes(t, readAll, func(t *testing.T, dial func() net.Conn, ended <-chan error) {
		c := dial()
		say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n")
		// Half of the least rate: each second costs half a second of thirty.
		if cut := upload(t, c, 1000, 512, time.Second); cut < 50*time.Second || cut > 70*time.Second {
			t.Errorf("cut after %v", cut)
		}
	})
}

func TestDO07_AHeaderOfManyLinesIsRefused(t *testing.T) {
	t.Parallel()
	for lines, want := range map[int]string{maxHeaders: "HTTP/1.1 200 ", maxHeaders + 1: "HTTP/1.1 431 "} {
		for _, line := range []string{"A: b\r\n", "A%d: b\r\n"} {
			onPipes(t, readAll, func(t *testing.T, dial func() net.Conn, _ <-chan error) {
				c := dial()
				head := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n"
				for n := range lines - 1 { // Content-Length is one of them, and the host is none
					head += strings.ReplaceAll(line, "%d", strconv.Itoa(n))
				}
				say(t, c, head+"\r\n")
				answer := make([]byte, len(want))
				if _, err := io.ReadFull(c, answer); err != nil || string(answer) != want {
					t.Errorf("%d lines: %s %v", lines, answer, err)
				}
			})
		}
	}
}

func TestDO07_AHeaderOfVeryManyLinesIsNotKept(t *testing.T) {
	t.Parallel()
	onPipes(t, readAll, func(t *testing.T, dial func() net.Conn, ended <-chan error) {
		c := dial()
		for range 2 { // what one request has does not count against the next, and what a body has counts not at all
			say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n")
			say(t, c, strings.Repeat("\n", 20000))
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
		}
		go func() {
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\n"+strings.Repeat("a:\r\n", 2*maxLines))
		}()
		if took, answer := gone(t, c); took > time.Second || !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
			t.Errorf("after %v: %s", took, answer)
		}
	})
}

func TestDO08_WhoHoldsASlotIsHurried(t *testing.T) {
	t.Parallel()
	hurried := func(next func(chan<- error) http.HandlerFunc) func(chan<- error) http.HandlerFunc {
		return func(ended chan<- error) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				Hurry(r, 32<<10)
				next(ended)(w, r)
			}
		}
	}
	t.Run("while it sends", func(t *testing.T) {
		t.Parallel()
		onPipes(t, hurried(readAll), func(t *testing.T, dial func() net.Conn, ended <-chan error) {
			c := dial()
			say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n")
			if cut := upload(t, c, 1000, 16<<10, time.Second); cut < 50*time.Second || cut > 70*time.Second {
				t.Errorf("cut after %v", cut)
			}
			<-ended
			c = dial()
			say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n")
			if cut := upload(t, c, 1000, 64<<10, time.Second); cut != 0 {
				t.Errorf("one that moves is cut after %v", cut)
			}
		})
	})
	t.Run("while it reads", func(t *testing.T) {
		t.Parallel()
		onPipes(t, hurried(answer(true)), func(t *testing.T, dial func() net.Conn, ended <-chan error) {
			c := dial()
			say(t, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			go func() {
				buf := make([]byte, 2048) // enough for anybody else
				for {
					time.Sleep(time.Second)
					if _, err := io.ReadFull(c, buf); err != nil {
						return
					}
				}
			}()
			start := time.Now()
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) > time.Minute {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	})
}

func TestDO08_NobodySavesUpPatience(t *testing.T) {
	t.Parallel()
	onPipes(t, readAll, func(t *testing.T, dial func() net.Conn, _ <-chan error) {
		c := dial()
		say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n")
		if cut := upload(t, c, 10, 1<<20, time.Millisecond); cut != 0 {
			t.Fatalf("cut after %v", cut)
		}
		if cut := upload(t, c, 10, 1, 31*time.Second); cut == 0 || cut > 2*31*time.Second {
			t.Errorf("cut after %v", cut)
		}
	})
}

func TestASlowUploadThatMovesIsNotCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size  int
		pause time.Duration
	}{"at twice the least rate, for an hour": {2048, time.Second}, "in bursts, with pauses": {64 << 10, 29 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onPipes(t, readAll, func(t *testing.T, dial func() net.Conn, ended <-chan error) {
				conn := dial()
				say(t, conn, "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n")
				if cut := upload(t, conn, int(time.Hour/c.pause), c.size, c.pause); cut != 0 {
					t.Errorf("cut after %v", cut)
				}
			})
		})
	}
}

func TestAHandlerMayWorkForLongAfterTheBody(t *testing.T) {
	t.Parallel()
	work := func(chan<- error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
				w.WriteHeader(http.StatusInternalServerError)
			case <-time.After(time.Hour):
			}
		}
	}
	onPipes(t, work, func(t *testing.T, dial func() net.Conn, _ <-chan error) {
		c := dial()
		from := bufio.NewReader(c)
		for range 2 { // the connection lives on
			say(t, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
			response, err := http.ReadResponse(from, nil)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("%v %v", response, err)
			}
		}
	})
}

func TestAHandlerMayLookForMoreAfterTheBody(t *testing.T) {
	t.Parallel()
	work := func(ended chan<- error) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if n, err := r.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("behind the end: %d bytes, %v", n, err)
			}
			time.Sleep(time.Hour) // on the test's own clock
			ended <- r.Context().Err()
		}
	}
	onPipes(t, work, func(t *testing.T, dial func() net.Conn, ended <-chan error) {
		say(t, dial(), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
		if err := <-ended; err != nil {
			t.Errorf("the request ended before its answer: %v", err)
		}
	})
}

// answer is a handler that sends a lot, in one piece or in many.
func answer(whole bool) func(chan<- error) http.HandlerFunc {
	piece := 1024
	if whole {
		piece = 1 << 20
	}
	return func(ended chan<- error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for sent := 0; err == nil && sent < 1<<20; sent += piece {
				_, err = w.Write(make([]byte, piece))
			}
			ended <- err
		}
	}
}

func TestDO08_AClientThatDoesNotTakeItsAnswerIsCut(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"in one piece": true, "in many": false} {
		for taking, least := range map[int]time.Duration{0: 30 * time.Second, 512: 50 * time.Second} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				onPipes(t, answer(whole), func(t *testing.T, dial func() net.Conn, ended <-chan error) {
					c := dial()
					say(t, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
					start := time.Now()
					go func() {
						buf := make([]byte, 512)
						for taking > 0 {
							time.Sleep(time.Second)
							if _, err := io.ReadFull(c, buf); err != nil {
								break
							}
						}
					}()
					err := <-ended
					if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took < least || took > 2*least+time.Second {
						t.Errorf("%d bytes a second: %v after %v", taking, err, took)
					}
				})
			})
		}
	}
}

func TestASlowReaderThatMovesIsNotCut(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"in one piece": true, "in many": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onPipes(t, answer(whole), func(t *testing.T, dial func() net.Conn, ended <-chan error) {
				c := dial()
				say(t, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				go func() {
					buf := make([]byte, 2048)
					for {
						time.Sleep(time.Second)
						if _, err := io.ReadFull(c, buf); err != nil {
							return
						}
					}
				}()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestEachAnswerHasPatienceOfItsOwn(t *testing.T) {
	t.Parallel()
	short := func(chan<- error) http.HandlerFunc { return http.NotFound }
	onPipes(t, short, func(t *testing.T, dial func() net.Conn, _ <-chan error) {
		c := dial()
		from := bufio.NewReader(c)
		for range 3 {
			say(t, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			time.Sleep(25 * time.Second)
			response, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
		}
	})
}

// A file goes to the socket by the system, in one call.
func TestDO08_AClientThatDoesNotTakeAFileIsCut(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	content := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	start := func(options HTTPOptions) string {
		s := HTTP("test", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			f, err := os.Open(name)
			if err == nil {
				defer func() { _ = f.Close() }()
				_, err = io.Copy(w, f)
			}
			ended <- err
		}), slog.New(slog.DiscardHandler), options)
		if err := s.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.server.Close() })
		return s.Addr().String()
	}
	c, err := net.Dial("tcp", start(HTTPOptions{Stall: 300 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	say(t, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the handler saw %v", err)
	}
	response, err := http.Get("http://" + start(HTTPOptions{})) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
}

// resuming is a connection to which nothing goes before the deadline, and then a little of a file.
type resuming struct {
	net.Conn
	calls int
}

func (r *resuming) SetWriteDeadline(time.Time) error { return nil }

func (r *resuming) ReadFrom(from io.Reader) (int64, error) {
	r.calls++
	n, err := io.CopyN(io.Discard, from, 10)
	if err == nil {
		err = os.ErrDeadlineExceeded
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func TestAFileGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 95), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	to := &resuming{}
	c := &connection{Conn: to, sending: newPatience(HTTPOptions{}.orDefaults())}
	if n, err := c.ReadFrom(f); n != 95 || err != nil || to.calls != 10 {
		t.Errorf("%d bytes in %d calls, %v", n, to.calls, err)
	}
}

func TestDO08_OneAddressDoesNotTakeAllConnections(t *testing.T) {
	t.Parallel()
	start := func(options HTTPOptions) string {
		s := HTTP("test", "127.0.0.1:0", http.NotFoundHandler(), slog.New(slog.DiscardHandler), options)
		if err := s.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.server.Close() })
		return s.Addr().String()
	}
	answered := func(addr string) (net.Conn, bool) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		_, err = http.ReadResponse(bufio.NewReader(c), nil)
		return c, err == nil
	}
	refused := make(chan netip.Prefix, 1)
	addr := start(HTTPOptions{PerAddress: 3, Refused: func(from netip.Prefix) {
		select {
		case refused <- from:
		default:
		}
	}})
	var open []net.Conn
	for range 3 {
		c, ok := answered(addr)
		if !ok {
			t.Fatal("not answered")
		}
		open = append(open, c)
	}
	if _, ok := answered(addr); ok {
		t.Fatal("a fourth connection was answered")
	}
	if from := <-refused; from.String() != "127.0.0.1/32" {
		t.Errorf("%s was refused", from)
	}
	_ = open[0].Close()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, ok := answered(addr); ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a connection that ended still counts")
		}
	}
	exempt := start(HTTPOptions{PerAddress: 3, Exempt: func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }})
	for range 10 {
		if _, ok := answered(exempt); !ok {
			t.Fatal("an exempt address was refused")
		}
	}
}

func TestIPv6CountsByTheNetworkOfAClient(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"[2001:db8::1]:1": "2001:db8::/64", "[2001:db8::ffff:1]:2": "2001:db8::/64", "[2001:db8:0:1::1]:1": "2001:db8:0:1::/64",
		"192.0.2.1:1": "192.0.2.1/32", "[::ffff:192.0.2.1]:1": "192.0.2.1/32", "[fe80::1%eth0]:1": "fe80::/64",
	} {
		if got := network(addressOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))); got.String() != want {
			t.Errorf("%s counts as %s, want %s", address, got, want)
		}
	}
}

func TestAShareOfWaitingRequestsIsBounded(t *testing.T) {
	t.Parallel()
	result := make(chan error, 8)
	s := HTTP("test", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Resumed(r.Context()) != nil {
			return
		}
		result <- Park(w, r, ParkOptions{
			Hold: time.Hour, Note: 1, Gone: func() { result <- io.EOF }, Begin: func(func()) {},
			Shares: []Share{{"runner " + r.URL.Path, 2}, {"address", 3}},
		})
	}), slog.New(slog.DiscardHandler), HTTPOptions{})
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.server.Close() })
	ask := func(path string, want error) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		say(t, c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
		if err := <-result; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		return c
	}
	first := ask("/a", nil)
	ask("/a", nil)
	ask("/a", ErrShare)
	ask("/b", nil)
	ask("/c", ErrShare) // the address has its three
	_ = first.Close()
	if err := <-result; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); s.parking.waiting() != 2; runtime.Gosched() { // it is counted out after it is told
		if time.Now().After(deadline) {
			t.Fatal("who went while waiting still counts")
		}
	}
	ask("/a", nil)
}

func TestAShareIsGivenBackWhenARequestCannotWait(t *testing.T) {
	t.Parallel()
	result := make(chan error, 1)
	s := HTTP("test", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plain := struct{ http.ResponseWriter }{w} // which cannot give its connection away
		result <- Park(plain, r, ParkOptions{Hold: time.Hour, Note: 1, Shares: []Share{{"one", 1}}})
	}), slog.New(slog.DiscardHandler), HTTPOptions{})
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.server.Close() })
	for range 2 {
		response, err := http.Get("http://" + s.Addr().String()) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if err := <-result; err == nil || errors.Is(err, ErrShare) {
			t.Errorf("got %v", err)
		}
	}
	if n := s.parking.waiting(); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}
