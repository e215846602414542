-- +goose Up
alter table signing_keys validate constraint signing_keys_purpose;
