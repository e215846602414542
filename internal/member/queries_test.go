package member

import (
	"strings"
	"testing"
	"time"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestEveryQueryIsUnderstood(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for name, sql := range map[string]string{
		"lock_group": sqlLockGroup, "lock": sqlLock, "lock_request": sqlLockRequest, "insert": sqlInsert, "update": sqlUpdate,
		"delete": sqlDelete, "make_room": sqlMakeRoom, "expired_member": sqlExpiredMember, "inherited": sqlInherited,
		"other_owner": sqlOtherOwner, "above": sqlAbove, "delete_in_groups": sqlDeleteInGroups, "delete_in_projects": sqlDeleteInProjects,
		"list": sqlList, "count": sqlCount, "one": sqlOne, "insert_invitation": sqlInsertInvitation,
		"lock_invitation": sqlLockInvitation, "update_invitation": sqlUpdateInvitation, "expired_invitation": sqlExpiredInvitation,
		"share": sqlShare, "expired_share": sqlExpiredShare, "unshare": sqlUnshare, "expired": sqlExpired, "delete_rows": sqlDeleteRows,
		"expired_shares": sqlExpiredShares, "delete_shares": sqlDeleteShares,
	} {
		if _, err := tx.Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPageOfMembersReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	_, err := tx.Exec(t.Context(), `
insert into users (id, username, name, email, projects_limit, created_at, updated_at)
	select 1000000 + i, 'crowd' || i, 'x', 'crowd' || i || '@example.com', 0, now(), now() from generate_series(1, 20000) i;
insert into namespaces (id, kind, parent_id, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
	values (1000001, 'group', null, array[1000001], 'n', 'n', 'n', 'n', 0, now(), now()),
		(1000002, 'group', 1000001, array[1000001, 1000002], 'n', 'n', 'n', 'n', 0, now(), now());
insert into members (namespace_id, user_id, access_level, created_at, updated_at)
	select n, 1000000 + i, 30, now(), now() from generate_series(1, 20000) i, unnest(array[1000001, 1000002]) n;
analyze users, namespaces, members`)
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]struct {
		sql  string
		args []any
	}{
		"list": {sqlList, []any{"", "", 0, nil, []int64{}, 21, 21, 0}},
		"one":  {sqlOne, []any{1_010_000}},
	} {
		args := append([]any{int64(1_000_002), time.Now(), nil, true, 0}, q.args...)
		plan, err := postgres.Values[string](t.Context(), tx, `explain (analyze, timing off) `+q.sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan, "\n")
		for _, many := range []string{"Seq Scan on users", "Seq Scan on members", "(actual rows=20000"} {
			if strings.Contains(text, many) {
				t.Errorf("%s: %s in\n%s", name, many, text)
			}
		}
	}
}
