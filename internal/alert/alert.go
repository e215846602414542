// Package alert owns the alerts of projects: where monitoring sends them, how repeated ones become one with a counter, and what people
// make of them.
//
// It does not own incidents, which are issues.
//
// Tables: alert_integrations, alert_settings, alert_counters, alerts, alert_assignees, alert_changes, alert_metric_images.
package alert

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/todo"
)

// Status is where an alert stands. Any may follow any other.
type Status int16

// The statuses, as they are stored.
const (
	Triggered Status = iota
	Acknowledged
	Resolved
	Ignored
)

var statuses = [...]string{Triggered: "triggered", Acknowledged: "acknowledged", Resolved: "resolved", Ignored: "ignored"}

func (s Status) String() string { return statuses[s] }

// ParseStatus reads the name of a status.
func ParseStatus(name string) (Status, bool) {
	for s, n := range statuses {
		if n == name {
			return Status(s), true
		}
	}
	return 0, false
}

// Severity is how bad an alert is, the worst first.
type Severity int16

// The severities, as they are stored.
const (
	Critical Severity = iota
	High
	Medium
	Low
	Info
	Unknown
)

var severities = [...]string{Critical: "critical", High: "high", Medium: "medium", Low: "low", Info: "info", Unknown: "unknown"}

func (s Severity) String() string { return severities[s] }

// ParseSeverity reads the name of a severity.
func ParseSeverity(name string) (Severity, bool) {
	for s, n := range severities {
		if n == name {
			return Severity(s), true
		}
	}
	return 0, false
}

// Kind is what an integration is made for. The payload decides how it is read.
type Kind string

// The kinds.
const (
	HTTP       Kind = "http"
	Prometheus Kind = "prometheus"
)

// Integration is an address that takes alerts, with its key.
type Integration struct {
	ID        int64
	ProjectID int64
	Kind      Kind
	Name      string
	Endpoint  string // 16 hexadecimal digits, for ever
	Active    bool
	Mapping   Mapping
	Example   *string // a payload that the mapping was made with
	KeySealed []byte
	KeyDigest []byte
}

// Change is what an integration becomes. What is nil stays.
type Change struct {
	Name    *string
	Active  *bool
	Mapping *Mapping
	Example **string
}

func (c Change) apply(in *Integration) {
	if c.Name != nil {
		in.Name = *c.Name
	}
	if c.Active != nil {
		in.Active = *c.Active
	}
	if c.Mapping != nil {
		in.Mapping = *c.Mapping
	}
	if c.Example != nil {
		in.Example = *c.Example
	}
}

const (
	maxName         = 255
	maxIntegrations = 50 // of a project
	maxExample      = 64 << 10
)

func (in *Integration) check() error {
	var f fault.Fields
	switch {
	case strings.TrimSpace(in.Name) == "":
		f.Add("name", "can't be blank")
	case len([]rune(in.Name)) > maxName:
		f.Add("name", "is too long (maximum is %d characters)", maxName)
	}
	if in.Kind != HTTP && in.Kind != Prometheus {
		f.Add("type", "is not included in the list")
	}
	if in.Example != nil {
		if _, err := decode([]byte(*in.Example)); err != nil || len(*in.Example) > maxExample {
			f.Add("payload_example", "must be a JSON object of at most %d bytes", maxExample)
		}
	}
	in.Mapping.check(&f)
	return f.Err()
}

// place is where the sealed key stands, so that it opens nowhere else.
func (in *Integration) place() string { return "alert_integrations.key:" + in.Endpoint }

// slug is the name as a part of the address, for those who read it.
func (in *Integration) slug() string {
	var b strings.Builder
	for _, r := range strings.ToLower(in.Name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if text := strings.Trim(b.String(), "-"); text != "" {
		return text
	}
	return string(in.Kind) + "-endpoint"
}

// newKey is a key that senders show: 32 hexadecimal digits.
func newKey() secretbox.Secret { return secretbox.Secret(digits(16)) }

// digits are random bytes, written in hexadecimal digits.
func digits(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Alert is one thing that monitoring found wrong.
type Alert struct {
	ID             int64
	ProjectID      int64
	IID            int32
	IntegrationID  *int64
	Title          string
	Description    string
	Service        string
	MonitoringTool string
	Hosts          []string
	Severity       Severity
	Status         Status
	Events         int64 // how often it was sent
	Environment    string
	Runbook        string
	Query          string
	Incident       *int // the number of the issue that was made of it
	StartedAt      time.Time
	EndedAt        *time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Reference is how people write about the alert.
func (a *Alert) Reference() string { return "^alert#" + strconv.Itoa(int(a.IID)) }

// RunbookURL is the address of what to do, if a browser may open it; "" if the sender wrote something else.
func (a *Alert) RunbookURL() string { return webAddress(a.Runbook) }

// Brief is an alert as its sender is told of it.
type Brief struct {
	IID   int32  `json:"iid"`
	Title string `json:"title"`
}

// Page is where people read the alert, below its project.
func (a *Alert) Page() string { return fmt.Sprintf(todo.AlertPath, a.IID) }
