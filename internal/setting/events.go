package setting

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Changed is a setting that an administrator changed.
type Changed struct {
	By     access.Actor
	Change bus.Change
}

// EventName is what the audit trail calls it.
func (Changed) EventName() string { return "application_setting_updated" }

// AuditRecord is the act as the audit trail keeps it.
func (e Changed) AuditRecord() bus.AuditRecord {
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: bus.Instance(), Change: &e.Change,
		Target: bus.Target{Type: "ApplicationSetting", ID: 1, Details: e.Change.What},
	}
}

// FeatureChanged is a feature flag that an administrator set or removed.
type FeatureChanged struct {
	By      access.Actor
	Change  bus.Change
	Removed bool
}

// EventName is what the audit trail calls it.
func (e FeatureChanged) EventName() string {
	if e.Removed {
		return "instance_feature_flag_removed"
	}
	return "instance_feature_flag_updated"
}

// AuditRecord is the act as the audit trail keeps it.
func (e FeatureChanged) AuditRecord() bus.AuditRecord {
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: bus.Instance(), Change: &e.Change,
		Target: bus.Target{Type: "Feature", Details: e.Change.What},
	}
}
