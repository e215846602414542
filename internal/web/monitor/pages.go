// Package monitor is the pages about programs while they run: the errors that they report, and the alerts of what watches them.
package monitor

import (
	"stithy/internal/alert"
	"stithy/internal/errortracking"
	"stithy/internal/kit/access"
	"stithy/internal/repository"
	"stithy/internal/template"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users  *user.Service
	Alerts *alert.Service
	Errors *errortracking.Service

	Repositories *repository.Service
	Templates    *template.Service
}

const (
	alertsPath       = "alert_management"
	integrationsPath = "settings/alert_integrations"
	followUpPath     = "settings/alerts"
	errorsPath       = "error_tracking"
	settingsPath     = errorsPath + "/settings"
)

// ProjectPages are the pages about a project.
func ProjectPages(d Deps) []projectpage.Page {
	return []projectpage.Page{
		{Route: "GET /-/error_tracking", Needs: access.ReadErrors, Do: d.do(showErrors), Nav: page.Nav{List: projectpage.Monitor, Title: "Errors"}},
		{Route: "GET /-/error_tracking/settings", Needs: access.AdminErrorTracking, Do: d.do(showSettings)},
		{Route: "POST /-/error_tracking/settings", Needs: access.AdminErrorTracking, Do: d.do(saveSettings)},
		{Route: "POST /-/error_tracking/keys", Needs: access.AdminErrorTracking, Do: d.do(createKey)},
		{Route: "POST /-/error_tracking/keys/{id}/delete", Needs: access.AdminErrorTracking, Do: d.do(deleteKey)},
		{Route: "GET /-/error_tracking/{id}", Needs: access.ReadErrors, Do: d.do(showError)},
		{Route: "POST /-/error_tracking/{id}", Needs: access.UpdateErrors, Do: d.do(setErrorStatus)},

		{Route: "GET /-/" + alertsPath, Needs: access.ReadAlerts, Do: d.do(showAlerts), Nav: page.Nav{List: projectpage.Monitor, Title: "Alerts"}},
		{Route: "GET /-/" + alertsPath + "/{id}/details", Needs: access.ReadAlerts, Do: d.do(showAlert)},
		{Route: "POST /-/" + alertsPath + "/{id}/status", Needs: access.UpdateAlerts, Do: d.do(setAlertStatus)},
		{Route: "POST /-/" + alertsPath + "/{id}/incident", Needs: access.UpdateAlerts, Do: d.do(report)},
		{Route: "POST /-/" + alertsPath + "/{id}/assign", Needs: access.UpdateAlerts, Do: d.do(assign)},
		{Route: "GET /-/" + alertsPath + "/{id}/metric_images/{image}/{filename}", Needs: access.ReadAlerts, Do: d.do(showImage)},
		{Route: "POST /-/" + alertsPath + "/{id}/metric_images", Needs: access.UpdateAlerts, Do: d.do(addImage), File: true},
		{Route: "POST /-/" + alertsPath + "/{id}/metric_images/{image}/delete", Needs: access.UpdateAlerts, Do: d.do(removeImage)},

		{
			Route: "GET /-/" + integrationsPath, Needs: access.AdminAlertIntegrations, Do: d.do(showIntegrations),
			Nav: page.Nav{List: projectpage.Settings, Title: "Alert integrations", Icon: ui.IconBell},
		},
		{Route: "POST /-/" + followUpPath, Needs: access.AdminAlertIntegrations, Do: d.do(saveFollowUp)},
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
