package pages

// activityPages show what the other pages made happen.
func (f *forge) activityPages() []page {
	return []page{
		{Name: "activity-person", Path: "/users/ada/activity", As: "ada", Small: true},
		{Name: "activity-project", Path: "/riverside/tide-table/-/activity", As: "ada", Small: true},
		{Name: "activity-group", Path: "/groups/riverside/-/activity", As: "ada", Small: true},
		{Name: "activity-none", Path: "/users/person00/activity"},
		{Name: "person", Path: "/ada", As: "person", Small: true},
	}
}
