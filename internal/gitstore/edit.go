package gitstore

import (
	"slices"
	"strings"
)

// editor changes trees in memory. Directories are read when a change leads into them.
type editor struct {
	read    func(OID) ([]Entry, error)
	root    directory
	objects []object // to be written, in an order in which nothing comes before what it needs
}

type directory struct {
	id      OID              // "" when something in it changed
	entries map[string]*item // nil when it was not read
}

type item struct {
	mode Mode
	id   OID
	dir  *directory // of a directory that was looked into
}

// apply makes one change, or none when it is wrong.
func (e *editor) apply(c Change) error {
	if err := CheckPath(c.Path); err != nil {
		return &PathError{Path: c.Path, Err: err}
	}
	if c.From == c.Path {
		c.From = ""
	}
	old, err := e.find(c.Path)
	if err != nil {
		return err
	}
	switch {
	case c.Delete:
		if err := mustBeFile(c.Path, old); err != nil {
			return err
		}
		e.remove(c.Path)
		return nil
	case c.From != "":
		if err := CheckPath(c.From); err != nil {
			return &PathError{Path: c.From, Err: err}
		}
		if err := mustBeFree(c.Path, old); err != nil {
			return err
		}
		if old, err = e.find(c.From); err != nil {
			return err
		}
		if err := mustBeFile(c.From, old); err != nil {
			return err
		}
	case c.Create:
		if err := mustBeFree(c.Path, old); err != nil {
			return err
		}
		old = &item{mode: FileMode}
		if c.Content == nil {
			c.Content = []byte{}
		}
	default:
		if err := mustBeFile(c.Path, old); err != nil {
			return err
		}
	}
	changed, err := e.change(*old, c)
	if err != nil {
		return err
	}
	if c.From != "" {
		e.remove(c.From)
	}
	return e.set(c.Path, changed)
}

// change is the file with its new content and mode. What is no plain file has none of its own: writing to a link
// would look like writing to what it points to.
func (e *editor) change(f item, c Change) (*item, error) {
	plain := f.mode.Kind() == BlobKind && f.mode != LinkMode
	if !plain && (c.Content != nil || c.Blob != "" || c.Exec != nil) {
		return nil, &PathError{Path: c.Path, Err: ErrInvalid}
	}
	switch {
	case c.Blob != "":
		f.id = c.Blob
	case c.Content != nil:
		blob := newObject(BlobKind, c.Content)
		e.objects = append(e.objects, blob)
		f.id = blob.id
	}
	if c.Exec != nil {
		f.mode = FileMode
		if *c.Exec {
			f.mode = ExecMode
		}
	}
	return &f, nil
}

func mustBeFree(path string, there *item) error {
	if there == nil {
		return nil
	}
	return &PathError{Path: path, Dir: there.mode == DirMode, Err: ErrConflict}
}

func mustBeFile(path string, there *item) error {
	switch {
	case there == nil:
		return &PathError{Path: path, Err: ErrNotFound}
	case there.mode == DirMode:
		return &PathError{Path: path, Dir: true, Err: ErrNotFound}
	}
	return nil
}

// open reads the entries of a directory, once.
func (e *editor) open(d *directory) error {
	if d.entries != nil {
		return nil
	}
	d.entries = map[string]*item{}
	if d.id == "" || d.id == EmptyTree {
		return nil
	}
	entries, err := e.read(d.id)
	if err != nil {
		d.entries = nil
		return err
	}
	for _, entry := range entries {
		d.entries[entry.Name()] = &item{mode: entry.Mode, id: entry.ID}
	}
	return nil
}

// enter is the directory behind an entry.
func (i *item) enter() *directory {
	if i.dir == nil {
		i.dir = &directory{id: i.id}
	}
	return i.dir
}

// find is what lies at a path, nil for nothing. Something that is no directory has nothing below it.
func (e *editor) find(path string) (*item, error) {
	d := &e.root
	for {
		if err := e.open(d); err != nil {
			return nil, err
		}
		name, rest, deeper := strings.Cut(path, "/")
		there := d.entries[name]
		if there == nil || !deeper {
			return there, nil
		}
		if there.mode != DirMode {
			return nil, nil
		}
		d, path = there.enter(), rest
	}
}

// set puts a file at a path and makes the directories that lead there.
func (e *editor) set(path string, f *item) error {
	d := &e.root
	for done := 0; ; {
		if err := e.open(d); err != nil {
			return err
		}
		d.id = ""
		name, _, deeper := strings.Cut(path[done:], "/")
		if !deeper {
			d.entries[name] = f
			return nil
		}
		there := d.entries[name]
		if there == nil {
			there = &item{mode: DirMode}
			d.entries[name] = there
		}
		done += len(name)
		if there.mode != DirMode { // a file, a link or a submodule
			return &PathError{Path: path[:done], Err: ErrConflict}
		}
		d = there.enter()
		done++
	}
}

// remove takes away what find found at a path, and the directories that are empty without it.
func (e *editor) remove(path string) {
	way := []*directory{&e.root}
	names := strings.Split(path, "/")
	for _, name := range names[:len(names)-1] {
		way = append(way, way[len(way)-1].entries[name].enter())
	}
	for i, d := range slices.Backward(way) {
		if i == len(way)-1 || len(way[i+1].entries) == 0 {
			delete(d.entries, names[i])
		}
		d.id = ""
	}
}

// write encodes what changed, from the leaves up, and says the id of the tree.
func (e *editor) write(d *directory) (OID, error) {
	if d.id != "" {
		return d.id, nil
	}
	entries := make([]Entry, 0, len(d.entries))
	for name, i := range d.entries {
		if i.dir != nil {
			id, err := e.write(i.dir)
			if err != nil {
				return "", err
			}
			i.id = id
		}
		entries = append(entries, Entry{ID: i.id, Mode: i.mode, Path: name})
	}
	tree, err := treeObject(entries)
	if err != nil {
		return "", err
	}
	e.objects = append(e.objects, tree)
	d.id = tree.id
	return tree.id, nil
}
