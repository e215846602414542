-- +goose NO TRANSACTION
-- +goose Up
-- What others pushed to a repository of texts.
set lock_timeout = 0;
drop index concurrently if exists pushes_text;
create index concurrently pushes_text on pushes (text_id, id) where text_id is not null;
reset lock_timeout;
