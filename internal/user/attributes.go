package user

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
)

// newAttributes keeps the custom attributes of accounts.
func newAttributes(s *Service) *attribute.Store[*User] {
	return &attribute.Store[*User]{
		DB: s.deps.DB, Clock: s.deps.Clock, ID: func(u *User) int64 { return u.ID }, Lock: s.lock,
		SQL: attribute.Statements{
			Among: sqlAttributes, Find: sqlAttribute, Others: sqlOtherAttributes, Put: sqlPutAttribute, Delete: sqlDeleteAttribute,
		},
		Changed: func(ctx context.Context, tx pgx.Tx, by access.Actor, u *User, c attribute.Change) error {
			action := CustomAttributeSet
			if c.Removed {
				action = CustomAttributeCut
			}
			return s.deps.Bus.Publish(ctx, tx, Event{Action: action, By: by, User: u, Message: c.Message()})
		},
	}
}
