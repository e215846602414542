package repository

import "stithy/internal/gitstore"

// diffForm is what happened to one file.
type diffForm struct {
	Diff        string `json:"diff"`
	NewPath     string `json:"new_path"`
	OldPath     string `json:"old_path"`
	AMode       string `json:"a_mode"`
	BMode       string `json:"b_mode"`
	NewFile     bool   `json:"new_file"`
	RenamedFile bool   `json:"renamed_file"`
	DeletedFile bool   `json:"deleted_file"`
}

// newDiffForm shows a change; with names its text says which files it is about.
func newDiffForm(f *gitstore.FileDiff, names bool) diffForm {
	form := diffForm{
		Diff: f.Patch, NewPath: f.NewPath, OldPath: f.OldPath, AMode: diffMode(f.OldMode), BMode: diffMode(f.NewMode),
		NewFile: f.Added, RenamedFile: f.Renamed, DeletedFile: f.Deleted,
	}
	if names && form.Diff != "" && !f.Binary {
		from, to := "a/"+f.OldPath, "b/"+f.NewPath
		if f.Added {
			from = "/dev/null"
		}
		if f.Deleted {
			to = "/dev/null"
		}
		form.Diff = "--- " + from + "\n+++ " + to + "\n" + form.Diff
	}
	return form
}

// diffMode is a mode in a diff, where no file has the mode 0.
func diffMode(m gitstore.Mode) string {
	if m == 0 {
		return "0"
	}
	return m.String()
}
