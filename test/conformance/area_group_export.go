package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// exported is a group with a subgroup and members, and its export archive.
type exported struct {
	g       Group
	sub     Group
	archive []byte
	made    map[string]int // status of the creation of each groupContent
}

// groupContent is a kind of group content that an export carries.
type groupContent struct {
	kind, field string
	body        func(t *T) M
}

func (c groupContent) value(t *T) string { return str(c.body(t), c.field) }

var groupContents = []groupContent{
	{"milestones", "title", func(t *T) M { return M{"title": "stone " + t.sfx} }},
	{"labels", "name", func(t *T) M { return M{"name": "label " + t.sfx, "color": "#FF0000"} }},
	{"boards", "name", func(t *T) M { return M{"name": "board " + t.sfx} }},
	{"badges", "link_url", func(t *T) M {
		return M{"name": "badge " + t.sfx, "link_url": "https://link.example.org/" + t.sfx, "image_url": "https://image.example.org/" + t.sfx}
	}},
	{"wikis", "title", func(t *T) M { return M{"title": "wiki " + t.sfx, "content": "text " + t.sfx} }},
}

// exporters own every exported group. There are several of them because a
// server may limit downloads to one per minute, user and group.
func (t *T) exporters() []User {
	return memo(t, "owners of exported groups", func(t *T) []User {
		var out []User
		for range 7 {
			out = append(out, t.newUser("exporter", nil))
		}
		return out
	})
}

// download schedules an export and waits some 15 s for its archive; every
// exporter asks once.
func (t *T) download(g Group) []byte {
	users := t.exporters()
	t.post(users[0].Token, g.path("/export"), nil).ok(202)
	var last *Resp
	wait := 250 * time.Millisecond
	for _, u := range users {
		select {
		case <-t.client.ctx.Done():
		case <-time.After(wait):
		}
		wait = min(wait*2, 6*time.Second)
		if last = t.get(u.Token, g.path("/export/download")).ok(200, 404, 429); last.status == 200 {
			return last.body
		}
	}
	t.fail("200 of the download within 15 s", last.brief())
	return nil
}

// exportGroup makes a group that all exporters own.
func (t *T) exportGroup(visibility string) Group {
	users := t.exporters()
	g := t.newGroup(users[0].Token, "exp", M{"visibility": visibility})
	for _, u := range users[1:] {
		t.addMember(users[0].Token, "groups", g.ID, u.ID, 50)
	}
	return g
}

func (t *T) export() exported {
	return memo(t, "group export", func(t *T) exported {
		e := exported{g: t.exportGroup("public"), made: map[string]int{}}
		tok := t.exporters()[0].Token
		e.sub = t.newGroup(tok, "inner", M{"parent_id": e.g.ID})
		t.addMember(tok, "groups", e.g.ID, t.user("dev").ID, 30)
		for _, c := range groupContents {
			e.made[c.kind] = t.post(tok, e.g.path("/%s", c.kind), c.body(t)).status
		}
		e.archive = t.download(e.g)
		return e
	})
}

// privateExport is the archive of a private group.
func (t *T) privateExport() []byte {
	return memo(t, "export of a private group", func(t *T) []byte { return t.download(t.exportGroup("private")) })
}

// entries reads the archive: names and all content.
func (t *T) entries(archive []byte) (names []string, text string) {
	g, err := gzip.NewReader(bytes.NewReader(archive))
	t.check(err == nil, "a gzip stream", "%v", err)
	r := tar.NewReader(io.LimitReader(g, 64<<20))
	var all strings.Builder
	for {
		h, err := r.Next()
		if err == io.EOF {
			return names, all.String()
		}
		t.check(err == nil, "a tar", "%v", err)
		names = append(names, h.Name)
		_, err = io.Copy(&all, r)
		t.check(err == nil, "a readable entry "+h.Name, "%v", err)
	}
}

func importForm(name, path string, archive []byte) *multi {
	return &multi{fields: map[string]string{"name": name, "path": path}, files: map[string]filePart{"file": {"export.tar.gz", archive}}}
}

// importGroup posts an archive, below a parent if one is given, and returns
// the new group once it is readable.
func (t *T) importGroup(token string, archive []byte, parent *Group) M {
	path := t.unique("imp")
	form, full := importForm("Name of "+path, path, archive), path
	if parent != nil {
		form.fields["parent_id"] = strconv.Itoa(parent.ID)
		full = parent.Path + "/" + path
	}
	t.post(token, "/groups/import", form).ok()
	var last *Resp
	found := t.poll(20*time.Second, func() bool {
		last = t.get(token, "/groups/"+enc(full))
		return last.status == 200
	})
	t.check(found, "the imported group "+full+" within 20 s", "%s", last.brief())
	m := last.obj()
	t.eq("path", m["path"], path)
	t.eq("name", m["name"], "Name of "+path)
	return m
}

// imported is the exported group, imported by the shared owner.
func (t *T) imported() M {
	return memo(t, "imported group", func(t *T) M { return t.importGroup(t.user("owner").Token, t.export().archive, nil) })
}

// awaitList polls a list of the imported group for up to 15 s until an element
// has the member.
func (t *T) awaitList(path, key, want string) M {
	var last *Resp
	var found M
	t.poll(15*time.Second, func() bool {
		if last = t.get(t.user("owner").Token, path); last.status == 200 {
			found = pick(last.arr(), key, want)
		}
		return found != nil
	})
	t.check(found != nil, fmt.Sprintf("an element with %s %q within 15 s", key, want), "%s", last.brief())
	return found
}

func (t *T) publicParent() Group {
	return memo(t, "public parent group", func(t *T) Group { return t.newGroup(t.user("owner").Token, "parent", M{"visibility": "public"}) })
}

func areaGroupExport() Area {
	a := &areaTable{prefix: "GEXP"}
	owner := func(t *T) string { return t.user("owner").Token }

	a.add("POST /groups/:id/export: 202 with {message: '202 Accepted'}", "status and message", func(t *T) {
		tok := t.exporter()
		g := t.newGroup(tok, "exq", nil)
		t.post(tok, g.path("/export"), nil).ok(202).message("202 Accepted")
	})
	a.add("Download before any export: 404", "fresh group", func(t *T) {
		t.export() // a download works once exported
		g := t.newGroup(owner(t), "exn", nil)
		t.get(owner(t), g.path("/export/download")).ok(404)
	})
	a.add("Download gives the archive when ready, 404 before", "poll until 200; body not empty", func(t *T) {
		t.check(len(t.export().archive) > 0, "an archive", "empty body")
	})
	a.add("The export is an archive", "a readable gzip tar with at least one entry", func(t *T) {
		names, _ := t.entries(t.export().archive)
		t.check(len(names) > 0, "at least one entry", "none")
	})
	a.add("Export of an unknown group is not found", "404", func(t *T) {
		t.export()
		t.post(owner(t), "/groups/987654321/export", nil).ok(404)
	})
	a.add("Export accepts the URL-encoded group path", "POST /groups/<path>/export: 202", func(t *T) {
		tok := t.exporter()
		g := t.newGroup(tok, "exe", nil)
		t.post(tok, "/groups/"+enc(g.Path)+"/export", nil).ok(202)
	})
	a.add("Export needs a sufficient role", "Developer of the group: 403; anonymous: 401 or 403", func(t *T) {
		t.post(t.user("dev").Token, t.group().path("/export"), nil).ok(403)
		t.post("", t.group().path("/export"), nil).ok(401, 403)
	})
	for _, name := range []string{"name", "path", "file"} {
		a.add("POST /groups/import: "+name+" is required", "400 without it", func(t *T) {
			n := t.unique("imr")
			m := importForm(n, n, t.export().archive)
			delete(m.fields, name)
			delete(m.files, name)
			t.post(t.user("plain").Token, "/groups/import", m).ok(400)
		})
	}
	a.add("POST /groups/import creates the group", "2xx; the group is readable with its name and path", func(t *T) {
		t.shape(t.imported(), "id int, name str, path str")
	})
	a.add("Imported groups are private", "visibility of the imported group (the source is public)", func(t *T) {
		t.eq("visibility", t.imported()["visibility"], "private")
	})
	a.add("parent_id puts the group below a parent", "parent_id of the imported group", func(t *T) { t.eq("parent_id", t.importedChild()["parent_id"], t.publicParent().ID) })
	a.add("Groups imported into a parent inherit its visibility", "public parent: public", func(t *T) { t.eq("visibility", t.importedChild()["visibility"], "public") })
	a.add("An export contains subgroups", "the imported group gets the subgroup, with its path, within 15 s", func(t *T) {
		inner := t.export().sub.Path
		t.awaitList(fmt.Sprintf("/groups/%d/subgroups", num(t.imported(), "id")), "path", inner[strings.LastIndex(inner, "/")+1:])
	})
	a.add("Import needs authentication", "anonymous: 401 or 403", func(t *T) {
		n := t.unique("ima")
		t.post("", "/groups/import", importForm(n, n, []byte("x"))).ok(401, 403)
	})

	// Later rules
	for _, c := range groupContents {
		a.add("An export contains group "+c.kind, "POST /groups/:id/"+c.kind+" before the export: the imported group lists it within 15 s (a server without that route, 403, 404 or 405, has nothing to carry and passes)", func(t *T) {
			if status := t.export().made[c.kind]; status != 201 {
				t.check(status == 403 || status == 404 || status == 405, "201, or no such route", "POST /groups/:id/%s -> %d", c.kind, status)
				return
			}
			t.awaitList(fmt.Sprintf("/groups/%d/%s?per_page=100", num(t.imported(), "id"), c.kind), c.field, c.value(t))
		})
	}
	a.add("An export contains members", "the archive names the Developer member (username or address)", func(t *T) {
		_, text := t.entries(t.export().archive)
		u := t.user("dev")
		t.check(strings.Contains(text, u.Username) || strings.Contains(text, u.Email), "the member "+u.Username+" in the archive", "not named in %d bytes", len(text))
	})
	a.add("An export holds no password and no token of a member", "the archive's text has neither", func(t *T) {
		names, text := t.entries(t.export().archive)
		t.check(len(names) > 0, "an archive with entries", "none")
		for _, u := range append([]User{t.user("dev")}, t.exporters()...) {
			t.check(!strings.Contains(text, u.Token) && !strings.Contains(text, u.Password), "no secret of "+u.Username, "it is in the archive")
		}
	})
	a.add("Download needs a sufficient role", "Developer of the exported group: 403; anonymous: 401 or 403", func(t *T) {
		e := t.export()
		t.get(t.user("dev").Token, e.g.path("/export/download")).ok(403)
		t.get("", e.g.path("/export/download")).ok(401, 403)
	})
	a.add("Someone who is no member may not export a public group", "POST export and GET download: 403 or 404", func(t *T) {
		e := t.export()
		t.post(t.user("stranger").Token, e.g.path("/export"), nil).ok(403, 404)
		t.get(t.user("stranger").Token, e.g.path("/export/download")).ok(403, 404)
	})
	a.add("A private group is not found by a stranger", "POST export and GET download: 404", func(t *T) {
		tok := t.exporter()
		g := t.newGroup(tok, "exv", M{"visibility": "private"})
		t.post(t.user("stranger").Token, g.path("/export"), nil).ok(404)
		t.get(t.user("stranger").Token, g.path("/export/download")).ok(404)
		t.post(tok, g.path("/export"), nil).ok(202)
	})
	a.add("Download of an unknown group is not found", "404", func(t *T) {
		t.export()
		t.get(t.exporter(), "/groups/987654321/export/download").ok(404)
	})
	a.add("Download accepts the URL-encoded group path", "GET /groups/<path>/export/download by another owner: 200 with an archive", func(t *T) {
		e, u := t.export(), t.newUser("exlate", nil)
		t.addMember(t.exporters()[0].Token, "groups", e.g.ID, u.ID, 50)
		names, _ := t.entries(t.get(u.Token, "/groups/"+enc(e.g.Path)+"/export/download").ok(200).body)
		t.check(len(names) > 0, "an archive with entries", "none")
	})
	a.add("Subgroups of an imported group are private too", "visibility of the imported subgroup (the source is public)", func(t *T) {
		inner := t.export().sub.Path
		m := t.awaitList(fmt.Sprintf("/groups/%d/subgroups", num(t.imported(), "id")), "path", inner[strings.LastIndex(inner, "/")+1:])
		t.eq("visibility", m["visibility"], "private")
	})
	a.add("An imported group is seen by its importer, not by strangers", "GET by the importer 200, by a stranger and anonymously 404", func(t *T) {
		path := fmt.Sprintf("/groups/%d", num(t.imported(), "id"))
		t.get(owner(t), path).ok(200)
		t.get(t.user("stranger").Token, path).ok(404)
		t.get("", path).ok(404)
	})
	a.add("A private group imported into a public parent inherits the parent's visibility", "public", func(t *T) {
		parent := t.publicParent()
		t.eq("visibility", t.importGroup(owner(t), t.privateExport(), &parent)["visibility"], "public")
	})
	a.add("A public group imported into a private parent inherits the parent's visibility", "private", func(t *T) {
		parent := t.newGroup(owner(t), "privpar", M{"visibility": "private"})
		t.eq("visibility", t.importGroup(owner(t), t.export().archive, &parent)["visibility"], "private")
	})
	a.add("parent_id must name a group", "an unknown one: 400 or 404; no group made", func(t *T) {
		n := t.unique("imu")
		m := importForm(n, n, t.export().archive)
		m.fields["parent_id"] = "987654321"
		t.post(t.user("plain").Token, "/groups/import", m).ok(400, 404)
		t.get(t.user("plain").Token, "/groups/"+n).ok(404)
	})
	a.add("parent_id is an integer", "abc: 400", func(t *T) {
		n := t.unique("imi")
		m := importForm(n, n, t.export().archive)
		m.fields["parent_id"] = "abc"
		t.post(t.user("plain").Token, "/groups/import", m).ok(400)
	})
	a.add("Importing below a group needs a role there", "a stranger into the public parent: 403 or 404", func(t *T) {
		n := t.unique("imf")
		m := importForm(n, n, t.export().archive)
		m.fields["parent_id"] = strconv.Itoa(t.publicParent().ID)
		t.post(t.user("stranger").Token, "/groups/import", m).ok(403, 404)
	})
	a.add("The path of an imported group must be free", "the path of an existing group: 400, 409 or 422", func(t *T) {
		t.post(t.user("stranger").Token, "/groups/import", importForm(t.unique("imt"), t.group().Path, t.export().archive)).ok(400, 409, 422)
	})
	a.add("file is an uploaded file", "JSON body with a text in file: 4xx", func(t *T) {
		n := t.unique("imj")
		t.export()
		t.post(t.user("stranger").Token, "/groups/import", M{"name": n, "path": n, "file": "text"}).refused()
		t.get(t.user("stranger").Token, "/groups/"+n).ok(404)
	})
	return Area{"group_export", a.rules}
}

// exporter is the token of a fresh account: a server may limit exports per
// minute and user.
func (t *T) exporter() string { return t.newUser("exo", nil).Token }

func (t *T) importedChild() M {
	return memo(t, "imported subgroup", func(t *T) M {
		parent := t.publicParent()
		return t.importGroup(t.user("owner").Token, t.export().archive, &parent)
	})
}
