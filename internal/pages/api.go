package pages

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.domainEndpoints(), s.siteEndpoints())
}

func (s *Service) domainEndpoints() []httpapi.Endpoint {
	const all, one = " /projects/{id}/pages/domains", " /projects/{id}/pages/domains/{domain}"
	spec := func(route, summary string) httpapi.Spec {
		return httpapi.Spec{Route: route, Needs: access.AdminPages, Summary: summary, ExtraRefusals: refusedOff}
	}
	create := spec("POST"+all, "Add a Pages domain to a project.")
	create.Status = http.StatusCreated
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /pages/domains", Needs: access.Administer, Summary: "List the Pages domains of the instance.", ExtraRefusals: refusedOff,
		}, s.handleListAll),
		project.On(s.deps.Projects, spec("GET"+all, "List the Pages domains of a project."), s.handleList),
		project.On(s.deps.Projects, spec("GET"+one, "Show a Pages domain of a project."), s.handleGet),
		project.On(s.deps.Projects, create, s.handleCreate),
		project.On(s.deps.Projects, spec("PUT"+one, "Change a Pages domain of a project."), s.handleUpdate),
		project.On(s.deps.Projects, spec("DELETE"+one, "Remove a Pages domain of a project."), s.handleDelete),
	}
}

const refusedOff = "Everyone is answered 404 where the instance has no Pages."

// verification is shown to those who ask for it: clients expect nothing else of a domain without a certificate than its name and address.
type verification struct {
	Verified     *bool         `json:"verified,omitempty"`
	Code         string        `json:"verification_code,omitempty"`
	EnabledUntil *httpapi.Time `json:"enabled_until,omitempty"`
}

func (s *Service) presentVerification(d *Domain, asked bool) verification {
	if !asked {
		return verification{}
	}
	return verification{Verified: new(d.Verified()), Code: d.Code, EnabledUntil: httpapi.At(d.EnabledUntil)}
}

type domainForm struct {
	Domain         string           `json:"domain"`
	URL            string           `json:"url"`
	AutoSSLEnabled bool             `json:"auto_ssl_enabled"`
	Certificate    *certificateForm `json:"certificate,omitempty"`
	verification
}

type certificateForm struct {
	Subject         string `json:"subject"`
	Expired         bool   `json:"expired"`
	Certificate     string `json:"certificate"`
	CertificateText string `json:"certificate_text"`
}

func (s *Service) present(d *Domain, verification bool) domainForm {
	f := domainForm{Domain: d.Domain, URL: d.URL(), AutoSSLEnabled: d.AutoSSLEnabled, verification: s.presentVerification(d, verification)}
	if d.Certificate != nil {
		f.Certificate = &certificateForm{Expired: d.Expired(s.deps.Clock.Now()), Certificate: *d.Certificate}
		if chain := readChain(*d.Certificate); chain != nil {
			f.Certificate.Subject, f.Certificate.CertificateText = subject(chain[0]), words(chain[0])
		}
	}
	return f
}

func (s *Service) presentOne(d *Domain, err error, verification bool) (domainForm, error) {
	if err != nil {
		return domainForm{}, err
	}
	return s.present(d, verification), nil
}

type adminForm struct {
	Domain         string                `json:"domain"`
	URL            string                `json:"url"`
	ProjectID      int64                 `json:"project_id"`
	AutoSSLEnabled bool                  `json:"auto_ssl_enabled"`
	Certificate    *adminCertificateForm `json:"certificate,omitempty"`
	verification
}

type adminCertificateForm struct {
	Expired    bool         `json:"expired"`
	Expiration httpapi.Time `json:"expiration"`
}

type listAllParams struct {
	Verification bool `param:"verification" doc:"Show whether each domain is verified, and its code"`
	httpapi.Paging
}

func (s *Service) handleListAll(ctx context.Context, call httpapi.Call[httpapi.None, listAllParams]) (none httpapi.List[adminForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.ListAll(ctx, req)
	return httpapi.ListOf(req, page, func(d Domain) adminForm {
		f := adminForm{
			Domain: d.Domain, URL: d.URL(), ProjectID: d.ProjectID, AutoSSLEnabled: d.AutoSSLEnabled,
			verification: s.presentVerification(&d, call.Params.Verification),
		}
		if d.ExpiresAt != nil {
			f.Certificate = &adminCertificateForm{Expired: d.Expired(s.deps.Clock.Now()), Expiration: httpapi.Time(*d.ExpiresAt)}
		}
		return f
	}), err
}

type listParams struct {
	project.Ref
	Verification bool `param:"verification" doc:"Show whether each domain is verified, and its code"`
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*project.Project, listParams]) (none httpapi.List[domainForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, call.Subject.ID, req)
	return httpapi.ListOf(req, page, func(d Domain) domainForm { return s.present(&d, call.Params.Verification) }), err
}

type domainRef struct {
	project.Ref
	Domain string `param:"domain" doc:"The domain, exactly as it was added"`
}

type getParams struct {
	domainRef
	Verification bool `param:"verification" doc:"Show whether the domain is verified, and its code"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*project.Project, getParams]) (domainForm, error) {
	d, err := s.Find(ctx, call.Subject.ID, call.Params.Domain)
	return s.presentOne(d, err, call.Params.Verification)
}

type createParams struct {
	project.Ref
	Domain         string            `param:"domain" required:"true" doc:"Fully qualified name of the host"`
	AutoSSLEnabled bool              `param:"auto_ssl_enabled" blank:"refuse" doc:"Whether the instance gets a certificate by itself"`
	Certificate    httpapi.Opt[text] `param:"certificate" bytes:"65536" doc:"Certificate as PEM, text or file, followed by each that issued the one before"`
	Key            httpapi.Opt[text] `param:"key" bytes:"65536" doc:"Private key of the certificate as PEM, text or file"`
	Verification   bool              `param:"verification" doc:"Show whether the domain is verified, and its code"`
}

// text is text, or the contents of a file.
type text = string

// Validate wants a key with a certificate.
func (p createParams) Validate() []string {
	if (p.Certificate.Value == "") != (p.Key.Value == "") {
		return []string{"certificate, key provide all or none of parameters"}
	}
	return nil
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*project.Project, createParams]) (domainForm, error) {
	p := call.Params
	d, err := s.Create(ctx, call.Actor, call.Subject, Draft{
		Domain: p.Domain, AutoSSLEnabled: p.AutoSSLEnabled, Certificate: p.Certificate.Value, Key: p.Key.Value,
	})
	return s.presentOne(d, err, p.Verification)
}

type updateParams struct {
	domainRef
	AutoSSLEnabled httpapi.Opt[bool] `param:"auto_ssl_enabled" doc:"Whether the instance gets a certificate by itself"`
	Certificate    httpapi.Opt[text] `param:"certificate" bytes:"65536" doc:"Certificate as PEM, text or file, followed by each that issued the one before; empty, with an empty key, removes it"`
	Key            httpapi.Opt[text] `param:"key" bytes:"65536" doc:"Private key of the certificate as PEM, text or file; without it the stored one is kept"`
	Verification   bool              `param:"verification" doc:"Show whether the domain is verified, and its code"`
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*project.Project, updateParams]) (domainForm, error) {
	p := call.Params
	c := Change{AutoSSLEnabled: p.AutoSSLEnabled.Ptr()}
	if p.Certificate.Given {
		c.Certificate = &p.Certificate.Value
	}
	if p.Key.Given {
		c.Key = &p.Key.Value
	}
	d, err := s.Update(ctx, call.Actor, call.Subject, p.Domain, c)
	return s.presentOne(d, err, p.Verification)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*project.Project, domainRef]) (none httpapi.NoContent, err error) {
	return none, s.Delete(ctx, call.Actor, call.Subject, call.Params.Domain)
}
