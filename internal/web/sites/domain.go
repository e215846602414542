package sites

import (
	"net/http"
	"net/url"

	"stithy/internal/kit/fault"
	"stithy/internal/pages"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// claim is a domain with the records that it needs, and what was seen of them.
type claim struct {
	ID, Name string
	Records  []record
	Removed  *page.DisplayTime // when it goes, if nothing happens
	Checked  *page.DisplayTime
	Why      string // what was wrong then
	Verify   *page.Form
}

// record is one that belongs into the domain's DNS.
type record struct {
	Type, Name, Value string
	Seen              *ui.Status // nil: nobody looks
}

// domainBody is the page of a domain.
type domainBody struct {
	claim
	Enabled     *page.DisplayTime
	Proven      bool
	Certificate string
	Problem     string // why there is no automatic certificate
	Form        *page.Form
	Delete      *page.Form
}

func (x *request) domainLink(name string) page.URL {
	return x.LinkTo(domainsPath + "/" + url.PathEscape(name))
}

func (x *request) domainAt(name, below string) string {
	return x.At(domainsPath+"/"+url.PathEscape(name)) + below
}

// standing is how far a domain is proven, in a word.
func (x *request) standing(d *pages.Domain) ui.Status {
	switch {
	case d.Verified():
		return ui.Status{Text: "Verified", Tone: ui.Good, Icon: ui.IconPassed}
	case x.deps.Sites.Enabled(d):
		return ui.Status{Text: "Served", Tone: ui.Warn, Icon: ui.IconWarning}
	}
	return ui.Status{Text: "Not verified", Tone: ui.Warn, Icon: ui.IconWarning}
}

// certificate is what readers over HTTPS are shown, in words.
func (x *request) certificate(d *pages.Domain) string {
	switch {
	case d.ExpiresAt == nil && d.AutoSSLEnabled:
		return "made by itself, not there yet"
	case d.ExpiresAt == nil:
		return "none, HTTP only"
	case d.Expired(x.Clock.Now()):
		return "ended " + d.ExpiresAt.Format("2 Jan 2006")
	case d.Source == pages.Automatic:
		return "made by itself, ends " + d.ExpiresAt.Format("2 Jan 2006")
	}
	return "your own, ends " + d.ExpiresAt.Format("2 Jan 2006")
}

func (x *request) removal(name string) *page.Form {
	return x.Button(x.domainAt(name, "/delete"), "Remove", page.Danger, name).
		AskFirst("Readers find nothing at " + name + " any more. For seven days no other project can have it.")
}

func (x *request) claim(d *pages.Domain) claim {
	name, value := x.deps.Sites.Record(d)
	seen := ui.Status{Text: "no record", Tone: ui.Bad, Icon: ui.IconFailed}
	if d.Verified() {
		seen = ui.Status{Text: "yes", Tone: ui.Good, Icon: ui.IconPassed}
	}
	return claim{
		ID: "domain-" + d.Code[:8], Name: d.Domain, Removed: x.Time(d.RemoveAt), Checked: x.Time(d.CheckedAt), Why: d.CheckError,
		Records: []record{
			{Type: "CNAME", Name: d.Domain, Value: x.deps.Sites.Target(x.Project) + "."}, {Type: "TXT", Name: name, Value: value, Seen: &seen},
		},
		Verify: x.Button(x.domainAt(d.Domain, "/verify"), "Check now", page.Primary, d.Domain),
	}
}

func (x *request) found() (*pages.Domain, error) {
	return x.deps.Sites.Find(x.Context(), x.Project.ID, x.R.PathValue("domain"))
}

func showDomain(x *request) error { return x.domain(http.StatusOK, nil) }

// domain shows a domain, with a form that was refused where there is one.
func (x *request) domain(status int, refused error) error {
	d, err := x.found()
	if err != nil {
		return err
	}
	body := domainBody{
		claim: x.claim(d), Enabled: x.Time(d.EnabledUntil), Proven: d.Verified(), Certificate: x.certificate(d), Problem: d.AutoSSLError, Delete: x.removal(d.Domain),
	}
	body.Form = x.NewForm(x.domainAt(d.Domain, ""), "Save",
		page.Field{
			Name: "auto_ssl", Label: "Get a certificate by itself", Type: page.Checkbox, Value: page.Checked(d.AutoSSLEnabled),
			Hint: "No release gets certificates for sites yet. The wish is kept for the one that does.",
		},
		page.Field{Name: "certificate", Label: "Certificate", Type: page.Textarea, Hint: "As PEM. Leave it empty to keep what is there."},
		page.Field{Name: "key", Label: "Private key", Type: page.Textarea, Hint: "As PEM. It is stored encrypted and never shown."})
	body.Form.Look = page.Secondary
	if err := x.refuse(body.Form, refused); err != nil {
		return err
	}
	l := x.Layout(d.Domain, sitePath)
	l.Facts = domainFacts(x.standing(d), body)
	return x.Show(status, l, domainPage(body))
}

func createDomain(x *request) error {
	d, err := x.deps.Sites.Create(x.Context(), x.Actor, x.Project, pages.Draft{
		Domain: x.Form.Get("domain"), Certificate: x.Form.Get("certificate"), Key: x.Form.Get("key"),
	})
	if err != nil {
		return x.site(http.StatusUnprocessableEntity, nil, err)
	}
	return x.Done(x.domainAt(d.Domain, ""), "Domain added. Add these records where its DNS is kept.")
}

func saveDomain(x *request) error {
	c := pages.Change{AutoSSLEnabled: new(x.Form.Get("auto_ssl") != "")}
	if certificate := x.Form.Get("certificate"); certificate != "" {
		c.Certificate = &certificate
	}
	if key := x.Form.Get("key"); key != "" {
		c.Key = &key
	}
	name := x.R.PathValue("domain")
	if _, err := x.deps.Sites.Update(x.Context(), x.Actor, x.Project, name, c); err != nil {
		return x.domain(http.StatusUnprocessableEntity, err)
	}
	return x.Done(x.domainAt(name, ""), "Saved.")
}

func verifyDomain(x *request) error {
	name := x.R.PathValue("domain")
	if err := x.deps.Sites.Recheck(x.Context(), x.Project, name); err != nil {
		return err
	}
	return x.Done(x.domainAt(name, ""), "The record is being looked for. Load this page again in a moment.")
}

func deleteDomain(x *request) error {
	name := x.R.PathValue("domain")
	err := x.deps.Sites.Delete(x.Context(), x.Actor, x.Project, name)
	if err != nil && !fault.Is(err, fault.NotFound) { // sent twice, it is done as well
		return err
	}
	return x.Done(x.At(sitePath), "Domain "+name+" removed.")
}
