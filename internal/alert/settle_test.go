package alert

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fires(title, mark string) parsed {
	return parsed{reports: []report{{title: title, fingerprint: digest(mark)}}}
}

func resolves(mark string) parsed {
	return parsed{reports: []report{{title: "end", fingerprint: digest(mark), resolves: true, endedAt: new(now)}}}
}

func TestARepeatedAlertIsCountedAndKeepsItsNumber(t *testing.T) {
	t.Parallel()
	s := settle(nil, 7, []parsed{fires("a", "f"), fires("b", "g"), fires("c", "f")})
	if len(s.created) != 2 || s.created[0].events != 2 || s.created[1].events != 1 {
		t.Fatalf("created %+v", s.created)
	}
	if diff := cmp.Diff([][]Brief{{{8, "a"}}, {{9, "b"}}, {{8, "a"}}}, s.briefs); diff != "" {
		t.Error(diff)
	}
}

func TestAnOpenAlertIsCountedWhateverItsStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []Status{Triggered, Acknowledged, Ignored} {
		s := settle([]open{{ID: 3, IID: 1, Title: "old", Status: status, Fingerprint: digest("f")}}, 1, []parsed{fires("a", "f"), fires("a", "f")})
		if len(s.created) != 0 || s.repeated[3] != 2 || s.briefs[0][0] != (Brief{1, "old"}) {
			t.Errorf("%s: %+v", status, s)
		}
	}
}

func TestAfterResolutionTheSameIsANewAlert(t *testing.T) {
	t.Parallel()
	known := []open{{ID: 3, IID: 1, Title: "old", Status: Acknowledged, Fingerprint: digest("f")}}
	s := settle(known, 1, []parsed{resolves("f"), fires("a", "f"), resolves("f"), fires("b", "f")})
	if len(s.resolved) != 1 || s.resolved[0] != (ended{id: 3, was: Acknowledged, at: now}) {
		t.Errorf("resolved %+v", s.resolved)
	}
	if len(s.created) != 2 || s.created[0].ended == nil || s.created[1].ended != nil || s.created[1].iid != 3 {
		t.Errorf("created %+v", s.created)
	}
}

func TestResolvingWhatIsNotOpenIsSaidOfTheGenericFormatAlone(t *testing.T) {
	t.Parallel()
	of := resolves("f")
	of.metrics = true
	s := settle(nil, 0, []parsed{resolves("f"), of})
	if !s.unknown[0] || s.unknown[1] || len(s.briefs[1]) != 0 || s.briefs[1] == nil {
		t.Errorf("%+v", s)
	}
}

func TestWithoutAFingerprintNothingIsGrouped(t *testing.T) {
	t.Parallel()
	one := parsed{reports: []report{{title: "a"}}}
	if s := settle(nil, 0, []parsed{one, one}); len(s.created) != 2 || s.created[1].iid != 2 {
		t.Errorf("%+v", s)
	}
}

// The order of arrival, and which payloads come together, change neither groups nor counts.
func TestGroupsAndCountsDoNotDependOnOrderOrBatches(t *testing.T) {
	t.Parallel()
	prints := []string{"a", "b", "c", "d", "e"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []parsed
		want := map[string]int64{}
		for range 1 + r.IntN(40) {
			mark := prints[r.IntN(len(prints))]
			all = append(all, fires(mark, mark))
			want[mark]++
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got, last := map[string]int64{}, int32(0)
		var known []open
		for len(all) > 0 {
			n := 1 + r.IntN(len(all))
			s := settle(known, last, all[:n])
			for _, f := range s.created {
				known = append(known, open{ID: int64(f.iid), IID: f.iid, Title: f.title, Fingerprint: f.fingerprint})
				got[f.title] += f.events
				if last++; f.iid != last {
					t.Fatalf("seed %d: number %d after %d", seed, f.iid, last-1)
				}
			}
			for id, n := range s.repeated {
				got[known[id-1].Title] += n
			}
			all = all[n:]
		}
		if diff := cmp.Diff(want, got); diff != "" || len(known) != len(want) {
			t.Fatalf("seed %d: %d groups: %s", seed, len(known), diff)
		}
	}
}
