package access

import "net/netip"

// Presented is a secret as it came with a request, before it was looked up.
type Presented struct {
	Secret  string
	Kinds   []Kind // what it may be, in the order to try
	Address netip.Addr
	Reading bool   // the request changes nothing
	CSRF    string // what a browser must add to a session that writes
	Rotates bool   // the request would rotate a token
	Account bool   // the request needs the whole account behind the secret
}
