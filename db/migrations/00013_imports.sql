-- +goose Up

alter table projects add column import_error text not null default ''
    constraint projects_import_error_length check (length(import_error) <= 1000);

-- An import that is not done yet. The login for the other side is sealed, and
-- goes with the row when there is nothing left to fetch.
create table repository_imports (
    project_id bigint primary key references projects on delete cascade,
    url        text not null constraint repository_imports_url_length check (length(url) between 1 and 2048),
    login      bytea constraint repository_imports_login_length check (length(login) <= 10000),
    created_at timestamptz not null
);
