package user_test

import (
	"crypto/dsa"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/user"
)

func actor(u *user.User) access.Actor { return access.Actor{Person: u.Person()} }

// line is a public key as ssh-keygen writes it, without comment.
func line(t *testing.T, public any) string {
	t.Helper()
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func ed25519Line(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return line(t, public)
}

func newSSHKey(t *testing.T) user.NewSSHKey {
	return user.NewSSHKey{Title: "laptop", Key: ed25519Line(t), UsageType: "auth_and_signing"}
}

// odd is an odd number of so many bits; as a modulus it will do where nothing
// is ever signed.
func odd(bits int) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(3), uint(bits-2))
	return n.Add(n, big.NewInt(1))
}

func rsaLine(t *testing.T, bits int) string {
	t.Helper()
	return line(t, &rsa.PublicKey{N: odd(bits), E: 65537})
}

func TestAnSSHKeyIsAddedShownAndRemoved(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada, text := b.as(b.ada), ed25519Line(t)
	added := ada.Do(t, "POST", "/user/keys", form("title", "laptop", "key", "  "+text+" me@home \n", "expires_at", "2027-01-02"))
	id := httpapitest.JSON[withID](t, added.WantStatus(t, http.StatusCreated)).ID
	one := `{"id":` + path(id)[1:] + `,"title":"laptop","created_at":"2026-03-01T12:00:00.000Z","expires_at":"2027-01-02T00:00:00.000Z","key":"` +
		text + ` Ada Lovelace (forge.example)","usage_type":"auth_and_signing"}`
	added.Want(t, http.StatusCreated, one)
	ada.Do(t, "GET", "/user/keys", nil).Want(t, http.StatusOK, "["+one+"]")
	ada.Do(t, "GET", path("user", "keys", id), nil).Want(t, http.StatusOK, one)
	for _, ref := range []any{b.ada, "ada", "ADA"} {
		b.anyone.Do(t, "GET", path("users", ref, "keys"), nil).Want(t, http.StatusOK, "["+one+"]")
	}
	b.anyone.Do(t, "GET", path("users", b.ada, "keys", id), nil).Want(t, http.StatusOK, one)

	const noKey = `{"message":"404 Key Not Found"}`
	b.as(b.bob).Do(t, "GET", path("user", "keys", id), nil).Want(t, http.StatusNotFound, noKey)
	b.as(b.bob).Do(t, "DELETE", path("user", "keys", id), nil).Want(t, http.StatusNotFound, noKey)
	b.anyone.Do(t, "GET", path("users", b.bob, "keys", id), nil).Want(t, http.StatusNotFound, noKey)
	for _, p := range []string{"/users/nobody/keys", "/users/987654/keys", "/users/987654/keys/1"} {
		b.anyone.Do(t, "GET", p, nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
	}
	ada.Do(t, "DELETE", path("user", "keys", id), nil).Want(t, http.StatusNoContent, "")
	ada.Do(t, "GET", path("user", "keys", id), nil).Want(t, http.StatusNotFound, noKey)

	fingerprint := sshFingerprint(t, text)
	b.wantDeeds(t, "add_ssh_key by ada on ada: Added SSH key "+fingerprint, "remove_ssh_key by ada on ada: Removed SSH key "+fingerprint)
}

func sshFingerprint(t *testing.T, text string) string {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ssh.FingerprintSHA256(key)
}

func TestAnAdministratorAddsAndRemovesTheKeysOfOthers(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	root, text := b.as(b.root), ed25519Line(t)
	added := root.Do(t, "POST", path("users", b.ada, "keys"), form("title", "t", "key", text, "usage_type", "signing"))
	id := httpapitest.JSON[withID](t, added.WantStatus(t, http.StatusCreated)).ID
	root.Do(t, "DELETE", path("users", b.bob, "keys", id), nil).Want(t, http.StatusNotFound, `{"message":"404 Key Not Found"}`)
	root.Do(t, "DELETE", path("users", b.ada, "keys", id), nil).Want(t, http.StatusNoContent, "")
	fingerprint := sshFingerprint(t, text)
	b.wantDeeds(t, "add_ssh_key by root on ada: Added SSH key "+fingerprint, "remove_ssh_key by root on ada: Removed SSH key "+fingerprint)
}

func TestAKeyIsFoundByIDAndByEitherFingerprint(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	k, err := b.AddSSHKey(t.Context(), actor(b.ada), b.ada.ID, newSSHKey(t))
	if err != nil {
		t.Fatal(err)
	}
	root := b.as(b.root)
	want := root.Do(t, "GET", path("keys", k.ID), nil).WantStatus(t, http.StatusOK).Body
	user := `"user":{"id":` + path(b.ada)[1:] + `,"username":"ada","name":"Ada Lovelace","state":"active","locked":false,"avatar_url":null,"web_url":"https://forge.example/ada"}`
	if !strings.Contains(want, k.Key+` Ada Lovelace (forge.example)"`) || !strings.Contains(want, user) {
		t.Error(want)
	}
	for _, fingerprint := range []string{
		k.FingerprintSHA256, strings.Replace(k.FingerprintSHA256, "SHA256", "sha256", 1), k.FingerprintSHA256 + "=",
		k.FingerprintMD5, strings.ToUpper(k.FingerprintMD5), "MD5:" + k.FingerprintMD5,
	} {
		root.Do(t, "GET", "/keys?"+form("fingerprint", fingerprint).Encode(), nil).Want(t, http.StatusOK, want)
	}
	for fingerprint, status := range map[string]int{
		"": 400, "SHA256:": 400, "SHA256:short": 400, "MD5:": 400, "md5": 400, "aa:bb": 400, k.FingerprintMD5 + ":00": 400,
		"SHA256:" + strings.Repeat("A", 43): 404, strings.Repeat("00:", 15) + "00": 404,
	} {
		body := map[int]string{400: `{"message":"Failed to return the key"}`, 404: `{"message":"404 Key Not Found"}`}[status]
		root.Do(t, "GET", "/keys?"+form("fingerprint", fingerprint).Encode(), nil).Want(t, status, body)
	}
	root.Do(t, "GET", "/keys/987654", nil).Want(t, http.StatusNotFound, `{"message":"404 Key Not Found"}`)
	for _, p := range []string{path("keys", k.ID), "/keys?" + form("fingerprint", k.FingerprintMD5).Encode()} {
		b.as(b.ada).Do(t, "GET", p, nil).Want(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
		b.anyone.Do(t, "GET", p, nil).Want(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
	}
}

func TestSSHKeysThatBreakARuleAreRefused(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	const invalid = `{"message":{"fingerprint_sha256":["cannot be generated"],"key":["is invalid"]}}`
	good := ed25519Line(t)
	weak := &dsa.PublicKey{Parameters: dsa.Parameters{P: odd(1024), Q: odd(160), G: big.NewInt(2)}, Y: big.NewInt(4)}
	for name, tc := range map[string]struct {
		body url.Values
		want string
	}{
		"no parameters":   {nil, `{"error":"title is missing, key is missing"}`},
		"blank title":     {form("title", " ", "key", good), `{"message":{"title":["can't be blank"]}}`},
		"long title":      {form("title", strings.Repeat("é", 256), "key", good), `{"message":{"title":["is too long (maximum is 255 characters)"]}}`},
		"empty key":       {form("title", "t", "key", ""), invalid},
		"nonsense":        {form("title", "t", "key", "ssh-rsa AAAA"), invalid},
		"options":         {form("title", "t", "key", `command="sh" `+good), invalid},
		"two lines":       {form("title", "t", "key", good+"\n"+ed25519Line(t)), invalid},
		"a private key":   {form("title", "t", "key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\n"), invalid},
		"too long":        {form("title", "t", "key", good+" "+strings.Repeat("x", 5000)), `{"message":{"key":["is too long (maximum is 5000 characters)"]}}`},
		"short RSA":       {form("title", "t", "key", rsaLine(t, 1024)), `{"message":{"key":["must be at least 2048 bits"]}}`},
		"DSA":             {form("title", "t", "key", line(t, weak)), `{"message":{"key":["type is forbidden. Must be RSA, ECDSA, ECDSA_SK, ED25519_SK, or ED25519"]}}`},
		"expired":         {form("title", "t", "key", good, "expires_at", "2026-03-01"), `{"message":{"key":["has expired"]}}`},
		"unknown usage":   {form("title", "t", "key", good, "usage_type", "all"), `{"error":"usage_type does not have a valid value"}`},
		"unreadable date": {form("title", "t", "key", good, "expires_at", "soon"), `{"error":"expires_at is invalid"}`},
	} {
		t.Run(name, func(t *testing.T) {
			b.as(b.ada).Do(t, "POST", "/user/keys", tc.body).Want(t, http.StatusBadRequest, tc.want)
		})
	}
}

func TestAnSSHKeyBelongsToOneAccount(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	text := ed25519Line(t)
	b.as(b.ada).Do(t, "POST", "/user/keys", form("title", "t", "key", text)).WantStatus(t, http.StatusCreated)
	for _, who := range []*user.User{b.ada, b.bob} {
		b.as(who).Do(t, "POST", "/user/keys", form("title", "t", "key", text+" another comment")).Want(t, http.StatusBadRequest,
			`{"message":{"fingerprint_sha256":["has already been taken"]}}`)
	}
}

func TestEveryAllowedTypeOfSSHKeyIsTaken(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	lines := map[string]string{"RSA": rsaLine(t, 2048), "ED25519": ed25519Line(t)}
	for name, curve := range map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		lines[name] = line(t, &key.PublicKey)
	}
	lines["ED25519_SK"] = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIKjYe/0vbWX0J8ZZ1yXvWyRM36kjlfvD0DlqZkfPSXmqAAAABHNzaDo="
	for name, text := range lines {
		k, err := b.AddSSHKey(t.Context(), actor(b.ada), b.ada.ID, user.NewSSHKey{Title: name, Key: text, UsageType: "auth"})
		if err != nil || k.Key != text {
			t.Errorf("%s: %v, %q", name, err, k.Key)
		}
	}
}

// A key may be pasted into an authorized_keys file as it is shown.
func TestANameCannotBeginALineOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	if _, err := b.db.Exec(t.Context(), `update users set name = E'Eve\nssh-ed25519 AAAA\u2028x' where id = $1`, b.ada.ID); err != nil {
		t.Fatal(err)
	}
	k, err := b.AddSSHKey(t.Context(), actor(b.ada), b.ada.ID, newSSHKey(t))
	if err != nil {
		t.Fatal(err)
	}
	shown := httpapitest.JSON[struct{ Key string }](t, b.anyone.Do(t, "GET", path("users", b.ada, "keys", k.ID), nil)).Key
	if want := k.Key + " Eve ssh-ed25519 AAAA x (forge.example)"; shown != want {
		t.Errorf("got %q, want %q", shown, want)
	}
}

func TestKeysComeInPages(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	var ids []int64
	for range 3 {
		k, err := b.AddSSHKey(t.Context(), actor(b.ada), b.ada.ID, newSSHKey(t))
		if err != nil {
			t.Fatal(err)
		}
		b.pass(time.Minute)
		ids = append(ids, k.ID)
	}
	r := b.anyone.Do(t, "GET", "/users/ada/keys?per_page=2&page=2", nil).WantStatus(t, http.StatusOK)
	page := httpapitest.JSON[[]withID](t, r)
	if len(page) != 1 || page[0].ID != ids[2] || r.Header.Get("X-Total") != "3" || r.Header.Get("X-Prev-Page") != "1" {
		t.Errorf("got %v, %v", page, r.Header)
	}
	b.anyone.Do(t, "GET", "/users/ada/keys?per_page=0", nil).Want(t, http.StatusBadRequest, `{"error":"per_page has a value not allowed"}`)
}
