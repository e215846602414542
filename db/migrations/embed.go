// Package migrations holds the database schema as numbered goose files. They are applied in order and only forwards:
// there are no Down sections, and a file that has been released is never edited. Numbers 7, 20 and 21 were never given: what counts is
// the order.
//
// The previous release keeps running on the schema of the next one, so a step only adds; what it replaces is removed
// one release later.
//
// An index on a table that may be large is built in a file of its own, so that it can be repeated after a failure and
// waits for old transactions as long as it must:
//
//	-- +goose NO TRANSACTION
//	-- +goose Up
//	set lock_timeout = 0;
//	drop index concurrently if exists users_name_idx;
//	create index concurrently users_name_idx on users (name);
//	reset lock_timeout;
//
// A constraint on such a table is added `not valid`, and validated in a later file: both in one transaction would hold the
// table while it is read. archtest refuses these and other statements that do.
package migrations

import "embed"

// Files are the migrations, one file for each version.
//
//go:embed *.sql
var Files embed.FS
