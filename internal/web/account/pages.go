// Package account is the pages of a person's account: signing in and up, the second factor, passwords, the settings of
// a person, applications that act for people and the consent to them. Those of the instance's applications are here,
// too: they are the same pages.
package account

import (
	"stithy/internal/group"
	"stithy/internal/member"
	"stithy/internal/notification"
	"stithy/internal/oauth"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/signin"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users         *user.Service
	Tokens        *token.Service
	SignIns       *signin.Service
	Groups        *group.Service
	Projects      *project.Service
	Members       *member.Service
	Notifications *notification.Service
	OAuth         *oauth.Service
	Settings      *setting.Service
}

// The addresses of the area.
const (
	factorPath  = "/users/sign_in/second_factor" // asks for the second factor
	ExpiredPath = "/-/user_settings/password/new"

	forgotPath  = "/users/password/new"
	resetPath   = "/users/password/edit"
	resendPath  = "/users/confirmation/new"
	confirmPath = "/users/confirmation"
	signUpPath  = "/users/sign_up"

	profilePath  = "/-/user_settings/profile"
	emailsPath   = "/-/user_settings/emails"
	passwordPath = "/-/user_settings/password"
	tokensPath   = "/-/user_settings/personal_access_tokens"
	keysPath     = "/-/user_settings/ssh_keys"
	sessionsPath = "/-/user_settings/active_sessions"
	FactorsPath  = "/-/user_settings/two_factor"

	ownApplications      = "/-/user_settings/applications"
	instanceApplications = "/admin/applications"
	invitationsPath      = "/-/invitations"
)

// Pages are the pages of the area.
func Pages(d Deps) []page.Page {
	const anyone = page.Anyone
	own := func(title string, icon ui.IconPath) page.Nav {
		return page.Nav{List: page.AccountList, Title: title, Icon: icon}
	}
	all := []page.Page{
		{Route: "GET " + page.SignInPath, Who: anyone, Do: d.do(showSignIn)},
		{Route: "POST " + page.SignInPath, Who: anyone, Do: d.do(signIn)},
		{Route: "GET " + factorPath, Who: anyone, Do: d.do(halfway(showFactor))},
		{Route: "POST " + factorPath, Who: anyone, Do: d.do(halfway(showFactorAnswer))},
		{Route: "POST " + factorPath + "/key", Who: anyone, Do: d.do(halfway(keyAnswer))},
		{Route: "POST /users/sign_out", Who: anyone, Do: d.do(signOut)},
		{Route: "GET " + ExpiredPath, Who: page.MustChange, Do: d.do(showExpired)},
		{Route: "POST " + ExpiredPath, Who: page.MustChange, Do: d.do(replaceExpired)},

		{Route: "GET " + forgotPath, Who: anyone, Do: d.do(showForgot)},
		{Route: "POST " + forgotPath, Who: anyone, Do: d.do(forgot)},
		{Route: "GET " + resetPath, Who: anyone, Do: d.do(showReset)},
		{Route: "POST " + resetPath, Who: anyone, Do: d.do(reset)},
		{Route: "GET " + resendPath, Who: anyone, Do: d.do(showResend)},
		{Route: "POST " + resendPath, Who: anyone, Do: d.do(resend)},
		{Route: "GET " + confirmPath, Who: anyone, Do: d.do(showConfirm)},
		{Route: "POST " + confirmPath, Who: anyone, Do: d.do(confirm)},
		{Route: "GET " + signUpPath, Who: anyone, Do: d.do(showSignUp)},
		{Route: "POST " + signUpPath, Who: anyone, Do: d.do(signUp)},

		{Route: "GET " + profilePath, Do: d.do(showProfile), Nav: own("Profile", ui.IconUser)},
		{Route: "POST " + profilePath, Do: d.do(changeProfile)},

		{Route: "GET " + emailsPath, Do: d.do(showEmails), Nav: own("Email addresses", ui.IconMail)},
		{Route: "POST " + emailsPath, Do: d.do(addEmail)},
		{Route: "POST " + emailsPath + "/primary", Do: d.do(choosePrimary)},
		{Route: "POST " + emailsPath + "/confirm", Do: d.do(confirmAgain)},
		{Route: "POST " + emailsPath + "/{id}/remove", Do: d.do(removeEmail)},

		{Route: "GET " + notificationsPath, Do: d.do(showNotifications), Nav: own("Notifications", ui.IconBell)},
		{Route: "POST " + notificationsPath, Do: d.do(changeNotifications), Many: []string{"events"}},
		{Route: "POST " + notificationsPath + "/places", Do: d.do(choosePlace)},
		{Route: "POST " + notificationsPath + "/declined/{id}", Do: d.do(resumeMails)},
		{Route: "GET " + notification.UnsubscribePath + "{token}", Who: anyone, Do: d.do(showUnsubscribe)},
		{Route: "POST " + notification.UnsubscribePath + "{token}", Who: anyone, Do: d.do(unsubscribe)},
		{Route: "GET " + notificationsPath + "/groups/{id}", Do: d.do(placeSettings(groupOfPath, showPlace))},
		{Route: "POST " + notificationsPath + "/groups/{id}", Do: d.do(placeSettings(groupOfPath, changePlace)), Many: []string{"events"}},
		{Route: "GET " + notificationsPath + "/projects/{id}", Do: d.do(placeSettings(projectOfPath, showPlace))},
		{Route: "POST " + notificationsPath + "/projects/{id}", Do: d.do(placeSettings(projectOfPath, changePlace)), Many: []string{"events"}},

		{Route: "GET " + passwordPath, Do: d.do(showPassword), Nav: own("Password", ui.IconLock)},
		{Route: "POST " + passwordPath, Do: d.do(replacePassword)},

		{Route: "GET " + tokensPath, Do: d.do(showTokens), Nav: own("Access tokens", ui.IconKey)},
		{Route: "POST " + tokensPath, Do: d.do(createToken), Many: []string{"scopes"}},
		{Route: "POST " + tokensPath + "/{id}/revoke", Do: d.do(revokeToken)},

		{Route: "GET " + keysPath, Do: d.do(showKeys), Nav: own("SSH keys", ui.IconJob)},
		{Route: "POST " + keysPath, Do: d.do(addKey)},
		{Route: "POST " + keysPath + "/{id}/remove", Do: d.do(removeKey)},

		{Route: "GET " + sessionsPath, Do: d.do(showSessions), Nav: own("Sessions", ui.IconHistory)},
		{Route: "POST " + sessionsPath + "/{id}/end", Do: d.do(endSession)},

		{Route: "GET " + FactorsPath, Who: page.MustEnroll, Do: d.do(showFactors), Nav: own("Two-factor", ui.IconShield)},
		{Route: "POST " + FactorsPath + "/begin", Who: page.MustEnroll, Do: d.do(beginFactor)},
		{Route: "POST " + FactorsPath + "/confirm", Who: page.MustEnroll, Do: d.do(confirmFactor)},
		{Route: "POST " + FactorsPath + "/keys/begin", Who: page.MustEnroll, Do: d.do(beginSecurityKey)},
		{Route: "POST " + FactorsPath + "/keys", Who: page.MustEnroll, Do: d.do(addSecurityKey)},
		{Route: "POST " + FactorsPath + "/keys/{id}/remove", Do: d.do(removeSecurityKey)},
		{Route: "POST " + FactorsPath + "/codes", Do: d.do(renewCodes)},
		{Route: "POST " + FactorsPath + "/disable", Do: d.do(disableFactor)},
	}
	// A browser shows where a form was sent as the address of the page that refuses it.
	for _, below := range []string{"/begin", "/confirm", "/keys/begin", "/keys", "/keys/{id}/remove", "/codes", "/disable"} {
		all = append(all, page.Page{Route: "GET " + FactorsPath + below, Who: page.MustEnroll, Do: leadTo(FactorsPath)})
	}
	all = append(all,
		page.Page{Route: "GET " + factorPath + "/key", Who: anyone, Do: leadTo(factorPath)},
		page.Page{Route: "GET " + emailsPath + "/primary", Do: leadTo(emailsPath)},
		page.Page{Route: "GET " + notificationsPath + "/places", Do: leadTo(notificationsPath)},
		page.Page{Route: "GET " + oldNotificationsPath, Do: leadTo(notificationsPath)},
		page.Page{Route: "GET " + invitationsPath + "/{id}/accept", Do: leadTo(invitationsPath)},
	)
	all = append(all, applicationPages(d, ownApplications, page.SignedIn, own("Applications", ui.IconBox))...)
	all = append(all, applicationPages(d, instanceApplications, page.Administrators,
		page.Nav{List: page.AdminList, Title: "Applications", Icon: ui.IconBox})...)
	return append(all,
		page.Page{Route: "POST /oauth/authorized_applications/{id}", Do: d.do(withdraw)},
		page.Page{Route: "GET /oauth/authorize", Who: page.Readers, Do: d.do(consent)},
		page.Page{Route: "POST /oauth/authorize", Do: d.do(answerConsent)},

		page.Page{Route: "GET " + invitationsPath, Do: d.do(showInvitations), Nav: own("Invitations", ui.IconUsers)},
		page.Page{Route: "POST " + invitationsPath + "/{id}/accept", Do: d.do(acceptInvitation)},
		page.Page{Route: "POST " + invitationsPath + "/{id}/decline", Do: d.do(declineInvitation)},
	)
}

// leadTo sends the browser on.
func leadTo(path string) func(*page.Request) error {
	return func(x *page.Request) error {
		x.Redirect(path)
		return nil
	}
}

// applicationPages are those of the applications that a person or the instance registered.
func applicationPages(d Deps, at string, who page.Audience, nav page.Nav) []page.Page {
	in := func(do func(*request, string) error) func(*page.Request) error {
		return d.do(func(x *request) error { return do(x, at) })
	}
	scopes := []string{"scopes"}
	return []page.Page{
		{Route: "GET " + at, Who: who, Do: in(applications), Nav: nav},
		{Route: "GET " + at + "/new", Who: who, Do: in(showNewApplication)},
		{Route: "POST " + at, Who: who, Many: scopes, Do: in(createApplication)},
		{Route: "GET " + at + "/{id}", Who: who, Do: in(application)},
		{Route: "GET " + at + "/{id}/edit", Who: who, Do: in(editApplication)},
		{Route: "POST " + at + "/{id}", Who: who, Many: scopes, Do: in(updateApplication)},
		{Route: "POST " + at + "/{id}/renew", Who: who, Do: in(renewApplication)},
		{Route: "POST " + at + "/{id}/delete", Who: who, Do: in(deleteApplication)},
	}
}

// request is a request for a page of this area.
type request struct {
	*page.Request
	deps    Deps
	account *user.User // all that is known of whoever is signed in; nil when nobody is
}

// do is what a handler is called by.
func (d Deps) do(handle func(*request) error) func(*page.Request) error {
	return func(r *page.Request) error {
		x := &request{Request: r, deps: d}
		if r.Account != nil {
			var err error
			if x.account, err = d.Users.Find(r.Context(), r.Account.ID); err != nil {
				return err
			}
		}
		return handle(x)
	}
}

// settings is the layout of a page of a person's settings.
func settings(x *request, title, here string) page.Layout {
	return page.Layout{Title: title, Sidebar: x.Sidebar(page.AccountList, here)}
}
