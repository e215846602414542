package page

import (
	"errors"
	"net/http"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

// Failure is what the page about a failure says: what happened, and what to do next.
type Failure struct {
	Status            int
	Title, Text, Next string
}

// FailureOf is what a failure is called on a page.
func FailureOf(f *fault.Error) Failure {
	said := func(otherwise string) string {
		switch {
		case f.Text != "":
			return f.Text
		case f.Reason != "":
			return f.Reason
		case len(f.Fields) > 0:
			return inWords(f.Fields)
		}
		return otherwise
	}
	switch f.Kind {
	case fault.NotFound:
		return Failure{http.StatusNotFound, "Page not found",
			"There is nothing at this address that you can see. It may have been moved or removed, or it may be private and not open to you.",
			"Check how the address is written, or go back to where you came from."}
	case fault.Unauthenticated:
		return Failure{http.StatusUnauthorized, "Sign in first", said("This needs an account."), "Sign in and try again."}
	case fault.Forbidden, fault.InsufficientScope, fault.LimitReached, fault.TokenUnusable:
		return Failure{http.StatusForbidden, "Not allowed", said("You may not do this."),
			"If you think you should be able to, ask an administrator."}
	case fault.MethodNotAllowed, fault.NotAllowed:
		return Failure{http.StatusMethodNotAllowed, "Not possible here", said("This page cannot be used this way."),
			"Go back and use the form on the page."}
	case fault.TooLarge:
		return Failure{http.StatusRequestEntityTooLarge, "Too large", said("What was sent is larger than a page takes."), "Send less at a time."}
	case fault.Slow:
		return Failure{http.StatusRequestTimeout, "Too slow", said("What was sent did not arrive in time."), "Check your connection and try again."}
	case fault.TooMany:
		return Failure{http.StatusTooManyRequests, "Too many tries", said("This was tried too often."), "Wait a few minutes and try again."}
	case fault.Conflict, fault.Precondition, fault.NotModified:
		return Failure{http.StatusConflict, "Changed meanwhile", said("Something else stands in the way."),
			"Go back, reload the page and look again."}
	case fault.Unavailable:
		return Failure{http.StatusServiceUnavailable, "Not available now", said("A part of this instance does not answer."),
			"Try again in a minute."}
	case fault.Internal:
		return Failure{
			http.StatusInternalServerError, "Something went wrong on our side", "The error was logged.",
			"Try again. If it happens again, tell an administrator the request ID below.",
		}
	}
	return Failure{http.StatusBadRequest, "This could not be done", said("The values do not fit."), "Go back, correct them and try again."}
}

// Fail shows what went wrong and what to do next.
func (x *Request) Fail(err error) {
	if errors.Is(err, ErrAnswered) {
		return
	}
	err = httpapi.Away(err)
	f, shown := fault.Of(err)
	hidden := !shown || (f.Kind == fault.Unavailable && err != error(f)) //nolint:errorlint // whether it is that very value
	if hidden && x.Context().Err() == nil {
		x.LogError("page failed", err, nil)
	}
	if !shown {
		f = &fault.Error{Kind: fault.Internal}
	}
	what := FailureOf(f)
	if what.Status == http.StatusServiceUnavailable {
		x.W.Header().Set("Retry-After", httpapi.RetryAfter)
	}
	if err := x.ShowFailure(what.Status, what); err != nil {
		x.LogError("the page about a failure failed", err, nil)
		x.W.WriteHeader(http.StatusInternalServerError)
	}
}

// ShowFailure answers with a page about a failure.
func (x *Request) ShowFailure(status int, what Failure) error {
	about := failureBody{Failure: what, Home: x.Link("/"), RequestID: requestID(x)}
	if what.Status == http.StatusNotFound {
		about.Path = x.R.URL.Path
		if x.Account == nil {
			about.Text = "There is nothing at this address that everybody can see. It may have been moved or removed, or it may be private: " +
				"then it is shown to those who are signed in and have access."
			about.SignIn = x.SignInAndBack()
		} else {
			about.Username = x.Account.Username
		}
	}
	return x.Show(status, Layout{Title: what.Title, Narrow: true}, failure(about))
}

// failureBody is the page about a failure.
type failureBody struct {
	Failure
	Home      URL
	RequestID string
	Path      string // where nothing was found
	SignIn    URL    // for strangers, who may see more
	Username  string // of whoever may lack access
}
