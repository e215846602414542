-- +goose NO TRANSACTION
-- +goose Up
-- Administrators list the accounts that too many wrong passwords locked.
set lock_timeout = 0;
drop index concurrently if exists users_locked;
create index concurrently users_locked on users (id) where locked_at is not null;
reset lock_timeout;
