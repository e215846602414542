package planning

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/issue"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
	"stithy/internal/web/page"
)

// filter is which issues of a list are shown, as it stands in an address.
type filter struct {
	State        string // opened, closed or all
	Words        string
	Labels       []string
	Milestone    string // a title, None, Any, Upcoming or Started
	Author       string // a username
	Assignee     string // a username after @, none or any
	Confidential string // yes or no
	Type         string
	Weight       string
	Due          string // none, any or a time, as dueWords
	Not          unwanted
	Sort         string
	Problems     []string // what was asked for and not understood
}

// unwanted is what the issues of a list do not have.
type unwanted struct {
	Labels    []string // none of them
	Milestone string
	Author    string
	Assignee  string
}

// sorting is an order that people choose.
type sorting struct {
	value, label, by string
	desc, keyset     bool
}

// sortings are named as in addresses that people have from before.
var sortings = []sorting{
	{"created_date", "Newest", "created_at", true, true},
	{"created_asc", "Oldest", "created_at", false, true},
	{"updated_desc", "Last changed", "updated_at", true, true},
	{"priority", "Priority", "priority", false, false},
	{"due_date", "Due date", "due_date", false, false},
	{"popularity", "Popularity", "popularity", true, false},
}

const (
	maxSearch = 1_000
	maxLabels = 20 // each is a condition of its own
)

// readFilter reads what is asked for. The search knows key:value, as label:bug; what it finds there counts as if it were sent apart.
func readFilter(form url.Values) (filter, error) {
	f := filter{
		State: form.Get("state"), Labels: slices.Concat(form[labelParam], form["label_name"]), Milestone: form.Get("milestone_title"),
		Author: form.Get("author_username"), Assignee: strings.TrimSpace(form.Get("assignee")), Sort: form.Get("sort"),
	}
	if name := cmp.Or(form.Get("assignee_username"), form.Get("assignee_username[]")); name != "" {
		f.Assignee = "@" + name
	}
	f.assigneeID(strings.ToLower(form.Get("assignee_id")))
	for _, p := range params {
		for _, value := range form[p.name] {
			if value = strings.TrimSpace(value); value != "" {
				f.set(p.key, value)
			}
		}
	}
	search := form.Get("search")
	if len(search) > maxSearch {
		return f, fault.WithMessage(fault.BadParams, "The search is too long: 1,000 characters are the most.")
	}
	var words []string
	for _, token := range tokens(search) {
		if !f.take(token) {
			words = append(words, token)
		}
	}
	f.Words = strings.Join(words, " ")
	f.Author, f.Not.Author, f.Not.Assignee = named(f.Author), named(f.Not.Author), named(f.Not.Assignee)
	f.Labels, f.Not.Labels = once(f.Labels), once(f.Not.Labels)
	if len(f.Labels) > maxLabels || len(f.Not.Labels) > maxLabels {
		return f, fault.WithMessage(fault.BadParams, "The list can be narrowed to %d labels at once.", maxLabels)
	}
	if !slices.Contains([]string{"closed", "all"}, f.State) {
		f.State = "opened"
	}
	if !slices.ContainsFunc(sortings, func(s sorting) bool { return s.value == f.Sort }) {
		f.Sort = sortings[0].value
	}
	return f, nil
}

// named is a username without the sign that people write before it.
func named(name string) string { return strings.TrimPrefix(name, "@") }

// once is names in order, each once.
func once(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// tokens are the words of a search. Spaces between quotes belong to a word.
func tokens(text string) []string {
	var all []string
	var word strings.Builder
	quoted := false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
			word.WriteRune(r)
		case (r == ' ' || r == '\t' || r == '\n' || r == '\r') && !quoted:
			all = append(all, word.String())
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return slices.DeleteFunc(append(all, word.String()), func(s string) bool { return s == "" })
}

// search is what the field shows: everything that no select of the form does.
func (f filter) search() string {
	var parts []string
	add := func(key, before string, values ...string) {
		for _, value := range values {
			if value == "" {
				continue
			}
			if strings.ContainsAny(value, " \t") {
				value = `"` + value + `"`
			}
			parts = append(parts, key+":"+before+value)
		}
	}
	add("label", "", f.Labels...)
	add("-label", "", f.Not.Labels...)
	add("milestone", "", f.Milestone)
	add("-milestone", "", f.Not.Milestone)
	add("author", "@", f.Author)
	add("-author", "@", f.Not.Author)
	add("-assignee", "@", f.Not.Assignee)
	add("type", "", f.Type)
	add("confidential", "", f.Confidential)
	add("weight", "", f.Weight)
	add("due", "", f.Due)
	if f.Words != "" {
		parts = append(parts, f.Words)
	}
	return strings.Join(parts, " ")
}

// query is the filter in an address. What everybody gets is left out.
func (f filter) query() url.Values {
	q := url.Values{}
	set := func(name, value, usual string) {
		if value != usual {
			q.Set(name, value)
		}
	}
	set("state", f.State, "opened")
	set("search", f.Words, "")
	set("milestone_title", f.Milestone, "")
	set("author_username", f.Author, "")
	set("assignee", f.Assignee, "")
	set("confidential", f.Confidential, "")
	set(typeParam, f.Type, "")
	set("weight", f.Weight, "")
	set("due_date", f.Due, "")
	set("not[milestone_title]", f.Not.Milestone, "")
	set("not[author_username]", f.Not.Author, "")
	set("not[assignee_username]", f.Not.Assignee, "")
	set("sort", f.Sort, sortings[0].value)
	if len(f.Labels) > 0 {
		q[labelParam] = f.Labels
	}
	if len(f.Not.Labels) > 0 {
		q[notLabelParam] = f.Not.Labels
	}
	return q
}

// narrowed is by how many things, beside the state.
func (f filter) narrowed() int {
	n := len(f.Labels) + len(f.Not.Labels)
	for _, s := range []string{
		f.Words, f.Milestone, f.Author, f.Assignee, f.Confidential, f.Type, f.Weight, f.Due, f.Not.Milestone, f.Not.Author, f.Not.Assignee,
	} {
		if s != "" {
			n++
		}
	}
	return n
}

func (f filter) sorting() sorting {
	return sortings[slices.IndexFunc(sortings, func(s sorting) bool { return s.value == f.Sort })]
}

func (f filter) sorts() []page.Choice {
	all := make([]page.Choice, len(sortings))
	for i, s := range sortings {
		all[i] = page.Choice{Value: s.value, Label: s.label, Chosen: s.value == f.Sort}
	}
	return all
}

// assignees are the answers of the select about them.
func (f filter) assignees(me *page.Account) []page.Choice {
	all := []page.Choice{{Value: "", Label: "Anyone"}}
	if me != nil {
		all = append(all, page.Choice{Value: "@" + me.Username, Label: "Me"})
	}
	all = append(all, page.Choice{Value: "none", Label: "Nobody"}, page.Choice{Value: "any", Label: "Somebody"})
	same := func(c page.Choice) bool { return strings.EqualFold(c.Value, f.Assignee) }
	if !slices.ContainsFunc(all, same) {
		all = append(all, page.Choice{Value: f.Assignee, Label: f.Assignee})
	}
	for i := range all {
		all[i].Chosen = same(all[i])
	}
	return all
}

// labelsOf are labels by name, or whether there are any at all.
func labelsOf(names []string) ([]string, issue.Presence) {
	for _, name := range names {
		if here := presences[strings.ToLower(name)]; here == issue.None || here == issue.Any {
			return nil, here
		}
	}
	return names, issue.Whatever
}

// milestoneNamed is a milestone by its title, or which one it is otherwise.
func milestoneNamed(title string) (*string, issue.Presence) {
	if title == "" {
		return nil, issue.Whatever
	}
	if here := presences[strings.ToLower(title)]; here != issue.Whatever {
		return nil, here
	}
	return &title, issue.Whatever
}

// opposite is what is left where something is not wanted: without "none" there is some.
func opposite(here issue.Presence) issue.Presence {
	return map[issue.Presence]issue.Presence{issue.None: issue.Any, issue.Any: issue.None}[here]
}

// match adds what is not wanted.
func (u unwanted) match(m *issue.Filter) {
	labels, here := labelsOf(u.Labels)
	if m.Not.Labels = labels; here != issue.Whatever {
		m.Label = opposite(here)
	}
	title, here := milestoneNamed(u.Milestone)
	m.Not.Milestone = title
	if other := opposite(here); other != issue.Whatever {
		m.InMilestone = other
	} else {
		m.Not.InMilestone = here
	}
}

var presences = map[string]issue.Presence{"none": issue.None, "any": issue.Any, "upcoming": issue.Upcoming, "started": issue.Started}

// match is the filter as the room knows it, without the state.
func (f filter) match(ctx context.Context, users *user.Service) (issue.Filter, error) {
	m := issue.Filter{Search: unquoted(f.Words), Due: f.Due}
	if f.Type != "" {
		m.Types = []issue.Type{issue.Type(f.Type)}
	}
	if f.Due == "none" {
		m.Due = "0"
	}
	if f.Confidential != "" {
		m.Confidential = new(f.Confidential == "yes")
	}
	if n, err := strconv.Atoi(f.Weight); err == nil {
		m.Weight = &n
	}
	m.Labels, m.Label = labelsOf(f.Labels)
	m.Milestone, m.InMilestone = milestoneNamed(f.Milestone)
	f.Not.match(&m)
	person := func(name string, ids *[]int64) (known bool, err error) {
		u, err := users.FindByUsername(ctx, name)
		if fault.Is(err, fault.NotFound) {
			return false, nil
		}
		if err == nil {
			*ids = []int64{u.ID}
		}
		return true, err
	}
	wanted := func(name string, ids *[]int64) error {
		known, err := person(name, ids)
		m.NobodyKnown = m.NobodyKnown || !known
		return err
	}
	if f.Author != "" {
		if err := wanted(f.Author, &m.AuthorIDs); err != nil {
			return m, err
		}
	}
	switch strings.ToLower(f.Assignee) {
	case "":
	case "none", "any":
		m.Assigned = presences[strings.ToLower(f.Assignee)]
	default:
		if err := wanted(named(f.Assignee), &m.AssigneeIDs); err != nil {
			return m, err
		}
	}
	if f.Not.Author != "" {
		if _, err := person(f.Not.Author, &m.Not.AuthorIDs); err != nil {
			return m, err
		}
	}
	if f.Not.Assignee != "" {
		if _, err := person(f.Not.Assignee, &m.Not.AssigneeIDs); err != nil {
			return m, err
		}
	}
	return m, nil
}

// closed is the state that is asked for; nil for all.
func (f filter) closed() *bool {
	if f.State == "all" {
		return nil
	}
	return new(f.State == "closed")
}

// part is which part of the list is asked for. Orders without an index for a cursor are turned by number.
func (f filter) part(x *page.Request) (paging.Request, error) {
	s := f.sorting()
	if !s.keyset {
		req := x.Numbered("page", issuesPerPage)
		req.OrderBy, req.Desc = s.by, s.desc
		return req, nil
	}
	req, err := x.ByCursor(issuesPerPage)
	req.OrderBy, req.Desc = s.by, s.desc
	return req, err
}
