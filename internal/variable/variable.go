// Package variable owns CI/CD variables: those of the instance, which
// administrators set for every pipeline, and those of groups and projects. It
// says which of them a job is given; it does not own their expansion
// (ciconfig), nor variables that belong to a pipeline or a job (pipeline).
//
// Values are sealed at rest. They leave through the API, to those who
// administer the place unless they are hidden, and to jobs, and never reach a
// log or the audit trail.
//
// Tables: instance_variables, variables.
package variable

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
)

// Type is how a job sees a variable.
type Type string

const (
	EnvVar Type = "env_var" // in its environment
	File   Type = "file"    // as a file, whose path is in its environment
)

const (
	maxKey         = 255
	maxValue       = 10_000
	maxDescription = 255
	minMasked      = 8
)

// Variable is one CI/CD variable.
type Variable struct {
	ID          int64
	Key         string
	Value       secretbox.Secret
	Type        Type
	Protected   bool   // given to jobs of protected branches and tags only
	Masked      bool   // hidden in job logs
	Hidden      bool   // and never shown again
	Raw         bool   // references to other variables in it are not expanded
	Scope       string // environments that it is for; empty for the instance's
	Description *string
}

var (
	keyForm = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	// maskable characters come out of a shell as they went in.
	maskable = regexp.MustCompile(`^[A-Za-z0-9_+=/@:.~-]+$`)
)

// check refuses what a variable of the instance cannot be.
func (v *Variable) check() error { return v.checkUpTo(maxValue) }

// checkUpTo refuses what no variable can be, with a value up to some length.
func (v *Variable) checkUpTo(most int) error {
	var fields fault.Fields
	if v.Key == "" {
		fields.Add("key", "can't be blank")
	}
	if utf8.RuneCountInString(v.Key) > maxKey {
		fields.Add("key", "is too long (maximum is %d characters)", maxKey)
	}
	if !keyForm.MatchString(v.Key) {
		fields.Add("key", "can contain only letters, digits and '_'.")
	}
	if utf8.RuneCountInString(v.Value.Reveal()) > most {
		fields.Add("value", "The value of the provided variable exceeds the %d character limit", most)
	}
	if v.Masked && !v.maskable() {
		fields.Add("value", "is invalid")
	}
	if v.Description != nil && utf8.RuneCountInString(*v.Description) > maxDescription {
		fields.Add("description", "is too long (maximum is %d characters)", maxDescription)
	}
	return fields.Err()
}

// maskable reports whether a job log can be searched for the value: one piece
// of text, long enough not to be found by chance.
func (v *Variable) maskable() bool {
	value := v.Value.Reveal()
	if utf8.RuneCountInString(value) < minMasked || strings.ContainsFunc(value, unicode.IsSpace) {
		return false
	}
	return v.Raw || maskable.MatchString(value)
}
