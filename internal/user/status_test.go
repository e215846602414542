package user_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const noStatus = `{"emoji":null,"message":null,"availability":null,"message_html":null,"clear_status_at":null}`

func TestAStatusIsReplacedByPutAndChangedByPatch(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada := b.as(b.ada)
	ada.Do(t, "GET", "/user/status", nil).Want(t, http.StatusOK, noStatus)
	for _, step := range []struct {
		method string
		body   url.Values
		want   string
	}{
		{"PATCH", nil, `null`},
		{"PUT", form("message", "a < b", "clear_status_after", "30_minutes"),
			`{"emoji":"speech_balloon","message":"a \u003c b","availability":"not_set","message_html":"a \u0026lt; b","clear_status_at":"2026-03-01T12:30:00.000Z"}`},
		{"PATCH", form("emoji", "coffee"),
			`{"emoji":"coffee","message":"a \u003c b","availability":"not_set","message_html":"a \u0026lt; b","clear_status_at":"2026-03-01T12:30:00.000Z"}`},
		{"PATCH", form("availability", "busy", "message", ""),
			`{"emoji":"coffee","message":null,"availability":"busy","message_html":"","clear_status_at":"2026-03-01T12:30:00.000Z"}`},
		{"PUT", form("message", "back"),
			`{"emoji":"speech_balloon","message":"back","availability":"not_set","message_html":"back","clear_status_at":null}`},
		{"PATCH", form("emoji", "", "message", ""), noStatus},
		{"PUT", form("availability", "busy"),
			`{"emoji":"speech_balloon","message":null,"availability":"busy","message_html":"","clear_status_at":null}`},
		{"PUT", form("emoji", "", "message", "", "availability", "not_set", "clear_status_after", "1_day"), noStatus},
	} {
		ada.Do(t, step.method, "/user/status", step.body).Want(t, http.StatusOK, step.want)
		if step.want != "null" {
			ada.Do(t, "GET", "/user/status", nil).Want(t, http.StatusOK, step.want)
			for _, ref := range []any{b.ada, "ada"} {
				b.anyone.Do(t, "GET", path("users", ref, "status"), nil).Want(t, http.StatusOK, step.want)
			}
		}
	}
	b.as(b.ada).Do(t, "PUT", "/user/status", `{"emoji":null,"message":"x","availability":null,"clear_status_after":null}`).Want(t, http.StatusOK,
		`{"emoji":"speech_balloon","message":"x","availability":"not_set","message_html":"x","clear_status_at":null}`)
	b.as(b.bob).Do(t, "GET", "/user/status", nil).Want(t, http.StatusOK, noStatus)
	b.anyone.Do(t, "GET", "/users/nobody/status", nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
}

func TestAStatusIsForgottenWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada := b.as(b.ada)
	for after, lasts := range map[string]time.Duration{
		"30_minutes": 30 * time.Minute, "3_hours": 3 * time.Hour, "8_hours": 8 * time.Hour, "1_day": 24 * time.Hour,
		"3_days": 72 * time.Hour, "7_days": 168 * time.Hour, "30_days": 720 * time.Hour,
	} {
		ada.Do(t, "PUT", "/user/status", form("emoji", "palm_tree", "message", "away", "clear_status_after", after)).WantStatus(t, http.StatusOK)
		b.pass(lasts - time.Second)
		if r := ada.Do(t, "GET", "/user/status", nil); !strings.Contains(r.Body, "palm_tree") {
			t.Errorf("%s: %s", after, r.Body)
		}
		b.pass(time.Second)
		ada.Do(t, "GET", "/user/status", nil).Want(t, http.StatusOK, noStatus)
		// What is over is not what a change builds on.
		ada.Do(t, "PATCH", "/user/status", form("availability", "busy")).Want(t, http.StatusOK,
			`{"emoji":"speech_balloon","message":null,"availability":"busy","message_html":"","clear_status_at":null}`)
	}
}

func TestAStatusThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	for body, want := range map[string]string{
		"emoji=no_such_thing":                      `{"message":{"emoji":["is not a valid emoji name"]}}`,
		"emoji=:coffee:":                           `{"message":{"emoji":["is not a valid emoji name"]}}`,
		"emoji=coff":                               `{"message":{"emoji":["is not a valid emoji name"]}}`,
		"emoji=tea%0Acoffee":                       `{"message":{"emoji":["is not a valid emoji name"]}}`,
		"message=" + strings.Repeat("%C3%A9", 101): `{"message":{"message":["is too long (maximum is 100 characters)"]}}`,
		"availability=away":                        `{"error":"availability does not have a valid value"}`,
		"clear_status_after=1_hour":                `{"error":"clear_status_after does not have a valid value"}`,
	} {
		values, err := url.ParseQuery(body)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"PUT", "PATCH"} {
			b.as(b.ada).Do(t, method, "/user/status", values).Want(t, http.StatusBadRequest, want)
		}
	}
	b.as(b.ada).Do(t, "PUT", "/user/status", form("message", strings.Repeat("é", 100))).WantStatus(t, http.StatusOK)
}
