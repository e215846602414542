-- +goose Up
-- What a test report says, once it was read. Its cases are a blob beside it.
create table job_test_reports (
    artifact_id bigint primary key references job_artifacts (id) on delete cascade,
    passed      integer not null,
    failed      integer not null,
    skipped     integer not null,
    errored     integer not null,
    seconds     double precision not null,
    error       text not null constraint job_test_reports_error_length check (length(error) <= 500),
    read_at     timestamptz not null
);
