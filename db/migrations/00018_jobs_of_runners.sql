-- +goose NO TRANSACTION
-- +goose Up
-- What a runner did, by status and newest first. It also serves what jobs_running is for, which goes with the next release.
set lock_timeout = 0;
drop index concurrently if exists jobs_runner;
create index concurrently jobs_runner on jobs (runner_id, status, id desc) where runner_id is not null;
-- Pipelines of tags are few among those of branches.
drop index concurrently if exists pipelines_tags;
create index concurrently pipelines_tags on pipelines (project_id, id desc) where tag and not child;
reset lock_timeout;
