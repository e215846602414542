package githttp

import (
	"context"
	"net/http"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/lfs"
	"stithy/internal/project"
	"stithy/internal/repository"
)

// serveLFS lets a request for large files in: with the credentials of git, or
// with a ticket that was got over SSH.
func (s *Server) serveLFS(w http.ResponseWriter, r *http.Request, t target) error {
	by, ticket, err := s.authenticateLFS(r)
	if err != nil {
		return err
	}
	about := httpapi.RecorderOf(r.Context())
	about.SetRoute("/{project}.git/info/lfs", by.Actor)
	if s.closed() && ticket == nil { // those who came over SSH fetch large files here
		return errClosed
	}
	if id := by.Actor.ID(); id != 0 {
		if rule, active := s.deps.Settings.LargeFileThrottle(); active && s.deps.Throttle.Over(r.Context(), w, rule, id, about.Address) {
			return nil
		}
	}
	service := gitstore.UploadPack
	if s.deps.LargeFiles.Needs(r.Method, "/"+t.rest) == access.PushCode {
		service = gitstore.ReceivePack
	}
	p, err := s.lookLFS(r.Context(), by, ticket, t.path)
	if fault.Is(err, fault.NotFound) {
		if err = errProject; !by.known() {
			err = errUnknown
		}
	}
	if err != nil {
		return err
	}
	v, err := s.requestInfo(r.Context(), by, ticket, p, service)
	if err != nil {
		return err
	}
	v.Rest = t.rest
	s.deps.LargeFiles.ServeHTTP(w, r.WithContext(lfs.WithRequestInfo(r.Context(), v)))
	return nil
}

// lookLFS is look, and shows the project of its ticket to a deploy key that acts for nobody, whoever else may see it.
func (s *Server) lookLFS(ctx context.Context, by caller, ticket *lfs.Holder, path string) (*project.Project, error) {
	if ticket == nil || by.known() {
		p, _, err := s.look(ctx, by, path)
		return p, err
	}
	id, err := s.deps.Projects.IDByPath(ctx, path)
	if err == nil && id != ticket.ProjectID {
		err = errProject
	}
	if err != nil {
		return nil, err
	}
	return s.deps.Projects.Known(ctx, id)
}

// requestInfo is what the caller may do with the large files of a project.
func (s *Server) requestInfo(ctx context.Context, by caller, ticket *lfs.Holder, p *project.Project, service gitstore.Service) (lfs.RequestInfo, error) {
	v := lfs.RequestInfo{Actor: by.Actor, Project: p}
	writes := true
	if ticket != nil {
		if ticket.ProjectID != p.ID || (service == gitstore.ReceivePack && !ticket.Push) {
			return v, errProject
		}
		if writes = ticket.Push; ticket.KeyID != 0 {
			key, err := s.deps.DeployKeys.Find(ctx, p.ID, ticket.KeyID)
			if fault.Is(err, fault.NotFound) || err == nil && key.Expired(s.deps.Clock.Now()) {
				err = errUnknown
			}
			if err != nil {
				return v, err
			}
			p.Role = max(p.Role, access.Reporter)
			writes = writes && key.CanPush
		}
	}
	if err := repository.CheckAccess(by.Actor, p, service); err != nil {
		if !by.known() && ticket == nil {
			return v, errUnknown
		}
		return v, err
	}
	v.Push = writes && repository.CheckAccess(by.Actor, p, gitstore.ReceivePack) == nil
	return v, nil
}

// authenticateLFS is authenticate, and knows tickets.
func (s *Server) authenticateLFS(r *http.Request) (caller, *lfs.Holder, error) {
	_, secret, _ := r.BasicAuth()
	holder, ok := s.deps.LFS.ReadTicket(secret)
	if !ok {
		v, err := s.authenticate(r)
		return v, nil, err
	}
	kind, from := access.SSHKey, httpapi.RecorderOf(r.Context()).Address
	if holder.KeyID != 0 {
		kind = access.DeployKey
	}
	if holder.UserID == 0 {
		return caller{Actor: access.Actor{Address: from, Credential: access.Credential{Kind: kind, ID: holder.KeyID}}}, &holder, nil
	}
	u, err := s.deps.Users.Find(r.Context(), holder.UserID)
	if fault.Is(err, fault.NotFound) {
		err = errUnknown
	}
	if err != nil {
		return caller{}, nil, err
	}
	actor, err := s.deps.Tokens.Admit(u, access.Credential{Kind: kind, ID: holder.KeyID})
	actor.Address = from
	return caller{Actor: actor}, &holder, err
}
