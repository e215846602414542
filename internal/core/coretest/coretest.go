// Package coretest gives the tests of rooms the rooms that theirs stand on, put
// together as the application does.
package coretest

import (
	"log/slog"
	"net/url"
	"testing"
	"time"

	"stithy/internal/core"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting/settingtest"
	"stithy/internal/token/tokentest"
)

// Core is the rooms and what they were made from. Jobs are inserted; they are
// worked once a test has registered workers and started the queue.
type Core struct {
	core.Deps
	core.Rooms
	Registry *jobqueue.Registry // of the queue, unless the test gave its own
}

// Option replaces what the rooms are made from.
type Option func(*core.Deps)

// Clock gives the rooms a time.
func Clock(now clock.Clock) Option { return func(d *core.Deps) { d.Clock = now } }

// On puts the rooms on a database that the test has.
func On(db *postgres.DB) Option { return func(d *core.Deps) { d.DB = db } }

// New puts the rooms together at https://forge.example, at a time in May 2024,
// on a database of their own, with every feature. There is nothing above them,
// unless an option gives it.
func New(t testing.TB, options ...Option) *Core {
	t.Helper()
	d := core.Deps{
		ExternalURL: &url.URL{Scheme: "https", Host: "forge.example"}, Instance: settingtest.Instance(), Impersonation: true,
		Bus: bus.New(), Box: secretbox.Random(), Hasher: secretbox.NewHasher(2), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Clock: func() time.Time { return time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC) },
		OAuth: tokentest.NoResolver{}, Jobs: tokentest.NoResolver{}, Code: projecttest.NoCode{}, JobTokens: projecttest.NoJobTokens{}, Issues: projecttest.NoIssues{},
	}
	for _, option := range options {
		option(&d)
	}
	if d.DB == nil {
		d.DB = postgrestest.New(t)
	}
	registry := jobqueue.NewRegistry()
	if d.Queue == nil {
		queue, err := jobqueue.New(d.DB, registry, d.Log, 2)
		if err != nil {
			t.Fatal(err)
		}
		d.Queue = queue
	}
	c := &Core{Deps: d, Rooms: core.New(d), Registry: registry}
	if err := c.Settings.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}
