package gitstore

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Swap puts something else in the place of small files while an archive is
// made.
type Swap struct {
	Name  string // tells archives with it from those without
	Limit int64  // files of more bytes stay as they are
	// For opens what stands in the place of a file with that content; nil
	// leaves the file as it is.
	For func(ctx context.Context, content []byte) (size int64, body io.ReadCloser, err error)
}

// swapped writes an archive whose files went through the swap. Git makes a tar
// of it, whatever the format.
func (r *Repo) swapped(ctx context.Context, o ArchiveOptions, c call, w io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	made, err := r.stream(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = made.Close() }()
	switch o.Format {
	case Zip:
		to := zip.NewWriter(w)
		return errors.Join(o.Swap.pass(ctx, made, zipEntries{to}), to.Close())
	case TarGz:
		packed := gzip.NewWriter(w)
		to := tar.NewWriter(packed)
		return errors.Join(o.Swap.pass(ctx, made, tarEntries{to}), to.Close(), packed.Close())
	case TarBz2:
		out, in := io.Pipe()
		go func() {
			to := tar.NewWriter(in)
			_ = in.CloseWithError(errors.Join(o.Swap.pass(ctx, made, tarEntries{to}), to.Close()))
		}()
		defer func() { _ = out.Close() }()
		return bzip2(ctx, out, w)
	}
	to := tar.NewWriter(w)
	return errors.Join(o.Swap.pass(ctx, made, tarEntries{to}), to.Close())
}

// entries is an archive that is written.
type entries interface {
	begin(h *tar.Header) (io.Writer, error)
}

// pass goes through a tar.
func (s *Swap) pass(ctx context.Context, from io.Reader, to entries) error {
	in := tar.NewReader(from)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, from) // how the command went shows at its end
			return err
		}
		if err != nil {
			return fmt.Errorf("reading an archive: %w", err)
		}
		if err := s.entry(ctx, h, in, to); err != nil {
			return err
		}
	}
}

func (s *Swap) entry(ctx context.Context, h *tar.Header, content io.Reader, to entries) error {
	if h.Typeflag == tar.TypeReg && h.Size <= s.Limit {
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		size, body, err := s.For(ctx, text)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
		if body != nil {
			defer func() { _ = body.Close() }()
			h.Size, content = size, body
		}
	}
	out, err := to.begin(h)
	if err != nil || out == nil {
		return err
	}
	_, err = io.Copy(out, content)
	return err
}

type tarEntries struct{ to *tar.Writer }

func (e tarEntries) begin(h *tar.Header) (io.Writer, error) {
	h.Format = tar.FormatPAX
	if h.Typeflag == tar.TypeXGlobalHeader {
		h = &tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: h.Name, PAXRecords: h.PAXRecords}
	}
	return e.to, e.to.WriteHeader(h)
}

type zipEntries struct{ to *zip.Writer }

func (e zipEntries) begin(h *tar.Header) (io.Writer, error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil, nil //nolint:nilnil // a zip has none
	}
	made := &zip.FileHeader{Name: h.Name, Modified: h.ModTime, Method: zip.Deflate}
	made.SetMode(h.FileInfo().Mode())
	out, err := e.to.CreateHeader(made)
	if err != nil || strings.HasSuffix(h.Name, "/") {
		return nil, err
	}
	if h.Typeflag == tar.TypeSymlink {
		_, err := io.WriteString(out, h.Linkname)
		return nil, err
	}
	return out, nil
}
