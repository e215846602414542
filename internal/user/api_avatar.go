package user

import (
	"log/slog"
	"net/http"
	"strconv"

	"stithy/internal/kit/avatar"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

// AvatarHandler serves the pictures of accounts to everyone. It answers below
// /uploads/-/system/user/avatar/ alone.
func (s *Service) AvatarHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /uploads/-/system/user/avatar/{id}/{filename}", s.serveAvatar)
	return mux
}

func (s *Service) serveAvatar(w http.ResponseWriter, r *http.Request) {
	avatar.Guard(w.Header())
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	p, err := avatars.Find(r.Context(), s.deps.DB, id, r.PathValue("filename"))
	switch {
	case fault.Is(err, fault.NotFound):
		http.NotFound(w, r)
	case r.Context().Err() != nil: // the client went away
	case err != nil:
		s.deps.Log.LogAttrs(r.Context(), slog.LevelError, "serving avatar failed", slog.Any("error", err), slog.Int64("user_id", id), httpapi.Cause(err))
		status := http.StatusInternalServerError
		if fault.Is(httpapi.Away(err), fault.Unavailable) {
			status = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", httpapi.RetryAfter)
		}
		http.Error(w, http.StatusText(status), status)
	default:
		avatar.Serve(w, r, p, true)
	}
}
