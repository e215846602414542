package overview

// showUpload serves a file that somebody added to a project. A picture is shown; whatever else a browser might open, it is
// told to keep.
func showUpload(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	u, err := x.deps.Uploads.Find(x.Context(), x.Actor, id, x.R.PathValue("secret"), x.R.PathValue("filename"))
	if err != nil {
		return err
	}
	body, err := x.deps.Uploads.Open(x.Context(), u)
	if err != nil {
		return err
	}
	return x.Send(body, u.Size, u.Media(), u.Filename, !u.Picture())
}
