// Package monitor is the pages about what runs: the alerts of a project, and where monitoring sends them.
package monitor

import (
	"stithy/internal/alert"
	"stithy/internal/kit/access"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users  *user.Service
	Alerts *alert.Service
}

const (
	alertsPath       = "alert_management"
	integrationsPath = "settings/alert_integrations"
)

// ProjectPages are the pages about a project.
func ProjectPages(d Deps) []projectpage.Page {
	return []projectpage.Page{
		{Route: "GET /-/" + alertsPath, Needs: access.ReadAlerts, Do: d.do(showAlerts), Nav: page.Nav{List: projectpage.Monitor, Title: "Alerts"}},
		{Route: "GET /-/" + alertsPath + "/{id}/details", Needs: access.ReadAlerts, Do: d.do(showAlert)},
		{Route: "POST /-/" + alertsPath + "/{id}/status", Needs: access.UpdateAlerts, Do: d.do(setStatus)},
		{Route: "POST /-/" + alertsPath + "/{id}/incident", Needs: access.UpdateAlerts, Do: d.do(report)},
		{Route: "POST /-/" + alertsPath + "/{id}/assign", Needs: access.UpdateAlerts, Do: d.do(assign)},

		{
			Route: "GET /-/" + integrationsPath, Needs: access.AdminAlertIntegrations, Do: d.do(showIntegrations),
			Nav: page.Nav{List: projectpage.Settings, Title: "Alert integrations", Icon: ui.IconBell},
		},
		{Route: "POST /-/" + integrationsPath, Needs: access.AdminAlertIntegrations, Do: d.do(createIntegration)},
		{Route: "POST /-/" + integrationsPath + "/{id}/active", Needs: access.AdminAlertIntegrations, Do: d.do(setActive)},
		{Route: "POST /-/" + integrationsPath + "/{id}/key", Needs: access.AdminAlertIntegrations, Do: d.do(replaceKey)},
		{Route: "POST /-/" + integrationsPath + "/{id}/test", Needs: access.UpdateAlerts, Do: d.do(sendTest)},
		{Route: "POST /-/" + integrationsPath + "/{id}/delete", Needs: access.AdminAlertIntegrations, Do: d.do(deleteIntegration)},
	}
}

// request is a request for a page about a project.
type request struct {
	*projectpage.Request
	deps Deps
}

func (d Deps) do(handle func(*request) error) func(*projectpage.Request) error {
	return func(r *projectpage.Request) error { return handle(&request{Request: r, deps: d}) }
}
