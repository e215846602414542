package githttp

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/kit/fault"
)

func TestABodyThatCannotBeReadIsTheFaultOfTheClient(t *testing.T) {
	t.Parallel()
	for sent, broken := range map[string]bool{"5\r\nhello\r\n0\r\n\r\n": false, "5\nhello\r\n0\r\n\r\n": true, "zz\r\nhello": true} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + sent)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := decoded(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.ReadAll(body); fault.Is(err, fault.BadParams) != broken || !broken && err != nil {
			t.Errorf("%q: %v", sent, err)
		}
	}
}
