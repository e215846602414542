package repository

import (
	"slices"

	"stithy/internal/kit/httpapi"
)

// Endpoints lists the REST surface of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(
		s.contentEndpoints(), s.compareEndpoints(),
		s.branchEndpoints(), s.tagEndpoints(), s.commitEndpoints(), s.fileEndpoints(),
	)
}
