package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go"

	"stithy/internal/platform/postgres"
)

// planners are people who create and change issues on both nodes, as fast as they can.
type planners struct {
	*pair
	project int64
	bob     int64
	stop    chan struct{}
	begun   atomic.Int64

	variables atomic.Int64 // that were acknowledged

	mu           sync.Mutex
	acknowledged map[int64]string // iid to title
	progress     chan struct{}    // one for each issue that was acknowledged
}

// Two nodes die again and again while sixteen people create and change issues. The numbers of the issues have no gaps and no doubles, what was acknowledged
// is there, and what follows from a change (system notes, events, to-dos, activity, mails, the audit trail) is there exactly when the change is.
func TestIssuesAreNumberedWithoutGapsAndChangeWholeWhileNodesDie(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("STITHY_TEST_ISSUE_KILLS"), "4"))
	if err != nil {
		t.Fatal(err)
	}
	const hands, wanted, between = 16, 200, 12
	p := startPlanners(t)
	var group sync.WaitGroup
	for hand := range hands {
		group.Go(func() { p.work(t.Context(), hand) })
	}
	for kill := range kills {
		p.await(t, between)
		p.nodes[kill%2].kill()
		p.nodes[kill%2] = p.serve("STITHY_LISTEN=" + p.address(kill%2))
	}
	p.await(t, max(0, wanted-kills*between))
	close(p.stop)
	group.Wait()

	db, err := postgres.Open(t.Context(), p.database(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	numbers, err := postgres.One[struct{ All, Distinct, Highest int64 }](t.Context(), db,
		`select count(*) as all, count(distinct iid) as distinct, max(iid) as highest from issues where project_id = $1`, p.project)
	if err != nil || numbers.All != numbers.Distinct || numbers.All != numbers.Highest {
		t.Errorf("the numbers have gaps or doubles: %+v %v", numbers, err)
	}
	if numbers.All < int64(len(p.acknowledged)) || numbers.All > p.begun.Load()+1 {
		t.Errorf("%d issues, %d were acknowledged and %d asked for", numbers.All, len(p.acknowledged), p.begun.Load())
	}
	titles := map[int64]string{}
	rows, err := postgres.All[struct {
		IID   int64
		Title string
	}](t.Context(), db, `select iid, split_part(title, ', ', 1) as title from issues where project_id = $1`, p.project)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		titles[r.IID] = r.Title
	}
	for iid, title := range p.acknowledged {
		if titles[iid] != title {
			t.Errorf("#%d was acknowledged as %q and is %q", iid, title, titles[iid])
		}
	}
	for what, broken := range map[string]string{
		"a title without its note, or the reverse":       `(i.title like '%, changed') <> ((select count(*) from notes n where n.issue_id = i.id and n.system and n.body like 'changed title%') = 1)`,
		"a state without its event, or the reverse":      `(i.closed_at is not null) <> ((select count(*) from resource_events e where e.issue_id = i.id and e.kind = 'state' and e.action = 'closed') = 1)`,
		"a label without its event, or the reverse":      `(select count(*) from issue_labels l where l.issue_id = i.id) <> (select count(*) from resource_events e where e.issue_id = i.id and e.kind = 'label')`,
		"an assignee without a to-do, or the reverse":    `(select count(*) from issue_assignees a where a.issue_id = i.id) <> (select count(*) from todos d where d.issue_id = i.id and d.action = 'assigned')`,
		"a mention without a to-do, or the reverse":      `(select count(*) from todos d where d.issue_id = i.id and d.action in ('mentioned', 'directly_addressed')) <> 1`,
		"a comment that is not counted, or the reverse":  `i.notes_count <> (select count(*) from notes n where n.issue_id = i.id and not n.system)`,
		"a reference that is not noted, or the reverse":  `(select count(*) from notes n where n.refers_to_id = i.id) <> 1`,
		"a change without the time of the last change":   `i.title like '%, changed' and i.updated_at = i.created_at`,
		"an issue without its activity, or the reverse":  `coalesce(h.made, 0) <> 1`,
		"a closing without its activity, or the reverse": `coalesce(h.closed, 0) <> (i.closed_at is not null)::int`,
		"a comment without its activity, or the reverse": `coalesce(c.said, 0) <> i.notes_count`,
		"an issue without its mail, or the reverse":      `1 <> ` + mailed("new_issue"),
		"a closing without its mail, or the reverse":     `(i.closed_at is not null)::int <> ` + mailed("close_issue"),
		"a comment without its mail, or the reverse":     `i.notes_count <> ` + mailed("new_note"),
		"a mail whose readers no job will look for":      `exists (select 1 from mail_events m where m.issue_id = i.id and ` + forgotten + `)`,
	} {
		found, err := postgres.Values[int64](t.Context(), db, withActivity+`select iid from issues i left join happened h on h.id = i.id left join commented c on c.id = i.id
			where i.iid > 1 and `+broken+` order by iid limit 5`)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", what, found, err)
		}
	}
	variables, err := postgres.One[struct{ All, Written, Alone int64 }](t.Context(), db, `
		select count(*) as all, count(*) filter (where (select count(*) from audit_events e where e.event_type = 'ci_variable_created' and e.target_details = v.key) = 1) as written,
			(select count(*) from audit_events e where e.event_type = 'ci_variable_created' and not exists (select 1 from variables v where v.key = e.target_details)) as alone
		from variables v where v.project_id = $1`, p.project)
	if err != nil || variables.All < p.variables.Load() || variables.All == 0 || variables.Written != variables.All || variables.Alone != 0 {
		t.Errorf("of variables, with their place in the audit trail: %+v, acknowledged %d, %v", variables, p.variables.Load(), err)
	}
	t.Logf("%d variables, %d acknowledged", variables.All, p.variables.Load())
	t.Logf("%d kills, %d issues, %d acknowledged, %d asked for", kills, numbers.All, len(p.acknowledged), p.begun.Load())
}

// withActivity counts what happened to issues.
const withActivity = `with happened as materialized (
	select target_id as id, count(*) filter (where action = 'created') as made, count(*) filter (where action = 'closed') as closed
	from events where target_type = 'Issue' group by target_id),
commented as materialized (
	select n.issue_id as id, count(*) as said from events e join notes n on n.id = e.target_id where e.target_type = 'Note' and e.action = 'commented' group by n.issue_id) `

// mailed is how many mails about an event of an issue wait for bob, or for a job that finds whom to tell. None is sent: the mail server is away.
func mailed(event string) string {
	return fmt.Sprintf(`((select count(*) from mail_events m where m.issue_id = i.id and m.event = '%[1]s' and m.everyone) +
		(select count(*) from mails m where m.thread = 'issue' and m.thread_id = i.id and m.event = '%[1]s' and m.user_id = (select id from users where username = 'bob')))`, event)
}

// forgotten is the condition that no job knows of what is to be mailed.
const forgotten = `not exists (select 1 from river_job j where j.kind = 'notification_spread' and (j.args ->> 'event_id')::bigint = m.id)`

func startPlanners(t *testing.T) *planners {
	p := &planners{pair: startPair(t, "STITHY_SMTP_URL=smtp://"+freeAddress(t)), stop: make(chan struct{}), acknowledged: map[int64]string{}, progress: make(chan struct{}, 1<<16)}
	c := p.on(t, 0, p.token)
	call(c.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{IssuesCreateLimit: new(int64(0)), NotesCreateLimit: new(int64(0))})).ok(t, http.StatusOK)
	for _, name := range []string{"bob", "carol"} {
		u := call(c.Users.CreateUser(&gitlab.CreateUserOptions{
			Username: &name, Name: &name, Email: new(name + "@example.com"), ForceRandomPassword: new(true), SkipConfirmation: new(true),
		})).ok(t, http.StatusCreated)
		if name == "bob" {
			p.bob = u.ID
		}
	}
	made := call(c.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Plans"), Visibility: new(gitlab.PublicVisibility)})).ok(t, http.StatusCreated)
	p.project = made.ID
	call(c.ProjectMembers.AddProjectMember(p.project, &gitlab.AddProjectMemberOptions{UserID: p.bob, AccessLevel: new(gitlab.DeveloperPermissions)})).ok(t, http.StatusCreated)
	call(c.Issues.CreateIssue(p.project, &gitlab.CreateIssueOptions{Title: new("What others name")})).ok(t, http.StatusCreated)
	return p
}

func (p *planners) address(node int) string { return p.nodes[node].url[len("http://"):] }

// await waits until so many more issues were acknowledged.
func (p *planners) await(t *testing.T, issues int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	for range issues {
		select {
		case <-p.progress:
		case <-ctx.Done():
			t.Fatal("nobody gets ahead")
		}
	}
}

// work creates issues and changes each, first on one node and then on the other, whatever becomes of them.
func (p *planners) work(ctx context.Context, hand int) {
	clients := [2]*gitlab.Client{p.on(p.t, 0, p.token), p.on(p.t, 1, p.token)}
	for n, last := 0, int64(1); ; n++ {
		select {
		case <-p.stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		title := fmt.Sprintf("issue %d of %d", n, hand)
		p.begun.Add(1)
		i, _, err := clients[(n+hand)%2].Issues.CreateIssue(p.project, &gitlab.CreateIssueOptions{
			Title: &title, Description: new(fmt.Sprintf("Ask @carol, for #%d.", last)), AssigneeIDs: &[]int64{p.bob}, Labels: &gitlab.LabelOptions{"first"},
		}, gitlab.WithContext(ctx))
		if err != nil {
			continue
		}
		last = i.IID
		p.mu.Lock()
		p.acknowledged[i.IID] = title
		p.mu.Unlock()
		p.progress <- struct{}{}
		if n%4 == 0 {
			if _, _, err := clients[(n+hand)%2].ProjectVariables.CreateVariable(p.project, &gitlab.CreateProjectVariableOptions{
				Key: new(fmt.Sprintf("V_%d_%d", hand, n)), Value: new("x"),
			}, gitlab.WithContext(ctx)); err == nil {
				p.variables.Add(1)
			}
		}
		_, _, _ = clients[(n+hand+1)%2].Issues.UpdateIssue(p.project, i.IID, &gitlab.UpdateIssueOptions{
			Title: new(title + ", changed"), StateEvent: new("close"), AddLabels: &gitlab.LabelOptions{"second"},
		}, gitlab.WithContext(ctx))
		_, _, _ = clients[(n+hand)%2].Notes.CreateIssueNote(p.project, i.IID, &gitlab.CreateIssueNoteOptions{Body: new("Done.")}, gitlab.WithContext(ctx))
	}
}
