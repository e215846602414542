package app

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
)

// GI-16: a person who opens fetches over SSH and says nothing, or says what
// they want and then nothing, keeps nobody from cloning.
func TestGI16_SilentFetchesOfOnePersonLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	signer, _ := d.keyOf(t, d.people[access.Developer])
	silent := func(path string, say func(advertised string) string) {
		t.Helper()
		client, err := ssh.Dial("tcp", s.addr, comeAs(signer))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		in, _ := session.StdinPipe()
		out, err := session.StdoutPipe()
		if err == nil {
			err = session.Start("git-upload-pack '" + path + ".git'")
		}
		if err != nil {
			t.Fatal(err)
		}
		id := make([]byte, 44) // the command runs
		if _, err := io.ReadFull(out, id); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, say(string(id[4:]))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		path := []string{"house/open", "house/hidden"}[i%2]
		silent(path, func(string) string { return "" })
		silent(path, func(id string) string { return "0032want " + id + "\n0000" })
	}
	// The same address, another person, and an answer that no cache has.
	for _, version := range []string{"0", "2"} {
		c := newClient(t)
		c.env = s.as(t, d.people[access.Reporter])
		c.must("-c", "protocol.version="+version, "clone", "-q", s.address("house/open"), filepath.Join(t.TempDir(), "c"))
	}
}

// GI-16: readers of large files who do not read on keep nobody from pushing,
// nor from reading.
func TestGI16_SlowReadersOfLargeFilesHoldUpNoPush(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	large := strings.Repeat("large file ", 1<<21)
	for _, name := range []string{"one", "two"} {
		p := projecttest.New(t, d.DB, d.house.ID, projecttest.Named(name), projecttest.Visible(access.Public))
		repositorytest.New(t, d.DB, d.Store, p, repositorytest.Files{"big": large, "bigger": large + large})
		for i := range 10 {
			file := []string{"big", "bigger"}[i%2]
			response, err := http.Get(fmt.Sprintf("%s/api/v4%s", server.URL, below(p, "/repository/files/"+file+"/raw")))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = response.Body.Close() })
			if first, err := bufio.NewReaderSize(response.Body, 16).Peek(5); err != nil || string(first) != "large" {
				t.Fatalf("%d %q %v", response.StatusCode, first, err)
			}
		}
	}
	c := newClient(t)
	remote := strings.Replace(server.URL, "://", "://x:"+d.token(t, d.people[access.Developer], access.ScopeAPI)+"@", 1) + "/house/hidden.git"
	c.must("fetch", "-q", remote, "main")
	c.must("reset", "-q", "--hard", "FETCH_HEAD")
	c.commit("more", "text")
	c.must("push", "-q", remote, "HEAD:refs/heads/work")
	repo := d.Store.Repo(gitstore.KeyOf("default", d.hidden.ID, 0))
	if _, err := repo.Ref(t.Context(), "refs/heads/work"); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(fmt.Sprintf("%s/api/v4/projects/house%%2Fone/repository/files/big/raw", server.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != large {
		t.Errorf("%d bytes, want %d: %v", len(text), len(large), err)
	}
}
