-- +goose NO TRANSACTION
-- +goose Up
-- What a runner did, by status and newest first. It also serves what jobs_running is for, which goes with the next release.
set lock_timeout = 0;
drop index concurrently if exists jobs_runner;
create index concurrently jobs_runner on jobs (runner_id, status, id desc) where runner_id is not null;
reset lock_timeout;
