package planning

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"stithy/internal/issue"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
	"stithy/internal/web/page"
)

// labelParam may be sent several times.
const labelParam = "label_name[]"

// filter is which issues of a list are shown, as it stands in an address.
type filter struct {
	State     string // opened, closed or all
	Words     string
	Labels    []string
	Milestone string // a title, None, Any, Upcoming or Started
	Author    string // a username
	Assignee  string // a username after @, none or any
	Sort      string
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
	if id := strings.ToLower(form.Get("assignee_id")); id == "none" || id == "any" {
		f.Assignee = id
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
	f.Author = strings.TrimPrefix(f.Author, "@")
	f.Labels = slices.DeleteFunc(f.Labels, func(name string) bool { return name == "" })
	slices.Sort(f.Labels)
	if f.Labels = slices.Compact(f.Labels); len(f.Labels) > maxLabels {
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

// take reads a word of the search that is key:value.
func (f *filter) take(token string) bool {
	key, value, _ := strings.Cut(token, ":")
	if value = strings.Trim(value, `"`); value == "" {
		return false
	}
	switch strings.ToLower(key) {
	case "label":
		f.Labels = append(f.Labels, strings.TrimPrefix(value, "~"))
	case "milestone":
		f.Milestone = strings.TrimPrefix(value, "%")
	case "author":
		f.Author = value
	case "assignee":
		if f.Assignee = value; !slices.Contains([]string{"none", "any"}, strings.ToLower(value)) {
			f.Assignee = "@" + strings.TrimPrefix(value, "@")
		}
	default:
		return false
	}
	return true
}

// search is what the field shows: everything that no select of the form does.
func (f filter) search() string {
	var parts []string
	add := func(key, value string) {
		if strings.ContainsAny(value, " \t") {
			value = `"` + value + `"`
		}
		parts = append(parts, key+":"+value)
	}
	for _, name := range f.Labels {
		add("label", name)
	}
	if f.Milestone != "" {
		add("milestone", f.Milestone)
	}
	if f.Author != "" {
		add("author", "@"+f.Author)
	}
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
	set("sort", f.Sort, sortings[0].value)
	if len(f.Labels) > 0 {
		q[labelParam] = f.Labels
	}
	return q
}

// narrowed is by how many things, beside the state.
func (f filter) narrowed() int {
	n := len(f.Labels)
	for _, s := range []string{f.Words, f.Milestone, f.Author, f.Assignee} {
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

var presences = map[string]issue.Presence{"none": issue.None, "any": issue.Any, "upcoming": issue.Upcoming, "started": issue.Started}

// match is the filter as the room knows it, without the state.
func (f filter) match(ctx context.Context, users *user.Service) (issue.Filter, error) {
	m := issue.Filter{Search: f.Words}
	for _, name := range f.Labels {
		if here := presences[strings.ToLower(name)]; here == issue.None || here == issue.Any {
			m.Label, m.Labels = here, nil
			break
		}
		m.Labels = append(m.Labels, name)
	}
	if here := presences[strings.ToLower(f.Milestone)]; here != issue.Whatever {
		m.InMilestone = here
	} else if f.Milestone != "" {
		m.Milestone = &f.Milestone
	}
	person := func(name string, ids *[]int64) error {
		u, err := users.FindByUsername(ctx, name)
		if fault.Is(err, fault.NotFound) {
			m.NobodyKnown = true
			return nil
		}
		if err == nil {
			*ids = []int64{u.ID}
		}
		return err
	}
	if f.Author != "" {
		if err := person(f.Author, &m.AuthorIDs); err != nil {
			return m, err
		}
	}
	switch strings.ToLower(f.Assignee) {
	case "":
	case "none", "any":
		m.Assigned = presences[strings.ToLower(f.Assignee)]
	default:
		return m, person(strings.TrimPrefix(f.Assignee, "@"), &m.AssigneeIDs)
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
