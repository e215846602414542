package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
)

// usersPath is the list of accounts.
const usersPath = "/admin/users"

// adminPlaces are the pages of administrators.
var adminPlaces = []place{
	{Title: "Users", Path: usersPath}, {Title: "Applications", Path: instanceApplications}, {Title: "Runners", Path: instanceRunners},
	{Title: "Variables", Path: instanceVariables},
}

func administration(here string) option { return beside("Administration", here, adminPlaces...) }

func (d *Door) adminPages() []page {
	return []page{
		{route: "GET " + usersPath, who: administrators, do: (*visit).showUsers},
		{route: "POST " + usersPath + "/{id}/{move}", who: administrators, do: (*visit).moveUser},
	}
}

// usersPerPage is how many accounts a page shows.
const usersPerPage = 25

// usersBody is one page of accounts.
type usersBody struct {
	Search     string
	States     []choice
	Users      []userRow
	From, To   int
	Total      string
	Prev, Next string
}

type userRow struct {
	Name, Username, Email string
	State                 string
	Admin, Unconfirmed    bool
	Bot                   bool
	TwoFactor, Locked     bool
	Seen, Joined          *moment
	Moves                 []*form
}

// stateFilters are the parts of the list that can be asked for.
func stateFilters(chosen string) []choice {
	all := []choice{
		{Value: "", Label: "All"}, {Value: "active", Label: "Active"}, {Value: "blocked", Label: "Blocked"},
		{Value: "pending", Label: "Waiting for approval"}, {Value: "admins", Label: "Administrators"},
	}
	for i := range all {
		all[i].Chosen = all[i].Value == chosen
	}
	return all
}

func (x *visit) showUsers() error {
	search, state := strings.TrimSpace(x.form.Get("search")), x.form.Get("state")
	number, err := strconv.Atoi(x.form.Get("page"))
	if err != nil || number < 1 || number > paging.MaxTotal {
		number = 1
	}
	f := user.Filter{
		Search: search, Active: state == "active", Blocked: state == "blocked", Pending: state == "pending", Admins: state == "admins", Visible: x.actor,
	}
	req := paging.Request{Page: number, PerPage: usersPerPage, OrderBy: "id", Desc: true}
	found, err := x.Users.List(x.r.Context(), f, req)
	if err != nil {
		return err
	}
	body := usersBody{Search: search, States: stateFilters(state), Total: strconv.Itoa(found.Total)}
	if !found.Counted() {
		body.Total = "more than " + strconv.Itoa(paging.MaxTotal)
	}
	for i := range found.Items {
		body.Users = append(body.Users, x.userRow(&found.Items[i]))
	}
	body.From, body.To = req.Offset()+1, req.Offset()+len(body.Users)
	turn := func(to int) string {
		return usersPath + "?" + url.Values{"search": {search}, "state": {state}, "page": {strconv.Itoa(to)}}.Encode()
	}
	if number > 1 {
		body.Prev = turn(number - 1)
	}
	if found.More {
		body.Next = turn(number + 1)
	}
	return x.show(http.StatusOK, "users", "Users", body, administration(usersPath))
}

// userRow is an account and what can be done to it from the list.
func (x *visit) userRow(u *user.User) userRow {
	row := userRow{
		Name: u.Name, Username: u.Username, Email: u.Email, State: stateName(u.State), Admin: u.Admin, Bot: u.Bot(), Unconfirmed: u.ConfirmedAt == nil,
		TwoFactor: u.TwoFactorEnabled, Locked: u.LockedAt != nil, Seen: x.day(u.LastActivityOn), Joined: x.moment(&u.CreatedAt),
	}
	move := func(m user.Move, label, look string) {
		row.Moves = append(row.Moves, x.button(usersPath+"/"+strconv.FormatInt(u.ID, 10)+"/"+string(m), label, look, u.Username))
	}
	switch {
	case u.Kind.Internal() || x.actor.Is(u.ID) || u.State == user.LDAPBlocked:
	case u.State == user.Pending:
		move(user.Approve, "Approve", "primary")
		move(reject, "Reject", "danger")
		move(user.Block, "Block", "danger")
	case u.State == user.Blocked:
		move(user.Unblock, "Unblock", "")
	case u.State == user.Banned:
		move(user.Unban, "Lift the ban", "")
	case u.State == user.Deactivated:
		move(user.Activate, "Activate", "")
		move(user.Block, "Block", "danger")
	default:
		move(user.Block, "Block", "danger")
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

// reject removes an account that waits for approval.
const reject user.Move = "reject"

// moves are the changes of state that the list offers.
var moves = []user.Move{user.Approve, user.Block, user.Unblock, user.Unban, user.Activate}

func (x *visit) moveUser() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	m := user.Move(x.r.PathValue("move"))
	if m == reject {
		return x.rejectUser(id)
	}
	if !slices.Contains(moves, m) {
		return fault.New(fault.NotFound)
	}
	if _, err := x.Users.Move(x.r.Context(), x.actor, id, m); err != nil {
		return err
	}
	u, err := x.Users.Find(x.r.Context(), id)
	if err != nil {
		return err
	}
	state := stateName(u.State)
	if state == "" {
		state = "active"
	}
	return x.done(usersPath, u.Username+" is now "+state+".")
}

func (x *visit) rejectUser(id int64) error {
	u, err := x.Users.Find(x.r.Context(), id)
	if err != nil {
		return err
	}
	if err := x.Users.Reject(x.r.Context(), x.actor, id); err != nil {
		return err
	}
	return x.done(usersPath, u.Username+" is rejected. The account is being removed.")
}
