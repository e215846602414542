package user_test

import (
	"net/http"
	"strings"
	"testing"

	"stithy/internal/kit/attribute"
	"stithy/internal/kit/fault"
)

func TestACustomAttributeIsSetChangedShownAndRemoved(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	root, all := b.as(b.root), path("users", b.ada, "custom_attributes")
	root.Do(t, "GET", all, nil).Want(t, http.StatusOK, "[]")
	root.Do(t, "PUT", all+"/team", form("value", "red")).Want(t, http.StatusOK, `{"key":"team","value":"red"}`)
	root.Do(t, "PUT", all+"/team", form("value", "blue")).Want(t, http.StatusOK, `{"key":"team","value":"blue"}`)
	root.Do(t, "PUT", all+"/a%2Fb", form("value", "<x>")).Want(t, http.StatusOK, `{"key":"a/b","value":"\u003cx\u003e"}`)
	root.Do(t, "GET", all, nil).Want(t, http.StatusOK, `[{"key":"a/b","value":"\u003cx\u003e"},{"key":"team","value":"blue"}]`)
	root.Do(t, "GET", all+"/team", nil).Want(t, http.StatusOK, `{"key":"team","value":"blue"}`)
	root.Do(t, "GET", path("users", b.bob, "custom_attributes", "team"), nil).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		b.as(b.ada).Do(t, method, all+"/team", form("value", "mine")).WantStatus(t, http.StatusForbidden)
	}
	root.With("If-Unmodified-Since", "Sun, 01 Mar 2020 00:00:00 GMT").Do(t, "DELETE", all+"/team", nil).WantStatus(t, http.StatusPreconditionFailed)
	seen, err := b.Attributes().Find(t.Context(), b.ada.ID, "team")
	if err != nil {
		t.Fatal(err)
	}
	root.Do(t, "DELETE", all+"/team", nil).Want(t, http.StatusNoContent, "")
	if err := b.Attributes().Remove(t.Context(), actor(b.root), seen); !fault.Is(err, fault.NotFound) {
		t.Errorf("what somebody else removed meanwhile: %v", err)
	}
	for _, method := range []string{"GET", "DELETE"} {
		root.Do(t, method, all+"/team", nil).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	}
	b.wantDeeds(t,
		"user_custom_attribute_updated by root on ada: Set custom attribute team",
		"user_custom_attribute_updated by root on ada: Set custom attribute team",
		"user_custom_attribute_updated by root on ada: Set custom attribute a/b",
		"user_custom_attribute_destroyed by root on ada: Removed custom attribute team")
}

func TestACustomAttributeThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	root, all := b.as(b.root), path("users", b.ada, "custom_attributes")
	long := strings.Repeat("é", 256)
	root.Do(t, "PUT", all+"/k", nil).Want(t, http.StatusBadRequest, `{"error":"value is missing"}`)
	root.Do(t, "PUT", all+"/k", form("value", " ")).Want(t, http.StatusBadRequest, `{"message":{"value":["can't be blank"]}}`)
	root.Do(t, "PUT", all+"/k", form("value", strings.Repeat("é", 255))).WantStatus(t, http.StatusOK)
	root.Do(t, "PUT", all+"/k", form("value", long)).Want(t, http.StatusBadRequest, `{"message":{"value":["is too long (maximum is 255 characters)"]}}`)
	root.Do(t, "PUT", all+"/"+strings.Repeat("k", 256), form("value", "v")).Want(t, http.StatusBadRequest,
		`{"message":{"key":["is too long (maximum is 255 characters)"]}}`)
}

func TestAnAccountHasSoManyCustomAttributesAndNoMore(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	if _, err := b.db.Exec(t.Context(), `insert into user_custom_attributes (user_id, key, value, created_at, updated_at)
		select $1, 'k' || n, 'v', now(), now() from generate_series(1, 1000) n`, b.ada.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.Attributes().Set(t.Context(), actor(b.root), b.ada.ID, "one-more", "v"); !fault.Is(err, fault.Rejected) {
		t.Errorf("one more: %v", err)
	}
	if err := b.Attributes().Set(t.Context(), actor(b.root), b.ada.ID, "k7", "changed"); err != nil {
		t.Errorf("one of them: %v", err)
	}
	if all, err := b.Attributes().Among(t.Context(), b.ada.ID); err != nil || len(all[b.ada.ID]) != 1000 {
		t.Errorf("%d, %v", len(all), err)
	}
	if err := b.Attributes().Set(t.Context(), actor(b.root), b.bob.ID, "team", "v"); err != nil {
		t.Fatal(err)
	}
	if all, err := b.Attributes().Among(t.Context(), b.ada.ID, b.bob.ID); err != nil || len(all[b.ada.ID]) != 1000 || len(all[b.bob.ID]) != 1 {
		t.Errorf("of two accounts: %d and %d, %v", len(all[b.ada.ID]), len(all[b.bob.ID]), err)
	}
}

// Each attribute is one more table for the planner.
func TestACustomAttributeIsOneOfAFewThatAListIsFilteredBy(t *testing.T) {
	t.Parallel()
	wanted := map[string]string{}
	for n := range 10 {
		wanted[strings.Repeat("k", n+1)] = "v"
	}
	if err := attribute.CheckFilter(wanted); err != nil {
		t.Errorf("ten: %v", err)
	}
	wanted["one more"] = "v"
	if err := attribute.CheckFilter(wanted); !fault.Is(err, fault.Rejected) {
		t.Errorf("one more: %v", err)
	}
}
