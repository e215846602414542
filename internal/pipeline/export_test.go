package pipeline

import (
	"time"

	"stithy/internal/platform/fairshare"
)

// Hurry gives a service its seats, for which nobody waits.
func Hurry(s *Service, seats *fairshare.Slots) { s.seats, s.patience = seats, time.Millisecond }
