package audit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"stithy/internal/kit/wire"
)

// caller sends requests through the guard. What it calls is checked again when it dials.
type caller interface {
	Do(*http.Request) (*http.Response, error)
	CloseIdleConnections()
}

// statusError is an answer that is none of success.
type statusError int

func (e statusError) Error() string { return "status " + strconv.Itoa(int(e)) }

// Headers of a request to a destination, as the names of the instance spell them.
const (
	timestampHeader = "Event-Streaming-Timestamp"
	signatureHeader = "Event-Streaming-Signature"
	deliveryHeader  = "Event-Streaming-Delivery"
)

// Signature is how a receiver knows that we sent a body, and when: HMAC-SHA256 with its token over the seconds since 1970, a dot and the body.
func Signature(token []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, token)
	_, _ = io.WriteString(mac, timestamp+".")
	_, _ = mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// post sends events. The delivery is called the same whenever the same events are sent.
func (d *delivery) post(ctx context.Context, events []json.RawMessage, first, last int64) error {
	body, err := json.Marshal(struct {
		Events []json.RawMessage `json:"events"`
	}{events})
	if err != nil {
		return err
	}
	if err := d.deps.Outbound.Check(ctx, d.URL); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	names := d.deps.Settings.Instance().Names
	timestamp := strconv.FormatInt(d.deps.Clock.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", wire.Brand)
	r.Header.Set(names.Header(timestampHeader), timestamp)
	r.Header.Set(names.Header(signatureHeader), Signature(d.token, timestamp, body))
	r.Header.Set(names.Header(deliveryHeader), fmt.Sprintf("%d-%d-%d", d.ID, first, last))
	answer, err := d.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be used again
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return statusError(answer.StatusCode)
	}
	return nil
}
