package repository_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
)

// unpack lists the files of an archive with their contents.
func unpack(t *testing.T, format string, body []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	if format == "zip" {
		r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			if !f.FileInfo().IsDir() {
				in, _ := f.Open()
				text, _ := io.ReadAll(in)
				files[f.Name] = string(text)
			}
		}
		return files
	}
	var in io.Reader = bytes.NewReader(body)
	switch format {
	case "gz":
		packed, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		in = packed
	case "bz2":
		in = bzip2.NewReader(in)
	}
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			text, _ := io.ReadAll(r)
			files[h.Name] = string(text)
		}
	}
}

func TestAnArchiveHasTheFormThatItsSuffixNames(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, ids := w.seed(t, gitstoretest.Commit{Message: "one", Files: map[string]string{"a": "a", "d/b": "b", "d/e/c": "c"}, Branch: "main"},
		gitstoretest.Commit{Message: "two", From: 1, Branch: "feat/x", Files: map[string]string{"n": "n"}})
	for suffix, c := range map[string][2]string{
		"": {"gz", "tar.gz"}, ".tar.gz": {"gz", "tar.gz"}, ".tar": {"tar", "tar"}, ".zip": {"zip", "zip"}, ".tar.bz2": {"bz2", "tar.bz2"},
		".bz2": {"bz2", "tar.bz2"}, ".tb2": {"bz2", "tar.bz2"}, ".tbz": {"bz2", "tar.bz2"}, ".tbz2": {"bz2", "tar.bz2"}, ".tgz": {"gz", "tar.gz"}, ".gz": {"gz", "tar.gz"},
	} {
		reply := w.Do(t, "GET", w.at("/repository/archive"+suffix), nil).WantStatus(t, http.StatusOK)
		base := "forge-main-" + string(ids[0])
		if diff := cmp.Diff(map[string]string{base + "/a": "a", base + "/d/b": "b", base + "/d/e/c": "c"}, unpack(t, c[0], []byte(reply.Body))); diff != "" {
			t.Errorf("%s: %s", suffix, diff)
		}
		mediaType := "application/octet-stream"
		if suffix == ".zip" {
			mediaType = "application/zip"
		}
		h := reply.Header
		if h.Get("Content-Disposition") != `attachment; filename="`+base+"."+c[1]+`"` || h.Get("Content-Type") != mediaType ||
			h.Get("Content-Transfer-Encoding") != "binary" || h.Get("Content-Length") != "" || !strings.Contains(h.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: got %v", suffix, h)
		}
	}
	part := w.Do(t, "GET", w.at("/repository/archive.zip?sha=feat/x&path=d/e"), nil).WantStatus(t, http.StatusOK)
	base := "forge-feat-x-" + string(ids[1]) + "-d-e"
	if diff := cmp.Diff(map[string]string{base + "/d/e/c": "c"}, unpack(t, "zip", []byte(part.Body))); diff != "" {
		t.Error(diff)
	}
	less := w.Do(t, "GET", w.at("/repository/archive.tar?exclude_paths[]=d"), nil).WantStatus(t, http.StatusOK)
	if files := unpack(t, "tar", []byte(less.Body)); len(files) != 1 {
		t.Errorf("got %v", files)
	}
	for _, query := range []string{"?sha=nope", "?path=nope", "?path=../x", "?sha=--remote=x"} {
		w.Do(t, "GET", w.at("/repository/archive.zip"+query), nil).Want(t, http.StatusNotFound, `{"message":"404 File Not Found"}`)
	}
	w.With("Sec-Fetch-Mode", "no-cors").Do(t, "GET", w.at("/repository/archive.zip"), nil).
		Want(t, http.StatusNotAcceptable, `{"message":"406 Not Acceptable"}`)
	if got := w.Do(t, "GET", w.at("/repository/archive.rar"), nil).Status; got != http.StatusNotFound && got != http.StatusBadRequest {
		t.Errorf("got %d", got)
	}
}

func TestArchivesAreLimitedForEachPersonAndProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.seed(t, gitstoretest.Commit{Message: "one", Files: map[string]string{"a": "a"}})
	w.Client = httpapitest.Start(t, &httpapi.Server{Endpoints: w.repositories.Endpoints(), Limits: w.settings})
	ada := w.as(t, access.Developer)
	for range 5 {
		ada.Do(t, "HEAD", w.at("/repository/archive.zip"), nil).WantStatus(t, http.StatusOK)
	}
	ada.Do(t, "GET", w.at("/repository/archive"), nil).
		Want(t, http.StatusTooManyRequests, `{"message":{"error":"This archive has been requested too many times. Try again later."}}`)
	w.as(t, access.Maintainer).Do(t, "HEAD", w.at("/repository/archive.zip"), nil).WantStatus(t, http.StatusOK)
	for range 6 {
		w.Do(t, "HEAD", w.at("/repository/archive.zip"), nil).WantStatus(t, http.StatusOK)
	}
}

type shownComparison struct {
	Commit  *struct{ ID string }
	Commits []struct {
		ID      string
		Parents []string `json:"parent_ids"`
		Title   string
	}
	Diffs []struct {
		Diff    string
		NewPath string `json:"new_path"`
		OldPath string `json:"old_path"`
		AMode   string `json:"a_mode"`
		BMode   string `json:"b_mode"`
		New     bool   `json:"new_file"`
		Renamed bool   `json:"renamed_file"`
		Deleted bool   `json:"deleted_file"`
	}
	Timeout bool   `json:"compare_timeout"`
	SameRef bool   `json:"compare_same_ref"`
	WebURL  string `json:"web_url"`
}

func TestAComparisonTellsWhatOneHasThatTheOtherHasNot(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, ids := w.seed(t,
		gitstoretest.Commit{Message: "base", Files: map[string]string{"a": "1\n", "gone": "g\n"}},
		gitstoretest.Commit{Message: "main", From: 1, Files: map[string]string{"m": "m\n"}},
		gitstoretest.Commit{Message: "one", From: 1, Branch: "topic", Files: map[string]string{"a": "2\n"}},
		gitstoretest.Commit{Message: "two", From: 3, Branch: "topic", Files: map[string]string{"new": "n\n", "gone": ""}},
	)
	got := read[shownComparison](t, w.Client, w.at("/repository/compare?from=main&to=topic"))
	if len(got.Commits) != 2 || got.Commits[0].Title != "one" || got.Commits[1].ID != string(ids[3]) || got.Commit == nil || got.Commit.ID != string(ids[3]) ||
		got.Commits[0].Parents[0] != string(ids[0]) || got.SameRef || got.Timeout || got.WebURL != "https://forge.example/house/forge/-/compare/main...topic" {
		t.Errorf("got %+v", got)
	}
	diffs := map[string]string{}
	for _, d := range got.Diffs {
		diffs[d.NewPath] = fmt.Sprintf("%s %s %v %v|%s", d.AMode, d.BMode, d.New, d.Deleted, d.Diff)
	}
	want := map[string]string{
		"a":    "100644 100644 false false|@@ -1 +1 @@\n-1\n+2\n",
		"gone": "100644 0 false true|@@ -1 +0,0 @@\n-g\n",
		"new":  "0 100644 true false|@@ -0,0 +1 @@\n+n\n",
	}
	if diff := cmp.Diff(want, diffs); diff != "" {
		t.Error(diff)
	}
	straight := read[shownComparison](t, w.Client, w.at("/repository/compare?from=main&to=topic&straight=true&unidiff=true"))
	if len(straight.Diffs) != 4 || straight.WebURL != "https://forge.example/house/forge/-/compare/main..topic" {
		t.Errorf("got %+v", straight)
	}
	for _, d := range straight.Diffs {
		heads := map[string]string{"a": "--- a/a\n+++ b/a\n", "new": "--- /dev/null\n+++ b/new\n", "gone": "--- a/gone\n+++ /dev/null\n", "m": "--- a/m\n+++ /dev/null\n"}
		if !strings.HasPrefix(d.Diff, heads[d.NewPath]+"@@") {
			t.Errorf("%s: got %q", d.NewPath, d.Diff)
		}
	}
	same := read[shownComparison](t, w.Client, w.at("/repository/compare?from=main&to=main"))
	if !same.SameRef || same.Commit != nil || len(same.Commits)+len(same.Diffs) != 0 {
		t.Errorf("got %+v", same)
	}
	w.Do(t, "GET", w.at("/repository/compare?from=main&to=nope"), nil).Want(t, http.StatusNotFound, `{"message":"404 Ref Not Found"}`)
	w.Do(t, "GET", w.at("/repository/compare?from=main"), nil).Want(t, http.StatusBadRequest, `{"error":"to is missing"}`)
}

func TestAComparisonReachesAcrossForks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	source, ids := w.seed(t, gitstoretest.Commit{Message: "base", Files: map[string]string{"a": "1\n"}})
	fork := projecttest.New(t, w.db, w.home.ID, projecttest.Named("copy"), projecttest.Visible(access.Public), projecttest.With("forked_from_id", w.project.ID))
	repo := repositorytest.New(t, w.db, w.store, fork, nil)
	w.exec(t, `update repositories set empty = false where project_id = $1`, fork.ID)
	w.exec(t, `update projects set default_branch = 'main' where id = $1`, fork.ID)
	gitstoretest.Seed(t, w.store, repo, gitstoretest.Commit{Message: "base", Files: map[string]string{"a": "1\n"}},
		gitstoretest.Commit{Message: "fork", From: 1, Files: map[string]string{"f": "f\n"}})
	tree := gitstoretest.Git(t, w.store, source, "", "rev-parse", "main^{tree}")
	ahead := gitstoretest.Git(t, w.store, source, "source only\n", "commit-tree", "-p", string(ids[0]), tree)
	gitstoretest.Git(t, w.store, source, "", "update-ref", "refs/heads/ahead", ahead)

	at := fmt.Sprintf("/projects/%d/repository/compare?to=main&from=", fork.ID)
	for _, from := range []string{"main", "ahead"} {
		got := read[shownComparison](t, w.Client, at+from+fmt.Sprintf("&from_project_id=%d", w.project.ID))
		if len(got.Commits) != 1 || got.Commits[0].Title != "fork" || len(got.Diffs) != 1 {
			t.Errorf("%s: got %+v", from, got)
		}
	}
	// Nothing of the source can be read through the fork afterwards.
	w.Do(t, "GET", fmt.Sprintf("/projects/%d/repository/tree?ref=%s", fork.ID, ahead), nil).WantStatus(t, http.StatusNotFound)

	stranger := projecttest.New(t, w.db, w.home.ID, projecttest.Visible(access.Public))
	hidden := projecttest.New(t, w.db, w.home.ID)
	for _, id := range []int64{stranger.ID, hidden.ID, 99999999} {
		w.Do(t, "GET", at+fmt.Sprintf("main&from_project_id=%d", id), nil).
			Want(t, http.StatusBadRequest, fmt.Sprintf(`{"message":"Target project id:%d is not a fork of project id:%d"}`, id, fork.ID))
	}
	w.exec(t, `update projects set features = features || '{"repository":"private"}' where id = $1`, w.project.ID)
	w.Do(t, "GET", at+fmt.Sprintf("main&from_project_id=%d", w.project.ID), nil).
		Want(t, http.StatusForbidden, `{"message":"403 Forbidden - You don't have access to this fork's parent project"}`)
}

func TestContributorsAreCountedByAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.seed(t,
		gitstoretest.Commit{Message: "1", Files: map[string]string{"a": "1"}, Author: "Bob <bob@example.com>"},
		gitstoretest.Commit{Message: "2", From: 1, Files: map[string]string{"a": "2"}, Author: "Old <ada@example.com>"},
		gitstoretest.Commit{Message: "3", From: 2, Files: map[string]string{"a": "3"}, Author: "Ada <ada@example.com>"},
		gitstoretest.Commit{Message: "4", From: 1, Branch: "side", Files: map[string]string{"b": "1"}, Author: "Cyd <cyd@example.com>"},
		gitstoretest.Commit{Message: "merge", From: 3, Merge: []int{4}, Files: map[string]string{"b": "1"}, Author: "Bob <bob@example.com>"},
	)
	emails := func(query string) (all []string) {
		for _, c := range read[[]map[string]any](t, w.Client, w.at("/repository/contributors"+query)) {
			all = append(all, c["email"].(string))
		}
		return all
	}
	for query, want := range map[string][]string{
		"":                          {"bob@example.com", "cyd@example.com", "ada@example.com"},
		"?sort=desc":                {"ada@example.com", "bob@example.com", "cyd@example.com"},
		"?order_by=name":            {"ada@example.com", "bob@example.com", "cyd@example.com"},
		"?order_by=email&sort=desc": {"cyd@example.com", "bob@example.com", "ada@example.com"},
		"?per_page=1&page=2":        {"cyd@example.com"},
	} {
		if diff := cmp.Diff(want, emails(query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	first := read[[]map[string]any](t, w.Client, w.at("/repository/contributors?sort=desc"))[0]
	want := map[string]any{"name": "Ada", "email": "ada@example.com", "commits": 2.0, "additions": 0.0, "deletions": 0.0}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	w.Do(t, "GET", w.at("/repository/contributors?order_by=x"), nil).WantStatus(t, http.StatusBadRequest)
}

func TestAMergeBaseIsTheBestCommonAncestorOfAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, ids := w.seed(t,
		gitstoretest.Commit{Message: "root", Files: map[string]string{"a": "1"}},
		gitstoretest.Commit{Message: "two\n\nbody", From: 1, Files: map[string]string{"a": "2"}},
		gitstoretest.Commit{Message: "x", From: 2, Branch: "x", Files: map[string]string{"x": "1"}},
		gitstoretest.Commit{Message: "y", From: 1, Branch: "y", Files: map[string]string{"y": "1"}},
		gitstoretest.Commit{Message: "alone", Branch: "alone", Files: map[string]string{"z": "1"}},
	)
	for query, want := range map[string]gitstore.OID{
		"refs[]=main&refs[]=x": ids[1], "refs=x,y": ids[0], "refs[]=main&refs[]=x&refs[]=y": ids[0], "refs[]=x&refs[]=x": ids[2],
	} {
		if got := read[map[string]any](t, w.Client, w.at("/repository/merge_base?"+query)); got["id"] != string(want) {
			t.Errorf("%s: got %v", query, got["id"])
		}
	}
	got := read[map[string]any](t, w.Client, w.at("/repository/merge_base?refs[]=main&refs[]=x"))
	for _, member := range []string{
		"id", "short_id", "title", "created_at", "parent_ids", "message", "author_name", "author_email", "authored_date", "committer_name",
		"committer_email", "committed_date",
	} {
		if got[member] == nil {
			t.Errorf("there is no %s", member)
		}
	}
	for query, want := range map[string]string{
		"refs[]=main":                    "Provide at least 2 refs",
		"refs[]=main&refs[]=nope":        "Could not find ref: nope",
		"refs[]=no&refs[]=nope&refs[]=x": "Could not find refs: no, nope",
	} {
		w.Do(t, "GET", w.at("/repository/merge_base?"+query), nil).Want(t, http.StatusBadRequest, `{"message":"`+want+`"}`)
	}
	w.Do(t, "GET", w.at("/repository/merge_base?refs=main,alone"), nil).Want(t, http.StatusNotFound, `{"message":"404 Merge Base Not Found"}`)
	w.Do(t, "GET", w.at("/repository/merge_base"), nil).Want(t, http.StatusBadRequest, `{"error":"refs is missing"}`)
}

// DO-04: a comparison, a listing and a blob of any size cost what the limits say.
func TestDO04_GiantsAreCutNotServed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	many := map[string]string{"wide": strings.Repeat("line\n", 60_000)}
	for i := range 1_200 {
		many[fmt.Sprintf("d/%04d", i)] = "x\n"
	}
	w.seed(t, gitstoretest.Commit{Message: "one", Files: map[string]string{"a": "1"}}, gitstoretest.Commit{Message: "two", From: 1, Files: many, Branch: "big"})
	got := read[shownComparison](t, w.Client, w.at("/repository/compare?from=main&to=big"))
	if !got.Timeout || len(got.Diffs) > 1_000 {
		t.Errorf("got %d diffs, timeout %v", len(got.Diffs), got.Timeout)
	}
	for _, d := range got.Diffs {
		if len(d.Diff) > 200<<10 {
			t.Errorf("%s: %d bytes", d.NewPath, len(d.Diff))
		}
	}
	for _, query := range []string{"", "&pagination=keyset"} {
		if n := len(read[[]shownEntry](t, w.Client, w.at("/repository/tree?ref=big&recursive=true&per_page=1000000"+query))); n != 100 {
			t.Errorf("%s: %d entries on a page", query, n)
		}
	}
}
