package planning

import (
	"fmt"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/upload"
	"stithy/internal/web/page"
)

// fileField asks for a file that is added to a text, of those who may add one.
func fileField(x *request, id string) []page.Field {
	if x.Account == nil || !x.May(access.UploadFiles) {
		return nil
	}
	return []page.Field{{
		Name: "file", As: id, Label: "Attach a file", Type: page.File,
		Hint: fmt.Sprintf("Up to %s. It goes to the end of the text: pictures are shown, other files become a link.", sizeOf(x.deps.Uploads.MaxSize())),
	}}
}

func sizeOf(bytes int64) string { return grouped(int(bytes>>20)) + " MB" }

// attach stores the file that came with a form, and ends the text of a field with the Markdown for it. When the form is refused later, the text
// keeps it.
func attach(x *request, field string) error {
	if x.File == nil {
		return nil
	}
	if !x.May(access.UploadFiles) {
		return fault.WithReason(fault.Forbidden, "You may not add files to this project.")
	}
	if err := page.Within(x.Request.Request, "project_uploads"); err != nil {
		return err
	}
	u, secret, err := x.deps.Uploads.Store(x.Context(), x.Actor, x.Project, x.File.Name, x.File)
	if fault.Is(err, fault.TooLarge) {
		return fault.Field("file", "is too large: %s are the most. Choose a smaller one.", sizeOf(x.deps.Uploads.MaxSize()))
	} else if err != nil {
		return err
	}
	text := strings.TrimRight(x.Form.Get(field), " \r\n\t")
	if text != "" {
		text += "\n\n"
	}
	x.Form.Set(field, text+upload.Markdown(u.Filename, "/uploads/"+secret+"/"+u.Filename))
	return nil
}
