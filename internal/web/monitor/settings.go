package monitor

import (
	"net/http"
	"strconv"

	"stithy/internal/errortracking"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/web/page"
)

const keysPerPage = 100

// settingsBody is whether a project takes errors, and its keys.
type settingsBody struct {
	On   bool
	Form *page.Form
	Keys []keyRow
	New  *page.Form
}

// keyRow is a key: what programs are given, and how it ends.
type keyRow struct {
	ID, DSN string
	Delete  *page.Form
}

func showSettings(x *request) error {
	s, err := x.deps.Errors.Settings(x.Context(), x.Project.ID)
	if fault.Is(err, fault.NotFound) {
		s, err = &errortracking.Settings{}, nil
	}
	if err != nil {
		return err
	}
	body := settingsBody{On: s.Active && s.Integrated, New: x.Button(x.At(errorsPath+"/keys"), "New key", page.Secondary, "")}
	body.Form = x.NewForm(x.At(settingsPath), "Save",
		page.Field{Name: "active", Label: "Take the errors that programs report", Type: page.Checkbox, Value: page.Checked(body.On)},
		page.Field{
			Name: "personal_data", Label: "Keep e-mail and IP addresses in reports", Type: page.Checkbox, Value: page.Checked(s.PersonalData),
			Hint: "Passwords, tokens and the like are taken out in any case.",
		})
	keys, err := x.deps.Errors.Keys(x.Context(), x.Project.ID, paging.Request{Page: 1, PerPage: keysPerPage})
	if err != nil {
		return err
	}
	for _, k := range keys.Items {
		id := strconv.FormatInt(k.ID, 10)
		body.Keys = append(body.Keys, keyRow{
			ID: "key-" + id, DSN: x.deps.Errors.DSN(&k),
			Delete: x.Button(x.At(errorsPath+"/keys/"+id+"/delete"), "Delete", page.Danger, "this key").
				AskFirst("Programs that have this key report nothing any more. This cannot be undone."),
		})
	}
	return x.Show(http.StatusOK, x.Layout("Error tracking", errorsPath), settingsPage(body))
}

func saveSettings(x *request) error {
	personal := x.Form.Get("personal_data") != ""
	_, err := x.deps.Errors.Set(x.Context(), x.Actor, x.Project, errortracking.Change{
		Active: x.Form.Get("active") != "", Integrated: new(true), PersonalData: &personal,
	})
	if err != nil {
		return err
	}
	return x.Done(x.At(settingsPath), "Saved.")
}

func createKey(x *request) error {
	if _, err := x.deps.Errors.CreateKey(x.Context(), x.Actor, x.Project); err != nil {
		return err
	}
	return x.Done(x.At(settingsPath), "Key created. Give its connection string to your program.")
}

func deleteKey(x *request) error {
	id, err := x.ID()
	if err == nil {
		_, err = x.deps.Errors.DeleteKey(x.Context(), x.Actor, x.Project, id)
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // sent twice, it is done as well
		return err
	}
	return x.Done(x.At(settingsPath), "Key deleted.")
}
