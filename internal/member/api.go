package member

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
	"stithy/internal/user"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.memberEndpoints(), s.requestEndpoints(), s.invitationEndpoints(), s.shareEndpoints(), []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /users/{id:digits}/memberships", Needs: access.Administer, AfterParams: true,
			Scopes:  []access.Scope{access.ScopeReadUser},
			Summary: "List the groups and projects that someone is a direct member of.",
		}, s.handleMemberships),
		httpapi.Do(httpapi.Spec{
			Route: "GET /users/{id:digits}/associations_count", Needs: access.SignIn, Scopes: []access.Scope{access.ScopeReadUser},
			Summary: "Count what someone belongs to and wrote.", Note: "For the person and administrators.",
		}, s.handleAssociations),
	})
}

var (
	toRead  = owner.Needs{Group: access.ReadGroupMembers, Project: access.ReadProjectMembers}
	toAdmin = owner.Needs{Group: access.AdminGroupMembers, Project: access.AdminProjectMembers}
	toLeave = owner.Needs{Group: access.LeaveGroup, Project: access.LeaveProject}
	toAsk   = owner.Needs{Group: access.AskToJoinGroup, Project: access.AskToJoinProject}
	toShare = owner.Needs{Group: access.ShareGroup, Project: access.ShareProject}
)

// on declares an endpoint below groups and below projects.
func on[P owner.Params, R any](
	s *Service, spec httpapi.Spec, n owner.Needs, handle func(context.Context, httpapi.Call[*Source, P]) (R, error),
) []httpapi.Endpoint {
	return owner.With(s.deps.Owners, spec, n, func(_ context.Context, _ access.Actor, o *owner.Owner, _ P) (*Source, error) {
		return SourceOf(o), nil
	}, handle)
}

func (s *Service) memberEndpoints() []httpapi.Endpoint {
	return slices.Concat(
		on(s, httpapi.Spec{Route: "GET /members", Summary: "List the direct members of a {owner}."}, toRead, s.handleList(false)),
		on(s, httpapi.Spec{
			Route: "GET /members/all", Summary: "List the members of a {owner}, with those from above it and of groups that were let in.",
		}, toRead, s.handleList(true)),
		on(s, httpapi.Spec{Route: "GET /members/{user_id}", Summary: "Show a direct member of a {owner}."}, toRead, s.handleGet(false)),
		on(s, httpapi.Spec{
			Route: "GET /members/all/{user_id}", Summary: "Show a member of a {owner}, however they came to be one.",
		}, toRead, s.handleGet(true)),
		on(s, httpapi.Spec{
			Route: "POST /members", Status: http.StatusCreated, Summary: "Add members to a {owner}.",
			Note: "Several people, separated by commas, are answered with a status.",
		}, toAdmin, s.handleAdd),
		on(s, httpapi.Spec{Route: "PUT /members/{user_id}", Summary: "Change a member of a {owner}."}, toAdmin, s.handleUpdate),
		owner.With(s.deps.Owners, httpapi.Spec{
			Route: "DELETE /members/{user_id}", Limit: "members_delete", Summary: "Remove a member from a {owner}, or leave it.",
			ExtraRefusals: "only who manages the members, or is the member",
		}, toLeave, s.loadMember, s.handleRemove),
	)
}

// memberForm is a member on the wire.
type memberForm struct {
	user.Public
	AccessLevel     access.Role   `json:"access_level"`
	CreatedAt       httpapi.Time  `json:"created_at"`
	CreatedBy       *user.Public  `json:"created_by,omitempty"`
	ExpiresAt       *httpapi.Date `json:"expires_at"`
	MembershipState string        `json:"membership_state"`
}

// outcomeForm tells how several people fared.
type outcomeForm struct {
	Status  string            `json:"status"`
	Message map[string]string `json:"message,omitempty"`
}

// present shows members with their accounts, which it reads all at once.
func (s *Service) present(ctx context.Context, members ...Member) ([]memberForm, error) {
	var ids []int64
	for _, m := range members {
		if ids = append(ids, m.UserID); m.CreatedByID != nil {
			ids = append(ids, *m.CreatedByID)
		}
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	if err != nil {
		return nil, err
	}
	forms := make([]memberForm, len(members))
	for i, m := range members {
		forms[i] = memberForm{
			Public: s.deps.Users.PublicForm(people[m.UserID]), AccessLevel: m.AccessLevel, CreatedAt: httpapi.Time(m.CreatedAt),
			ExpiresAt: httpapi.Day(m.ExpiresAt), MembershipState: "active",
		}
		if m.CreatedByID != nil {
			if by, known := people[*m.CreatedByID]; known {
				forms[i].CreatedBy = new(s.deps.Users.PublicForm(by))
			}
		}
	}
	return forms, nil
}

func (s *Service) presentOne(ctx context.Context, m Member) (memberForm, error) {
	forms, err := s.present(ctx, m)
	if err != nil {
		return memberForm{}, err
	}
	return forms[0], nil
}

type listParams struct {
	owner.Ref
	Query     string  `param:"query" doc:"Only members whose name or username contains this, or who have this address"`
	UserIDs   []int64 `param:"user_ids" split:"comma" doc:"Only these people"`
	SkipUsers []int64 `param:"skip_users" split:"comma" doc:"Not these people"`
	httpapi.Paging
}

func (s *Service) handleList(all bool) func(context.Context, httpapi.Call[*Source, listParams]) (httpapi.List[memberForm], error) {
	return func(ctx context.Context, call httpapi.Call[*Source, listParams]) (httpapi.List[memberForm], error) {
		p := call.Params
		req, err := p.Request()
		if err != nil {
			return httpapi.List[memberForm]{}, err
		}
		f := Filter{All: all, Query: p.Query, UserIDs: p.UserIDs, SkipUsers: p.SkipUsers}
		res, err := s.List(ctx, call.Actor, call.Subject, f, req)
		if err != nil {
			return httpapi.List[memberForm]{}, err
		}
		forms, err := s.present(ctx, res.Items...)
		list := httpapi.List[memberForm]{Request: req}
		list.Items, list.Total, list.More = forms, res.Total, res.More
		return list, err
	}
}

type memberParams struct {
	owner.Ref
	UserID int64 `param:"user_id" doc:"ID of the person"`
}

func (s *Service) handleGet(all bool) func(context.Context, httpapi.Call[*Source, memberParams]) (memberForm, error) {
	return func(ctx context.Context, call httpapi.Call[*Source, memberParams]) (memberForm, error) {
		m, err := s.Find(ctx, call.Actor, call.Subject, call.Params.UserID, all)
		if err != nil {
			return memberForm{}, err
		}
		return s.presentOne(ctx, m)
	}
}

type addParams struct {
	owner.Ref
	UserID      string    `param:"user_id" required:"true" doc:"ID of the person, or several separated by commas"`
	AccessLevel int64     `param:"access_level" required:"true" doc:"10, 20, 30, 40 or 50; 5 in a top-level group"`
	ExpiresAt   time.Time `param:"expires_at" format:"date" doc:"Day from which the membership no longer counts"`
	Source      string    `param:"invite_source" doc:"Taken and not used"`
}

// role keeps a number that no role has from being cut to one.
func role(n int64) access.Role {
	if n < 0 || n > int64(access.Owner) {
		return -1
	}
	return access.Role(n)
}

func optionalDay(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// addReply is the member, or what came of adding several.
type addReply = httpapi.Either[memberForm, outcomeForm]

func (s *Service) handleAdd(ctx context.Context, call httpapi.Call[*Source, addParams]) (reply addReply, _ error) {
	p := call.Params
	terms := Terms{Level: role(p.AccessLevel), ExpiresAt: optionalDay(p.ExpiresAt)}
	add := func(ref string) (Member, error) {
		id, err := strconv.ParseInt(ref, 10, 64)
		if err != nil {
			return Member{}, fault.NotFoundf("User")
		}
		return s.Add(ctx, call.Actor, call.Subject, id, terms)
	}
	if !strings.Contains(p.UserID, ",") {
		m, err := add(p.UserID)
		if err != nil {
			return reply, err
		}
		form, err := s.presentOne(ctx, m)
		return reply.One(form), err
	}
	if err := terms.check(call.Actor, call.Subject, s.today()); err != nil {
		return reply, err
	}
	outcome, err := each(p.UserID, func(ref string) (string, error) {
		_, err := add(ref)
		if err != nil {
			if u, unknown := s.deps.Users.FindByRef(ctx, ref); unknown == nil {
				ref = u.Username
			}
		}
		return ref, err
	})
	return reply.Other(outcome), err
}

// maxAtOnce is how many people one call may add.
const maxAtOnce = 100

// each does something for every part of a list, and tells by name what went
// wrong.
func each(list string, do func(ref string) (name string, err error)) (outcomeForm, error) {
	var refs []string
	for ref := range strings.SplitSeq(list, ",") {
		if ref = strings.TrimSpace(ref); ref != "" && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
		if len(refs) > maxAtOnce {
			return outcomeForm{}, fault.WithMessage(fault.Rejected, "Too many users specified (limit is %d)", maxAtOnce)
		}
	}
	result := outcomeForm{Status: "success"}
	for _, ref := range refs {
		name, err := do(ref)
		if err == nil {
			continue
		}
		said, ok := fault.Of(err)
		if !ok {
			return outcomeForm{}, err
		}
		if result.Message == nil {
			result.Status, result.Message = "error", map[string]string{}
		}
		result.Message[name] = sentence(said)
	}
	return result, nil
}

// sentence says in one line what was refused.
func sentence(e *fault.Error) string {
	if len(e.Fields) == 0 {
		switch e.Kind {
		case fault.Forbidden:
			return "403 Forbidden"
		case fault.NotAllowed:
			return "405 Method Not Allowed"
		}
		return e.Error()
	}
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		label := strings.ReplaceAll(field, "_", " ")
		for _, text := range e.Fields[field] {
			parts = append(parts, strings.ToUpper(label[:1])+label[1:]+" "+text)
		}
	}
	return strings.Join(parts, " and ")
}

type updateParams struct {
	memberParams
	AccessLevel int64                  `param:"access_level" required:"true" doc:"10, 20, 30, 40 or 50; 5 in a top-level group"`
	ExpiresAt   httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day from which the membership no longer counts; empty takes it away"`
}

// expiry is what a parameter says about the day of expiry.
func expiry(o httpapi.Opt[time.Time]) **time.Time {
	if !o.Given {
		return nil
	}
	return new(o.Ptr())
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*Source, updateParams]) (memberForm, error) {
	p := call.Params
	m, err := s.Update(ctx, call.Actor, call.Subject, p.UserID, Changes{Level: new(role(p.AccessLevel)), ExpiresAt: expiry(p.ExpiresAt)})
	if err != nil {
		return memberForm{}, err
	}
	return s.presentOne(ctx, m)
}

// inSource is a membership in its source.
type inSource struct {
	*Source
	Member
}

// ModifiedAt lets a client delete only what it has seen.
func (m inSource) ModifiedAt() time.Time { return m.UpdatedAt }

type removeParams struct {
	memberParams
	SkipSubresources  bool `param:"skip_subresources" doc:"Leave memberships below the group as they are"`
	UnassignIssuables bool `param:"unassign_issuables" doc:"Taken and not used"`
}

func (s *Service) loadMember(ctx context.Context, a access.Actor, o *owner.Owner, p removeParams) (inSource, error) {
	src := SourceOf(o)
	m, err := s.Find(ctx, a, src, p.UserID, false)
	return inSource{src, m}, err
}

func (s *Service) handleRemove(ctx context.Context, call httpapi.Call[inSource, removeParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Remove(ctx, call.Actor, call.Subject.Source, call.Params.UserID, call.Params.SkipSubresources)
}

// membershipForm is a place in a person's list.
type membershipForm struct {
	SourceID    int64  `json:"source_id"`
	SourceName  string `json:"source_name"`
	SourceType  string `json:"source_type"`
	AccessLevel string `json:"access_level"`
}

type membershipsParams struct {
	ID   int64  `param:"id" doc:"ID of the person"`
	Type string `param:"type" enum:"Project,Namespace" doc:"Only memberships of projects, or of groups"`
	httpapi.Paging
}

func (s *Service) handleMemberships(ctx context.Context, call httpapi.Call[httpapi.None, membershipsParams]) (httpapi.List[membershipForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[membershipForm]{}, err
	}
	if _, err := s.deps.Users.Find(ctx, call.Params.ID); err != nil {
		return httpapi.List[membershipForm]{}, err
	}
	res, err := s.OfUser(ctx, call.Params.ID, call.Params.Type, req)
	return httpapi.ListOf(req, res, func(m Membership) membershipForm {
		return membershipForm{
			SourceID: m.SourceID, SourceName: m.SourceName, SourceType: m.SourceType, AccessLevel: strconv.Itoa(int(m.AccessLevel)),
		}
	}), err
}

type associationsParams struct {
	ID int64 `param:"id" doc:"ID of the person"`
}

func (s *Service) handleAssociations(ctx context.Context, call httpapi.Call[httpapi.None, associationsParams]) (Associations, error) {
	id := call.Params.ID
	if _, err := s.deps.Users.Find(ctx, id); err != nil {
		return Associations{}, err
	}
	if id != call.Actor.ID() && !call.Actor.Admin() {
		return Associations{}, fault.New(fault.Forbidden)
	}
	return s.AssociationsOf(ctx, id)
}
