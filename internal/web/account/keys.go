package account

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
	"stithy/internal/web/page"
)

func keyForm(x *request) *page.Form {
	return x.NewForm(keysPath, "Add key",
		page.Field{Name: "title", Label: "Name", Type: page.Text, Required: true, Length: 255,
			Hint: "Where the key is kept, such as “work laptop”."},
		page.Field{Name: "key", Also: "fingerprint_sha256", Label: "Public key", Type: page.Textarea, Required: true, Length: 5000,
			Hint: "The line in the file that ends in .pub."},
		page.Field{Name: "expires_at", Label: "Expires", Type: page.Date, Hint: "Optional."},
	)
}

// keysBody is the SSH keys of a person.
type keysBody struct {
	Keys []keyRow
	Form *page.Form
}

type keyRow struct {
	Title, Fingerprint string
	Created, Expires   *page.DisplayTime
	Remove             *page.Form
}

func showKeys(x *request) error { return keys(x, http.StatusOK, keyForm(x)) }

func keys(x *request, status int, f *page.Form) error {
	found, err := x.deps.Users.SSHKeys(x.Context(), x.account.ID, paging.Request{Page: 1, PerPage: ownRows})
	if err != nil {
		return err
	}
	body := keysBody{Form: f}
	for _, k := range found.Items {
		body.Keys = append(body.Keys, keyRow{
			Title: k.Title, Fingerprint: k.FingerprintSHA256, Created: x.Time(&k.CreatedAt), Expires: x.Time(k.ExpiresAt),
			Remove: x.Button(keysPath+"/"+strconv.FormatInt(k.ID, 10)+"/remove", "Remove", page.Danger, "the key "+k.Title),
		})
	}
	return x.Show(status, settings(x, "SSH keys", keysPath), keysPage(body))
}

func addKey(x *request) error {
	n := user.NewSSHKey{Title: strings.TrimSpace(x.Form.Get("title")), Key: x.Form.Get("key"), UsageType: "auth_and_signing"}
	var err error
	if text := x.Form.Get("expires_at"); text != "" {
		day, parseErr := time.Parse(time.DateOnly, text)
		if n.ExpiresAt = &day; parseErr != nil {
			err = fault.Field("expires_at", "is not a date")
		}
	}
	if err == nil {
		if _, err = x.deps.Users.AddSSHKey(x.Context(), x.Actor, x.account.ID, n); err == nil {
			return x.Done(keysPath, "SSH key added.")
		}
	}
	f := keyForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return keys(x, http.StatusUnprocessableEntity, f)
}

func removeKey(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	k, err := x.deps.Users.FindSSHKeyOf(x.Context(), x.account.ID, id)
	if err != nil {
		return err
	}
	if err := x.deps.Users.RemoveSSHKey(x.Context(), x.Actor, k); err != nil {
		return err
	}
	return x.Done(keysPath, "The key is removed.")
}
