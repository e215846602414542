package pages

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/fault"
)

// issued is a certificate with its key, for tests.
type issued struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  string
}

func (i *issued) keyPEM(t testing.TB) string {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

func issue(t testing.TB, name pkix.Name, ca bool, by *issued, hosts ...string) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issueFor(t, key, name, ca, by, hosts...)
}

func issueFor(t testing.TB, key crypto.Signer, name pkix.Name, ca bool, by *issued, hosts ...string) *issued {
	t.Helper()
	start := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	plan := &x509.Certificate{
		SerialNumber: big.NewInt(0x1234567890), Subject: name, NotBefore: start, NotAfter: start.AddDate(0, 3, 0), IsCA: ca, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, DNSNames: hosts,
	}
	if ca {
		plan.KeyUsage |= x509.KeyUsageCertSign
	}
	parent, signer := plan, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, plan, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func TestAPairIsReadOrRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	host := pkix.Name{CommonName: "site.example.org"}
	self := issue(t, host, false, nil, "site.example.org")
	root := issue(t, pkix.Name{CommonName: "root"}, true, nil)
	middle := issue(t, pkix.Name{CommonName: "middle"}, true, root)
	leaf := issue(t, host, false, middle, "site.example.org")
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ed := issueFor(t, edKey, host, false, nil)
	ecKey, err := x509.MarshalECPrivateKey(self.key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	legacy := "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" +
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ecKey}))
	for name, row := range map[string]struct{ certificate, key, field, says string }{
		"self-signed":          {self.pem, self.keyPEM(t), "", ""},
		"a key as openssl has": {self.pem, legacy, "", ""},
		"ed25519":              {ed.pem, ed.keyPEM(t), "", ""},
		"chain":                {leaf.pem + middle.pem, leaf.keyPEM(t), "", ""},
		"chain with its root":  {leaf.pem + "\n" + middle.pem + root.pem, leaf.keyPEM(t), "", ""},
		"alone":                {leaf.pem, leaf.keyPEM(t), "certificate", "misses intermediates"},
		"a gap":                {leaf.pem + root.pem, leaf.keyPEM(t), "certificate", "misses intermediates"},
		"wrong order":          {middle.pem + leaf.pem, middle.keyPEM(t), "certificate", "misses intermediates"},
		"a stranger's issuer":  {self.pem + middle.pem, self.keyPEM(t), "certificate", "misses intermediates"},
		"another key":          {self.pem, leaf.keyPEM(t), "key", "doesn't match the certificate"},
		"no PEM":               {"no pem", self.keyPEM(t), "certificate", "must be a valid PEM certificate"},
		"text after":           {self.pem + "more", self.keyPEM(t), "certificate", "must be a valid PEM certificate"},
		"a key as certificate": {self.keyPEM(t), self.keyPEM(t), "certificate", "must be a valid PEM certificate"},
		"broken":               {strings.Replace(self.pem, "MII", "AAA", 1), self.keyPEM(t), "certificate", "must be a valid PEM certificate"},
		"many":                 {strings.Repeat(root.pem, maxChain+1), root.keyPEM(t), "certificate", "must be a valid PEM certificate"},
		"large":                {self.pem + strings.Repeat("\n", maxCertificate), self.keyPEM(t), "certificate", "must be a valid PEM certificate"},
		"no key":               {self.pem, "no pem", "key", "must be a valid PEM private key"},
		"a public key":         {self.pem, self.pem, "key", "must be a valid PEM private key"},
		"a long key":           {self.pem, self.keyPEM(t) + strings.Repeat("\n", maxKey), "key", "Certificate Key is too long. (Max 8192 bytes)"},
	} {
		_, err := readPair(row.certificate, row.key)
		if row.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, ok := fault.Of(err)
		if !ok || len(e.Fields) != 1 || len(e.Fields[row.field]) != 1 || e.Fields[row.field][0] != row.says {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACertificateIsShownInWordsWithinBounds(t *testing.T) {
	t.Parallel()
	plain := issue(t, pkix.Name{Country: []string{"DE"}, Organization: []string{"A, B/C"}, CommonName: "site.example.org"}, false, nil, "site.example.org", "www.example.org")
	if got := subject(plain.cert); got != "/C=DE/O=A, B/C/CN=site.example.org" {
		t.Error(got)
	}
	text := words(plain.cert)
	for _, want := range []string{
		"Certificate:\n    Data:\n        Version: 3 (0x2)\n", "12:34:56:78:90", "Issuer: C = DE, O = A, B/C, CN = site.example.org",
		"Not Before: May  1 00:00:00 2024 GMT", "Not After : Aug  1 00:00:00 2024 GMT", "DNS:site.example.org, DNS:www.example.org",
		"Public Key Algorithm: id-ecPublicKey (P-256)", "CA:FALSE", "Digital Signature", "Signature Algorithm: ECDSA-SHA256",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	hostile := issue(t, pkix.Name{CommonName: "a\nSubject: b\x00\\" + strings.Repeat("ü", 3*maxSubject)}, false, nil, strings.Repeat("a", 20000)+".example")
	if got := subject(hostile.cert); len(got) > maxSubject || strings.ContainsAny(got, "\n\x00") || !strings.HasPrefix(got, `/CN=a\x0ASubject: b\x00\x5C`) {
		t.Errorf("%d %q", len(got), got[:60])
	}
	if text := words(hostile.cert); len(text) > maxText || strings.Contains(text, "\nSubject: b") {
		t.Errorf("%d bytes", len(text))
	}
}
