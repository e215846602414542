-- +goose NO TRANSACTION
-- +goose Up
-- What is said about a snippet or a commit, which have 5,000 notes at the most, and the emoji of a snippet.
set lock_timeout = 0;
drop index concurrently if exists notes_snippet;
create index concurrently notes_snippet on notes (snippet_id, created_at, id) where snippet_id is not null;
drop index concurrently if exists notes_snippet_updated;
create index concurrently notes_snippet_updated on notes (snippet_id, updated_at, id) where snippet_id is not null;
drop index concurrently if exists notes_commit;
create index concurrently notes_commit on notes (commit_project_id, commit_sha, created_at, id) where commit_project_id is not null;
drop index concurrently if exists award_emoji_snippet_key;
create unique index concurrently award_emoji_snippet_key on award_emoji (snippet_id, user_id, name) where snippet_id is not null;
drop index concurrently if exists award_emoji_snippet;
create index concurrently award_emoji_snippet on award_emoji (snippet_id, id) where snippet_id is not null;
reset lock_timeout;
