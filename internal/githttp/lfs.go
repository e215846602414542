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
func (d *Door) serveLFS(w http.ResponseWriter, r *http.Request, t target) error {
	by, ticket, err := d.authenticateLFS(r)
	if err != nil {
		return err
	}
	httpapi.RecorderOf(r.Context()).SetRoute("/{project}.git/info/lfs", by.Actor)
	service := gitstore.UploadPack
	if d.deps.LargeFiles.Needs(r.Method, "/"+t.rest) == access.PushCode {
		service = gitstore.ReceivePack
	}
	p, _, err := d.look(r.Context(), by, t.path)
	if fault.Is(err, fault.NotFound) {
		if err = errProject; !by.known() {
			err = errUnknown
		}
	}
	if err != nil {
		return err
	}
	v, err := d.visit(r.Context(), by, ticket, p, service)
	if err != nil {
		return err
	}
	v.Rest = t.rest
	d.deps.LargeFiles.ServeHTTP(w, r.WithContext(lfs.Within(r.Context(), v)))
	return nil
}

// visit is what the visitor may do with the files of a project.
func (d *Door) visit(ctx context.Context, by visitor, ticket *lfs.Holder, p *project.Project, service gitstore.Service) (lfs.Visit, error) {
	v := lfs.Visit{Actor: by.Actor, Project: p}
	if ticket != nil {
		if ticket.ProjectID != p.ID || (service == gitstore.ReceivePack && !ticket.Push) {
			return v, errProject
		}
		if ticket.KeyID != 0 {
			// Whether the key is still one of the project was asked with it.
			key, err := d.deps.DeployKeys.Find(ctx, p.ID, ticket.KeyID)
			if err != nil || key.Expired(d.deps.Clock.Now()) {
				return v, errUnknown
			}
			p.Role = max(p.Role, access.Reporter)
			v.Push = key.CanPush && ticket.Push && repository.CheckAccess(by.Actor, p, gitstore.ReceivePack) == nil
			return v, nil
		}
	}
	if err := repository.CheckAccess(by.Actor, p, service); err != nil {
		if !by.known() {
			return v, errUnknown
		}
		return v, err
	}
	v.Push = repository.CheckAccess(by.Actor, p, gitstore.ReceivePack) == nil && (ticket == nil || ticket.Push)
	return v, nil
}

// authenticateLFS is authenticate, and knows tickets.
func (d *Door) authenticateLFS(r *http.Request) (visitor, *lfs.Holder, error) {
	_, secret, _ := r.BasicAuth()
	holder, ok := d.deps.LFS.ReadTicket(secret)
	if !ok {
		v, err := d.authenticate(r)
		return v, nil, err
	}
	kind, from := access.SSHKey, httpapi.RecorderOf(r.Context()).Address
	if holder.KeyID != 0 {
		kind = access.DeployKey
	}
	if holder.UserID == 0 {
		return visitor{Actor: access.Actor{Address: from, Credential: access.Credential{Kind: kind, ID: holder.KeyID}}}, &holder, nil
	}
	u, err := d.deps.Users.Find(r.Context(), holder.UserID)
	if fault.Is(err, fault.NotFound) {
		err = errUnknown
	}
	if err != nil {
		return visitor{}, nil, err
	}
	actor, err := d.deps.Tokens.Admit(u, access.Credential{Kind: kind, ID: holder.KeyID})
	actor.Address = from
	return visitor{Actor: actor}, &holder, err
}
