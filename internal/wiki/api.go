package wiki

import (
	"context"
	"html"
	"net/http"
	"slices"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/markdown"
	"stithy/internal/owner"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/upload"
)

// Needs of readers, writers and those who delete, for pages and git clients too.
var (
	ToRead   = owner.Needs{Group: access.ReadGroupWiki, Project: access.ReadProjectWiki}
	ToWrite  = owner.Needs{Group: access.WriteGroupWiki, Project: access.WriteProjectWiki}
	ToDelete = owner.Needs{Group: access.DeleteGroupWikiPages, Project: access.DeleteProjectWikiPages}
)

const (
	ofTier = "404 for groups on the free tier"
	// maxBody holds a page, written as JSON.
	maxBody = 64 << 20
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		owner.With(in, httpapi.Spec{Route: "GET /wikis", Summary: "List the pages of the wiki of a {owner}.", ExtraRefusals: ofTier}, ToRead, loads[listParams](s), s.handleList),
		owner.With(in, httpapi.Spec{
			Route: "POST /wikis", Status: http.StatusCreated, MaxBody: maxBody, Summary: "Create a page in the wiki of a {owner}.", ExtraRefusals: ofTier,
		}, ToWrite, loads[createParams](s), s.handleCreate),
		owner.With(in, httpapi.Spec{
			Route: "POST /wikis/attachments", Status: http.StatusCreated, Streams: true, Limit: "project_uploads", Summary: "Attach a file to the wiki of a {owner}.",
			Note: "The file is the part `file` of a multipart body.", ExtraRefusals: ofTier,
		}, ToWrite, loads[attachParams](s), s.handleAttach),
		owner.With(in, httpapi.Spec{Route: "GET /wikis/{slug}", Summary: "Show a page of the wiki of a {owner}.", ExtraRefusals: ofTier}, ToRead, loads[getParams](s), s.handleGet),
		owner.With(in, httpapi.Spec{
			Route: "PUT /wikis/{slug}", MaxBody: maxBody, Summary: "Change a page of the wiki of a {owner}.", ExtraRefusals: ofTier,
		}, ToWrite, loads[updateParams](s), s.handleUpdate),
		owner.With(in, httpapi.Spec{
			Route: "DELETE /wikis/{slug}", Summary: "Delete a page of the wiki of a {owner}.", ExtraRefusals: ofTier,
		}, ToDelete, loads[pageRef](s), s.handleDelete),
	)
}

// loads leaves out the groups of an instance whose tier has no wikis for them.
func loads[P owner.Params](s *Service) func(context.Context, access.Actor, *owner.Owner, P) (*owner.Owner, error) {
	return func(_ context.Context, _ access.Actor, o *owner.Owner, _ P) (*owner.Owner, error) {
		return o, s.CheckTier(o)
	}
}

// ForGroups reports whether groups of this instance have wikis.
func (s *Service) ForGroups() bool { return s.deps.Settings.Instance().Tier != setting.Free }

// CheckTier refuses the wiki of a group on an instance whose tier has none.
func (s *Service) CheckTier(o *owner.Owner) error {
	if o.Group != nil && !s.ForGroups() {
		return fault.New(fault.NotFound)
	}
	return nil
}

// titleForm is a page in lists.
type titleForm struct {
	Format Format `json:"format"`
	Slug   string `json:"slug"`
	Title  string `json:"title"`
}

// pageForm is a page on the wire.
type pageForm struct {
	titleForm
	Content  *string `json:"content,omitempty"`
	Encoding string  `json:"encoding,omitempty"`
}

// detailForm is a single page.
type detailForm struct {
	pageForm
	FrontMatter map[string]any `json:"front_matter"`
}

func newPageForm(p *Page, content bool) pageForm {
	form := pageForm{titleForm: titleForm{Format: p.Format, Slug: p.Slug, Title: p.Title}}
	if content {
		form.Content, form.Encoding = &p.Content, "UTF-8"
	}
	return form
}

type listParams struct {
	owner.Ref
	WithContent bool `param:"with_content" doc:"Show what the pages say, too"`
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) ([]pageForm, error) {
	pages, err := s.Pages(ctx, call.Subject.Entity, call.Params.WithContent)
	forms := make([]pageForm, len(pages))
	for i := range pages {
		forms[i] = newPageForm(&pages[i], call.Params.WithContent)
	}
	return forms, err
}

type pageRef struct {
	owner.Ref
	Slug string `param:"slug" doc:"Path of the page, escaped"`
}

type getParams struct {
	pageRef
	Version    string `param:"version" doc:"Commit to read it from"`
	RenderHTML bool   `param:"render_html" doc:"Show what it says as HTML"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*owner.Owner, getParams]) (detailForm, error) {
	p, err := s.Find(ctx, call.Subject.Entity, call.Params.Slug, call.Params.Version)
	form, err := present(p, err)
	if err == nil && call.Params.RenderHTML {
		var shown string
		shown, err = s.Show(ctx, call.Actor, call.Subject, p)
		form.Content = &shown
	}
	return form, err
}

// Show is a page as its reader sees it.
func (s *Service) Show(ctx context.Context, reader access.Actor, in *owner.Owner, p *Page) (string, error) {
	if p.Format != Markdown {
		return "<pre>" + html.EscapeString(p.Content) + "</pre>", nil
	}
	text := p.Content
	if _, ok := frontMatter([]byte(text)); ok {
		text = afterFrontMatter(text)
	}
	shown, err := s.deps.Markdown.Show(ctx, markdown.Context{Reader: reader, Project: in.Project}, text)
	if err != nil {
		return "", err
	}
	return contents(relink(shown, s.deps.ExternalURL+WebPath(in, ""), p.Slug)), nil
}

type createParams struct {
	owner.Ref
	Title   string `param:"title" required:"true" doc:"Title; a path where it holds slashes"`
	Content string `param:"content" required:"true" bytes:"52428800" doc:"What it says"`
	Format  string `param:"format" enum:"markdown,rdoc,asciidoc,org" default:"markdown" doc:"Language that it is written in"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (detailForm, error) {
	in := call.Params
	p, err := s.Create(ctx, call.Actor, call.Subject.Entity, Draft{Title: in.Title, Content: in.Content, Format: Format(in.Format)})
	return present(p, err)
}

func present(p *Page, err error) (detailForm, error) {
	if err != nil {
		return detailForm{}, err
	}
	return detailForm{pageForm: newPageForm(p, true), FrontMatter: p.FrontMatter}, nil
}

type updateParams struct {
	pageRef
	Title   httpapi.Opt[string] `param:"title" doc:"Title; a path where it holds slashes"`
	Content httpapi.Opt[string] `param:"content" bytes:"52428800" doc:"What it says"`
	Format  httpapi.Opt[string] `param:"format" enum:"markdown,rdoc,asciidoc,org" doc:"Language that it is written in"`
}

// Validate checks what one parameter alone cannot tell.
func (p updateParams) Validate() []string {
	if !p.Title.Given && !p.Content.Given && !p.Format.Given {
		return []string{"content, title, format are missing, at least one parameter must be provided"}
	}
	return nil
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*owner.Owner, updateParams]) (detailForm, error) {
	in := call.Params
	c := Change{Title: in.Title.Ptr(), Content: in.Content.Ptr()}
	if in.Format.Given {
		c.Format = new(Format(in.Format.Value))
	}
	p, err := s.Update(ctx, call.Actor, call.Subject.Entity, in.Slug, c)
	return present(p, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*owner.Owner, pageRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.Entity, call.Params.Slug)
}

type attachParams struct {
	owner.Ref
	Branch string `param:"branch" doc:"Branch to add it to; the wiki has one"`
}

type linkForm struct {
	URL      string `json:"url"`
	Markdown string `json:"markdown"`
}

type attachmentForm struct {
	FileName string   `json:"file_name"`
	FilePath string   `json:"file_path"`
	Branch   string   `json:"branch"`
	Link     linkForm `json:"link"`
}

// around is what a multipart body adds to its file.
const around = 64 << 10

func (s *Service) handleAttach(ctx context.Context, call httpapi.Call[*owner.Owner, attachParams]) (attachmentForm, error) {
	file, err := call.File("file", s.MaxAttachment()+around)
	if err != nil {
		return attachmentForm{}, err
	}
	at, branch, err := s.Attach(ctx, call.Actor, call.Subject.Entity, file.Name, file)
	if err != nil {
		return attachmentForm{}, err
	}
	name := upload.CleanName(file.Name)
	return attachmentForm{FileName: name, FilePath: at, Branch: branch, Link: linkForm{URL: at, Markdown: upload.Markdown(name, at)}}, nil
}

// maxFile is how many bytes a page may have that somebody pushes; what is no page has no limit of its own.
func (s *Service) maxFile(path string) int64 {
	if _, page := pageAt(gitstore.Entry{Path: path, Mode: gitstore.FileMode}); !page {
		return 0
	}
	return int64(s.deps.Settings.Current().WikiPageMaxContentBytes)
}

// GitTarget is the repository of a wiki for a git client who may use a service on it.
func (s *Service) GitTarget(ctx context.Context, by access.Actor, in *owner.Owner, service gitstore.Service) (repository.TextTarget, error) {
	none := repository.TextTarget{}
	if err := s.CheckTier(in); err != nil {
		return none, err
	}
	if !ToRead.Held(by, in) {
		return none, fault.WithMessage(fault.Forbidden, "You are not allowed to download files from this wiki.")
	}
	writes := ToWrite.Held(by, in)
	if service == gitstore.ReceivePack && !writes {
		return none, fault.WithMessage(fault.Forbidden, "You are not allowed to write to this wiki.")
	}
	id, err := s.repositoryOf(ctx, in.Entity)
	switch {
	case err != nil:
		return none, err
	case id == 0 && !writes:
		return none, fault.NotFoundf("Wiki") // nothing is made for those who only look
	case id == 0:
		id, err = s.ensureRepository(ctx, in.Entity)
	}
	return repository.TextTarget{ID: id, Path: Path(in), MaxFile: s.maxFile}, err
}
