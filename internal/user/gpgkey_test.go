package user

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func armored(data []byte) string {
	return gpgBegin + "\n\n" + base64.StdEncoding.EncodeToString(data) + "\n" + gpgEnd
}

func readArmor(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestAGPGKeyIsNamedAsOtherProgramsNameIt(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"brainpool.asc": "0A3A27BE79224F28A0C71B34F0750A15000EA4F2",
		"dsa.asc":       "AC07ADFC8FADBD80302FC7F2E2362447BD97AA30",
		"ed25519.asc":   "17DCC03062B6800AE058A6EEC5EDD9D50CA42478",
		"nistp256.asc":  "9DC795C4AC690E5E99ADFC0FCAE730484B0493E8",
		"rsa.asc":       "D375E7F74CFB1C58C0387FFB7DC3AE100F4CB5F2",
		"secp256k1.asc": "650FF12B4D5A093FF9CA222917E60AA5FA130299",
	} {
		text := readArmor(t, file)
		for name, variant := range map[string]string{
			"as exported":      text,
			"with CRLF":        strings.ReplaceAll(text, "\n", "\r\n"),
			"with headers":     strings.Replace(text, "\n\n", "\nVersion: 1\nComment: a: b\n\n", 1),
			"without checksum": regexp.MustCompile(`\n=....\n`).ReplaceAllString(text, "\n"),
		} {
			fingerprint, keyID, ok := parseGPGKey(variant)
			if !ok || fingerprint != want || keyID != want[24:] {
				t.Errorf("%s %s: got %q, %q, %v", file, name, fingerprint, keyID, ok)
			}
		}
	}
}

// The worked example of RFC 9580, appendix A.3.
func TestAGPGKeyOfVersion6IsNamed(t *testing.T) {
	t.Parallel()
	const text = gpgBegin + `

xioGY4d/4xsAAAAg+U2nu0jWCmHlZ3BqZYfQMxmZu52JGggkLq2EVD34laPCsQYf
GwoAAABCBYJjh3/jAwsJBwUVCg4IDAIWAAKbAwIeCSIhBssYbE8GCaaX5NUt+mxy
KwwfHifBilZwj2Ul7Ce62azJBScJAgcCAAAAAK0oIBA+LX0ifsDm185Ecds2v8lw
gyU2kCcUmKfvBXbAf6rhRYWzuQOwEn7E/aLwIwRaLsdry0+VcallHhSu4RN6HWaE
QsiPlR4zxP/TP7mhfVEe7XWPxtnMUMtf15OyA51YBM4qBmOHf+MZAAAAIIaTJINn
+eUBXbki+PSAld2nhJh/LVmFsS+60WyvXkQ1wpsGGBsKAAAALAWCY4d/4wKbDCIh
BssYbE8GCaaX5NUt+mxyKwwfHifBilZwj2Ul7Ce62azJAAAAAAQBIKbpGG2dWTX8
j+VjFM21J0hqWlEg+bdiojWnKfA5AQpWUWtnNwDEM0g12vYxoWM8Y81W+bHBw805
I8kWVkXU6vFOi+HWvv/ira7ofJu16NnoUkhclkUrk0mXubZvyl4GBg==
` + gpgEnd
	fingerprint, keyID, ok := parseGPGKey(text)
	if !ok || fingerprint != "CB186C4F0609A697E4D52DFA6C722B0C1F1E27C18A56708F6525EC27BAD9ACC9" || keyID != "CB186C4F0609A697" {
		t.Errorf("got %q, %q, %v", fingerprint, keyID, ok)
	}
}

// GnuPG makes such keys for Ed448. This is the example of LibrePGP.
func TestAGPGKeyOfVersion5IsNamed(t *testing.T) {
	t.Parallel()
	const text = gpgBegin + `

xjcFXJH05BYAAAAtCSsGAQQB2kcPAQEHQFhZlVcVVtwf+21xNQPX+ecMJJBL0MPd
fj75iux+my8QzRhlbW1hLmdvbGRtYW5AZXhhbXBsZS5uZXTClgUTFggASCIhBRk0
e8mHJGQCX5nfPsLgAA7ZiEiS4fez6kyUAJFZVptUBQJckfTkAhsDBQsJCAcCAyIC
AQYVCgkICwIEFgIDAQIeBwIXgAAA9cAA/jiR3yMsZMeEQ40u6uzEoXa6UXeV/S3w
wJAXRJy9M8s0AP9vuL/7AyTfFXwwzSjDnYmzS0qAhbLDQ643N+MXGBJ2Bc48BVyR
9OQSAAAAMgorBgEEAZdVAQUBAQdA+nysrzml2UCweAqtpDuncSPlvrcBWKU0yfU0
YvYWWAoDAQgHwnoFGBYIACwiIQUZNHvJhyRkAl+Z3z7C4AAO2YhIkuH3s+pMlACR
WVabVAUCXJH05AIbDAAAOSQBAP4BOOIR/sGLNMOfeb5fPs/02QMieoiSjIBnijho
b2U5AQC+RtOHCHx7TcIYl5/Uyoi+FOvPLcNw4hOv2nwUzSSVAw==
` + gpgEnd
	fingerprint, keyID, ok := parseGPGKey(text)
	if !ok || fingerprint != "19347BC9872464025F99DF3EC2E0000ED9884892E1F7B3EA4C94009159569B54" || keyID != "19347BC987246402" {
		t.Errorf("got %q, %q, %v", fingerprint, keyID, ok)
	}
}

// GnuPG names such a key the same: were its name another, one key could belong to two accounts.
func TestWhatFollowsAGPGKeyInItsPacketDoesNotChangeItsName(t *testing.T) {
	t.Parallel()
	key, rest := splitExample(t)
	longer := append([]byte{0xc0 | packetPublicKey, byte(len(key) + 4)}, key...)
	longer = append(append(longer, 1, 2, 3, 4), rest...)
	if fingerprint, _, ok := parseGPGKey(armored(longer)); !ok || fingerprint != "17DCC03062B6800AE058A6EEC5EDD9D50CA42478" {
		t.Errorf("got %q, %v", fingerprint, ok)
	}
}

func TestAGPGKeyHasAThousandPacketsAtMost(t *testing.T) {
	t.Parallel()
	key, rest := splitExample(t)
	packets, _ := splitPackets(rest)
	data := append([]byte{0xc0 | packetPublicKey, byte(len(key))}, append(key, rest...)...)
	data = append(data, bytes.Repeat([]byte{0xc0 | 13, 0}, maxGPGPackets-1-len(packets))...) // names of nobody
	if _, _, ok := parseGPGKey(armored(data)); !ok {
		t.Errorf("%d packets are refused", maxGPGPackets)
	}
	if _, _, ok := parseGPGKey(armored(append(data, 0xc0|13, 0))); ok {
		t.Errorf("%d packets are taken", maxGPGPackets+1)
	}
}

// splitExample gives what the packet of a primary key holds, and the packets after it.
func splitExample(t *testing.T) (key, rest []byte) {
	t.Helper()
	data, ok := unarmor(readArmor(t, "ed25519.asc"))
	if !ok {
		t.Fatal("the example is unreadable")
	}
	packets, ok := splitPackets(data)
	if !ok {
		t.Fatal("the example has no packets")
	}
	const header = 2
	return packets[0].Contents, data[header+len(packets[0].Contents):]
}

func TestWhatIsNotOnePublicGPGKeyIsRefused(t *testing.T) {
	t.Parallel()
	good := readArmor(t, "ed25519.asc")
	packets, ok := unarmor(good)
	if !ok {
		t.Fatal("the example is unreadable")
	}
	key, afterKey := splitExample(t)
	secret := append([]byte{}, packets...)
	secret[0] = 0x80 | packetSecretKey<<2 | secret[0]&3
	version3 := append([]byte{}, packets...)
	version3[2] = 3
	unknown := append([]byte{}, packets...)
	unknown[7] = 99
	pieces := append([]byte{0xc0 | packetPublicKey, 224, key[0], byte(len(key) - 1)}, append(key[1:], afterKey...)...)
	endless := append([]byte{0x80 | packetPublicKey<<2 | 3}, key...)
	subkey := append([]byte{}, packets...)
	subkey[0] = 0x80 | 14<<2 | subkey[0]&3
	marker := []byte{0xca, 4, 'P', 'G', 'P', '!'} // a packet of six bytes, and thus of whole groups of base64
	whole := append([]byte{}, packets...)
	for len(whole)%3 != 0 {
		whole = append(whole, 0xca, 2, 'P', 'G')
	}
	for name, text := range map[string]string{
		"a subkey first":         armored(subkey),
		"packets after the sum":  strings.Replace(armored(whole), "\n"+gpgEnd, "\n=abcd\n"+base64.StdEncoding.EncodeToString(marker)+"\n"+gpgEnd, 1),
		"the end in a header":    strings.Replace(good, "\n\n", "\nComment: "+gpgEnd+"\n\n", 1),
		"more behind the begin":  strings.Replace(good, gpgBegin, gpgBegin+" more", 1),
		"a long header":          strings.Replace(good, "\n\n", "\nComment: "+strings.Repeat("x", maxGPGKey)+"\n\n", 1),
		"nothing":                "",
		"the frame alone":        gpgBegin + "\n\n" + gpgEnd,
		"no blank line":          strings.Replace(good, "\n\n", "\n", 1),
		"no end":                 strings.TrimSuffix(good, gpgEnd),
		"text before":            "hello " + good,
		"text after":             good + " hello",
		"text after the sum":     strings.Replace(good, gpgEnd, "more\n"+gpgEnd, 1),
		"two blocks":             good + "\n" + good,
		"a private block":        strings.ReplaceAll(good, "PUBLIC", "PRIVATE"),
		"not base64":             gpgBegin + "\n\n!!!!\n" + gpgEnd,
		"cut short":              armored(packets[:20]),
		"no key first":           armored(afterKey),
		"a secret key":           armored(secret),
		"a secret key hidden":    armored(append(append([]byte{}, packets...), secret...)),
		"a secret subkey":        armored(append(append([]byte{}, packets...), 0xc0|packetSecretSubkey, 1, 4)),
		"version 3":              armored(version3),
		"an unknown algorithm":   armored(unknown),
		"a key in pieces":        armored(pieces),
		"a key without end":      armored(endless),
		"an empty key":           armored([]byte{0xc6, 0}),
		"a length of a stream":   armored([]byte{0xc6, 224, 4, 0}),
		"a length without end":   armored([]byte{0x9b, 4, 0, 0, 0, 0, 0, 0, 0}),
		"a length beyond all":    armored([]byte{0xc6, 255, 255, 255, 255, 255, 4}),
		"half a length":          armored([]byte{0x99, 1}),
		"no packet":              armored([]byte("plain text")),
		"more than anyone sends": gpgBegin + "\n\n" + strings.Repeat("A", maxGPGKey) + "\n" + gpgEnd,
	} {
		if fingerprint, _, ok := parseGPGKey(text); ok {
			t.Errorf("%s: taken as %s", name, fingerprint)
		}
	}
}

func FuzzGPGKey(f *testing.F) {
	for _, name := range []string{"ed25519.asc", "rsa.asc"} {
		text := readArmor(f, name)
		data, _ := unarmor(text)
		f.Add(text)
		f.Add(string(data))
	}
	f.Add(string([]byte{0xc6, 0xc0, 0, 4}))
	name := regexp.MustCompile(`^([0-9A-F]{40}|[0-9A-F]{64})$`)
	f.Fuzz(func(t *testing.T, input string) {
		// The same input as a text and as what a text holds.
		for _, text := range []string{input, armored([]byte(input))} {
			fingerprint, keyID, ok := parseGPGKey(text)
			if ok != (fingerprint != "") || ok != (keyID != "") {
				t.Fatalf("%v, %q, %q", ok, fingerprint, keyID)
			}
			if ok && (!name.MatchString(fingerprint) || len(keyID) != 16 || !strings.Contains(fingerprint, keyID) || len(text) > maxGPGKey) {
				t.Fatalf("%q, %q", fingerprint, keyID)
			}
		}
	})
}
