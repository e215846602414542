package setting

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGatesFollowWhatIsAsked(t *testing.T) {
	t.Parallel()
	some := Gates{Actors: []Actor{"User:1", "User:2"}, PercentageOfTime: 5}
	for _, test := range []struct {
		name   string
		from   Gates
		change FeatureChange
		actors []Actor
		want   Gates
		state  string
	}{
		{"true opens for all", some, FeatureChange{Value: "true"}, nil, Gates{Boolean: true}, "on"},
		{"100 opens for all", some, FeatureChange{Value: "100"}, nil, Gates{Boolean: true}, "on"},
		{"false shuts", some, FeatureChange{Value: "false"}, nil, Gates{}, "off"},
		{"0 shuts", some, FeatureChange{Value: "0.0", Key: "percentage_of_actors"}, nil, Gates{}, "off"},
		{"a number is of time", Gates{}, FeatureChange{Value: "30"}, nil, Gates{PercentageOfTime: 30}, "conditional"},
		{"of time by name", Gates{}, FeatureChange{Value: "30", Key: "percentage_of_time"}, nil, Gates{PercentageOfTime: 30}, "conditional"},
		{"of actors", some, FeatureChange{Value: "0.5", Key: "percentage_of_actors"}, nil,
			Gates{Actors: some.Actors, PercentageOfTime: 5, PercentageOfActors: 0.5}, "conditional"},
		{"open for some", Gates{}, FeatureChange{Value: "true", Groups: []string{"b", "a"}}, []Actor{"User:2", "User:1", "User:2"},
			Gates{Actors: []Actor{"User:1", "User:2"}, Groups: []string{"a", "b"}}, "conditional"},
		{"shut for one", some, FeatureChange{Value: "false"}, []Actor{"User:1"}, Gates{Actors: []Actor{"User:2"}, PercentageOfTime: 5}, "conditional"},
		{"a percentage leaves an open flag open", Gates{Boolean: true}, FeatureChange{Value: "30"}, nil, Gates{Boolean: true, PercentageOfTime: 30}, "on"},
	} {
		m, err := test.change.move("flag", test.actors)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := test.from.after(m)
		if diff := cmp.Diff(test.want, got); diff != "" || got.State() != test.state {
			t.Errorf("%s: state %s, (-want +got)\n%s", test.name, got.State(), diff)
		}
	}
}

func TestWhatCannotBeAskedOfAFlagIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change FeatureChange
		actors []Actor
		want   string
	}{
		{FeatureChange{Value: "maybe"}, nil, "Value must be boolean or numeric, got maybe"},
		{FeatureChange{Value: ""}, nil, "Value must be boolean or numeric, got "},
		{FeatureChange{Value: "1e1"}, nil, "Value must be boolean or numeric, got 1e1"},
		{FeatureChange{Value: "NaN"}, nil, "Value must be boolean or numeric, got NaN"},
		{FeatureChange{Value: "-1"}, nil, "Value must be boolean or numeric, got -1"},
		{FeatureChange{Value: "1.2.3"}, nil, "Value must be boolean or numeric, got 1.2.3"},
		{FeatureChange{Value: "101"}, nil, "Value must not be more than 100, got 101"},
		{FeatureChange{Value: "50"}, []Actor{"User:1"}, `Cannot set 'flag' to "50" for single actors`},
		{FeatureChange{Value: "50", Key: "luck"}, nil, `Cannot set 'flag' ("luck") to "50"`},
	} {
		if _, err := test.change.move("flag", test.actors); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestAPercentageOfActorsIsSteadyAndAboutRight(t *testing.T) {
	t.Parallel()
	gates := Gates{PercentageOfActors: 30}
	open := 0
	for i := range 10_000 {
		actor := []Actor{Actor(fmt.Sprintf("User:%d", i))}
		if gates.open("flag", actor) {
			open++
			if !gates.open("flag", actor) || !(Gates{PercentageOfActors: 31}).open("flag", actor) {
				t.Fatalf("%s lost the flag", actor)
			}
		}
	}
	if open < 2800 || open > 3200 {
		t.Errorf("%d of 10000 actors have a flag for 30%%", open)
	}
	if gates.open("flag", nil) {
		t.Error("open for nobody in particular")
	}
	if !(Gates{PercentageOfTime: 100}).open("flag", nil) || (Gates{Groups: []string{"a"}}).open("flag", nil) {
		t.Error("the other gates do not open as they say")
	}
}
