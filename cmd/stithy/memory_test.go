package main

import (
	"slices"
	"strings"
	"testing"
)

func TestPagesThatWereWrittenToAreKept(t *testing.T) {
	t.Parallel()
	const maps = `00400000-01615000 r-xp 00000000 fe:00 1234 /usr/bin/stithy
Rss:               16980 kB
Private_Dirty:         0 kB
Anonymous:             0 kB
Swap:                  0 kB
01615000-02bb0000 r--p 01215000 fe:00 1234 /usr/bin/stithy
Anonymous:             0 kB
Swap:                  0 kB
02bb0000-02c77000 rw-p 027b0000 fe:00 1234 /usr/bin/stithy
Anonymous:             0 kB
Swap:                  0 kB
02c77000-02c78000 r--p 027b0000 fe:00 1234 /usr/bin/stithy
Anonymous:             4 kB
Swap:                  0 kB
02c78000-02c79000 r--p 027b1000 fe:00 1234 /usr/bin/stithy
Anonymous:             0 kB
Swap:                  4 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 77 /etc/locale
Anonymous:             0 kB
Swap:                  0 kB
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
Swap:                  0 kB
`
	want := []addresses{{0x400000, 0x1615000}, {0x1615000, 0x2bb0000}}
	if got := unwritten(strings.NewReader(maps), "/usr/bin/stithy"); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestTheProgramGoesOnWhenItsPagesAreGivenBack(t *testing.T) {
	t.Parallel()
	for range 3 {
		releaseStartup()
	}
}
