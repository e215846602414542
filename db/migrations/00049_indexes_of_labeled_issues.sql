-- +goose NO TRANSACTION
-- +goose Up

-- What was there before: some at a time, so that nobody waits for all of them.
-- +goose StatementBegin
do $$
declare
    past bigint := 0;
    upto bigint;
begin
    loop
        select max(issue_id) into upto from (select issue_id from issue_labels where issue_id > past order by issue_id limit 20000) part;
        exit when upto is null;
        update issue_labels l set project_id = i.project_id, created_at = i.created_at from issues i
        where l.issue_id > past and l.issue_id <= upto and l.project_id is null and i.id = l.issue_id;
        commit;
        past := upto;
    end loop;
    past := 0;
    loop
        select max(issue_id) into upto from (select issue_id from issue_assignees where issue_id > past order by issue_id limit 20000) part;
        exit when upto is null;
        update issue_assignees a set project_id = i.project_id, created_at = i.created_at from issues i
        where a.issue_id > past and a.issue_id <= upto and a.project_id is null and i.id = a.issue_id;
        commit;
        past := upto;
    end loop;
end $$;
-- +goose StatementEnd

set lock_timeout = 0;
drop index concurrently if exists issue_labels_listed;
create index concurrently issue_labels_listed on issue_labels (label_id, project_id, created_at desc, issue_id desc);
drop index concurrently if exists issue_assignees_listed;
create index concurrently issue_assignees_listed on issue_assignees (user_id, project_id, created_at desc, issue_id desc);
drop index concurrently if exists issue_assignees_listed_all;
create index concurrently issue_assignees_listed_all on issue_assignees (user_id, created_at desc, issue_id desc) include (project_id);
-- With the project, so that lists of one are counted without a look at each issue.
drop index concurrently if exists issues_author_listed;
create index concurrently issues_author_listed on issues (author_id, created_at desc, id desc) include (project_id, closed, confidential);
drop index concurrently if exists issues_milestone_listed;
create index concurrently issues_milestone_listed on issues (milestone_id, created_at desc, id desc) include (project_id, closed, confidential) where milestone_id is not null;
drop index concurrently if exists issues_author;
drop index concurrently if exists issues_milestone;
drop index concurrently if exists issue_labels_label;
drop index concurrently if exists issue_assignees_user;
reset lock_timeout;
