package issue

import (
	"time"

	"stithy/internal/kit/httpapi"
)

// CommandsForm is what commands in a text changed, on the wire.
type CommandsForm struct {
	Title             *string        `json:"title,omitempty"`
	StateEvent        *string        `json:"state_event,omitempty"`
	AssigneeIDs       *[]int64       `json:"assignee_ids,omitempty"`
	LabelIDs          *[]int64       `json:"label_ids,omitempty"`
	AddLabelIDs       *[]int64       `json:"add_label_ids,omitempty"`
	RemoveLabelIDs    *[]int64       `json:"remove_label_ids,omitempty"`
	MilestoneID       **int64        `json:"milestone_id,omitempty"`
	DueDate           **httpapi.Date `json:"due_date,omitempty"`
	Confidential      *bool          `json:"confidential,omitempty"`
	DiscussionLocked  *bool          `json:"discussion_locked,omitempty"`
	TimeEstimate      *int           `json:"time_estimate,omitempty"`
	SpendTime         *SpentForm     `json:"spend_time,omitempty"`
	EmojiAward        *string        `json:"emoji_award,omitempty"`
	SubscriptionEvent *string        `json:"subscription_event,omitempty"`
	TodoEvent         *string        `json:"todo_event,omitempty"`
	CanonicalIssueID  *int64         `json:"canonical_issue_id,omitempty"`
	CloneWithNotes    *bool          `json:"clone_with_notes,omitempty"`
	IssueType         *Type          `json:"issue_type,omitempty"`
	Severity          *Severity      `json:"severity,omitempty"`
	Weight            **int          `json:"weight,omitempty"`
	HealthStatus      **string       `json:"health_status,omitempty"`
}

// SpentForm is time that somebody spent.
type SpentForm struct {
	Duration int          `json:"duration"` // seconds
	UserID   int64        `json:"user_id"`
	SpentAt  httpapi.Date `json:"spent_at"`
}

func (f *CommandsForm) due(t *time.Time) { f.DueDate = new(httpapi.Day(t)) }

func (f *CommandsForm) spent(seconds int, by int64, on time.Time) {
	f.SpendTime = &SpentForm{Duration: seconds, UserID: by, SpentAt: httpapi.Date(on)}
}
