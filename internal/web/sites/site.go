package sites

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"stithy/internal/kit/fault"
	"stithy/internal/pages"
	"stithy/internal/project"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const domainsPerPage = 50

// siteBody is the site of a project.
type siteBody struct {
	Off         bool // the project has none
	Deployments []deploymentRow
	Domains     []domainRow
	Pager       page.Pager
	Unproven    []claim
	Settings    *page.Form
	New         *page.Form
}

// siteHead is what is the case, in one line.
type siteHead struct {
	Status ui.Status
	When   *page.DisplayTime
	Job    string
	JobURL page.URL
	Size   string
}

// deploymentRow is a deployment in the list.
type deploymentRow struct {
	ID, Path, Job, Size, Error string
	JobURL                     page.URL
	Address                    string // where it is shown
	Status                     ui.Status
	When, Until                *page.DisplayTime
	Show, Delete               *page.Form
}

var deploymentMarks = map[pages.DeploymentState]ui.Status{
	pages.Wanted: {Text: "Being made", Tone: ui.Busy, Icon: ui.IconRunning},
	pages.Ready:  {Text: "Kept", Tone: ui.Plain, Icon: ui.IconHistory},
	pages.Failed: {Text: "Failed", Tone: ui.Bad, Icon: ui.IconFailed},
}

var shown = ui.Status{Text: "Shown", Tone: ui.Good, Icon: ui.IconPassed}

// domainRow is a host of the site in the list.
type domainRow struct {
	Name, Certificate string
	URL               page.URL // empty for the host that the instance gives
	Default           bool
	Status            ui.Status
	Delete            *page.Form
}

func showSite(x *request) error { return x.site(http.StatusOK, nil, nil) }

// site shows the site of a project, with a form that was refused where there is one.
func (x *request) site(status int, settings, created error) error {
	l := x.Layout("Pages", sitePath)
	if x.Project.Features.Pages == project.Off {
		return x.Show(status, l, sitePage(siteBody{Off: true}))
	}
	set, err := x.deps.Sites.Settings(x.Context(), x.Project)
	if err != nil {
		return err
	}
	deployments, err := x.deps.Sites.Deployments(x.Context(), x.Project)
	if err != nil {
		return err
	}
	body := siteBody{Settings: x.settingsForm(set), New: x.newDomain()}
	if err := x.refuse(body.Settings, settings); err != nil {
		return err
	}
	if err := x.refuse(body.New, created); err != nil {
		return err
	}
	address := x.deps.Sites.SiteURL(x.Project, set)
	head := siteHead{Status: ui.Status{Text: "Not published", Tone: ui.Plain, Icon: ui.IconNotStarted}}
	for i := range deployments {
		d := &deployments[i]
		row := x.deployment(d, address)
		body.Deployments = append(body.Deployments, row)
		if d.Active && d.PathPrefix == "" {
			head = siteHead{Status: ui.Status{Text: "Published", Tone: ui.Good, Icon: ui.IconPassed}, When: row.When, Job: row.Job, JobURL: row.JobURL, Size: row.Size}
			l.Actions = openSite(address)
		}
	}
	l.Facts = siteFacts(head)
	body.Domains = []domainRow{{
		Name: address, Default: true, Status: ui.Status{Text: "Ours", Tone: ui.Good, Icon: ui.IconPassed}, Certificate: "of the instance",
	}}
	if err := x.domains(&body); err != nil {
		return err
	}
	return x.Show(status, l, sitePage(body))
}

// refuse shows what is wrong with what was sent in a form, if anything was.
func (x *request) refuse(f *page.Form, refused error) error {
	if refused == nil {
		return nil
	}
	return x.Refuse(f, refused)
}

func (x *request) deployment(d *pages.Deployment, address string) deploymentRow {
	id, job := strconv.FormatInt(d.ID, 10), strconv.FormatInt(d.JobID, 10)
	row := deploymentRow{
		ID: "deployment-" + id, Path: "the site", Job: "job #" + job, JobURL: x.LinkTo("jobs/" + job), Error: d.Error, Status: deploymentMarks[d.State],
		When: x.Time(&d.CreatedAt), Until: x.Time(d.ExpireAt),
		Delete: x.Button(x.At(deploymentsPath+"/"+id+"/delete"), "Delete", page.Danger, "the deployment of job #"+job).
			AskFirst("Its files go. This cannot be undone."),
	}
	if d.PathPrefix != "" {
		row.Path = "/" + d.PathPrefix
	}
	switch {
	case d.Active:
		row.Status, row.Address = shown, pages.DeploymentURL(address, d)
		row.Delete.AskFirst("Readers see it no more, and no other takes its place. This cannot be undone.")
	case d.State == pages.Ready:
		row.Show = x.Button(x.At(deploymentsPath+"/"+id+"/activate"), "Show this", page.Secondary, "the deployment of job #"+job)
	}
	if d.State == pages.Ready {
		row.Size = fmt.Sprintf("%s, %s", counted(d.Files), bytesText(d.Size))
	}
	return row
}

func counted(files int) string {
	if files == 1 {
		return "1 file"
	}
	return strconv.Itoa(files) + " files"
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// domains are the hosts of the project's own, and those of them that wait for a record.
func (x *request) domains(body *siteBody) error {
	req := x.Numbered("page", domainsPerPage)
	found, err := x.deps.Sites.List(x.Context(), x.Project.ID, req)
	if err != nil {
		return err
	}
	for i := range found.Items {
		d := &found.Items[i]
		body.Domains = append(body.Domains, domainRow{
			Name: d.Domain, URL: x.domainLink(d.Domain), Status: x.standing(d), Certificate: x.certificate(d), Delete: x.removal(d.Domain),
		})
		if !x.deps.Sites.Enabled(d) {
			body.Unproven = append(body.Unproven, x.claim(d))
		}
	}
	body.Pager = x.NumberedPager(x.At(sitePath), url.Values{}, "page", "", req, found.More)
	return nil
}

func (x *request) settingsForm(set pages.Settings) *page.Form {
	f := x.NewForm(x.At(sitePath), "Save changes",
		page.Field{
			Name: "https_only", Label: "Send everybody to HTTPS", Type: page.Checkbox, Value: page.Checked(set.HTTPSOnly),
			Hint: "Requests over HTTP are answered with a redirect. Domains of your own then need a certificate.",
		},
		page.Field{
			Name: "unique_domain", Label: "Serve under a random address", Type: page.Checkbox, Value: page.Checked(set.UniqueDomainEnabled),
			Hint: "Keeps scripts of other projects out of this site’s cookies.",
		})
	f.Look = page.Secondary
	return f
}

func (x *request) newDomain() *page.Form {
	return x.NewForm(x.At(domainsPath), "Add domain",
		page.Field{Name: "domain", Label: "Domain", Type: page.Text, Required: true, Length: 253, Hint: "The whole name, such as www.example.org. You prove afterwards that it is yours."},
		page.Field{
			Name: "certificate", Label: "Certificate", Type: page.Textarea, Fold: "A certificate of your own",
			Hint: "As PEM: the host’s own first, then each that issued the one before.",
		},
		page.Field{Name: "key", Label: "Private key", Type: page.Textarea, Fold: "A certificate of your own", Hint: "As PEM. It is stored encrypted and never shown."})
}

func saveSettings(x *request) error {
	https, unique := x.Form.Get("https_only") != "", x.Form.Get("unique_domain") != ""
	_, err := x.deps.Sites.Set(x.Context(), x.Actor, x.Project, pages.SettingsChange{HTTPSOnly: &https, UniqueDomainEnabled: &unique})
	if err != nil {
		return x.site(http.StatusUnprocessableEntity, err, nil)
	}
	return x.Done(x.At(sitePath), "Saved.")
}

func activate(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	d, err := x.deps.Sites.Activate(x.Context(), x.Actor, x.Project, id)
	if fault.Is(err, fault.NotFound) {
		return x.Done(x.At(sitePath), "That deployment is no longer kept.")
	}
	if err != nil {
		return err
	}
	return x.Done(x.At(sitePath), fmt.Sprintf("Readers are shown what job #%d published, in a few seconds.", d.JobID))
}

func deleteDeployment(x *request) error {
	id, err := x.ID()
	if err == nil {
		_, err = x.deps.Sites.DeleteDeployment(x.Context(), x.Actor, x.Project, id)
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // sent twice, it is done as well
		return err
	}
	return x.Done(x.At(sitePath), "Deployment deleted.")
}
