package gitstore

import (
	"context"
	"errors"
	"io"
	"strings"
)

// UploadArchive is what `git archive --remote` asks for.
const UploadArchive Service = "git-upload-archive"

// maxArguments bounds what a client may say of the archive that it wants.
const maxArguments = 64

var errArguments = &RefusedError{Text: "upload-archive: these arguments are not understood"}

// SendArchive serves a client that wants an archive. It says in words of a
// command line what it wants; few of them are understood, and none is passed
// on.
func (r *Repo) SendArchive(ctx context.Context, in io.Reader, out io.Writer) error {
	words, err := readArguments(newLines(in))
	if err != nil {
		return err
	}
	if _, err := out.Write(appendMark(appendLine(nil, "ACK\n"), flush)); err != nil {
		return err
	}
	err = r.sendArchive(ctx, words, out)
	if isBadRequest(err) {
		text := "upload-archive: no such ref or path"
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			text = refused.Text
		}
		_, err = out.Write(appendBand(nil, bandError, clean(text)+"\n"))
	}
	if err != nil {
		return err
	}
	_, err = out.Write(appendMark(nil, flush))
	return err
}

// isBadRequest reports whether it is the client that is wrong.
func isBadRequest(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return refused || errors.Is(err, ErrNotFound) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrAmbiguous)
}

func readArguments(in *lines) (words []string, err error) {
	for {
		line, m, err := in.next()
		switch {
		case err != nil:
			return nil, noEOF(err)
		case m == flush:
			return words, nil
		case m != noMark || len(words) >= maxArguments:
			return nil, errRequest
		}
		word, ok := strings.CutPrefix(text(line), "argument ")
		if !ok {
			return nil, errRequest
		}
		words = append(words, word)
	}
}

// formatWords are what clients call formats.
var formatWords = map[string]Format{"tar": Tar, "zip": Zip, "tgz": TarGz, "tar.gz": TarGz}

// readArchiveOptions makes of words what is wanted; the revision is left as it is.
func readArchiveOptions(words []string) (o ArchiveOptions, revision string, list bool, err error) {
	o.Format = Tar
	var rest []string
	literal := false
	for _, word := range words {
		format, isFormat := strings.CutPrefix(word, "--format=")
		prefix, isPrefix := strings.CutPrefix(word, "--prefix=")
		switch {
		case literal || !strings.HasPrefix(word, "-"):
			rest = append(rest, word)
		case word == "--":
			literal = true
		case word == "--list" || word == "-l":
			list = true
		case isFormat:
			var known bool
			if o.Format, known = formatWords[format]; !known {
				return o, "", false, &RefusedError{Text: "Unknown archive format '" + format + "'"}
			}
		case isPrefix:
			o.Prefix = prefix
		case word == "-v" || word == "--verbose" || len(word) == 2 && word[1] >= '0' && word[1] <= '9':
		default:
			return o, "", false, errArguments
		}
	}
	switch {
	case list:
	case len(rest) == 0 || len(rest) > 2 || len(o.Prefix) > 1000:
		return o, "", false, errArguments
	case len(rest) == 2:
		o.Path = strings.Trim(rest[1], "/")
		fallthrough
	default:
		revision = rest[0]
	}
	if o.Path != "" && CheckPath(o.Path) != nil {
		return o, "", false, errArguments
	}
	return o, revision, list, nil
}

func (r *Repo) sendArchive(ctx context.Context, words []string, out io.Writer) error {
	o, revision, list, err := readArchiveOptions(words)
	if err != nil {
		return err
	}
	data := bandWriter{out}
	if list {
		_, err := io.WriteString(data, "tar\ntgz\ntar.gz\nzip\n")
		return err
	}
	if revision == "HEAD" {
		if revision, err = r.Head(ctx); err != nil {
			return err
		}
		revision = Branches + revision
	}
	if IsOID(revision) { // only names: what they lead to is what may be seen
		return &RefusedError{Text: "upload-archive: no such ref: " + revision}
	}
	if o.Commit, err = r.Resolve(ctx, revision); err != nil {
		return err
	}
	archive, err := r.Archive(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	_, err = io.Copy(data, archive)
	return err
}

// bandWriter writes lines of the band of data.
type bandWriter struct{ to io.Writer }

func (w bandWriter) Write(b []byte) (int, error) {
	if _, err := w.to.Write(appendBand(nil, bandData, string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
