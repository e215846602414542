-- +goose Up

-- The trail can be read, and whoever changes it is found out: docs/adr/0056-audit-trail-sealed.md.

-- What the service says of a row when it writes it, with a key that the database does not have. Rows of earlier releases have none.
alter table audit_events add column mac bytea;
alter table audit_events add constraint audit_events_mac_length check (octet_length(mac) = 32) not valid;
-- Nothing lists all that a person did. What they did in one place has an index in each month: see make_audit_month.
drop index audit_events_author;

-- Events that are written and not yet sealed. They are put there by a trigger, so that those of the previous release are, too.
create table audit_unsealed (
    event_id   bigint not null,
    created_at timestamptz not null,
    primary key (event_id, created_at)
);
-- +goose StatementBegin
create function wait_for_seal() returns trigger language plpgsql as $$
begin
    insert into audit_unsealed (event_id, created_at) values (new.id, new.created_at);
    return null;
end $$;
-- +goose StatementEnd
create trigger audit_events_unsealed after insert on audit_events for each row execute function wait_for_seal();

-- Events from before are put there by a job, some at a time. No writer can be between this and the trigger: its lock waited for them.
create table audit_backlog (
    past bigint primary key, -- up to this id they were put there
    upto bigint not null
);
insert into audit_backlog (past, upto) select 0, max(id) from audit_events having max(id) is not null;

-- The link of an event in the chain of its entity. In the same month as the event, so that both go together.
create table audit_seals (
    event_id    bigint not null,
    created_at  timestamptz not null, -- of the event
    entity_type text not null constraint audit_seals_entity_type check (entity_type in ('User', 'Group', 'Project', 'Instance')),
    entity_id   bigint not null,
    number      bigint not null, -- in the chain, from 1
    block       bigint not null,
    content     bytea not null constraint audit_seals_content_length check (octet_length(content) = 32),
    previous    bytea not null constraint audit_seals_previous_length check (octet_length(previous) = 32),
    hash        bytea not null constraint audit_seals_hash_length check (octet_length(hash) = 32),
    mac         bytea not null constraint audit_seals_mac_length check (octet_length(mac) = 32),
    primary key (event_id, created_at)
) partition by range (created_at);
create table audit_seals_default partition of audit_seals default;
create index audit_seals_chain on audit_seals (entity_type, entity_id, number);

-- The end of each chain.
create table audit_heads (
    entity_type text not null constraint audit_heads_entity_type check (entity_type in ('User', 'Group', 'Project', 'Instance')),
    entity_id   bigint not null,
    number      bigint not null,
    hash        bytea not null constraint audit_heads_hash_length check (octet_length(hash) = 32),
    primary key (entity_type, entity_id)
);

-- What was sealed together, of one month. Blocks are a chain of all, and stay when their month goes.
create table audit_blocks (
    number    bigint primary key,
    month     date not null,
    sealed_at timestamptz not null,
    event_ids bigint[] not null,
    content   bytea not null constraint audit_blocks_content_length check (octet_length(content) = 32),
    previous  bytea not null constraint audit_blocks_previous_length check (octet_length(previous) = 32),
    hash      bytea not null constraint audit_blocks_hash_length check (octet_length(hash) = 32),
    mac       bytea not null constraint audit_blocks_mac_length check (octet_length(mac) = 32)
);

-- The last block of each day, signed.
create table audit_days (
    day   date primary key,
    block bigint not null,
    hash  bytea not null constraint audit_days_hash_length check (octet_length(hash) = 32),
    mac   bytea not null constraint audit_days_mac_length check (octet_length(mac) = 32)
);

-- Months that were dropped on purpose.
create table audit_retired (
    month      date primary key,
    retired_at timestamptz not null,
    mac        bytea not null constraint audit_retired_mac_length check (octet_length(mac) = 32)
);

-- +goose StatementBegin
create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'table % is only appended to: % is refused', tg_table_name, lower(tg_op)
        using errcode = 'insufficient_privilege', hint = 'Whole months are dropped with "stithy admin retire-audit".';
end $$;
-- +goose StatementEnd
create trigger audit_events_kept before update or delete on audit_events for each row execute function refuse_change();
create trigger audit_seals_kept before update or delete on audit_seals for each row execute function refuse_change();
create trigger audit_blocks_kept before update or delete on audit_blocks for each row execute function refuse_change();
create trigger audit_days_kept before update or delete on audit_days for each row execute function refuse_change();
create trigger audit_retired_kept before update or delete on audit_retired for each row execute function refuse_change();
create trigger audit_heads_kept before delete on audit_heads for each row execute function refuse_change();
create trigger audit_events_whole before truncate on audit_events execute function refuse_change();
create trigger audit_events_default_whole before truncate on audit_events_default execute function refuse_change();
create trigger audit_seals_whole before truncate on audit_seals execute function refuse_change();
create trigger audit_seals_default_whole before truncate on audit_seals_default execute function refuse_change();
create trigger audit_blocks_whole before truncate on audit_blocks execute function refuse_change();
create trigger audit_days_whole before truncate on audit_days execute function refuse_change();
create trigger audit_retired_whole before truncate on audit_retired execute function refuse_change();
create trigger audit_heads_whole before truncate on audit_heads execute function refuse_change();

-- Makes what a month of the trail needs, where it is missing. A table whose rows of that month went to the default partition already
-- stays without. The indexes of a month that has events are built by the service, concurrently.
-- +goose StatementBegin
create function make_audit_month(month date) returns void language plpgsql as $$
declare
    first timestamptz := month::timestamp at time zone 'UTC';
    next  timestamptz := (month + interval '1 month')::timestamp at time zone 'UTC';
    part  text;
    half  text;
begin
    part := 'audit_events_' || to_char(month, 'YYYYMM');
    if to_regclass(part) is null and not exists (select 1 from audit_events_default where created_at >= first and created_at < next) then
        execute format('create table %I partition of audit_events for values from (%L) to (%L)', part, first, next);
        execute format('create index %I on %I (entity_type, id)', part || '_kind', part);
        execute format('create index %I on %I (entity_type, entity_id, author_id, id)', part || '_own', part);
    end if;
    -- What was left when the service could not finish an index.
    for half in select c.relname from pg_class c join pg_index i on i.indexrelid = c.oid
        where c.oid in (to_regclass(part || '_kind'), to_regclass(part || '_own')) and not i.indisvalid
    loop
        execute format('drop index %I', half);
    end loop;
    if to_regclass(part) is not null and not exists (select 1 from pg_trigger where tgrelid = to_regclass(part) and tgname = part || '_whole') then
        execute format('create trigger %I before truncate on %I execute function refuse_change()', part || '_whole', part);
    end if;
    part := 'audit_seals_' || to_char(month, 'YYYYMM');
    if to_regclass(part) is null and not exists (select 1 from audit_seals_default where created_at >= first and created_at < next) then
        execute format('create table %I partition of audit_seals for values from (%L) to (%L)', part, first, next);
        execute format('create trigger %I before truncate on %I execute function refuse_change()', part || '_whole', part);
    end if;
end $$;
-- +goose StatementEnd

-- Drops a month of the trail.
-- +goose StatementBegin
create function drop_audit_month(month date) returns void language plpgsql as $$
begin
    execute format('drop table if exists %I', 'audit_seals_' || to_char(month, 'YYYYMM'));
    execute format('drop table if exists %I', 'audit_events_' || to_char(month, 'YYYYMM'));
end $$;
-- +goose StatementEnd
