package signin

import "fmt"

func resetText(site, username, link string) string {
	return fmt.Sprintf(`Somebody, most likely you, asked to set the password of the account
%s at %s.

To choose a new password, open this link within six hours:

%s

If it was not you, do nothing: the password stays as it is.
`, username, site, link)
}

func confirmText(site, username, link string) string {
	return fmt.Sprintf(`This address was given for the account %s at %s.

To confirm that it is yours, open this link within three days:

%s

If you know nothing of it, do nothing: the address will not be used.
`, username, site, link)
}

func noticeText(site, username string) string {
	return fmt.Sprintf(`Somebody tried to register an account with this address at %s.
You have one already. Its name is %s.

If it was you, sign in there; a forgotten password can be replaced at
%s/users/password/new.

If it was not you, there is nothing to do.
`, site, username, site)
}
