-- +goose Up

-- What follows when an alert comes or ends. Where there is no row, nothing follows but that incidents are closed.
create table alert_settings (
    project_id          bigint primary key references projects on delete cascade,
    create_issue        boolean not null,
    send_email          boolean not null,
    auto_close_incident boolean not null,
    issue_template_key  text not null constraint alert_settings_template_length check (length(issue_template_key) <= 255),
    updated_at          timestamptz not null
);

-- What is still to be done about an alert, as bits: 1 an incident is to be made of it, 2 its incident is to be closed. It is written with the alert; a job does
-- it.
alter table alerts add column follow_up smallint not null default 0 constraint alerts_follow_up check (follow_up between 0 and 3);
create index alerts_to_follow on alerts (project_id, id) where follow_up <> 0;

-- The number of the last alert that people need not be told of any more.
alter table alert_counters add column told integer not null default 0;
update alert_counters set told = last;

-- Those that are resolved go when nobody touched them for long.
create index alerts_over on alerts (updated_at, id) where status = 2;

-- The account that makes incidents is one.
create unique index users_alert_bot_key on users (kind) where kind = 'alert_bot';

-- Mails about the alerts of a project can be declined, and are a thread of their own.
alter table unsubscriptions drop constraint unsubscriptions_kind;
alter table unsubscriptions add constraint unsubscriptions_kind check (kind in ('label', 'issue', 'merge_request', 'pipelines', 'project', 'alerts'));
create trigger projects_alerts_unsubscriptions after delete on projects referencing old table as gone
    for each statement execute function drop_subscriptions('alerts');
alter table mails drop constraint mails_thread;
alter table mails add constraint mails_thread check (thread in ('issue', 'pipeline', 'project', 'alerts'));

-- A to-do is about an issue or an alert.
alter table todos alter column issue_id drop not null;
alter table todos add column alert_id bigint references alerts on delete cascade;
alter table todos add constraint todos_target check (num_nonnulls(issue_id, alert_id) = 1);
create unique index todos_pending_alert_key on todos (alert_id, user_id) where alert_id is not null and not done;
create index todos_alert on todos (alert_id) where alert_id is not null;
