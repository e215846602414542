-- +goose Up

-- Where an issue is and since when, which never changes, stands beside its labels and assignees, too: lists of a label or a person are read in
-- order from an index of theirs. The issue says it, whoever writes the row.
alter table issue_labels add column project_id bigint;
alter table issue_labels add column created_at timestamptz; -- of the issue
alter table issue_assignees add column project_id bigint;
alter table issue_assignees add column created_at timestamptz; -- of the issue
-- +goose StatementBegin
create function copy_issue() returns trigger language plpgsql as $$
begin
    select project_id, created_at into new.project_id, new.created_at from issues where id = new.issue_id;
    return new;
end $$;
-- +goose StatementEnd
create trigger issue_labels_copy before insert on issue_labels for each row execute function copy_issue();
create trigger issue_assignees_copy before insert on issue_assignees for each row execute function copy_issue();
alter table issue_labels add constraint issue_labels_copied check (num_nulls(project_id, created_at) = 0) not valid;
alter table issue_assignees add constraint issue_assignees_copied check (num_nulls(project_id, created_at) = 0) not valid;
