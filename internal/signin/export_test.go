package signin

import (
	"context"
	"fmt"
)

// Work does the work of a job.
func (s *Service) Work(ctx context.Context, args any) error {
	switch args := args.(type) {
	case UnlockArgs:
		return s.unlock(ctx, args)
	case MailArgs:
		return s.mail(ctx, args)
	case TellArgs:
		return s.tell(ctx, args)
	case TidyArgs:
		return s.tidy(ctx, args)
	}
	return fmt.Errorf("no job %T", args)
}
