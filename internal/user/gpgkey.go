package user

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const (
	gpgBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	gpgEnd   = "-----END PGP PUBLIC KEY BLOCK-----"

	maxGPGKey     = 65535 // bytes of armor
	maxGPGPackets = 1000  // every second packet of a key is a signature, of 70 bytes and more, so that no key has as many
)

// Kinds of OpenPGP packets (RFC 9580, section 5).
const (
	packetSecretKey    = 5
	packetPublicKey    = 6
	packetSecretSubkey = 7
)

// parseGPGKey names the primary key of an armored block. It looks into no other
// packet: signatures are checked where commits are.
func parseGPGKey(text string) (fingerprint, keyID string, ok bool) {
	data, ok := unarmor(text)
	if !ok {
		return "", "", false
	}
	packets, ok := splitPackets(data)
	if !ok || packets[0].Tag != packetPublicKey {
		return "", "", false
	}
	for _, p := range packets {
		if p.Tag == packetSecretKey || p.Tag == packetSecretSubkey {
			return "", "", false // the text is shown to everyone
		}
	}
	return nameKey(packets[0])
}

// unarmor decodes a text that is one block and nothing else. The checksum is
// not looked at, as RFC 9580 asks. The library's decoder skips what stands
// around a block, and copies a long header once for every hundred bytes of it.
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

// splitPackets cuts data into packets without reading what they hold.
func splitPackets(data []byte) (packets []*packet.OpaquePacket, ok bool) {
	rest := bytes.NewReader(data)
	for reader := packet.NewOpaqueReader(rest); rest.Len() > 0; {
		if len(packets) == maxGPGPackets || isStreamed(data[len(data)-rest.Len():]) {
			return nil, false
		}
		p, err := reader.Next()
		if err != nil {
			return nil, false
		}
		packets = append(packets, p)
	}
	return packets, len(packets) > 0
}

// isStreamed tells whether a packet has a length that only streams of data use,
// which no packet of a key is: in pieces, or up to the end.
func isStreamed(head []byte) bool {
	if head[0]&0x40 == 0 {
		return head[0]&3 == 3
	}
	return len(head) > 1 && head[1] >= 224 && head[1] < 255
}

// nameKey tells the fingerprint and key id of a primary key.
func nameKey(p *packet.OpaquePacket) (fingerprint, keyID string, ok bool) {
	const smallest = 8 // version, time, algorithm and some key
	if len(p.Contents) < smallest {
		return "", "", false
	}
	// GnuPG makes keys for Ed448 of version 5, which is in no RFC and which the
	// library reads only where a variable of all the program says so.
	if p.Contents[0] == 5 {
		sum := sha256.Sum256(append(binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(len(p.Contents))), p.Contents...))
		return fmt.Sprintf("%X", sum), fmt.Sprintf("%X", sum[:8]), true
	}
	parsed, err := p.Parse()
	key, ok := parsed.(*packet.PublicKey)
	if err != nil || !ok {
		return "", "", false
	}
	return fmt.Sprintf("%X", key.Fingerprint), fmt.Sprintf("%016X", key.KeyId), true
}
