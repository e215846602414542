-- +goose NO TRANSACTION
-- +goose Up
set lock_timeout = 0;

-- What is still to be done about alerts.
drop index concurrently if exists alerts_to_follow;
create index concurrently alerts_to_follow on alerts (project_id, id) where follow_up <> 0;

-- Alerts that are resolved go when nobody touched them for long.
drop index concurrently if exists alerts_over;
create index concurrently alerts_over on alerts (updated_at, id) where status = 2;

-- The account that makes incidents is one.
drop index concurrently if exists users_alert_bot_key;
create unique index concurrently users_alert_bot_key on users (kind) where kind = 'alert_bot';

-- One pending to-do of each person for each alert.
drop index concurrently if exists todos_pending_alert_key;
create unique index concurrently todos_pending_alert_key on todos (alert_id, user_id) where alert_id is not null and not done;
drop index concurrently if exists todos_alert;
create index concurrently todos_alert on todos (alert_id) where alert_id is not null;

alter table alerts validate constraint alerts_follow_up;
alter table unsubscriptions validate constraint unsubscriptions_kind;
alter table mails validate constraint mails_thread;
alter table todos validate constraint todos_target;
reset lock_timeout;
