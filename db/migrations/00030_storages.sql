-- +goose Up
-- Which disk a storage is: its mark lies on the disk as well. A node whose disk
-- shows another mark, or none, does not use it.
create table storages (
    name       text primary key constraint storages_name_length check (length(name) between 1 and 255),
    mark       text not null constraint storages_mark_length check (length(mark) between 1 and 255),
    created_at timestamptz not null
);
