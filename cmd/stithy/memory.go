package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
)

// releaseStartup gives back what was needed to start: free memory of the heap, and the pages of the program itself that were read meanwhile.
// Those that are needed again come from the file, or from the cache that the kernel has of it.
func releaseStartup() {
	debug.FreeOSMemory()
	program, err := os.Executable()
	if err != nil {
		return // the kernel takes the pages when it needs them
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, r := range unwritten(maps, program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, r.from, r.to-r.from, syscall.MADV_DONTNEED)
	}
}

// addresses are a range of memory.
type addresses struct{ from, to uintptr }

// unwritten are the ranges that a file is mapped to, of which no page was or can be written to: such pages equal the file. The ranges are read in the
// form of /proc/PID/smaps.
func unwritten(maps io.Reader, file string) (all []addresses) {
	var r addresses
	var of, clean bool
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var rights, offset, device, inode string
		from, to := uintptr(0), uintptr(0)
		line := lines.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %s", &from, &to, &rights, &offset, &device, &inode); n == 6 {
			r, of = addresses{from, to}, strings.HasSuffix(line, " "+file) && (rights == "r--p" || rights == "r-xp")
			continue
		}
		// Pages that were written to are in memory, or swapped out. The kernel tells the first before the second.
		name, size, _ := strings.Cut(line, ":")
		none := strings.TrimSpace(size) == "0 kB"
		switch {
		case name == "Anonymous":
			clean = none
		case name == "Swap" && of && clean && none:
			all = append(all, r)
		}
	}
	return all
}
