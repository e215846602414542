-- +goose NO TRANSACTION
-- +goose Up
drop index concurrently if exists issues_confidential;
create index concurrently issues_confidential on issues (project_id, created_at desc, id desc) where confidential;
