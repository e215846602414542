package planning_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
)

func TestTheListShowsEachIssueWithWhatStandsBesideIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(t, issue.Draft{Title: "Mend the <door>", Labels: []string{"bug"}, AssigneeIDs: []int64{w.people[access.Developer].ID}})
	s := w.anonymous(t).shows(issues)
	for _, text := range []string{
		"Mend the <door>", "#1", "Open 1", "Closed 0", "Assigned to " + w.people[access.Developer].Name, `fill="#6699cc"`,
		"by " + w.people[access.Maintainer].Name, "1 open issue", `href="/house/tool/-/issues/1"`,
	} {
		if !s.says(text) {
			t.Errorf("the list does not say %q", text)
		}
	}
	if strings.Contains(s.Body.String(), "<door>") || s.says("New issue") {
		t.Error("a title is markup, or a stranger is offered to open one")
	}
	if !w.in(t, access.Guest).shows(issues).says("New issue") {
		t.Error("a guest is not offered to open one")
	}
}

func TestAListThatIsEmptySaysWhatWouldBeThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if s := w.in(t, access.Guest).shows(issues); !s.says("No issue is open.", "Open an issue") {
		t.Error(s.text)
	}
	if s := w.anonymous(t).shows(issues + "?search=door"); !s.says("No issue matches.", "1 filter", ">Clear<") || s.says("Open an issue") {
		t.Error(s.text)
	}
}

func TestPE02_ConfidentialIssuesAreListedToWhoReadsThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(t, issue.Draft{Title: "A secret", Confidential: true})
	for _, b := range []*browser{w.anonymous(t), w.browser(t, w.stranger), w.in(t, access.Guest)} {
		if s := b.shows(issues); s.says("A secret") || !s.says("Open 0") {
			t.Error("somebody reads of a confidential issue")
		}
	}
	if !w.in(t, access.Reporter).shows(issues).says("A secret", "Confidential", "Open 1") {
		t.Error("a reporter does not")
	}
}

func TestTheListIsNarrowedByWhatAnAddressSays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dev := w.people[access.Developer]
	w.open(t, issue.Draft{Title: "First door", Labels: []string{"bug", "area: data"}})
	second := w.open(t, issue.Draft{Title: "Second window", Labels: []string{"bug"}, AssigneeIDs: []int64{dev.ID}})
	third := w.open(t, issue.Draft{Title: "Third roof"})
	w.change(t, third, issue.Change{Close: new(true)})
	_ = second
	me := "role-" + fmt.Sprint(int(access.Maintainer))
	for query, want := range map[string]string{
		"":                                       "First Second",
		"state=closed":                           "Third",
		"state=all":                              "First Second Third",
		"search=window":                          "Second",
		"search=" + url.QueryEscape("label:bug"): "First Second",
		"label_name[]=bug&label_name[]=area:+data":               "First",
		"search=" + url.QueryEscape(`label:"area: data" door`):   "First",
		"search=" + url.QueryEscape(`label:"area: data" window`): "",
		"author_username=" + me:                                  "First Second",
		"author_username=stranger":                               "",
		"author_username=nobody-at-all":                          "",
		"assignee=" + url.QueryEscape("@"+dev.Username):          "Second",
		"assignee_username=" + dev.Username:                      "Second",
		"assignee_username[]=" + dev.Username:                    "Second",
		"label_name=" + url.QueryEscape("area: data"):            "First",
		"assignee=none":    "First",
		"assignee_id=None": "First",
		"search=" + url.QueryEscape("assignee:any"): "Second",
		"milestone_title=None":                      "First Second",
		"milestone_title=2.5":                       "",
		"sort=created_asc&state=all":                "First Second Third",
		"sort=due_date":                             "First Second",
		"sort=nonsense&state=nonsense":              "First Second",
	} {
		s := w.anonymous(t).shows(issues + "?" + query)
		var got []string
		for _, word := range []string{"First", "Second", "Third"} {
			if s.says(">" + word + " ") {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	s := w.anonymous(t).shows(issues + "?state=closed&search=" + url.QueryEscape(`author:@x label:bug roof`))
	if !s.says(`value="label:bug author:@x roof"`, `name="state" value="closed"`, "3 filters") {
		t.Error("the form does not hold what was asked for")
	}
	if s := w.anonymous(t).get(issues + "?search=" + strings.Repeat("x", 1001)); s.Code != http.StatusBadRequest {
		t.Errorf("a search without end: %d", s.Code)
	}
	if s := w.anonymous(t).get(issues + "?" + strings.Repeat("&label_name[]=a", 3)); s.Code != http.StatusOK {
		t.Errorf("a label twice: %d", s.Code)
	}
}

func TestTheListIsNarrowedByWhatIssuesAreAndAreNot(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=premium")
	dev := w.people[access.Developer]
	now := w.Now().UTC()
	w.open(t, issue.Draft{Title: "First door", Labels: []string{"bug", "to do"}, Confidential: true, Weight: new(3), DueDate: new(now.AddDate(0, 0, -2))})
	w.open(t, issue.Draft{Title: "Second window", Labels: []string{"bug"}, AssigneeIDs: []int64{dev.ID}, DueDate: &now})
	w.open(t, issue.Draft{Title: "Third roof", Type: issue.Incident})
	b := w.in(t, access.Reporter)
	for query, want := range map[string]string{
		"confidential=yes":        "First",
		"confidential=no":         "Second Third",
		"search=confidential:yes": "First",
		"type[]=incident":         "Third",
		"type=issue":              "First Second",
		"search=type:incident":    "Third",
		"weight=3":                "First",
		"search=weight:4":         "",
		"due_date=0":              "Third",
		"due_date=any":            "First Second",
		"due_date=today":          "Second",
		"search=due:overdue":      "First",
		"search=due:none":         "Third",
		"not[label_name][]=bug":   "Third",
		"not[label_name][]=to+do": "Second Third",
		"search=" + url.QueryEscape(`-label:"to do"`):                  "Second Third",
		"search=" + url.QueryEscape(`label:~"to do"`):                  "First",
		"not[label_name][]=None":                                       "First Second",
		"not[author_username]=stranger":                                "First Second Third",
		"not[author_username]=" + w.people[access.Maintainer].Username: "",
		"not[author_username]=nobody-at-all":                           "First Second Third",
		"not[assignee_username]=" + dev.Username:                       "First Third",
		"not[assignee_username][]=" + dev.Username:                     "First Third",
		"search=-assignee:@" + dev.Username:                            "First Third",
		"not[milestone_title]=2.5":                                     "First Second Third",
		"not[milestone_title]=None":                                    "",
		"assignee_id=0":                                                "First Third",
		"search=" + url.QueryEscape("-label:idea type:issue window"):   "Second",
	} {
		s := b.shows(issues + "?" + query)
		var got []string
		for _, word := range []string{"First", "Second", "Third"} {
			if s.says(">" + word + " ") {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want || s.says("Unknown filter") {
			t.Errorf("%s: %v", query, got)
		}
	}
	s := b.shows(issues + "?not[label_name][]=to+do&not[author_username]=x&not[assignee_username]=y&not[milestone_title]=2.5&type[]=incident&confidential=no&weight=3&due_date=0")
	if !s.says(`value="-label:"to do" -milestone:2.5 -author:@x -assignee:@y type:incident confidential:no weight:3 due:none"`, "8 filters") {
		t.Error("the field does not hold what was asked for", s.text)
	}
	if !s.says("state=closed", "due_date=none", "not%5Blabel_name%5D%5B%5D=to+do") {
		t.Error("the other states lose the filter")
	}
}

func TestAFilterThatIsNotKnownIsSaidAboveTheList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(t, issue.Draft{Title: "Mend colour:red doors"})
	w.open(t, issue.Draft{Title: "Paint them"})
	b := w.anonymous(t)
	for query, want := range map[string]string{
		"search=colour:red":        "Unknown filter “colour:red”: it was searched for as a word.",
		"search=due:soon":          "Unknown filter “due:soon”: due takes none, any, today",
		"confidential=maybe":       "confidential takes yes or no",
		"weight=heavy":             "weight takes a number",
		"type[]=bug":               "type takes issue, incident or task",
		"type[]=issue&type[]=task": "one type at a time",
		"my_reaction_emoji=tada":   "Unknown filter “my_reaction_emoji” in the address",
		"not[weight]=3":            "Unknown filter “not[weight]” in the address",
		"assignee_id=5":            "name the person",
		"scope=assigned_to_me":     "Unknown filter “scope” in the address",
	} {
		if s := b.shows(issues + "?" + query); !s.says(want, `class="notice warn"`) {
			t.Errorf("%s: it does not say %q", query, want)
		}
	}
	for _, query := range []string{"search=" + url.QueryEscape(`"colour:red"`), "search=std::vector", "search=https://example.com/x", "search=12:30", "scope=all&utf8=x&state=opened"} {
		if s := b.shows(issues + "?" + query); s.says("Unknown filter") {
			t.Errorf("%s: %s", query, s.text)
		}
	}
	if s := b.shows(issues + "?search=" + url.QueryEscape(`"colour:red"`)); !s.says("Mend colour:red doors") || s.says("Paint them") {
		t.Error("words between quotes are not found")
	}
	if s := w.in(t, access.Guest).shows("/house/tool/-/boards?search=colour:red"); !s.says("Unknown filter “colour:red”") {
		t.Error("a board does not say it")
	}
}

var onward = regexp.MustCompile(`rel="next" href="([^"]+)"`)

func TestTheListIsTurnedByCursorAndKeepsItsFilter(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for n := range 30 {
		w.open(t, issue.Draft{Title: fmt.Sprintf("Number %02d of them", n)})
	}
	for _, sort := range []string{"created_date", "updated_desc", "due_date", "created_asc"} {
		first := w.anonymous(t).shows(issues + "?search=them&sort=" + sort)
		link := onward.FindStringSubmatch(first.text)
		if link == nil || strings.Count(first.text, "of them<") != 25 || !strings.Contains(link[1], "search=them") {
			t.Fatalf("%s: %v", sort, link)
		}
		second := w.anonymous(t).shows(link[1])
		if strings.Count(second.text, "of them<") != 5 || onward.MatchString(second.text) || !second.says("30 open issues") {
			t.Errorf("%s: the second part has not the rest", sort)
		}
	}
	if s := w.anonymous(t).get(issues + "?cursor=nonsense"); s.Code != http.StatusBadRequest {
		t.Errorf("a cursor of another list: %d", s.Code)
	}
}

func TestAProjectWithoutIssuesHasNoPagesOfThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if !w.anonymous(t).shows(home).says(">Issues", `href="/house/tool/-/issues"`) {
		t.Error("no tab")
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set features = features || '{"issues": "private"}'`); err != nil {
		t.Fatal(err)
	}
	if s := w.browser(t, w.stranger).get(issues); s.Code != http.StatusNotFound || w.browser(t, w.stranger).shows(home).says("/-/issues") {
		t.Errorf("a stranger sees issues that are for members: %d", s.Code)
	}
	if w.in(t, access.Guest).get(issues).Code != http.StatusOK {
		t.Error("a guest does not")
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set features = features || '{"issues": "disabled"}'`); err != nil {
		t.Fatal(err)
	}
	if s := w.in(t, access.Owner).get(issues); s.Code != http.StatusNotFound || w.in(t, access.Owner).shows(home).says("/-/issues") {
		t.Errorf("an owner sees issues that are off: %d", s.Code)
	}
}

func TestAGroupListsTheIssuesOfItsProjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(t, issue.Draft{Title: "Mend the door", Labels: []string{"bug"}})
	w.open(t, issue.Draft{Title: "A secret", Confidential: true})
	s := w.anonymous(t).shows("/groups/house/-/issues")
	if !s.says("Mend the door", "house/tool#1", "/groups/house/-/issues?label_name%5B%5D=bug") || s.says("A secret") {
		t.Error(s.text)
	}
}
