package repository

import (
	"context"
	"encoding/base64"
	"io"
	"strconv"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

func (s *Service) contentEndpoints() []httpapi.Endpoint {
	archive := httpapi.Spec{
		Needs: access.ReadCode, Summary: "Get an archive of the repository.", Limit: "project_repositories_archive", LimitOf: "archive",
		NoEmbed: true,
	}
	plain, suffixed := archive, archive
	plain.Route = "GET /projects/{id}/repository/archive"
	suffixed.Route = "GET /projects/{id}/repository/archive.{format}"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/tree", Needs: access.ReadCode, Summary: "List the files and directories of a repository.",
		}, s.handleTree),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/blobs/{sha}", Needs: access.ReadCode, Summary: "Get a blob.",
		}, s.handleBlob),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/blobs/{sha}/raw", Needs: access.ReadCode, Summary: "Get the content of a blob.",
		}, s.handleRawBlob),
		project.On(s.deps.Projects, plain, s.handleArchive),
		project.On(s.deps.Projects, suffixed, s.handleArchive),
	}
}

type treeParams struct {
	project.Ref
	httpapi.Paging
	Path       string `param:"path" doc:"Directory; the top when empty"`
	Revision   string `param:"ref" doc:"Branch, tag or commit; the default branch when empty"`
	Recursive  bool   `param:"recursive" doc:"List what is in directories too"`
	Pagination string `param:"pagination" enum:"legacy,keyset,none" default:"legacy" doc:"How pages are turned; none is for recursive lists"`
	PageToken  string `param:"page_token" doc:"ID of the record after which the page begins; keyset only"`
}

// entryForm is an entry of a tree.
type entryForm struct {
	ID   gitstore.OID  `json:"id"`
	Name string        `json:"name"`
	Type gitstore.Kind `json:"type"`
	Path string        `json:"path"`
	Mode string        `json:"mode"`
}

func (s *Service) handleTree(ctx context.Context, call httpapi.Call[*project.Project, treeParams]) (httpapi.List[entryForm], error) {
	var none httpapi.List[entryForm]
	in := call.Params
	if in.Pagination == "none" && !in.Recursive {
		return none, fault.WithMessage(fault.BadParams, `pagination cannot be "none" unless "recursive" is true`)
	}
	req, err := in.Request()
	if in.Pagination != "legacy" && fault.Is(err, fault.MethodNotAllowed) { // the depth of offsets does not bind other ways
		err = nil
	}
	if err != nil {
		return none, err
	}
	req.Keyset = in.Pagination != "legacy"
	page, err := s.Tree(ctx, call.Subject, TreeQuery{
		Revision: in.Revision, Path: in.Path, Recursive: in.Recursive, All: in.Pagination == "none", After: in.PageToken,
	}, req)
	return httpapi.ListOf(req, page, func(e gitstore.Entry) entryForm {
		return entryForm{ID: e.ID, Name: e.Name(), Type: e.Mode.Kind(), Path: e.Path, Mode: e.Mode.String()}
	}), err
}

type blobParams struct {
	project.Ref
	SHA string `param:"sha" doc:"ID of the blob"`
}

// blobForm is a blob with its content.
type blobForm struct {
	Size     int64        `json:"size"`
	Encoding string       `json:"encoding"`
	Content  string       `json:"content"`
	SHA      gitstore.OID `json:"sha"`
}

// smallBlob is how much of a repository an answer holds in memory.
const smallBlob = 1 << 20

// blobReply is a blob, as a whole or as a stream of the same document.
type blobReply = httpapi.Either[blobForm, httpapi.Stream]

func (s *Service) handleBlob(ctx context.Context, call httpapi.Call[*project.Project, blobParams]) (reply blobReply, _ error) {
	blob, err := s.Blob(ctx, call.Subject, call.Params.SHA)
	if err != nil {
		return reply, err
	}
	if blob.Size > smallBlob {
		return reply.Other(largeBlob(blob)), nil
	}
	content, err := blob.Repo.Blob(ctx, blob.ID, smallBlob)
	if err != nil {
		return reply, found(err, "Blob")
	}
	return reply.One(blobForm{Size: blob.Size, Encoding: "base64", Content: base64.StdEncoding.EncodeToString(content), SHA: blob.ID}), nil
}

// largeBlob is the same document, written while it is read.
func largeBlob(blob *Blob) httpapi.Stream {
	return httpapi.Stream{Type: "application/json", Size: httpapi.UnknownSize, Open: func(ctx context.Context) (io.ReadCloser, error) {
		_, content, err := blob.Repo.OpenBlob(ctx, blob.ID)
		if err != nil {
			return nil, found(err, "Blob")
		}
		reader, writer := io.Pipe()
		go func() {
			defer func() { _ = content.Close() }()
			_, err := io.WriteString(writer, `{"size":`+strconv.FormatInt(blob.Size, 10)+`,"encoding":"base64","content":"`)
			if err == nil {
				encoder := base64.NewEncoder(base64.StdEncoding, writer)
				if _, err = io.Copy(encoder, content); err == nil {
					err = encoder.Close()
				}
			}
			if err == nil {
				_, err = io.WriteString(writer, `","sha":"`+string(blob.ID)+`"}`)
			}
			_ = writer.CloseWithError(err)
		}()
		return reader, nil
	}}
}

func (s *Service) handleRawBlob(ctx context.Context, call httpapi.Call[*project.Project, blobParams]) (httpapi.Stream, error) {
	if tag := strings.ToLower(call.Params.SHA); call.Has(tag) {
		return httpapi.Unchanged(tag), nil
	}
	blob, err := s.Blob(ctx, call.Subject, call.Params.SHA)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return blob.stream(string(blob.ID)), nil
}

// stream is the content under a name.
func (b *Blob) stream(name string) httpapi.Stream {
	return httpapi.Stream{Name: name, Size: b.Size, Tag: string(b.ID), Open: func(ctx context.Context) (io.ReadCloser, error) {
		_, content, err := b.Repo.OpenBlob(ctx, b.ID)
		return content, found(err, "Blob")
	}}
}

type archiveParams struct {
	project.Ref
	Format   string   `param:"format" enum:"zip,tar,tar.gz,tgz,gz,tar.bz2,tbz,tbz2,tb2,bz2" default:"tar.gz" doc:"Form of the archive"`
	Revision string   `param:"sha" doc:"Commit, tag or branch; the default branch when empty"`
	Path     string   `param:"path" doc:"Directory to pack; everything when empty"`
	LFS      bool     `param:"include_lfs_blobs" default:"true" doc:"Pack large files in place of their pointers"`
	Exclude  []string `param:"exclude_paths" split:"comma" doc:"Paths to leave out"`
}

var formats = map[string]gitstore.Format{
	"zip": gitstore.Zip, "tar": gitstore.Tar,
	"tar.gz": gitstore.TarGz, "tgz": gitstore.TarGz, "gz": gitstore.TarGz,
	"tar.bz2": gitstore.TarBz2, "tbz": gitstore.TarBz2, "tbz2": gitstore.TarBz2, "tb2": gitstore.TarBz2, "bz2": gitstore.TarBz2,
}

func (s *Service) handleArchive(ctx context.Context, call httpapi.Call[*project.Project, archiveParams]) (httpapi.Stream, error) {
	in := call.Params
	format, known := formats[in.Format]
	if !known {
		return httpapi.Stream{}, fault.NotFoundf("File")
	}
	a, err := s.Archive(ctx, call.Subject, ArchiveQuery{Revision: in.Revision, Path: in.Path, Exclude: in.Exclude, Format: format, Large: in.LFS})
	if err != nil {
		return httpapi.Stream{}, err
	}
	mediaType := "application/octet-stream"
	if format == gitstore.Zip {
		mediaType = "application/zip"
	}
	return httpapi.Stream{
		Name: a.Name(), Type: mediaType, Attach: true, Size: httpapi.UnknownSize, Header: map[string]string{"Content-Transfer-Encoding": "binary"},
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			content, err := a.Repo.Archive(ctx, a.ArchiveOptions)
			return content, found(err, "File")
		},
	}, nil
}
