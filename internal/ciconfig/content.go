package ciconfig

// content writes the include list of a child pipeline.
func (t *Trigger) content() []byte {
	var items []*node
	for _, i := range t.Include {
		var entries []entry
		put := func(key string, v any, written bool) {
			if written {
				entries = append(entries, entry{key: key, value: nodeOf(v)})
			}
		}
		put("local", i.Local, i.Local != "")
		put("project", i.Project, i.Project != "")
		put("ref", i.Ref, i.Ref != "")
		put("file", i.File, len(i.File) > 0)
		put("template", i.Template, i.Template != "")
		put("remote", i.Remote, i.Remote != "")
		put("component", i.Component, i.Component != "")
		put("artifact", i.Artifact, i.Artifact != "")
		put("job", i.Job, i.Job != "")
		put("inputs", i.Inputs, len(i.Inputs) > 0)
		items = append(items, newHash(pos{}, entries...))
	}
	return render(newHash(pos{}, entry{key: "include", value: newList(pos{}, items...)}))
}
