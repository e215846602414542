-- +goose Up
alter table job_artifacts validate constraint job_artifacts_access;
