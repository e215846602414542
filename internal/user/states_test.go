package user

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

var (
	states = []State{Active, Blocked, LDAPBlocked, Pending, Banned, Deactivated}
	moves  = []Transition{Block, Unblock, Deactivate, Activate, Ban, Unban, Approve}
	now    = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	root   = access.Actor{Person: &access.Person{ID: 1, Admin: true}}
)

// The whole machine: where each move leads from each state. A dash is a
// refusal, an equals sign no change.
func TestEachMoveLeadsWhereTheTableSays(t *testing.T) {
	t.Parallel()
	table := map[Transition]map[State]string{
		Block:      {Active: "blocked", Blocked: "=", LDAPBlocked: "-", Pending: "blocked", Banned: "=", Deactivated: "blocked"},
		Unblock:    {Active: "=", Blocked: "active", LDAPBlocked: "-", Pending: "=", Banned: "=", Deactivated: "-"},
		Deactivate: {Active: "deactivated", Blocked: "-", LDAPBlocked: "-", Pending: "-", Banned: "-", Deactivated: "="},
		Activate:   {Active: "=", Blocked: "-", LDAPBlocked: "-", Pending: "-", Banned: "-", Deactivated: "active"},
		Ban:        {Active: "banned", Blocked: "-", LDAPBlocked: "-", Pending: "-", Banned: "-", Deactivated: "-"},
		Unban:      {Active: "-", Blocked: "-", LDAPBlocked: "-", Pending: "-", Banned: "active", Deactivated: "-"},
		Approve:    {Active: "-", Blocked: "-", LDAPBlocked: "-", Pending: "active", Banned: "-", Deactivated: "-"},
	}
	for _, m := range moves {
		for _, from := range states {
			next, _, err := transition(&User{AccountState: AccountState{ID: 2, Kind: Human, State: from}}, m, root, now, 90)
			got := string(next)
			if err != nil {
				got = "-"
			} else if next == from {
				got = "="
			}
			if got != table[m][from] {
				t.Errorf("%s from %s: got %q, want %q", m, from, got, table[m][from])
			}
		}
	}
}

func TestAnswersOfMovesThatChangeNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		move Transition
		from State
		want *bool
	}{
		{Block, Blocked, nil}, {Unblock, Active, new(false)}, {Deactivate, Deactivated, nil}, {Activate, Active, new(true)},
	} {
		_, got, err := transition(&User{AccountState: AccountState{ID: 2, State: tc.from}}, tc.move, root, now, 90)
		if err != nil || (got == nil) != (tc.want == nil) || (got != nil && *got != *tc.want) {
			t.Errorf("%s from %s: got %v, %v", tc.move, tc.from, got, err)
		}
	}
}

func TestWhoWasActiveLatelyIsNotDeactivated(t *testing.T) {
	t.Parallel()
	lately, longAgo := now.AddDate(0, 0, -89), now.AddDate(0, 0, -91)
	for _, u := range []*User{
		{AccountState: AccountState{State: Active, LastActivityOn: &lately}}, {AccountState: AccountState{State: Active}, CurrentSignInAt: &lately},
	} {
		if _, _, err := transition(u, Deactivate, root, now, 90); !fault.Is(err, fault.Forbidden) {
			t.Errorf("deactivated: %v", err)
		}
	}
	if _, _, err := transition(&User{AccountState: AccountState{State: Active, LastActivityOn: &longAgo}}, Deactivate, root, now, 90); err != nil {
		t.Error(err)
	}
}

// Whatever administrators do: nobody leaves the directory's block through the
// API, accounts of the instance stay as they are, and no one blocks themselves.
func TestNoSequenceOfMovesBreaksTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := &User{AccountState: AccountState{
			ID:    rapid.Int64Range(1, 2).Draw(t, "id"),
			State: rapid.SampledFrom(states).Draw(t, "state"),
			Kind:  rapid.SampledFrom([]Kind{Human, Ghost, ProjectBot, AlertBot}).Draw(t, "kind"),
		}}
		first := u.State
		for _, m := range rapid.SliceOf(rapid.SampledFrom(moves)).Draw(t, "moves") {
			next, _, err := transition(u, m, root, now, 90)
			if err != nil {
				if next != "" {
					t.Fatalf("%s refused and moved to %s", m, next)
				}
				continue
			}
			if u.Kind.Internal() && (next.Blocked() || next == Deactivated) && next != u.State {
				t.Fatalf("%s took %s to %s", m, u.Kind, next)
			}
			if root.Is(u.ID) && next == Blocked && u.State != Blocked {
				t.Fatal("an administrator blocked themselves")
			}
			u.State = next
		}
		if first == LDAPBlocked && u.State != LDAPBlocked {
			t.Fatalf("left the directory's block for %s", u.State)
		}
	})
}
