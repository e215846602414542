package project

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
)

// newAttributes keeps the custom attributes of projects.
func newAttributes(s *Service) *attribute.Store[*Project] {
	return &attribute.Store[*Project]{
		DB: s.deps.DB, Clock: s.deps.Clock, ID: func(p *Project) int64 { return p.ID }, Lock: s.lockAlone,
		SQL: attribute.Statements{
			Among: sqlAttributes, Find: sqlAttribute, Others: sqlOtherAttributes, Put: sqlPutAttribute, Delete: sqlDeleteAttribute,
		},
		Changed: func(ctx context.Context, tx pgx.Tx, by access.Actor, p *Project, c attribute.Change) error {
			action := CustomAttributeSet
			if c.Removed {
				action = CustomAttributeCut
			}
			return s.deps.Bus.Publish(ctx, tx, Event{Action: action, By: by, Project: p, Message: c.Message()})
		},
	}
}

func (s *Service) lockAlone(ctx context.Context, tx pgx.Tx, id int64) (*Project, error) {
	held, err := s.lock(ctx, tx, id)
	return held.Project, err
}
