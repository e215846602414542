-- +goose Up
create table namespace_avatars (
    namespace_id bigint primary key references namespaces (id) on delete cascade,
    content_type text not null constraint namespace_avatars_content_type_length check (length(content_type) <= 64),
    content      bytea not null constraint namespace_avatars_content_length check (length(content) <= 204800)
);

create table project_avatars (
    project_id   bigint primary key references projects (id) on delete cascade,
    content_type text not null constraint project_avatars_content_type_length check (length(content_type) <= 64),
    content      bytea not null constraint project_avatars_content_length check (length(content) <= 204800)
);
