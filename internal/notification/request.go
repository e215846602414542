package notification

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/member"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
)

// mostApprovers is how many people are told of an access request.
const mostApprovers = 10

// OnRequest leaves mails about an access request: to some who decide about it, or to who asked. What several ask for within a minute is one mail.
func (s *Service) OnRequest(ctx context.Context, tx pgx.Tx, e member.Request) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	h := &happening{Event: string(e.Action), HappenedAt: e.At}
	if e.By.SignedIn() {
		h.ByID = new(e.By.ID())
	}
	of, approvers, role := ofGroupAccess, sqlApproversOfGroup, access.Owner
	if e.Source.Kind == bus.OfProject {
		of, approvers, role, h.ProjectID = ofProjectAccess, sqlApproversOfProject, access.Maintainer, e.Source.ID
	}
	to := []candidate{{UserID: e.UserID, Participates: true}}
	if e.Action == member.Asked {
		ids, err := postgres.Values[int64](ctx, tx, approvers, e.Source.ID, s.today(), role, mostApprovers)
		if err != nil {
			return err
		}
		to = to[:0]
		for _, id := range sorted(ids) {
			to = append(to, candidate{UserID: id, Participates: true})
		}
	}
	var options []jobqueue.Option
	if e.Action == member.Asked {
		options = append(options, jobqueue.At(s.deps.Clock.Now().Add(window)))
	}
	return s.put(ctx, tx, of, e.Source.ID, h, to, nil, options...)
}

// place is a group or project as a reader stands in it.
type place struct {
	noun, name, path string
	role             access.Role
	decides          bool
}

func (s *Service) place(ctx context.Context, r *reader, m *mailing) (place, error) {
	if m.Thread == ofProjectAccess {
		p, err := s.deps.Projects.Find(ctx, r.Actor, m.ThreadID)
		if err != nil {
			return place{}, err
		}
		return place{"project", p.Name, p.FullPath(), p.Role, access.Holds(r.Actor, access.AdminProjectMembers, p.Target())}, nil
	}
	g, err := s.deps.Groups.Find(ctx, r.Actor, m.ThreadID)
	if err != nil {
		return place{}, err
	}
	return place{"group", g.Name, g.FullPath, g.Role, access.Holds(r.Actor, access.AdminGroupMembers, g.Target())}, nil
}

func (s *Service) aboutAccess(ctx context.Context, r *reader, m *mailing, items []item) (*letter, error) {
	p, err := s.place(ctx, r, m)
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, items)
	if err != nil {
		return nil, err
	}
	at := s.base() + "/" + p.path
	l := &letter{Project: p.path, ProjectURL: at, Title: p.path, URL: at, subject: p.name + " | Access to the " + p.noun}
	asks := sqlAsksGroup
	if m.Thread == ofProjectAccess {
		asks = sqlAsksProject
		l.fields = append(l.fields, mail.Field{Name: s.deps.Names.Header("Project-Id"), Value: strconv.FormatInt(m.ThreadID, 10)})
	}
	told := map[string]bool{}
	for _, it := range items {
		sec := section{URL: at}
		switch it.Event {
		case string(member.Asked):
			if it.ByID == nil || !p.decides {
				continue
			}
			waits, err := postgres.Value[bool](ctx, s.deps.DB, asks, m.ThreadID, *it.ByID)
			if err != nil {
				return nil, err
			}
			if !waits {
				continue // taken back, or decided by somebody else
			}
			sec.Head = fmt.Sprintf("%s asks for access to this %s.", names[*it.ByID].full(), p.noun)
			l.Reason = "you decide who is a member of this " + p.noun
		case string(member.Granted):
			if p.role == access.NoRole {
				continue
			}
			sec.Head = fmt.Sprintf("Your request for access to this %s was granted. Your role is %s.", p.noun, p.role)
			l.Reason = "you asked for access"
		case string(member.Denied):
			if p.role > access.NoRole {
				continue
			}
			sec.Head = fmt.Sprintf("Your request for access to this %s was declined.", p.noun)
			l.Reason = "you asked for access"
		}
		if sec.Head != "" && !told[sec.Head] {
			told[sec.Head] = true
			l.Sections = append(l.Sections, sec)
		}
	}
	if len(l.Sections) == 0 {
		return nil, nil
	}
	return l, nil
}

// day is a date as mails spell it.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
