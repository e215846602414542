package artifact

import (
	"bytes"
	"encoding/base64"
	"slices"

	"stithy/internal/platform/secretbox"
)

// minMask keeps short secrets out: they would be found everywhere by chance.
const minMask = 8

// maxMask bounds what may have to be held back.
const maxMask = 1024

// gitUser is the name that a job's token goes with in the address of a
// repository; git sends both together in base64.
const gitUser = "gitlab-ci-token:"

// spellings are the forms of a secret that tools print by themselves: as it
// is, and as the password of a request. Who encodes it in another way, or puts
// something between its characters, prints it: that cannot be found.
func spellings(secrets []secretbox.Secret) [][]byte {
	var masks [][]byte
	for _, s := range secrets {
		plain := s.Reveal()
		if len(plain) < minMask || len(plain) > maxMask/2 {
			continue
		}
		basic := base64.StdEncoding.EncodeToString([]byte(gitUser + plain))
		// The end depends on what follows, the rest does not.
		masks = append(masks, []byte(plain), []byte(basic[:len(basic)-4]))
	}
	return masks
}

// held is the end of a log that is not shown yet, because it may be the
// beginning of a secret: how many bytes, of which one, and how many of these
// belong to the end of another secret. It says all without a byte of the
// secret, so it can be stored.
type held struct {
	secret int
	bytes  int
	masked int
}

// hide masks the secrets in what follows a held-back end, byte by byte so that
// offsets stay. out begins where the held-back end began; next is held back of
// it. Whatever the pieces are that a log comes in, the result is the same.
func hide(masks [][]byte, before held, chunk []byte) (out []byte, next held) {
	var text []byte
	if before.bytes > 0 {
		text = append(slices.Clip(masks[before.secret][:before.bytes:before.bytes]), chunk...)
	} else {
		text = chunk
	}
	out = bytes.Clone(text)
	paint(out[:before.masked])
	next = longest(masks, text)
	border := len(text) - next.bytes
	reach := before.masked // where secrets end that began before the border
	for _, mask := range masks {
		painted := 0
		for from := 0; ; {
			i := bytes.Index(text[from:], mask)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(mask)
			paint(out[max(start, painted):end])
			painted = end
			if start < border {
				reach = max(reach, end)
			}
			from = start + 1
		}
	}
	next.masked = max(0, reach-border)
	return out[:border], next
}

// longest is the longest end of a text that a secret begins with, but is not
// all of.
func longest(masks [][]byte, text []byte) held {
	for n := min(maxMask, len(text)); n > 0; n-- {
		for i, mask := range masks {
			if len(mask) > n && bytes.HasSuffix(text, mask[:n]) {
				return held{secret: i, bytes: n}
			}
		}
	}
	return held{}
}

// last is what a held-back end looks like when nothing follows. A long piece
// of a secret is hidden like the whole.
func (h held) last(masks [][]byte) []byte {
	if h.bytes == 0 {
		return nil
	}
	out := bytes.Clone(masks[h.secret][:h.bytes])
	if h.bytes >= minMask {
		h.masked = h.bytes
	}
	paint(out[:h.masked])
	return out
}

func paint(b []byte) {
	for i := range b {
		b[i] = 'x'
	}
}
