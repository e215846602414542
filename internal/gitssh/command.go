package gitssh

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"stithy/internal/deploykey"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/user"
)

// visit is one command of one client.
type visit struct {
	protocol    string
	permissions *ssh.Permissions
	from        netip.Addr
}

const (
	noProject = "The project you were looking for could not be found or you don't have permission to view it."
	noCommand = "The command you're trying to execute is not allowed."
)

// parseCommand takes a line apart into a command and its words, as git quotes
// them. Nothing of it ever comes near a shell.
func parseCommand(line string) (words []string, ok bool) {
	var word strings.Builder
	in, quoted := false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted && c == '\'':
			quoted = false
		case quoted:
			word.WriteByte(c)
		case c == '\'':
			in, quoted = true, true
		case c == '\\' && i+1 < len(line) && (line[i+1] == '\'' || line[i+1] == '!'):
			i++
			in = true
			word.WriteByte(line[i])
		case c == ' ':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		case c < 0x20 || c == 0x7f || strings.IndexByte("\\\"`$&|;<>(){}*?~#", c) >= 0:
			return nil, false
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if quoted {
		return nil, false
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) > 1 && words[0] == "git" { // git upload-pack 'x'
		words = append([]string{"git-" + words[1]}, words[2:]...)
	}
	return words, true
}

// projectPath is the path of a project in an argument.
func projectPath(arg string) string {
	return strings.TrimSuffix(strings.TrimPrefix(arg, "/"), ".git")
}

// run runs the one command of a connection.
func (s *Server) run(ctx context.Context, v visit, line string, channel ssh.Channel) error {
	words, ok := parseCommand(line)
	if !ok || len(line) > 4096 || !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return &said{noCommand}
	}
	who, err := s.identify(ctx, v)
	if err != nil {
		return shown(err)
	}
	if len(words) == 0 {
		_, err := io.WriteString(channel, "Welcome to "+s.deps.Names.Text()+", "+clean(who.name)+"!\n")
		return err
	}
	if string(s.deps.Settings.Current().EnabledGitAccessProtocol) == "http" {
		return &said{"Git access over SSH is not allowed"}
	}
	switch {
	case words[0] == "git-lfs-authenticate" && len(words) == 3 && s.deps.LFS != nil:
		return shown(s.lfsTicket(ctx, who, words[1], words[2], channel))
	case len(words) != 2:
		return &said{noCommand}
	}
	service := gitstore.Service(words[0])
	if service != gitstore.UploadPack && service != gitstore.ReceivePack && service != gitstore.UploadArchive {
		return &said{noCommand}
	}
	path, slot := projectPath(words[1]), fairshare.With(ctx, who.actor.Caller())
	x := repository.GitRequest{Service: service, Via: repository.ViaSSH, Protocol: v.protocol, In: channel, Out: channel}
	if who.machine == nil { // keys of machines are for code alone
		switch at, named, err := s.deps.Paths.Find(ctx, who.actor, path, service); {
		case err != nil:
			return shown(err)
		case named:
			return shown(s.deps.Repositories.ServeText(slot, who.actor, at, x))
		}
	}
	p, actor, notices, err := s.find(ctx, who, path, service)
	if err != nil {
		return shown(err)
	}
	x.Notices = notices
	return shown(s.deps.Repositories.Serve(slot, actor, p, x))
}

// shown turns a fault into words for the client.
func shown(err error) error {
	f, ok := fault.Of(err)
	switch {
	case !ok && postgres.Unavailable(err):
		return errors.Join(&said{unavailable}, err)
	case !ok:
		return err
	case f.Kind == fault.NotFound && f.Text == "": // whatever it is
		return &said{noProject}
	case f.Kind == fault.Unavailable:
		return errors.Join(&said{f.Error()}, err)
	}
	return &said{f.Error()}
}

// someone is who proved a key.
type someone struct {
	name    string
	actor   access.Actor
	account *user.User
	machine *deploykey.Key // nil for a person
}

// identify finds out who the key that signed belongs to, as things stand now.
func (s *Server) identify(ctx context.Context, v visit) (someone, error) {
	known := v.permissions.Extensions
	if id, err := strconv.ParseInt(known[ofUser], 10, 64); err == nil {
		k, err := s.deps.Users.FindSSHKey(ctx, id)
		if err != nil {
			return someone{}, err
		}
		if k.ExpiresAt != nil && !s.deps.Clock.Now().Before(*k.ExpiresAt) {
			return someone{}, &said{"Your SSH key has expired."}
		}
		u, err := s.deps.Users.Find(ctx, k.UserID)
		if err != nil {
			return someone{}, err
		}
		actor, err := s.deps.Tokens.Admit(u, access.Credential{Kind: access.SSHKey, ID: k.ID})
		actor.Address = v.from
		return someone{name: "@" + u.Username, actor: actor, account: u}, err
	}
	k, err := s.deps.DeployKeys.FindByFingerprint(ctx, known["fingerprint"])
	if err != nil {
		return someone{}, err
	}
	if k.Expired(s.deps.Clock.Now()) {
		return someone{}, &said{"Your SSH key has expired."}
	}
	return someone{
		name: k.Title, machine: k,
		actor: access.Actor{Credential: access.Credential{Kind: access.DeployKey, ID: k.ID}, Address: v.from},
	}, nil
}

// find reads the project that a client means, and as whom it acts there.
func (s *Server) find(ctx context.Context, who someone, path string, service gitstore.Service) (p *project.Project, actor access.Actor, notices []string, err error) {
	actor = who.actor
	if who.machine != nil {
		p, actor, err = s.findFor(ctx, who, path, service)
	} else {
		p, _, err = s.deps.Projects.FindByRef(ctx, actor, path)
		if fault.Is(err, fault.NotFound) && service == gitstore.ReceivePack {
			if p, err = s.deps.Projects.CreateAt(ctx, actor, path); err == nil {
				notices = repository.Created(p, s.deps.Projects.SSHAddress(p), s.deps.ExternalURL.JoinPath(p.FullPath()).String())
			}
		}
	}
	if err != nil {
		return nil, actor, nil, err
	}
	if notices == nil && p.FullPath() != path {
		notices = repository.Moved(path, p, s.deps.Projects.SSHAddress(p))
	}
	return p, actor, notices, nil
}

// findFor is find for a machine. It fetches from the projects that its key was
// enabled for, and pushes there with the rights of whoever made the key.
func (s *Server) findFor(ctx context.Context, who someone, path string, service gitstore.Service) (*project.Project, access.Actor, error) {
	id, err := s.deps.Projects.IDByPath(ctx, path)
	if err != nil {
		return nil, who.actor, err
	}
	k, err := s.deps.DeployKeys.Find(ctx, id, who.machine.ID)
	if err != nil {
		return nil, who.actor, err
	}
	if service != gitstore.ReceivePack {
		p, err := s.deps.Projects.Known(ctx, id)
		if err == nil {
			p.Role = access.Reporter // as far as reading goes
		}
		return p, who.actor, err
	}
	if !k.CanPush {
		return nil, who.actor, &said{"This deploy key does not have write access to this project."}
	}
	refused := &said{repository.NotAllowedToPush}
	if k.CreatedByID == nil {
		return nil, who.actor, refused
	}
	u, err := s.deps.Users.Find(ctx, *k.CreatedByID)
	if fault.Is(err, fault.NotFound) {
		return nil, who.actor, refused
	}
	if err != nil {
		return nil, who.actor, err
	}
	actor, err := s.deps.Tokens.Admit(u, who.actor.Credential)
	if err != nil {
		return nil, who.actor, err
	}
	actor.Address = who.actor.Address
	p, err := s.deps.Projects.Find(ctx, actor, id)
	if fault.Is(err, fault.NotFound) {
		return nil, actor, refused
	}
	return p, actor, err
}

// lfsTicket tells an LFS client where to go, and gives it a ticket.
func (s *Server) lfsTicket(ctx context.Context, who someone, arg, operation string, out io.Writer) error {
	service := gitstore.UploadPack
	switch operation {
	case "download":
	case "upload":
		service = gitstore.ReceivePack
	default:
		return &said{noCommand}
	}
	if _, named, err := s.deps.Paths.Find(ctx, who.actor, projectPath(arg), service); named || err != nil {
		return &said{noProject} // texts have no large files
	}
	p, actor, _, err := s.find(ctx, who, projectPath(arg), service)
	if err != nil {
		return err
	}
	if err := repository.CheckAccess(actor, p, service); err != nil {
		return err
	}
	var name string
	var machine int64
	if who.machine != nil {
		machine = who.machine.ID
		name = "lfs+deploy-key-" + strconv.FormatInt(machine, 10)
	} else {
		name = who.account.Username
	}
	ticket, life, err := s.deps.LFS.Ticket(actor.ID(), machine, p.ID, service == gitstore.ReceivePack)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(map[string]any{
		"header":     map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+ticket.Reveal()))},
		"href":       s.deps.ExternalURL.JoinPath(p.FullPath() + ".git/info/lfs").String(),
		"expires_in": int(life.Seconds()),
	})
}
