-- +goose Up

-- The project that a runner was made for. Its maintainers manage the runner; those of the other projects that it serves
-- only use it. The mark goes with the project, and no other project inherits it.
alter table runner_projects add column owner boolean not null default false;
update runner_projects p set owner = true
where not exists (select 1 from runner_projects o where o.runner_id = p.runner_id and o.id < p.id);
