package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/app"
	"stithy/internal/platform/config"
)

// asNode is set in processes of this test that are nodes.
const asNode = "LOAD_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(asNode) == "" {
		os.Exit(m.Run())
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// reading is how a node fares.
type reading struct {
	Waiting  int   // runners
	Acquired int64 // connections taken from the pool since the start: no SQL without
	Memory   int64 // resident bytes, after what is free was given back
	Stacks   int64 // of goroutines
	Heap     int64
}

// serve is a node until its standard input ends. It writes where it listens,
// and a reading for each line that it reads.
func serve() error {
	cfg, err := config.Load("", os.Environ())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a, err := app.New(ctx, cfg, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.Prepare(ctx); err != nil {
		return err
	}
	go func() {
		defer stop()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			r := reading{Waiting: a.WaitingRunners(), Acquired: a.DB.Pool().Stat().AcquireCount()}
			if lines.Text() == "memory" {
				debug.FreeOSMemory()
				r.Memory = resident()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				r.Stacks, r.Heap = int64(m.StackInuse), int64(m.HeapAlloc)
			}
			text, _ := json.Marshal(r)
			fmt.Printf("%s\n", text)
		}
	}()
	return a.Serve(ctx, []string{"web"}, func(address string) { fmt.Println(address) })
}

// resident is how much memory this process has.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kilobytes << 10
}

// node is a process that serves.
type node struct {
	address string
	mu      sync.Mutex
	in      io.Writer
	out     *bufio.Reader
}

func startNode(t *testing.T, env ...string) *node {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{asNode + "=1", "PATH=" + os.Getenv("PATH"), "STITHY_LISTEN=127.0.0.1:0"}, env...)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Error("a node ended with", err)
		}
	})
	n := &node{in: in, out: bufio.NewReader(out)}
	if n.address, err = n.out.ReadString('\n'); err != nil {
		t.Fatal("a node did not start: ", err)
	}
	n.address = strings.TrimSpace(n.address)
	return n
}

func (n *node) read(t *testing.T, what string) (r reading) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := io.WriteString(n.in, what+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := n.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
