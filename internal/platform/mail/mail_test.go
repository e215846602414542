package mail_test

import (
	"bufio"
	"io"
	"net"
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

func TestAMessageHasATextAndTheSameAsHTMLAndFollowsOthers(t *testing.T) {
	t.Parallel()
	sink := mailtest.New(t)
	s, err := mail.New(sink.URL, "noreply@forge.example")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Deliver(t.Context(), mail.Message{
		To: "a@example.com", Subject: "x", Text: "Grüße", HTML: "<p>Grüße</p>", FromName: "Ann \"A.\" <x@y>\r\nBcc: b@example.com", ID: "mail-7@forge.example",
		References: []string{"issue-1@forge.example", "mail-6@forge.example"}, Header: []mail.Field{{Name: "List-Id", Value: "a/b <5.project.forge.example>"}},
	})
	if err != nil || !strings.Contains(answer, "OK") {
		t.Fatal(answer, err)
	}
	got := sink.Next(t)
	from, err := got.Header.AddressList("From")
	if err != nil || len(from) != 1 || from[0].Address != "noreply@forge.example" || !strings.HasPrefix(from[0].Name, `Ann "A." <x@y>`) {
		t.Errorf("%v %v", from, err)
	}
	for name, want := range map[string]string{
		"Message-Id": "<mail-7@forge.example>", "In-Reply-To": "<mail-6@forge.example>", "References": "<issue-1@forge.example> <mail-6@forge.example>",
		"List-Id": "a/b <5.project.forge.example>", "Bcc": "",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s is %q", name, value)
		}
	}
	if got.Text != "Grüße" || got.HTML != "<p>Grüße</p>" || len(got.To) != 1 {
		t.Errorf("%q %q %v", got.Text, got.HTML, got.To)
	}
}

func TestEM01_AHeaderOfTwoLinesIsNotSent(t *testing.T) {
	t.Parallel()
	sink := mailtest.New(t)
	s, err := mail.New(sink.URL, "noreply@forge.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []mail.Message{
		{ID: "a@b>\r\nBcc: <b@example.com"}, {References: []string{"a@b", "a\nb"}}, {Header: []mail.Field{{Name: "X-A", Value: "a\r\nBcc: b@example.com"}}},
	} {
		m.To = "a@example.com"
		if err := s.Send(t.Context(), m); err == nil || mail.VerdictOf(err) != mail.Refused {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if len(sink.All()) > 0 {
		t.Errorf("sent %v", sink.All())
	}
}

func TestWhatTheServerSaysDecidesWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	sink := mailtest.New(t)
	s, err := mail.New(sink.URL, "noreply@forge.example")
	if err != nil {
		t.Fatal(err)
	}
	none, message := func(string) error { return nil }, func(mailtest.Received) error { return nil }
	try := func(what string, want mail.Verdict) {
		t.Helper()
		err := s.Send(t.Context(), mail.Message{To: "a@example.com", Text: "x"})
		if err == nil || mail.VerdictOf(err) != want {
			t.Errorf("%s: %d, %v", what, mail.VerdictOf(err), err)
		}
	}
	for what, c := range map[string]struct {
		code     int
		enhanced [3]int
		want     mail.Verdict
	}{
		"nobody there": {550, [3]int{5, 1, 1}, mail.NoSuch}, "full for good": {552, [3]int{5, 2, 2}, mail.NoSuch}, "gray": {450, [3]int{4, 7, 1}, mail.Later},
		"no relay": {554, [3]int{5, 7, 1}, mail.Refused}, "who are you": {530, [3]int{5, 7, 0}, mail.Later},
	} {
		sink.Answer(func(string) error { return mailtest.Refusal(c.code, c.enhanced, what) })
		try(what, c.want)
	}
	sink.Answer(none)
	sink.AnswerMessage(func(mailtest.Received) error { return mailtest.Refusal(554, [3]int{5, 6, 0}, "looks like spam") })
	try("spam", mail.Refused)
	sink.AnswerMessage(func(mailtest.Received) error { return mailtest.Refusal(451, [3]int{4, 3, 0}, "disk full") })
	try("disk", mail.Later)
	sink.AnswerMessage(message)
	if s, err = mail.New("smtp://127.0.0.1:1", "noreply@forge.example"); err != nil {
		t.Fatal(err)
	}
	try("nobody listens", mail.Later)
}

func TestAServerThatGoesSilentAfterTheLastByteMayHaveTakenTheMessage(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		lines := bufio.NewReader(conn)
		_, _ = io.WriteString(conn, "220 here\r\n")
		for content := false; ; {
			line, err := lines.ReadString('\n')
			switch word := strings.ToUpper(strings.TrimSpace(line)); {
			case err != nil || content && word == ".":
				return
			case content:
			case word == "DATA":
				content = true
				_, _ = io.WriteString(conn, "354 go on\r\n")
			default:
				_, _ = io.WriteString(conn, "250 fine\r\n")
			}
		}
	}()
	s, err := mail.New(secretbox.Secret("smtp://"+listener.Addr().String()), "noreply@forge.example")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), mail.Message{To: "a@example.com", Text: "x"}); err == nil || mail.VerdictOf(err) != mail.Unknown {
		t.Errorf("%d, %v", mail.VerdictOf(err), err)
	}
}
