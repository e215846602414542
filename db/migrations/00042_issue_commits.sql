-- +goose Up

-- Commits whose messages name an issue. A row keeps what follows from one from happening twice, and says whose code somebody has to read
-- to be told of the note or of the closing.
create table issue_commits (
    issue_id   bigint not null references issues on delete cascade,
    project_id bigint not null references projects on delete cascade, -- of the commit
    sha        text not null constraint issue_commits_sha_length check (length(sha) = 40),
    obeyed     boolean not null default false, -- the message closes the issue, and that was done once
    note_id    bigint references notes on delete set null, -- that names the commit
    event_id   bigint references resource_events on delete set null, -- of the closing, where the issue was open
    created_at timestamptz not null,
    primary key (issue_id, project_id, sha)
);
create index issue_commits_noted on issue_commits (issue_id, project_id) where note_id is not null;
create index issue_commits_obeyed on issue_commits (issue_id) where obeyed;
-- Lists look for these, and so does whoever removes a row that these name.
create index issue_commits_project on issue_commits (project_id);
create index issue_commits_note on issue_commits (note_id) where note_id is not null;
create index issue_commits_event on issue_commits (event_id) where event_id is not null;
