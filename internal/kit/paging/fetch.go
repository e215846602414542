package paging

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Fetch reads one page of a list whose filters and order are set. after gives
// the values that a row is ordered by; offset-only lists pass nil.
//
// The total costs a count only where the page itself does not tell it, and
// that count never reads more than MaxTotal+1 rows.
func Fetch[T any](ctx context.Context, q postgres.Querier, l *postgres.List, req Request, after func(T) []string) (Result[T], error) {
	res, err := FetchOf(ctx, q, l, req, 0, after)
	if err != nil || req.Keyset {
		return res, err
	}
	if res.Total = req.Offset() + len(res.Items); res.More || (len(res.Items) == 0 && req.Page > 1) {
		res.Total, err = Count(ctx, q, l)
	}
	return res, err
}

// Count is how many rows a list has, up to MaxTotal+1.
func Count(ctx context.Context, q postgres.Querier, l *postgres.List) (int, error) {
	sql, args := l.CountSQL(MaxTotal + 1)
	return postgres.Value[int](ctx, q, sql, args...)
}

// FetchOf is Fetch of a list whose total is known.
func FetchOf[T any](ctx context.Context, q postgres.Querier, l *postgres.List, req Request, total int, after func(T) []string) (Result[T], error) {
	if err := place(l, req); err != nil {
		return Result[T]{}, err
	}
	sql, args := l.Limit(req.PerPage + 1).SQL()
	items, err := postgres.All[T](ctx, q, sql, args...)
	if err != nil {
		return Result[T]{}, refused(err, req)
	}
	res := Result[T]{Items: items, Total: total, More: len(items) > req.PerPage}
	if res.More {
		res.Items = items[:req.PerPage]
	}
	if req.Keyset && res.More {
		res.Next = &Cursor{OrderBy: req.OrderBy, Desc: req.Desc, After: after(res.Items[len(res.Items)-1])}
	}
	return res, nil
}

// place moves a list to the page.
func place(l *postgres.List, req Request) error {
	if !req.Keyset {
		l.Offset(req.Offset())
		return nil
	}
	if req.Cursor == nil {
		return nil
	}
	if !l.AfterFits(len(req.Cursor.After)) {
		return badCursor()
	}
	values := make([]any, len(req.Cursor.After))
	for i, v := range req.Cursor.After {
		values[i] = v
	}
	l.After(values...)
	return nil
}

// refused is why a page was not read.
func refused(err error, req Request) error {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && req.Cursor != nil && pgErr.Code[:2] == "22" {
		return badCursor() // a value that is not of its column's type
	}
	return err
}

func badCursor() error { return fault.WithMessage(fault.BadParams, "cursor is invalid") }
