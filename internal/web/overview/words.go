package overview

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"stithy/internal/event"
	"stithy/internal/project"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
	"stithy/internal/wiki"
)

// word is a part of a sentence.
type word struct {
	Text string
	URL  page.URL // empty: it leads nowhere
	Code bool     // it is a name in a repository
}

// sentence puts words together for those who see no links.
func sentence(words []word) string {
	var all strings.Builder
	for n, w := range words {
		if n > 0 {
			all.WriteByte(' ')
		}
		all.WriteString(w.Text)
	}
	return all.String()
}

// words say what somebody did, after their name.
func (a activity) words(k *page.Kit, e *event.Shown) []word {
	words := deed(k, e)
	if !a.alone {
		words = append(words, word{Text: "in"}, word{Text: e.Project.FullPath(), URL: k.Link("/" + e.Project.FullPath())})
	}
	return words
}

func deed(k *page.Kit, e *event.Shown) []word {
	switch {
	case e.Action == event.Pushed:
		return pushed(e)
	case e.Note != nil:
		return append([]word{{Text: "commented on"}}, commented(k, e)...)
	}
	switch e.TargetType {
	case event.OfIssue:
		return []word{{Text: did(e) + " issue"}, issueWord(k, e.In, *e.TargetIID, *e.TargetTitle)}
	case event.OfMilestone:
		title := word{Text: "that is gone"}
		if e.TargetTitle != nil {
			title.Text = *e.TargetTitle
		}
		if e.In != nil {
			title.URL = k.Link(below(e.In, "milestones/"+strconv.FormatInt(*e.TargetIID, 10)))
		}
		return []word{{Text: did(e) + " milestone"}, title}
	case event.OfWikiPage:
		title := word{Text: e.Title}
		if e.In != nil {
			title.URL = k.Link(below(e.In, "wikis/"+wiki.Escaped(e.Ref)))
		}
		return []word{{Text: did(e) + " wiki page"}, title}
	}
	if e.Imported {
		return []word{{Text: "imported the project"}}
	}
	return []word{{Text: about[e.Action] + " the project"}}
}

// about are words for what is done to a project, or to a membership in it.
var about = map[event.Action]string{
	event.Created: "created", event.Joined: "joined", event.Left: "left", event.Expired: "ceased to be a member of",
}

// did is what somebody did to a thing.
func did(e *event.Shown) string {
	switch {
	case e.Action == event.Destroyed:
		return "deleted"
	case e.Action == event.Created && e.TargetType != event.OfWikiPage:
		return "opened"
	}
	return string(e.Action)
}

// Words for a push that moved many refs alike.
var (
	many = map[string]string{"created": "pushed", "pushed": "pushed to", "removed": "deleted"}
	refs = map[string]string{"branch": "branches", "tag": "tags"}
)

func pushed(e *event.Shown) []word {
	if e.RefCount != nil {
		return []word{{Text: many[e.PushAction] + " " + strconv.Itoa(*e.RefCount) + " " + refs[e.RefType]}}
	}
	name := word{Text: e.Ref, Code: true}
	switch {
	case e.PushAction == "removed":
		return []word{{Text: "deleted " + e.RefType}, name}
	case e.PushAction == "created":
		return []word{{Text: "pushed the new " + e.RefType}, name}
	case e.CommitCount == 1:
		return []word{{Text: "pushed 1 commit to"}, name}
	case e.CommitCount > 1:
		return []word{{Text: "pushed " + strconv.Itoa(e.CommitCount) + " commits to"}, name}
	}
	return []word{{Text: "pushed to"}, name}
}

func commented(k *page.Kit, e *event.Shown) []word {
	n := e.Note
	switch {
	case n.IssueID != nil:
		issue := issueWord(k, e.In, *n.AboutIID, *e.TargetTitle)
		issue.URL += page.URL(fmt.Sprintf("?note=%d#note_%d", n.ID, n.ID)) // the part of what is said that holds it
		return []word{{Text: "issue"}, issue}
	case n.SnippetID != nil:
		return []word{{Text: "snippet"}, {Text: *e.TargetTitle, URL: k.Link(below(e.In, "snippets/"+strconv.FormatInt(*n.SnippetID, 10)))}}
	}
	return []word{{Text: "commit"}, {Text: short(n.CommitSHA), Code: true}}
}

func issueWord(k *page.Kit, in *project.Project, iid int64, title string) word {
	number := strconv.FormatInt(iid, 10)
	return word{Text: "#" + number + " " + title, URL: k.Link(below(in, "issues/"+number))}
}

func below(p *project.Project, what string) string { return "/" + p.FullPath() + "/-/" + what }

// short is as much of the id of a commit as people read.
func short(sha []byte) string { return hex.EncodeToString(sha[:min(len(sha), 4)]) }

// maxDetail is how much of a comment is shown.
const maxDetail = 200

// detailOf is what somebody wrote.
func detailOf(e *event.Shown) string {
	text := ""
	switch {
	case e.Note != nil:
		text = e.Note.Body
	case e.Action == event.Pushed:
		text = e.Title
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxDetail {
		return string(r[:maxDetail]) + "…"
	}
	return text
}

// iconOf is what an event is drawn as.
func iconOf(e *event.Shown) ui.IconPath {
	switch {
	case e.Action == event.Pushed && e.RefType == "tag":
		return ui.IconTag
	case e.Action == event.Pushed:
		return ui.IconCommit
	case e.Note != nil:
		return ui.IconComment
	case e.TargetType == event.OfIssue && e.Action == event.Closed:
		return ui.IconClosed
	case e.TargetType == event.OfIssue:
		return ui.IconIssue
	case e.TargetType == event.OfMilestone:
		return ui.IconMilestone
	case e.TargetType == event.OfWikiPage:
		return ui.IconBook
	case e.Action == event.Created:
		return ui.IconPlus
	}
	return ui.IconUser
}
