package user_test

import (
	"net/http"
	"testing"
)

func TestPreferencesChangeOneAtATime(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada, id := b.as(b.ada), path(b.ada)[1:]
	head := `{"id":` + id + `,"user_id":` + id
	ada.Do(t, "GET", "/user/preferences", nil).Want(t, http.StatusOK,
		head+`,"view_diffs_file_by_file":false,"show_whitespace_in_diffs":true,"pass_user_identities_to_ci_jwt":false}`)
	ada.Do(t, "PUT", "/user/preferences", form("view_diffs_file_by_file", "true")).Want(t, http.StatusOK,
		head+`,"view_diffs_file_by_file":true,"show_whitespace_in_diffs":true,"pass_user_identities_to_ci_jwt":false}`)
	want := head + `,"view_diffs_file_by_file":true,"show_whitespace_in_diffs":false,"pass_user_identities_to_ci_jwt":true}`
	ada.Do(t, "PUT", "/user/preferences", form("show_whitespace_in_diffs", "false", "pass_user_identities_to_ci_jwt", "true")).Want(t, http.StatusOK, want)
	ada.Do(t, "GET", "/user/preferences", nil).Want(t, http.StatusOK, want)

	ada.Do(t, "PUT", "/user/preferences", nil).Want(t, http.StatusBadRequest,
		`{"error":"view_diffs_file_by_file, show_whitespace_in_diffs, pass_user_identities_to_ci_jwt are missing, at least one parameter must be provided"}`)
	ada.Do(t, "PUT", "/user/preferences", form("show_whitespace_in_diffs", "maybe")).Want(t, http.StatusBadRequest,
		`{"error":"show_whitespace_in_diffs is invalid"}`)
	if b.reload(t, b.bob).ViewDiffsFileByFile {
		t.Error("someone else's preferences changed too")
	}
}
