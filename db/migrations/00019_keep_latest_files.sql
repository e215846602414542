-- +goose Up

-- Files of the latest pipeline of a ref outlive their time. A pipeline is
-- locked when it is made and unlocked when a newer one has succeeded.
alter table pipelines add column locked boolean not null default false;
create index pipelines_locked on pipelines (project_id, ref, tag, id) where locked;

-- An archive that expired leaves a row without bytes, so that a job that
-- depends on it can be told.
alter table job_artifacts
    add column locked boolean not null default false,
    drop constraint job_artifacts_state,
    add constraint job_artifacts_state check (state in ('storing', 'stored', 'removing', 'expired'));
create index job_artifacts_due on job_artifacts (expire_at, id) where state = 'stored' and expire_at is not null and not kept and not locked;
create index job_artifacts_open on job_artifacts (updated_at, id) where state in ('storing', 'removing');
