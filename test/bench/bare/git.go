package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// repository is one project's: its pages by pooled cat-file processes, its
// transport by git http-backend.
type repository struct {
	*server
	dir     string // of git
	web     string // address of the project's pages
	backend string
	readers chan *reader
}

// readers is how many cat-file processes there are, as many as cores.
const readers = 2

func (s *server) repository(dir, web string) (*repository, error) {
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, err
	}
	r := &repository{server: s, dir: dir, web: s.base + "/" + web, backend: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		readers: make(chan *reader, readers)}
	for range readers {
		reader, err := newReader(dir)
		if err != nil {
			return nil, err
		}
		r.readers <- reader
	}
	return r, nil
}

// reader is one cat-file process.
type reader struct {
	in  io.Writer
	out *bufio.Reader
}

func newReader(dir string) (*reader, error) {
	cmd := exec.Command("git", "--git-dir="+dir, "cat-file", "--batch-command", "--buffer")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &reader{in, bufio.NewReaderSize(out, 64<<10)}, cmd.Start()
}

type object struct {
	id, kind string
	content  []byte
}

// read asks for objects, all at once.
func (r *reader) read(names ...string) ([]object, error) {
	var question bytes.Buffer
	for _, name := range names {
		question.WriteString("contents " + name + "\n")
	}
	question.WriteString("flush\n")
	if _, err := r.in.Write(question.Bytes()); err != nil {
		return nil, err
	}
	found := make([]object, len(names))
	for i := range names {
		line, err := r.out.ReadString('\n')
		if err != nil {
			return nil, err
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, errors.New(line)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, err
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r.out, content); err != nil {
			return nil, err
		}
		found[i] = object{fields[0], fields[1], content[:size]}
	}
	return found, nil
}

// with answers with what somebody reads who has a good token.
func (r *repository) with(read func(*reader, url.Values, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if !r.authenticate(w, req, sqlToken) {
			return
		}
		reader := <-r.readers
		answer, err := read(reader, req.URL.Query(), req)
		r.readers <- reader
		raw, isRaw := answer.([]byte)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case isRaw:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
			_, _ = w.Write(raw)
		default:
			reply(w, answer)
		}
	}
}

func (r *repository) handle(mux *http.ServeMux, id string) {
	at := "GET /api/v4/projects/" + id + "/repository"
	mux.HandleFunc(at+"/tree", r.with(r.tree))
	mux.HandleFunc(at+"/files/{path}/raw", r.with(func(b *reader, q url.Values, req *http.Request) (any, error) {
		found, err := b.read(q.Get("ref") + ":" + req.PathValue("path"))
		if err != nil {
			return nil, err
		}
		return found[0].content, nil
	}))
	mux.HandleFunc(at+"/blobs/{id}", r.with(func(b *reader, _ url.Values, req *http.Request) (any, error) {
		found, err := b.read(req.PathValue("id"))
		if err != nil {
			return nil, err
		}
		content := found[0].content
		return blob{len(content), "base64", base64.StdEncoding.EncodeToString(content), found[0].id}, nil
	}))
	mux.HandleFunc(at+"/commits", r.with(r.commits))
	mux.HandleFunc("/backend/", r.transport)
}

type entry struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Path string `json:"path"`
	Mode string `json:"mode"`
}

type blob struct {
	Size     int    `json:"size"`
	Encoding string `json:"encoding"`
	Content  string `json:"content"`
	SHA      string `json:"sha"`
}

// tree is a page of the root, or all that is below it.
func (r *repository) tree(b *reader, q url.Values, _ *http.Request) (any, error) {
	entries, err := list(b, q.Get("ref")+":", "", q.Get("recursive") == "true")
	if err != nil {
		return nil, err
	}
	order := map[string]int{"tree": 0, "blob": 1}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(order[a.Type], order[b.Type]), strings.Compare(a.Path, b.Path))
	})
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil {
		entries = entries[:min(n, len(entries))]
	}
	return entries, nil
}

func list(b *reader, name, prefix string, deep bool) (all []entry, err error) {
	found, err := b.read(name)
	if err != nil {
		return nil, err
	}
	for rest := found[0].content; len(rest) > 0; {
		head, tail, ok := bytes.Cut(rest, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ok || !named || len(tail) < 20 {
			return nil, errors.New("a tree that ends too soon")
		}
		e := entry{ID: hex.EncodeToString(tail[:20]), Name: name, Type: "blob", Path: prefix + name, Mode: mode}
		if mode == "40000" {
			e.Mode, e.Type = "040000", "tree"
		}
		rest = tail[20:]
		all = append(all, e)
		if deep && e.Type == "tree" {
			below, err := list(b, e.ID, e.Path+"/", true)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

type commit struct {
	ID             string            `json:"id"`
	ShortID        string            `json:"short_id"`
	CreatedAt      zoned             `json:"created_at"`
	ParentIDs      []string          `json:"parent_ids"`
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

type zoned time.Time

func (t zoned) MarshalJSON() ([]byte, error) {
	return time.Time(t).AppendFormat(make([]byte, 0, 32), `"2006-01-02T15:04:05.000-07:00"`), nil
}

// commits goes back from a branch, the newest of the known ones first.
func (r *repository) commits(b *reader, q url.Values, _ *http.Request) (any, error) {
	wanted, err := strconv.Atoi(q.Get("per_page"))
	if err != nil {
		return nil, err
	}
	var page, known []commit
	seen, next := map[string]bool{}, []string{q.Get("ref_name") + "^{commit}"}
	for len(page) < wanted {
		if len(next) > 0 {
			found, err := b.read(next...)
			if err != nil {
				return nil, err
			}
			for _, o := range found {
				c, err := r.parse(o)
				if err != nil {
					return nil, err
				}
				known = append(known, c)
			}
			slices.SortStableFunc(known, func(a, b commit) int { return time.Time(b.CommittedDate).Compare(time.Time(a.CommittedDate)) })
			next = nil
		}
		if len(known) == 0 {
			break
		}
		page, known = append(page, known[0]), known[1:]
		for _, id := range page[len(page)-1].ParentIDs {
			if !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
	}
	return page, nil
}

func (r *repository) parse(o object) (c commit, err error) {
	head, message, _ := strings.Cut(string(o.content), "\n\n")
	c = commit{ID: o.id, ShortID: o.id[:8], ParentIDs: []string{}, Message: message, Trailers: map[string]string{}, WebURL: r.web + "/-/commit/" + o.id}
	c.Title, _, _ = strings.Cut(message, "\n")
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "parent":
			c.ParentIDs = append(c.ParentIDs, value)
		case "author":
			c.AuthorName, c.AuthorEmail, c.AuthoredDate, err = signature(value)
		case "committer":
			c.CommitterName, c.CommitterEmail, c.CommittedDate, err = signature(value)
		}
		if err != nil {
			return c, err
		}
	}
	c.CreatedAt = c.CommittedDate
	return c, nil
}

func signature(text string) (name, email string, at zoned, err error) {
	var seconds int64
	var zone string
	name, rest, _ := strings.Cut(text, " <")
	email, when, _ := strings.Cut(rest, "> ")
	if _, err := fmt.Sscanf(when, "%d %s", &seconds, &zone); err != nil {
		return "", "", at, err
	}
	place, err := time.Parse("-0700", zone)
	return name, email, zoned(time.Unix(seconds, 0).In(place.Location())), err
}

// transport runs git http-backend below the folder that the repository is in.
// The repository may also be one beside it.
func (r *repository) transport(w http.ResponseWriter, req *http.Request) {
	if _, token, ok := req.BasicAuth(); ok {
		req.Header.Set("Private-Token", token)
	}
	if !r.authenticate(w, req, sqlToken) {
		return
	}
	handler := cgi.Handler{
		Path: r.backend, Root: "/backend", Dir: "/", Stderr: os.Stderr, InheritEnv: []string{"PATH"},
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bench", "GIT_PROTOCOL=" + req.Header.Get("Git-Protocol"),
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		},
	}
	handler.ServeHTTP(w, req)
}
