// Package mailtest is a mail server that keeps what it is sent.
package mailtest

import (
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
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
	Subject string
}

// Sink is the server.
type Sink struct {
	URL secretbox.Secret

	mu       sync.Mutex
	received []Received
	arrived  chan struct{}
}

// New starts a server that ends with the test.
func New(t testing.TB) *Sink {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sink := &Sink{URL: secretbox.Secret("smtp://" + listener.Addr().String()), arrived: make(chan struct{}, 1000)}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{sink: sink}, nil }))
	server.Domain = "sink.example"
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return sink
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
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(quotedprintable.NewReader(message.Body))
	if err != nil {
		return err
	}
	s.sink.mu.Lock()
	s.sink.received = append(s.sink.received, Received{
		To: s.to, Header: message.Header, Text: string(text), Subject: message.Header.Get("Subject"),
	})
	s.sink.mu.Unlock()
	s.sink.arrived <- struct{}{}
	return nil
}
