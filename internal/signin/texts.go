package signin

import (
	"fmt"
	"strconv"
)

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

func waitingText(site string, n int) string {
	waiting := strconv.Itoa(n) + " accounts wait"
	switch n {
	case 1:
		waiting = "1 account waits"
	case mostWaiting:
		waiting = "At least " + waiting
	}
	return fmt.Sprintf(`%s for approval at %s.

To approve or reject them, open this page:

%s/admin/users?state=pending

You get this mail because you are an administrator there.
`, waiting, site, site)
}

func noticeText(site, username string) string {
	return fmt.Sprintf(`Somebody tried to register an account with this address at %s.
You have one already. Its name is %s.

If it was you, sign in there; a forgotten password can be replaced at
%s/users/password/new.

If it was not you, there is nothing to do.
`, site, username, site)
}
