// Package mailtest is a mail server that keeps what it is sent.
package mailtest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"

	"stithy/internal/platform/secretbox"
)

// Received is a message as it came.
type Received struct {
	To      []string // of the envelope
	Header  mail.Header
	Text    string
	HTML    string // empty of a message that is text alone
	Subject string
	Raw     string // as it was sent
}

// Sink is the server.
type Sink struct {
	URL secretbox.Secret

	mu       sync.Mutex
	received []Received
	arrived  chan struct{}
	address  func(to string) error
	message  func(Received) error
}

// New starts a server that ends with the test.
func New(t testing.TB) *Sink {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sink := &Sink{
		URL: secretbox.Secret("smtp://" + listener.Addr().String()), arrived: make(chan struct{}, 10_000),
		address: func(string) error { return nil }, message: func(Received) error { return nil },
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{sink: sink}, nil }))
	server.Domain = "sink.example"
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return sink
}

// Answer is what the server says from now on to an address, before it hears of a message.
func (s *Sink) Answer(address func(to string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// AnswerMessage is what the server says from now on when it was sent a message and has kept it.
func (s *Sink) AnswerMessage(message func(Received) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message = message
}

// Refusal is an answer of a server, with a code such as 550 and an enhanced one such as 5, 1, 1.
func Refusal(code int, enhanced [3]int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: text}
}

// All are the messages so far.
func (s *Sink) All() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// Next waits for one more message.
func (s *Sink) Next(t testing.TB) Received {
	t.Helper()
	select {
	case <-s.arrived:
	case <-t.Context().Done():
		t.Fatal("no mail came")
	}
	all := s.All()
	return all[len(all)-1]
}

type session struct {
	sink *Sink
	to   []string
}

func (s *session) Reset()                               { s.to = nil }
func (s *session) Logout() error                        { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error { return nil }

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.sink.mu.Lock()
	answer := s.sink.address
	s.sink.mu.Unlock()
	if err := answer(to); err != nil {
		return err
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	message, err := mail.ReadMessage(strings.NewReader(string(raw)))
	if err != nil {
		return err
	}
	got := Received{To: s.to, Header: message.Header, Subject: message.Header.Get("Subject"), Raw: string(raw)}
	if err := got.read(message); err != nil {
		return err
	}
	s.sink.mu.Lock()
	s.sink.received = append(s.sink.received, got)
	answer := s.sink.message
	s.sink.mu.Unlock()
	s.sink.arrived <- struct{}{}
	return answer(got)
}

// read takes the parts of a message apart.
func (r *Received) read(message *mail.Message) error {
	media, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(media, "multipart/") {
		text, err := io.ReadAll(quotedprintable.NewReader(message.Body))
		r.Text = string(text)
		return err
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := parts.NextPart() // decodes quoted-printable
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		switch media, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); media {
		case "text/plain":
			r.Text = string(text)
		case "text/html":
			r.HTML = string(text)
		default:
			return fmt.Errorf("a part is %s", media)
		}
	}
}
