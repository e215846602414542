-- +goose NO TRANSACTION
-- +goose Up

-- Open issues of a day, in all projects.
drop index concurrently if exists issues_due_day;
create index concurrently issues_due_day on issues (due_date, id) where not closed and due_date is not null;
-- Tokens in the order in which they expire.
drop index concurrently if exists personal_access_tokens_expiry;
create index concurrently personal_access_tokens_expiry on personal_access_tokens (expires_at, id) where revoked_at is null and expires_at is not null;
