package signin

import "testing"

func TestTheListsOfDomains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address string
		allowed []string
		denying bool
		denied  []string
		want    bool
	}{
		{"a@corp.example", nil, false, nil, true},
		{"a@corp.example", []string{"corp.example"}, false, nil, true},
		{"a@CORP.example", []string{"Corp.Example "}, false, nil, true},
		{"a@evil.example", []string{"corp.example"}, false, nil, false},
		{"a@x.corp.example", []string{"*.corp.example"}, false, nil, true},
		{"a@corp.example.evil", []string{"*.corp.example", "corp.example"}, false, nil, false},
		{"corp.example@evil.example", []string{"corp.example"}, false, nil, false},
		{"a@b@corp.example", []string{"corp.example"}, false, nil, true}, // the address itself is refused elsewhere
		{"a@spam.example", nil, true, []string{"spam.example"}, false},
		{"a@spam.example", nil, false, []string{"spam.example"}, true},
		{"a@corp.example", []string{"["}, false, nil, false},
	} {
		if got := domainAllowed(c.address, c.allowed, c.denying, c.denied); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
