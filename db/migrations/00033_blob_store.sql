-- +goose Up
-- Which folder or bucket the blobs are in: its mark lies there as well. A node
-- that finds another mark, or none, does not use it.
create table blob_store (
    only_row   boolean primary key default true constraint blob_store_only_row check (only_row),
    mark       text not null constraint blob_store_mark_length check (length(mark) between 1 and 255),
    created_at timestamptz not null
);
