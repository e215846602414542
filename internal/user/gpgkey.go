package user

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	gpgBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	gpgEnd   = "-----END PGP PUBLIC KEY BLOCK-----"

	maxGPGKey = 65535 // bytes of armor
)

// Kinds of OpenPGP packets (RFC 9580, section 5).
const (
	packetSecretKey    = 5
	packetPublicKey    = 6
	packetSecretSubkey = 7
)

// parseGPGKey names the primary key of an armored block. It reads no more than
// that takes: signatures are checked where commits are.
func parseGPGKey(text string) (fingerprint, keyID string, ok bool) {
	data, ok := unarmor(text)
	if !ok {
		return "", "", false
	}
	for first := true; len(data) > 0; first = false {
		tag, body, rest, ok := nextPacket(data)
		switch {
		case !ok || first && tag != packetPublicKey:
			return "", "", false
		case tag == packetSecretKey || tag == packetSecretSubkey:
			return "", "", false // the text is shown to everyone
		case first:
			if fingerprint, keyID, ok = nameKey(body); !ok {
				return "", "", false
			}
		}
		data = rest
	}
	return fingerprint, keyID, fingerprint != ""
}

// unarmor decodes a text that is one block and nothing else. The checksum is
// not looked at, as RFC 9580 asks.
func unarmor(text string) ([]byte, bool) {
	body, begins := strings.CutPrefix(text, gpgBegin)
	body, ends := strings.CutSuffix(body, gpgEnd)
	if len(text) > maxGPGKey || !begins || !ends || strings.Contains(body, "-----") {
		return nil, false
	}
	var encoded strings.Builder
	headers, ended := true, false
	for i, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case i == 0: // the rest of the line that begins the block
			if line != "" {
				return nil, false
			}
		case headers:
			headers = line != ""
		case strings.HasPrefix(line, "="):
			ended = true
		case line != "" && ended:
			return nil, false
		default:
			encoded.WriteString(line)
		}
	}
	data, err := base64.StdEncoding.DecodeString(encoded.String())
	return data, err == nil && len(data) > 0
}

// nextPacket cuts one packet off. Lengths that only streams use are refused.
func nextPacket(data []byte) (tag int, body, rest []byte, ok bool) {
	if len(data) < 2 || data[0]&0x80 == 0 {
		return 0, nil, nil, false
	}
	var size int // of the length itself
	var length uint64
	head, data := data[0], data[1:]
	if head&0x40 != 0 {
		tag = int(head & 0x3f)
		switch {
		case data[0] < 192:
			size, length = 1, uint64(data[0])
		case data[0] < 224 && len(data) >= 2:
			size, length = 2, uint64(data[0]-192)<<8+uint64(data[1])+192
		case data[0] == 255 && len(data) >= 5:
			size, length = 5, uint64(binary.BigEndian.Uint32(data[1:]))
		default:
			return 0, nil, nil, false
		}
	} else {
		tag = int(head >> 2 & 0x0f)
		switch kind := head & 3; {
		case kind == 0:
			size, length = 1, uint64(data[0])
		case kind == 1 && len(data) >= 2:
			size, length = 2, uint64(binary.BigEndian.Uint16(data))
		case kind == 2 && len(data) >= 4:
			size, length = 4, uint64(binary.BigEndian.Uint32(data))
		default:
			return 0, nil, nil, false
		}
	}
	data = data[size:]
	if length > uint64(len(data)) {
		return 0, nil, nil, false
	}
	return tag, data[:length], data[length:], true
}

// nameKey computes the fingerprint and key id of a public key packet. SHA-1 is
// what version 4 names its keys by.
func nameKey(body []byte) (fingerprint, keyID string, ok bool) {
	const smallest = 8 // version, time, algorithm and some key
	if len(body) < smallest || len(body) > 0xffff {
		return "", "", false
	}
	switch version := body[0]; version {
	case 4:
		sum := sha1.Sum(append(binary.BigEndian.AppendUint16([]byte{0x99}, uint16(len(body))), body...))
		return fmt.Sprintf("%X", sum), fmt.Sprintf("%X", sum[12:]), true
	case 5, 6:
		sum := sha256.Sum256(append(binary.BigEndian.AppendUint32([]byte{0x95 + version}, uint32(len(body))), body...))
		return fmt.Sprintf("%X", sum), fmt.Sprintf("%X", sum[:8]), true
	}
	return "", "", false
}
