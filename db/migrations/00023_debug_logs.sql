-- +goose Up

-- Whether the log of a job holds all that the job did, secrets included. It is
-- decided when the job is handed out and when its runner says so; null for jobs
-- that were handed out before.
alter table jobs add column debug_log boolean;
