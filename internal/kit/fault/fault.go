// Package fault holds the errors that a client may see. An error without a
// fault in its chain is internal: it is logged once at the door and shown as
// a bare failure. Rooms speak in kinds; only the doors know status codes.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind says what went wrong in terms that a door can translate.
type Kind uint8

const (
	Internal          Kind = iota
	BadParams              // the request was refused before any room saw it
	Rejected               // a room refused the values it was given
	Unauthenticated        // nobody is signed in, or the credential is unknown
	TokenUnusable          // the token is known and may not be used any more
	Forbidden              // the actor may not do this
	LimitReached           // the actor has as many of these as they may
	InsufficientScope      // the token may not do this, whoever holds it
	NotFound               // absent, or hidden from the actor
	MethodNotAllowed       // this way of asking is not offered here
	NotAllowed             // the record's state does not allow this
	NotAcceptable          // the asker wants it for a use that it is not offered for
	NotModified            // the request asked for what is so already
	Conflict               // another record stands in the way
	Gone                   // this was offered once
	Precondition           // the record changed since the client last saw it
	TooLarge
	Slow       // the client sent nothing for too long
	OutOfRange // the part that was sent does not follow on what is there
	UnsupportedMedia
	Unprocessable
	TooMany
	Unavailable
)

// String is the kind in words, for whoever is told nothing more.
func (k Kind) String() string { return kinds[k] }

var kinds = map[Kind]string{
	Internal: "internal error", BadParams: "the request is not valid", Rejected: "the values are not valid", Unauthenticated: "nobody is signed in",
	TokenUnusable: "the token cannot be used any more", Forbidden: "not allowed", LimitReached: "the limit is reached",
	InsufficientScope: "the token does not have the scope", NotFound: "not found", MethodNotAllowed: "the method is not allowed",
	NotAllowed: "not allowed in this state", NotAcceptable: "not acceptable", NotModified: "not modified", Conflict: "in conflict with another record",
	Gone: "gone", Precondition: "changed since it was read", TooLarge: "too large", Slow: "the request came too slowly", OutOfRange: "out of range",
	UnsupportedMedia: "the type of the content is not supported", Unprocessable: "cannot be processed", TooMany: "too many requests",
	Unavailable: "not available at the moment, try again later",
}

// Fields are the texts for each attribute that a room refused.
type Fields map[string][]string

// Add appends a text for an attribute. It allocates the map when needed.
func (f *Fields) Add(attribute, format string, args ...any) {
	if *f == nil {
		*f = Fields{}
	}
	(*f)[attribute] = append((*f)[attribute], fmt.Sprintf(format, args...))
}

// Err is a Rejected fault with these fields, or nil when there are none.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{Kind: Rejected, Fields: f}
}

// Error is safe to show: every member reaches the client as it stands.
type Error struct {
	Kind    Kind
	Text    string            // the whole message, in place of the kind's own words and of Fields
	Within  string            // the member of the message that holds Text, where clients look for it there
	Reason  string            // said after the kind's own words
	Subject string            // the noun that was not found, or that is asked for too often
	Fields  Fields            // per attribute, for Rejected
	Scopes  []string          // what would have been enough, for InsufficientScope
	Texts   []string          // several messages in place of one, for Unprocessable
	Extra   map[string]string // members of the answer next to the message
}

func (e *Error) Error() string {
	switch {
	case e.Text != "":
		return e.Text
	case e.Subject != "":
		return e.Subject + " not found"
	case len(e.Fields) > 0:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
			parts = append(parts, name+" "+strings.Join(e.Fields[name], ", "))
		}
		return strings.Join(parts, "; ")
	case len(e.Texts) > 0:
		return strings.Join(e.Texts, "; ")
	case e.Reason != "":
		return e.Reason
	}
	return e.Kind.String()
}

// Of returns the fault in err's chain; ok is false for internal errors.
func Of(err error) (e *Error, ok bool) { return errors.AsType[*Error](err) }

// Is reports whether err carries a fault of this kind.
func Is(err error, kind Kind) bool {
	e, ok := Of(err)
	return ok && e.Kind == kind
}

// New is a fault that says only its kind.
func New(kind Kind) error { return &Error{Kind: kind} }

// WithReason adds a reason to the kind's own words.
func WithReason(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

// WithMessage replaces the kind's own words.
func WithMessage(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Within replaces the kind's own words by a message with one member.
func Within(kind Kind, member, format string, args ...any) error {
	return &Error{Kind: kind, Within: member, Text: fmt.Sprintf(format, args...)}
}

// NotFoundf names what was not found, or what the actor may not see.
func NotFoundf(format string, args ...any) error {
	return &Error{Kind: NotFound, Subject: fmt.Sprintf(format, args...)}
}

// Field refuses one attribute.
func Field(attribute, format string, args ...any) error {
	var f Fields
	f.Add(attribute, format, args...)
	return f.Err()
}
