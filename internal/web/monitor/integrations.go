package monitor

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/alert"
	"stithy/internal/kit/paging"
	"stithy/internal/template"
	"stithy/internal/web/page"
)

// integrationsBody is the page of where alerts come from.
type integrationsBody struct {
	Integrations []integrationRow
	Form         *page.Form
	FollowUp     *page.Form // what follows from alerts
}

// integrationRow is an integration on its page.
type integrationRow struct {
	ID                                string // of the elements about it
	Name, Kind                        string
	URL, Key                          string
	Active                            bool
	Example                           string // of a configuration that sends to it
	Toggle, Replace, Test, DeleteForm *page.Form
}

// kinds are what integrations are made for, as people read it.
var kinds = map[alert.Kind]string{alert.HTTP: "HTTP", alert.Prometheus: "Prometheus Alertmanager"}

func showIntegrations(x *request) error {
	return x.integrations(http.StatusOK, x.integrationForm(), nil)
}

// followUpForm asks what follows from alerts. It shows what is chosen, or what was refused.
func (x *request) followUpForm() (*page.Form, error) {
	chosen, err := x.deps.Alerts.Settings(x.Context(), x.Project.ID)
	if err != nil {
		return nil, err
	}
	names, err := x.deps.Templates.Listed(x.Context(), x.Actor, x.Project, template.Issues)
	if err != nil {
		return nil, err
	}
	if chosen.IssueTemplateKey != "" && !slices.Contains(names, chosen.IssueTemplateKey) {
		names = append(names, chosen.IssueTemplateKey) // it may come again
	}
	templates := []page.Choice{{Label: "No template"}}
	for _, name := range names {
		templates = append(templates, page.Choice{Value: name, Label: name, Chosen: name == chosen.IssueTemplateKey})
	}
	return x.NewForm(x.At(followUpPath), "Save",
		page.Field{Name: "create_issue", Label: "Create an incident for each new alert", Type: page.Checkbox, Value: page.Checked(chosen.CreateIssue)},
		page.Field{
			Name: "auto_close_incident", Label: "Close the incident when the alert is resolved by what sent it", Type: page.Checkbox,
			Value: page.Checked(chosen.AutoCloseIncident),
		},
		page.Field{Name: "send_email", Label: "Mail each new alert to owners and maintainers", Type: page.Checkbox, Value: page.Checked(chosen.SendEmail)},
		page.Field{
			Name: "issue_template_key", Label: "Template of incidents", Type: page.Select, Options: templates,
			Hint: "One of the templates for issues in the repository. Incidents end with it.",
		},
	), nil
}

func saveFollowUp(x *request) error {
	err := x.deps.Alerts.Set(x.Context(), x.Actor, x.Project, alert.Settings{
		CreateIssue: x.Form.Get("create_issue") != "", SendEmail: x.Form.Get("send_email") != "",
		AutoCloseIncident: x.Form.Get("auto_close_incident") != "", IssueTemplateKey: x.Form.Get("issue_template_key"),
	})
	if err != nil {
		return x.integrations(http.StatusUnprocessableEntity, x.integrationForm(), err)
	}
	return x.Done(x.At(integrationsPath), "Saved.")
}

func (x *request) integrationForm() *page.Form {
	return x.NewForm(x.At(integrationsPath), "Create integration",
		page.Field{Name: "name", Label: "Name", Type: page.Text, Required: true, Length: 255, Hint: "What sends the alerts, as “Alertmanager of the shop”."},
		page.Field{Name: "type", Label: "Made for", Type: page.Select, Options: []page.Choice{
			{Value: string(alert.Prometheus), Label: kinds[alert.Prometheus]}, {Value: string(alert.HTTP), Label: "Anything that sends JSON"},
		}},
	)
}

// integrations shows the page, with a form that was refused where there is one. refused is why what follows from alerts was.
func (x *request) integrations(code int, form *page.Form, refused error) error {
	found, err := x.deps.Alerts.Integrations(x.Context(), x.Project.ID, paging.Request{Page: 1, PerPage: 50})
	if err != nil {
		return err
	}
	body := integrationsBody{Form: form}
	if body.FollowUp, err = x.followUpForm(); err != nil {
		return err
	}
	if refused != nil {
		if err := x.Refuse(body.FollowUp, refused); err != nil {
			return err
		}
	}
	for i := range found.Items {
		row, err := x.integrationRow(&found.Items[i])
		if err != nil {
			return err
		}
		body.Integrations = append(body.Integrations, row)
	}
	return x.Show(code, x.Layout("Alert integrations", integrationsPath), integrationsPage(body))
}

func (x *request) integrationRow(in *alert.Integration) (row integrationRow, err error) {
	key, err := x.deps.Alerts.Key(in)
	if err != nil {
		return row, err
	}
	at := x.At(integrationsPath + "/" + strconv.FormatInt(in.ID, 10))
	row = integrationRow{
		ID: "integration-" + strconv.FormatInt(in.ID, 10), Name: in.Name, Kind: kinds[in.Kind], URL: x.deps.Alerts.URL(x.Project, in), Key: key.Reveal(),
		Active: in.Active, Test: x.Button(at+"/test", "Send a test alert", page.Secondary, "through "+in.Name),
		Replace: x.Button(at+"/key", "Replace the key", page.Secondary, "of "+in.Name).
			AskFirst("The present key of “" + in.Name + "” is refused at once. What sends alerts with it must be given the new one."),
		DeleteForm: x.Button(at+"/delete", "Delete", page.Danger, in.Name).
			AskFirst("Nothing can be sent to “" + in.Name + "” any more. Its alerts stay."),
	}
	word, to := "Stop", "0"
	if !in.Active {
		word, to = "Start", "1"
	}
	row.Toggle = x.Button(at+"/active", word, page.Secondary, "taking alerts from "+in.Name).With("active", to)
	if in.Kind == alert.Prometheus {
		row.Example = strings.Join([]string{
			"receivers:", "  - name: stithy", "    webhook_configs:", "      - url: " + row.URL, "        send_resolved: true", "        http_config:",
			"          authorization: {credentials: " + row.Key + "}",
		}, "\n")
	} else {
		row.Example = "curl --header 'Authorization: Bearer " + row.Key + "' \\\n  --json '{\"title\": \"Disk is full\", \"severity\": \"high\", \"fingerprint\": \"disk\"}' \\\n  " + row.URL
	}
	return row, nil
}

func createIntegration(x *request) error {
	in := alert.Integration{Kind: alert.Kind(x.Form.Get("type")), Name: strings.TrimSpace(x.Form.Get("name")), Active: true}
	if _, err := x.deps.Alerts.Create(x.Context(), x.Actor, x.Project, in); err != nil {
		form := x.integrationForm()
		if err := x.Refuse(form, err); err != nil {
			return err
		}
		return x.integrations(http.StatusUnprocessableEntity, form, nil)
	}
	return x.Done(x.At(integrationsPath), "Integration created. Give its address and key to what sends the alerts.")
}

func setActive(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	active := x.Form.Get("active") == "1"
	if _, err := x.deps.Alerts.Update(x.Context(), x.Actor, x.Project, id, alert.Change{Active: &active}); err != nil {
		return err
	}
	if active {
		return x.Done(x.At(integrationsPath), "The integration takes alerts.")
	}
	return x.Done(x.At(integrationsPath), "The integration takes no alerts any more. Start it to take them again.")
}

func replaceKey(x *request) error {
	id, err := x.ID()
	if err == nil {
		_, err = x.deps.Alerts.ReplaceKey(x.Context(), x.Actor, x.Project, id)
	}
	if err != nil {
		return err
	}
	return x.Done(x.At(integrationsPath), "The key was replaced. Give the new one to what sends the alerts.")
}

// testPayload is what a test alert says.
const testPayload = `{"title": "Test alert", "description": "Somebody tried whether alerts arrive.", "severity": "info", "monitoring_tool": "Stithy"}`

func sendTest(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	in, err := x.deps.Alerts.Integration(x.Context(), x.Project.ID, id)
	if err != nil {
		return err
	}
	if _, err := x.deps.Alerts.Take(x.Context(), in, []byte(testPayload)); err != nil {
		return err
	}
	return x.Done(x.At(alertsPath), "The test alert has arrived.")
}

func deleteIntegration(x *request) error {
	id, err := x.ID()
	if err == nil {
		err = x.deps.Alerts.Delete(x.Context(), x.Actor, x.Project, id)
	}
	if err != nil {
		return err
	}
	return x.Done(x.At(integrationsPath), "Integration deleted.")
}
