-- +goose NO TRANSACTION
-- +goose Up
-- Who has confirmed an address finds the invitations to it.
set lock_timeout = 0;
drop index concurrently if exists members_invite_email;
create index concurrently members_invite_email on members (lower(invite_email)) where invite_email is not null;
reset lock_timeout;
