package monitor

import (
	"net/http"
	"strconv"
	"strings"

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

func showSettings(x *request) error { return x.settings(http.StatusOK, nil) }

// settings shows how errors are taken, with a form that was refused where there is one.
func (x *request) settings(status int, refused error) error {
	s, err := x.deps.Errors.Settings(x.Context(), x.Project.ID)
	if fault.Is(err, fault.NotFound) {
		s, err = &errortracking.Settings{PerMinute: errortracking.DefaultPerMinute, Percent: 100}, nil
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
		},
		page.Field{
			Name: "events_per_minute", Label: "Events a minute", Type: page.Text, Mode: "numeric", Value: strconv.Itoa(s.PerMinute), Required: true,
			Hint: "Programs that report more are told to wait. Administrators alone set more than 1,000.",
		},
		page.Field{
			Name: "sample_percent", Label: "Percentage of events that are taken", Type: page.Text, Mode: "numeric", Value: strconv.Itoa(s.Percent), Required: true,
			Hint: "The others are dropped and not counted.",
		})
	if refused != nil {
		if err := x.Refuse(body.Form, refused); err != nil {
			return err
		}
	}
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
	return x.Show(status, x.Layout("Error tracking", errorsPath), settingsPage(body))
}

func saveSettings(x *request) error {
	personal := x.Form.Get("personal_data") != ""
	_, err := x.deps.Errors.Set(x.Context(), x.Actor, x.Project, errortracking.Change{
		Active: x.Form.Get("active") != "", Integrated: new(true), PersonalData: &personal,
		PerMinute: x.number("events_per_minute"), Percent: x.number("sample_percent"),
	})
	if err != nil {
		return x.settings(http.StatusUnprocessableEntity, err)
	}
	return x.Done(x.At(settingsPath), "Saved.")
}

// number is what was sent in a field; nil where it was not sent, and 0, which no setting takes, where it is no number.
func (x *request) number(name string) *int {
	if !x.Form.Has(name) {
		return nil
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(x.Form.Get(name)), ",", ""))
	return &n
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
