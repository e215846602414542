-- +goose Up
alter table issue_labels validate constraint issue_labels_copied;
alter table issue_assignees validate constraint issue_assignees_copied;
