package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// panicError is a panic in a job. River would log panics itself, beside us.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = &panicError{value: v, stack: debug.Stack()}
	}
}

// failureLog writes one record for each failed attempt, without the args.
type failureLog struct{ log *slog.Logger }

func (l *failureLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	if _, ok := errors.AsType[*rivertype.UnknownJobKindError](err); ok {
		return nil // River logs it
	}
	level, message := slog.LevelWarn, "job failed and will be retried"
	if job.Attempt >= job.MaxAttempts {
		level, message = slog.LevelError, "job failed for the last time"
	}
	attrs := []slog.Attr{
		slog.String("kind", job.Kind), slog.Int64("job_id", job.ID), slog.Int("attempt", job.Attempt), slog.Any("error", err),
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	l.log.LogAttrs(ctx, level, message, attrs...)
	return nil
}

// HandlePanic sees only panics outside of our jobs, which River logs.
func (l *failureLog) HandlePanic(context.Context, *rivertype.JobRow, any, string) *river.ErrorHandlerResult {
	return nil
}

// quiet passes on River's warnings and errors. Below that it logs every failed job too, which we do ourselves.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(quietHandler{log.Handler()}) }

type quietHandler struct{ slog.Handler }

func (h quietHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// Handle leaves out what River says of work that was cut off by a stop.
func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	cutOff := false
	r.Attrs(func(a slog.Attr) bool {
		cutOff = cutOff || strings.Contains(a.Value.String(), context.Canceled.Error())
		return !cutOff
	})
	if cutOff {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}
func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}
