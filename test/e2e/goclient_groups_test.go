package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go"
)

// TestTheOfficialGoClientFindsGroupsAndProjects is the tour through what people share: groups, projects, who belongs
// to them, and the tokens that are theirs.
func TestTheOfficialGoClientFindsGroupsAndProjects(t *testing.T) {
	t.Parallel()
	f := start(t)
	tour := goTour{f: f, c: f.client(t, f.token)}
	t.Run("groups", tour.groups)
	t.Run("group transfer and sharing", tour.groupTransferAndSharing)
	t.Run("projects", tour.projects)
	t.Run("project lists", tour.projectLists)
	t.Run("rename", tour.rename)
	t.Run("attributes and statistics", tour.attributesAndStatistics)
	t.Run("forks, stars and transfer", tour.forksStarsAndTransfer)
	t.Run("group members", tour.groupMembers)
	t.Run("project members", tour.projectMembers)
	t.Run("sharing a project", tour.sharingAProject)
	t.Run("invitations", tour.invitations)
	t.Run("access requests", tour.accessRequests)
	t.Run("project access tokens", tour.projectAccessTokens)
	t.Run("group access tokens", tour.groupAccessTokens)
	t.Run("deploy tokens", tour.deployTokens)
	t.Run("planning", tour.planning)
	t.Run("issues", tour.issues)
	t.Run("namespaces", tour.namespaces)
	t.Run("removal", tour.removal)
}

func (g goTour) group(t testing.TB, path string, visibility gitlab.VisibilityValue) *gitlab.Group {
	t.Helper()
	return call(g.c.Groups.CreateGroup(&gitlab.CreateGroupOptions{
		Name: new("The " + path), Path: &path, Visibility: &visibility,
	})).ok(t, http.StatusCreated)
}

func (g goTour) subgroup(t testing.TB, parent *gitlab.Group, path string) *gitlab.Group {
	t.Helper()
	return call(g.c.Groups.CreateGroup(&gitlab.CreateGroupOptions{
		Name: new("The " + path), Path: &path, ParentID: &parent.ID,
	})).ok(t, http.StatusCreated)
}

func (g goTour) project(t testing.TB, in *gitlab.Group, path string, visibility gitlab.VisibilityValue) *gitlab.Project {
	t.Helper()
	return call(g.c.Projects.CreateProject(&gitlab.CreateProjectOptions{
		Name: new("The " + path), Path: &path, NamespaceID: &in.ID, Visibility: &visibility,
	})).ok(t, http.StatusCreated)
}

func texts(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func groupPaths(groups []*gitlab.Group) (paths []string) {
	for _, one := range groups {
		paths = append(paths, one.FullPath)
	}
	return paths
}

func projectPaths(projects []*gitlab.Project) (paths []string) {
	for _, one := range projects {
		paths = append(paths, one.PathWithNamespace)
	}
	return paths
}

func (g goTour) groups(t *testing.T) {
	top := call(g.c.Groups.CreateGroup(&gitlab.CreateGroupOptions{
		Name: new("Forge Works"), Path: new("works"), Description: new("hot"), Visibility: new(gitlab.PublicVisibility),
		RequestAccessEnabled: new(true), LFSEnabled: new(false), ProjectCreationLevel: new(gitlab.MaintainerProjectCreation),
	})).ok(t, http.StatusCreated)
	if top.ID == 0 || top.Name != "Forge Works" || top.Path != "works" || top.FullPath != "works" || top.FullName != "Forge Works" ||
		top.Description != "hot" || top.Visibility != gitlab.PublicVisibility || top.ParentID != 0 || top.WebURL != g.f.url+"/groups/works" ||
		!top.RequestAccessEnabled || top.LFSEnabled || top.ProjectCreationLevel != gitlab.MaintainerProjectCreation || top.CreatedAt == nil {
		t.Errorf("made: %+v", top)
	}
	sub := g.subgroup(t, top, "hearth")
	if sub.ParentID != top.ID || sub.FullPath != "works/hearth" || sub.FullName != "Forge Works / The hearth" {
		t.Errorf("subgroup: %+v", sub)
	}
	updated := call(g.c.Groups.UpdateGroup(sub.ID, &gitlab.UpdateGroupOptions{
		Name: new("Hearth"), Description: new("warm"), Visibility: new(gitlab.PrivateVisibility),
	})).ok(t, http.StatusOK)
	if updated.Name != "Hearth" || updated.Description != "warm" || updated.Visibility != gitlab.PrivateVisibility {
		t.Errorf("updated: %+v", updated)
	}
	deep := g.subgroup(t, sub, "coal")
	for _, ref := range []any{sub.ID, "works/hearth", "WORKS/Hearth"} {
		if got := call(g.c.Groups.GetGroup(ref, nil)).ok(t, http.StatusOK); got.ID != sub.ID || got.Name != "Hearth" {
			t.Errorf("by %v: %+v", ref, got)
		}
	}
	texts(t, "top level", groupPaths(call(g.c.Groups.ListGroups(&gitlab.ListGroupsOptions{
		TopLevelOnly: new(true), Search: new("works"),
	})).ok(t, http.StatusOK)), "works")
	texts(t, "ordered", groupPaths(call(g.c.Groups.ListGroups(&gitlab.ListGroupsOptions{
		OrderBy: new("id"), Sort: new("desc"),
	})).ok(t, http.StatusOK)), "works/hearth/coal", "works/hearth", "works")
	texts(t, "subgroups", groupPaths(call(g.c.Groups.ListSubGroups(top.ID, nil)).ok(t, http.StatusOK)), "works/hearth")
	texts(t, "descendants", groupPaths(call(g.c.Groups.ListDescendantGroups("works", &gitlab.ListDescendantGroupsOptions{
		OrderBy: new("id"),
	})).ok(t, http.StatusOK)), "works/hearth", "works/hearth/coal")

	moved := call(g.c.Groups.UpdateGroup(sub.ID, &gitlab.UpdateGroupOptions{Path: new("fire")})).ok(t, http.StatusOK)
	if moved.FullPath != "works/fire" {
		t.Errorf("renamed: %+v", moved)
	}
	if got := call(g.c.Groups.GetGroup("works/fire/coal", nil)).ok(t, http.StatusOK); got.ID != deep.ID {
		t.Errorf("below the renamed one: %+v", got)
	}

	call(g.c.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("No path")})).refused(t, http.StatusBadRequest, `{"error":"path is missing"}`)
	stranger := g.clientOf(t, g.person(t, "gus"), "api")
	call(stranger.Groups.GetGroup(sub.ID, nil)).refused(t, http.StatusNotFound, "")
	call(stranger.Groups.UpdateGroup(top.ID, &gitlab.UpdateGroupOptions{Name: new("Mine")})).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	texts(t, "subgroups a stranger sees", groupPaths(call(stranger.Groups.ListSubGroups(top.ID, nil)).ok(t, http.StatusOK)))
}

func (g goTour) groupTransferAndSharing(t *testing.T) {
	old, next := g.group(t, "olden", gitlab.PrivateVisibility), g.group(t, "newer", gitlab.PrivateVisibility)
	child := g.subgroup(t, old, "child")
	if got := call(g.c.Groups.TransferSubGroup(child.ID, &gitlab.TransferSubGroupOptions{GroupID: &next.ID})).ok(t, http.StatusCreated); got.FullPath != "newer/child" {
		t.Errorf("transferred: %+v", got)
	}
	if got := call(g.c.Groups.TransferSubGroup(child.ID, &gitlab.TransferSubGroupOptions{})).ok(t, http.StatusCreated); got.FullPath != "child" || got.ParentID != 0 {
		t.Errorf("to the top: %+v", got)
	}
	shared := call(g.c.Groups.ShareGroupWithGroup(old.ID, &gitlab.ShareGroupWithGroupOptions{
		GroupID: &next.ID, GroupAccess: new(gitlab.DeveloperPermissions),
	})).ok(t, http.StatusCreated)
	if len(shared.SharedWithGroups) != 1 || shared.SharedWithGroups[0].GroupID != next.ID || shared.SharedWithGroups[0].GroupFullPath != "newer" ||
		shared.SharedWithGroups[0].GroupAccessLevel != int64(gitlab.DeveloperPermissions) {
		t.Errorf("shared: %+v", shared.SharedWithGroups)
	}
	act(g.c.Groups.UnshareGroupFromGroup(old.ID, next.ID)).ok(t, http.StatusNoContent)
	act(g.c.Groups.UnshareGroupFromGroup(old.ID, next.ID)).refused(t, http.StatusNotFound, "")
}

func (g goTour) projects(t *testing.T) {
	home := g.group(t, "home", gitlab.PublicVisibility)
	p := call(g.c.Projects.CreateProject(&gitlab.CreateProjectOptions{
		Name: new("Tongs"), Path: new("tongs"), NamespaceID: &home.ID, Description: new("to hold"), Visibility: new(gitlab.PublicVisibility),
		Topics: &[]string{"iron", "tools"}, IssuesAccessLevel: new(gitlab.PrivateAccessControl), MergeMethod: new(gitlab.FastForwardMerge),
		DefaultBranch: new("trunk"), RequestAccessEnabled: new(true),
	})).ok(t, http.StatusCreated)
	if p.ID == 0 || p.Name != "Tongs" || p.PathWithNamespace != "home/tongs" || p.NameWithNamespace != "The home / Tongs" ||
		p.Description != "to hold" || p.Visibility != gitlab.PublicVisibility || p.WebURL != g.f.url+"/home/tongs" ||
		p.HTTPURLToRepo != g.f.url+"/home/tongs.git" || p.Namespace.ID != home.ID || p.Namespace.Kind != "group" || p.Namespace.FullPath != "home" ||
		p.IssuesAccessLevel != gitlab.PrivateAccessControl || p.MergeMethod != gitlab.FastForwardMerge || p.CreatorID != 1 || p.Archived {
		t.Errorf("made: %+v", p)
	}
	texts(t, "topics", p.Topics, "iron", "tools")
	own := call(g.c.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("My Notes")})).ok(t, http.StatusCreated)
	if own.PathWithNamespace != "root/my-notes" || own.Namespace.Kind != "user" || own.Visibility != gitlab.PrivateVisibility || own.Owner.Username != "root" {
		t.Errorf("own: %+v", own)
	}
	pat := g.person(t, "pat")
	given := call(g.c.Projects.CreateProjectForUser(pat.ID, &gitlab.CreateProjectForUserOptions{Name: new("Gift")})).ok(t, http.StatusCreated)
	if given.PathWithNamespace != "pat/Gift" {
		t.Errorf("given: %+v", given)
	}
	for _, ref := range []any{p.ID, "home/tongs", "HOME/Tongs"} {
		if got := call(g.c.Projects.GetProject(ref, nil)).ok(t, http.StatusOK); got.ID != p.ID {
			t.Errorf("by %v: %+v", ref, got)
		}
	}
	updated := call(g.c.Projects.EditProject(p.ID, &gitlab.EditProjectOptions{
		Name: new("Big Tongs"), Description: new("to hold tight"), Topics: &[]string{"steel"}, WikiAccessLevel: new(gitlab.DisabledAccessControl),
	})).ok(t, http.StatusOK)
	if updated.Name != "Big Tongs" || updated.Path != "tongs" || updated.Description != "to hold tight" || updated.WikiAccessLevel != gitlab.DisabledAccessControl {
		t.Errorf("updated: %+v", updated)
	}
	texts(t, "topics after the update", updated.Topics, "steel")

	if got := call(g.c.Projects.ArchiveProject(p.ID)).ok(t, http.StatusCreated); !got.Archived {
		t.Errorf("archived: %+v", got)
	}
	if got := call(g.c.Projects.UnarchiveProject(p.ID)).ok(t, http.StatusCreated); got.Archived {
		t.Errorf("back again: %+v", got)
	}

	call(g.c.Projects.CreateProject(&gitlab.CreateProjectOptions{NamespaceID: &home.ID})).refused(t, http.StatusBadRequest,
		`{"error":"name, path are missing, at least one parameter must be provided"}`)
	stranger := g.clientOf(t, pat, "api")
	call(stranger.Projects.GetProject(own.ID, nil)).refused(t, http.StatusNotFound, "")
	call(stranger.Projects.GetProject("root/my-notes", nil)).refused(t, http.StatusNotFound, "")
	call(stranger.Projects.EditProject(p.ID, &gitlab.EditProjectOptions{Name: new("Mine")})).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	call(stranger.Projects.GetProject(p.ID, nil)).ok(t, http.StatusOK)
	call(g.f.client(t, "").Projects.GetProject(p.ID, nil)).ok(t, http.StatusOK)
}

func (g goTour) projectLists(t *testing.T) {
	shelf := g.group(t, "shelf", gitlab.PrivateVisibility)
	var paths []string
	for i := range 5 {
		p := g.project(t, shelf, fmt.Sprintf("item-%d", i), gitlab.PrivateVisibility)
		paths = append(paths, p.PathWithNamespace)
	}
	call(g.c.Projects.ArchiveProject(paths[4])).ok(t, http.StatusCreated)

	list := func(options gitlab.ListProjectsOptions) []string {
		options.Search = new("item-")
		return projectPaths(call(g.c.Projects.ListProjects(&options)).ok(t, http.StatusOK))
	}
	texts(t, "archived", list(gitlab.ListProjectsOptions{Archived: new(true)}), paths[4])
	texts(t, "not archived, by path", list(gitlab.ListProjectsOptions{
		Archived: new(false), OrderBy: new("path"), Sort: new("asc"),
	}), paths[:4]...)
	texts(t, "public", list(gitlab.ListProjectsOptions{Visibility: new(gitlab.PublicVisibility)}))
	texts(t, "owned and simple", list(gitlab.ListProjectsOptions{
		Owned: new(true), Simple: new(true), ListOptions: gitlab.ListOptions{PerPage: 2, Page: 2}, OrderBy: new("id"), Sort: new("asc"),
	}), paths[2:4]...)
	page := call(g.c.Projects.ListProjects(&gitlab.ListProjectsOptions{
		Search: new("item-"), OrderBy: new("id"), Sort: new("asc"), ListOptions: gitlab.ListOptions{PerPage: 2},
	}))
	page.ok(t, http.StatusOK)
	if page.resp.TotalItems != 5 || page.resp.TotalPages != 3 || page.resp.NextPage != 2 {
		t.Errorf("about the page: %+v", page.resp)
	}

	for _, sort := range []string{"asc", "desc"} {
		var walked []string
		options := []gitlab.RequestOptionFunc{}
		for range 10 {
			part := call(g.c.Projects.ListProjects(&gitlab.ListProjectsOptions{
				Search: new("item-"), OrderBy: new("id"), Sort: &sort, ListOptions: gitlab.ListOptions{Pagination: "keyset", PerPage: 2},
			}, options...))
			walked = append(walked, projectPaths(part.ok(t, http.StatusOK))...)
			if part.resp.NextLink == "" {
				break
			}
			options = []gitlab.RequestOptionFunc{gitlab.WithKeysetPaginationParameters(part.resp.NextLink)}
		}
		want := slices.Clone(paths)
		if sort == "desc" {
			slices.Reverse(want)
		}
		texts(t, "keyset "+sort, walked, want...)
	}
	texts(t, "of the group", projectPaths(call(g.c.Groups.ListGroupProjects("shelf", &gitlab.ListGroupProjectsOptions{
		Archived: new(false), OrderBy: new("name"), Sort: new("asc"),
	})).ok(t, http.StatusOK)), paths[:4]...)
	stranger := g.clientOf(t, g.person(t, "sly"), "api")
	texts(t, "a stranger's", projectPaths(call(stranger.Projects.ListProjects(&gitlab.ListProjectsOptions{Search: new("item-")})).ok(t, http.StatusOK)))
}

func (g goTour) rename(t *testing.T) {
	here := g.group(t, "here", gitlab.PrivateVisibility)
	p := g.project(t, here, "before", gitlab.PrivateVisibility)
	if got := call(g.c.Projects.EditProject(p.ID, &gitlab.EditProjectOptions{Name: new("After"), Path: new("after")})).ok(t, http.StatusOK); got.PathWithNamespace != "here/after" {
		t.Errorf("renamed: %+v", got)
	}
	if got := call(g.c.Projects.GetProject("here/before", nil)).ok(t, http.StatusOK); got.ID != p.ID || got.PathWithNamespace != "here/after" {
		t.Errorf("by the old path: %+v", got)
	}
	heir := g.project(t, here, "before", gitlab.PrivateVisibility)
	if got := call(g.c.Projects.GetProject("here/before", nil)).ok(t, http.StatusOK); got.ID != heir.ID {
		t.Errorf("the path taken again: %+v", got)
	}
}

func (g goTour) attributesAndStatistics(t *testing.T) {
	frame := g.group(t, "frame", gitlab.PublicVisibility)
	p := g.project(t, frame, "canvas", gitlab.PublicVisibility)
	set := gitlab.CustomAttribute{Key: "wood", Value: "oak"}
	if got := call(g.c.CustomAttribute.SetCustomGroupAttribute(frame.ID, set)).ok(t, http.StatusOK); *got != set {
		t.Errorf("attribute of the group: %+v", got)
	}
	if got := call(g.c.CustomAttribute.SetCustomProjectAttribute(p.ID, set)).ok(t, http.StatusOK); *got != set {
		t.Errorf("attribute of the project: %+v", got)
	}
	whole := call(g.c.Groups.GetGroup(frame.ID, &gitlab.GetGroupOptions{WithCustomAttributes: new(true)})).ok(t, http.StatusOK)
	if len(whole.CustomAttributes) != 1 || *whole.CustomAttributes[0] != set {
		t.Errorf("the group with attributes: %+v", whole.CustomAttributes)
	}
	full := call(g.c.Projects.GetProject(p.ID, &gitlab.GetProjectOptions{WithCustomAttributes: new(true), Statistics: new(true)})).ok(t, http.StatusOK)
	if len(full.CustomAttributes) != 1 || *full.CustomAttributes[0] != set || full.Statistics == nil {
		t.Errorf("the project with attributes: %+v, statistics: %+v", full.CustomAttributes, full.Statistics)
	}
	act(g.c.CustomAttribute.DeleteCustomGroupAttribute(frame.ID, "wood")).ok(t, http.StatusNoContent)
	act(g.c.CustomAttribute.DeleteCustomProjectAttribute(p.ID, "wood")).ok(t, http.StatusNoContent)

	if got := call(g.c.Projects.ListProjectsUsers(p.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].Username != "root" {
		t.Errorf("users: %+v", got)
	}
	if got := call(g.c.Projects.ListProjectsGroups(p.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].FullPath != "frame" {
		t.Errorf("groups: %+v", got)
	}
	if got := call(g.c.Projects.GetProjectLanguages(p.ID)).ok(t, http.StatusOK); len(*got) != 0 {
		t.Errorf("languages: %+v", got)
	}
}

func (g goTour) forksStarsAndTransfer(t *testing.T) {
	origin := g.group(t, "origin", gitlab.PublicVisibility)
	p := g.project(t, origin, "pattern", gitlab.PublicVisibility)
	fay := g.person(t, "fay")
	hers := g.clientOf(t, fay, "api")

	if got := call(hers.Projects.StarProject(p.ID)).ok(t, http.StatusCreated); got.StarCount != 1 {
		t.Errorf("starred: %+v", got)
	}
	texts(t, "starred", projectPaths(call(g.c.Projects.ListUserStarredProjects(fay.ID, nil)).ok(t, http.StatusOK)), "origin/pattern")
	if got := call(g.c.Projects.ListProjectStarrers(p.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].User.Username != "fay" {
		t.Errorf("starrers: %+v", got)
	}
	if got := call(hers.Projects.UnstarProject(p.ID)).ok(t, http.StatusCreated); got.StarCount != 0 {
		t.Errorf("without the star: %+v", got)
	}

	fork := call(hers.Projects.ForkProject(p.ID, &gitlab.ForkProjectOptions{Path: new("copy"), Name: new("Copy")})).ok(t, http.StatusCreated)
	if fork.PathWithNamespace != "fay/copy" || fork.ForkedFromProject == nil || fork.ForkedFromProject.ID != p.ID {
		t.Errorf("fork: %+v", fork)
	}
	texts(t, "forks", projectPaths(call(g.c.Projects.ListProjectForks(p.ID, nil)).ok(t, http.StatusOK)), "fay/copy")
	texts(t, "of fay", projectPaths(call(g.c.Projects.ListUserProjects(fay.ID, nil)).ok(t, http.StatusOK)), "fay/copy")
	act(hers.Projects.DeleteProjectForkRelation(fork.ID)).ok(t, http.StatusNoContent)

	there := g.group(t, "there", gitlab.PublicVisibility)
	if got := call(g.c.Projects.TransferProject(p.ID, &gitlab.TransferProjectOptions{Namespace: there.ID})).ok(t, http.StatusOK); got.PathWithNamespace != "there/pattern" {
		t.Errorf("transferred: %+v", got)
	}
	if got := call(g.c.Projects.GetProject("origin/pattern", nil)).ok(t, http.StatusOK); got.ID != p.ID {
		t.Errorf("by the old path: %+v", got)
	}
	call(hers.Projects.TransferProject(p.ID, &gitlab.TransferProjectOptions{Namespace: "fay"})).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
}

func (g goTour) groupMembers(t *testing.T) {
	top := g.group(t, "guild", gitlab.PrivateVisibility)
	sub := g.subgroup(t, top, "bench")
	mia := g.person(t, "mia")
	day := gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	made := call(g.c.GroupMembers.AddGroupMember(top.ID, &gitlab.AddGroupMemberOptions{
		UserID: &mia.ID, AccessLevel: new(gitlab.DeveloperPermissions), ExpiresAt: new(day.String()),
	})).ok(t, http.StatusCreated)
	if made.ID != mia.ID || made.Username != "mia" || made.AccessLevel != gitlab.DeveloperPermissions || made.ExpiresAt == nil ||
		made.ExpiresAt.String() != day.String() || made.CreatedBy == nil || made.CreatedBy.Username != "root" || made.CreatedAt == nil {
		t.Errorf("made: %+v", made)
	}
	call(g.c.GroupMembers.AddGroupMember(top.ID, &gitlab.AddGroupMemberOptions{
		UserID: &mia.ID, AccessLevel: new(gitlab.DeveloperPermissions),
	})).refused(t, http.StatusConflict, `{"message":"Member already exists"}`)

	names := func(members []*gitlab.GroupMember) (names []string) {
		for _, m := range members {
			names = append(names, m.Username)
		}
		slices.Sort(names)
		return names
	}
	texts(t, "members", names(call(g.c.Groups.ListGroupMembers(top.ID, nil)).ok(t, http.StatusOK)), "mia", "root")
	texts(t, "found", names(call(g.c.Groups.ListGroupMembers(top.ID, &gitlab.ListGroupMembersOptions{Query: new("mia")})).ok(t, http.StatusOK)), "mia")
	texts(t, "all below", names(call(g.c.Groups.ListAllGroupMembers(sub.ID, nil)).ok(t, http.StatusOK)), "mia", "root")
	call(g.c.GroupMembers.GetGroupMember(sub.ID, mia.ID)).refused(t, http.StatusNotFound, "")
	if got := call(g.c.GroupMembers.GetInheritedGroupMember(sub.ID, mia.ID)).ok(t, http.StatusOK); got.AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("inherited: %+v", got)
	}
	if got := call(g.c.GroupMembers.EditGroupMember(top.ID, mia.ID, &gitlab.EditGroupMemberOptions{
		AccessLevel: new(gitlab.MaintainerPermissions),
	})).ok(t, http.StatusOK); got.AccessLevel != gitlab.MaintainerPermissions {
		t.Errorf("edited: %+v", got)
	}
	act(g.c.GroupMembers.RemoveGroupMember(top.ID, mia.ID, nil)).ok(t, http.StatusNoContent)
	call(g.c.GroupMembers.GetGroupMember(top.ID, mia.ID)).refused(t, http.StatusNotFound, "")
	call(g.clientOf(t, mia, "api").Groups.GetGroup(top.ID, nil)).refused(t, http.StatusNotFound, "")
}

func (g goTour) projectMembers(t *testing.T) {
	crew := g.group(t, "crew", gitlab.PrivateVisibility)
	p := g.project(t, crew, "ship", gitlab.PrivateVisibility)
	moe, may := g.person(t, "moe"), g.person(t, "may")
	call(g.c.GroupMembers.AddGroupMember(crew.ID, &gitlab.AddGroupMemberOptions{
		UserID: &may.ID, AccessLevel: new(gitlab.ReporterPermissions),
	})).ok(t, http.StatusCreated)
	made := call(g.c.ProjectMembers.AddProjectMember(p.ID, &gitlab.AddProjectMemberOptions{
		UserID: moe.ID, AccessLevel: new(gitlab.MaintainerPermissions),
	})).ok(t, http.StatusCreated)
	if made.ID != moe.ID || made.AccessLevel != gitlab.MaintainerPermissions || made.WebURL != g.f.url+"/moe" {
		t.Errorf("made: %+v", made)
	}
	names := func(members []*gitlab.ProjectMember) (names []string) {
		for _, m := range members {
			names = append(names, m.Username)
		}
		slices.Sort(names)
		return names
	}
	texts(t, "found", names(call(g.c.ProjectMembers.ListProjectMembers(p.ID, &gitlab.ListProjectMembersOptions{Query: new("moe")})).ok(t, http.StatusOK)), "moe")
	texts(t, "all", names(call(g.c.ProjectMembers.ListAllProjectMembers(p.ID, nil)).ok(t, http.StatusOK)), "may", "moe", "root")
	call(g.c.ProjectMembers.GetProjectMember(p.ID, may.ID)).refused(t, http.StatusNotFound, "")
	if got := call(g.c.ProjectMembers.GetInheritedProjectMember(p.ID, may.ID)).ok(t, http.StatusOK); got.AccessLevel != gitlab.ReporterPermissions {
		t.Errorf("inherited: %+v", got)
	}

	his := g.clientOf(t, moe, "api")
	call(his.ProjectMembers.EditProjectMember(p.ID, moe.ID, &gitlab.EditProjectMemberOptions{
		AccessLevel: new(gitlab.OwnerPermissions),
	})).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	if got := call(his.ProjectMembers.AddProjectMember(p.ID, &gitlab.AddProjectMemberOptions{
		UserID: may.ID, AccessLevel: new(gitlab.DeveloperPermissions),
	})).ok(t, http.StatusCreated); got.ID != may.ID || got.AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("raised: %+v", got)
	}
	if got := call(g.c.ProjectMembers.EditProjectMember(p.ID, moe.ID, &gitlab.EditProjectMemberOptions{
		AccessLevel: new(gitlab.GuestPermissions),
	})).ok(t, http.StatusOK); got.AccessLevel != gitlab.GuestPermissions {
		t.Errorf("edited: %+v", got)
	}

	act(his.ProjectMembers.DeleteProjectMember(p.ID, moe.ID)).ok(t, http.StatusNoContent)
	call(his.Projects.GetProject(p.ID, nil)).refused(t, http.StatusNotFound, "")
}

func (g goTour) sharingAProject(t *testing.T) {
	lender, guests := g.group(t, "lender", gitlab.PrivateVisibility), g.group(t, "guests", gitlab.PrivateVisibility)
	p := g.project(t, lender, "cart", gitlab.PrivateVisibility)
	una := g.person(t, "una")
	call(g.c.GroupMembers.AddGroupMember(guests.ID, &gitlab.AddGroupMemberOptions{
		UserID: &una.ID, AccessLevel: new(gitlab.MaintainerPermissions),
	})).ok(t, http.StatusCreated)
	hers := g.clientOf(t, una, "api")
	call(hers.Projects.GetProject(p.ID, nil)).refused(t, http.StatusNotFound, "")

	act(g.c.Projects.ShareProjectWithGroup(p.ID, &gitlab.ShareWithGroupOptions{
		GroupID: &guests.ID, GroupAccess: new(gitlab.DeveloperPermissions),
	})).ok(t, http.StatusCreated)
	got := call(hers.Projects.GetProject(p.ID, nil)).ok(t, http.StatusOK)
	if len(got.SharedWithGroups) != 1 || got.SharedWithGroups[0].GroupID != guests.ID || got.SharedWithGroups[0].GroupFullPath != "guests" {
		t.Errorf("shared: %+v", got.SharedWithGroups)
	}
	if got := call(g.c.ProjectMembers.GetInheritedProjectMember(p.ID, una.ID)).ok(t, http.StatusOK); got.AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("through the group: %+v", got)
	}
	texts(t, "shared projects", projectPaths(call(g.c.Groups.ListGroupSharedProjects(guests.ID, nil)).ok(t, http.StatusOK)), "lender/cart")
	act(g.c.Projects.DeleteSharedProjectFromGroup(p.ID, guests.ID)).ok(t, http.StatusNoContent)
	call(hers.Projects.GetProject(p.ID, nil)).refused(t, http.StatusNotFound, "")
}

func (g goTour) invitations(t *testing.T) {
	hall := g.group(t, "hall", gitlab.PrivateVisibility)
	p := g.project(t, hall, "table", gitlab.PrivateVisibility)
	options := &gitlab.InvitesOptions{Email: new("guest@example.org"), AccessLevel: new(gitlab.GuestPermissions)}
	if got := call(g.c.Invites.GroupInvites(hall.ID, options)).ok(t, http.StatusCreated); got.Status != "success" {
		t.Errorf("invited to the group: %+v", got)
	}
	if got := call(g.c.Invites.ProjectInvites(p.ID, options)).ok(t, http.StatusCreated); got.Status != "success" {
		t.Errorf("invited to the project: %+v", got)
	}
	for _, pending := range [][]*gitlab.PendingInvite{
		call(g.c.Invites.ListPendingGroupInvitations(hall.ID, nil)).ok(t, http.StatusOK),
		call(g.c.Invites.ListPendingProjectInvitations(p.ID, nil)).ok(t, http.StatusOK),
	} {
		if len(pending) != 1 || pending[0].InviteEmail != "guest@example.org" || pending[0].AccessLevel != gitlab.GuestPermissions || pending[0].CreatedByName != "Root" {
			t.Errorf("pending: %+v", pending)
		}
	}
}

func (g goTour) accessRequests(t *testing.T) {
	open := call(g.c.Groups.CreateGroup(&gitlab.CreateGroupOptions{
		Name: new("Open"), Path: new("open"), Visibility: new(gitlab.PublicVisibility), RequestAccessEnabled: new(true),
	})).ok(t, http.StatusCreated)
	p := g.project(t, open, "gate", gitlab.PublicVisibility)
	call(g.c.Projects.EditProject(p.ID, &gitlab.EditProjectOptions{RequestAccessEnabled: new(true)})).ok(t, http.StatusOK)
	ken, kim := g.person(t, "ken"), g.person(t, "kim")
	his, hers := g.clientOf(t, ken, "api"), g.clientOf(t, kim, "api")

	if got := call(his.AccessRequests.RequestGroupAccess(open.ID)).ok(t, http.StatusCreated); got.ID != ken.ID || got.RequestedAt == nil {
		t.Errorf("requested: %+v", got)
	}
	call(hers.AccessRequests.RequestGroupAccess(open.ID)).ok(t, http.StatusCreated)
	if got := call(g.c.AccessRequests.ListGroupAccessRequests(open.ID, nil)).ok(t, http.StatusOK); len(got) != 2 {
		t.Errorf("requests: %+v", got)
	}
	if got := call(g.c.AccessRequests.ApproveGroupAccessRequest(open.ID, ken.ID, &gitlab.ApproveAccessRequestOptions{
		AccessLevel: new(gitlab.ReporterPermissions),
	})).ok(t, http.StatusCreated); got.AccessLevel != gitlab.ReporterPermissions {
		t.Errorf("approved: %+v", got)
	}
	act(g.c.AccessRequests.DenyGroupAccessRequest(open.ID, kim.ID)).ok(t, http.StatusNoContent)
	if got := call(g.c.AccessRequests.ListGroupAccessRequests(open.ID, nil)).ok(t, http.StatusOK); len(got) != 0 {
		t.Errorf("requests left: %+v", got)
	}
	if got := call(g.c.GroupMembers.GetGroupMember(open.ID, ken.ID)).ok(t, http.StatusOK); got.AccessLevel != gitlab.ReporterPermissions {
		t.Errorf("member: %+v", got)
	}

	call(hers.AccessRequests.RequestProjectAccess(p.ID)).ok(t, http.StatusCreated)
	call(hers.AccessRequests.ListProjectAccessRequests(p.ID, nil)).refused(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	if got := call(g.c.AccessRequests.ListProjectAccessRequests(p.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].Username != "kim" {
		t.Errorf("requests for the project: %+v", got)
	}
	if got := call(g.c.AccessRequests.ApproveProjectAccessRequest(p.ID, kim.ID, nil)).ok(t, http.StatusCreated); got.AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("approved for the project: %+v", got)
	}
}

func (g goTour) projectAccessTokens(t *testing.T) {
	p := g.project(t, g.group(t, "robots", gitlab.PrivateVisibility), "arm", gitlab.PrivateVisibility)
	day := gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	made := call(g.c.ProjectAccessTokens.CreateProjectAccessToken(p.ID, &gitlab.CreateProjectAccessTokenOptions{
		Name: new("mover"), Scopes: &[]string{"api"}, AccessLevel: new(gitlab.DeveloperPermissions), ExpiresAt: &day,
	})).ok(t, http.StatusCreated)
	g.f.secret(made.Token)
	if made.Name != "mover" || made.Token == "" || made.AccessLevel != gitlab.DeveloperPermissions || made.ExpiresAt.String() != day.String() ||
		!made.Active || made.Revoked || made.UserID == 0 {
		t.Errorf("made: %+v", made)
	}
	texts(t, "scopes", made.Scopes, "api")
	robot := g.f.client(t, made.Token)
	if got := call(robot.Projects.GetProject(p.ID, nil)).ok(t, http.StatusOK); got.ID != p.ID {
		t.Errorf("what the robot sees: %+v", got)
	}
	if got := call(g.c.ProjectMembers.GetProjectMember(p.ID, made.UserID)).ok(t, http.StatusOK); got.AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("the robot is a member: %+v", got)
	}
	if got := call(g.c.ProjectAccessTokens.ListProjectAccessTokens(p.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != made.ID || got[0].Token != "" {
		t.Errorf("tokens: %+v", got)
	}
	if got := call(g.c.ProjectAccessTokens.GetProjectAccessToken(p.ID, made.ID)).ok(t, http.StatusOK); got.ID != made.ID || got.Token != "" {
		t.Errorf("one: %+v", got)
	}
	rotated := call(g.c.ProjectAccessTokens.RotateProjectAccessToken(p.ID, made.ID, &gitlab.RotateProjectAccessTokenOptions{ExpiresAt: &day})).ok(t, http.StatusOK)
	next := g.f.client(t, g.f.secret(rotated.Token))
	if rotated.Token == made.Token || rotated.ID == made.ID || rotated.UserID != made.UserID {
		t.Errorf("rotated: %+v", rotated)
	}
	call(robot.Projects.GetProject(p.ID, nil)).refused(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
	call(next.Projects.GetProject(p.ID, nil)).ok(t, http.StatusOK)
	act(g.c.ProjectAccessTokens.RevokeProjectAccessToken(p.ID, rotated.ID)).ok(t, http.StatusNoContent)
	call(next.Projects.GetProject(p.ID, nil)).refused(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
}

func (g goTour) groupAccessTokens(t *testing.T) {
	swarm := g.group(t, "swarm", gitlab.PrivateVisibility)
	p := g.project(t, swarm, "hive", gitlab.PrivateVisibility)
	day := gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	made := call(g.c.GroupAccessTokens.CreateGroupAccessToken(swarm.ID, &gitlab.CreateGroupAccessTokenOptions{
		Name: new("queen"), Scopes: &[]string{"read_api"}, AccessLevel: new(gitlab.ReporterPermissions), ExpiresAt: &day,
	})).ok(t, http.StatusCreated)
	robot := g.f.client(t, g.f.secret(made.Token))
	if made.AccessLevel != gitlab.ReporterPermissions {
		t.Errorf("made: %+v", made)
	}
	call(robot.Projects.GetProject(p.ID, nil)).ok(t, http.StatusOK)
	if got := call(g.c.GroupAccessTokens.ListGroupAccessTokens(swarm.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != made.ID {
		t.Errorf("tokens: %+v", got)
	}
	rotated := call(g.c.GroupAccessTokens.RotateGroupAccessToken(swarm.ID, made.ID, nil)).ok(t, http.StatusOK)
	next := g.f.client(t, g.f.secret(rotated.Token))
	call(next.Groups.GetGroup(swarm.ID, nil)).ok(t, http.StatusOK)
	act(g.c.GroupAccessTokens.RevokeGroupAccessToken(swarm.ID, rotated.ID)).ok(t, http.StatusNoContent)
	call(next.Groups.GetGroup(swarm.ID, nil)).refused(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
}

func (g goTour) planning(t *testing.T) {
	yard := g.group(t, "yard", gitlab.PrivateVisibility)
	p := g.project(t, yard, "shed", gitlab.PrivateVisibility)
	bug := call(g.c.Labels.CreateLabel(p.ID, &gitlab.CreateLabelOptions{Name: new("a bug/1"), Color: new("red"), Priority: new(int64(2))})).ok(t, http.StatusCreated)
	if bug.Color != "#FF0000" || bug.Priority != 2 || !bug.IsProjectLabel {
		t.Errorf("label: %+v", bug)
	}
	if got := call(g.c.Labels.UpdateLabel(p.ID, "a bug/1", &gitlab.UpdateLabelOptions{NewName: new("bug")})).ok(t, http.StatusOK); got.Name != "bug" || got.ID != bug.ID {
		t.Errorf("renamed: %+v", got)
	}
	if got := call(g.c.Labels.SubscribeToLabel(p.ID, bug.ID)).ok(t, http.StatusCreated); !got.Subscribed {
		t.Errorf("subscribed: %+v", got)
	}
	act(g.c.Labels.PromoteLabel(p.ID, "bug")).ok(t, http.StatusOK)
	if got := call(g.c.GroupLabels.ListGroupLabels(yard.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].Name != "bug" || !got[0].Subscribed {
		t.Errorf("labels of the group: %+v", got)
	}
	act(g.c.Labels.DeleteLabel(p.ID, "bug", nil)).ok(t, http.StatusNoContent)
	due := gitlab.ISOTime(time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC))
	first := call(g.c.Milestones.CreateMilestone(p.ID, &gitlab.CreateMilestoneOptions{Title: new("1.0"), DueDate: &due})).ok(t, http.StatusCreated)
	if first.IID != 1 || first.ProjectID != p.ID || first.DueDate == nil || first.DueDate.String() != "2030-01-02" || first.State != "active" {
		t.Errorf("milestone: %+v", first)
	}
	if got := call(g.c.Milestones.UpdateMilestone(p.ID, first.ID, &gitlab.UpdateMilestoneOptions{StateEvent: new("close")})).ok(t, http.StatusOK); got.State != "closed" {
		t.Errorf("closed: %+v", got)
	}
	act(g.c.Milestones.DeleteMilestone(p.ID, first.ID)).ok(t, http.StatusNoContent)
	badge := call(g.c.ProjectBadges.AddProjectBadge(p.ID, &gitlab.AddProjectBadgeOptions{
		LinkURL: new("https://example.com/%{project_path}"), ImageURL: new("https://example.com/x.svg"), Name: new("docs"),
	})).ok(t, http.StatusCreated)
	if badge.RenderedLinkURL != "https://example.com/yard/shed" || badge.Kind != "project" || badge.Name != "docs" {
		t.Errorf("badge: %+v", badge)
	}
	act(g.c.ProjectBadges.DeleteProjectBadge(p.ID, badge.ID)).ok(t, http.StatusNoContent)
}

func (g goTour) issues(t *testing.T) {
	loft := g.group(t, "loft", gitlab.PrivateVisibility)
	p, other := g.project(t, loft, "roof", gitlab.PrivateVisibility), g.project(t, loft, "floor", gitlab.PrivateVisibility)
	due := gitlab.ISOTime(time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC))
	leak := call(g.c.Issues.CreateIssue(p.ID, &gitlab.CreateIssueOptions{
		Title: new("A leak"), Description: new("- [x] find it\n- [ ] mend it"), Labels: &gitlab.LabelOptions{"wet", "urgent"}, DueDate: &due, Confidential: new(true), AssigneeIDs: &[]int64{1},
	})).ok(t, http.StatusCreated)
	if leak.IID != 1 || leak.State != "opened" || !slices.Equal(leak.Labels, gitlab.Labels{"urgent", "wet"}) || len(leak.Assignees) != 1 || leak.DueDate.String() != "2030-01-02" ||
		leak.TaskCompletionStatus.Count != 2 || leak.References.Full != "loft/roof#1" || !leak.Subscribed || !leak.Confidential {
		t.Errorf("issue: %+v", leak)
	}
	if got := call(g.c.Issues.UpdateIssue(p.ID, leak.IID, &gitlab.UpdateIssueOptions{
		StateEvent: new("close"), RemoveLabels: &gitlab.LabelOptions{"wet"}, AddLabels: &gitlab.LabelOptions{"dry"},
	})).ok(t, http.StatusOK); got.State != "closed" || got.ClosedBy == nil || !slices.Equal(got.Labels, gitlab.Labels{"dry", "urgent"}) {
		t.Errorf("closed: %+v", got)
	}
	tile := call(g.c.Issues.CreateIssue(p.ID, &gitlab.CreateIssueOptions{Title: new("A tile")})).ok(t, http.StatusCreated)
	for name, got := range map[string][]*gitlab.Issue{
		"of the project": call(g.c.Issues.ListProjectIssues(p.ID, &gitlab.ListProjectIssuesOptions{State: new("closed"), Labels: &gitlab.LabelOptions{"dry"}})).ok(t, http.StatusOK),
		"of the group":   call(g.c.Issues.ListGroupIssues(loft.ID, &gitlab.ListGroupIssuesOptions{Search: new("leak"), WithLabelDetails: new(true)})).ok(t, http.StatusOK),
		"of everything":  call(g.c.Issues.ListIssues(&gitlab.ListIssuesOptions{Scope: new("assigned_to_me"), IIDs: &[]int64{leak.IID}})).ok(t, http.StatusOK),
	} {
		if len(got) != 1 || got[0].ID != leak.ID {
			t.Errorf("%s: %+v", name, got)
		}
	}
	link := call(g.c.IssueLinks.CreateIssueLink(p.ID, leak.IID, &gitlab.CreateIssueLinkOptions{
		TargetProjectID: new(strconv.FormatInt(p.ID, 10)), TargetIssueIID: new(strconv.FormatInt(tile.IID, 10)),
	})).ok(t, http.StatusCreated)
	if got := call(g.c.IssueLinks.ListIssueRelations(p.ID, leak.IID)).ok(t, http.StatusOK); len(got) != 1 || got[0].IssueLinkID != link.ID || got[0].ID != tile.ID {
		t.Errorf("linked: %+v", got)
	}
	call(g.c.IssueLinks.DeleteIssueLink(p.ID, leak.IID, link.ID)).ok(t, http.StatusOK)
	if got := call(g.c.Issues.AddSpentTime(p.ID, leak.IID, &gitlab.AddSpentTimeOptions{Duration: new("1h 30m")})).ok(t, http.StatusCreated); got.TotalTimeSpent != 5400 || got.HumanTotalTimeSpent != "1h 30m" {
		t.Errorf("spent: %+v", got)
	}
	g.notes(t, p.ID, leak.IID)
	g.boards(t, loft.ID, p.ID)
	g.todos(t, p.ID, leak.IID)
	moved := call(g.c.Issues.MoveIssue(p.ID, leak.IID, &gitlab.MoveIssueOptions{ToProjectID: &other.ID})).ok(t, http.StatusCreated)
	if got := call(g.c.Issues.GetIssue(p.ID, leak.IID)).ok(t, http.StatusOK); got.MovedToID != moved.ID || moved.ProjectID != other.ID {
		t.Errorf("moved: %+v to %+v", got, moved)
	}
	call(g.c.Issues.UnsubscribeFromIssue(other.ID, moved.IID)).ok(t, http.StatusCreated)
	act(g.c.Issues.DeleteIssue(other.ID, moved.IID)).ok(t, http.StatusNoContent)
}

func (g goTour) deployTokens(t *testing.T) {
	dock := g.group(t, "dock", gitlab.PrivateVisibility)
	p := g.project(t, dock, "crane", gitlab.PrivateVisibility)
	expiry := time.Now().UTC().AddDate(0, 1, 0).Truncate(time.Second)
	made := call(g.c.DeployTokens.CreateProjectDeployToken(p.ID, &gitlab.CreateProjectDeployTokenOptions{
		Name: new("puller"), ExpiresAt: &expiry, Username: new("docker"), Scopes: &[]string{"read_repository", "read_registry"},
	})).ok(t, http.StatusCreated)
	g.f.secret(made.Token)
	if made.Name != "puller" || made.Username != "docker" || made.Token == "" || made.Revoked || made.Expired || made.ExpiresAt == nil || !made.ExpiresAt.Equal(expiry) {
		t.Errorf("made: %+v", made)
	}
	texts(t, "scopes", made.Scopes, "read_repository", "read_registry")
	if got := call(g.c.DeployTokens.ListProjectDeployTokens(p.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != made.ID || got[0].Token != "" {
		t.Errorf("tokens: %+v", got)
	}
	if got := call(g.c.DeployTokens.GetProjectDeployToken(p.ID, made.ID)).ok(t, http.StatusOK); got.Name != "puller" {
		t.Errorf("one: %+v", got)
	}
	wide := call(g.c.DeployTokens.CreateGroupDeployToken(dock.ID, &gitlab.CreateGroupDeployTokenOptions{
		Name: new("wide"), Scopes: &[]string{"read_registry"},
	})).ok(t, http.StatusCreated)
	g.f.secret(wide.Token)
	if got := call(g.c.DeployTokens.ListGroupDeployTokens(dock.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != wide.ID {
		t.Errorf("tokens of the group: %+v", got)
	}
	if got := call(g.c.DeployTokens.ListAllDeployTokens()).ok(t, http.StatusOK); len(got) != 2 {
		t.Errorf("all tokens: %+v", got)
	}
	act(g.c.DeployTokens.DeleteProjectDeployToken(p.ID, made.ID)).ok(t, http.StatusNoContent)
	call(g.c.DeployTokens.GetProjectDeployToken(p.ID, made.ID)).refused(t, http.StatusNotFound, "")
	act(g.c.DeployTokens.DeleteGroupDeployToken(dock.ID, wide.ID)).ok(t, http.StatusNoContent)
}

func (g goTour) namespaces(t *testing.T) {
	town := g.group(t, "township", gitlab.PrivateVisibility)
	nia := g.person(t, "nia")
	hers := g.clientOf(t, nia, "api")
	paths := func(all []*gitlab.Namespace) (paths []string) {
		for _, one := range all {
			paths = append(paths, one.Kind+" "+one.FullPath)
		}
		return paths
	}
	texts(t, "nia's", paths(call(hers.Namespaces.ListNamespaces(nil)).ok(t, http.StatusOK)), "user nia")
	texts(t, "found", paths(call(g.c.Namespaces.SearchNamespace("township")).ok(t, http.StatusOK)), "group township")
	for _, ref := range []any{town.ID, "township"} {
		if got := call(g.c.Namespaces.GetNamespace(ref)).ok(t, http.StatusOK); got.ID != town.ID || got.Kind != "group" || got.Name != "The township" {
			t.Errorf("by %v: %+v", ref, got)
		}
	}
	call(hers.Namespaces.GetNamespace(town.ID)).refused(t, http.StatusNotFound, "")
	if got := call(g.c.Namespaces.NamespaceExists("township", nil)).ok(t, http.StatusOK); !got.Exists || len(got.Suggests) == 0 {
		t.Errorf("exists: %+v", got)
	}
}

func (g goTour) removal(t *testing.T) {
	gone := g.group(t, "gone", gitlab.PrivateVisibility)
	sub := g.subgroup(t, gone, "below")
	p, q := g.project(t, gone, "one", gitlab.PrivateVisibility), g.project(t, sub, "two", gitlab.PrivateVisibility)
	act(g.c.Projects.DeleteProject(p.ID, nil)).ok(t, http.StatusAccepted)
	call(g.c.Projects.GetProject(p.ID, nil)).refused(t, http.StatusNotFound, "")
	act(g.c.Groups.DeleteGroup(gone.ID, nil)).ok(t, http.StatusAccepted)
	for _, ref := range []any{gone.ID, sub.ID, "gone/below"} {
		call(g.c.Groups.GetGroup(ref, nil)).refused(t, http.StatusNotFound, "")
	}
	call(g.c.Projects.GetProject(q.ID, nil)).refused(t, http.StatusNotFound, "")
}

// notes says something about an issue that has been closed and given labels.
func (g goTour) notes(t *testing.T, project, iid int64) {
	note := call(g.c.Notes.CreateIssueNote(project, iid, &gitlab.CreateIssueNoteOptions{Body: new("It drips."), Internal: new(true)})).ok(t, http.StatusCreated)
	if note.Body != "It drips." || !note.Internal || note.NoteableType != "Issue" || note.NoteableIID != iid || note.System {
		t.Errorf("note: %+v", note)
	}
	if got := call(g.c.Notes.UpdateIssueNote(project, iid, note.ID, &gitlab.UpdateIssueNoteOptions{Body: new("It pours.")})).ok(t, http.StatusOK); got.Body != "It pours." {
		t.Errorf("changed: %+v", got)
	}
	begun := call(g.c.Discussions.CreateIssueDiscussion(project, iid, &gitlab.CreateIssueDiscussionOptions{Body: new("Why?")})).ok(t, http.StatusCreated)
	reply := call(g.c.Discussions.AddIssueDiscussionNote(project, iid, begun.ID, &gitlab.AddIssueDiscussionNoteOptions{Body: new("Rain.")})).ok(t, http.StatusCreated)
	if got := call(g.c.Discussions.GetIssueDiscussion(project, iid, begun.ID)).ok(t, http.StatusOK); got.IndividualNote || len(got.Notes) != 2 || got.Notes[1].ID != reply.ID {
		t.Errorf("discussion: %+v", got)
	}
	award := call(g.c.AwardEmoji.CreateIssuesAwardEmojiOnNote(project, iid, note.ID, &gitlab.CreateAwardEmojiOptions{Name: "+1"})).ok(t, http.StatusCreated)
	if award.Name != "thumbsup" || award.AwardableType != "Note" || award.AwardableID != note.ID {
		t.Errorf("emoji: %+v", award)
	}
	act(g.c.AwardEmoji.DeleteIssuesAwardEmojiOnNote(project, iid, note.ID, award.ID)).ok(t, http.StatusNoContent)
	if got := call(g.c.ResourceLabelEvents.ListIssueLabelEvents(project, iid, nil)).ok(t, http.StatusOK); len(got) != 4 || got[2].Label.Name != "dry" || got[3].Action != "remove" {
		t.Errorf("labels: %+v", got)
	}
	if got := call(g.c.ResourceStateEvents.ListIssueStateEvents(project, iid, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].State != gitlab.ClosedEventType {
		t.Errorf("states: %+v", got)
	}
	if got := call(g.c.Notes.ListIssueNotes(project, iid, &gitlab.ListIssueNotesOptions{Sort: new("asc")})).ok(t, http.StatusOK); len(got) < 4 || !got[0].System {
		t.Errorf("notes: %+v", got)
	}
	act(g.c.Notes.DeleteIssueNote(project, iid, note.ID)).ok(t, http.StatusNoContent)
}

// boards sorts the issues of a project, and those of its group.
func (g goTour) boards(t *testing.T, group, project int64) {
	b := call(g.c.Boards.CreateIssueBoard(project, &gitlab.CreateIssueBoardOptions{Name: new("Repairs")})).ok(t, http.StatusCreated)
	if b.Name != "Repairs" || b.Project == nil || b.Project.ID != project || len(b.Lists) != 0 {
		t.Errorf("board: %+v", b)
	}
	if got := call(g.c.Boards.UpdateIssueBoard(project, b.ID, &gitlab.UpdateIssueBoardOptions{Name: new("Mending"), HideClosedList: new(true)})).ok(t, http.StatusOK); got.Name != "Mending" || !got.HideClosedList {
		t.Errorf("changed: %+v", got)
	}
	var lists []*gitlab.BoardList
	for _, name := range []string{"dry", "urgent"} {
		l := call(g.c.Labels.GetLabel(project, name)).ok(t, http.StatusOK)
		lists = append(lists, call(g.c.Boards.CreateIssueBoardList(project, b.ID, &gitlab.CreateIssueBoardListOptions{LabelID: &l.ID})).ok(t, http.StatusCreated))
	}
	call(g.c.Boards.CreateIssueBoardList(project, b.ID, &gitlab.CreateIssueBoardListOptions{LabelID: &lists[0].Label.ID})).refused(t, http.StatusBadRequest, `{"message":{"error":"Label has already been taken"}}`)
	if got := call(g.c.Boards.UpdateIssueBoardList(project, b.ID, lists[1].ID, &gitlab.UpdateIssueBoardListOptions{Position: new(int64(0))})).ok(t, http.StatusOK); got.Position != 0 {
		t.Errorf("moved: %+v", got)
	}
	if got := call(g.c.Boards.GetIssueBoard(project, b.ID)).ok(t, http.StatusOK); len(got.Lists) != 2 || got.Lists[0].Label.Name != "urgent" || got.Lists[1].Position != 1 {
		t.Errorf("lists: %+v", got)
	}
	act(g.c.Boards.DeleteIssueBoardList(project, b.ID, lists[1].ID)).ok(t, http.StatusNoContent)
	above := call(g.c.GroupIssueBoards.CreateGroupIssueBoard(group, &gitlab.CreateGroupIssueBoardOptions{Name: new("Above")})).ok(t, http.StatusCreated)
	if got := call(g.c.GroupIssueBoards.ListGroupIssueBoards(group, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != above.ID || got[0].Group.ID != group {
		t.Errorf("of the group: %+v", got)
	}
	act(g.c.GroupIssueBoards.DeleteIssueBoard(group, above.ID)).ok(t, http.StatusNoContent)
	act(g.c.Boards.DeleteIssueBoard(project, b.ID)).ok(t, http.StatusNoContent)
	call(g.c.Boards.GetIssueBoard(project, b.ID)).refused(t, http.StatusNotFound, "404 Not found")
}

// todos marks an issue and is done with it.
func (g goTour) todos(t *testing.T, project, iid int64) {
	todo := call(g.c.Issues.CreateTodo(project, iid)).ok(t, http.StatusCreated)
	if todo.ActionName != gitlab.TodoMarked || todo.TargetType != "Issue" || todo.Target.IID != iid || todo.State != "pending" {
		t.Errorf("to-do: %+v", todo)
	}
	if got := call(g.c.Todos.ListTodos(&gitlab.ListTodosOptions{ProjectID: &project})).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != todo.ID {
		t.Errorf("to-dos: %+v", got)
	}
	act(g.c.Todos.MarkTodoAsDone(todo.ID)).ok(t, http.StatusCreated)
	act(g.c.Todos.MarkAllTodosAsDone()).ok(t, http.StatusNoContent)
	if got := call(g.c.Todos.ListTodos(&gitlab.ListTodosOptions{State: new("done")})).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != todo.ID {
		t.Errorf("done: %+v", got)
	}
	if got := call(g.c.Issues.GetParticipants(project, iid)).ok(t, http.StatusOK); len(got) == 0 || got[0].Username == "" {
		t.Errorf("participants: %+v", got)
	}
}
