package gitstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
)

// SmallBlobs goes through the blobs of at most limit bytes that some commits
// bring along: what branches and tags lead to already is left out. It is for
// looking at a push before it is taken.
func (r *Repo) SmallBlobs(ctx context.Context, tips []OID, limit int, visit func(OID, []byte) error) error {
	if err := checkIDs(tips); err != nil || len(tips) == 0 {
		return err
	}
	var input strings.Builder
	for _, id := range tips {
		input.WriteString(string(id) + "\n")
	}
	out, err := r.stream(ctx, call{class: history, sub: "rev-list", flags: []string{
		"--objects", "--no-object-names", "--filter-provided-objects", "--filter=blob:limit=" + strconv.Itoa(limit+1), "--filter=object:type=blob", "--stdin",
		"--not", "--branches", "--tags",
	}, stdin: strings.NewReader(input.String())})
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id := OID(bytes.TrimSpace(lines.Bytes()))
		if checkIDs([]OID{id}) != nil {
			continue
		}
		text, err := r.Blob(ctx, id, int64(limit))
		if errors.Is(err, ErrTooLarge) {
			continue
		}
		if err != nil {
			return err
		}
		if err := visit(id, text); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
