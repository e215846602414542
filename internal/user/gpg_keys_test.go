package user_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"stithy/internal/kit/httpapi/httpapitest"
)

func armor(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestAGPGKeyIsAddedShownAndRemoved(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada, text := b.as(b.ada), armor(t, "ed25519.asc")
	added := ada.Do(t, "POST", "/user/gpg_keys", form("key", "\n"+text+"\n\n")).WantStatus(t, http.StatusCreated)
	id := httpapitest.JSON[withID](t, added).ID
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	one := `{"id":` + path(id)[1:] + `,"key":` + string(quoted) + `,"created_at":"2026-03-01T12:00:00.000Z"}`
	added.Want(t, http.StatusCreated, one)
	ada.Do(t, "GET", "/user/gpg_keys", nil).Want(t, http.StatusOK, "["+one+"]")
	ada.Do(t, "GET", path("user", "gpg_keys", id), nil).Want(t, http.StatusOK, one)
	b.anyone.Do(t, "GET", path("users", b.ada, "gpg_keys"), nil).Want(t, http.StatusOK, "["+one+"]")
	b.anyone.Do(t, "GET", path("users", b.ada, "gpg_keys", id), nil).Want(t, http.StatusOK, one)

	const noKey = `{"message":"404 GPG Key Not Found"}`
	b.anyone.Do(t, "GET", path("users", b.bob, "gpg_keys", id), nil).Want(t, http.StatusNotFound, noKey)
	b.anyone.Do(t, "GET", "/users/987654/gpg_keys", nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
	for _, method := range []string{"GET", "DELETE"} {
		b.as(b.bob).Do(t, method, path("user", "gpg_keys", id), nil).Want(t, http.StatusNotFound, noKey)
	}
	b.as(b.bob).Do(t, "POST", path("user", "gpg_keys", id, "revoke"), nil).Want(t, http.StatusNotFound, noKey)
	ada.Do(t, "DELETE", path("user", "gpg_keys", id), nil).Want(t, http.StatusNoContent, "")
	ada.Do(t, "GET", "/user/gpg_keys", nil).Want(t, http.StatusOK, "[]")
	const fingerprint = "17DCC03062B6800AE058A6EEC5EDD9D50CA42478"
	b.wantDeeds(t, "add_gpg_key by ada on ada: Added GPG key "+fingerprint, "remove_gpg_key by ada on ada: Removed GPG key "+fingerprint)
}

func TestARevokedGPGKeyIsGone(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	for _, tc := range []struct {
		as    *httpapitest.Client
		where string
	}{
		{b.as(b.ada), "/user/gpg_keys"},
		{b.as(b.root), path("users", b.ada, "gpg_keys")},
	} {
		added := tc.as.Do(t, "POST", tc.where, form("key", armor(t, "rsa.asc"))).WantStatus(t, http.StatusCreated)
		at := tc.where + path(httpapitest.JSON[withID](t, added).ID)
		tc.as.Do(t, "POST", at+"/revoke", nil).Want(t, http.StatusAccepted, `{"message":"202 Accepted"}`)
		tc.as.Do(t, "GET", at, nil).Want(t, http.StatusNotFound, `{"message":"404 GPG Key Not Found"}`)
	}
}

func TestAGPGKeyThatIsBadOrThereAlreadyIsRefused(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	text := armor(t, "rsa.asc")
	b.as(b.root).Do(t, "POST", path("users", b.ada, "gpg_keys"), form("key", text)).WantStatus(t, http.StatusCreated)
	for name, tc := range map[string]struct{ key, want string }{
		"bad":           {"hello", `{"message":{"key":["is invalid. A valid public GPG key begins with '-----BEGIN PGP PUBLIC KEY BLOCK-----' and ends with '-----END PGP PUBLIC KEY BLOCK-----'"]}}`},
		"the same text": {text, `{"message":{"key":["has already been taken"]}}`},
		"the same key": {strings.Replace(text, "\n\n", "\nComment: another block\n\n", 1),
			`{"message":{"fingerprint":["has already been taken"],"primary_keyid":["has already been taken"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.as(b.bob).Do(t, "POST", "/user/gpg_keys", form("key", tc.key))
			got.Body = strings.ReplaceAll(got.Body, `\u0027`, "'")
			got.Want(t, http.StatusBadRequest, tc.want)
		})
	}
}
