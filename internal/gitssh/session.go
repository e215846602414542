package gitssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/telemetry"
)

// serve is the life of one connection.
func (s *Server) serve(conn net.Conn, from netip.Addr) {
	defer func() { _ = conn.Close() }()
	defer func() { // what a client sends must never end the process
		if v := recover(); v != nil {
			s.deps.Log.Error("panic in an SSH connection", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	_ = conn.SetDeadline(time.Now().Add(s.deps.Limits.Handshake)) // a connection that has no deadline is a local one
	c, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return // strangers knock all day
	}
	defer func() { _ = c.Close() }()
	_ = conn.SetDeadline(time.Now().Add(s.deps.Limits.Command))
	go ssh.DiscardRequests(requests)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	first := true
	for asked := range channels {
		if asked.ChannelType() != "session" || !first {
			_ = asked.Reject(ssh.Prohibited, "one session is all there is")
			continue
		}
		first = false
		channel, sent, err := asked.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() {
			// The client hangs up when it has read how it went. Closing first
			// could take that away from it, with whatever it still sends.
			defer func() { _ = conn.SetDeadline(time.Now().Add(farewell)) }()
			defer func() {
				if v := recover(); v != nil {
					s.deps.Log.Error("panic in an SSH session", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				}
			}()
			s.session(ctx, cancel, conn, c, channel, sent, from)
		})
	}
}

// farewell is how long a client has to hang up after its command ended.
const farewell = 5 * time.Second

// maxRequests bounds what a client may ask for beside its one command.
const maxRequests = 50

// session waits for the one command of a connection and runs it.
func (s *Server) session(ctx context.Context, cancel func(), conn net.Conn, c *ssh.ServerConn, channel ssh.Channel, sent <-chan *ssh.Request, from netip.Addr) {
	defer func() { _ = channel.Close() }()
	v := visit{protocol: "", permissions: c.Permissions, from: from}
	for range maxRequests {
		req, open := <-sent
		if !open {
			return
		}
		switch req.Type {
		case "env":
			var pair struct{ Name, Value string }
			if ssh.Unmarshal(req.Payload, &pair) == nil && pair.Name == "GIT_PROTOCOL" {
				v.protocol = pair.Value
				_ = req.Reply(true, nil)
				continue
			}
			_ = req.Reply(false, nil)
		case "exec", "shell":
			var command struct{ Line string }
			if req.Type == "exec" && ssh.Unmarshal(req.Payload, &command) != nil {
				_ = req.Reply(false, nil)
				return
			}
			_ = req.Reply(true, nil)
			_ = conn.SetDeadline(time.Time{}) // a clone may take an hour
			go func() {
				for range sent { // until the client hangs up
				}
				cancel()
			}()
			watched := watch(channel, s.deps.Limits.Reading, s.deps.Limits.Thinking, func() { _ = conn.Close() })
			err := s.run(ctx, v, command.Line, watched)
			watched.end()
			_ = conn.SetDeadline(time.Now().Add(farewell)) // it may read nothing any more
			s.finish(channel, err)
			return
		default:
			_ = req.Reply(false, nil)
		}
	}
}

// watched is a channel whose client is cut off when it is silent for too long.
type watched struct {
	ssh.Channel
	reading, thinking time.Duration
	silence           *time.Timer
}

func watch(c ssh.Channel, reading, thinking time.Duration, cut func()) *watched {
	return &watched{Channel: c, reading: reading, thinking: thinking, silence: time.AfterFunc(thinking, cut)}
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Channel.Read(b)
	w.silence.Reset(w.thinking)
	return n, err
}

func (w *watched) Write(b []byte) (int, error) {
	w.silence.Reset(w.reading)
	n, err := w.Channel.Write(b)
	w.silence.Reset(w.thinking)
	return n, err
}

func (w *watched) end() { w.silence.Stop() }

// finish tells the client how it went.
func (s *Server) finish(channel ssh.Channel, err error) {
	code := uint32(0)
	if err != nil {
		code = 1
		text := "Internal error."
		words, ok := errors.AsType[*said](err)
		if ok {
			text = words.text
		}
		if !ok || err != error(words) { //nolint:errorlint // what is joined to the words says why, and is for the log
			s.deps.Log.LogAttrs(context.Background(), slog.LevelWarn, "serving git over SSH", slog.Any("error", err), cause(err))
		}
		_, _ = io.WriteString(channel.Stderr(), clean(text)+"\n")
	}
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
	_ = channel.CloseWrite()
}

// cause marks a log line as one of very many when the database does not answer.
func cause(err error) slog.Attr {
	if postgres.Unavailable(err) {
		return slog.String(telemetry.CauseKey, "database")
	}
	return slog.Attr{}
}

// said is a refusal in words that are for the client.
type said struct{ text string }

func (e *said) Error() string { return e.text }

// clean takes what a terminal would obey out of a text.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || c >= 0x20 && c != 0x7f && (c < 0x80 || c > 0x9f) {
			return c
		}
		return '?'
	}, text)
}
