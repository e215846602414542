package account

import (
	"net/http"
	"strconv"
	"strings"

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
		expiryField(x, "Optional."),
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
			Remove: x.Button(keysPath+"/"+strconv.FormatInt(k.ID, 10)+"/remove", "Remove", page.Danger, "the key "+k.Title).
				AskFirst("Whoever uses the key “" + k.Title + "” is let in no more."),
		})
	}
	return x.Show(status, settings(x, "SSH keys", keysPath), keysPage(body))
}

// privateKey is what is said of a private key.
const privateKey = "is a private key, and was sent to a server: replace it now with a new pair, and use it nowhere any more. " +
	"What belongs here is the public half of the new one, the line in the file that ends in .pub"

// private reports whether a text holds the private half of a key, as OpenSSH, OpenSSL or PuTTY write it.
func private(text string) bool {
	return strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, "PuTTY-User-Key-File") || strings.Contains(text, "Private-Lines:")
}

func addKey(x *request) error {
	n := user.NewSSHKey{Title: strings.TrimSpace(x.Form.Get("title")), Key: x.Form.Get("key"), UsageType: "auth_and_signing"}
	var err error
	if n.ExpiresAt, err = expiry(x); private(n.Key) {
		err = fault.Field("key", privateKey)
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
	for i := range f.Fields {
		if f.Fields[i].Name == "key" && len(f.Fields[i].Problems) > 0 {
			f.Fields[i].Value = "" // it may be the private half, written in a way that we do not know
		}
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
