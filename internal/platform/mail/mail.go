// Package mail sends messages through the operator's mail server.
//
// It owns the connection to that server and the form of a message. It does not
// own what messages say or when they are sent: that is a job of the room that
// has something to say, for the server may be away.
package mail

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"

	"stithy/internal/platform/secretbox"
)

// Message is a text for one reader.
type Message struct {
	To      string // an address, as it is stored
	Subject string
	Text    string
	HTML    string // the same for readers who show it; empty: the text alone

	FromName   string   // is shown beside the address of the instance
	ID         string   // without brackets; one is made up if it is empty
	References []string // ids of the messages that it follows, the last of which it answers
	Header     []Field  // further ones
}

// Field is a header of a message.
type Field struct{ Name, Value string }

// Sender sends messages. One that was given no server sends none.
type Sender struct {
	server *url.URL
	from   string
}

// New makes a sender. The URL is smtp://user:password@host:587 or, for a server
// that speaks TLS from the first byte, smtps://host:465; an empty one means that
// there is no mail.
func New(server secretbox.Secret, from string) (*Sender, error) {
	if server == "" {
		return &Sender{}, nil
	}
	u, err := url.Parse(server.Reveal())
	if err != nil || u.Hostname() == "" || (u.Scheme != "smtp" && u.Scheme != "smtps") {
		return nil, errors.New("the URL of the mail server is not of the form smtp://user:password@host:587")
	}
	s := &Sender{server: u, from: from}
	if _, err := s.message(Message{To: from}); err != nil {
		return nil, fmt.Errorf("reading the sender's address: %w", err)
	}
	return s, nil
}

// Configured reports whether there is a server to send through.
func (s *Sender) Configured() bool { return s.server != nil }

// timeout bounds one message, the greeting of a slow server included.
const timeout = 30 * time.Second

// Send hands a message to the server. Without one it fails: whoever asks for
// mail looks at Configured first.
func (s *Sender) Send(ctx context.Context, m Message) error {
	_, err := s.Deliver(ctx, m)
	return err
}

// Deliver is Send, and tells what the server answered when it took the message. What it did not take is a *SendError.
func (s *Sender) Deliver(ctx context.Context, m Message) (answer string, err error) {
	if !s.Configured() {
		return "", errors.New("sending mail: no server is named")
	}
	message, err := s.message(m)
	if err != nil {
		return "", fmt.Errorf("writing mail: %w", err)
	}
	client, err := mail.NewClient(s.server.Hostname(), s.options()...)
	if err != nil {
		return "", fmt.Errorf("preparing to send mail: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, message)
	if message.IsDelivered() { // what comes after that, such as a farewell, changes nothing
		return message.ServerResponse(), nil
	}
	if err != nil {
		return "", failure(err)
	}
	return "", errors.New("sending mail: the server was told nothing")
}

// Ping greets the server, and signs in where the URL says as whom. It sends no
// message.
func (s *Sender) Ping(ctx context.Context) error {
	if !s.Configured() {
		return errors.New("greeting the mail server: no server is named")
	}
	client, err := mail.NewClient(s.server.Hostname(), s.options()...)
	if err != nil {
		return fmt.Errorf("preparing to greet the mail server: %w", err)
	}
	if err := client.DialWithContext(ctx); err != nil {
		return fmt.Errorf("greeting the mail server: %w", err)
	}
	return client.Close()
}

// options follow from the URL. A password is never sent in the clear.
func (s *Sender) options() []mail.Option {
	options := []mail.Option{mail.WithTimeout(timeout)}
	port, tls := 587, mail.TLSOpportunistic
	if s.server.User != nil {
		tls = mail.TLSMandatory
		password, _ := s.server.User.Password()
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.server.User.Username()), mail.WithPassword(password))
	}
	if s.server.Scheme == "smtps" {
		port = 465
		options = append(options, mail.WithSSL())
	} else {
		options = append(options, mail.WithTLSPolicy(tls))
	}
	if given, err := strconv.Atoi(s.server.Port()); err == nil {
		port = given
	}
	return append(options, mail.WithPort(port))
}

func (s *Sender) message(m Message) (*mail.Msg, error) {
	message := mail.NewMsg(mail.WithCharset(mail.CharsetUTF8), mail.WithEncoding(mail.EncodingQP))
	if err := message.From(s.from); err != nil {
		return nil, err
	}
	if m.FromName != "" {
		if from := message.GetFrom(); len(from) == 1 {
			message.FromMailAddress(&netmail.Address{Name: oneLine(m.FromName), Address: from[0].Address})
		}
	}
	if err := message.To(m.To); err != nil {
		return nil, err
	}
	message.Subject(m.Subject)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	fields := m.Header
	if m.ID != "" {
		fields = append(fields, Field{"Message-ID", "<" + m.ID + ">"})
	}
	if n := len(m.References); n > 0 {
		fields = append(fields, Field{"In-Reply-To", "<" + m.References[n-1] + ">"}, Field{"References", "<" + strings.Join(m.References, "> <") + ">"})
	}
	for _, f := range fields {
		if f.Value != oneLine(f.Value) {
			return nil, fmt.Errorf("the header %s has more than one line", f.Name)
		}
		message.SetGenHeader(mail.Header(f.Name), f.Value)
	}
	message.SetBodyString(mail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		message.AddAlternativeString(mail.TypeTextHTML, m.HTML)
	}
	return message, nil
}

// oneLine is a text without control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
