package pages

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"

	"stithy/internal/kit/fault"
)

const (
	maxCertificate = 64 << 10
	maxChain       = 10
	maxKey         = 8192
	maxText        = 16 << 10 // of a certificate in words
	maxSubject     = 2048
)

// pair is a certificate with those that issued it, and its key.
type pair struct {
	chain []*x509.Certificate
	key   crypto.Signer
}

// readPair reads what people give. Each thing that is wrong is said of the attribute that it is in.
func readPair(certificate, key string) (*pair, error) {
	var f fault.Fields
	p := &pair{chain: readChain(certificate), key: readKey(key)}
	if len(key) > maxKey {
		f.Add("key", "Certificate Key is too long. (Max %d bytes)", maxKey)
	} else if p.key == nil {
		f.Add("key", "must be a valid PEM private key")
	}
	switch {
	case p.chain == nil:
		f.Add("certificate", "must be a valid PEM certificate")
	case !complete(p.chain):
		f.Add("certificate", "misses intermediates")
	}
	if len(f) == 0 && !p.fits() {
		f.Add("key", "doesn't match the certificate")
	}
	return p, f.Err()
}

// readChain is nil where text is anything but certificates.
func readChain(text string) []*x509.Certificate {
	if len(text) > maxCertificate {
		return nil
	}
	var chain []*x509.Certificate
	for rest := []byte(text); len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" || len(chain) == maxChain {
			return nil
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil
		}
		chain = append(chain, c)
	}
	return chain
}

// readKey is nil where text is no private key that a server can use.
func readKey(text string) crypto.Signer {
	if len(text) > maxKey {
		return nil
	}
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil
		}
		var key any
		var err error
		switch block.Type {
		case "EC PARAMETERS": // stands before the key that openssl writes
			continue
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return nil
		}
		switch k := key.(type) {
		case *rsa.PrivateKey:
			return k
		case *ecdsa.PrivateKey:
			return k
		case ed25519.PrivateKey:
			return k
		}
		return nil
	}
}

// complete reports whether each certificate was issued by the next, and whether those are there that browsers do not have: the last may be missing, which
// they know, or the only one may have issued itself.
func complete(chain []*x509.Certificate) bool {
	for i := range chain[:len(chain)-1] {
		if chain[i].CheckSignatureFrom(chain[i+1]) != nil {
			return false
		}
	}
	leaf := chain[0]
	return len(chain) > 1 || bytes.Equal(leaf.RawSubject, leaf.RawIssuer) && leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil
}

func (p *pair) fits() bool {
	public, ok := p.chain[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(p.key.Public())
}

// shortNames are those that openssl has for the parts of a name.
var shortNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "street", "2.5.4.10": "O",
	"2.5.4.11": "OU", "2.5.4.17": "postalCode", "2.5.4.42": "GN", "1.2.840.113549.1.9.1": "emailAddress", "0.9.2342.19200300.100.1.25": "DC",
}

// parts are those of a name in their order, each with its short name.
func parts(raw []byte) (names [][2]string) {
	var sequence pkix.RDNSequence
	if rest, err := asn1.Unmarshal(raw, &sequence); err != nil || len(rest) > 0 {
		return nil
	}
	for _, set := range sequence {
		for _, attribute := range set {
			key := attribute.Type.String()
			if short, ok := shortNames[key]; ok {
				key = short
			}
			names = append(names, [2]string{key, printable(fmt.Sprint(attribute.Value))})
		}
	}
	return names
}

// printable is text on one line, with what is not to be printed as its number.
func printable(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c == 0x7f || c == '\\' {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(b.String(), "?")
}

// subject is whom a certificate is for, as /C=DE/CN=example.com.
func subject(c *x509.Certificate) string {
	var b strings.Builder
	for _, part := range parts(c.RawSubject) {
		b.WriteString("/" + part[0] + "=" + part[1])
	}
	return cut(b.String(), maxSubject)
}

func oneLine(raw []byte) string {
	var words []string
	for _, part := range parts(raw) {
		words = append(words, part[0]+" = "+part[1])
	}
	return strings.Join(words, ", ")
}

// cut is the beginning of a text, whole characters of it.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// words is a certificate as people read it, in the manner of openssl.
func words(c *x509.Certificate) string {
	var b strings.Builder
	line := func(depth int, format string, args ...any) {
		if b.Len() < maxText {
			b.WriteString(strings.Repeat("    ", depth) + fmt.Sprintf(format, args...) + "\n")
		}
	}
	const moment = "Jan _2 15:04:05 2006 GMT"
	line(0, "Certificate:")
	line(1, "Data:")
	line(2, "Version: %d (0x%x)", c.Version, max(0, c.Version-1))
	line(2, "Serial Number:")
	line(3, "%s", colons(c.SerialNumber.Bytes()))
	line(2, "Signature Algorithm: %s", c.SignatureAlgorithm)
	line(2, "Issuer: %s", oneLine(c.RawIssuer))
	line(2, "Validity")
	line(3, "Not Before: %s", c.NotBefore.UTC().Format(moment))
	line(3, "Not After : %s", c.NotAfter.UTC().Format(moment))
	line(2, "Subject: %s", oneLine(c.RawSubject))
	line(2, "Subject Public Key Info:")
	line(3, "Public Key Algorithm: %s", publicKey(c))
	line(2, "X509v3 extensions:")
	if usage := usages(c.KeyUsage); usage != "" {
		line(3, "X509v3 Key Usage:")
		line(4, "%s", usage)
	}
	if c.BasicConstraintsValid {
		line(3, "X509v3 Basic Constraints:")
		line(4, "CA:%s", strings.ToUpper(fmt.Sprint(c.IsCA)))
	}
	if len(c.SubjectKeyId) > 0 {
		line(3, "X509v3 Subject Key Identifier:")
		line(4, "%s", colons(c.SubjectKeyId))
	}
	if len(c.AuthorityKeyId) > 0 {
		line(3, "X509v3 Authority Key Identifier:")
		line(4, "%s", colons(c.AuthorityKeyId))
	}
	if names := alternatives(c); names != "" {
		line(3, "X509v3 Subject Alternative Name:")
		line(4, "%s", names)
	}
	line(1, "Signature Algorithm: %s", c.SignatureAlgorithm)
	line(1, "Signature Value:")
	for rest := c.Signature; len(rest) > 0; {
		n := min(18, len(rest))
		line(2, "%s", strings.ToLower(colons(rest[:n])))
		rest = rest[n:]
	}
	return cut(b.String(), maxText)
}

func alternatives(c *x509.Certificate) string {
	var names []string
	for _, name := range c.DNSNames {
		names = append(names, "DNS:"+printable(name))
	}
	for _, address := range c.IPAddresses {
		names = append(names, "IP Address:"+address.String())
	}
	for _, address := range c.EmailAddresses {
		names = append(names, "email:"+printable(address))
	}
	return cut(strings.Join(names, ", "), maxText/2)
}

func publicKey(c *x509.Certificate) string {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("rsaEncryption (%d bit)", k.N.BitLen())
	case *ecdsa.PublicKey:
		return fmt.Sprintf("id-ecPublicKey (%s)", k.Curve.Params().Name)
	}
	return c.PublicKeyAlgorithm.String()
}

var usageNames = []string{
	"Digital Signature", "Non Repudiation", "Key Encipherment", "Data Encipherment", "Key Agreement", "Certificate Sign", "CRL Sign", "Encipher Only", "Decipher Only",
}

func usages(usage x509.KeyUsage) string {
	var names []string
	for i, name := range usageNames {
		if usage&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// colons is bytes in hexadecimal, two digits each.
func colons(b []byte) string {
	digits := strings.ToUpper(hex.EncodeToString(b))
	var out strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			out.WriteByte(':')
		}
		out.WriteString(digits[i : i+2])
	}
	return out.String()
}
