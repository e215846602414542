// Command bare answers some requests of the API with as little as an honest
// program can: net/http, a pool of connections, one query for the token and
// one or two for the page, pooled cat-file processes for what is in a
// repository. It is what `make bench` holds Stithy against.
//
// Its answers are Stithy's, byte for byte, for people who do not administer.
// It leaves out what is no part of the answer: routing, scopes, rate limits,
// validation, logs and metrics.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stithy/internal/kit/access"
	"stithy/internal/platform/secretbox"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8081", "address to serve on")
	database := flag.String("database", "", "address of the database")
	key := flag.String("key", "", "key file")
	external := flag.String("external", "", "how clients reach the server")
	project := flag.String("project", "", "id of the project whose repository is served")
	git := flag.String("git", "", "directory of that repository")
	path := flag.String("path", "", "full path of that project")
	logs := flag.String("logs", "", "directory of logs that grow")
	finished := flag.String("finished", "", "file of the log of a finished job")
	flag.Parse()
	box, err := secretbox.Load(*key)
	if err != nil {
		log.Fatal(err)
	}
	pool, err := pgxpool.New(context.Background(), *database)
	if err != nil {
		log.Fatal(err)
	}
	s := &server{pool: pool, box: box, base: *external}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v4/user", s.self)
	mux.HandleFunc("GET /api/v4/users", s.list)
	mux.HandleFunc("GET /-/readiness", func(w http.ResponseWriter, r *http.Request) {
		if pool.Ping(r.Context()) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if *project != "" {
		r, err := s.repository(*git, *path)
		if err != nil {
			log.Fatal(err)
		}
		r.handle(mux, *project)
	}
	if *logs != "" {
		(&jobs{server: s, logs: *logs, finished: *finished}).handle(mux)
	}
	log.Fatal(http.ListenAndServe(*listen, mux))
}

type server struct {
	pool *pgxpool.Pool
	box  *secretbox.Box
	base string
}

const (
	sqlValid = `
from personal_access_tokens t join users u on u.id = t.user_id
where t.digest = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > $2)
	and u.state = 'active' and u.confirmed_at is not null and u.removal is null`

	sqlToken = `select t.scopes` + sqlValid

	sqlSelf = `
select t.scopes, u.id, u.username, u.name, u.state, u.locked_at is not null, u.avatar, u.created_at, u.bio, u.kind <> 'human',
	nullif(u.location, ''), u.public_email, u.skype, u.linkedin, u.twitter, u.discord, u.website_url, u.organization, u.job_title,
	u.pronouns, u.followers, u.following, u.last_sign_in_at, u.confirmed_at, u.last_activity_on, u.email, u.theme_id,
	u.color_scheme_id, u.projects_limit, u.current_sign_in_at, u.can_create_group, u.two_factor_enabled, u.external,
	u.private_profile, u.commit_email, u.shared_runners_minutes_limit, u.extra_shared_runners_minutes_limit,
	(select coalesce(jsonb_agg(jsonb_build_object('provider', i.provider, 'extern_uid', i.extern_uid,
		'saml_provider_id', i.saml_provider_id) order by i.id), '[]') from identities i where i.user_id = u.id)` + sqlValid
)

// authenticate finds the token and reads what the query selects beside its
// scopes. It answers for those who may not go on.
func (s *server) authenticate(w http.ResponseWriter, r *http.Request, sql string, dst ...any) bool {
	var scopes []string
	digest := s.box.Digest(string(access.PersonalToken), r.Header.Get("Private-Token"))
	err := s.pool.QueryRow(r.Context(), sql, digest, time.Now()).Scan(append([]any{&scopes}, dst...)...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		w.WriteHeader(http.StatusUnauthorized)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !slices.Contains(scopes, "api"):
		w.WriteHeader(http.StatusForbidden)
	default:
		return true
	}
	return false
}

func (s *server) links(p *person, avatar string) {
	p.WebURL = s.base + "/" + p.Username
	if avatar != "" {
		p.AvatarURL = new(s.base + "/uploads/-/system/user/avatar/" + strconv.FormatInt(p.ID, 10) + "/" + avatar)
	}
}

func (s *server) self(w http.ResponseWriter, r *http.Request) {
	var u self
	var avatar string
	var lastSignIn, confirmed, active, currentSignIn *time.Time
	if !s.authenticate(w, r, sqlSelf,
		&u.ID, &u.Username, &u.Name, &u.State, &u.Locked, &avatar, (*time.Time)(&u.CreatedAt), &u.Bio, &u.Bot, &u.Location, &u.PublicEmail,
		&u.Skype, &u.Linkedin, &u.Twitter, &u.Discord, &u.WebsiteURL, &u.Organization, &u.JobTitle, &u.Pronouns, &u.Followers,
		&u.Following, &lastSignIn, &confirmed, &active, &u.Email, &u.ThemeID, &u.ColorSchemeID, &u.ProjectsLimit, &currentSignIn,
		&u.CanCreateGroup, &u.TwoFactorEnabled, &u.External, &u.PrivateProfile, &u.CommitEmail, &u.SharedMinutes, &u.ExtraMinutes,
		&u.Identities) {
		return
	}
	s.links(&u.person, avatar)
	u.LastSignInAt, u.ConfirmedAt, u.LastActivityOn = (*moment)(lastSignIn), (*moment)(confirmed), (*day)(active)
	u.CurrentSignInAt = (*moment)(currentSignIn)
	if u.CommitEmail == "" {
		u.CommitEmail = u.Email
	}
	u.LocalTime = time.Now().UTC().Format("3:04 PM")
	switch {
	case u.JobTitle != "" && u.Organization != "":
		u.WorkInformation = new(u.JobTitle + " at " + u.Organization)
	case u.JobTitle != "":
		u.WorkInformation = &u.JobTitle
	case u.Organization != "":
		u.WorkInformation = &u.Organization
	}
	u.CanCreateProject, u.ScimIdentities = u.ProjectsLimit > 0, []struct{}{}
	reply(w, u)
}

const (
	sqlList  = `select id, username, name, state, locked_at is not null, avatar from users where state in ('active', 'deactivated')`
	sqlAfter = sqlList + ` and id < $1`
	sqlCount = `select count(*) from (select 1 from users where state in ('active', 'deactivated') limit 10001) bounded`
)

type cursor struct {
	OrderBy string   `json:"o"`
	Desc    bool     `json:"d"`
	After   []string `json:"a"`
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	if !s.authenticate(w, r, sqlToken) {
		return
	}
	query := r.URL.Query()
	perPage, err := strconv.Atoi(query.Get("per_page"))
	if err != nil {
		perPage = 20
	}
	keyset := query.Get("pagination") == "keyset"
	sql, order, args := sqlList, " order by id desc limit "+strconv.Itoa(perPage+1), []any{} // a limit in the text is planned once
	if page, err := strconv.Atoi(query.Get("page")); !keyset && err == nil {
		order, args = order+" offset $1", append(args, (page-1)*perPage)
	} else if after := query.Get("cursor"); after != "" {
		var c cursor
		text, err := base64.RawURLEncoding.DecodeString(after)
		if err := errors.Join(err, json.Unmarshal(text, &c)); err != nil || len(c.After) != 1 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		sql, args = sqlAfter, append(args, c.After[0])
	}
	rows, _ := s.pool.Query(r.Context(), sql+order, args...)
	people, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p person, err error) {
		var avatar string
		err = row.Scan(&p.ID, &p.Username, &p.Name, &p.State, &p.Locked, &avatar)
		s.links(&p, avatar)
		return p, err
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	more := len(people) > perPage
	people = people[:min(perPage, len(people))]
	if keyset && more {
		text, _ := json.Marshal(cursor{OrderBy: "id", Desc: true, After: []string{strconv.FormatInt(people[perPage-1].ID, 10)}})
		query.Set("cursor", base64.RawURLEncoding.EncodeToString(text))
		w.Header().Set("Link", "<"+s.base+"/api/v4/users?"+query.Encode()+`>; rel="next"`)
	} else if !keyset {
		var total int
		if err := s.pool.QueryRow(r.Context(), sqlCount).Scan(&total); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if total <= 10_000 {
			w.Header().Set("X-Total", strconv.Itoa(total))
		}
	}
	reply(w, people)
}

func reply(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
