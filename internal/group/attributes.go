package group

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/platform/postgres"
)

// newAttributes keeps the custom attributes of groups.
func newAttributes(s *Service) *attribute.Store[*Group] {
	return &attribute.Store[*Group]{
		DB: s.deps.DB, Clock: s.deps.Clock, ID: func(g *Group) int64 { return g.ID }, Lock: s.lock,
		SQL: attribute.Statements{
			Among: sqlAttributes, Find: sqlAttribute, Others: sqlOtherAttributes, Put: sqlPutAttribute, Delete: sqlDeleteAttribute,
		},
		Changed: func(ctx context.Context, tx pgx.Tx, by access.Actor, g *Group, c attribute.Change) error {
			action := CustomAttributeSet
			if c.Removed {
				action = CustomAttributeCut
			}
			return s.deps.Bus.Publish(ctx, tx, Event{Action: action, By: by, Group: g, Message: c.Message()})
		},
	}
}

// lock keeps others from changing one group until the transaction ends.
func (s *Service) lock(ctx context.Context, tx pgx.Tx, id int64) (*Group, error) {
	return found(postgres.One[Group](ctx, tx, sqlLock, id))
}
