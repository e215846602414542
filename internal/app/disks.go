package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"stithy/internal/front"
	"stithy/internal/gitstore"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/telemetry"
)

// disk is a folder that the forge keeps something in.
type disk struct {
	name string // as metrics and readiness call it
	path string
}

func disksOf(cfg *config.Config) []disk {
	all := []disk{{"data", cfg.DataDir}, {"cache", cfg.CacheDir}}
	for _, s := range cfg.Storages {
		all = append(all, disk{"storage " + s.Name, s.Path})
	}
	return all
}

// space is how many bytes a disk has for this program, and in all.
func space(path string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Bavail) * s.Bsize, int64(s.Blocks) * s.Bsize, nil
}

const (
	lookAtDisksEvery = 10 * time.Second
	// A disk that has said nothing for so long hangs.
	diskHangs = time.Minute
)

// disks is what the disks were like a few seconds ago. They are looked at beside
// the requests: a disk that hangs hangs nobody who asks for it.
type disks struct {
	all   []disk
	least int64 // free bytes
	store *gitstore.Store
	blobs blob.Store // nil where they are on no disk of this machine
	clock clock.Clock

	mu    sync.Mutex
	at    time.Time // when all had answered
	free  map[string]int64
	total map[string]int64
	wrong string // what is the matter with a storage, in words
	full  string // which disk is full, in words
}

func newDisks(cfg *config.Config, store *gitstore.Store, blobs blob.Store, now clock.Clock) *disks {
	d := &disks{all: disksOf(cfg), least: cfg.MinFreeSpace, store: store, clock: now}
	if address := cfg.BlobURL.Reveal(); address == "" || strings.HasPrefix(address, "file:") {
		d.blobs = blobs
	}
	return d
}

// Watch looks at the disks until ctx ends.
func (d *disks) Watch(ctx context.Context) {
	tick := time.NewTicker(lookAtDisksEvery)
	defer tick.Stop()
	d.mu.Lock()
	d.at = d.clock.Now() // a disk that hangs from the beginning hangs since then
	d.mu.Unlock()
	for {
		d.look()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *disks) look() {
	free, total := map[string]int64{}, map[string]int64{}
	wrong, full := "", ""
	for _, disk := range d.all {
		has, of, err := space(disk.path)
		if err != nil {
			continue // a folder that is made when it is needed; a storage shows below
		}
		free[disk.name], total[disk.name] = has, of
		if has < d.least {
			full = fmt.Sprintf("%s has %s left", disk.name, bytesInWords(has))
		}
	}
	for name, err := range d.store.Check() {
		if err != nil {
			wrong = problemOf(name, err)
		}
	}
	if d.blobs != nil {
		if err := d.blobs.Ping(context.Background()); err != nil {
			wrong = fmt.Sprintf("blobs cannot be kept in %s: is its disk mounted, and may it be written to? `stithy doctor` says more", d.blobs.Place())
		}
	}
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.free, d.total, d.wrong, d.full = now, free, total, wrong, full
}

// problemOf is what is the matter with a storage, in words.
func problemOf(storage string, err error) string {
	if errors.Is(err, gitstore.ErrReadOnly) {
		return fmt.Sprintf("storage %s is read-only: look at the log of the machine, mend its disk, mount it for writing and restart", storage)
	}
	return fmt.Sprintf("storage %s does not show the mark that it had: is its disk mounted? `stithy doctor` says more", storage)
}

// checkStorages fails when a storage shows another mark than it was opened with,
// or does not answer.
func (d *disks) checkStorages(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.at.IsZero(): // the node has not started yet
	case d.clock.Now().Sub(d.at) > diskHangs:
		return front.ReasonError("a disk has not answered for a minute")
	case d.wrong != "":
		return front.ReasonError(d.wrong)
	}
	return nil
}

// checkSpace fails when a disk is nearly full.
func (d *disks) checkSpace(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full != "" {
		return front.ReasonError(d.full)
	}
	return nil
}

// samples are the gauges of the disks.
func (d *disks) samples() []telemetry.Sample {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []telemetry.Sample
	for _, disk := range d.all {
		if total, known := d.total[disk.name]; known {
			all = append(all,
				telemetry.Sample{Name: "stithy_disk_free_bytes", Help: "Room that is left.", Label: "disk", Value: disk.name, Is: float64(d.free[disk.name])},
				telemetry.Sample{Name: "stithy_disk_size_bytes", Help: "Room in all.", Label: "disk", Value: disk.name, Is: float64(total)})
		}
	}
	return all
}

// bytesInWords is a size for people, such as "1.5 GB".
func bytesInWords(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	size, unit := float64(n), 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	if unit == 0 || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[unit])
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
