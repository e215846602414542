package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// server is the process under test, as the machine shows it.
type server struct {
	pid      int
	log      string
	database string
}

const ticksPerSecond = 100 // of /proc, on every Linux

// cpu is what the server, the processes that it has waited for and its part of PostgreSQL have used.
func (p *server) cpu() time.Duration {
	ticks := 0
	if f := stat(p.pid); f != nil {
		ticks = f[11] + f[12] + f[13] + f[14] // utime, stime, cutime, cstime
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range processes {
		title, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(title, []byte("postgres:")) || !bytes.Contains(title, []byte(" "+p.database+" ")) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		if f := stat(pid); f != nil {
			ticks += f[11] + f[12]
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// stat is the numbers of /proc/PID/stat after the name, from the state on.
func stat(pid int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	var numbers []int
	for field := range strings.FieldsSeq(rest) {
		n, _ := strconv.Atoi(field)
		numbers = append(numbers, n)
	}
	if len(numbers) < 15 {
		return nil
	}
	return numbers
}

// burden is what the server holds.
type burden struct {
	megabytes, files, children int
}

func (b burden) String() string {
	return fmt.Sprintf("%d MB, %d open files, %d child processes", b.megabytes, b.files, b.children)
}

func (p *server) burden() (b burden) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ := strconv.Atoi(strings.Fields(rest)[0])
			b.megabytes = kilobytes >> 10
		}
	}
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
	b.files = len(files)
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.pid))
	for _, name := range lists {
		children, _ := os.ReadFile(name)
		b.children += len(strings.Fields(string(children)))
	}
	return b
}

// above says whether a burden is more than another in any way.
func (b burden) above(before burden) bool {
	return b.megabytes > before.megabytes || b.files > before.files || b.children > before.children
}

// within says whether a burden is no more than another, with what a server that has worked may keep.
func (b burden) within(before burden) bool {
	return b.megabytes <= before.megabytes+before.megabytes/4+64 && b.files <= before.files+32 && b.children <= before.children+4
}

// complaint is a line of the log that no request should cause.
type complaint struct {
	Level, Msg, Method, Path, Route, Error string
	Status                                 int
	line                                   string
}

// complaints reads the log from an offset on: errors, panics and failures, also those that no client was there to hear of. That a client hung up is
// none of them.
func (p *server) complaints(from int64) (found []complaint, next int64) {
	text, err := os.ReadFile(p.log)
	if err != nil || from > int64(len(text)) {
		return nil, from
	}
	text = text[from:]
	end := bytes.LastIndexByte(text, '\n') + 1
	for line := range bytes.Lines(text[:end]) {
		c := complaint{line: strings.TrimSpace(string(line))}
		if json.Unmarshal(line, &c) != nil {
			c.Level = "ERROR" // what the runtime prints when it dies
		}
		failed := c.Msg == "request" && c.Status >= 500
		if c.Level == "ERROR" || failed || strings.Contains(c.Msg, "panic") || (c.Level == "WARN" && strings.Contains(c.Error, "context canceled")) {
			found = append(found, c)
		}
	}
	return found, from + int64(end)
}
