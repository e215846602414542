package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// usersPerPage is how many accounts a page shows.
const usersPerPage = 25

// usersBody is one page of accounts.
type usersBody struct {
	Action page.URL
	Search string
	States []page.Choice
	Users  []userRow
	Pager  page.Pager
}

type userRow struct {
	Name, Username, Email string
	State                 string
	Tone                  ui.Tone // of the state
	Admin, Unconfirmed    bool
	Bot                   bool
	TwoFactor, Locked     bool
	Seen, Joined          *page.DisplayTime
	Moves                 []*page.Form
}

// stateFilters are the parts of the list that can be asked for.
func stateFilters(chosen string) []page.Choice {
	all := []page.Choice{
		{Value: "", Label: "All"}, {Value: "active", Label: "Active"}, {Value: "blocked", Label: "Blocked"},
		{Value: "pending", Label: "Waiting for approval"}, {Value: "locked", Label: "Locked"}, {Value: "admins", Label: "Administrators"},
	}
	for i := range all {
		all[i].Chosen = all[i].Value == chosen
	}
	return all
}

func showUsers(x *request) error {
	search, state := strings.TrimSpace(x.Form.Get("search")), x.Form.Get("state")
	f := user.Filter{
		Search: search, Active: state == "active", Blocked: state == "blocked", ExcludePending: state == "blocked",
		Pending: state == "pending", Locked: state == "locked", Admins: state == "admins", Visible: x.Actor,
	}
	req := x.Numbered("page", usersPerPage)
	req.OrderBy, req.Desc = "id", true
	found, err := x.deps.Users.List(x.Context(), f, req)
	if err != nil {
		return err
	}
	body := usersBody{Action: x.Link(usersPath), Search: search, States: stateFilters(state)}
	for i := range found.Items {
		body.Users = append(body.Users, newUserRow(x, &found.Items[i]))
	}
	body.Pager = x.NumberedPager(usersPath, url.Values{"search": {search}, "state": {state}}, "page", "", req, found.More)
	total := strconv.Itoa(found.Total)
	if !found.Counted() {
		total = "more than " + strconv.Itoa(paging.MaxTotal)
	}
	if len(body.Users) > 0 {
		body.Pager.Note = fmt.Sprintf("%d to %d of %s", req.Offset()+1, req.Offset()+len(body.Users), total)
	}
	return x.Show(http.StatusOK, page.Layout{Title: "Users", Sidebar: x.Sidebar(page.AdminList, usersPath)}, usersPage(body))
}

// newUserRow is an account and what can be done to it from the list.
func newUserRow(x *request, u *user.User) userRow {
	row := userRow{
		Name: u.Name, Username: u.Username, Email: u.Email, State: stateName(u.State), Tone: stateTone(u.State), Admin: u.Admin, Bot: u.Bot(),
		Unconfirmed: u.ConfirmedAt == nil,
		TwoFactor:   u.TwoFactorEnabled, Locked: u.LockedAt != nil, Seen: x.Day(u.LastActivityOn), Joined: x.Time(&u.CreatedAt),
	}
	move := func(m user.Transition, label string, look page.Look) {
		f := x.Button(usersPath+"/"+strconv.FormatInt(u.ID, 10)+"/"+string(m), label, look, u.Username)
		switch m {
		case user.Block:
			f.AskFirst(u.Username + " is signed out everywhere, and neither signs in nor uses tokens and keys until unblocked.")
		case reject:
			f.AskFirst("The account of " + u.Username + " is removed. This cannot be undone.")
		}
		row.Moves = append(row.Moves, f)
	}
	switch {
	case u.Kind.Internal() || x.Actor.Is(u.ID) || u.State == user.LDAPBlocked:
	case u.State == user.Pending:
		move(user.Approve, "Approve", page.Secondary)
		move(reject, "Reject", page.Danger)
		move(user.Block, "Block", page.Danger)
	case u.State == user.Blocked:
		move(user.Unblock, "Unblock", page.Secondary)
	case u.State == user.Banned:
		move(user.Unban, "Lift the ban", page.Secondary)
	case u.State == user.Deactivated:
		move(user.Activate, "Activate", page.Secondary)
		move(user.Block, "Block", page.Danger)
	default:
		move(user.Block, "Block", page.Danger)
	}
	if u.LockedAt != nil {
		move(unlock, "Unlock", page.Secondary)
	}
	return row
}

func stateName(s user.State) string {
	switch s {
	case user.Active:
		return ""
	case user.Pending:
		return "waits for approval"
	case user.LDAPBlocked:
		return "blocked by LDAP"
	}
	return string(s)
}

// stateTone tells what waits for an administrator from what an administrator has done.
func stateTone(s user.State) ui.Tone {
	if s == user.Pending {
		return ui.Warn
	}
	return ui.Bad
}

const (
	reject user.Transition = "reject" // removes an account that waits for approval
	unlock user.Transition = "unlock" // lets one in that was locked after too many wrong passwords
)

// moves are the changes of state that the list offers.
var moves = []user.Transition{user.Approve, user.Block, user.Unblock, user.Unban, user.Activate}

func moveUser(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	m := user.Transition(x.R.PathValue("move"))
	switch m {
	case reject:
		return rejectUser(x, id)
	case unlock:
		return unlockUser(x, id)
	}
	if !slices.Contains(moves, m) {
		return fault.New(fault.NotFound)
	}
	if _, err := x.deps.Users.Transition(x.Context(), x.Actor, id, m); err != nil {
		return err
	}
	u, err := x.deps.Users.Find(x.Context(), id)
	if err != nil {
		return err
	}
	state := stateName(u.State)
	if state == "" {
		state = "active"
	}
	return x.Done(usersPath, u.Username+" is now "+state+".")
}

func rejectUser(x *request, id int64) error {
	u, err := x.deps.Users.Find(x.Context(), id)
	if err != nil {
		return err
	}
	if err := x.deps.Users.Reject(x.Context(), x.Actor, id); err != nil {
		return err
	}
	return x.Done(usersPath, u.Username+" is rejected. The account is being removed.")
}

func unlockUser(x *request, id int64) error {
	u, err := x.deps.Users.Find(x.Context(), id)
	if err != nil {
		return err
	}
	if err := x.deps.Users.LiftLock(x.Context(), x.Actor, id); err != nil {
		return err
	}
	return x.Done(usersPath, u.Username+" is unlocked.")
}
