-- +goose Up

-- How much of what programs report a project takes, and how many bytes of it are kept.
alter table error_tracking_settings
    add events_per_minute integer not null default 1000,
    add sample_percent    integer not null default 100,
    add kept_bytes        bigint  not null default 0,
    add constraint error_tracking_settings_events_per_minute check (events_per_minute between 1 and 1000000) not valid,
    add constraint error_tracking_settings_sample_percent check (sample_percent between 1 and 100) not valid;

update error_tracking_settings s set kept_bytes = (
    select coalesce(sum(octet_length(v.payload)), 0) from tracked_errors e join error_events v on v.error_id = e.id where e.project_id = s.project_id);

-- The release that an error was resolved in: events of earlier ones tell nothing about the solution.
alter table tracked_errors
    add resolved_release text not null default '',
    add constraint tracked_errors_resolved_release_length check (length(resolved_release) <= 255) not valid;
