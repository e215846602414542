package markdown

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/markdown"
	"stithy/internal/project"
)

// planned is a reference to an issue, label or milestone of a project that the reader sees. They are looked up together.
type planned struct {
	at      int // in the text
	project *project.Project
	markdown.Reference
}

// plan notes a reference to look up, unless there are too many of its kind.
func (l *lookup) plan(ctx context.Context, at int, r markdown.Reference) error {
	p, err := l.find(ctx, r.Path)
	if p == nil || err != nil {
		return err
	}
	if len(l.of(r.Kind)) < maxPlanned {
		l.planned = append(l.planned, planned{at, p, r})
	}
	return nil
}

func (l *lookup) of(kind markdown.Kind) []planned {
	return slices.DeleteFunc(slices.Clone(l.planned), func(r planned) bool { return r.Kind != kind })
}

// link puts in what was noted.
func (l *lookup) link(ctx context.Context, links []*markdown.Link) error {
	if err := l.issues(ctx, links); err != nil {
		return err
	}
	if err := l.each(markdown.Label, func(p *project.Project, refs []planned) error { return l.labels(ctx, p, refs, links) }); err != nil {
		return err
	}
	return l.each(markdown.Milestone, func(p *project.Project, refs []planned) error { return l.milestones(ctx, p, refs, links) })
}

// suffix says of which project something is, where that is another one than the text's.
func (r planned) suffix() string {
	if r.Path == "" {
		return ""
	}
	return " in " + r.project.FullPath()
}

// issues are those that the reader may read.
func (l *lookup) issues(ctx context.Context, links []*markdown.Link) error {
	refs := l.of(markdown.Issue)
	numbers := make([]issue.Number, 0, len(refs))
	for _, r := range refs {
		iid, err := strconv.ParseInt(r.Name, 10, 32)
		if err != nil {
			iid = 0 // no issue has it
		}
		numbers = append(numbers, issue.Number{Project: r.project, IID: int(iid)})
	}
	if len(numbers) == 0 {
		return nil
	}
	found, err := l.deps.Issues.Referred(ctx, l.Reader, numbers)
	if err != nil {
		return err
	}
	for n, r := range refs {
		if i := found[n]; i != nil {
			links[r.at] = &markdown.Link{
				URL: l.base + "/" + r.project.FullPath() + "/-/issues/" + r.Name, Text: issueText(r, i), Title: i.Title,
			}
		}
	}
	return nil
}

// issueText is how an issue is named: by its number, or where that is asked for by its title, too.
func issueText(r planned, i *issue.Issue) string {
	text := "#" + r.Name
	if r.Path != "" {
		text = r.project.FullPath() + text
	}
	if i.Closed {
		text += " (closed)"
	}
	if r.Show != "" {
		text = i.Title + " (" + text + ")"
	}
	return text
}

// each calls do with the references of a kind in each project where the reader may see what issues are sorted by.
func (l *lookup) each(kind markdown.Kind, do func(*project.Project, []planned) error) error {
	refs := l.of(kind)
	for len(refs) > 0 {
		p := refs[0].project
		of := func(r planned) bool { return r.project.ID == p.ID }
		here := slices.DeleteFunc(slices.Clone(refs), func(r planned) bool { return !of(r) })
		refs = slices.DeleteFunc(refs, of)
		// Who reads issues reads what they are sorted by on each of them.
		if !access.Holds(l.Reader, access.ReadProjectLabels, p.Target()) && !access.Holds(l.Reader, access.ReadIssues, p.Target()) {
			continue
		}
		if err := do(p, here); err != nil {
			return err
		}
	}
	return nil
}

func names(refs []planned) []string {
	all := make([]string, len(refs))
	for n, r := range refs {
		all[n] = r.Name
	}
	return all
}

func (l *lookup) labels(ctx context.Context, p *project.Project, refs []planned, links []*markdown.Link) error {
	found, err := l.deps.Labels.Referred(ctx, p.Entity(), names(refs))
	if err != nil {
		return err
	}
	for _, r := range refs {
		if label, known := found[r.Name]; known {
			title := ""
			if label.Description != nil {
				title = *label.Description
			}
			links[r.at] = &markdown.Link{
				URL: l.base + "/" + p.FullPath() + "/-/issues?label_name[]=" + url.QueryEscape(label.Name), Text: label.Name + r.suffix(), Title: title,
			}
		}
	}
	return nil
}

func (l *lookup) milestones(ctx context.Context, p *project.Project, refs []planned, links []*markdown.Link) error {
	found, err := l.deps.Milestones.Referred(ctx, p.Entity(), names(refs))
	if err != nil {
		return err
	}
	var ids []int64
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	forms, err := l.deps.Milestones.Forms(ctx, ids, func(int64) string { return p.FullPath() })
	if err != nil {
		return err
	}
	for _, r := range refs {
		if m, known := found[r.Name]; known {
			links[r.at] = &markdown.Link{URL: forms[m.ID].WebURL, Text: "%" + m.Title + r.suffix()}
		}
	}
	return nil
}
