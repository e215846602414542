package app

import (
	"context"
	"sync"
	"time"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/telemetry"
)

const (
	// What the database is asked for a scrape is asked again after so long.
	countEvery = 10 * time.Second
	// A scrape waits so long for the database.
	countTime = 2 * time.Second
	// A runner was online if it was heard of within so long.
	runnerOnline = 2 * time.Hour
)

// gaugeHelp are the gauges that the database counts.
var gaugeHelp = map[string]struct{ help, label string }{
	"stithy_jobs":            {"Background jobs by state, counted up to 10,001.", "state"},
	"stithy_ci_jobs_pending": {"CI jobs that wait for a runner, counted up to 10,001.", ""},
	"stithy_runners_online":  {"Runners heard of within two hours, counted up to 10,001.", ""},
}

// counts are what the database counted last. Nothing is asked while nobody
// looks.
type counts struct {
	mu      sync.Mutex
	at      time.Time
	samples []telemetry.Sample
}

// gauges are what a scrape shows beside the requests.
func (a *App) gauges() []telemetry.Sample {
	all := append(a.poolSamples(), a.disks.samples()...)
	for class, n := range a.Store.Processes() {
		all = append(all, telemetry.Sample{
			Name: "stithy_git_processes", Help: "Git processes of this node.", Label: "class", Value: class, Is: float64(n),
		})
	}
	all = append(all, telemetry.Sample{
		Name: "stithy_mails_dropped", Help: "Mails that were dropped since the start, because one account caused too many.", Is: float64(a.Notifications.Dropped()),
	})
	return append(all, a.counted()...)
}

func (a *App) poolSamples() []telemetry.Sample {
	stat := a.DB.Pool().Stat()
	connections := func(state string, n int32) telemetry.Sample {
		return telemetry.Sample{
			Name: "stithy_database_connections", Help: "Connections of the pool of this node.", Label: "state", Value: state, Is: float64(n),
		}
	}
	return []telemetry.Sample{
		connections("idle", stat.IdleConns()), connections("in_use", stat.AcquiredConns()), connections("max", stat.MaxConns()),
		{Name: "stithy_database_waits", Help: "How often a connection was waited for since the start.", Is: float64(stat.EmptyAcquireCount())},
		{Name: "stithy_database_wait_seconds", Help: "How long connections were waited for since the start.", Is: stat.EmptyAcquireWaitTime().Seconds()},
	}
}

// counted asks the database, unless it was asked a moment ago. When it does not
// answer, the gauges are missing rather than old.
func (a *App) counted() []telemetry.Sample {
	c := &a.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	now := a.Clock.Now()
	if now.Sub(c.at) < countEvery {
		return c.samples
	}
	ctx, stop := context.WithTimeout(context.Background(), countTime)
	defer stop()
	type row struct {
		Name, Label string
		Is          int64
	}
	rows, err := postgres.All[row](ctx, a.DB, sqlGauges, now.Add(-runnerOnline))
	if err != nil {
		a.Log.Warn("gauges not counted", "error", err)
	}
	c.at, c.samples = now, nil
	for _, r := range rows {
		about := gaugeHelp[r.Name]
		c.samples = append(c.samples, telemetry.Sample{Name: r.Name, Help: about.help, Label: about.label, Value: r.Label, Is: float64(r.Is)})
	}
	return c.samples
}
