package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"stithy/internal/gitssh"
	"stithy/internal/gitstore"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// sshDoors is the way in over SSH, on a port of its own.
type sshDoors struct {
	*doors
	addr string
}

func (d *doors) startSSH(t testing.TB, limits ...gitssh.Limits) *sshDoors {
	t.Helper()
	d.Config.SSH.Listen = "127.0.0.1:0"
	for _, l := range limits {
		d.sshLimits = l
	}
	server := d.sshDoor()
	part := server.Part()
	if err := part.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := part.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return &sshDoors{d, server.Addr().String()}
}

func newSigner(t testing.TB) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, private
}

func presentAs(secret string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) }
}

// keyOf gives a person a key.
func (d *doors) keyOf(t testing.TB, u *user.User) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	signer, private := newSigner(t)
	d.api(t, "POST", fmt.Sprintf("/users/%d/keys", u.ID), map[string]any{"title": "k", "key": string(ssh.MarshalAuthorizedKey(signer.PublicKey()))}, "")
	return signer, private
}

// deployKey gives a project a key that the actor of the token made.
func (d *doors) deployKey(t testing.TB, by *user.User, project string, push bool) (machine, int64) {
	t.Helper()
	signer, private := newSigner(t)
	w := d.do("POST", "/api/v4/projects/"+strings.ReplaceAll(project, "/", "%2F")+"/deploy_keys", map[string]any{
		"title": "machine", "key": string(ssh.MarshalAuthorizedKey(signer.PublicKey())), "can_push": push,
	}, presentAs(d.token(t, by, access.ScopeAPI)))
	if w.Code != 201 {
		t.Fatal(w.Code, w.Body)
	}
	id, err := postgres.Value[int64](t.Context(), d.DB, `select max(id) from deploy_keys`)
	if err != nil {
		t.Fatal(err)
	}
	return machine{signer, private}, id
}

// machine is a deploy key.
type machine struct {
	ssh.Signer
	private ed25519.PrivateKey
}

// as are the variables with which git comes as a person.
func (s *sshDoors) as(t testing.TB, u *user.User) []string {
	t.Helper()
	_, private := s.keyOf(t, u)
	return s.command(t, private)
}

// command are the variables with which git comes with a key.
func (s *sshDoors) command(t testing.TB, private ed25519.PrivateKey) []string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.addr)
	return []string{"GIT_SSH_COMMAND=ssh -F none -p " + port + " -i " + file +
		" -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR -o UserKnownHostsFile=" + file + ".known"}
}

func (s *sshDoors) address(path string) string { return "git@127.0.0.1:" + path + ".git" }

// run runs one command, with nothing to say to it.
func (s *sshDoors) run(t testing.TB, command string, signers ...ssh.Signer) (out, said string, err error) {
	t.Helper()
	client, err := ssh.Dial("tcp", s.addr, comeAs(signers...))
	if err != nil {
		return "", "", err
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		return "", "", err
	}
	var stdout, stderr bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader("0000"), &stdout, &stderr
	err = session.Run(command)
	return stdout.String(), strings.TrimSpace(stderr.String()), err
}

func comeAs(signers ...ssh.Signer) *ssh.ClientConfig {
	return &ssh.ClientConfig{
		User: "git", Auth: []ssh.AuthMethod{ssh.PublicKeys(signers...)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 20 * time.Second,
	}
}

// The right that a command needs is that of the command, and the texts are
// those of HTTP. GI-05 over SSH, for people and machines.
func TestGI05_EachServiceAsksForItsRightOverSSH(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	boss := d.people[access.Maintainer]
	of := func(u *user.User) ssh.Signer {
		signer, _ := d.keyOf(t, u)
		return signer
	}
	reader, _ := d.deployKey(t, boss, "house/hidden", false)
	writer, _ := d.deployKey(t, boss, "house/hidden", true)
	taken, takenID := d.deployKey(t, boss, "house/hidden", true)
	d.api(t, "POST", below(d.open, "/deploy_keys/"+strconv.FormatInt(takenID, 10)+"/enable"), nil, "")
	d.api(t, "DELETE", below(d.hidden, "/deploy_keys/"+strconv.FormatInt(takenID, 10)), nil, "")
	lost := usertest.New(t, d.DB)
	projecttest.Join(t, d.DB, d.hidden, lost, access.Maintainer)
	orphan, _ := d.deployKey(t, lost, "house/hidden", true)
	d.exec(t, `delete from members where user_id = $1`, lost.ID)
	blocked := usertest.New(t, d.DB)
	ofBlocked := of(blocked)
	d.exec(t, `update users set state = 'blocked' where id = $1`, blocked.ID)
	late := usertest.New(t, d.DB)
	ofLate := of(late)
	d.exec(t, `update ssh_keys set expires_at = '2020-01-01' where user_id = $1`, late.ID)
	const noWrite, gone, shut = "This deploy key does not have write access to this project.", "Your SSH key has expired.", "Your account has been blocked."
	for _, c := range []struct {
		who                  string
		signer               ssh.Signer
		path                 string
		fetchText, pushText  string
		uploadText, loadText string // of git-lfs-authenticate
	}{
		{"a developer", of(d.people[access.Developer]), "house/hidden", "", "", "", ""},
		{"a reporter", of(d.people[access.Reporter]), "house/hidden", "", saysNoPush, saysNoPush, ""},
		{"a guest", of(d.people[access.Guest]), "house/hidden", saysNoFetch, saysNoPush, saysNoPush, saysNoFetch},
		{"a stranger", of(d.people[access.NoRole]), "house/hidden", saysNoProject, saysNoProject, saysNoProject, saysNoProject},
		{"a stranger, of nothing", of(usertest.New(t, d.DB)), "house/nothing", saysNoProject, saysNoProject, saysNoProject, saysNoProject},
		{"a stranger, of what is open", of(usertest.New(t, d.DB)), "house/open", "", saysNoPush, saysNoPush, ""},
		{"a machine that reads", reader, "house/hidden", "", noWrite, noWrite, ""},
		{"a machine that writes", writer, "house/hidden", "", "", "", ""},
		{"a machine, elsewhere", writer, "elsewhere/other", saysNoProject, saysNoProject, saysNoProject, saysNoProject},
		{"a machine, of nothing", writer, "house/nothing", saysNoProject, saysNoProject, saysNoProject, saysNoProject},
		{"a machine whose key was taken away", taken, "house/hidden", saysNoProject, saysNoProject, saysNoProject, saysNoProject},
		{"a machine whose maker left", orphan, "house/hidden", "", saysNoPush, saysNoPush, ""},
		{"a blocked account", ofBlocked, "house/open", shut, shut, shut, shut},
		{"an expired key", ofLate, "house/open", gone, gone, gone, gone},
	} {
		for command, text := range map[string]string{
			"git-upload-pack '" + c.path + ".git'": c.fetchText, "git-upload-pack '/" + c.path + "'": c.fetchText, "git upload-pack '" + c.path + "'": c.fetchText,
			"git-receive-pack '" + c.path + ".git'":          c.pushText,
			"git-lfs-authenticate '" + c.path + "' download": c.loadText, "git-lfs-authenticate '" + c.path + "' upload": c.uploadText,
		} {
			out, said, err := s.run(t, command, c.signer)
			if (err == nil) != (text == "") || said != text || text != "" && out != "" {
				t.Errorf("%s: %s: %v %q %q, want %q", c.who, command, err, out, said, text)
			}
		}
		if _, said, err := s.run(t, "git-upload-archive '"+c.path+"'", c.signer); c.fetchText != "" && (err == nil || said != c.fetchText) {
			t.Errorf("%s: an archive: %v %q", c.who, err, said)
		}
	}
	me := of(boss)
	for _, command := range []string{
		"git-upload-pack", "git-upload-pack a b", "git-shell -c x", "ls", "git-lfs-authenticate house/hidden delete", "git-upload-pack 'house/hidden' --x", "scp -f x",
	} {
		if out, said, err := s.run(t, command, me); err == nil || out != "" || said != "The command you're trying to execute is not allowed." {
			t.Errorf("%s: %v %q %q", command, err, out, said)
		}
	}
	if _, _, err := s.run(t, "git-upload-pack 'house/open'", func() ssh.Signer { k, _ := newSigner(t); return k }()); err == nil {
		t.Error("an unknown key gets in")
	}
	d.set(t, map[string]any{"enabled_git_access_protocol": "http"})
	if _, said, err := s.run(t, "git-upload-pack 'house/open'", me); err == nil || said != "Git access over SSH is not allowed" {
		t.Errorf("%v %q", err, said)
	}
}

// A machine's push is one of its key: it is held against rules that name keys,
// and noted under who made the key.
func TestAMachinePushesByItsKeyAndNotByItsMaker(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	boss := d.people[access.Maintainer]
	machine, id := d.deployKey(t, boss, "house/hidden", true)
	repo := d.Store.Repo(gitstore.KeyOf("default", d.hidden.ID, 0))
	d.api(t, "POST", below(d.hidden, "/protected_branches"), map[string]any{"name": "main", "push_access_level": 40}, "")
	remove := func(branch string) (string, error) {
		at := repositorytest.Commit(t, repo, branch, "To go", repositorytest.Files{"x": "1"})
		client, err := ssh.Dial("tcp", s.addr, comeAs(machine))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		session.Stdin, session.Stdout = strings.NewReader(line(string(at)+" "+string(gitstore.Zero)+" refs/heads/"+branch+"\x00report-status object-format=sha1")+"0000"), &out
		err = session.Run("git-receive-pack 'house/hidden'")
		return out.String(), err
	}
	if out, err := remove("free"); err != nil || !strings.Contains(out, "ok refs/heads/free") {
		t.Errorf("%v %q", err, out)
	}
	by, err := postgres.Value[int64](t.Context(), d.DB, `select user_id from pushes order by id desc limit 1`)
	if err != nil || by != boss.ID {
		t.Errorf("it is noted as of %d, %v", by, err)
	}
	// Its maker may push to main; the key is not named there.
	client := newClient(t, s.command(t, machine.private)...)
	client.must("fetch", "-q", s.address("house/hidden"), "main")
	client.must("reset", "-q", "--hard", "FETCH_HEAD")
	client.commit("by", "machine")
	if out, err := client.git("push", s.address("house/hidden"), "HEAD:main"); err == nil || !strings.Contains(out, "You are not allowed to push code to protected branches") {
		t.Errorf("%v %s", err, out)
	}
	d.exec(t, `insert into protection_grants (protected_branch_id, act, access_level, deploy_key_id)
		select id, 'push', 40, $1 from protected_branches where name = 'main'`, id)
	client.must("push", "-q", s.address("house/hidden"), "HEAD:main")
}

// GI-11: who signed is who is there. A key that is offered and not used to
// sign says nothing, whichever comes first.
func TestGI11_TheKeyThatSignedIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	victim, _ := d.keyOf(t, d.people[access.Maintainer])
	own, _ := d.keyOf(t, d.people[access.NoRole])
	machine, _ := d.deployKey(t, d.people[access.Maintainer], "house/hidden", true)
	unknown, _ := newSigner(t)
	for _, order := range [][]ssh.Signer{
		{offered{victim}, own}, {own, offered{victim}}, {offered{victim}, offered{machine}, own}, {offered{machine}, own}, {unknown, offered{victim}, own},
	} {
		out, _, err := s.run(t, "", order...)
		if err == nil && out != "Welcome to Svc, @stranger!\n" {
			t.Errorf("got %q", out)
		}
		if err != nil && !strings.Contains(err.Error(), "unable to authenticate") && !strings.Contains(err.Error(), "refuses to sign") {
			t.Error(err)
		}
		if out, said, err := s.run(t, "git-upload-pack 'house/hidden'", order...); err == nil || out != "" {
			t.Errorf("the hidden project is shown: %q %q", out, said)
		}
	}
	// Both keys prove themselves: the one that signed last before success is it.
	if out, _, err := s.run(t, "", own, victim); err != nil || out != "Welcome to Svc, @stranger!\n" {
		t.Errorf("%v %q", err, out)
	}
	if out, _, err := s.run(t, "", victim, own); err != nil || out != "Welcome to Svc, @"+d.people[access.Maintainer].Username+"!\n" {
		t.Errorf("%v %q", err, out)
	}
	for _, method := range []ssh.AuthMethod{ssh.Password("x"), ssh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { return nil, nil })} {
		c := comeAs()
		c.Auth = []ssh.AuthMethod{method}
		if client, err := ssh.Dial("tcp", s.addr, c); err == nil {
			_ = client.Close()
			t.Error("there is another way in than keys")
		}
	}
	for _, name := range []string{"root", "", "git2"} {
		c := comeAs(own)
		c.User = name
		if client, err := ssh.Dial("tcp", s.addr, c); err == nil {
			_ = client.Close()
			t.Errorf("as %q", name)
		}
	}
	// A key that signs commits opens nothing.
	d.exec(t, `update ssh_keys set usage_type = 'signing' where user_id = $1`, d.people[access.NoRole].ID)
	if _, _, err := s.run(t, "", own); err == nil {
		t.Error("a key for signatures opens the door")
	}
}

// offered is a key whose owner is not here: it is shown, and signs with
// another.
type offered struct{ ssh.Signer }

func (offered) Sign(io.Reader, []byte) (*ssh.Signature, error) {
	return nil, errors.New("refuses to sign")
}

// GI-12: connections that stall, flood or send nonsense are cut off and
// bounded, in all and by address, and a good client gets through.
func TestGI12_ConnectionsThatStallOrFloodAreBounded(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t, gitssh.Limits{Connections: 60, PerAddress: 50, Handshake: time.Second, Command: time.Second})
	own, _ := d.keyOf(t, d.people[access.Developer])
	before := runtime.NumGoroutine()

	// More than there is room for: what is too much is closed at once.
	stalled := make([]net.Conn, 0, 200)
	for range 200 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		stalled = append(stalled, conn)
	}
	open := 0
	for _, conn := range stalled {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, _ := conn.Read(make([]byte, 4)); n > 0 {
			open++
		}
	}
	if open == 0 || open > 50 {
		t.Errorf("%d of 200 stalled connections are served", open)
	}
	// Those that are served are cut off by themselves.
	for _, conn := range stalled {
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a stalled connection stays")
		}
		_ = conn.Close()
	}
	if out, _, err := s.run(t, "", own); err != nil || !strings.HasPrefix(out, "Welcome") {
		t.Fatalf("a good client: %v %q", err, out)
	}

	// Nonsense, in place of a handshake and after the banner.
	random := mathrand.New(mathrand.NewPCG(1, 2))
	for i := range 150 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		junk := make([]byte, random.IntN(2000))
		for n := range junk {
			junk[n] = byte(random.Uint32())
		}
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "SSH-2.0-x\r\n")
		}
		_, _ = conn.Write(junk)
		_ = conn.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("nonsense is listened to for ever")
		}
		_ = conn.Close()
	}

	// One session, few requests, no other channels.
	client, err := ssh.Dial("tcp", s.addr, comeAs(own))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"direct-tcpip", "x11", "forwarded-tcpip", "auth-agent@openssh.com"} {
		if _, _, err := client.OpenChannel(kind, nil); err == nil {
			t.Errorf("a channel %s is opened", kind)
		}
	}
	if _, _, err := client.SendRequest("tcpip-forward", true, nil); err != nil {
		t.Error(err)
	}
	first, requests, err := client.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	if _, _, err := client.OpenChannel("session", nil); err == nil {
		t.Error("a second session is opened")
	}
	refused := 0
	for range 60 {
		if ok, err := first.SendRequest("pty-req", true, make([]byte, 100)); err != nil || !ok {
			refused++
		}
	}
	if refused != 60 {
		t.Errorf("%d of 60 requests are refused", refused)
	}
	_ = client.Close()

	// A client that proves its key and then says nothing is cut off, too.
	idle, err := ssh.Dial("tcp", s.addr, comeAs(own))
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { _ = idle.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(20 * time.Second):
		t.Error("a silent client stays")
	}
	// So is one that is silent within its command.
	within := d.startSSH(t, gitssh.Limits{Thinking: 50 * time.Millisecond})
	client, err = ssh.Dial("tcp", within.addr, comeAs(own))
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.NewSession()
	if err == nil {
		_, _ = session.StdinPipe()
		err = session.Start("git-upload-pack 'house/open.git'")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Wait() // it ends with the connection
	if out, _, err := s.run(t, "", own); err != nil || !strings.HasPrefix(out, "Welcome") {
		t.Fatalf("a good client afterwards: %v %q", err, out)
	}
	settled := false
	for range 200 {
		if settled = runtime.NumGoroutine() < before+200; settled {
			break
		}
		runtime.Gosched()
	}
	if !settled {
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
	if strings.Contains(d.log.text(), "panic") {
		t.Error("something panicked")
	}
}

func TestAnArchiveIsFetchedOverSSH(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	grouptest.Personal(t, d.DB, d.ann)
	repo := d.Store.Repo(gitstore.KeyOf("default", d.hidden.ID, 0))
	tip := repositorytest.Commit(t, repo, "main", "More", repositorytest.Files{"dir/a": "in a folder", "top": "outside"})
	if err := repo.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: "refs/keep-around/x", Old: gitstore.Zero, New: tip}}); err != nil {
		t.Fatal(err)
	}
	git := newClient(t, s.as(t, d.people[access.Reporter])...)
	for _, c := range []struct {
		args     []string
		has, not string
	}{
		{[]string{"main"}, "in a folder", "nowhere"}, {[]string{"HEAD", "dir"}, "in a folder", "outside"},
		{[]string{"--format=zip", "--prefix=p/", "main"}, "PK", "nowhere"}, {[]string{"--prefix=deep/er/", "refs/heads/main"}, "deep/er/dir/a", "nowhere"},
		{[]string{"--list"}, "tar\ntgz\n", "nowhere"},
	} {
		out := git.must(append([]string{"archive", "--remote=" + s.address("house/hidden")}, c.args...)...)
		if !strings.Contains(out, c.has) || strings.Contains(out, c.not) {
			t.Errorf("%q: %.300q", c.args, out)
		}
	}
	for _, args := range [][]string{{"nothing"}, {string(tip)}, {"refs/keep-around/x"}, {"main", "../x"}, {"main", "missing"}, {"--format=rar", "main"}, {"main", "a", "b"}} {
		if out, err := git.git(append([]string{"archive", "--remote=" + s.address("house/hidden")}, args...)...); err == nil {
			t.Errorf("%q: %.300q", args, out)
		}
	}
	stranger := newClient(t, s.as(t, d.ann)...)
	if out, err := stranger.git("archive", "--remote="+s.address("house/hidden"), "main"); err == nil || !strings.Contains(out, saysNoProject) {
		t.Errorf("%v %s", err, out)
	}
}
