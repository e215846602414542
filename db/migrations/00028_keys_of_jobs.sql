-- +goose Up

-- Tokens by which other services know a job are signed by a key of their own.
alter table signing_keys drop constraint signing_keys_purpose;
alter table signing_keys add constraint signing_keys_purpose check (purpose in ('id_token', 'job_token')) not valid;
