-- +goose NO TRANSACTION
-- +goose Up

-- How many issues of a project are open is counted from here alone.
drop index concurrently if exists issues_open_counted;
create index concurrently issues_open_counted on issues (project_id, confidential, author_id) where not closed;
