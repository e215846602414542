package user

import (
	"bytes"
	"net/http"
	"strconv"

	"stithy/internal/kit/fault"
)

// AvatarHandler serves the pictures of accounts to everyone. It answers below
// /uploads/-/system/user/avatar/ alone.
func (s *Service) AvatarHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /uploads/-/system/user/avatar/{id}/{filename}", s.serveAvatar)
	return mux
}

// serveAvatar lets no browser take a picture for anything else, whatever the
// bytes are.
func (s *Service) serveAvatar(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	a, err := s.avatar(r.Context(), id, r.PathValue("filename"))
	switch {
	case fault.Is(err, fault.NotFound):
		http.NotFound(w, r)
		return
	case err != nil:
		s.log.ErrorContext(r.Context(), "serving avatar failed", "error", err, "user_id", id)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", a.ContentType)
	h.Set("Content-Disposition", "inline")
	h.Set("Cache-Control", "public, max-age=300, must-revalidate")
	http.ServeContent(w, r, "", a.UpdatedAt, bytes.NewReader(a.Content))
}
