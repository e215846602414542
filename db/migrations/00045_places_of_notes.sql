-- +goose Up

-- A note is about an issue, a snippet or a commit, and an emoji belongs to an issue, a snippet or a note: to exactly one.
alter table notes alter column issue_id drop not null;
alter table notes add column snippet_id bigint references snippets on delete cascade;
alter table notes add column commit_project_id bigint references projects on delete cascade;
alter table notes add column commit_sha bytea;
alter table notes add column position jsonb; -- of what it is about in the diff of a commit
alter table notes add constraint notes_place check (
    num_nonnulls(issue_id, snippet_id, commit_project_id) = 1 and (commit_project_id is null) = (commit_sha is null)
) not valid;
alter table notes add constraint notes_commit_sha_length check (octet_length(commit_sha) = 20) not valid;
alter table notes add constraint notes_position_length check (length(position::text) <= 100000) not valid;

alter table award_emoji add column snippet_id bigint references snippets on delete cascade;
alter table award_emoji drop constraint award_emoji_subject;
alter table award_emoji add constraint award_emoji_subject check (num_nonnulls(issue_id, snippet_id, note_id) = 1) not valid;

-- Comments on commits are notes from now on. The release before this one still writes them to a table of their own, which goes with the next
-- release: what comes there, or was there, becomes a note once. It has a discussion whose id follows from the comment.
-- +goose StatementBegin
create function keep_commit_comment(c commit_comments) returns void language sql as $$
    insert into notes (commit_project_id, commit_sha, author_id, discussion_id, first, thread, body, position, created_at, updated_at)
    select c.project_id, decode(c.sha, 'hex'), c.author_id, k.id, true, false, c.note,
        case when c.path is not null then jsonb_strip_nulls(jsonb_build_object('position_type', 'text', 'old_path', c.path, 'new_path', c.path,
            'old_line', case when c.line_type = 'old' then c.line end, 'new_line', case when c.line_type = 'new' then c.line end)) end,
        c.created_at, c.created_at
    from (select decode(md5('comment ' || c.id) || substr(md5(c.id || ' comment'), 1, 8), 'hex') as id) k
    where not exists (select 1 from notes n where n.discussion_id = k.id)
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create function on_commit_comment() returns trigger language plpgsql as $$
begin
    perform keep_commit_comment(new);
    return null;
end $$;
-- +goose StatementEnd
create trigger commit_comments_kept after insert on commit_comments for each row execute function on_commit_comment();
