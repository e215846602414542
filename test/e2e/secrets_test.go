package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheScanFindsASecretInEveryForm(t *testing.T) {
	t.Parallel()
	secret := "a secret/with+signs"
	for name, line := range map[string]string{
		"plain":   `{"msg":"request","path":"` + secret + `"}`,
		"escaped": `{"path":"/x?y=` + url.QueryEscape(secret) + `"}`,
		"encoded": `Authorization: Basic ` + base64.StdEncoding.EncodeToString([]byte(secret)),
		"token":   `{"error":"no such token: svcpat-abcdefghij0123456789"}`,
	} {
		if got := leaks("well\n"+line+"\nwell\n", []string{secret}); !slices.Equal(got, []string{line}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := leaks(`{"msg":"request","path":"/api/v4/user?private_token=••••"}`, []string{secret}); len(got) > 0 {
		t.Errorf("found in %q", got)
	}
}

// Every secret is sent in every place where a client may put one, also where it goes wrong. The scan at the end of
// the test reads the log, at its most talkative.
func TestSU01_NoSecretReachesALogOrADump(t *testing.T) {
	t.Parallel()
	f := start(t, "STITHY_LOG_LEVEL=debug")
	unknown := f.secret("svcpat-" + rand.Text()[:20])
	value := f.secret("value-" + rand.Text())

	for _, token := range []string{f.token, unknown} {
		for _, name := range []string{"private_token", "access_token", "bearer_token", "job_token", "token"} {
			f.send(t, http.MethodGet, "/api/v4/user?"+name+"="+token, nil, "", nil)
			f.send(t, http.MethodPost, "/api/v4/users", strings.NewReader(name+"="+token), "application/x-www-form-urlencoded", nil)
		}
		for name, header := range map[string]string{
			"PRIVATE-TOKEN": token, "JOB-TOKEN": token, "Deploy-Token": token, "Authorization": "Bearer " + token, "Sudo": token,
			"Referer": f.url + "/?private_token=" + token, "X-Request-Id": token + "!",
			"Cookie": "_svc_session=" + token,
		} {
			f.send(t, http.MethodGet, "/api/v4/user", nil, "", http.Header{name: {header}})
		}
		f.send(t, http.MethodGet, "/api/v4/user", nil, "", http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("root:"+token))},
		})
		f.send(t, http.MethodGet, "/-/readiness?token="+token, nil, "", nil)
		f.send(t, http.MethodGet, "/nowhere?private_token="+token, nil, "", nil)
		f.send(t, http.MethodGet, "/api/v4/nowhere?private_token="+token, nil, "", nil)
		f.send(t, http.MethodGet, "/api/v4/user?private_token="+token+"&%zz", nil, "", nil)
		f.send(t, http.MethodGet, "/api/v4/user;private_token="+token, nil, "", nil)
	}

	admin := http.Header{"PRIVATE-TOKEN": {f.token}}
	account := url.Values{"username": {"su01"}, "name": {"SU01"}, "email": {"su01@example.com"}, "password": {f.password}}
	variable := url.Values{"key": {"SU01"}, "value": {value}, "masked": {"true"}}
	for path, fields := range map[string]url.Values{"/api/v4/users": account, "/api/v4/admin/ci/variables": variable} {
		f.send(t, http.MethodPost, path+"?"+fields.Encode(), nil, "", admin)                                                           // made
		f.send(t, http.MethodPost, path, strings.NewReader(fields.Encode()), "application/x-www-form-urlencoded", admin)               // taken
		f.send(t, http.MethodPost, path, strings.NewReader(fields.Encode()), "text/plain", admin)                                      // not understood
		f.send(t, http.MethodPost, path, strings.NewReader(`{"password":"`+f.password+`","value":"`+value), "application/json", admin) // cut short
		f.send(t, http.MethodPost, path, strings.NewReader(`["`+f.password+`","`+value+`"]`), "application/json", admin)
		form := &bytes.Buffer{}
		parts := multipart.NewWriter(form)
		for name, values := range fields {
			if err := parts.WriteField(name, values[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := parts.Close(); err != nil {
			t.Fatal(err)
		}
		f.send(t, http.MethodPost, path, form, parts.FormDataContentType(), admin)
	}
	if got := f.send(t, http.MethodGet, "/api/v4/admin/ci/variables/SU01", nil, "", admin); !strings.Contains(got, value) {
		t.Errorf("the variable is %s", got)
	}
	f.send(t, http.MethodPut, "/api/v4/admin/ci/variables/SU01?value="+f.secret("next-"+rand.Text()), nil, "", admin)

	dump, err := exec.CommandContext(t.Context(), "pg_dump", f.database()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(dump, []byte("su01@example.com")) || !bytes.Contains(dump, []byte("SU01")) {
		t.Error("the dump holds neither account nor variable")
	}
	for _, line := range leaks(string(dump), f.secrets) {
		t.Errorf("a dump shows a secret: %s", line)
	}
}

// A forge leaves nothing that other users of the machine could read, write or enter.
func TestSU08_NoFileIsOpenToOthers(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.send(t, http.MethodGet, "/api/v4/user", nil, "", http.Header{"PRIVATE-TOKEN": {f.token}})
	files := 0
	err := filepath.WalkDir(filepath.Join(f.dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		// A link has no mode of its own; what it leads to has one.
		if mode := info.Mode().Perm(); mode&0o007 != 0 && entry.Type() != fs.ModeSymlink {
			t.Errorf("%s has mode %04o", path, mode)
		}
		return nil
	})
	if err != nil || files < 2 {
		t.Errorf("%d files, %v", files, err)
	}
}

func (f *forge) database() string {
	for _, pair := range f.env {
		if address, ok := strings.CutPrefix(pair, "STITHY_DATABASE_URL="); ok {
			return address
		}
	}
	return ""
}

// send returns the body of whatever answer comes.
func (f *forge) send(t testing.TB, method, path string, body io.Reader, contentType string, header http.Header) string {
	t.Helper()
	req, err := http.NewRequest(method, f.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusInternalServerError {
		t.Errorf("%s %s: %s", method, path, text)
	}
	return string(text)
}
