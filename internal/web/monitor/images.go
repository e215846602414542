package monitor

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/alert"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/web/page"
)

// imageRow is a picture of an alert on its page.
type imageRow struct {
	URL      page.URL
	Filename string
	From     string // an address, chosen by whoever added it; "" for none
	FromText string
	Delete   *page.Form
}

// images adds the pictures of an alert to its page, with what changes them for those who may.
func (x *request) images(body *alertBody, a *alert.Alert, refused error) error {
	all, err := x.deps.Alerts.Images(x.Context(), a)
	if err != nil {
		return err
	}
	at := x.At(alertsPath + "/" + strconv.Itoa(int(a.IID)) + "/metric_images")
	for n := range all {
		i := &all[n]
		row := imageRow{URL: x.Link(alert.ImagePath(x.Project, a, i)), Filename: i.Filename, From: i.URL, FromText: i.URLText}
		if row.FromText == "" {
			row.FromText = i.URL
		}
		if x.May(access.UpdateAlerts) {
			row.Delete = x.Button(at+"/"+strconv.FormatInt(i.ID, 10)+"/delete", "Delete", page.Danger, i.Filename).AskFirst("The picture is gone then.")
		}
		body.Images = append(body.Images, row)
	}
	if !x.May(access.UpdateAlerts) {
		return nil
	}
	body.AddImage = x.NewForm(at, "Add picture",
		page.Field{Name: "url", Label: "Where it is from", Type: page.Text, Length: 255, Hint: "A web address, as that of a dashboard. May be empty."},
		page.Field{Name: "url_text", Label: "What the link says", Type: page.Text, Length: 128},
		page.Field{Name: "file", Label: "Picture", Type: page.File, Hint: "Up to 1 MB."},
	)
	if refused != nil {
		return x.Refuse(body.AddImage, refused)
	}
	return nil
}

// showImage serves a picture of an alert. What it is was found out by its content when it came.
func showImage(x *request) error {
	a, i, err := findImage(x)
	if err != nil {
		return err
	}
	found, err := x.deps.Alerts.Image(x.Context(), a, i)
	if err != nil {
		return err
	}
	if found.Filename != x.R.PathValue("filename") {
		return fault.New(fault.NotFound)
	}
	body, err := x.deps.Alerts.OpenImage(x.Context(), found)
	if err != nil {
		return err
	}
	return x.Send(body, found.Size, found.Media, found.Filename, false)
}

func findImage(x *request) (*alert.Alert, int64, error) {
	a, err := findAlert(x)
	if err != nil {
		return nil, 0, err
	}
	id, err := strconv.ParseInt(x.R.PathValue("image"), 10, 64)
	if err != nil {
		err = fault.New(fault.NotFound)
	}
	return a, id, err
}

func addImage(x *request) error {
	a, err := findAlert(x)
	if err != nil {
		return err
	}
	if x.File == nil {
		return x.alert(http.StatusUnprocessableEntity, a, fault.Field("file", "is missing. Choose a picture."))
	}
	content, err := io.ReadAll(io.LimitReader(x.File, alert.MaxImage+1))
	if err != nil {
		return err
	}
	from := alert.Source{URL: strings.TrimSpace(x.Form.Get("url")), Text: strings.TrimSpace(x.Form.Get("url_text"))}
	if _, err := x.deps.Alerts.AddImage(x.Context(), x.Actor, a, x.File.Name, content, from); err != nil {
		return x.alert(http.StatusUnprocessableEntity, a, err)
	}
	return x.Done("/"+x.Project.FullPath()+a.Page(), "Picture added.")
}

func removeImage(x *request) error {
	a, id, err := findImage(x)
	if err == nil {
		err = x.deps.Alerts.RemoveImage(x.Context(), a, id)
	}
	if err != nil && (a == nil || !fault.Is(err, fault.NotFound)) { // sent twice, it is done as well
		return err
	}
	return x.Done("/"+x.Project.FullPath()+a.Page(), "Picture deleted.")
}
