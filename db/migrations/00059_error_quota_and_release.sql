-- +goose Up

-- How much of what programs report a project takes.
alter table error_tracking_settings
    add events_per_minute integer not null default 1000,
    add sample_percent    integer not null default 100,
    add constraint error_tracking_settings_events_per_minute check (events_per_minute between 1 and 1000000) not valid,
    add constraint error_tracking_settings_sample_percent check (sample_percent between 1 and 100) not valid;

-- The release that an error was resolved in: events of earlier ones tell nothing about the solution.
alter table tracked_errors
    add resolved_release text not null default '',
    add constraint tracked_errors_resolved_release_length check (length(resolved_release) <= 255) not valid;
