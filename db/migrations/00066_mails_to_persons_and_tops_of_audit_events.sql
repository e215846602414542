-- +goose Up

-- Mails about access requests and about one's own account: docs/adr/0063-mails-to-one-person.md.
alter table mails alter column project_id drop not null;
alter table mails add column subject_id bigint; -- what else it is about, such as a token
alter table mails drop constraint if exists mails_thread;
alter table mails add constraint mails_thread check (length(thread) between 1 and 30) not valid;

-- What people were reminded of: once for each thing and day.
create table mail_reminders (
    kind       text not null constraint mail_reminders_kind check (kind in ('issue_due', 'token_expiring')),
    subject_id bigint not null,
    day        date not null,
    primary key (kind, subject_id, day)
);
create index mail_reminders_day on mail_reminders (day);

-- How many mails a person caused within an hour, to whomever.
create table mail_authors (
    by_id bigint not null,
    hour  timestamptz not null,
    mails bigint not null,
    primary key (by_id, hour)
);
create index mail_authors_hour on mail_authors (hour);

-- The group at the top of where an event happened, when it happened. Events of earlier releases have none.
alter table audit_events add column top_id bigint;

-- When somebody last asked for a destination to be tried again.
alter table audit_event_destinations add column retried_at timestamptz;
