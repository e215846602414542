package mail_test

import (
	"strings"
	"testing"

	"stithy/internal/platform/mail"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/platform/secretbox"
)

func TestAMessageArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	sink := mailtest.New(t)
	s, err := mail.New(sink.URL, "noreply@forge.example")
	if err != nil || !s.Configured() {
		t.Fatal(err)
	}
	text := "Guten Tag, Jürgen.\n\nhttps://forge.example/users/password/edit?reset_password_token=" + strings.Repeat("a", 80) + "\n"
	if err := s.Send(t.Context(), mail.Message{To: "ann@example.com", Subject: "Grüße", Text: text}); err != nil {
		t.Fatal(err)
	}
	got := sink.Next(t)
	if len(got.To) != 1 || got.To[0] != "ann@example.com" || strings.ReplaceAll(got.Text, "\r\n", "\n") != text ||
		got.Header.Get("From") != "<noreply@forge.example>" || got.Header.Get("Auto-Submitted") != "auto-generated" || got.Header.Get("Message-Id") == "" {
		t.Errorf("got %+v", got)
	}
}

func TestNothingBreaksOutOfAHeader(t *testing.T) {
	t.Parallel()
	sink := mailtest.New(t)
	s, err := mail.New(sink.URL, "noreply@forge.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com", "a@example.com>\r\nRCPT TO:<b@example.com", "", "a"} {
		if err := s.Send(t.Context(), mail.Message{To: to, Subject: "x", Text: "x"}); err == nil {
			t.Errorf("%q was taken for an address", to)
		}
	}
	if err := s.Send(t.Context(), mail.Message{To: "a@example.com", Subject: "x\r\nBcc: b@example.com\r\n\r\nbody", Text: ".\r\nQUIT\r\n"}); err != nil {
		t.Fatal(err)
	}
	got := sink.Next(t)
	if len(got.To) != 1 || got.Header.Get("Bcc") != "" || !strings.Contains(got.Text, "QUIT") || len(sink.All()) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestWithoutAServerNoMailIsSent(t *testing.T) {
	t.Parallel()
	s, err := mail.New("", "noreply@forge.example")
	if err != nil || s.Configured() {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), mail.Message{To: "a@example.com"}); err == nil {
		t.Error("mail went nowhere without an error")
	}
	for _, server := range []secretbox.Secret{"http://host", "smtp://", "smtp:host", "::"} {
		if _, err := mail.New(server, "noreply@forge.example"); err == nil {
			t.Errorf("%s was taken for a mail server", server.Reveal())
		}
	}
	if _, err := mail.New("smtp://host", "not an address"); err == nil {
		t.Error("any text was taken for a sender")
	}
}
