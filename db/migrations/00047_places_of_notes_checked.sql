-- +goose Up
alter table notes validate constraint notes_place;
alter table notes validate constraint notes_commit_sha_length;
alter table notes validate constraint notes_position_length;
alter table award_emoji validate constraint award_emoji_subject;
-- What was said about commits so far.
select keep_commit_comment(c) from commit_comments c order by c.id;
