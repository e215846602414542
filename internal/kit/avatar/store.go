package avatar

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
)

// Store is where a room keeps its pictures: its statements about them, each
// for the thing $1. Put has type, content and name behind it.
type Store struct{ Put, Drop, Get string }

// Set gives a thing a picture, or takes it away, and tells the name of it.
func (s Store) Set(ctx context.Context, tx pgx.Tx, id int64, given Upload) (name string, err error) {
	p, err := Take(given)
	if err != nil {
		return "", err
	}
	if p.Name == "" {
		_, err = tx.Exec(ctx, s.Drop, id)
	} else {
		_, err = tx.Exec(ctx, s.Put, id, p.ContentType, p.Content, p.Name)
	}
	return p.Name, err
}

// Find reads the picture of a thing.
func (s Store) Find(ctx context.Context, q postgres.Querier, args ...any) (Image, error) {
	p, err := postgres.One[Image](ctx, q, s.Get, args...)
	if errors.Is(err, postgres.ErrNoRows) {
		return Image{}, fault.NotFoundf("Avatar")
	}
	return p, err
}

// Stream is the picture as a file to save.
func (p Image) Stream() httpapi.Stream {
	return httpapi.Stream{
		Name: p.Name, Type: p.ContentType, Attach: true, Size: int64(len(p.Content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.Content)), nil },
	}
}
