-- +goose Up

-- Internal notes do not count among those that everybody reads: their number is nobody else's business. This comes first, for the rest holds the table of
-- issues until the end.
update issues i set notes_count = greatest(i.notes_count - n.internal, 0)
from (select issue_id, count(*) as internal from notes where internal and issue_id is not null group by issue_id) n
where n.issue_id = i.id;

-- The client that an issue was made with: administrators look for spam. It goes with the issue, and with the account.
create table issue_agents (
    issue_id   bigint primary key references issues on delete cascade,
    user_id    bigint not null references users on delete cascade,
    user_agent text not null constraint issue_agents_user_agent_length check (length(user_agent) <= 1000),
    ip_address text not null constraint issue_agents_ip_address_length check (length(ip_address) <= 100)
);
create index issue_agents_user on issue_agents (user_id);
