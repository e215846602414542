package pipeline_test

import (
	"net/netip"
	"net/url"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/fairshare"
)

// Reading a configuration costs a core. Strangers of one address and people have a
// share of them each; who asks for more waits, and others do not.
func TestDO12_NobodyHasConfigurationsReadOnAllCores(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	seats := fairshare.New(4, 4)
	pipeline.Hurry(w.Service, seats)
	flood, other := access.Actor{Address: netip.MustParseAddr("192.0.2.1")}, access.Actor{Address: netip.MustParseAddr("192.0.2.2")}
	person := w.actor(access.Developer)
	p := w.standing(t, access.Developer)
	lint := func(by access.Actor) error {
		own := "job: {script: [x]}"
		for _, q := range []pipeline.LintQuery{{}, {DryRun: true}, {Content: &own}} {
			if _, err := w.Lint(fairshare.With(t.Context(), by.Caller()), by, p, q); err != nil {
				return err
			}
		}
		return nil
	}
	hold := func(by access.Actor, n int) (all []func()) {
		for range n {
			release, err := seats.Take(fairshare.With(t.Context(), by.Caller()), "")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, release)
		}
		return all
	}
	held := hold(flood, 1) // half of what strangers have
	if err := lint(flood); !fault.Is(err, fault.Unavailable) {
		t.Errorf("one address had more than its share: %v", err)
	}
	if err := lint(other); err != nil {
		t.Errorf("another address waits: %v", err)
	}
	mine := hold(person, 2)
	if _, err := w.Create(fairshare.With(t.Context(), person.Caller()), person, p, pipeline.CreateRequest{Source: pipeline.FromAPI, Ref: "main"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a pipeline is planned beside: %v", err)
	}
	for _, release := range append(held, mine...) {
		release()
	}
	if err := lint(flood); err != nil {
		t.Error(err)
	}
	if seats.Used() != 0 {
		t.Errorf("%d seats are not given back", seats.Used())
	}
	w.as(t, access.Developer).Do(t, "POST", w.at("/pipeline"), url.Values{"ref": {"main"}}).WantStatus(t, 201)
	if seats.Used() != 0 {
		t.Errorf("%d seats are not given back", seats.Used())
	}
}
