-- +goose Up

-- Keys of the accounts that the instance has with authorities of certificates, by the address of their directory.
create table acme_accounts (
    directory  text  primary key,
    key_sealed bytea not null,
    constraint acme_accounts_directory check (length(directory) <= 2048),
    constraint acme_accounts_key_sealed check (octet_length(key_sealed) <= 4096)
);

-- Names that a certificate is wanted for. Whoever orders one holds the lease meanwhile.
create table acme_certificates (
    name         text        primary key,
    chain        text        not null default '',
    key_sealed   bytea       not null default '',
    not_before   timestamptz,
    not_after    timestamptz,
    due_at       timestamptz not null,
    leased_until timestamptz not null default '-infinity',
    failures     integer     not null default 0,
    problem      text        not null default '',
    version      bigint      not null default 0,
    constraint acme_certificates_name check (length(name) <= 253),
    constraint acme_certificates_chain check (length(chain) <= 262144),
    constraint acme_certificates_key_sealed check (octet_length(key_sealed) <= 16384),
    constraint acme_certificates_problem check (length(problem) <= 1000)
);

create index acme_certificates_due on acme_certificates (due_at);

-- What authorities ask to prove a name, and the answer, which any node gives.
create table acme_challenges (
    name       text        not null,
    token      text        not null,
    kind       text        not null,
    answer     text        not null,
    expires_at timestamptz not null,
    primary key (name, token),
    constraint acme_challenges_name check (length(name) <= 253),
    constraint acme_challenges_token check (length(token) <= 253),
    constraint acme_challenges_answer check (length(answer) <= 1024),
    constraint acme_challenges_kind check (kind in ('http-01', 'tls-alpn-01'))
);

create index acme_challenges_expired on acme_challenges (expires_at);
