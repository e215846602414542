package pages

import (
	"crypto/x509/pkix"
	"testing"
)

// SelfSigned is a certificate for a host with its key, for the tests of this room.
func SelfSigned(t testing.TB, host string) (certificate, key string) {
	i := issue(t, pkix.Name{CommonName: host}, false, nil, host)
	return i.pem, i.keyPEM(t)
}
