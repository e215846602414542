package crowd

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Months is over how many months Happen spreads events.
const Months = 36

// Happen fills a database that Settle and Plan filled with events of activity and of the audit trail, evenly over the Months that end at the beginning
// of a month. Every other event of activity is in the first project, one in ten is by the first person; they are about the issues and notes that there
// are, and six in ten are pushes. Of the audit trail a tenth is about the first project, a tenth about the first group, and the rest about others.
func Happen(ctx context.Context, url string, end time.Time, events, audits, issues, projects int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// Seals are made of what was written, and lists do not read them.
	if err := run(ctx, conn, `alter table audit_events disable trigger audit_events_unsealed`); err != nil {
		return err
	}
	for m := range Months {
		from := end.AddDate(0, m-Months, 0)
		to, day := from.AddDate(0, 1, 0), from.Format(time.DateOnly)
		if err := run(ctx, conn, fmt.Sprintf(`create table if not exists events_%s partition of events for values from ('%s') to ('%s')`,
			from.Format("200601"), from.Format(time.RFC3339), to.Format(time.RFC3339)), fmt.Sprintf(`select make_audit_month('%s')`, day)); err != nil {
			return err
		}
		length := to.Sub(from).Microseconds()
		if _, err := conn.Exec(ctx, insertEvents, events/Months, from, length, issues, projects, m*(events/Months)); err != nil {
			return fmt.Errorf("events of %s: %w", day, err)
		}
		if _, err := conn.Exec(ctx, insertAudits, audits/Months, from, length, projects, m*(audits/Months)); err != nil {
			return fmt.Errorf("audit events of %s: %w", day, err)
		}
	}
	return run(ctx, conn, `alter table audit_events enable trigger audit_events_unsealed`,
		`select setval('events_id_seq', (select max(id) + 1 from events)), setval('audit_events_id_seq', (select max(id) + 1 from audit_events))`,
		`vacuum (freeze, analyze) events, audit_events`)
}

const (
	insertEvents = `
insert into events (id, created_at, author_id, project_id, action, target_type, target_id, push_action, ref_type, commit_count, commit_from, commit_to, ref, title)
select $6::bigint + e, $2::timestamptz + (e - 1) * ($3::bigint / $1::bigint) * interval '1 microsecond',
	(select min(id) from users) + case when e % 10 = 0 then 0 else n % 100 end, case when n % 2 = 1 then 1 else 1 + (n / 2) % $5::bigint end,
	case when k < 6 then 'pushed' when k < 8 then 'commented' else 'created' end,
	case when k < 6 then null when k < 8 then 'Note' else 'Issue' end, case when k >= 6 then n end,
	case when k < 6 then 'pushed' end, case when k < 6 then 'branch' end, case when k < 6 then 1 + e % 5 end,
	case when k < 6 then decode(md5(e::text) || '00000000', 'hex') end, case when k < 6 then decode(md5((e + 1)::text) || '00000000', 'hex') end,
	case when k < 6 then 'main' end, case when k < 6 then 'Change part ' || e end
from (select e, 1 + (e * 48271 + $6::bigint) % $4::bigint as n, (e / 7 + $6::bigint / $1::bigint) % 10 as k from generate_series(1, $1::bigint) e) happened`

	insertAudits = `
insert into audit_events (id, created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type, target_id, target_details,
	ip_address, details, mac)
select $5::bigint + e, $2::timestamptz + (e - 1) * ($3::bigint / $1::bigint) * interval '1 microsecond',
	(array['user_logged_in', 'member_created', 'project_name_updated', 'protected_branch_created', 'deploy_key_added'])[1 + e % 5],
	(select min(id) from users) + e % 100, 'Somebody', kind,
	case kind when 'Project' then case when e % 10 = 0 then 1 else 1 + e % $4::bigint end when 'Group' then (select namespace_id from projects where id = 1)
		when 'User' then (select min(id) from users) + e % 100 else 1 end,
	'some/where', 'User', 1, 'what was changed', '127.0.0.1', '{"change": "name", "from": "one", "to": "other"}', decode(repeat('00', 32), 'hex')
from (select e, case when e % 10 < 6 then 'Project' when e % 10 = 6 then 'Group' when e % 10 < 9 then 'User' else 'Instance' end as kind
	from generate_series(1, $1::bigint) e) happened`
)
