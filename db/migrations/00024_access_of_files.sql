-- +goose Up
-- Who may read a file, of those who may see the job. The column public is still
-- written: the release before this one reads it, and writes it alone.
alter table job_artifacts add column access text not null default 'all';
alter table job_artifacts add constraint job_artifacts_access check (access in ('all', 'developer', 'maintainer', 'none')) not valid;
