package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Limits are how long the database may keep somebody waiting. Zero stands for the default.
type Limits struct {
	Connection  time.Duration // for a free connection, or a new one: 5 seconds
	Statement   time.Duration // for what a statement gives, all its rows: 15 seconds
	Transaction time.Duration // from its first statement to the end: 30 seconds
}

// ErrTimeout is the error of what took longer than its limit.
var ErrTimeout = errors.New("the database took too long")

type limitsKey struct{}

// Within bounds what the database does on behalf of somebody who waits for an answer. Work that nobody waits for, such
// as jobs, is bounded by the server alone.
func Within(ctx context.Context, l Limits) context.Context {
	l.Connection = cmp.Or(l.Connection, 5*time.Second)
	l.Statement = cmp.Or(l.Statement, 15*time.Second)
	l.Transaction = cmp.Or(l.Transaction, 30*time.Second)
	return context.WithValue(ctx, limitsKey{}, l)
}

// Unavailable reports whether an error means that the database is away, is stopping, is full, or keeps its answer for
// too long: the same request may succeed a little later, and nobody made a mistake.
func Unavailable(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return len(refused.Code) == 5 && (refused.Code[:2] == "08" || refused.Code[:2] == "53" || slices.Contains(awayCodes, refused.Code))
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[*net.OpError](err)
	broken := network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
	return errors.Is(err, ErrTimeout) || connecting || pgconn.SafeToRetry(err) || (broken && errors.Is(err, errTalking))
}

// awayCodes are those of PostgreSQL for a statement or a lock that took too long, for a server that stops or starts, and
// for one that only reads.
var awayCodes = []string{"57014", "55P03", "57P01", "57P02", "57P03", "57P05", "25006"}

// errTalking marks errors that came from talking to the database.
var errTalking = errors.New("talking to the database")

// call is one use of a connection.
type call struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelFunc
	conn   *pgxpool.Conn
}

// begin waits for a connection. Whoever begins calls end, once.
func (db *DB) begin(ctx context.Context, most func(Limits) time.Duration) (*call, error) {
	db.strict.beside()
	limits, bounded := ctx.Value(limitsKey{}).(Limits)
	waiting, cancel := ctx, func() {}
	if bounded {
		waiting, cancel = context.WithTimeout(ctx, limits.Connection)
	}
	defer cancel()
	conn, err := db.pool.Acquire(waiting)
	if err != nil {
		return nil, (&call{parent: ctx, ctx: waiting}).explain(err)
	}
	c := &call{parent: ctx, ctx: ctx, cancel: func() {}, conn: conn}
	if bounded {
		c.ctx, c.cancel = context.WithTimeout(ctx, most(limits))
	}
	return c, nil
}

func statement(l Limits) time.Duration   { return l.Statement }
func transaction(l Limits) time.Duration { return l.Transaction }

func (c *call) end() {
	c.cancel()
	if c.conn != nil {
		c.conn.Release()
		c.conn = nil
	}
}

// explain says of an error whether the limit was its cause.
func (c *call) explain(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrNoRows):
		return err
	case c.ctx != c.parent && c.parent.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(c.ctx.Err(), context.DeadlineExceeded)):
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return err
	}
	return &talkingError{err}
}

// talkingError is an error that is not the database's word on a statement. It reads as what it wraps.
type talkingError struct{ error }

func (e *talkingError) Unwrap() []error { return []error{e.error, errTalking} }

func (db *DB) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c, err := db.begin(ctx, statement)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer c.end()
	tag, err := c.conn.Exec(c.ctx, sql, args...)
	return tag, c.explain(err)
}

// InBatches repeats a statement until it finds fewer rows than it may take at once, so that none holds many for long. How
// many that are is its last argument.
func (db *DB) InBatches(ctx context.Context, batch int, sql string, args ...any) error {
	args = append(slices.Clip(args), batch)
	for {
		tag, err := db.Exec(ctx, sql, args...)
		if err != nil || tag.RowsAffected() < int64(batch) {
			return err
		}
	}
}

func (db *DB) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c, err := db.begin(ctx, statement)
	if err != nil {
		return noRows{err}, err
	}
	got, err := c.conn.Query(c.ctx, sql, args...)
	if err != nil {
		c.end()
		err = c.explain(err)
		return noRows{err}, err
	}
	return &rows{Rows: got, explain: c.explain, end: c.end}, nil
}

func (db *DB) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	got, _ := db.Query(ctx, sql, args...) // the error comes back from reading
	return row{got}
}

func (db *DB) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	c, err := db.begin(ctx, statement)
	if err != nil {
		return noBatch{err}
	}
	return &batch{BatchResults: c.conn.SendBatch(c.ctx, b), explain: c.explain, end: c.end}
}

func (db *DB) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, from pgx.CopyFromSource) (int64, error) {
	c, err := db.begin(ctx, statement)
	if err != nil {
		return 0, err
	}
	defer c.end()
	n, err := c.conn.CopyFrom(c.ctx, table, columns, from)
	return n, c.explain(err)
}

// InTx runs fn in a transaction (read committed) that is committed when fn returns nil and rolled back when fn returns
// an error or panics. The error of fn comes back as it is.
func (db *DB) InTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	c, err := db.begin(ctx, transaction)
	if err != nil {
		return fmt.Errorf("beginning transaction: %w", err)
	}
	defer c.end()
	inner, err := c.conn.Begin(c.ctx)
	if err != nil {
		return fmt.Errorf("beginning transaction: %w", c.explain(err))
	}
	// After a commit this does nothing. A rollback that fails closes the connection, which rolls back too.
	defer func() { _ = inner.Rollback(c.ctx) }()
	defer db.strict.enter()()
	if err := fn(&tx{Tx: inner, call: c}); err != nil {
		return err
	}
	if err := inner.Commit(c.ctx); err != nil {
		return fmt.Errorf("committing transaction: %w", c.explain(err))
	}
	return nil
}

// tx is a transaction whose statements end when its time does.
type tx struct {
	pgx.Tx
	*call
}

// within is the context of a statement: the caller's, which ends with the transaction's at the latest.
func (t *tx) within(ctx context.Context) (context.Context, func()) {
	deadline, bounded := t.ctx.Deadline()
	if !bounded {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline)
}

func (t *tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	ctx, cancel := t.within(ctx)
	defer cancel()
	tag, err := t.Tx.Exec(ctx, sql, args...)
	return tag, t.explain(err)
}

func (t *tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	ctx, cancel := t.within(ctx)
	got, err := t.Tx.Query(ctx, sql, args...)
	if err != nil {
		cancel()
		err = t.explain(err)
		return noRows{err}, err
	}
	return &rows{Rows: got, explain: t.explain, end: cancel}, nil
}

func (t *tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	got, _ := t.Query(ctx, sql, args...)
	return row{got}
}

func (t *tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	ctx, cancel := t.within(ctx)
	return &batch{BatchResults: t.Tx.SendBatch(ctx, b), explain: t.explain, end: cancel}
}

func (t *tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, from pgx.CopyFromSource) (int64, error) {
	ctx, cancel := t.within(ctx)
	defer cancel()
	n, err := t.Tx.CopyFrom(ctx, table, columns, from)
	return n, t.explain(err)
}

// rows give back what they need when they are read or closed.
type rows struct {
	pgx.Rows
	explain func(error) error
	end     func()
	ended   bool
}

func (r *rows) Close() {
	r.Rows.Close()
	if !r.ended {
		r.ended = true
		r.end()
	}
}

func (r *rows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *rows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	if err != nil {
		r.Close()
	}
	return err
}

func (r *rows) Err() error { return r.explain(r.Rows.Err()) }

// row is the first of some rows.
type row struct{ rows pgx.Rows }

func (r row) Scan(dest ...any) error {
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// batch gives back its connection when it is closed.
type batch struct {
	pgx.BatchResults
	explain func(error) error
	end     func()
	ended   bool
}

func (b *batch) Close() error {
	err := b.explain(b.BatchResults.Close())
	if !b.ended {
		b.ended = true
		b.end()
	}
	return err
}

// noRows are the rows of a query that failed.
type noRows struct{ err error }

func (r noRows) Close()                                       {}
func (r noRows) Err() error                                   { return r.err }
func (r noRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (r noRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (r noRows) Next() bool                                   { return false }
func (r noRows) Scan(...any) error                            { return r.err }
func (r noRows) Values() ([]any, error)                       { return nil, r.err }
func (r noRows) RawValues() [][]byte                          { return nil }
func (r noRows) TypeMap() *pgtype.Map                         { return nil }
func (r noRows) Conn() *pgx.Conn                              { return nil }

// noBatch is the result of a batch that was not sent.
type noBatch struct{ err error }

func (b noBatch) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, b.err }
func (b noBatch) Query() (pgx.Rows, error)         { return noRows(b), b.err }
func (b noBatch) QueryRow() pgx.Row                { return row{noRows(b)} }
func (b noBatch) Close() error                     { return b.err }
