package repository

import (
	"net/url"
	"strings"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/project"
)

// zoned is a moment in the zone where it was, as v4 shows the dates of commits.
type zoned time.Time

// MarshalJSON writes the moment.
func (t zoned) MarshalJSON() ([]byte, error) {
	return time.Time(t).AppendFormat(make([]byte, 0, 32), `"2006-01-02T15:04:05.000-07:00"`), nil
}

// CommitForm is a commit in lists and inside of other things.
type CommitForm struct {
	ID             gitstore.OID      `json:"id"`
	ShortID        string            `json:"short_id"`
	CreatedAt      zoned             `json:"created_at"`
	ParentIDs      []gitstore.OID    `json:"parent_ids"`
	Title          string            `json:"title"`
	Message        string            `json:"message"`
	AuthorName     string            `json:"author_name"`
	AuthorEmail    string            `json:"author_email"`
	AuthoredDate   zoned             `json:"authored_date"`
	CommitterName  string            `json:"committer_name"`
	CommitterEmail string            `json:"committer_email"`
	CommittedDate  zoned             `json:"committed_date"`
	Trailers       map[string]string `json:"trailers"`
	WebURL         string            `json:"web_url"`
}

// CommitForm presents a commit.
func (s *Service) CommitForm(p *project.Project, c *gitstore.Commit) CommitForm {
	parents := c.Parents
	if parents == nil {
		parents = []gitstore.OID{}
	}
	return CommitForm{
		ID: c.ID, ShortID: c.ID.Short(), CreatedAt: zoned(c.Committer.When), ParentIDs: parents, Title: title(c.Message),
		Message: c.Message, AuthorName: c.Author.Name, AuthorEmail: c.Author.Email, AuthoredDate: zoned(c.Author.When),
		CommitterName: c.Committer.Name, CommitterEmail: c.Committer.Email, CommittedDate: zoned(c.Committer.When),
		Trailers: map[string]string{}, WebURL: s.webURL(p, "commit/"+string(c.ID)),
	}
}

// title is the first line that says something.
func title(message string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	return strings.TrimRight(first, "\r ")
}

// webURL is a page of the project.
func (s *Service) webURL(p *project.Project, page string) string {
	return s.deps.ExternalURL + "/" + p.FullPath() + "/-/" + page
}

// escaped is a name or path as part of the path of an address: its slashes
// stay.
func escaped(name string) string {
	return strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
}
