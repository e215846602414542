-- The schema that db/migrations make, for reading. Generated; do not edit.

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';

CREATE FUNCTION public.check_visibility_of_child() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    parent bigint;
    open_to smallint;
begin
    if tg_table_name = 'projects' then parent := new.namespace_id; else parent := new.parent_id; end if;
    if parent is null then return new; end if;
    select visibility into open_to from namespaces where id = parent for share;
    if new.visibility > open_to then
        raise exception 'more open than its parent' using errcode = 'check_violation', constraint = 'visibility_of_parent';
    end if;
    return new;
end $$;

CREATE FUNCTION public.check_visibility_of_parent() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if exists (select 1 from projects where namespace_id = new.id and visibility > new.visibility and not removal) then
        raise exception 'less open than its projects' using errcode = 'check_violation', constraint = 'visibility_of_projects';
    end if;
    if exists (select 1 from namespaces where parent_id = new.id and visibility > new.visibility and not removal) then
        raise exception 'less open than its subgroups' using errcode = 'check_violation', constraint = 'visibility_of_subgroups';
    end if;
    return new;
end $$;

CREATE FUNCTION public.claim_fingerprint() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if tg_table_name = 'ssh_keys' then
        insert into ssh_fingerprints (fingerprint, ssh_key_id) values (new.fingerprint_sha256, new.id);
    else
        insert into ssh_fingerprints (fingerprint, deploy_key_id) values (new.fingerprint_sha256, new.id);
    end if;
    return new;
end $$;

CREATE FUNCTION public.close_board_gaps() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform 1 from boards where id in (select board_id from gone) order by id for update;
    update board_lists l set position = o.place
    from (
        select id, row_number() over (partition by board_id order by position, id) - 1 as place
        from board_lists where board_id in (select board_id from gone)
    ) o where l.id = o.id and l.position <> o.place;
    return null;
end $$;

CREATE FUNCTION public.copy_issue() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    select project_id, created_at into new.project_id, new.created_at from issues where id = new.issue_id;
    return new;
end $$;

CREATE FUNCTION public.count_votes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    update issues i set upvotes = i.upvotes + v.up * v.sign, downvotes = i.downvotes + v.down * v.sign
    from (
        select issue_id, count(*) filter (where name = 'thumbsup') as up, count(*) filter (where name = 'thumbsdown') as down,
            case tg_op when 'INSERT' then 1 else -1 end as sign
        from changed where issue_id is not null and name in ('thumbsup', 'thumbsdown') group by issue_id order by issue_id
    ) v where i.id = v.issue_id;
    return null;
end $$;

CREATE FUNCTION public.drop_audit_month(month date) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    execute format('drop table if exists %I', 'audit_seals_' || to_char(month, 'YYYYMM'));
    execute format('drop table if exists %I', 'audit_events_' || to_char(month, 'YYYYMM'));
end $$;

CREATE FUNCTION public.drop_subscriptions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    delete from subscriptions s using gone where s.kind = tg_argv[0] and s.subject_id = gone.id;
    delete from unsubscriptions s using gone where s.kind = tg_argv[0] and s.subject_id = gone.id;
    return null;
end $$;

CREATE TABLE public.commit_comments (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    sha text NOT NULL,
    note text NOT NULL,
    path text,
    line integer,
    line_type text,
    author_id bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT commit_comments_line_type CHECK ((line_type = ANY (ARRAY['new'::text, 'old'::text]))),
    CONSTRAINT commit_comments_note_length CHECK (((length(note) >= 1) AND (length(note) <= 1000000))),
    CONSTRAINT commit_comments_path_length CHECK ((length(path) <= 4096)),
    CONSTRAINT commit_comments_sha_length CHECK ((length(sha) = 40))
);

CREATE FUNCTION public.keep_commit_comment(c public.commit_comments) RETURNS void
    LANGUAGE sql
    AS $$
    insert into notes (commit_project_id, commit_sha, author_id, discussion_id, first, thread, body, position, created_at, updated_at)
    select c.project_id, decode(c.sha, 'hex'), c.author_id, k.id, true, false, c.note,
        case when c.path is not null then jsonb_strip_nulls(jsonb_build_object('position_type', 'text', 'old_path', c.path, 'new_path', c.path,
            'old_line', case when c.line_type = 'old' then c.line end, 'new_line', case when c.line_type = 'new' then c.line end)) end,
        c.created_at, c.created_at
    from (select decode(md5('comment ' || c.id) || substr(md5(c.id || ' comment'), 1, 8), 'hex') as id) k
    where not exists (select 1 from notes n where n.discussion_id = k.id)
$$;

CREATE FUNCTION public.leave_text_repositories() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    update text_repositories set state = 'unneeded' where id in (select repository_id from gone);
    return null;
end $$;

CREATE FUNCTION public.make_audit_month(month date) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.on_commit_comment() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform keep_commit_comment(new);
    return null;
end $$;

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'table % is only appended to: % is refused', tg_table_name, lower(tg_op)
        using errcode = 'insufficient_privilege', hint = 'Whole months are dropped with "stithy admin retire-audit".';
end $$;

CREATE FUNCTION public.wait_for_seal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into audit_unsealed (event_id, created_at) values (new.id, new.created_at);
    return null;
end $$;

CREATE TABLE public.acme_accounts (
    directory text NOT NULL,
    key_sealed bytea NOT NULL,
    CONSTRAINT acme_accounts_directory CHECK ((length(directory) <= 2048)),
    CONSTRAINT acme_accounts_key_sealed CHECK ((octet_length(key_sealed) <= 4096))
);

CREATE TABLE public.acme_certificates (
    name text NOT NULL,
    chain text DEFAULT ''::text NOT NULL,
    key_sealed bytea DEFAULT '\x'::bytea NOT NULL,
    not_before timestamp with time zone,
    not_after timestamp with time zone,
    due_at timestamp with time zone NOT NULL,
    leased_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    problem text DEFAULT ''::text NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    CONSTRAINT acme_certificates_chain CHECK ((length(chain) <= 262144)),
    CONSTRAINT acme_certificates_key_sealed CHECK ((octet_length(key_sealed) <= 16384)),
    CONSTRAINT acme_certificates_name CHECK ((length(name) <= 253)),
    CONSTRAINT acme_certificates_problem CHECK ((length(problem) <= 1000))
);

CREATE TABLE public.acme_challenges (
    name text NOT NULL,
    token text NOT NULL,
    kind text NOT NULL,
    answer text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT acme_challenges_answer CHECK ((length(answer) <= 1024)),
    CONSTRAINT acme_challenges_kind CHECK ((kind = ANY (ARRAY['http-01'::text, 'tls-alpn-01'::text]))),
    CONSTRAINT acme_challenges_name CHECK ((length(name) <= 253)),
    CONSTRAINT acme_challenges_token CHECK ((length(token) <= 253))
);

CREATE TABLE public.alert_assignees (
    alert_id bigint NOT NULL,
    user_id bigint NOT NULL
);

CREATE TABLE public.alert_changes (
    id bigint NOT NULL,
    alert_id bigint NOT NULL,
    user_id bigint,
    old_status smallint NOT NULL,
    new_status smallint NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE public.alert_changes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alert_changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.alert_counters (
    project_id bigint NOT NULL,
    last integer NOT NULL,
    told integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.alert_integrations (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    endpoint text NOT NULL,
    key_sealed bytea NOT NULL,
    key_digest bytea NOT NULL,
    active boolean NOT NULL,
    mapping jsonb,
    example text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT alert_integrations_endpoint_length CHECK ((length(endpoint) = 16)),
    CONSTRAINT alert_integrations_example_length CHECK ((octet_length(example) <= 1048576)),
    CONSTRAINT alert_integrations_key_digest_length CHECK ((octet_length(key_digest) = 32)),
    CONSTRAINT alert_integrations_key_sealed_length CHECK ((octet_length(key_sealed) <= 1024)),
    CONSTRAINT alert_integrations_kind CHECK ((kind = ANY (ARRAY['http'::text, 'prometheus'::text]))),
    CONSTRAINT alert_integrations_mapping_length CHECK ((octet_length((mapping)::text) <= 65536)),
    CONSTRAINT alert_integrations_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

ALTER TABLE public.alert_integrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alert_integrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.alert_metric_images (
    id bigint NOT NULL,
    alert_id bigint,
    user_id bigint,
    state text NOT NULL,
    filename text NOT NULL,
    media text NOT NULL,
    blob_key text NOT NULL,
    size bigint NOT NULL,
    url text NOT NULL,
    url_text text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT alert_metric_images_filename_length CHECK (((length(filename) >= 1) AND (length(filename) <= 255))),
    CONSTRAINT alert_metric_images_key_length CHECK (((length(blob_key) >= 1) AND (length(blob_key) <= 255))),
    CONSTRAINT alert_metric_images_media_length CHECK ((length(media) <= 100)),
    CONSTRAINT alert_metric_images_size CHECK (((size >= 0) AND (size <= 1048576))),
    CONSTRAINT alert_metric_images_state CHECK ((state = ANY (ARRAY['storing'::text, 'stored'::text, 'removing'::text]))),
    CONSTRAINT alert_metric_images_url_length CHECK ((length(url) <= 255)),
    CONSTRAINT alert_metric_images_url_text_length CHECK ((length(url_text) <= 128))
);

ALTER TABLE public.alert_metric_images ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alert_metric_images_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.alert_settings (
    project_id bigint NOT NULL,
    create_issue boolean NOT NULL,
    send_email boolean NOT NULL,
    auto_close_incident boolean NOT NULL,
    issue_template_key text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT alert_settings_template_length CHECK ((length(issue_template_key) <= 255))
);

CREATE TABLE public.alerts (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    iid integer NOT NULL,
    integration_id bigint,
    title text NOT NULL,
    description text NOT NULL,
    service text NOT NULL,
    monitoring_tool text NOT NULL,
    hosts text[] NOT NULL,
    severity smallint NOT NULL,
    status smallint NOT NULL,
    fingerprint bytea,
    events bigint NOT NULL,
    environment text NOT NULL,
    runbook text NOT NULL,
    query text NOT NULL,
    payload text NOT NULL,
    issue_id bigint,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    follow_up smallint DEFAULT 0 NOT NULL,
    CONSTRAINT alerts_description_length CHECK ((length(description) <= 1000)),
    CONSTRAINT alerts_ended CHECK (((status = 2) = (ended_at IS NOT NULL))),
    CONSTRAINT alerts_environment_length CHECK ((length(environment) <= 255)),
    CONSTRAINT alerts_events CHECK ((events > 0)),
    CONSTRAINT alerts_fingerprint_length CHECK ((octet_length(fingerprint) = 32)),
    CONSTRAINT alerts_follow_up CHECK (((follow_up >= 0) AND (follow_up <= 3))),
    CONSTRAINT alerts_hosts CHECK ((cardinality(hosts) <= 255)),
    CONSTRAINT alerts_monitoring_tool_length CHECK ((length(monitoring_tool) <= 100)),
    CONSTRAINT alerts_payload_length CHECK ((octet_length(payload) <= 2097152)),
    CONSTRAINT alerts_query_length CHECK ((length(query) <= 4096)),
    CONSTRAINT alerts_runbook_length CHECK ((length(runbook) <= 2048)),
    CONSTRAINT alerts_service_length CHECK ((length(service) <= 100)),
    CONSTRAINT alerts_severity CHECK (((severity >= 0) AND (severity <= 5))),
    CONSTRAINT alerts_status CHECK (((status >= 0) AND (status <= 3))),
    CONSTRAINT alerts_title_length CHECK (((length(title) >= 1) AND (length(title) <= 200)))
);

ALTER TABLE public.alerts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.alerts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.audit_backlog (
    past bigint NOT NULL,
    upto bigint NOT NULL
);

CREATE TABLE public.audit_blocks (
    number bigint NOT NULL,
    month date NOT NULL,
    sealed_at timestamp with time zone NOT NULL,
    event_ids bigint[] NOT NULL,
    content bytea NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    mac bytea NOT NULL,
    CONSTRAINT audit_blocks_content_length CHECK ((octet_length(content) = 32)),
    CONSTRAINT audit_blocks_hash_length CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_blocks_mac_length CHECK ((octet_length(mac) = 32)),
    CONSTRAINT audit_blocks_previous_length CHECK ((octet_length(previous) = 32))
);

CREATE TABLE public.audit_days (
    day date NOT NULL,
    block bigint NOT NULL,
    hash bytea NOT NULL,
    mac bytea NOT NULL,
    CONSTRAINT audit_days_hash_length CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_days_mac_length CHECK ((octet_length(mac) = 32))
);

CREATE TABLE public.audit_event_dead_letters (
    destination_id bigint NOT NULL,
    event_id bigint NOT NULL,
    failed_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    again boolean DEFAULT false NOT NULL,
    CONSTRAINT audit_event_dead_letters_reason_length CHECK ((length(reason) <= 500))
);

CREATE TABLE public.audit_event_destinations (
    id bigint NOT NULL,
    namespace_id bigint,
    name text NOT NULL,
    url text NOT NULL,
    sealed_token bytea NOT NULL,
    event_types text[] NOT NULL,
    active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    block bigint NOT NULL,
    "position" integer NOT NULL,
    sent_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    failed_at timestamp with time zone,
    reason text DEFAULT ''::text NOT NULL,
    retry_at timestamp with time zone,
    dropped bigint DEFAULT 0 NOT NULL,
    lease text,
    leased_until timestamp with time zone,
    retried_at timestamp with time zone,
    CONSTRAINT audit_event_destinations_lease_length CHECK ((length(lease) <= 64)),
    CONSTRAINT audit_event_destinations_name_length CHECK (((length(name) >= 1) AND (length(name) <= 72))),
    CONSTRAINT audit_event_destinations_reason_length CHECK ((length(reason) <= 500)),
    CONSTRAINT audit_event_destinations_token_length CHECK ((length(sealed_token) <= 1024)),
    CONSTRAINT audit_event_destinations_types_length CHECK (((cardinality(event_types) <= 100) AND (length(array_to_string(event_types, ','::text)) <= 8192))),
    CONSTRAINT audit_event_destinations_url_length CHECK (((length(url) >= 1) AND (length(url) <= 2048)))
);

ALTER TABLE public.audit_event_destinations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.audit_event_destinations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.audit_events (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    event_type text NOT NULL,
    author_id bigint NOT NULL,
    author_name text NOT NULL,
    entity_type text NOT NULL,
    entity_id bigint NOT NULL,
    entity_path text NOT NULL,
    target_type text NOT NULL,
    target_id bigint,
    target_details text NOT NULL,
    ip_address text,
    details jsonb NOT NULL,
    mac bytea,
    top_id bigint,
    CONSTRAINT audit_events_author_name_length CHECK ((length(author_name) <= 600)),
    CONSTRAINT audit_events_details_length CHECK ((length((details)::text) <= 65535)),
    CONSTRAINT audit_events_entity_path_length CHECK ((length(entity_path) <= 5500)),
    CONSTRAINT audit_events_entity_type CHECK ((entity_type = ANY (ARRAY['User'::text, 'Group'::text, 'Project'::text, 'Instance'::text]))),
    CONSTRAINT audit_events_event_type_length CHECK ((length(event_type) <= 255)),
    CONSTRAINT audit_events_ip_address_length CHECK ((length(ip_address) <= 64)),
    CONSTRAINT audit_events_target_details_length CHECK ((length(target_details) <= 5500)),
    CONSTRAINT audit_events_target_type_length CHECK ((length(target_type) <= 255))
)
PARTITION BY RANGE (created_at);

CREATE TABLE public.audit_events_default (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    event_type text NOT NULL,
    author_id bigint NOT NULL,
    author_name text NOT NULL,
    entity_type text NOT NULL,
    entity_id bigint NOT NULL,
    entity_path text NOT NULL,
    target_type text NOT NULL,
    target_id bigint,
    target_details text NOT NULL,
    ip_address text,
    details jsonb NOT NULL,
    mac bytea,
    top_id bigint,
    CONSTRAINT audit_events_author_name_length CHECK ((length(author_name) <= 600)),
    CONSTRAINT audit_events_details_length CHECK ((length((details)::text) <= 65535)),
    CONSTRAINT audit_events_entity_path_length CHECK ((length(entity_path) <= 5500)),
    CONSTRAINT audit_events_entity_type CHECK ((entity_type = ANY (ARRAY['User'::text, 'Group'::text, 'Project'::text, 'Instance'::text]))),
    CONSTRAINT audit_events_event_type_length CHECK ((length(event_type) <= 255)),
    CONSTRAINT audit_events_ip_address_length CHECK ((length(ip_address) <= 64)),
    CONSTRAINT audit_events_target_details_length CHECK ((length(target_details) <= 5500)),
    CONSTRAINT audit_events_target_type_length CHECK ((length(target_type) <= 255))
);

ALTER TABLE public.audit_events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.audit_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.audit_heads (
    entity_type text NOT NULL,
    entity_id bigint NOT NULL,
    number bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_heads_entity_type CHECK ((entity_type = ANY (ARRAY['User'::text, 'Group'::text, 'Project'::text, 'Instance'::text]))),
    CONSTRAINT audit_heads_hash_length CHECK ((octet_length(hash) = 32))
);

CREATE TABLE public.audit_retired (
    month date NOT NULL,
    retired_at timestamp with time zone NOT NULL,
    mac bytea NOT NULL,
    CONSTRAINT audit_retired_mac_length CHECK ((octet_length(mac) = 32))
);

CREATE TABLE public.audit_seals (
    event_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    entity_type text NOT NULL,
    entity_id bigint NOT NULL,
    number bigint NOT NULL,
    block bigint NOT NULL,
    content bytea NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    mac bytea NOT NULL,
    CONSTRAINT audit_seals_content_length CHECK ((octet_length(content) = 32)),
    CONSTRAINT audit_seals_entity_type CHECK ((entity_type = ANY (ARRAY['User'::text, 'Group'::text, 'Project'::text, 'Instance'::text]))),
    CONSTRAINT audit_seals_hash_length CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_seals_mac_length CHECK ((octet_length(mac) = 32)),
    CONSTRAINT audit_seals_previous_length CHECK ((octet_length(previous) = 32))
)
PARTITION BY RANGE (created_at);

CREATE TABLE public.audit_seals_default (
    event_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    entity_type text NOT NULL,
    entity_id bigint NOT NULL,
    number bigint NOT NULL,
    block bigint NOT NULL,
    content bytea NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    mac bytea NOT NULL,
    CONSTRAINT audit_seals_content_length CHECK ((octet_length(content) = 32)),
    CONSTRAINT audit_seals_entity_type CHECK ((entity_type = ANY (ARRAY['User'::text, 'Group'::text, 'Project'::text, 'Instance'::text]))),
    CONSTRAINT audit_seals_hash_length CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_seals_mac_length CHECK ((octet_length(mac) = 32)),
    CONSTRAINT audit_seals_previous_length CHECK ((octet_length(previous) = 32))
);

CREATE TABLE public.audit_unsealed (
    event_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.avatars (
    user_id bigint NOT NULL,
    content_type text NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT avatars_content_length CHECK ((length(content) <= 204800)),
    CONSTRAINT avatars_content_type_length CHECK ((length(content_type) <= 64))
);

CREATE TABLE public.award_emoji (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    issue_id bigint,
    note_id bigint,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    snippet_id bigint,
    CONSTRAINT award_emoji_name_length CHECK (((length(name) >= 1) AND (length(name) <= 50))),
    CONSTRAINT award_emoji_subject CHECK ((num_nonnulls(issue_id, snippet_id, note_id) = 1))
);

ALTER TABLE public.award_emoji ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.award_emoji_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.badges (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    name text,
    link_url text NOT NULL,
    image_url text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT badges_image_url_length CHECK (((length(image_url) >= 1) AND (length(image_url) <= 2048))),
    CONSTRAINT badges_link_url_length CHECK (((length(link_url) >= 1) AND (length(link_url) <= 2048))),
    CONSTRAINT badges_name_length CHECK ((length(name) <= 255)),
    CONSTRAINT badges_source CHECK ((num_nonnulls(namespace_id, project_id) = 1))
);

ALTER TABLE public.badges ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.badges_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.blob_store (
    only_row boolean DEFAULT true NOT NULL,
    mark text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT blob_store_mark_length CHECK (((length(mark) >= 1) AND (length(mark) <= 255))),
    CONSTRAINT blob_store_only_row CHECK (only_row)
);

CREATE TABLE public.board_lists (
    id bigint NOT NULL,
    board_id bigint NOT NULL,
    label_id bigint,
    milestone_id bigint,
    user_id bigint,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT board_lists_kind CHECK ((num_nonnulls(label_id, milestone_id, user_id) = 1)),
    CONSTRAINT board_lists_position CHECK (("position" >= 0))
);

ALTER TABLE public.board_lists ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.board_lists_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.boards (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    name text NOT NULL,
    hide_backlog_list boolean DEFAULT false NOT NULL,
    hide_closed_list boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT boards_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT boards_source CHECK ((num_nonnulls(namespace_id, project_id) = 1))
);

ALTER TABLE public.boards ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.boards_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.cluster_agent_grants (
    agent_id bigint NOT NULL,
    project_id bigint,
    namespace_id bigint,
    id bigint NOT NULL,
    CONSTRAINT cluster_agent_grants_one CHECK ((num_nonnulls(project_id, namespace_id) = 1))
);

ALTER TABLE public.cluster_agent_grants ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.cluster_agent_grants_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.cluster_agents (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    name text NOT NULL,
    created_by_id bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT cluster_agents_name_length CHECK (((length(name) >= 1) AND (length(name) <= 63)))
);

ALTER TABLE public.cluster_agents ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.cluster_agents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE public.commit_comments ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.commit_comments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.commit_statuses (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    sha text NOT NULL,
    ref text NOT NULL,
    name text NOT NULL,
    state text NOT NULL,
    target_url text,
    description text,
    coverage double precision,
    author_id bigint,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    CONSTRAINT commit_statuses_description_length CHECK ((length(description) <= 255)),
    CONSTRAINT commit_statuses_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT commit_statuses_ref_length CHECK (((length(ref) >= 1) AND (length(ref) <= 1024))),
    CONSTRAINT commit_statuses_sha_length CHECK ((length(sha) = 40)),
    CONSTRAINT commit_statuses_state CHECK ((state = ANY (ARRAY['pending'::text, 'running'::text, 'success'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT commit_statuses_target_url_length CHECK ((length(target_url) <= 255))
);

ALTER TABLE public.commit_statuses ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.commit_statuses_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.deploy_key_projects (
    project_id bigint NOT NULL,
    deploy_key_id bigint NOT NULL,
    can_push boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.deploy_keys (
    id bigint NOT NULL,
    title text NOT NULL,
    key text NOT NULL,
    fingerprint_md5 text NOT NULL,
    fingerprint_sha256 text NOT NULL,
    open boolean DEFAULT false NOT NULL,
    created_by_id bigint,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT deploy_keys_fingerprint_md5_length CHECK ((length(fingerprint_md5) <= 64)),
    CONSTRAINT deploy_keys_fingerprint_sha256_length CHECK ((length(fingerprint_sha256) <= 64)),
    CONSTRAINT deploy_keys_key_length CHECK (((length(key) >= 1) AND (length(key) <= 5000))),
    CONSTRAINT deploy_keys_title_length CHECK (((length(title) >= 1) AND (length(title) <= 255)))
);

ALTER TABLE public.deploy_keys ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.deploy_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.deploy_tokens (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    name text NOT NULL,
    username text NOT NULL,
    digest bytea NOT NULL,
    scopes text[] NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    created_by_id bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT deploy_tokens_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT deploy_tokens_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT deploy_tokens_scopes CHECK (((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 32))),
    CONSTRAINT deploy_tokens_source CHECK ((num_nonnulls(namespace_id, project_id) = 1)),
    CONSTRAINT deploy_tokens_username_length CHECK (((length(username) >= 1) AND (length(username) <= 255)))
);

ALTER TABLE public.deploy_tokens ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.deploy_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.email_claims (
    address text NOT NULL,
    user_id bigint NOT NULL,
    CONSTRAINT email_claims_address_length CHECK ((length(address) <= 512))
);

CREATE TABLE public.emails (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    email text NOT NULL,
    address text NOT NULL,
    confirmed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT emails_email_length CHECK (((length(email) >= 3) AND (length(email) <= 254)))
);

ALTER TABLE public.emails ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.emails_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.environments (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    external_url text,
    state text NOT NULL,
    tier text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT environments_external_url_length CHECK ((length(external_url) <= 2048)),
    CONSTRAINT environments_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT environments_slug_length CHECK (((length(slug) >= 1) AND (length(slug) <= 24))),
    CONSTRAINT environments_state CHECK ((state = ANY (ARRAY['available'::text, 'stopping'::text, 'stopped'::text]))),
    CONSTRAINT environments_tier CHECK ((tier = ANY (ARRAY['production'::text, 'staging'::text, 'testing'::text, 'development'::text, 'other'::text])))
);

ALTER TABLE public.environments ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.environments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.error_client_keys (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    digest bytea NOT NULL,
    public_key bytea NOT NULL,
    active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT error_client_keys_digest_length CHECK ((octet_length(digest) = 32)),
    CONSTRAINT error_client_keys_public_key_length CHECK ((octet_length(public_key) <= 255))
);

ALTER TABLE public.error_client_keys ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.error_client_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.error_event_ids (
    project_id bigint NOT NULL,
    event_id uuid NOT NULL,
    received_at timestamp with time zone NOT NULL
);

CREATE TABLE public.error_events (
    id bigint NOT NULL,
    error_id bigint NOT NULL,
    event_id uuid NOT NULL,
    happened_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone NOT NULL,
    level text NOT NULL,
    environment text NOT NULL,
    release text NOT NULL,
    payload bytea NOT NULL,
    CONSTRAINT error_events_environment_length CHECK ((length(environment) <= 255)),
    CONSTRAINT error_events_level CHECK ((level = ANY (ARRAY['fatal'::text, 'error'::text, 'warning'::text, 'info'::text, 'debug'::text]))),
    CONSTRAINT error_events_payload_length CHECK ((octet_length(payload) <= 262144)),
    CONSTRAINT error_events_release_length CHECK ((length(release) <= 255))
);

ALTER TABLE public.error_events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.error_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.error_hours (
    error_id bigint NOT NULL,
    hour timestamp with time zone NOT NULL,
    events bigint NOT NULL
);

CREATE TABLE public.error_people (
    error_id bigint NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT error_people_digest_length CHECK ((octet_length(digest) = 32))
);

CREATE TABLE public.error_places (
    error_id bigint NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    events bigint NOT NULL,
    first_seen timestamp with time zone NOT NULL,
    last_seen timestamp with time zone NOT NULL,
    CONSTRAINT error_places_kind CHECK ((kind = ANY (ARRAY['release'::text, 'environment'::text]))),
    CONSTRAINT error_places_value_length CHECK (((length(value) >= 1) AND (length(value) <= 255)))
);

CREATE TABLE public.error_tracking_settings (
    project_id bigint NOT NULL,
    active boolean NOT NULL,
    integrated boolean NOT NULL,
    project_name text,
    api_url text,
    personal_data boolean DEFAULT false NOT NULL,
    errors integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    events_per_minute integer DEFAULT 1000 NOT NULL,
    sample_percent integer DEFAULT 100 NOT NULL,
    kept_bytes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT error_tracking_settings_api_url_length CHECK ((length(api_url) <= 2048)),
    CONSTRAINT error_tracking_settings_events_per_minute CHECK (((events_per_minute >= 1) AND (events_per_minute <= 1000000))),
    CONSTRAINT error_tracking_settings_project_name_length CHECK ((length(project_name) <= 255)),
    CONSTRAINT error_tracking_settings_sample_percent CHECK (((sample_percent >= 1) AND (sample_percent <= 100)))
);

CREATE TABLE public.events (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    author_id bigint NOT NULL,
    project_id bigint NOT NULL,
    target_id bigint,
    commit_count integer,
    ref_count integer,
    imported boolean DEFAULT false NOT NULL,
    action text NOT NULL,
    target_type text,
    push_action text,
    ref_type text,
    commit_from bytea,
    commit_to bytea,
    ref text,
    title text,
    format text,
    CONSTRAINT events_action CHECK ((action = ANY (ARRAY['created'::text, 'updated'::text, 'closed'::text, 'reopened'::text, 'pushed'::text, 'commented'::text, 'merged'::text, 'joined'::text, 'left'::text, 'destroyed'::text, 'expired'::text, 'approved'::text]))),
    CONSTRAINT events_commit_from_length CHECK ((octet_length(commit_from) <= 32)),
    CONSTRAINT events_commit_to_length CHECK ((octet_length(commit_to) <= 32)),
    CONSTRAINT events_format_length CHECK ((length(format) <= 30)),
    CONSTRAINT events_push_action CHECK ((push_action = ANY (ARRAY['created'::text, 'pushed'::text, 'removed'::text]))),
    CONSTRAINT events_ref_length CHECK ((length(ref) <= 1024)),
    CONSTRAINT events_ref_type CHECK ((ref_type = ANY (ARRAY['branch'::text, 'tag'::text]))),
    CONSTRAINT events_target_type CHECK ((target_type = ANY (ARRAY['Issue'::text, 'WorkItem'::text, 'MergeRequest'::text, 'Milestone'::text, 'Note'::text, 'DiscussionNote'::text, 'DiffNote'::text, 'WikiPage::Meta'::text, 'DesignManagement::Design'::text]))),
    CONSTRAINT events_title_length CHECK ((length(title) <= 255))
)
PARTITION BY RANGE (created_at);

CREATE TABLE public.events_default (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    author_id bigint NOT NULL,
    project_id bigint NOT NULL,
    target_id bigint,
    commit_count integer,
    ref_count integer,
    imported boolean DEFAULT false NOT NULL,
    action text NOT NULL,
    target_type text,
    push_action text,
    ref_type text,
    commit_from bytea,
    commit_to bytea,
    ref text,
    title text,
    format text,
    CONSTRAINT events_action CHECK ((action = ANY (ARRAY['created'::text, 'updated'::text, 'closed'::text, 'reopened'::text, 'pushed'::text, 'commented'::text, 'merged'::text, 'joined'::text, 'left'::text, 'destroyed'::text, 'expired'::text, 'approved'::text]))),
    CONSTRAINT events_commit_from_length CHECK ((octet_length(commit_from) <= 32)),
    CONSTRAINT events_commit_to_length CHECK ((octet_length(commit_to) <= 32)),
    CONSTRAINT events_format_length CHECK ((length(format) <= 30)),
    CONSTRAINT events_push_action CHECK ((push_action = ANY (ARRAY['created'::text, 'pushed'::text, 'removed'::text]))),
    CONSTRAINT events_ref_length CHECK ((length(ref) <= 1024)),
    CONSTRAINT events_ref_type CHECK ((ref_type = ANY (ARRAY['branch'::text, 'tag'::text]))),
    CONSTRAINT events_target_type CHECK ((target_type = ANY (ARRAY['Issue'::text, 'WorkItem'::text, 'MergeRequest'::text, 'Milestone'::text, 'Note'::text, 'DiscussionNote'::text, 'DiffNote'::text, 'WikiPage::Meta'::text, 'DesignManagement::Design'::text]))),
    CONSTRAINT events_title_length CHECK ((length(title) <= 255))
);

ALTER TABLE public.events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.features (
    name text NOT NULL,
    gates jsonb DEFAULT '{}'::jsonb NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT features_gates_length CHECK ((length((gates)::text) <= 65535)),
    CONSTRAINT features_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

CREATE TABLE public.follows (
    follower_id bigint NOT NULL,
    followed_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.gpg_keys (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    primary_keyid text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT gpg_keys_fingerprint_length CHECK ((length(fingerprint) <= 64)),
    CONSTRAINT gpg_keys_key_length CHECK (((length(key) >= 1) AND (length(key) <= 65535))),
    CONSTRAINT gpg_keys_primary_keyid_length CHECK ((length(primary_keyid) <= 16))
);

ALTER TABLE public.gpg_keys ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gpg_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.half_sign_ins (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT half_sign_ins_digest_length CHECK ((length(digest) = 32))
);

ALTER TABLE public.half_sign_ins ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.half_sign_ins_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.identities (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    provider text NOT NULL,
    extern_uid text NOT NULL,
    saml_provider_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT identities_extern_uid_length CHECK (((length(extern_uid) >= 1) AND (length(extern_uid) <= 255))),
    CONSTRAINT identities_provider_length CHECK (((length(provider) >= 1) AND (length(provider) <= 255)))
);

ALTER TABLE public.identities ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.identities_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.instance_variables (
    id bigint NOT NULL,
    key text NOT NULL,
    sealed_value bytea NOT NULL,
    variable_type text DEFAULT 'env_var'::text NOT NULL,
    protected boolean DEFAULT false NOT NULL,
    masked boolean DEFAULT false NOT NULL,
    raw boolean DEFAULT false NOT NULL,
    description text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT instance_variables_description_length CHECK ((length(description) <= 255)),
    CONSTRAINT instance_variables_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT instance_variables_type CHECK ((variable_type = ANY (ARRAY['env_var'::text, 'file'::text]))),
    CONSTRAINT instance_variables_value_length CHECK ((length(sealed_value) <= 65535))
);

ALTER TABLE public.instance_variables ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.instance_variables_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.issue_agents (
    issue_id bigint NOT NULL,
    user_id bigint NOT NULL,
    user_agent text NOT NULL,
    ip_address text NOT NULL,
    CONSTRAINT issue_agents_ip_address_length CHECK ((length(ip_address) <= 100)),
    CONSTRAINT issue_agents_user_agent_length CHECK ((length(user_agent) <= 1000))
);

CREATE TABLE public.issue_assignees (
    issue_id bigint NOT NULL,
    user_id bigint NOT NULL,
    project_id bigint,
    created_at timestamp with time zone,
    CONSTRAINT issue_assignees_copied CHECK ((num_nulls(project_id, created_at) = 0))
);

CREATE TABLE public.issue_commits (
    issue_id bigint NOT NULL,
    project_id bigint NOT NULL,
    sha text NOT NULL,
    obeyed boolean DEFAULT false NOT NULL,
    note_id bigint,
    event_id bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT issue_commits_sha_length CHECK ((length(sha) = 40))
);

CREATE TABLE public.issue_counters (
    project_id bigint NOT NULL,
    last integer NOT NULL
);

CREATE TABLE public.issue_labels (
    issue_id bigint NOT NULL,
    label_id bigint NOT NULL,
    project_id bigint,
    created_at timestamp with time zone,
    CONSTRAINT issue_labels_copied CHECK ((num_nulls(project_id, created_at) = 0))
);

CREATE TABLE public.issue_links (
    id bigint NOT NULL,
    source_id bigint NOT NULL,
    target_id bigint NOT NULL,
    kind text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT issue_links_kind CHECK ((kind = ANY (ARRAY['relates_to'::text, 'blocks'::text]))),
    CONSTRAINT issue_links_self CHECK ((source_id <> target_id))
);

ALTER TABLE public.issue_links ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issue_links_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.issue_mentions (
    id bigint NOT NULL,
    issue_id bigint NOT NULL,
    note_id bigint,
    user_id bigint NOT NULL
);

ALTER TABLE public.issue_mentions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issue_mentions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.issue_time_logs (
    id bigint NOT NULL,
    issue_id bigint NOT NULL,
    user_id bigint,
    seconds integer NOT NULL,
    summary text DEFAULT ''::text NOT NULL,
    spent_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT issue_time_logs_seconds CHECK ((seconds <> 0)),
    CONSTRAINT issue_time_logs_summary_length CHECK ((length(summary) <= 255))
);

ALTER TABLE public.issue_time_logs ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issue_time_logs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.issues (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    iid integer NOT NULL,
    author_id bigint,
    title text NOT NULL,
    description text,
    type text NOT NULL,
    severity text DEFAULT 'unknown'::text NOT NULL,
    closed boolean DEFAULT false NOT NULL,
    closed_at timestamp with time zone,
    closed_by_id bigint,
    confidential boolean DEFAULT false NOT NULL,
    discussion_locked boolean,
    milestone_id bigint,
    due_date date,
    weight integer,
    health_status text,
    time_estimate integer DEFAULT 0 NOT NULL,
    time_spent integer DEFAULT 0 NOT NULL,
    tasks integer DEFAULT 0 NOT NULL,
    tasks_done integer DEFAULT 0 NOT NULL,
    notes_count integer DEFAULT 0 NOT NULL,
    upvotes integer DEFAULT 0 NOT NULL,
    downvotes integer DEFAULT 0 NOT NULL,
    relative_position bigint,
    moved_to_id bigint,
    duplicate_of_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT issues_closed CHECK ((closed = (closed_at IS NOT NULL))),
    CONSTRAINT issues_description_length CHECK ((octet_length(description) <= 1048576)),
    CONSTRAINT issues_health_status CHECK ((health_status = ANY (ARRAY['on_track'::text, 'needs_attention'::text, 'at_risk'::text]))),
    CONSTRAINT issues_severity CHECK ((severity = ANY (ARRAY['unknown'::text, 'low'::text, 'medium'::text, 'high'::text, 'critical'::text]))),
    CONSTRAINT issues_time_estimate CHECK ((time_estimate >= 0)),
    CONSTRAINT issues_time_spent CHECK ((time_spent >= 0)),
    CONSTRAINT issues_title_length CHECK (((length(title) >= 1) AND (length(title) <= 255))),
    CONSTRAINT issues_type CHECK ((type = ANY (ARRAY['issue'::text, 'incident'::text, 'task'::text, 'test_case'::text]))),
    CONSTRAINT issues_weight CHECK ((weight >= 0))
);

ALTER TABLE public.issues ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issues_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.job_artifacts (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    job_id bigint NOT NULL,
    state text NOT NULL,
    file_type text NOT NULL,
    file_format text NOT NULL,
    filename text NOT NULL,
    blob_key text NOT NULL,
    size bigint DEFAULT 0 NOT NULL,
    sha256 bytea,
    public boolean DEFAULT true NOT NULL,
    kept boolean DEFAULT false NOT NULL,
    expire_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    locked boolean DEFAULT false NOT NULL,
    access text DEFAULT 'all'::text NOT NULL,
    CONSTRAINT job_artifacts_access CHECK ((access = ANY (ARRAY['all'::text, 'developer'::text, 'maintainer'::text, 'none'::text]))),
    CONSTRAINT job_artifacts_filename_length CHECK (((length(filename) >= 1) AND (length(filename) <= 255))),
    CONSTRAINT job_artifacts_format CHECK ((file_format = ANY (ARRAY['zip'::text, 'gzip'::text, 'raw'::text]))),
    CONSTRAINT job_artifacts_key_length CHECK (((length(blob_key) >= 1) AND (length(blob_key) <= 255))),
    CONSTRAINT job_artifacts_sha256_length CHECK ((length(sha256) = 32)),
    CONSTRAINT job_artifacts_size CHECK ((size >= 0)),
    CONSTRAINT job_artifacts_state CHECK ((state = ANY (ARRAY['storing'::text, 'stored'::text, 'removing'::text, 'expired'::text]))),
    CONSTRAINT job_artifacts_type_length CHECK (((length(file_type) >= 1) AND (length(file_type) <= 64))),
    CONSTRAINT job_artifacts_whole CHECK (((state = 'stored'::text) <= (sha256 IS NOT NULL)))
);

ALTER TABLE public.job_artifacts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.job_artifacts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.job_lanes (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    tags text[] NOT NULL,
    protected boolean NOT NULL,
    serves bigint[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT job_lanes_tags CHECK ((cardinality(tags) <= 50))
);

ALTER TABLE public.job_lanes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.job_lanes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.job_log_chunks (
    job_id bigint NOT NULL,
    start bigint NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT job_log_chunks_length CHECK (((length(content) >= 1) AND (length(content) <= 131072))),
    CONSTRAINT job_log_chunks_start CHECK ((start >= 0))
);

CREATE TABLE public.job_logs (
    job_id bigint NOT NULL,
    project_id bigint NOT NULL,
    size bigint DEFAULT 0 NOT NULL,
    held_secret smallint DEFAULT 0 NOT NULL,
    held_bytes smallint DEFAULT 0 NOT NULL,
    held_masked smallint DEFAULT 0 NOT NULL,
    sealed_masks bytea,
    closed_at timestamp with time zone,
    archived_at timestamp with time zone,
    sha256 bytea,
    erased_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT job_logs_held CHECK (((held_masked >= 0) AND (held_masked <= held_bytes))),
    CONSTRAINT job_logs_masks_length CHECK ((length(sealed_masks) <= 8192)),
    CONSTRAINT job_logs_sha256_length CHECK ((length(sha256) = 32)),
    CONSTRAINT job_logs_size CHECK ((size >= 0))
)
WITH (fillfactor='70');

CREATE TABLE public.job_queue (
    job_id bigint NOT NULL,
    lane_id bigint NOT NULL,
    queued_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='200', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.job_runs (
    job_id bigint NOT NULL,
    project_id bigint NOT NULL,
    runner_id bigint NOT NULL,
    on_instance boolean NOT NULL,
    digest bytea NOT NULL,
    started_at timestamp with time zone NOT NULL,
    contacted_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT job_runs_digest CHECK ((octet_length(digest) = 32))
);

CREATE TABLE public.job_specs (
    id bigint NOT NULL,
    pipeline_id bigint NOT NULL,
    document bytea NOT NULL,
    CONSTRAINT job_specs_document_length CHECK ((octet_length(document) <= 4194304))
);

ALTER TABLE public.job_specs ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.job_specs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.job_test_reports (
    artifact_id bigint NOT NULL,
    passed integer NOT NULL,
    failed integer NOT NULL,
    skipped integer NOT NULL,
    errored integer NOT NULL,
    seconds double precision NOT NULL,
    error text NOT NULL,
    read_at timestamp with time zone NOT NULL,
    CONSTRAINT job_test_reports_error_length CHECK ((length(error) <= 500))
);

CREATE TABLE public.job_token_allowlist (
    project_id bigint NOT NULL,
    target_id bigint NOT NULL,
    created_by_id bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT job_token_allowlist_other CHECK ((project_id <> target_id))
);

CREATE TABLE public.job_token_scopes (
    project_id bigint NOT NULL,
    inbound boolean NOT NULL
);

CREATE TABLE public.job_variables (
    job_id bigint NOT NULL,
    value bytea NOT NULL,
    CONSTRAINT job_variables_value_length CHECK ((octet_length(value) <= 1200000))
);

CREATE TABLE public.jobs (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    pipeline_id bigint NOT NULL,
    spec_id bigint NOT NULL,
    user_id bigint,
    bridge boolean NOT NULL,
    name text NOT NULL,
    stage text NOT NULL,
    stage_index smallint NOT NULL,
    status text NOT NULL,
    failure_reason text,
    exit_code integer,
    run_when text NOT NULL,
    allow_failure boolean NOT NULL,
    needs text[],
    tags text[] NOT NULL,
    interruptible boolean NOT NULL,
    retried boolean DEFAULT false NOT NULL,
    retries smallint DEFAULT 0 NOT NULL,
    start_in bigint DEFAULT 0 NOT NULL,
    scheduled_at timestamp with time zone,
    environment text,
    resource_group_id bigint,
    downstream_id bigint,
    runner_id bigint,
    coverage double precision,
    created_at timestamp with time zone NOT NULL,
    queued_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    erased_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    debug_log boolean,
    CONSTRAINT jobs_environment_length CHECK ((length(environment) <= 255)),
    CONSTRAINT jobs_failure_reason_length CHECK ((length(failure_reason) <= 64)),
    CONSTRAINT jobs_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT jobs_needs_count CHECK ((cardinality(needs) <= 50)),
    CONSTRAINT jobs_run_when CHECK ((run_when = ANY (ARRAY['on_success'::text, 'on_failure'::text, 'always'::text, 'manual'::text, 'delayed'::text]))),
    CONSTRAINT jobs_stage_length CHECK (((length(stage) >= 1) AND (length(stage) <= 255))),
    CONSTRAINT jobs_status CHECK ((status = ANY (ARRAY['created'::text, 'waiting_for_resource'::text, 'preparing'::text, 'pending'::text, 'running'::text, 'success'::text, 'failed'::text, 'canceled'::text, 'skipped'::text, 'manual'::text, 'scheduled'::text]))),
    CONSTRAINT jobs_tags_count CHECK ((cardinality(tags) <= 50))
);

ALTER TABLE public.jobs ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.key_canary (
    only_row boolean DEFAULT true NOT NULL,
    fingerprint text NOT NULL,
    canary bytea NOT NULL,
    CONSTRAINT key_canary_canary_length CHECK ((length(canary) <= 256)),
    CONSTRAINT key_canary_fingerprint_length CHECK ((length(fingerprint) <= 64)),
    CONSTRAINT key_canary_only_row CHECK (only_row)
);

CREATE TABLE public.key_challenges (
    holder bytea NOT NULL,
    user_id bigint NOT NULL,
    purpose text NOT NULL,
    challenge bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT key_challenges_challenge_length CHECK ((length(challenge) = 32)),
    CONSTRAINT key_challenges_holder_length CHECK ((length(holder) = 32)),
    CONSTRAINT key_challenges_purpose CHECK ((purpose = ANY (ARRAY['register'::text, 'sign_in'::text])))
);

CREATE TABLE public.label_priorities (
    label_id bigint NOT NULL,
    project_id bigint NOT NULL,
    priority integer NOT NULL,
    CONSTRAINT label_priorities_priority CHECK ((priority >= 0))
);

CREATE TABLE public.labels (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    name text NOT NULL,
    description text,
    color text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT labels_color CHECK ((color ~ '^#[0-9a-fA-F]{6}$'::text)),
    CONSTRAINT labels_color_length CHECK ((length(color) = 7)),
    CONSTRAINT labels_description_length CHECK ((length(description) <= 65536)),
    CONSTRAINT labels_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT labels_source CHECK ((num_nonnulls(namespace_id, project_id) = 1))
);

ALTER TABLE public.labels ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.labels_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.lfs_locks (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    user_id bigint NOT NULL,
    path text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT lfs_locks_path_length CHECK (((length(path) >= 1) AND (length(path) <= 4096)))
);

ALTER TABLE public.lfs_locks ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.lfs_locks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.lfs_objects (
    oid text NOT NULL,
    size bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    left_at timestamp with time zone,
    removing boolean DEFAULT false NOT NULL,
    CONSTRAINT lfs_objects_oid CHECK (((length(oid) = 64) AND (oid ~ '^[0-9a-f]+$'::text))),
    CONSTRAINT lfs_objects_size CHECK ((size >= 0))
);

CREATE TABLE public.lfs_project_objects (
    project_id bigint NOT NULL,
    oid text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT lfs_project_objects_oid CHECK ((length(oid) = 64))
);

CREATE TABLE public.mail_authors (
    by_id bigint NOT NULL,
    hour timestamp with time zone NOT NULL,
    mails bigint NOT NULL
);

CREATE TABLE public.mail_counts (
    user_id bigint NOT NULL,
    by_id bigint NOT NULL,
    hour timestamp with time zone NOT NULL,
    mails integer NOT NULL
);

CREATE TABLE public.mail_events (
    id bigint NOT NULL,
    event text NOT NULL,
    project_id bigint NOT NULL,
    issue_id bigint,
    note_id bigint,
    pipeline_id bigint,
    by_id bigint,
    people bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    everyone boolean NOT NULL,
    detail text,
    happened_at timestamp with time zone NOT NULL,
    reached bigint DEFAULT 0 NOT NULL,
    CONSTRAINT mail_events_detail_length CHECK ((length(detail) <= 1000)),
    CONSTRAINT mail_events_event_length CHECK (((length(event) >= 1) AND (length(event) <= 64))),
    CONSTRAINT mail_events_people_length CHECK ((cardinality(people) <= 1000))
);

ALTER TABLE public.mail_events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mail_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.mail_reminders (
    kind text NOT NULL,
    subject_id bigint NOT NULL,
    day date NOT NULL,
    CONSTRAINT mail_reminders_kind CHECK ((kind = ANY (ARRAY['issue_due'::text, 'token_expiring'::text])))
);

CREATE TABLE public.mailed_links (
    user_id bigint NOT NULL,
    purpose text NOT NULL,
    address text NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT mailed_links_address_length CHECK (((length(address) >= 3) AND (length(address) <= 254))),
    CONSTRAINT mailed_links_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT mailed_links_purpose CHECK ((purpose = ANY (ARRAY['reset_password'::text, 'confirm_address'::text])))
);

CREATE TABLE public.mails (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    thread text NOT NULL,
    thread_id bigint NOT NULL,
    project_id bigint,
    event text NOT NULL,
    note_id bigint,
    by_id bigint,
    participates boolean NOT NULL,
    mentioned boolean NOT NULL,
    detail text,
    happened_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    mail_id bigint,
    claimed_until timestamp with time zone,
    attempts smallint DEFAULT 0 NOT NULL,
    failed_at timestamp with time zone,
    failure text,
    subject_id bigint,
    CONSTRAINT mails_detail_length CHECK ((length(detail) <= 1000)),
    CONSTRAINT mails_event_length CHECK (((length(event) >= 1) AND (length(event) <= 64))),
    CONSTRAINT mails_failure_length CHECK ((length(failure) <= 1000))
);

ALTER TABLE public.mails ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mails_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.members (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    user_id bigint,
    access_level smallint NOT NULL,
    expires_at date,
    requested_at timestamp with time zone,
    invite_email text,
    invite_digest bytea,
    created_by_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT members_access_level CHECK ((access_level = ANY (ARRAY[5, 10, 20, 30, 40, 50]))),
    CONSTRAINT members_invite_digest_length CHECK ((length(invite_digest) = 32)),
    CONSTRAINT members_invite_email_length CHECK ((length(invite_email) <= 254)),
    CONSTRAINT members_person CHECK ((num_nonnulls(user_id, invite_email) = 1)),
    CONSTRAINT members_source CHECK ((num_nonnulls(namespace_id, project_id) = 1))
);

ALTER TABLE public.members ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.members_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.milestone_counters (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    last integer NOT NULL,
    CONSTRAINT milestone_counters_source CHECK ((num_nonnulls(namespace_id, project_id) = 1))
);

ALTER TABLE public.milestone_counters ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.milestone_counters_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.milestones (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    iid integer NOT NULL,
    title text NOT NULL,
    description text,
    state text NOT NULL,
    start_date date,
    due_date date,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT milestones_dates CHECK ((due_date > start_date)),
    CONSTRAINT milestones_description_length CHECK ((length(description) <= 65536)),
    CONSTRAINT milestones_source CHECK ((num_nonnulls(namespace_id, project_id) = 1)),
    CONSTRAINT milestones_state CHECK ((state = ANY (ARRAY['active'::text, 'closed'::text]))),
    CONSTRAINT milestones_title_length CHECK (((length(title) >= 1) AND (length(title) <= 255)))
);

ALTER TABLE public.milestones ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.milestones_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.namespace_avatars (
    namespace_id bigint NOT NULL,
    content_type text NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT namespace_avatars_content_length CHECK ((length(content) <= 204800)),
    CONSTRAINT namespace_avatars_content_type_length CHECK ((length(content_type) <= 64))
);

CREATE TABLE public.namespace_custom_attributes (
    namespace_id bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT namespace_custom_attributes_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT namespace_custom_attributes_value_length CHECK (((length(value) >= 1) AND (length(value) <= 255)))
);

CREATE SEQUENCE public.namespaces_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.namespaces (
    id bigint DEFAULT nextval('public.namespaces_id_seq'::regclass) NOT NULL,
    kind text NOT NULL,
    parent_id bigint,
    owner_id bigint,
    lineage bigint[] NOT NULL,
    name text NOT NULL,
    path text NOT NULL,
    full_name text NOT NULL,
    full_path text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    visibility smallint NOT NULL,
    avatar text DEFAULT ''::text NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    removal boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT namespaces_avatar_length CHECK ((length(avatar) <= 255)),
    CONSTRAINT namespaces_depth CHECK (((cardinality(lineage) >= 1) AND (cardinality(lineage) <= 21))),
    CONSTRAINT namespaces_description_length CHECK ((length(description) <= 500)),
    CONSTRAINT namespaces_full_name_length CHECK ((length(full_name) <= 6000)),
    CONSTRAINT namespaces_full_path_length CHECK ((length(full_path) <= 6000)),
    CONSTRAINT namespaces_kind CHECK ((kind = ANY (ARRAY['user'::text, 'group'::text]))),
    CONSTRAINT namespaces_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT namespaces_owner CHECK (((kind = 'user'::text) = (owner_id IS NOT NULL))),
    CONSTRAINT namespaces_path_length CHECK (((length(path) >= 1) AND (length(path) <= 255))),
    CONSTRAINT namespaces_settings_length CHECK ((length((settings)::text) <= 65535)),
    CONSTRAINT namespaces_visibility CHECK ((visibility = ANY (ARRAY[0, 10, 20])))
);

CREATE TABLE public.notes (
    id bigint NOT NULL,
    issue_id bigint,
    author_id bigint,
    discussion_id bytea NOT NULL,
    first boolean NOT NULL,
    thread boolean NOT NULL,
    body text NOT NULL,
    system boolean DEFAULT false NOT NULL,
    internal boolean DEFAULT false NOT NULL,
    refers_to_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    snippet_id bigint,
    commit_project_id bigint,
    commit_sha bytea,
    "position" jsonb,
    CONSTRAINT notes_body_length CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 1048576))),
    CONSTRAINT notes_commit_sha_length CHECK ((octet_length(commit_sha) = 20)),
    CONSTRAINT notes_discussion_length CHECK ((octet_length(discussion_id) = 20)),
    CONSTRAINT notes_place CHECK (((num_nonnulls(issue_id, snippet_id, commit_project_id) = 1) AND ((commit_project_id IS NULL) = (commit_sha IS NULL)))),
    CONSTRAINT notes_position_length CHECK ((length(("position")::text) <= 100000)),
    CONSTRAINT notes_refers_to CHECK (((refers_to_id IS NULL) OR system)),
    CONSTRAINT notes_system CHECK (((NOT system) OR (first AND (NOT thread) AND (NOT internal))))
);

ALTER TABLE public.notes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.notification_settings (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    level text NOT NULL,
    events_set bigint DEFAULT 0 NOT NULL,
    events_on bigint DEFAULT 0 NOT NULL,
    address text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT notification_settings_address_of_project CHECK (((address IS NULL) OR (project_id IS NULL))),
    CONSTRAINT notification_settings_events CHECK (((events_on & (~ events_set)) = 0)),
    CONSTRAINT notification_settings_level CHECK ((level = ANY (ARRAY['disabled'::text, 'participating'::text, 'watch'::text, 'global'::text, 'mention'::text, 'custom'::text]))),
    CONSTRAINT notification_settings_source CHECK ((num_nonnulls(namespace_id, project_id) <= 1))
);

ALTER TABLE public.notification_settings ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.notification_settings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.oauth_applications (
    id bigint NOT NULL,
    uid text NOT NULL,
    owner_id bigint,
    name text NOT NULL,
    secret_digest bytea NOT NULL,
    redirect_uri text NOT NULL,
    scopes text[] NOT NULL,
    confidential boolean NOT NULL,
    trusted boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT oauth_applications_digest_length CHECK ((length(secret_digest) = 32)),
    CONSTRAINT oauth_applications_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT oauth_applications_redirect_length CHECK (((length(redirect_uri) >= 1) AND (length(redirect_uri) <= 8192))),
    CONSTRAINT oauth_applications_scopes CHECK (((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 32))),
    CONSTRAINT oauth_applications_uid_length CHECK ((length(uid) = 64))
);

ALTER TABLE public.oauth_applications ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth_applications_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.oauth_codes (
    id bigint NOT NULL,
    application_id bigint NOT NULL,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    redirect_uri text NOT NULL,
    scopes text[] NOT NULL,
    code_challenge text,
    nonce text,
    authenticated_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    family_id bigint,
    CONSTRAINT oauth_codes_challenge_length CHECK ((length(code_challenge) = 43)),
    CONSTRAINT oauth_codes_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT oauth_codes_nonce_length CHECK (((length(nonce) >= 1) AND (length(nonce) <= 255))),
    CONSTRAINT oauth_codes_redirect_length CHECK (((length(redirect_uri) >= 1) AND (length(redirect_uri) <= 2048))),
    CONSTRAINT oauth_codes_scopes CHECK (((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 32)))
);

ALTER TABLE public.oauth_codes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth_codes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.oauth_tokens (
    id bigint NOT NULL,
    application_id bigint,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    refresh_digest bytea,
    scopes text[] NOT NULL,
    redirect_uri text,
    authenticated_at timestamp with time zone,
    family_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT oauth_tokens_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT oauth_tokens_redirect_length CHECK (((length(redirect_uri) >= 1) AND (length(redirect_uri) <= 2048))),
    CONSTRAINT oauth_tokens_refresh_length CHECK ((length(refresh_digest) = 32)),
    CONSTRAINT oauth_tokens_scopes CHECK (((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 32)))
);

ALTER TABLE public.oauth_tokens ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.one_time_secrets (
    user_id bigint NOT NULL,
    sealed bytea NOT NULL,
    last_step bigint DEFAULT 0 NOT NULL,
    confirmed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT one_time_secrets_sealed_length CHECK ((length(sealed) <= 1024))
);

CREATE TABLE public.pages_deployments (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    job_id bigint NOT NULL,
    path_prefix text NOT NULL,
    root_directory text NOT NULL,
    state text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    blob_key text NOT NULL,
    active boolean DEFAULT false NOT NULL,
    files integer DEFAULT 0 NOT NULL,
    size bigint DEFAULT 0 NOT NULL,
    expire_in bigint,
    expire_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT pages_deployments_active_ready CHECK (((NOT active) OR (state = 'ready'::text))),
    CONSTRAINT pages_deployments_blob_key_length CHECK (((length(blob_key) >= 1) AND (length(blob_key) <= 255))),
    CONSTRAINT pages_deployments_error_length CHECK ((length(error) <= 1024)),
    CONSTRAINT pages_deployments_path_prefix_length CHECK ((length(path_prefix) <= 63)),
    CONSTRAINT pages_deployments_root_directory_length CHECK (((length(root_directory) >= 1) AND (length(root_directory) <= 1024))),
    CONSTRAINT pages_deployments_state CHECK ((state = ANY (ARRAY['wanted'::text, 'ready'::text, 'failed'::text, 'removing'::text])))
);

ALTER TABLE public.pages_deployments ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.pages_deployments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.pages_domains (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    domain text NOT NULL,
    auto_ssl_enabled boolean NOT NULL,
    auto_ssl_error text DEFAULT ''::text NOT NULL,
    certificate text,
    certificate_key bytea,
    certificate_source text NOT NULL,
    certificate_expires_at timestamp with time zone,
    verification_code text NOT NULL,
    verified_at timestamp with time zone,
    proven boolean DEFAULT false NOT NULL,
    enabled_until timestamp with time zone,
    remove_at timestamp with time zone,
    check_at timestamp with time zone NOT NULL,
    checked_at timestamp with time zone,
    check_error text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT pages_domains_auto_ssl_error_length CHECK ((length(auto_ssl_error) <= 1024)),
    CONSTRAINT pages_domains_certificate_key_length CHECK ((octet_length(certificate_key) <= 8448)),
    CONSTRAINT pages_domains_certificate_length CHECK ((length(certificate) <= 65536)),
    CONSTRAINT pages_domains_certificate_source CHECK ((certificate_source = ANY (ARRAY['user_provided'::text, 'automatic'::text]))),
    CONSTRAINT pages_domains_certificate_whole CHECK ((((certificate IS NULL) = (certificate_key IS NULL)) AND ((certificate IS NULL) = (certificate_expires_at IS NULL)))),
    CONSTRAINT pages_domains_check_error_length CHECK ((length(check_error) <= 255)),
    CONSTRAINT pages_domains_domain_length CHECK (((length(domain) >= 1) AND (length(domain) <= 253))),
    CONSTRAINT pages_domains_verification_code_length CHECK ((length(verification_code) = 32))
);

ALTER TABLE public.pages_domains ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.pages_domains_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.pages_released_domains (
    domain text NOT NULL,
    project_id bigint NOT NULL,
    released_at timestamp with time zone NOT NULL,
    CONSTRAINT pages_released_domains_domain_length CHECK (((length(domain) >= 1) AND (length(domain) <= 253)))
);

CREATE TABLE public.pages_settings (
    project_id bigint NOT NULL,
    unique_domain_enabled boolean NOT NULL,
    unique_domain text,
    https_only boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT pages_settings_unique_domain_length CHECK (((length(unique_domain) >= 1) AND (length(unique_domain) <= 63)))
);

CREATE TABLE public.personal_access_tokens (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    scopes text[] NOT NULL,
    impersonation boolean DEFAULT false NOT NULL,
    expires_at date,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    replaces_id bigint,
    family_id bigint,
    created_by_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT personal_access_tokens_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT personal_access_tokens_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT personal_access_tokens_scopes CHECK (((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 32)))
);

ALTER TABLE public.personal_access_tokens ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.personal_access_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.pipeline_counters (
    project_id bigint NOT NULL,
    last bigint NOT NULL
);

CREATE TABLE public.pipeline_schedule_variables (
    schedule_id bigint NOT NULL,
    key text NOT NULL,
    value bytea NOT NULL,
    file boolean NOT NULL,
    raw boolean NOT NULL,
    CONSTRAINT pipeline_schedule_variables_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT pipeline_schedule_variables_value_length CHECK ((octet_length(value) <= 131072))
);

CREATE TABLE public.pipeline_schedules (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    owner_id bigint,
    description text NOT NULL,
    ref text NOT NULL,
    cron text NOT NULL,
    cron_timezone text NOT NULL,
    active boolean NOT NULL,
    next_run_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT pipeline_schedules_cron_length CHECK (((length(cron) >= 1) AND (length(cron) <= 255))),
    CONSTRAINT pipeline_schedules_cron_timezone_length CHECK (((length(cron_timezone) >= 1) AND (length(cron_timezone) <= 255))),
    CONSTRAINT pipeline_schedules_description_length CHECK (((length(description) >= 1) AND (length(description) <= 255))),
    CONSTRAINT pipeline_schedules_ref_length CHECK (((length(ref) >= 1) AND (length(ref) <= 1024)))
);

ALTER TABLE public.pipeline_schedules ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.pipeline_schedules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.pipeline_variables (
    pipeline_id bigint NOT NULL,
    key text NOT NULL,
    value bytea NOT NULL,
    file boolean NOT NULL,
    raw boolean NOT NULL,
    "position" integer NOT NULL,
    CONSTRAINT pipeline_variables_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT pipeline_variables_value_length CHECK ((octet_length(value) <= 1200000))
);

CREATE TABLE public.pipelines (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    iid bigint NOT NULL,
    sha text NOT NULL,
    before_sha text NOT NULL,
    ref text NOT NULL,
    tag boolean NOT NULL,
    status text NOT NULL,
    source text NOT NULL,
    name text,
    failure_reason text,
    yaml_errors text,
    auto_cancel text DEFAULT ''::text NOT NULL,
    fail_fast boolean DEFAULT false NOT NULL,
    user_id bigint,
    push_id bigint,
    schedule_id bigint,
    parent_id bigint,
    root_id bigint,
    child boolean DEFAULT false NOT NULL,
    depth smallint DEFAULT 0 NOT NULL,
    committed_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    locked boolean DEFAULT false NOT NULL,
    CONSTRAINT pipelines_auto_cancel CHECK ((auto_cancel = ANY (ARRAY[''::text, 'conservative'::text, 'interruptible'::text, 'none'::text]))),
    CONSTRAINT pipelines_before_sha_length CHECK ((length(before_sha) <= 64)),
    CONSTRAINT pipelines_failure_reason_length CHECK ((length(failure_reason) <= 64)),
    CONSTRAINT pipelines_name_length CHECK ((length(name) <= 255)),
    CONSTRAINT pipelines_ref_length CHECK (((length(ref) >= 1) AND (length(ref) <= 1024))),
    CONSTRAINT pipelines_sha_length CHECK ((length(sha) <= 64)),
    CONSTRAINT pipelines_source_length CHECK (((length(source) >= 1) AND (length(source) <= 64))),
    CONSTRAINT pipelines_status CHECK ((status = ANY (ARRAY['created'::text, 'waiting_for_resource'::text, 'preparing'::text, 'pending'::text, 'running'::text, 'success'::text, 'failed'::text, 'canceled'::text, 'skipped'::text, 'manual'::text, 'scheduled'::text]))),
    CONSTRAINT pipelines_yaml_errors_length CHECK ((length(yaml_errors) <= 65536))
);

ALTER TABLE public.pipelines ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.pipelines_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.project_avatars (
    project_id bigint NOT NULL,
    content_type text NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT project_avatars_content_length CHECK ((length(content) <= 204800)),
    CONSTRAINT project_avatars_content_type_length CHECK ((length(content_type) <= 64))
);

CREATE TABLE public.project_custom_attributes (
    project_id bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT project_custom_attributes_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT project_custom_attributes_value_length CHECK (((length(value) >= 1) AND (length(value) <= 255)))
);

CREATE TABLE public.project_stars (
    project_id bigint NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.projects (
    id bigint NOT NULL,
    namespace_id bigint NOT NULL,
    creator_id bigint,
    name text NOT NULL,
    path text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    visibility smallint NOT NULL,
    archived boolean DEFAULT false NOT NULL,
    default_branch text,
    topics text[] DEFAULT '{}'::text[] NOT NULL,
    avatar text DEFAULT ''::text NOT NULL,
    features jsonb DEFAULT '{}'::jsonb NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    storage text DEFAULT 'default'::text NOT NULL,
    star_count integer DEFAULT 0 NOT NULL,
    forks_count integer DEFAULT 0 NOT NULL,
    forked_from_id bigint,
    import_status text DEFAULT 'none'::text NOT NULL,
    removal boolean DEFAULT false NOT NULL,
    last_activity_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    import_error text DEFAULT ''::text NOT NULL,
    CONSTRAINT projects_avatar_length CHECK ((length(avatar) <= 255)),
    CONSTRAINT projects_default_branch_length CHECK ((length(default_branch) <= 255)),
    CONSTRAINT projects_description_length CHECK ((length(description) <= 2000)),
    CONSTRAINT projects_features_length CHECK ((length((features)::text) <= 2000)),
    CONSTRAINT projects_import_error_length CHECK ((length(import_error) <= 1000)),
    CONSTRAINT projects_import_status CHECK ((import_status = ANY (ARRAY['none'::text, 'scheduled'::text, 'started'::text, 'finished'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT projects_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT projects_path_length CHECK (((length(path) >= 1) AND (length(path) <= 255))),
    CONSTRAINT projects_settings_length CHECK ((length((settings)::text) <= 65535)),
    CONSTRAINT projects_storage_length CHECK ((length(storage) <= 255)),
    CONSTRAINT projects_topics CHECK ((cardinality(topics) <= 100)),
    CONSTRAINT projects_visibility CHECK ((visibility = ANY (ARRAY[0, 10, 20])))
);

ALTER TABLE public.projects ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.protected_branches (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    name text NOT NULL,
    allow_force_push boolean DEFAULT false NOT NULL,
    code_owners boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT protected_branches_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

ALTER TABLE public.protected_branches ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.protected_branches_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.protected_tags (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT protected_tags_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

ALTER TABLE public.protected_tags ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.protected_tags_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.protection_grants (
    id bigint NOT NULL,
    protected_branch_id bigint,
    protected_tag_id bigint,
    act text NOT NULL,
    access_level smallint NOT NULL,
    user_id bigint,
    group_id bigint,
    deploy_key_id bigint,
    CONSTRAINT protection_grants_act CHECK ((act = ANY (ARRAY['push'::text, 'merge'::text, 'unprotect'::text, 'create'::text]))),
    CONSTRAINT protection_grants_holder CHECK ((num_nonnulls(user_id, group_id, deploy_key_id) <= 1)),
    CONSTRAINT protection_grants_level CHECK ((access_level = ANY (ARRAY[0, 30, 40, 60]))),
    CONSTRAINT protection_grants_rule CHECK (((num_nonnulls(protected_branch_id, protected_tag_id) = 1) AND ((protected_tag_id IS NOT NULL) = (act = 'create'::text))))
);

ALTER TABLE public.protection_grants ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.protection_grants_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.pushes (
    id bigint NOT NULL,
    project_id bigint,
    user_id bigint,
    via text NOT NULL,
    state text NOT NULL,
    updates jsonb NOT NULL,
    options jsonb DEFAULT '[]'::jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    text_id bigint,
    CONSTRAINT pushes_options_length CHECK ((length((options)::text) <= 50000)),
    CONSTRAINT pushes_state CHECK ((state = ANY (ARRAY['pending'::text, 'done'::text, 'void'::text]))),
    CONSTRAINT pushes_updates_length CHECK ((length((updates)::text) <= 10000000)),
    CONSTRAINT pushes_via CHECK ((via = ANY (ARRAY['http'::text, 'ssh'::text, 'api'::text, 'job'::text])))
);

ALTER TABLE public.pushes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.pushes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.recovery_codes (
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT recovery_codes_digest_length CHECK ((length(digest) = 32))
);

CREATE TABLE public.refused_addresses (
    address text NOT NULL,
    answer text NOT NULL,
    refused_at timestamp with time zone NOT NULL,
    CONSTRAINT refused_addresses_answer_length CHECK ((length(answer) <= 1000))
);

CREATE TABLE public.repositories (
    project_id bigint NOT NULL,
    storage text NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    state text NOT NULL,
    read_only boolean DEFAULT false NOT NULL,
    empty boolean DEFAULT true NOT NULL,
    pushed_at timestamp with time zone,
    maintained_at timestamp with time zone,
    size bigint DEFAULT 0 NOT NULL,
    commit_count bigint DEFAULT 0 NOT NULL,
    languages jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    readme text,
    license text,
    CONSTRAINT repositories_languages_length CHECK ((length((languages)::text) <= 20000)),
    CONSTRAINT repositories_license_length CHECK ((length(license) <= 255)),
    CONSTRAINT repositories_readme_length CHECK ((length(readme) <= 255)),
    CONSTRAINT repositories_state CHECK ((state = ANY (ARRAY['new'::text, 'copying'::text, 'importing'::text, 'ready'::text, 'failed'::text]))),
    CONSTRAINT repositories_storage_length CHECK (((length(storage) >= 1) AND (length(storage) <= 255)))
);

CREATE TABLE public.repository_imports (
    project_id bigint NOT NULL,
    url text NOT NULL,
    login bytea,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT repository_imports_login_length CHECK ((length(login) <= 10000)),
    CONSTRAINT repository_imports_url_length CHECK (((length(url) >= 1) AND (length(url) <= 2048)))
);

CREATE TABLE public.resource_events (
    id bigint NOT NULL,
    issue_id bigint NOT NULL,
    user_id bigint,
    kind text NOT NULL,
    action text NOT NULL,
    label_id bigint,
    milestone_id bigint,
    closed boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT resource_events_action CHECK ((action = ANY (ARRAY['closed'::text, 'reopened'::text, 'add'::text, 'remove'::text]))),
    CONSTRAINT resource_events_kind CHECK ((kind = ANY (ARRAY['state'::text, 'label'::text, 'milestone'::text])))
);

ALTER TABLE public.resource_events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.resource_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.resource_groups (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    key text NOT NULL,
    process_mode text NOT NULL,
    holder_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT resource_groups_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT resource_groups_process_mode CHECK ((process_mode = ANY (ARRAY['unordered'::text, 'oldest_first'::text, 'newest_first'::text])))
);

ALTER TABLE public.resource_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.resource_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.routes (
    parent_id bigint NOT NULL,
    path text NOT NULL,
    namespace_id bigint,
    project_id bigint,
    former boolean DEFAULT false NOT NULL,
    left_by bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT routes_path_length CHECK (((length(path) >= 1) AND (length(path) <= 255))),
    CONSTRAINT routes_target CHECK (((num_nonnulls(namespace_id, project_id) = 1) OR ((num_nonnulls(namespace_id, project_id) = 0) AND former AND (parent_id = 0))))
);

CREATE TABLE public.runner_managers (
    id bigint NOT NULL,
    runner_id bigint NOT NULL,
    system_id text NOT NULL,
    version text DEFAULT ''::text NOT NULL,
    revision text DEFAULT ''::text NOT NULL,
    platform text DEFAULT ''::text NOT NULL,
    architecture text DEFAULT ''::text NOT NULL,
    executor text DEFAULT ''::text NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    contacted_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT runner_managers_address_length CHECK ((length(address) <= 64)),
    CONSTRAINT runner_managers_architecture_length CHECK ((length(architecture) <= 255)),
    CONSTRAINT runner_managers_executor_length CHECK ((length(executor) <= 255)),
    CONSTRAINT runner_managers_platform_length CHECK ((length(platform) <= 255)),
    CONSTRAINT runner_managers_revision_length CHECK ((length(revision) <= 255)),
    CONSTRAINT runner_managers_system_id_length CHECK (((length(system_id) >= 1) AND (length(system_id) <= 64))),
    CONSTRAINT runner_managers_version_length CHECK ((length(version) <= 255))
);

ALTER TABLE public.runner_managers ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.runner_managers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.runner_projects (
    id bigint NOT NULL,
    runner_id bigint NOT NULL,
    project_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    owner boolean DEFAULT false NOT NULL
);

ALTER TABLE public.runner_projects ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.runner_projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.runner_registration_tokens (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT runner_registration_tokens_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT runner_registration_tokens_place CHECK ((num_nonnulls(namespace_id, project_id) <= 1))
);

ALTER TABLE public.runner_registration_tokens ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.runner_registration_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.runners (
    id bigint NOT NULL,
    runner_type text NOT NULL,
    namespace_id bigint,
    creator_id bigint,
    digest bytea NOT NULL,
    token_expires_at timestamp with time zone,
    registered boolean DEFAULT false NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    maintenance_note text DEFAULT ''::text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    run_untagged boolean DEFAULT true NOT NULL,
    access_level text DEFAULT 'not_protected'::text NOT NULL,
    maximum_timeout integer,
    paused boolean DEFAULT false NOT NULL,
    locked boolean DEFAULT false NOT NULL,
    contacted_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT runners_access_level CHECK ((access_level = ANY (ARRAY['not_protected'::text, 'ref_protected'::text]))),
    CONSTRAINT runners_description_length CHECK ((length(description) <= 1024)),
    CONSTRAINT runners_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT runners_maintenance_note_length CHECK ((length(maintenance_note) <= 1024)),
    CONSTRAINT runners_maximum_timeout CHECK ((maximum_timeout >= 600)),
    CONSTRAINT runners_name_length CHECK ((length(name) <= 255)),
    CONSTRAINT runners_place CHECK (((runner_type = 'group_type'::text) = (namespace_id IS NOT NULL))),
    CONSTRAINT runners_tags CHECK ((cardinality(tags) <= 50)),
    CONSTRAINT runners_type CHECK ((runner_type = ANY (ARRAY['instance_type'::text, 'group_type'::text, 'project_type'::text])))
);

ALTER TABLE public.runners ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.runners_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.security_keys (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    credential_id bytea NOT NULL,
    public_key bytea NOT NULL,
    sign_count bigint NOT NULL,
    backup_eligible boolean NOT NULL,
    transports text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT security_keys_credential_id_length CHECK (((length(credential_id) >= 1) AND (length(credential_id) <= 1023))),
    CONSTRAINT security_keys_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT security_keys_public_key_length CHECK (((length(public_key) >= 1) AND (length(public_key) <= 2048))),
    CONSTRAINT security_keys_transports_length CHECK ((cardinality(transports) <= 10))
);

ALTER TABLE public.security_keys ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.security_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.sessions (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    user_agent text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sessions_address_length CHECK ((length(address) <= 64)),
    CONSTRAINT sessions_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT sessions_user_agent_length CHECK ((length(user_agent) <= 512))
);

ALTER TABLE public.sessions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.settings (
    only_row boolean DEFAULT true NOT NULL,
    changed jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT settings_changed_length CHECK ((length((changed)::text) <= 1048576)),
    CONSTRAINT settings_only_row CHECK (only_row)
);

CREATE TABLE public.shares (
    id bigint NOT NULL,
    group_id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    access_level smallint NOT NULL,
    expires_at date,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT shares_access_level CHECK ((access_level = ANY (ARRAY[10, 20, 30, 40, 50]))),
    CONSTRAINT shares_source CHECK ((num_nonnulls(namespace_id, project_id) = 1))
);

ALTER TABLE public.shares ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.shares_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.sign_in_tries (
    key bytea NOT NULL,
    tries integer NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sign_in_tries_key_length CHECK ((length(key) = 32))
);

CREATE TABLE public.signing_keys (
    id bigint NOT NULL,
    kid text NOT NULL,
    purpose text NOT NULL,
    algorithm text NOT NULL,
    sealed_key bytea NOT NULL,
    retired_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT signing_keys_algorithm CHECK ((algorithm = 'RS256'::text)),
    CONSTRAINT signing_keys_key_length CHECK ((length(sealed_key) <= 8192)),
    CONSTRAINT signing_keys_kid_length CHECK (((length(kid) >= 1) AND (length(kid) <= 64))),
    CONSTRAINT signing_keys_purpose CHECK ((purpose = ANY (ARRAY['id_token'::text, 'job_token'::text])))
);

ALTER TABLE public.signing_keys ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.signing_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.snippets (
    id bigint NOT NULL,
    author_id bigint,
    project_id bigint,
    repository_id bigint NOT NULL,
    title text NOT NULL,
    description text,
    visibility smallint NOT NULL,
    ready boolean DEFAULT false NOT NULL,
    files jsonb DEFAULT '[]'::jsonb NOT NULL,
    user_agent text NOT NULL,
    ip_address text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT snippets_description_length CHECK ((length(description) <= 1048576)),
    CONSTRAINT snippets_files_length CHECK ((length((files)::text) <= 100000)),
    CONSTRAINT snippets_ip_address_length CHECK ((length(ip_address) <= 100)),
    CONSTRAINT snippets_owner CHECK ((num_nonnulls(author_id, project_id) > 0)),
    CONSTRAINT snippets_title_length CHECK (((length(title) >= 1) AND (length(title) <= 255))),
    CONSTRAINT snippets_user_agent_length CHECK ((length(user_agent) <= 1000))
);

ALTER TABLE public.snippets ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.snippets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.ssh_fingerprints (
    fingerprint text NOT NULL,
    ssh_key_id bigint,
    deploy_key_id bigint,
    CONSTRAINT ssh_fingerprints_length CHECK ((length(fingerprint) <= 64)),
    CONSTRAINT ssh_fingerprints_target CHECK ((num_nonnulls(ssh_key_id, deploy_key_id) = 1))
);

CREATE TABLE public.ssh_keys (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    title text NOT NULL,
    key text NOT NULL,
    fingerprint_md5 text,
    fingerprint_sha256 text NOT NULL,
    usage_type text DEFAULT 'auth_and_signing'::text NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT ssh_keys_fingerprint_md5_length CHECK ((length(fingerprint_md5) <= 64)),
    CONSTRAINT ssh_keys_fingerprint_sha256_length CHECK ((length(fingerprint_sha256) <= 64)),
    CONSTRAINT ssh_keys_key_length CHECK (((length(key) >= 1) AND (length(key) <= 5000))),
    CONSTRAINT ssh_keys_title_length CHECK (((length(title) >= 1) AND (length(title) <= 255))),
    CONSTRAINT ssh_keys_usage_type CHECK ((usage_type = ANY (ARRAY['auth_and_signing'::text, 'auth'::text, 'signing'::text])))
);

ALTER TABLE public.ssh_keys ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ssh_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.storages (
    name text NOT NULL,
    mark text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT storages_mark_length CHECK (((length(mark) >= 1) AND (length(mark) <= 255))),
    CONSTRAINT storages_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

CREATE TABLE public.subscriptions (
    kind text NOT NULL,
    subject_id bigint NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT subscriptions_kind CHECK ((kind = ANY (ARRAY['label'::text, 'issue'::text, 'merge_request'::text])))
);

CREATE TABLE public.text_repositories (
    id bigint NOT NULL,
    storage text NOT NULL,
    state text NOT NULL,
    branch text NOT NULL,
    max_files integer NOT NULL,
    empty boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone NOT NULL,
    pushed_at timestamp with time zone,
    CONSTRAINT text_repositories_branch_length CHECK (((length(branch) >= 1) AND (length(branch) <= 255))),
    CONSTRAINT text_repositories_state CHECK ((state = ANY (ARRAY['new'::text, 'ready'::text, 'unneeded'::text]))),
    CONSTRAINT text_repositories_storage_length CHECK (((length(storage) >= 1) AND (length(storage) <= 255)))
);

ALTER TABLE public.text_repositories ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.text_repositories_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.todos (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    project_id bigint NOT NULL,
    issue_id bigint,
    note_id bigint,
    author_id bigint NOT NULL,
    action text NOT NULL,
    done boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    alert_id bigint,
    CONSTRAINT todos_action CHECK ((action = ANY (ARRAY['assigned'::text, 'mentioned'::text, 'directly_addressed'::text, 'marked'::text]))),
    CONSTRAINT todos_target CHECK ((num_nonnulls(issue_id, alert_id) = 1))
);

ALTER TABLE public.todos ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.todos_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.tracked_errors (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    fingerprint bytea NOT NULL,
    name text NOT NULL,
    message text NOT NULL,
    culprit text NOT NULL,
    platform text NOT NULL,
    level text NOT NULL,
    status text NOT NULL,
    resolved_at timestamp with time zone,
    regressed_at timestamp with time zone,
    events bigint NOT NULL,
    people integer NOT NULL,
    first_seen timestamp with time zone NOT NULL,
    last_seen timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    resolved_release text DEFAULT ''::text NOT NULL,
    CONSTRAINT tracked_errors_culprit_length CHECK ((length(culprit) <= 255)),
    CONSTRAINT tracked_errors_fingerprint_length CHECK ((octet_length(fingerprint) = 32)),
    CONSTRAINT tracked_errors_level CHECK ((level = ANY (ARRAY['fatal'::text, 'error'::text, 'warning'::text, 'info'::text, 'debug'::text]))),
    CONSTRAINT tracked_errors_message_length CHECK ((length(message) <= 1024)),
    CONSTRAINT tracked_errors_name_length CHECK ((length(name) <= 255)),
    CONSTRAINT tracked_errors_platform_length CHECK ((length(platform) <= 64)),
    CONSTRAINT tracked_errors_resolved_release_length CHECK ((length(resolved_release) <= 255)),
    CONSTRAINT tracked_errors_status CHECK ((status = ANY (ARRAY['unresolved'::text, 'resolved'::text, 'ignored'::text])))
);

ALTER TABLE public.tracked_errors ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tracked_errors_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.trigger_tokens (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    owner_id bigint NOT NULL,
    description text NOT NULL,
    digest bytea NOT NULL,
    hint text NOT NULL,
    last_used timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT trigger_tokens_description_length CHECK ((length(description) <= 1024)),
    CONSTRAINT trigger_tokens_digest_length CHECK ((octet_length(digest) = 32)),
    CONSTRAINT trigger_tokens_hint_length CHECK ((length(hint) <= 8))
);

ALTER TABLE public.trigger_tokens ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.trigger_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.unsubscriptions (
    kind text NOT NULL,
    subject_id bigint NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT unsubscriptions_kind CHECK ((kind = ANY (ARRAY['label'::text, 'issue'::text, 'merge_request'::text, 'pipelines'::text, 'project'::text, 'alerts'::text])))
);

CREATE TABLE public.uploads (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    user_id bigint,
    state text NOT NULL,
    digest bytea NOT NULL,
    filename text NOT NULL,
    blob_key text NOT NULL,
    size bigint DEFAULT 0 NOT NULL,
    sha256 bytea,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT uploads_digest_length CHECK ((length(digest) = 32)),
    CONSTRAINT uploads_filename_length CHECK (((length(filename) >= 1) AND (length(filename) <= 255))),
    CONSTRAINT uploads_key_length CHECK (((length(blob_key) >= 1) AND (length(blob_key) <= 255))),
    CONSTRAINT uploads_sha256_length CHECK ((length(sha256) = 32)),
    CONSTRAINT uploads_size CHECK ((size >= 0)),
    CONSTRAINT uploads_state CHECK ((state = ANY (ARRAY['storing'::text, 'stored'::text, 'removing'::text]))),
    CONSTRAINT uploads_whole CHECK (((state = 'stored'::text) <= (sha256 IS NOT NULL)))
);

ALTER TABLE public.uploads ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.uploads_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.user_custom_attributes (
    user_id bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT user_custom_attributes_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT user_custom_attributes_value_length CHECK (((length(value) >= 1) AND (length(value) <= 255)))
);

CREATE TABLE public.user_statuses (
    user_id bigint NOT NULL,
    emoji text NOT NULL,
    message text NOT NULL,
    availability text NOT NULL,
    clear_status_at timestamp with time zone,
    CONSTRAINT user_statuses_availability CHECK ((availability = ANY (ARRAY['not_set'::text, 'busy'::text]))),
    CONSTRAINT user_statuses_emoji_length CHECK ((length(emoji) <= 255)),
    CONSTRAINT user_statuses_message_length CHECK ((length(message) <= 100))
);

CREATE TABLE public.users (
    id bigint NOT NULL,
    namespace_id bigint DEFAULT nextval('public.namespaces_id_seq'::regclass) NOT NULL,
    username text NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    unconfirmed_email text,
    confirmed_at timestamp with time zone,
    state text DEFAULT 'active'::text NOT NULL,
    kind text DEFAULT 'human'::text NOT NULL,
    admin boolean DEFAULT false NOT NULL,
    auditor boolean DEFAULT false NOT NULL,
    external boolean DEFAULT false NOT NULL,
    private_profile boolean DEFAULT false NOT NULL,
    locked_at timestamp with time zone,
    password_hash text,
    password_expires_at timestamp with time zone,
    two_factor_enabled boolean DEFAULT false NOT NULL,
    bio text DEFAULT ''::text NOT NULL,
    location text DEFAULT ''::text NOT NULL,
    public_email text DEFAULT ''::text NOT NULL,
    commit_email text DEFAULT ''::text NOT NULL,
    skype text DEFAULT ''::text NOT NULL,
    linkedin text DEFAULT ''::text NOT NULL,
    twitter text DEFAULT ''::text NOT NULL,
    discord text DEFAULT ''::text NOT NULL,
    website_url text DEFAULT ''::text NOT NULL,
    organization text DEFAULT ''::text NOT NULL,
    job_title text DEFAULT ''::text NOT NULL,
    pronouns text DEFAULT ''::text NOT NULL,
    timezone text DEFAULT ''::text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    avatar text DEFAULT ''::text NOT NULL,
    theme_id integer DEFAULT 1 NOT NULL,
    color_scheme_id integer DEFAULT 1 NOT NULL,
    projects_limit integer NOT NULL,
    can_create_group boolean DEFAULT true NOT NULL,
    view_diffs_file_by_file boolean DEFAULT false NOT NULL,
    show_whitespace_in_diffs boolean DEFAULT true NOT NULL,
    pass_user_identities_to_ci_jwt boolean DEFAULT false NOT NULL,
    shared_runners_minutes_limit integer,
    extra_shared_runners_minutes_limit integer,
    group_id_for_saml bigint,
    followers integer DEFAULT 0 NOT NULL,
    following integer DEFAULT 0 NOT NULL,
    last_activity_on date,
    last_sign_in_at timestamp with time zone,
    current_sign_in_at timestamp with time zone,
    last_sign_in_ip text,
    current_sign_in_ip text,
    sign_in_count integer DEFAULT 0 NOT NULL,
    email_reset_offered_at timestamp with time zone,
    created_by_id bigint,
    removal text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT users_avatar_length CHECK ((length(avatar) <= 255)),
    CONSTRAINT users_bio_length CHECK ((length(bio) <= 255)),
    CONSTRAINT users_commit_email_length CHECK ((length(commit_email) <= 254)),
    CONSTRAINT users_current_sign_in_ip_length CHECK ((length(current_sign_in_ip) <= 64)),
    CONSTRAINT users_discord_length CHECK ((length(discord) <= 500)),
    CONSTRAINT users_email_length CHECK (((length(email) >= 3) AND (length(email) <= 254))),
    CONSTRAINT users_job_title_length CHECK ((length(job_title) <= 200)),
    CONSTRAINT users_kind CHECK ((kind = ANY (ARRAY['human'::text, 'ghost'::text, 'project_bot'::text, 'service_account'::text, 'alert_bot'::text, 'support_bot'::text]))),
    CONSTRAINT users_last_sign_in_ip_length CHECK ((length(last_sign_in_ip) <= 64)),
    CONSTRAINT users_linkedin_length CHECK ((length(linkedin) <= 500)),
    CONSTRAINT users_location_length CHECK ((length(location) <= 500)),
    CONSTRAINT users_name_length CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT users_note_length CHECK ((length(note) <= 65535)),
    CONSTRAINT users_organization_length CHECK ((length(organization) <= 500)),
    CONSTRAINT users_password_hash_length CHECK ((length(password_hash) <= 255)),
    CONSTRAINT users_projects_limit CHECK ((projects_limit >= 0)),
    CONSTRAINT users_pronouns_length CHECK ((length(pronouns) <= 50)),
    CONSTRAINT users_public_email_length CHECK ((length(public_email) <= 254)),
    CONSTRAINT users_removal CHECK ((removal = ANY (ARRAY['soft'::text, 'hard'::text]))),
    CONSTRAINT users_skype_length CHECK ((length(skype) <= 500)),
    CONSTRAINT users_state CHECK ((state = ANY (ARRAY['active'::text, 'blocked'::text, 'ldap_blocked'::text, 'blocked_pending_approval'::text, 'banned'::text, 'deactivated'::text]))),
    CONSTRAINT users_timezone_length CHECK ((length(timezone) <= 64)),
    CONSTRAINT users_twitter_length CHECK ((length(twitter) <= 500)),
    CONSTRAINT users_unconfirmed_email_length CHECK (((length(unconfirmed_email) >= 3) AND (length(unconfirmed_email) <= 254))),
    CONSTRAINT users_username_length CHECK (((length(username) >= 1) AND (length(username) <= 255))),
    CONSTRAINT users_website_url_length CHECK ((length(website_url) <= 500))
);

ALTER TABLE public.users ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.variables (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    key text NOT NULL,
    environment_scope text DEFAULT '*'::text NOT NULL,
    sealed_value bytea NOT NULL,
    variable_type text DEFAULT 'env_var'::text NOT NULL,
    protected boolean DEFAULT false NOT NULL,
    masked boolean DEFAULT false NOT NULL,
    hidden boolean DEFAULT false NOT NULL,
    raw boolean DEFAULT false NOT NULL,
    description text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT variables_description_length CHECK ((length(description) <= 255)),
    CONSTRAINT variables_environment_scope_length CHECK (((length(environment_scope) >= 1) AND (length(environment_scope) <= 255))),
    CONSTRAINT variables_key_length CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT variables_source CHECK ((num_nonnulls(namespace_id, project_id) = 1)),
    CONSTRAINT variables_type CHECK ((variable_type = ANY (ARRAY['env_var'::text, 'file'::text]))),
    CONSTRAINT variables_value_length CHECK ((length(sealed_value) <= 300000))
);

ALTER TABLE public.variables ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.variables_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.wikis (
    id bigint NOT NULL,
    namespace_id bigint,
    project_id bigint,
    repository_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT wikis_owner CHECK ((num_nonnulls(namespace_id, project_id) = 1))
);

ALTER TABLE public.wikis ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.wikis_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY public.audit_events ATTACH PARTITION public.audit_events_default DEFAULT;

ALTER TABLE ONLY public.audit_seals ATTACH PARTITION public.audit_seals_default DEFAULT;

ALTER TABLE ONLY public.events ATTACH PARTITION public.events_default DEFAULT;

ALTER TABLE ONLY public.acme_accounts
    ADD CONSTRAINT acme_accounts_pkey PRIMARY KEY (directory);

ALTER TABLE ONLY public.acme_certificates
    ADD CONSTRAINT acme_certificates_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.acme_challenges
    ADD CONSTRAINT acme_challenges_pkey PRIMARY KEY (name, token);

ALTER TABLE ONLY public.alert_assignees
    ADD CONSTRAINT alert_assignees_pkey PRIMARY KEY (alert_id, user_id);

ALTER TABLE ONLY public.alert_changes
    ADD CONSTRAINT alert_changes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alert_counters
    ADD CONSTRAINT alert_counters_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.alert_integrations
    ADD CONSTRAINT alert_integrations_endpoint_key UNIQUE (project_id, endpoint);

ALTER TABLE ONLY public.alert_integrations
    ADD CONSTRAINT alert_integrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alert_metric_images
    ADD CONSTRAINT alert_metric_images_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alert_settings
    ADD CONSTRAINT alert_settings_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_iid_key UNIQUE (project_id, iid);

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit_backlog
    ADD CONSTRAINT audit_backlog_pkey PRIMARY KEY (past);

ALTER TABLE ONLY public.audit_blocks
    ADD CONSTRAINT audit_blocks_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.audit_days
    ADD CONSTRAINT audit_days_pkey PRIMARY KEY (day);

ALTER TABLE ONLY public.audit_event_dead_letters
    ADD CONSTRAINT audit_event_dead_letters_pkey PRIMARY KEY (destination_id, event_id);

ALTER TABLE ONLY public.audit_event_destinations
    ADD CONSTRAINT audit_event_destinations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id, created_at);

ALTER TABLE ONLY public.audit_events_default
    ADD CONSTRAINT audit_events_default_pkey PRIMARY KEY (id, created_at);

ALTER TABLE public.audit_events
    ADD CONSTRAINT audit_events_mac_length CHECK ((octet_length(mac) = 32)) NOT VALID;

ALTER TABLE ONLY public.audit_heads
    ADD CONSTRAINT audit_heads_pkey PRIMARY KEY (entity_type, entity_id);

ALTER TABLE ONLY public.audit_retired
    ADD CONSTRAINT audit_retired_pkey PRIMARY KEY (month);

ALTER TABLE ONLY public.audit_seals
    ADD CONSTRAINT audit_seals_pkey PRIMARY KEY (event_id, created_at);

ALTER TABLE ONLY public.audit_seals_default
    ADD CONSTRAINT audit_seals_default_pkey PRIMARY KEY (event_id, created_at);

ALTER TABLE ONLY public.audit_unsealed
    ADD CONSTRAINT audit_unsealed_pkey PRIMARY KEY (event_id, created_at);

ALTER TABLE ONLY public.avatars
    ADD CONSTRAINT avatars_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.award_emoji
    ADD CONSTRAINT award_emoji_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.badges
    ADD CONSTRAINT badges_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.blob_store
    ADD CONSTRAINT blob_store_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.board_lists
    ADD CONSTRAINT board_lists_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.board_lists
    ADD CONSTRAINT board_lists_position_key UNIQUE (board_id, "position") DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.boards
    ADD CONSTRAINT boards_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.cluster_agent_grants
    ADD CONSTRAINT cluster_agent_grants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.cluster_agents
    ADD CONSTRAINT cluster_agents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.commit_comments
    ADD CONSTRAINT commit_comments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.commit_statuses
    ADD CONSTRAINT commit_statuses_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.deploy_key_projects
    ADD CONSTRAINT deploy_key_projects_pkey PRIMARY KEY (project_id, deploy_key_id);

ALTER TABLE ONLY public.deploy_keys
    ADD CONSTRAINT deploy_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.deploy_tokens
    ADD CONSTRAINT deploy_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.email_claims
    ADD CONSTRAINT email_claims_pkey PRIMARY KEY (address);

ALTER TABLE ONLY public.emails
    ADD CONSTRAINT emails_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_name UNIQUE (project_id, name);

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.error_client_keys
    ADD CONSTRAINT error_client_keys_digest_key UNIQUE (digest);

ALTER TABLE ONLY public.error_client_keys
    ADD CONSTRAINT error_client_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.error_event_ids
    ADD CONSTRAINT error_event_ids_pkey PRIMARY KEY (project_id, event_id);

ALTER TABLE ONLY public.error_events
    ADD CONSTRAINT error_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.error_hours
    ADD CONSTRAINT error_hours_pkey PRIMARY KEY (error_id, hour);

ALTER TABLE ONLY public.error_people
    ADD CONSTRAINT error_people_pkey PRIMARY KEY (error_id, digest);

ALTER TABLE ONLY public.error_places
    ADD CONSTRAINT error_places_pkey PRIMARY KEY (error_id, kind, value);

ALTER TABLE ONLY public.error_tracking_settings
    ADD CONSTRAINT error_tracking_settings_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (author_id, created_at, id);

ALTER TABLE ONLY public.events_default
    ADD CONSTRAINT events_default_pkey PRIMARY KEY (author_id, created_at, id);

ALTER TABLE ONLY public.features
    ADD CONSTRAINT features_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.follows
    ADD CONSTRAINT follows_pkey PRIMARY KEY (follower_id, followed_id);

ALTER TABLE ONLY public.gpg_keys
    ADD CONSTRAINT gpg_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.half_sign_ins
    ADD CONSTRAINT half_sign_ins_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.instance_variables
    ADD CONSTRAINT instance_variables_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issue_agents
    ADD CONSTRAINT issue_agents_pkey PRIMARY KEY (issue_id);

ALTER TABLE ONLY public.issue_assignees
    ADD CONSTRAINT issue_assignees_pkey PRIMARY KEY (issue_id, user_id);

ALTER TABLE ONLY public.issue_commits
    ADD CONSTRAINT issue_commits_pkey PRIMARY KEY (issue_id, project_id, sha);

ALTER TABLE ONLY public.issue_counters
    ADD CONSTRAINT issue_counters_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.issue_labels
    ADD CONSTRAINT issue_labels_pkey PRIMARY KEY (issue_id, label_id);

ALTER TABLE ONLY public.issue_links
    ADD CONSTRAINT issue_links_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issue_mentions
    ADD CONSTRAINT issue_mentions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issue_time_logs
    ADD CONSTRAINT issue_time_logs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issues
    ADD CONSTRAINT issues_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.job_artifacts
    ADD CONSTRAINT job_artifacts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.job_lanes
    ADD CONSTRAINT job_lanes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.job_log_chunks
    ADD CONSTRAINT job_log_chunks_pkey PRIMARY KEY (job_id, start);

ALTER TABLE ONLY public.job_logs
    ADD CONSTRAINT job_logs_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.job_queue
    ADD CONSTRAINT job_queue_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.job_runs
    ADD CONSTRAINT job_runs_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.job_specs
    ADD CONSTRAINT job_specs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.job_test_reports
    ADD CONSTRAINT job_test_reports_pkey PRIMARY KEY (artifact_id);

ALTER TABLE ONLY public.job_token_allowlist
    ADD CONSTRAINT job_token_allowlist_pkey PRIMARY KEY (project_id, target_id);

ALTER TABLE ONLY public.job_token_scopes
    ADD CONSTRAINT job_token_scopes_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.job_variables
    ADD CONSTRAINT job_variables_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.key_canary
    ADD CONSTRAINT key_canary_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.key_challenges
    ADD CONSTRAINT key_challenges_pkey PRIMARY KEY (holder);

ALTER TABLE ONLY public.label_priorities
    ADD CONSTRAINT label_priorities_pkey PRIMARY KEY (label_id, project_id);

ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.lfs_locks
    ADD CONSTRAINT lfs_locks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.lfs_objects
    ADD CONSTRAINT lfs_objects_pkey PRIMARY KEY (oid);

ALTER TABLE ONLY public.lfs_project_objects
    ADD CONSTRAINT lfs_project_objects_pkey PRIMARY KEY (project_id, oid);

ALTER TABLE ONLY public.mail_authors
    ADD CONSTRAINT mail_authors_pkey PRIMARY KEY (by_id, hour);

ALTER TABLE ONLY public.mail_counts
    ADD CONSTRAINT mail_counts_pkey PRIMARY KEY (user_id, by_id, hour);

ALTER TABLE ONLY public.mail_events
    ADD CONSTRAINT mail_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.mail_reminders
    ADD CONSTRAINT mail_reminders_pkey PRIMARY KEY (kind, subject_id, day);

ALTER TABLE ONLY public.mailed_links
    ADD CONSTRAINT mailed_links_pkey PRIMARY KEY (user_id, purpose, address);

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_pkey PRIMARY KEY (id);

ALTER TABLE public.mails
    ADD CONSTRAINT mails_thread CHECK (((length(thread) >= 1) AND (length(thread) <= 30))) NOT VALID;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.milestone_counters
    ADD CONSTRAINT milestone_counters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.milestones
    ADD CONSTRAINT milestones_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.namespace_avatars
    ADD CONSTRAINT namespace_avatars_pkey PRIMARY KEY (namespace_id);

ALTER TABLE ONLY public.namespace_custom_attributes
    ADD CONSTRAINT namespace_custom_attributes_pkey PRIMARY KEY (namespace_id, key);

ALTER TABLE ONLY public.namespaces
    ADD CONSTRAINT namespaces_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notification_settings
    ADD CONSTRAINT notification_settings_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.oauth_applications
    ADD CONSTRAINT oauth_applications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.oauth_tokens
    ADD CONSTRAINT oauth_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.one_time_secrets
    ADD CONSTRAINT one_time_secrets_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.pages_deployments
    ADD CONSTRAINT pages_deployments_job_key UNIQUE (job_id);

ALTER TABLE ONLY public.pages_deployments
    ADD CONSTRAINT pages_deployments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.pages_domains
    ADD CONSTRAINT pages_domains_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.pages_released_domains
    ADD CONSTRAINT pages_released_domains_pkey PRIMARY KEY (domain);

ALTER TABLE ONLY public.pages_settings
    ADD CONSTRAINT pages_settings_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.pages_settings
    ADD CONSTRAINT pages_settings_unique_domain_key UNIQUE (unique_domain);

ALTER TABLE ONLY public.personal_access_tokens
    ADD CONSTRAINT personal_access_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.pipeline_counters
    ADD CONSTRAINT pipeline_counters_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.pipeline_schedule_variables
    ADD CONSTRAINT pipeline_schedule_variables_pkey PRIMARY KEY (schedule_id, key);

ALTER TABLE ONLY public.pipeline_schedules
    ADD CONSTRAINT pipeline_schedules_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.pipeline_variables
    ADD CONSTRAINT pipeline_variables_pkey PRIMARY KEY (pipeline_id, key);

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pipelines_iid UNIQUE (project_id, iid);

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pipelines_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.project_avatars
    ADD CONSTRAINT project_avatars_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.project_custom_attributes
    ADD CONSTRAINT project_custom_attributes_pkey PRIMARY KEY (project_id, key);

ALTER TABLE ONLY public.project_stars
    ADD CONSTRAINT project_stars_pkey PRIMARY KEY (project_id, user_id);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.protected_branches
    ADD CONSTRAINT protected_branches_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.protected_tags
    ADD CONSTRAINT protected_tags_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.protection_grants
    ADD CONSTRAINT protection_grants_pkey PRIMARY KEY (id);

ALTER TABLE public.pushes
    ADD CONSTRAINT pushes_owner CHECK ((num_nonnulls(project_id, text_id) = 1)) NOT VALID;

ALTER TABLE ONLY public.pushes
    ADD CONSTRAINT pushes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, digest);

ALTER TABLE ONLY public.refused_addresses
    ADD CONSTRAINT refused_addresses_pkey PRIMARY KEY (address);

ALTER TABLE ONLY public.repositories
    ADD CONSTRAINT repositories_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.repository_imports
    ADD CONSTRAINT repository_imports_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.resource_events
    ADD CONSTRAINT resource_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.resource_groups
    ADD CONSTRAINT resource_groups_key UNIQUE (project_id, key);

ALTER TABLE ONLY public.resource_groups
    ADD CONSTRAINT resource_groups_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_pkey PRIMARY KEY (parent_id, path);

ALTER TABLE ONLY public.runner_managers
    ADD CONSTRAINT runner_managers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.runner_projects
    ADD CONSTRAINT runner_projects_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.runner_registration_tokens
    ADD CONSTRAINT runner_registration_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.runners
    ADD CONSTRAINT runners_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.security_keys
    ADD CONSTRAINT security_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sign_in_tries
    ADD CONSTRAINT sign_in_tries_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.snippets
    ADD CONSTRAINT snippets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ssh_fingerprints
    ADD CONSTRAINT ssh_fingerprints_pkey PRIMARY KEY (fingerprint);

ALTER TABLE ONLY public.ssh_keys
    ADD CONSTRAINT ssh_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.storages
    ADD CONSTRAINT storages_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (kind, subject_id, user_id);

ALTER TABLE ONLY public.text_repositories
    ADD CONSTRAINT text_repositories_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tracked_errors
    ADD CONSTRAINT tracked_errors_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.trigger_tokens
    ADD CONSTRAINT trigger_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.unsubscriptions
    ADD CONSTRAINT unsubscriptions_pkey PRIMARY KEY (kind, subject_id, user_id);

ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uploads_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.user_custom_attributes
    ADD CONSTRAINT user_custom_attributes_pkey PRIMARY KEY (user_id, key);

ALTER TABLE ONLY public.user_statuses
    ADD CONSTRAINT user_statuses_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.variables
    ADD CONSTRAINT variables_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.wikis
    ADD CONSTRAINT wikis_pkey PRIMARY KEY (id);

CREATE INDEX acme_certificates_due ON public.acme_certificates USING btree (due_at);

CREATE INDEX acme_challenges_expired ON public.acme_challenges USING btree (expires_at);

CREATE INDEX alert_assignees_user ON public.alert_assignees USING btree (user_id, alert_id);

CREATE INDEX alert_changes_alert ON public.alert_changes USING btree (alert_id, id);

CREATE INDEX alert_changes_user ON public.alert_changes USING btree (user_id);

CREATE INDEX alert_metric_images_alert ON public.alert_metric_images USING btree (alert_id, id);

CREATE INDEX alert_metric_images_orphans ON public.alert_metric_images USING btree (id) WHERE (alert_id IS NULL);

CREATE INDEX alert_metric_images_unfinished ON public.alert_metric_images USING btree (updated_at, id) WHERE (state <> 'stored'::text);

CREATE INDEX alert_metric_images_user ON public.alert_metric_images USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX alerts_ended_at ON public.alerts USING btree (project_id, ended_at, id);

CREATE INDEX alerts_events ON public.alerts USING btree (project_id, events, id);

CREATE INDEX alerts_integration ON public.alerts USING btree (integration_id);

CREATE INDEX alerts_issue ON public.alerts USING btree (issue_id) WHERE (issue_id IS NOT NULL);

CREATE UNIQUE INDEX alerts_open ON public.alerts USING btree (project_id, fingerprint) WHERE (status <> 2);

CREATE INDEX alerts_over ON public.alerts USING btree (updated_at, id) WHERE (status = 2);

CREATE INDEX alerts_severity ON public.alerts USING btree (project_id, severity, id);

CREATE INDEX alerts_started ON public.alerts USING btree (project_id, started_at, id);

CREATE INDEX alerts_status ON public.alerts USING btree (project_id, status, started_at, id);

CREATE INDEX alerts_to_follow ON public.alerts USING btree (project_id, id) WHERE (follow_up <> 0);

CREATE INDEX audit_event_destinations_namespace ON public.audit_event_destinations USING btree (namespace_id, id);

CREATE INDEX audit_events_created ON ONLY public.audit_events USING btree (created_at, id);

CREATE INDEX audit_events_default_created_at_id_idx ON public.audit_events_default USING btree (created_at, id);

CREATE INDEX audit_events_entity ON ONLY public.audit_events USING btree (entity_type, entity_id, id);

CREATE INDEX audit_events_default_entity_type_entity_id_id_idx ON public.audit_events_default USING btree (entity_type, entity_id, id);

CREATE INDEX audit_seals_chain ON ONLY public.audit_seals USING btree (entity_type, entity_id, number);

CREATE INDEX audit_seals_default_entity_type_entity_id_number_idx ON public.audit_seals_default USING btree (entity_type, entity_id, number);

CREATE INDEX award_emoji_issue ON public.award_emoji USING btree (issue_id, id) WHERE (issue_id IS NOT NULL);

CREATE UNIQUE INDEX award_emoji_issue_key ON public.award_emoji USING btree (issue_id, user_id, name) WHERE (issue_id IS NOT NULL);

CREATE INDEX award_emoji_note ON public.award_emoji USING btree (note_id, id) WHERE (note_id IS NOT NULL);

CREATE UNIQUE INDEX award_emoji_note_key ON public.award_emoji USING btree (note_id, user_id, name) WHERE (note_id IS NOT NULL);

CREATE INDEX award_emoji_snippet ON public.award_emoji USING btree (snippet_id, id) WHERE (snippet_id IS NOT NULL);

CREATE UNIQUE INDEX award_emoji_snippet_key ON public.award_emoji USING btree (snippet_id, user_id, name) WHERE (snippet_id IS NOT NULL);

CREATE INDEX award_emoji_user ON public.award_emoji USING btree (user_id);

CREATE INDEX badges_namespace ON public.badges USING btree (namespace_id, id) WHERE (namespace_id IS NOT NULL);

CREATE INDEX badges_project ON public.badges USING btree (project_id, id) WHERE (project_id IS NOT NULL);

CREATE INDEX board_lists_label ON public.board_lists USING btree (label_id) WHERE (label_id IS NOT NULL);

CREATE UNIQUE INDEX board_lists_label_key ON public.board_lists USING btree (board_id, label_id) WHERE (label_id IS NOT NULL);

CREATE INDEX board_lists_milestone ON public.board_lists USING btree (milestone_id) WHERE (milestone_id IS NOT NULL);

CREATE UNIQUE INDEX board_lists_milestone_key ON public.board_lists USING btree (board_id, milestone_id) WHERE (milestone_id IS NOT NULL);

CREATE INDEX board_lists_user ON public.board_lists USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE UNIQUE INDEX board_lists_user_key ON public.board_lists USING btree (board_id, user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX boards_namespace ON public.boards USING btree (namespace_id, id) WHERE (namespace_id IS NOT NULL);

CREATE INDEX boards_project ON public.boards USING btree (project_id, id) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX cluster_agent_grants_key ON public.cluster_agent_grants USING btree (agent_id, project_id, namespace_id);

CREATE INDEX cluster_agent_grants_namespace ON public.cluster_agent_grants USING btree (namespace_id) WHERE (namespace_id IS NOT NULL);

CREATE INDEX cluster_agent_grants_project ON public.cluster_agent_grants USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX cluster_agents_creator ON public.cluster_agents USING btree (created_by_id) WHERE (created_by_id IS NOT NULL);

CREATE UNIQUE INDEX cluster_agents_key ON public.cluster_agents USING btree (project_id, name);

CREATE INDEX commit_comments_author ON public.commit_comments USING btree (author_id) WHERE (author_id IS NOT NULL);

CREATE INDEX commit_comments_commit ON public.commit_comments USING btree (project_id, sha, id);

CREATE INDEX commit_statuses_author ON public.commit_statuses USING btree (author_id) WHERE (author_id IS NOT NULL);

CREATE INDEX commit_statuses_commit ON public.commit_statuses USING btree (project_id, sha, ref, name, id);

CREATE INDEX deploy_key_projects_key ON public.deploy_key_projects USING btree (deploy_key_id);

CREATE INDEX deploy_keys_creator ON public.deploy_keys USING btree (created_by_id) WHERE (created_by_id IS NOT NULL);

CREATE INDEX deploy_keys_open ON public.deploy_keys USING btree (id) WHERE open;

CREATE INDEX deploy_tokens_created_by ON public.deploy_tokens USING btree (created_by_id) WHERE (created_by_id IS NOT NULL);

CREATE UNIQUE INDEX deploy_tokens_digest_key ON public.deploy_tokens USING btree (digest);

CREATE INDEX deploy_tokens_namespace ON public.deploy_tokens USING btree (namespace_id, id) WHERE (namespace_id IS NOT NULL);

CREATE INDEX deploy_tokens_project ON public.deploy_tokens USING btree (project_id, id) WHERE (project_id IS NOT NULL);

CREATE INDEX email_claims_user ON public.email_claims USING btree (user_id);

CREATE UNIQUE INDEX emails_address_key ON public.emails USING btree (address);

CREATE INDEX emails_user ON public.emails USING btree (user_id, id);

CREATE INDEX error_client_keys_project ON public.error_client_keys USING btree (project_id, id);

CREATE INDEX error_event_ids_received ON public.error_event_ids USING btree (received_at);

CREATE INDEX error_events_error ON public.error_events USING btree (error_id, id);

CREATE INDEX error_events_received ON public.error_events USING btree (received_at);

CREATE INDEX error_hours_hour ON public.error_hours USING btree (hour);

CREATE INDEX events_project ON ONLY public.events USING btree (project_id, created_at, id);

CREATE INDEX events_default_project_id_created_at_id_idx ON public.events_default USING btree (project_id, created_at, id);

CREATE INDEX follows_followed ON public.follows USING btree (followed_id, follower_id);

CREATE UNIQUE INDEX gpg_keys_fingerprint_key ON public.gpg_keys USING btree (fingerprint);

CREATE INDEX gpg_keys_user ON public.gpg_keys USING btree (user_id, id);

CREATE UNIQUE INDEX half_sign_ins_digest_key ON public.half_sign_ins USING btree (digest);

CREATE INDEX half_sign_ins_expiry ON public.half_sign_ins USING btree (expires_at);

CREATE INDEX half_sign_ins_user ON public.half_sign_ins USING btree (user_id);

CREATE UNIQUE INDEX identities_extern_key ON public.identities USING btree (provider, extern_uid);

CREATE INDEX identities_saml ON public.identities USING btree (saml_provider_id, user_id) WHERE (saml_provider_id IS NOT NULL);

CREATE UNIQUE INDEX identities_user_provider_key ON public.identities USING btree (user_id, provider);

CREATE UNIQUE INDEX instance_variables_key_key ON public.instance_variables USING btree (key);

CREATE INDEX issue_agents_user ON public.issue_agents USING btree (user_id);

CREATE INDEX issue_assignees_listed ON public.issue_assignees USING btree (user_id, project_id, created_at DESC, issue_id DESC);

CREATE INDEX issue_assignees_listed_all ON public.issue_assignees USING btree (user_id, created_at DESC, issue_id DESC) INCLUDE (project_id);

CREATE INDEX issue_commits_event ON public.issue_commits USING btree (event_id) WHERE (event_id IS NOT NULL);

CREATE INDEX issue_commits_note ON public.issue_commits USING btree (note_id) WHERE (note_id IS NOT NULL);

CREATE INDEX issue_commits_noted ON public.issue_commits USING btree (issue_id, project_id) WHERE (note_id IS NOT NULL);

CREATE INDEX issue_commits_obeyed ON public.issue_commits USING btree (issue_id) WHERE obeyed;

CREATE INDEX issue_commits_project ON public.issue_commits USING btree (project_id);

CREATE INDEX issue_labels_listed ON public.issue_labels USING btree (label_id, project_id, created_at DESC, issue_id DESC);

CREATE UNIQUE INDEX issue_links_pair_key ON public.issue_links USING btree (LEAST(source_id, target_id), GREATEST(source_id, target_id));

CREATE INDEX issue_links_source ON public.issue_links USING btree (source_id, id);

CREATE INDEX issue_links_target ON public.issue_links USING btree (target_id, id);

CREATE INDEX issue_mentions_issue ON public.issue_mentions USING btree (issue_id, user_id);

CREATE UNIQUE INDEX issue_mentions_issue_key ON public.issue_mentions USING btree (issue_id, user_id) WHERE (note_id IS NULL);

CREATE UNIQUE INDEX issue_mentions_note_key ON public.issue_mentions USING btree (note_id, user_id) WHERE (note_id IS NOT NULL);

CREATE INDEX issue_mentions_user ON public.issue_mentions USING btree (user_id);

CREATE INDEX issue_time_logs_issue ON public.issue_time_logs USING btree (issue_id, id);

CREATE INDEX issue_time_logs_user ON public.issue_time_logs USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX issues_all_created ON public.issues USING btree (created_at DESC, id DESC);

CREATE INDEX issues_all_updated ON public.issues USING btree (updated_at DESC, id DESC);

CREATE INDEX issues_author_listed ON public.issues USING btree (author_id, created_at DESC, id DESC) INCLUDE (project_id, closed, confidential);

CREATE INDEX issues_closed_by ON public.issues USING btree (closed_by_id) WHERE (closed_by_id IS NOT NULL);

CREATE INDEX issues_closed_position ON public.issues USING btree (project_id, COALESCE(relative_position, '9223372036854775807'::bigint), id DESC) WHERE closed;

CREATE INDEX issues_confidential ON public.issues USING btree (project_id, created_at DESC, id DESC) WHERE confidential;

CREATE INDEX issues_created ON public.issues USING btree (project_id, created_at DESC, id DESC);

CREATE INDEX issues_description_search ON public.issues USING gin ("left"(description, 10000) public.gin_trgm_ops);

CREATE INDEX issues_due ON public.issues USING btree (project_id, due_date, id) WHERE (due_date IS NOT NULL);

CREATE INDEX issues_due_day ON public.issues USING btree (due_date, id) WHERE ((NOT closed) AND (due_date IS NOT NULL));

CREATE INDEX issues_duplicate_of ON public.issues USING btree (duplicate_of_id) WHERE (duplicate_of_id IS NOT NULL);

CREATE UNIQUE INDEX issues_iid_key ON public.issues USING btree (project_id, iid);

CREATE INDEX issues_milestone_listed ON public.issues USING btree (milestone_id, created_at DESC, id DESC) INCLUDE (project_id, closed, confidential) WHERE (milestone_id IS NOT NULL);

CREATE INDEX issues_moved_to ON public.issues USING btree (moved_to_id) WHERE (moved_to_id IS NOT NULL);

CREATE INDEX issues_open_counted ON public.issues USING btree (project_id, confidential, author_id) WHERE (NOT closed);

CREATE INDEX issues_open_created ON public.issues USING btree (project_id, created_at DESC, id DESC) WHERE (NOT closed);

CREATE INDEX issues_open_position ON public.issues USING btree (project_id, COALESCE(relative_position, '9223372036854775807'::bigint), id DESC) WHERE (NOT closed);

CREATE INDEX issues_position ON public.issues USING btree (project_id, relative_position);

CREATE INDEX issues_title_search ON public.issues USING gin (title public.gin_trgm_ops);

CREATE INDEX issues_updated ON public.issues USING btree (project_id, updated_at DESC, id DESC);

CREATE INDEX job_artifacts_due ON public.job_artifacts USING btree (expire_at, id) WHERE ((state = 'stored'::text) AND (expire_at IS NOT NULL) AND (NOT kept) AND (NOT locked));

CREATE INDEX job_artifacts_expiry ON public.job_artifacts USING btree (expire_at, id) WHERE ((state = 'stored'::text) AND (expire_at IS NOT NULL) AND (NOT kept));

CREATE INDEX job_artifacts_job ON public.job_artifacts USING btree (job_id, id);

CREATE INDEX job_artifacts_open ON public.job_artifacts USING btree (updated_at, id) WHERE (state = ANY (ARRAY['storing'::text, 'removing'::text]));

CREATE INDEX job_artifacts_project ON public.job_artifacts USING btree (project_id, id);

CREATE UNIQUE INDEX job_artifacts_type ON public.job_artifacts USING btree (job_id, file_type) WHERE (state = 'stored'::text);

CREATE INDEX job_artifacts_unfinished ON public.job_artifacts USING btree (updated_at, id) WHERE (state <> 'stored'::text);

CREATE UNIQUE INDEX job_lanes_key ON public.job_lanes USING btree (project_id, protected, tags);

CREATE INDEX job_lanes_serves ON public.job_lanes USING gin (serves);

CREATE INDEX job_logs_erased ON public.job_logs USING btree (erased_at, job_id) WHERE (erased_at IS NOT NULL);

CREATE INDEX job_logs_project ON public.job_logs USING btree (project_id, job_id);

CREATE INDEX job_queue_lane ON public.job_queue USING btree (lane_id, job_id);

CREATE INDEX job_runs_contact ON public.job_runs USING btree (contacted_at) WHERE (ended_at IS NULL);

CREATE INDEX job_runs_deadline ON public.job_runs USING btree (deadline) WHERE (ended_at IS NULL);

CREATE UNIQUE INDEX job_runs_digest_key ON public.job_runs USING btree (digest);

CREATE INDEX job_runs_ended ON public.job_runs USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX job_runs_project ON public.job_runs USING btree (project_id);

CREATE INDEX job_runs_shared ON public.job_runs USING btree (project_id) WHERE (on_instance AND (ended_at IS NULL));

CREATE INDEX job_specs_pipeline ON public.job_specs USING btree (pipeline_id);

CREATE INDEX job_token_allowlist_creator ON public.job_token_allowlist USING btree (created_by_id) WHERE (created_by_id IS NOT NULL);

CREATE INDEX job_token_allowlist_target ON public.job_token_allowlist USING btree (target_id);

CREATE INDEX jobs_downstream ON public.jobs USING btree (downstream_id) WHERE (downstream_id IS NOT NULL);

CREATE INDEX jobs_pending ON public.jobs USING btree (updated_at, id) WHERE (status = ANY (ARRAY['pending'::text, 'preparing'::text, 'waiting_for_resource'::text]));

CREATE INDEX jobs_pipeline ON public.jobs USING btree (pipeline_id, id);

CREATE INDEX jobs_project ON public.jobs USING btree (project_id, id DESC);

CREATE INDEX jobs_project_status ON public.jobs USING btree (project_id, status, id DESC);

CREATE INDEX jobs_resource_group ON public.jobs USING btree (resource_group_id) WHERE (resource_group_id IS NOT NULL);

CREATE INDEX jobs_runner ON public.jobs USING btree (runner_id, status, id DESC) WHERE (runner_id IS NOT NULL);

CREATE INDEX jobs_running ON public.jobs USING btree (runner_id, id) WHERE (status = 'running'::text);

CREATE INDEX jobs_scheduled ON public.jobs USING btree (scheduled_at, id) WHERE (status = 'scheduled'::text);

CREATE INDEX jobs_spec ON public.jobs USING btree (spec_id);

CREATE INDEX jobs_user ON public.jobs USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX key_challenges_expiry ON public.key_challenges USING btree (expires_at);

CREATE INDEX key_challenges_user ON public.key_challenges USING btree (user_id);

CREATE INDEX label_priorities_project ON public.label_priorities USING btree (project_id, label_id);

CREATE INDEX labels_name ON public.labels USING btree (name);

CREATE UNIQUE INDEX labels_namespace_key ON public.labels USING btree (namespace_id, name) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX labels_project_key ON public.labels USING btree (project_id, name) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX lfs_locks_path ON public.lfs_locks USING btree (project_id, path);

CREATE INDEX lfs_locks_project ON public.lfs_locks USING btree (project_id, id);

CREATE INDEX lfs_locks_user ON public.lfs_locks USING btree (user_id);

CREATE INDEX lfs_objects_left ON public.lfs_objects USING btree (left_at, oid) WHERE (left_at IS NOT NULL);

CREATE INDEX lfs_project_objects_oid ON public.lfs_project_objects USING btree (oid);

CREATE INDEX mail_authors_hour ON public.mail_authors USING btree (hour);

CREATE INDEX mail_counts_hour ON public.mail_counts USING btree (hour);

CREATE INDEX mail_events_issue ON public.mail_events USING btree (issue_id) WHERE (issue_id IS NOT NULL);

CREATE INDEX mail_reminders_day ON public.mail_reminders USING btree (day);

CREATE UNIQUE INDEX mailed_links_digest_key ON public.mailed_links USING btree (digest);

CREATE INDEX mailed_links_expiry ON public.mailed_links USING btree (expires_at);

CREATE INDEX mails_failed ON public.mails USING btree (user_id, id) WHERE (failed_at IS NOT NULL);

CREATE INDEX mails_failed_at ON public.mails USING btree (failed_at, id) WHERE (failed_at IS NOT NULL);

CREATE INDEX mails_thread ON public.mails USING btree (user_id, thread, thread_id, id);

CREATE INDEX mails_waiting ON public.mails USING btree (created_at, id) WHERE (failed_at IS NULL);

CREATE INDEX members_created_by ON public.members USING btree (created_by_id) WHERE (created_by_id IS NOT NULL);

CREATE INDEX members_expiry ON public.members USING btree (expires_at, id) WHERE (expires_at IS NOT NULL);

CREATE UNIQUE INDEX members_invite_digest_key ON public.members USING btree (invite_digest) WHERE (invite_digest IS NOT NULL);

CREATE INDEX members_invite_email ON public.members USING btree (lower(invite_email)) WHERE (invite_email IS NOT NULL);

CREATE UNIQUE INDEX members_namespace_invite_key ON public.members USING btree (namespace_id, lower(invite_email));

CREATE INDEX members_namespace_requests ON public.members USING btree (namespace_id, user_id) WHERE (requested_at IS NOT NULL);

CREATE UNIQUE INDEX members_namespace_user_key ON public.members USING btree (namespace_id, user_id);

CREATE UNIQUE INDEX members_project_invite_key ON public.members USING btree (project_id, lower(invite_email));

CREATE INDEX members_project_requests ON public.members USING btree (project_id, user_id) WHERE (requested_at IS NOT NULL);

CREATE UNIQUE INDEX members_project_user_key ON public.members USING btree (project_id, user_id);

CREATE INDEX members_user_namespace ON public.members USING btree (user_id, namespace_id) WHERE (user_id IS NOT NULL);

CREATE INDEX members_user_project ON public.members USING btree (user_id, project_id) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX milestone_counters_namespace_key ON public.milestone_counters USING btree (namespace_id) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX milestone_counters_project_key ON public.milestone_counters USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX milestones_namespace_due ON public.milestones USING btree (namespace_id, COALESCE(due_date, 'infinity'::date), id) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX milestones_namespace_iid_key ON public.milestones USING btree (namespace_id, iid) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX milestones_namespace_title_key ON public.milestones USING btree (namespace_id, title) WHERE (namespace_id IS NOT NULL);

CREATE INDEX milestones_project_due ON public.milestones USING btree (project_id, COALESCE(due_date, 'infinity'::date), id) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX milestones_project_iid_key ON public.milestones USING btree (project_id, iid) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX milestones_project_title_key ON public.milestones USING btree (project_id, title) WHERE (project_id IS NOT NULL);

CREATE INDEX milestones_title ON public.milestones USING btree (title);

CREATE INDEX namespace_custom_attributes_search ON public.namespace_custom_attributes USING btree (key, value, namespace_id);

CREATE INDEX namespaces_lineage ON public.namespaces USING gin (lineage);

CREATE INDEX namespaces_name_order ON public.namespaces USING btree (name, id) WHERE ((kind = 'group'::text) AND (NOT removal));

CREATE UNIQUE INDEX namespaces_owner_key ON public.namespaces USING btree (owner_id);

CREATE INDEX namespaces_parent ON public.namespaces USING btree (parent_id, id);

CREATE INDEX namespaces_path_order ON public.namespaces USING btree (path, id) WHERE ((kind = 'group'::text) AND (NOT removal));

CREATE INDEX namespaces_public ON public.namespaces USING btree (name, id) WHERE ((kind = 'group'::text) AND (visibility = 20) AND (NOT removal));

CREATE INDEX namespaces_search ON public.namespaces USING gin (name public.gin_trgm_ops, path public.gin_trgm_ops);

CREATE INDEX namespaces_seen ON public.namespaces USING btree (name, id) WHERE ((kind = 'group'::text) AND (visibility >= 10) AND (NOT removal));

CREATE INDEX notes_author ON public.notes USING btree (author_id) WHERE (author_id IS NOT NULL);

CREATE INDEX notes_comments ON public.notes USING btree (issue_id, created_at, id) WHERE (NOT system);

CREATE INDEX notes_commit ON public.notes USING btree (commit_project_id, commit_sha, created_at, id) WHERE (commit_project_id IS NOT NULL);

CREATE INDEX notes_created ON public.notes USING btree (issue_id, created_at, id);

CREATE INDEX notes_discussion ON public.notes USING btree (discussion_id, created_at, id);

CREATE INDEX notes_first ON public.notes USING btree (issue_id, created_at, id) WHERE first;

CREATE INDEX notes_references ON public.notes USING btree (issue_id, refers_to_id) WHERE (refers_to_id IS NOT NULL);

CREATE INDEX notes_refers_to ON public.notes USING btree (refers_to_id) WHERE (refers_to_id IS NOT NULL);

CREATE INDEX notes_snippet ON public.notes USING btree (snippet_id, created_at, id) WHERE (snippet_id IS NOT NULL);

CREATE INDEX notes_snippet_updated ON public.notes USING btree (snippet_id, updated_at, id) WHERE (snippet_id IS NOT NULL);

CREATE INDEX notes_updated ON public.notes USING btree (issue_id, updated_at, id);

CREATE INDEX notification_settings_address ON public.notification_settings USING btree (address) WHERE (address IS NOT NULL);

CREATE UNIQUE INDEX notification_settings_namespace_key ON public.notification_settings USING btree (namespace_id, user_id) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX notification_settings_project_key ON public.notification_settings USING btree (project_id, user_id) WHERE (project_id IS NOT NULL);

CREATE INDEX notification_settings_user ON public.notification_settings USING btree (user_id, id);

CREATE UNIQUE INDEX notification_settings_user_key ON public.notification_settings USING btree (user_id) WHERE ((namespace_id IS NULL) AND (project_id IS NULL));

CREATE INDEX oauth_applications_instance ON public.oauth_applications USING btree (id) WHERE (owner_id IS NULL);

CREATE INDEX oauth_applications_owner ON public.oauth_applications USING btree (owner_id, id) WHERE (owner_id IS NOT NULL);

CREATE UNIQUE INDEX oauth_applications_uid_key ON public.oauth_applications USING btree (uid);

CREATE INDEX oauth_codes_application ON public.oauth_codes USING btree (application_id, user_id);

CREATE UNIQUE INDEX oauth_codes_digest_key ON public.oauth_codes USING btree (digest);

CREATE INDEX oauth_codes_expiry ON public.oauth_codes USING btree (expires_at, id);

CREATE INDEX oauth_codes_user ON public.oauth_codes USING btree (user_id);

CREATE INDEX oauth_tokens_application ON public.oauth_tokens USING btree (application_id) WHERE (application_id IS NOT NULL);

CREATE UNIQUE INDEX oauth_tokens_digest_key ON public.oauth_tokens USING btree (digest);

CREATE UNIQUE INDEX oauth_tokens_family_key ON public.oauth_tokens USING btree (family_id) WHERE (revoked_at IS NULL);

CREATE UNIQUE INDEX oauth_tokens_refresh_key ON public.oauth_tokens USING btree (refresh_digest) WHERE (refresh_digest IS NOT NULL);

CREATE INDEX oauth_tokens_revoked ON public.oauth_tokens USING btree (revoked_at, id) WHERE (revoked_at IS NOT NULL);

CREATE INDEX oauth_tokens_spent ON public.oauth_tokens USING btree (expires_at, id) WHERE (refresh_digest IS NULL);

CREATE INDEX oauth_tokens_user ON public.oauth_tokens USING btree (user_id, application_id, id);

CREATE UNIQUE INDEX pages_deployments_active ON public.pages_deployments USING btree (project_id, path_prefix) WHERE active;

CREATE INDEX pages_deployments_expire ON public.pages_deployments USING btree (expire_at, id) WHERE ((expire_at IS NOT NULL) AND (state = 'ready'::text));

CREATE INDEX pages_deployments_prefix ON public.pages_deployments USING btree (project_id, path_prefix, id);

CREATE INDEX pages_deployments_project ON public.pages_deployments USING btree (project_id, id);

CREATE INDEX pages_deployments_unfinished ON public.pages_deployments USING btree (updated_at, id) WHERE (state = ANY (ARRAY['wanted'::text, 'removing'::text]));

CREATE INDEX pages_domains_check ON public.pages_domains USING btree (check_at, id);

CREATE UNIQUE INDEX pages_domains_domain_key ON public.pages_domains USING btree (lower(domain));

CREATE INDEX pages_domains_project ON public.pages_domains USING btree (project_id, domain, id);

CREATE INDEX pages_domains_remove ON public.pages_domains USING btree (remove_at, id) WHERE (remove_at IS NOT NULL);

CREATE UNIQUE INDEX pages_domains_verification_code_key ON public.pages_domains USING btree (verification_code);

CREATE INDEX pages_released_domains_released ON public.pages_released_domains USING btree (released_at);

CREATE INDEX personal_access_tokens_active ON public.personal_access_tokens USING btree (id) WHERE (revoked_at IS NULL);

CREATE INDEX personal_access_tokens_created ON public.personal_access_tokens USING btree (created_at);

CREATE UNIQUE INDEX personal_access_tokens_digest_key ON public.personal_access_tokens USING btree (digest);

CREATE INDEX personal_access_tokens_expiry ON public.personal_access_tokens USING btree (expires_at, id) WHERE ((revoked_at IS NULL) AND (expires_at IS NOT NULL));

CREATE INDEX personal_access_tokens_family ON public.personal_access_tokens USING btree (family_id, id) WHERE ((revoked_at IS NULL) AND (family_id IS NOT NULL));

CREATE INDEX personal_access_tokens_last_used ON public.personal_access_tokens USING btree (last_used_at);

CREATE INDEX personal_access_tokens_name ON public.personal_access_tokens USING gin (name public.gin_trgm_ops);

CREATE INDEX personal_access_tokens_replaces ON public.personal_access_tokens USING btree (replaces_id) WHERE (replaces_id IS NOT NULL);

CREATE INDEX personal_access_tokens_user ON public.personal_access_tokens USING btree (user_id, id);

CREATE INDEX pipeline_schedules_due ON public.pipeline_schedules USING btree (next_run_at, id) WHERE active;

CREATE INDEX pipeline_schedules_owner ON public.pipeline_schedules USING btree (owner_id) WHERE (owner_id IS NOT NULL);

CREATE INDEX pipeline_schedules_project ON public.pipeline_schedules USING btree (project_id, id);

CREATE INDEX pipelines_alive ON public.pipelines USING btree (project_id, ref, id) WHERE (status = ANY (ARRAY['created'::text, 'waiting_for_resource'::text, 'preparing'::text, 'pending'::text, 'running'::text, 'manual'::text, 'scheduled'::text]));

CREATE INDEX pipelines_locked ON public.pipelines USING btree (project_id, ref, tag, id) WHERE locked;

CREATE INDEX pipelines_parent ON public.pipelines USING btree (parent_id) WHERE (parent_id IS NOT NULL);

CREATE INDEX pipelines_project ON public.pipelines USING btree (project_id, id DESC);

CREATE INDEX pipelines_project_ref ON public.pipelines USING btree (project_id, ref, id DESC);

CREATE INDEX pipelines_project_sha ON public.pipelines USING btree (project_id, sha, id DESC);

CREATE INDEX pipelines_project_status ON public.pipelines USING btree (project_id, status, id DESC);

CREATE INDEX pipelines_project_updated ON public.pipelines USING btree (project_id, updated_at DESC, id DESC);

CREATE UNIQUE INDEX pipelines_push ON public.pipelines USING btree (push_id, tag, ref) WHERE (push_id IS NOT NULL);

CREATE INDEX pipelines_root ON public.pipelines USING btree (root_id) WHERE (root_id IS NOT NULL);

CREATE INDEX pipelines_schedule ON public.pipelines USING btree (schedule_id, id DESC) WHERE (schedule_id IS NOT NULL);

CREATE INDEX pipelines_tags ON public.pipelines USING btree (project_id, id DESC) WHERE (tag AND (NOT child));

CREATE INDEX pipelines_user ON public.pipelines USING btree (user_id, id DESC) WHERE (user_id IS NOT NULL);

CREATE INDEX project_custom_attributes_search ON public.project_custom_attributes USING btree (key, value, project_id);

CREATE INDEX project_stars_user ON public.project_stars USING btree (user_id, project_id);

CREATE INDEX projects_activity_order ON public.projects USING btree (last_activity_at, id);

CREATE INDEX projects_creator ON public.projects USING btree (creator_id) WHERE (creator_id IS NOT NULL);

CREATE INDEX projects_forks ON public.projects USING btree (forked_from_id, id) WHERE (forked_from_id IS NOT NULL);

CREATE UNIQUE INDEX projects_name_key ON public.projects USING btree (namespace_id, name);

CREATE INDEX projects_name_order ON public.projects USING btree (name, id);

CREATE INDEX projects_namespace ON public.projects USING btree (namespace_id, id);

CREATE INDEX projects_path_order ON public.projects USING btree (path, id);

CREATE INDEX projects_public_order ON public.projects USING btree (id) WHERE ((visibility = 20) AND (NOT removal));

CREATE INDEX projects_removals ON public.projects USING btree (id) WHERE removal;

CREATE INDEX projects_search ON public.projects USING gin (name public.gin_trgm_ops, path public.gin_trgm_ops, description public.gin_trgm_ops);

CREATE INDEX projects_seen_activity ON public.projects USING btree (last_activity_at, id) WHERE ((visibility >= 10) AND (NOT removal));

CREATE INDEX projects_seen_name ON public.projects USING btree (name, id) WHERE ((visibility >= 10) AND (NOT removal));

CREATE INDEX projects_seen_order ON public.projects USING btree (id) WHERE ((visibility >= 10) AND (NOT removal));

CREATE INDEX projects_seen_path ON public.projects USING btree (path, id) WHERE ((visibility >= 10) AND (NOT removal));

CREATE INDEX projects_seen_updated ON public.projects USING btree (updated_at, id) WHERE ((visibility >= 10) AND (NOT removal));

CREATE INDEX projects_storage ON public.projects USING btree (storage, id);

CREATE INDEX projects_topics ON public.projects USING gin (topics);

CREATE INDEX projects_updated_order ON public.projects USING btree (updated_at, id);

CREATE UNIQUE INDEX protected_branches_name_key ON public.protected_branches USING btree (project_id, name);

CREATE UNIQUE INDEX protected_tags_name_key ON public.protected_tags USING btree (project_id, name);

CREATE INDEX protection_grants_branch ON public.protection_grants USING btree (protected_branch_id, id) WHERE (protected_branch_id IS NOT NULL);

CREATE INDEX protection_grants_deploy_key ON public.protection_grants USING btree (deploy_key_id) WHERE (deploy_key_id IS NOT NULL);

CREATE INDEX protection_grants_group ON public.protection_grants USING btree (group_id) WHERE (group_id IS NOT NULL);

CREATE INDEX protection_grants_tag ON public.protection_grants USING btree (protected_tag_id, id) WHERE (protected_tag_id IS NOT NULL);

CREATE INDEX protection_grants_user ON public.protection_grants USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX pushes_pending ON public.pushes USING btree (id) WHERE (state = 'pending'::text);

CREATE INDEX pushes_project ON public.pushes USING btree (project_id, id);

CREATE INDEX pushes_text ON public.pushes USING btree (text_id, id) WHERE (text_id IS NOT NULL);

CREATE INDEX pushes_user ON public.pushes USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX repositories_storage ON public.repositories USING btree (storage, project_id);

CREATE INDEX resource_events_issue ON public.resource_events USING btree (issue_id, kind, id);

CREATE INDEX resource_events_label ON public.resource_events USING btree (label_id) WHERE (label_id IS NOT NULL);

CREATE INDEX resource_events_milestone ON public.resource_events USING btree (milestone_id) WHERE (milestone_id IS NOT NULL);

CREATE INDEX resource_events_user ON public.resource_events USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX routes_left_by ON public.routes USING btree (left_by) WHERE (left_by IS NOT NULL);

CREATE INDEX routes_namespace ON public.routes USING btree (namespace_id);

CREATE UNIQUE INDEX routes_namespace_key ON public.routes USING btree (namespace_id) WHERE (NOT former);

CREATE INDEX routes_project ON public.routes USING btree (project_id);

CREATE UNIQUE INDEX routes_project_key ON public.routes USING btree (project_id) WHERE (NOT former);

CREATE INDEX routes_resting ON public.routes USING btree (created_at) WHERE (former AND (namespace_id IS NULL) AND (project_id IS NULL));

CREATE INDEX runner_managers_contacted ON public.runner_managers USING btree (contacted_at, id);

CREATE UNIQUE INDEX runner_managers_key ON public.runner_managers USING btree (runner_id, system_id);

CREATE UNIQUE INDEX runner_projects_key ON public.runner_projects USING btree (project_id, runner_id);

CREATE INDEX runner_projects_runner ON public.runner_projects USING btree (runner_id, id);

CREATE UNIQUE INDEX runner_registration_tokens_digest_key ON public.runner_registration_tokens USING btree (digest);

CREATE UNIQUE INDEX runner_registration_tokens_instance ON public.runner_registration_tokens USING btree ((true)) WHERE ((namespace_id IS NULL) AND (project_id IS NULL));

CREATE UNIQUE INDEX runner_registration_tokens_namespace ON public.runner_registration_tokens USING btree (namespace_id) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX runner_registration_tokens_project ON public.runner_registration_tokens USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX runners_by_type ON public.runners USING btree (runner_type, id);

CREATE INDEX runners_creator ON public.runners USING btree (creator_id) WHERE (creator_id IS NOT NULL);

CREATE UNIQUE INDEX runners_digest_key ON public.runners USING btree (digest);

CREATE INDEX runners_namespace ON public.runners USING btree (namespace_id, id) WHERE (namespace_id IS NOT NULL);

CREATE INDEX runners_tags ON public.runners USING gin (tags);

CREATE UNIQUE INDEX security_keys_credential_id_key ON public.security_keys USING btree (credential_id);

CREATE INDEX security_keys_user ON public.security_keys USING btree (user_id, id);

CREATE UNIQUE INDEX sessions_digest_key ON public.sessions USING btree (digest);

CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);

CREATE INDEX sessions_user ON public.sessions USING btree (user_id, id);

CREATE INDEX shares_expiry ON public.shares USING btree (expires_at, id) WHERE (expires_at IS NOT NULL);

CREATE INDEX shares_group ON public.shares USING btree (group_id);

CREATE UNIQUE INDEX shares_namespace_group_key ON public.shares USING btree (namespace_id, group_id);

CREATE UNIQUE INDEX shares_project_group_key ON public.shares USING btree (project_id, group_id);

CREATE INDEX sign_in_tries_expiry ON public.sign_in_tries USING btree (expires_at);

CREATE UNIQUE INDEX signing_keys_active_key ON public.signing_keys USING btree (purpose) WHERE (retired_at IS NULL);

CREATE UNIQUE INDEX signing_keys_kid_key ON public.signing_keys USING btree (kid);

CREATE INDEX snippets_author ON public.snippets USING btree (author_id, id DESC);

CREATE INDEX snippets_personal ON public.snippets USING btree (visibility, id DESC) WHERE ((project_id IS NULL) AND ready);

CREATE INDEX snippets_project ON public.snippets USING btree (project_id, id DESC) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX snippets_repository_key ON public.snippets USING btree (repository_id);

CREATE INDEX snippets_unready ON public.snippets USING btree (created_at) WHERE (NOT ready);

CREATE INDEX ssh_fingerprints_deploy_key ON public.ssh_fingerprints USING btree (deploy_key_id) WHERE (deploy_key_id IS NOT NULL);

CREATE INDEX ssh_fingerprints_ssh_key ON public.ssh_fingerprints USING btree (ssh_key_id) WHERE (ssh_key_id IS NOT NULL);

CREATE UNIQUE INDEX ssh_keys_fingerprint_key ON public.ssh_keys USING btree (fingerprint_sha256);

CREATE INDEX ssh_keys_fingerprint_md5 ON public.ssh_keys USING btree (fingerprint_md5);

CREATE INDEX ssh_keys_user ON public.ssh_keys USING btree (user_id, id);

CREATE INDEX subscriptions_user ON public.subscriptions USING btree (user_id, kind, subject_id);

CREATE INDEX text_repositories_unneeded ON public.text_repositories USING btree (id) WHERE (state = 'unneeded'::text);

CREATE INDEX todos_alert ON public.todos USING btree (alert_id) WHERE (alert_id IS NOT NULL);

CREATE INDEX todos_author ON public.todos USING btree (author_id, user_id, done, id DESC);

CREATE INDEX todos_issue ON public.todos USING btree (issue_id);

CREATE INDEX todos_note ON public.todos USING btree (note_id) WHERE (note_id IS NOT NULL);

CREATE UNIQUE INDEX todos_pending_alert_key ON public.todos USING btree (alert_id, user_id) WHERE ((alert_id IS NOT NULL) AND (NOT done));

CREATE UNIQUE INDEX todos_pending_key ON public.todos USING btree (issue_id, user_id) WHERE (NOT done);

CREATE INDEX todos_project ON public.todos USING btree (project_id, user_id, done, id DESC);

CREATE INDEX todos_user ON public.todos USING btree (user_id, done, id DESC);

CREATE INDEX todos_user_action ON public.todos USING btree (user_id, done, action, id DESC);

CREATE INDEX tracked_errors_events ON public.tracked_errors USING btree (project_id, events, id);

CREATE UNIQUE INDEX tracked_errors_fingerprint ON public.tracked_errors USING btree (project_id, fingerprint);

CREATE INDEX tracked_errors_first_seen ON public.tracked_errors USING btree (project_id, first_seen, id);

CREATE INDEX tracked_errors_last_seen ON public.tracked_errors USING btree (project_id, last_seen, id);

CREATE INDEX tracked_errors_old ON public.tracked_errors USING btree (last_seen);

CREATE UNIQUE INDEX trigger_tokens_digest ON public.trigger_tokens USING btree (digest);

CREATE INDEX trigger_tokens_owner ON public.trigger_tokens USING btree (owner_id);

CREATE INDEX trigger_tokens_project ON public.trigger_tokens USING btree (project_id, id);

CREATE INDEX unsubscriptions_user ON public.unsubscriptions USING btree (user_id, kind, subject_id);

CREATE UNIQUE INDEX uploads_digest ON public.uploads USING btree (digest);

CREATE INDEX uploads_project ON public.uploads USING btree (project_id, id);

CREATE INDEX uploads_unfinished ON public.uploads USING btree (updated_at, id) WHERE (state <> 'stored'::text);

CREATE INDEX uploads_user ON public.uploads USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX user_custom_attributes_search ON public.user_custom_attributes USING btree (key, value, user_id);

CREATE INDEX users_activity ON public.users USING btree (last_activity_on, id);

CREATE INDEX users_admins ON public.users USING btree (id) WHERE admin;

CREATE UNIQUE INDEX users_alert_bot_key ON public.users USING btree (kind) WHERE (kind = 'alert_bot'::text);

CREATE INDEX users_auditors ON public.users USING btree (id) WHERE auditor;

CREATE INDEX users_created ON public.users USING btree (created_at, id);

CREATE INDEX users_created_by ON public.users USING btree (created_by_id) WHERE (created_by_id IS NOT NULL);

CREATE INDEX users_externals ON public.users USING btree (id) WHERE external;

CREATE UNIQUE INDEX users_ghost_key ON public.users USING btree (kind) WHERE (kind = 'ghost'::text);

CREATE INDEX users_inactive ON public.users USING btree (id) WHERE (state <> 'active'::text);

CREATE INDEX users_locked ON public.users USING btree (id) WHERE (locked_at IS NOT NULL);

CREATE INDEX users_name_exact ON public.users USING btree (lower(name), id);

CREATE INDEX users_name_order ON public.users USING btree (name, id);

CREATE UNIQUE INDEX users_namespace_id_key ON public.users USING btree (namespace_id);

CREATE INDEX users_public_email_exact ON public.users USING btree (lower(public_email)) WHERE (public_email <> ''::text);

CREATE INDEX users_removals ON public.users USING btree (id) WHERE (removal IS NOT NULL);

CREATE INDEX users_search ON public.users USING gin (username public.gin_trgm_ops, name public.gin_trgm_ops);

CREATE INDEX users_seen_name_order ON public.users USING btree (name, id) WHERE (state = ANY (ARRAY['active'::text, 'deactivated'::text]));

CREATE INDEX users_seen_order ON public.users USING btree (id) WHERE (state = ANY (ARRAY['active'::text, 'deactivated'::text]));

CREATE INDEX users_seen_username_order ON public.users USING btree (username, id) WHERE (state = ANY (ARRAY['active'::text, 'deactivated'::text]));

CREATE INDEX users_state_order ON public.users USING btree (state, id);

CREATE INDEX users_two_factor ON public.users USING btree (id) WHERE two_factor_enabled;

CREATE INDEX users_updated_order ON public.users USING btree (updated_at, id);

CREATE UNIQUE INDEX users_username_key ON public.users USING btree (lower(username));

CREATE INDEX users_username_order ON public.users USING btree (username, id);

CREATE INDEX variables_namespace ON public.variables USING btree (namespace_id, id) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX variables_namespace_key ON public.variables USING btree (namespace_id, key, environment_scope) WHERE (namespace_id IS NOT NULL);

CREATE INDEX variables_project ON public.variables USING btree (project_id, id) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX variables_project_key ON public.variables USING btree (project_id, key, environment_scope) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX wikis_namespace_key ON public.wikis USING btree (namespace_id) WHERE (namespace_id IS NOT NULL);

CREATE UNIQUE INDEX wikis_project_key ON public.wikis USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE UNIQUE INDEX wikis_repository_key ON public.wikis USING btree (repository_id);

ALTER INDEX public.audit_events_created ATTACH PARTITION public.audit_events_default_created_at_id_idx;

ALTER INDEX public.audit_events_entity ATTACH PARTITION public.audit_events_default_entity_type_entity_id_id_idx;

ALTER INDEX public.audit_events_pkey ATTACH PARTITION public.audit_events_default_pkey;

ALTER INDEX public.audit_seals_chain ATTACH PARTITION public.audit_seals_default_entity_type_entity_id_number_idx;

ALTER INDEX public.audit_seals_pkey ATTACH PARTITION public.audit_seals_default_pkey;

ALTER INDEX public.events_pkey ATTACH PARTITION public.events_default_pkey;

ALTER INDEX public.events_project ATTACH PARTITION public.events_default_project_id_created_at_id_idx;

CREATE TRIGGER audit_blocks_kept BEFORE DELETE OR UPDATE ON public.audit_blocks FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_blocks_whole BEFORE TRUNCATE ON public.audit_blocks FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_days_kept BEFORE DELETE OR UPDATE ON public.audit_days FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_days_whole BEFORE TRUNCATE ON public.audit_days FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_events_default_whole BEFORE TRUNCATE ON public.audit_events_default FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_events_kept BEFORE DELETE OR UPDATE ON public.audit_events FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_events_unsealed AFTER INSERT ON public.audit_events FOR EACH ROW EXECUTE FUNCTION public.wait_for_seal();

CREATE TRIGGER audit_events_whole BEFORE TRUNCATE ON public.audit_events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_heads_kept BEFORE DELETE ON public.audit_heads FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_heads_whole BEFORE TRUNCATE ON public.audit_heads FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_retired_kept BEFORE DELETE OR UPDATE ON public.audit_retired FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_retired_whole BEFORE TRUNCATE ON public.audit_retired FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_seals_default_whole BEFORE TRUNCATE ON public.audit_seals_default FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_seals_kept BEFORE DELETE OR UPDATE ON public.audit_seals FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER audit_seals_whole BEFORE TRUNCATE ON public.audit_seals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER award_emoji_given AFTER INSERT ON public.award_emoji REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_votes();

CREATE TRIGGER award_emoji_taken AFTER DELETE ON public.award_emoji REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_votes();

CREATE TRIGGER board_lists_gaps AFTER DELETE ON public.board_lists REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.close_board_gaps();

CREATE TRIGGER commit_comments_kept AFTER INSERT ON public.commit_comments FOR EACH ROW EXECUTE FUNCTION public.on_commit_comment();

CREATE TRIGGER deploy_keys_fingerprint AFTER INSERT ON public.deploy_keys FOR EACH ROW EXECUTE FUNCTION public.claim_fingerprint();

CREATE TRIGGER issue_assignees_copy BEFORE INSERT ON public.issue_assignees FOR EACH ROW EXECUTE FUNCTION public.copy_issue();

CREATE TRIGGER issue_labels_copy BEFORE INSERT ON public.issue_labels FOR EACH ROW EXECUTE FUNCTION public.copy_issue();

CREATE TRIGGER issues_subscriptions AFTER DELETE ON public.issues REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.drop_subscriptions('issue');

CREATE TRIGGER labels_subscriptions AFTER DELETE ON public.labels REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.drop_subscriptions('label');

CREATE TRIGGER namespaces_lowered AFTER UPDATE OF visibility ON public.namespaces FOR EACH ROW WHEN ((new.visibility < old.visibility)) EXECUTE FUNCTION public.check_visibility_of_parent();

CREATE TRIGGER namespaces_visibility BEFORE INSERT OR UPDATE OF visibility, parent_id ON public.namespaces FOR EACH ROW EXECUTE FUNCTION public.check_visibility_of_child();

CREATE TRIGGER projects_alerts_unsubscriptions AFTER DELETE ON public.projects REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.drop_subscriptions('alerts');

CREATE TRIGGER projects_pipelines_unsubscriptions AFTER DELETE ON public.projects REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.drop_subscriptions('pipelines');

CREATE TRIGGER projects_unsubscriptions AFTER DELETE ON public.projects REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.drop_subscriptions('project');

CREATE TRIGGER projects_visibility BEFORE INSERT OR UPDATE OF visibility, namespace_id ON public.projects FOR EACH ROW EXECUTE FUNCTION public.check_visibility_of_child();

CREATE TRIGGER snippets_repositories AFTER DELETE ON public.snippets REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.leave_text_repositories();

CREATE TRIGGER ssh_keys_fingerprint AFTER INSERT ON public.ssh_keys FOR EACH ROW EXECUTE FUNCTION public.claim_fingerprint();

CREATE TRIGGER wikis_repositories AFTER DELETE ON public.wikis REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.leave_text_repositories();

ALTER TABLE ONLY public.alert_assignees
    ADD CONSTRAINT alert_assignees_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES public.alerts(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.alert_assignees
    ADD CONSTRAINT alert_assignees_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.alert_changes
    ADD CONSTRAINT alert_changes_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES public.alerts(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.alert_changes
    ADD CONSTRAINT alert_changes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.alert_counters
    ADD CONSTRAINT alert_counters_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.alert_integrations
    ADD CONSTRAINT alert_integrations_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.alert_metric_images
    ADD CONSTRAINT alert_metric_images_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES public.alerts(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.alert_metric_images
    ADD CONSTRAINT alert_metric_images_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.alert_settings
    ADD CONSTRAINT alert_settings_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES public.alert_integrations(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.audit_event_dead_letters
    ADD CONSTRAINT audit_event_dead_letters_destination_id_fkey FOREIGN KEY (destination_id) REFERENCES public.audit_event_destinations(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.audit_event_destinations
    ADD CONSTRAINT audit_event_destinations_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.avatars
    ADD CONSTRAINT avatars_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.award_emoji
    ADD CONSTRAINT award_emoji_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.award_emoji
    ADD CONSTRAINT award_emoji_note_id_fkey FOREIGN KEY (note_id) REFERENCES public.notes(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.award_emoji
    ADD CONSTRAINT award_emoji_snippet_id_fkey FOREIGN KEY (snippet_id) REFERENCES public.snippets(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.award_emoji
    ADD CONSTRAINT award_emoji_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.badges
    ADD CONSTRAINT badges_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.badges
    ADD CONSTRAINT badges_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.board_lists
    ADD CONSTRAINT board_lists_board_id_fkey FOREIGN KEY (board_id) REFERENCES public.boards(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.board_lists
    ADD CONSTRAINT board_lists_label_id_fkey FOREIGN KEY (label_id) REFERENCES public.labels(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.board_lists
    ADD CONSTRAINT board_lists_milestone_id_fkey FOREIGN KEY (milestone_id) REFERENCES public.milestones(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.board_lists
    ADD CONSTRAINT board_lists_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.boards
    ADD CONSTRAINT boards_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.boards
    ADD CONSTRAINT boards_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cluster_agent_grants
    ADD CONSTRAINT cluster_agent_grants_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES public.cluster_agents(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cluster_agent_grants
    ADD CONSTRAINT cluster_agent_grants_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cluster_agent_grants
    ADD CONSTRAINT cluster_agent_grants_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.cluster_agents
    ADD CONSTRAINT cluster_agents_created_by_id_fkey FOREIGN KEY (created_by_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.cluster_agents
    ADD CONSTRAINT cluster_agents_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.commit_comments
    ADD CONSTRAINT commit_comments_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.commit_comments
    ADD CONSTRAINT commit_comments_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.commit_statuses
    ADD CONSTRAINT commit_statuses_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.commit_statuses
    ADD CONSTRAINT commit_statuses_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.deploy_key_projects
    ADD CONSTRAINT deploy_key_projects_deploy_key_id_fkey FOREIGN KEY (deploy_key_id) REFERENCES public.deploy_keys(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.deploy_key_projects
    ADD CONSTRAINT deploy_key_projects_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.deploy_keys
    ADD CONSTRAINT deploy_keys_created_by_id_fkey FOREIGN KEY (created_by_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.deploy_tokens
    ADD CONSTRAINT deploy_tokens_created_by_id_fkey FOREIGN KEY (created_by_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.deploy_tokens
    ADD CONSTRAINT deploy_tokens_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.deploy_tokens
    ADD CONSTRAINT deploy_tokens_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.email_claims
    ADD CONSTRAINT email_claims_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.emails
    ADD CONSTRAINT emails_address_fkey FOREIGN KEY (address) REFERENCES public.email_claims(address) ON DELETE CASCADE;

ALTER TABLE ONLY public.emails
    ADD CONSTRAINT emails_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.error_client_keys
    ADD CONSTRAINT error_client_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.error_events
    ADD CONSTRAINT error_events_error_id_fkey FOREIGN KEY (error_id) REFERENCES public.tracked_errors(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.error_hours
    ADD CONSTRAINT error_hours_error_id_fkey FOREIGN KEY (error_id) REFERENCES public.tracked_errors(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.error_people
    ADD CONSTRAINT error_people_error_id_fkey FOREIGN KEY (error_id) REFERENCES public.tracked_errors(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.error_places
    ADD CONSTRAINT error_places_error_id_fkey FOREIGN KEY (error_id) REFERENCES public.tracked_errors(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.error_tracking_settings
    ADD CONSTRAINT error_tracking_settings_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.follows
    ADD CONSTRAINT follows_followed_id_fkey FOREIGN KEY (followed_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.follows
    ADD CONSTRAINT follows_follower_id_fkey FOREIGN KEY (follower_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.gpg_keys
    ADD CONSTRAINT gpg_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.half_sign_ins
    ADD CONSTRAINT half_sign_ins_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_agents
    ADD CONSTRAINT issue_agents_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_agents
    ADD CONSTRAINT issue_agents_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_assignees
    ADD CONSTRAINT issue_assignees_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_assignees
    ADD CONSTRAINT issue_assignees_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_commits
    ADD CONSTRAINT issue_commits_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.resource_events(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issue_commits
    ADD CONSTRAINT issue_commits_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_commits
    ADD CONSTRAINT issue_commits_note_id_fkey FOREIGN KEY (note_id) REFERENCES public.notes(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issue_commits
    ADD CONSTRAINT issue_commits_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_counters
    ADD CONSTRAINT issue_counters_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_labels
    ADD CONSTRAINT issue_labels_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_labels
    ADD CONSTRAINT issue_labels_label_id_fkey FOREIGN KEY (label_id) REFERENCES public.labels(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_links
    ADD CONSTRAINT issue_links_source_id_fkey FOREIGN KEY (source_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_links
    ADD CONSTRAINT issue_links_target_id_fkey FOREIGN KEY (target_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_mentions
    ADD CONSTRAINT issue_mentions_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_mentions
    ADD CONSTRAINT issue_mentions_note_id_fkey FOREIGN KEY (note_id) REFERENCES public.notes(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_mentions
    ADD CONSTRAINT issue_mentions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_time_logs
    ADD CONSTRAINT issue_time_logs_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.issue_time_logs
    ADD CONSTRAINT issue_time_logs_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issues
    ADD CONSTRAINT issues_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issues
    ADD CONSTRAINT issues_closed_by_id_fkey FOREIGN KEY (closed_by_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issues
    ADD CONSTRAINT issues_duplicate_of_id_fkey FOREIGN KEY (duplicate_of_id) REFERENCES public.issues(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issues
    ADD CONSTRAINT issues_milestone_id_fkey FOREIGN KEY (milestone_id) REFERENCES public.milestones(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issues
    ADD CONSTRAINT issues_moved_to_id_fkey FOREIGN KEY (moved_to_id) REFERENCES public.issues(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.issues
    ADD CONSTRAINT issues_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_lanes
    ADD CONSTRAINT job_lanes_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_queue
    ADD CONSTRAINT job_queue_lane_id_fkey FOREIGN KEY (lane_id) REFERENCES public.job_lanes(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_runs
    ADD CONSTRAINT job_runs_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_specs
    ADD CONSTRAINT job_specs_pipeline_id_fkey FOREIGN KEY (pipeline_id) REFERENCES public.pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_test_reports
    ADD CONSTRAINT job_test_reports_artifact_id_fkey FOREIGN KEY (artifact_id) REFERENCES public.job_artifacts(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_token_allowlist
    ADD CONSTRAINT job_token_allowlist_created_by_id_fkey FOREIGN KEY (created_by_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.job_token_allowlist
    ADD CONSTRAINT job_token_allowlist_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_token_allowlist
    ADD CONSTRAINT job_token_allowlist_target_id_fkey FOREIGN KEY (target_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_token_scopes
    ADD CONSTRAINT job_token_scopes_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_variables
    ADD CONSTRAINT job_variables_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_downstream_id_fkey FOREIGN KEY (downstream_id) REFERENCES public.pipelines(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pipeline_id_fkey FOREIGN KEY (pipeline_id) REFERENCES public.pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_resource_group_id_fkey FOREIGN KEY (resource_group_id) REFERENCES public.resource_groups(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_spec_id_fkey FOREIGN KEY (spec_id) REFERENCES public.job_specs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.key_challenges
    ADD CONSTRAINT key_challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.label_priorities
    ADD CONSTRAINT label_priorities_label_id_fkey FOREIGN KEY (label_id) REFERENCES public.labels(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.label_priorities
    ADD CONSTRAINT label_priorities_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.lfs_locks
    ADD CONSTRAINT lfs_locks_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.lfs_locks
    ADD CONSTRAINT lfs_locks_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.lfs_project_objects
    ADD CONSTRAINT lfs_project_objects_oid_fkey FOREIGN KEY (oid) REFERENCES public.lfs_objects(oid);

ALTER TABLE ONLY public.lfs_project_objects
    ADD CONSTRAINT lfs_project_objects_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.mail_counts
    ADD CONSTRAINT mail_counts_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.mailed_links
    ADD CONSTRAINT mailed_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_created_by_id_fkey FOREIGN KEY (created_by_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.milestone_counters
    ADD CONSTRAINT milestone_counters_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.milestone_counters
    ADD CONSTRAINT milestone_counters_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.milestones
    ADD CONSTRAINT milestones_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.milestones
    ADD CONSTRAINT milestones_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.namespace_avatars
    ADD CONSTRAINT namespace_avatars_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.namespace_custom_attributes
    ADD CONSTRAINT namespace_custom_attributes_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.namespaces
    ADD CONSTRAINT namespaces_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.namespaces
    ADD CONSTRAINT namespaces_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.namespaces(id);

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_commit_project_id_fkey FOREIGN KEY (commit_project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_refers_to_id_fkey FOREIGN KEY (refers_to_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_snippet_id_fkey FOREIGN KEY (snippet_id) REFERENCES public.snippets(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notification_settings
    ADD CONSTRAINT notification_settings_address_fkey FOREIGN KEY (address) REFERENCES public.email_claims(address) ON DELETE SET NULL;

ALTER TABLE ONLY public.notification_settings
    ADD CONSTRAINT notification_settings_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notification_settings
    ADD CONSTRAINT notification_settings_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notification_settings
    ADD CONSTRAINT notification_settings_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.oauth_applications
    ADD CONSTRAINT oauth_applications_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.oauth_applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.oauth_tokens
    ADD CONSTRAINT oauth_tokens_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.oauth_applications(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.oauth_tokens
    ADD CONSTRAINT oauth_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.one_time_secrets
    ADD CONSTRAINT one_time_secrets_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pages_domains
    ADD CONSTRAINT pages_domains_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pages_settings
    ADD CONSTRAINT pages_settings_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.personal_access_tokens
    ADD CONSTRAINT personal_access_tokens_replaces_id_fkey FOREIGN KEY (replaces_id) REFERENCES public.personal_access_tokens(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.personal_access_tokens
    ADD CONSTRAINT personal_access_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pipeline_counters
    ADD CONSTRAINT pipeline_counters_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pipeline_schedule_variables
    ADD CONSTRAINT pipeline_schedule_variables_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES public.pipeline_schedules(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pipeline_schedules
    ADD CONSTRAINT pipeline_schedules_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.pipeline_schedules
    ADD CONSTRAINT pipeline_schedules_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pipeline_variables
    ADD CONSTRAINT pipeline_variables_pipeline_id_fkey FOREIGN KEY (pipeline_id) REFERENCES public.pipelines(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pipelines_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.pipelines(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pipelines_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pipelines_root_id_fkey FOREIGN KEY (root_id) REFERENCES public.pipelines(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pipelines_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES public.pipeline_schedules(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pipelines_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.project_avatars
    ADD CONSTRAINT project_avatars_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.project_custom_attributes
    ADD CONSTRAINT project_custom_attributes_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.project_stars
    ADD CONSTRAINT project_stars_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.project_stars
    ADD CONSTRAINT project_stars_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_creator_id_fkey FOREIGN KEY (creator_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_forked_from_id_fkey FOREIGN KEY (forked_from_id) REFERENCES public.projects(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id);

ALTER TABLE ONLY public.protected_branches
    ADD CONSTRAINT protected_branches_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.protected_tags
    ADD CONSTRAINT protected_tags_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.protection_grants
    ADD CONSTRAINT protection_grants_group_id_fkey FOREIGN KEY (group_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.protection_grants
    ADD CONSTRAINT protection_grants_protected_branch_id_fkey FOREIGN KEY (protected_branch_id) REFERENCES public.protected_branches(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.protection_grants
    ADD CONSTRAINT protection_grants_protected_tag_id_fkey FOREIGN KEY (protected_tag_id) REFERENCES public.protected_tags(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.protection_grants
    ADD CONSTRAINT protection_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pushes
    ADD CONSTRAINT pushes_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pushes
    ADD CONSTRAINT pushes_text_id_fkey FOREIGN KEY (text_id) REFERENCES public.text_repositories(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.pushes
    ADD CONSTRAINT pushes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.refused_addresses
    ADD CONSTRAINT refused_addresses_address_fkey FOREIGN KEY (address) REFERENCES public.email_claims(address) ON DELETE CASCADE;

ALTER TABLE ONLY public.repositories
    ADD CONSTRAINT repositories_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.repository_imports
    ADD CONSTRAINT repository_imports_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.resource_events
    ADD CONSTRAINT resource_events_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.resource_events
    ADD CONSTRAINT resource_events_label_id_fkey FOREIGN KEY (label_id) REFERENCES public.labels(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.resource_events
    ADD CONSTRAINT resource_events_milestone_id_fkey FOREIGN KEY (milestone_id) REFERENCES public.milestones(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.resource_events
    ADD CONSTRAINT resource_events_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.resource_groups
    ADD CONSTRAINT resource_groups_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_left_by_fkey FOREIGN KEY (left_by) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runner_managers
    ADD CONSTRAINT runner_managers_runner_id_fkey FOREIGN KEY (runner_id) REFERENCES public.runners(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runner_projects
    ADD CONSTRAINT runner_projects_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runner_projects
    ADD CONSTRAINT runner_projects_runner_id_fkey FOREIGN KEY (runner_id) REFERENCES public.runners(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runner_registration_tokens
    ADD CONSTRAINT runner_registration_tokens_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runner_registration_tokens
    ADD CONSTRAINT runner_registration_tokens_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runners
    ADD CONSTRAINT runners_creator_id_fkey FOREIGN KEY (creator_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.runners
    ADD CONSTRAINT runners_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.security_keys
    ADD CONSTRAINT security_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_group_id_fkey FOREIGN KEY (group_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.shares
    ADD CONSTRAINT shares_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.snippets
    ADD CONSTRAINT snippets_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.snippets
    ADD CONSTRAINT snippets_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.snippets
    ADD CONSTRAINT snippets_repository_id_fkey FOREIGN KEY (repository_id) REFERENCES public.text_repositories(id);

ALTER TABLE ONLY public.ssh_fingerprints
    ADD CONSTRAINT ssh_fingerprints_deploy_key_id_fkey FOREIGN KEY (deploy_key_id) REFERENCES public.deploy_keys(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ssh_fingerprints
    ADD CONSTRAINT ssh_fingerprints_ssh_key_id_fkey FOREIGN KEY (ssh_key_id) REFERENCES public.ssh_keys(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ssh_keys
    ADD CONSTRAINT ssh_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES public.alerts(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_issue_id_fkey FOREIGN KEY (issue_id) REFERENCES public.issues(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_note_id_fkey FOREIGN KEY (note_id) REFERENCES public.notes(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.tracked_errors
    ADD CONSTRAINT tracked_errors_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.trigger_tokens
    ADD CONSTRAINT trigger_tokens_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.trigger_tokens
    ADD CONSTRAINT trigger_tokens_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unsubscriptions
    ADD CONSTRAINT unsubscriptions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uploads_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.user_custom_attributes
    ADD CONSTRAINT user_custom_attributes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.user_statuses
    ADD CONSTRAINT user_statuses_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.variables
    ADD CONSTRAINT variables_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.variables
    ADD CONSTRAINT variables_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.wikis
    ADD CONSTRAINT wikis_namespace_id_fkey FOREIGN KEY (namespace_id) REFERENCES public.namespaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.wikis
    ADD CONSTRAINT wikis_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.wikis
    ADD CONSTRAINT wikis_repository_id_fkey FOREIGN KEY (repository_id) REFERENCES public.text_repositories(id);
