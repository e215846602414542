package snippet

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
	"stithy/internal/user"
)

type fileForm struct {
	Path   string `json:"path"`
	RawURL string `json:"raw_url"`
}

// snippetForm is a snippet on the wire.
type snippetForm struct {
	ID            int64             `json:"id"`
	Title         string            `json:"title"`
	Description   *string           `json:"description"`
	Visibility    access.Visibility `json:"visibility"`
	Author        *user.Public      `json:"author"`
	CreatedAt     httpapi.Time      `json:"created_at"`
	UpdatedAt     httpapi.Time      `json:"updated_at"`
	ProjectID     *int64            `json:"project_id"`
	WebURL        string            `json:"web_url"`
	RawURL        string            `json:"raw_url"`
	SSHURLToRepo  string            `json:"ssh_url_to_repo"`
	HTTPURLToRepo string            `json:"http_url_to_repo"`
	FileName      string            `json:"file_name"`
	Files         []fileForm        `json:"files"`
}

// WebPath is the path of the page about a snippet.
func WebPath(at Place) string {
	path := "/-/snippets/" + strconv.FormatInt(at.ID, 10)
	if at.Project != nil {
		path = "/" + at.Project.FullPath() + path
	}
	return path
}

// RawPath is the path of a file of a snippet, as it is now.
func RawPath(at Place, file string) string {
	return WebPath(at) + "/raw/" + escaped(at.Branch) + "/" + escaped(file)
}

func (s *Service) form(at Beside) snippetForm {
	page := s.deps.ExternalURL + WebPath(at.Place)
	form := snippetForm{
		ID: at.ID, Title: at.Title, Description: at.Description, Visibility: at.Visibility, CreatedAt: httpapi.Time(at.CreatedAt),
		UpdatedAt: httpapi.Time(at.UpdatedAt), ProjectID: at.ProjectID, WebURL: page, RawURL: page + "/raw",
		SSHURLToRepo: s.deps.Projects.SSHAddressOf(Path(at.Place)), HTTPURLToRepo: s.deps.Projects.HTTPAddressOf(Path(at.Place)), Files: []fileForm{},
	}
	if at.Author != nil {
		form.Author = new(s.deps.Users.PublicForm(*at.Author))
	}
	for i, path := range at.Files {
		if i == 0 {
			form.FileName = path
		}
		form.Files = append(form.Files, fileForm{Path: path, RawURL: s.deps.ExternalURL + RawPath(at.Place, path)})
	}
	return form
}

func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// forms shows snippets that an actor may read. known is the project that all of them are in, nil where they may be in any.
func (s *Service) forms(ctx context.Context, by access.Actor, known *project.Project, all []Snippet) ([]snippetForm, error) {
	shown, err := s.Beside(ctx, by, known, all...)
	forms := make([]snippetForm, len(shown))
	for i, b := range shown {
		forms[i] = s.form(b)
	}
	return forms, err
}

func (s *Service) present(ctx context.Context, at Place, err error) (snippetForm, error) {
	if err != nil {
		return snippetForm{}, err
	}
	b := Beside{Place: at}
	b.Author, err = s.Author(ctx, at.Snippet)
	return s.form(b), err
}
