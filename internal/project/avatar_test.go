package project_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
)

func TestThePictureOfAProjectIsForThoseWhoSeeIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID)
	as, path, id := w.as(w.ada), at(p), p.ID
	find := w.projects.Avatar
	const gif = "GIF89a<script>"
	type shown struct {
		AvatarURL *string `json:"avatar_url"`
	}
	as.Do(t, "GET", path+"/avatar", nil).Want(t, http.StatusNotFound, `{"message":"404 Avatar Not Found"}`)
	as.Upload(t, "PUT", path, "avatar", "x.gif", []byte("<svg>")).WantStatus(t, http.StatusBadRequest)
	got := httpapitest.JSON[shown](t, as.Upload(t, "PUT", path, "avatar", "../our face.png", []byte(gif)).WantStatus(t, http.StatusOK))
	want := fmt.Sprintf("https://forge.example/uploads/-/system/project/avatar/%d/our_face.gif", id)
	if got.AvatarURL == nil || *got.AvatarURL != want {
		t.Fatalf("got %v, want %s", got.AvatarURL, want)
	}
	r := as.Do(t, "GET", path+"/avatar", nil)
	r.Want(t, http.StatusOK, gif)
	if d := r.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") {
		t.Errorf("shown as %q", d)
	}
	root := access.Actor{Person: w.root.Person()}
	if p, everyone, err := find(t.Context(), root, id, "our_face.gif"); err != nil || everyone || string(p.Content) != gif {
		t.Errorf("got %v, %v, %v", p, everyone, err)
	}
	for name, err := range map[string]error{
		"a stranger":   func() error { _, _, err := find(t.Context(), access.Actor{}, id, "our_face.gif"); return err }(),
		"another name": func() error { _, _, err := find(t.Context(), root, id, "x.gif"); return err }(),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := httpapitest.JSON[shown](t, as.Do(t, "PUT", path, map[string]any{"avatar": ""}).WantStatus(t, http.StatusOK)); got.AvatarURL != nil {
		t.Errorf("taken away, and still %s", *got.AvatarURL)
	}
	as.Do(t, "GET", path+"/avatar", nil).WantStatus(t, http.StatusNotFound)
	if _, _, err := find(t.Context(), root, id, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("without a picture: %v", err)
	}
}
