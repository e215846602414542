package gitstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"stithy/internal/platform/failpoint"
	"stithy/internal/platform/memory"
	"stithy/internal/platform/sorting"
)

// Remove renames the repository away and deletes it. Doing it again changes nothing.
func (r *Repo) Remove(ctx context.Context) error {
	place, dir, err := r.writable()
	if err != nil {
		return err
	}
	if there, err := r.Exists(ctx); !there || err != nil {
		place.sweep() // it may be one that was killed at it
		return err
	}
	tmp, done, err := place.scratch("remove")
	if err != nil {
		return err
	}
	defer done()
	if err := os.Rename(dir, filepath.Join(tmp, "gone")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("taking a repository away: %w: %w", ErrUnavailable, err)
	}
	failpoint.Here(failpoint.RemoveMoved)
	if err := syncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	r.forget()
	return os.RemoveAll(tmp)
}

// forget drops what is known about a repository that is no more.
func (r *Repo) forget() {
	r.store.pool.drop(r.poolKey())
	r.store.packs.drop(r.cacheKey())
	r.store.cache.Forget(func(k memory.Key) bool { return k.Place == r.key.Storage && k.Path == r.key.Path })
}

// Copy makes this repository a copy of another: branches and tags, or all refs; objects on the same file system are hard
// links, so they share the disk and neither depends on the other. It appears whole or not at all.
func (r *Repo) Copy(ctx context.Context, from *Repo, allRefs bool) error {
	place, dir, err := r.writable()
	if err != nil {
		return err
	}
	if there, err := r.Exists(ctx); there || err != nil {
		return err
	}
	_, source, err := from.place()
	if err != nil {
		return err
	}
	head, err := from.Head(ctx)
	if err != nil {
		return err
	}
	// The refs before the objects: whatever they need is there, and stays.
	packed, err := from.packedCopy(ctx, allRefs)
	if err != nil {
		return err
	}
	tmp, done, err := place.scratch("copy")
	if err != nil {
		return err
	}
	defer done()
	if err := layOut(tmp, head); err != nil {
		return fmt.Errorf("making a repository: %w: %w", ErrUnavailable, err)
	}
	if err := writeSynced(filepath.Join(tmp, "packed-refs"), packed); err != nil {
		return fmt.Errorf("making a repository: %w: %w", ErrUnavailable, err)
	}
	if err := linkObjects(ctx, filepath.Join(source, "objects"), filepath.Join(tmp, "objects")); err != nil {
		return fmt.Errorf("copying objects: %w", err)
	}
	failpoint.Here(failpoint.CopyLinked)
	return place.install(tmp, dir)
}

// packedCopy is the file packed-refs of a copy.
func (r *Repo) packedCopy(ctx context.Context, all bool) ([]byte, error) {
	refs, _, err := r.Refs(ctx, RefQuery{})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for _, ref := range refs {
		if !all && ref.Branch() == "" && ref.TagName() == "" {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", ref.Target, ref.Name)
		if ref.Peeled != ref.Target {
			fmt.Fprintf(&b, "^%s\n", ref.Peeled)
		}
	}
	return b.Bytes(), nil
}

// linkObjects copies loose objects and packs by hard links. A repack may go on meanwhile: it adds a pack, and removes
// what that holds afterwards. So loose objects come first, and the packs are listed again until nothing has changed.
func linkObjects(ctx context.Context, from, to string) error {
	loose, err := filepath.Glob(filepath.Join(from, "[0-9a-f][0-9a-f]"))
	if err != nil {
		return err
	}
	for _, dir := range loose {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := linkAll(dir, filepath.Join(to, filepath.Base(dir)), func(name string) bool { return len(name) == 38 }); err != nil {
			return err
		}
	}
	const maxRounds = 20
	packs, target := filepath.Join(from, "pack"), filepath.Join(to, "pack")
	for range maxRounds {
		before, err := packNames(packs)
		if err != nil {
			return err
		}
		if err := linkAll(packs, target, func(name string) bool { return before[name] }); err != nil {
			return err
		}
		after, err := packNames(packs)
		if err != nil {
			return err
		}
		if maps.Equal(before, after) {
			return syncDir(target)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the packs do not stand still: %w", ErrUnavailable)
}

// packNames are the files of finished packs. What is derived from several packs is made anew.
func packNames(dir string) (map[string]bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, e := range entries {
		switch ext := filepath.Ext(e.Name()); {
		case !strings.HasPrefix(e.Name(), "pack-"):
		case ext == ".pack", ext == ".idx", ext == ".rev", ext == ".mtimes":
			names[e.Name()] = true
		}
	}
	return names, nil
}

// linkAll links the wanted files of a directory, indexes after their packs. What is gone meanwhile is passed over.
func linkAll(from, to string, want func(name string) bool) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	sorting.Stably(entries, func(a, b fs.DirEntry) int { return last(a) - last(b) })
	for _, e := range entries {
		if !e.Type().IsRegular() || !want(e.Name()) {
			continue
		}
		err := os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		if errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EPERM) {
			err = copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncDir(to)
}

func last(e fs.DirEntry) int {
	if filepath.Ext(e.Name()) == ".idx" {
		return 1
	}
	return 0
}

// copyFile is for a copy onto another disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// Remote is where an import comes from.
type Remote struct {
	URL      string // https or http, no user info
	User     string
	Password string
	Proxy    string // address of the guarded proxy on loopback that all traffic goes through
}

// lenient are flaws that old tools left in history which nobody can rewrite any more, and that harm nobody.
var lenient = [][2]string{
	{"fetch.fsck.badTimezone", "ignore"},
	{"fetch.fsck.missingSpaceBeforeDate", "ignore"},
	{"fetch.fsck.zeroPaddedFilemode", "ignore"},
	{"fetch.fsck.missingEmail", "ignore"},
	{"fetch.fsck.badEmail", "ignore"},
	{"fetch.fsck.badName", "ignore"},
	{"fetch.fsck.missingNameBeforeEmail", "ignore"},
	{"fetch.fsck.badDateOverflow", "ignore"},
	{"fetch.fsck.missingTaggerEntry", "ignore"},
}

// Import fetches branches and tags from elsewhere into this empty repository and reports the branch of the remote's
// HEAD, "" where it has none. Names that a push could not make are left out.
func (r *Repo) Import(ctx context.Context, from Remote) (head string, err error) {
	if _, _, err := r.writable(); err != nil {
		return "", err
	}
	config, err := from.config()
	if err != nil {
		return "", err
	}
	const maxList = 256 << 20
	allow := []string{"GIT_ALLOW_PROTOCOL=http:https"}
	list, err := r.output(ctx, call{class: copying, sub: "ls-remote", flags: []string{"--quiet", "--symref"},
		args: []string{from.URL}, config: config, env: allow}, maxList)
	if err != nil {
		return "", err
	}
	head, wanted := parseRemote(string(list))
	if len(wanted) == 0 {
		return head, nil
	}
	var specs bytes.Buffer
	for _, name := range wanted {
		fmt.Fprintf(&specs, "+%s:%s\n", name, name)
	}
	flags := []string{"--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--stdin"}
	err = r.run(ctx, call{class: copying, sub: "fetch", flags: flags, args: []string{from.URL}, stdin: &specs,
		config: slices.Concat(config, lenient), env: allow}, nil)
	return head, err
}

// config says how to reach the remote. The password is in the environment of the command alone: not in its
// arguments, which everyone on the machine may read, and not in a file.
func (f Remote) config() ([][2]string, error) {
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		strings.ContainsAny(f.URL, "\x00\r\n\t ") || strings.ContainsAny(f.Proxy, "\x00\r\n") {
		return nil, fmt.Errorf("address of an import: %w", ErrInvalid)
	}
	config := [][2]string{
		{"http.followRedirects", "false"},
		{"http.lowSpeedLimit", "1000"},
		{"http.lowSpeedTime", "60"},
		{"http.userAgent", "stithy"},
		{"http.proxy", f.Proxy},
		{"protocol.https.allow", "always"},
		{"protocol.http.allow", "always"},
	}
	if f.User != "" || f.Password != "" {
		login := base64.StdEncoding.EncodeToString([]byte(f.User + ":" + f.Password))
		config = append(config, [2]string{"http.extraHeader", "Authorization: Basic " + login})
	}
	return config, nil
}

// parseRemote reads what ls-remote lists: the branch that HEAD names, and the branches and tags that we take.
func parseRemote(list string) (head string, wanted []string) {
	for line := range strings.Lines(list) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if target, ok := strings.CutPrefix(id, "ref: "); ok && name == "HEAD" && CheckRefName(target) == nil {
			head = below(target, Branches)
			continue
		}
		if (below(name, Branches) != "" || below(name, Tags) != "") && IsOID(id) && CheckRefName(name) == nil {
			wanted = append(wanted, name)
		}
	}
	return head, wanted
}
