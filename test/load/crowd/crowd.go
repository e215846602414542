// Package crowd fills a migrated database with people and what they work on,
// much and fast, for measurements. The same number gives the same every time.
//
// One in twenty has a username made of their name; all others have one that a
// directory gave out ("user" and a number), so that there is a word that
// nearly everyone matches.
package crowd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// Fill adds n users to an empty table, with what hangs on them: addresses,
// and for some an identity or a custom attribute. Indexes are made after the
// rows, which takes a third of the time.
func Fill(ctx context.Context, url string, n int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = bare(ctx, conn, []string{"users", "email_claims"}, func() error {
		_, err := conn.CopyFrom(ctx, pgx.Identifier{"users"}, columns, &people{n: n, random: rand.New(rand.NewPCG(1, 2))})
		return err
	})
	if err != nil {
		return fmt.Errorf("copying users: %w", err)
	}
	return run(ctx, conn,
		`insert into email_claims (address, user_id) select lower(email), id from users order by id`,
		`insert into identities (user_id, provider, extern_uid, saml_provider_id, created_at, updated_at)
			select id, case when id % 50 = 0 then 'group_saml' else 'ldapmain' end, 'uid=' || username,
				case when id % 50 = 0 then 7 end, created_at, created_at
			from users where id % 25 = 0`,
		`insert into user_custom_attributes (user_id, key, value, created_at, updated_at)
			select id, 'team', 'team-' || id % 1000, created_at, created_at from users where id % 10 = 0`,
		// Nothing else may move while it is measured.
		`alter table users set (autovacuum_enabled = false)`,
		`vacuum (freeze, analyze)`)
}

// bare fills tables while they have neither indexes nor foreign keys nor
// triggers of ours, and gives them back after.
func bare(ctx context.Context, conn *pgx.Conn, tables []string, fill func() error) error {
	type part struct{ Drop, Make string }
	parts, err := postgres.All[part](ctx, conn, `
		select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
			format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make
		from pg_constraint where contype = 'f' and conrelid = any($1::text[]::regclass[])
		union all
		select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
		from pg_index i where indrelid = any($1::text[]::regclass[]) and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype <> 'f')
		union all
		select format('alter table %s disable trigger user', t), format('alter table %s enable trigger user', t)
		from unnest($1::text[]) t`, tables)
	if err != nil {
		return fmt.Errorf("listing indexes: %w", err)
	}
	before, after := []string{"set maintenance_work_mem = '512MB'"}, []string{}
	for _, p := range parts {
		before, after = append(before, p.Drop), append(after, p.Make)
	}
	if err := run(ctx, conn, before...); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	slices.Reverse(after) // indexes before the keys that they serve
	return run(ctx, conn, after...)
}

func run(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%.60s: %w", strings.TrimSpace(sql), err)
		}
	}
	return nil
}

var columns = []string{
	"username", "name", "email", "public_email", "confirmed_at", "state", "kind", "admin", "auditor", "external", "private_profile",
	"two_factor_enabled", "bio", "location", "organization", "job_title", "avatar", "projects_limit", "last_activity_on",
	"last_sign_in_at", "current_sign_in_at", "sign_in_count", "created_at", "updated_at",
}

// people is the rows of the crowd, one after the other.
type people struct {
	n, i   int
	random *rand.Rand
}

func (p *people) Next() bool {
	p.i++
	return p.i <= p.n
}

func (p *people) Err() error { return nil }

// begin is when the first account was made; the last one is six years younger.
var begin = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

const age = 6 * 365 * 24 * time.Hour

func (p *people) Values() ([]any, error) {
	first, last := pick(p, firstNames), pick(p, lastNames)
	username := fmt.Sprintf("user%08d", p.i*48_271%100_000_007) // ids say nothing of the order of usernames
	if p.i%20 == 0 {
		username = strings.ToLower(first+"."+last) + fmt.Sprint(p.i)
	}
	email := username + "@" + pick(p, domains)
	created := begin.Add(time.Duration(float64(age) * float64(p.i) / float64(p.n)))
	updated := created.Add(time.Duration(p.random.Int64N(int64(200 * 24 * time.Hour)))).Truncate(time.Microsecond)
	kind := "human"
	if p.chance(0.01) {
		kind = "project_bot"
	}
	return []any{
		username, first + " " + last, email, p.sometimes(0.2, email), created, p.state(), kind, p.i == 1 || p.chance(0.0005), p.chance(0.0005),
		p.chance(0.05), p.chance(0.03), p.chance(0.3), p.sometimes(0.3, "Writes code, reads code, and sometimes deletes it."),
		p.sometimes(0.4, pick(p, places)), p.sometimes(0.3, "Example Works"), p.sometimes(0.3, "Engineer"), p.sometimes(0.25, "avatar.png"),
		100_000, updated.Truncate(24 * time.Hour), updated, updated, p.random.IntN(500), created, updated,
	}, nil
}

func (p *people) chance(of float64) bool { return p.random.Float64() < of }

func (p *people) sometimes(chance float64, text string) string {
	if p.chance(chance) {
		return text
	}
	return ""
}

func (p *people) state() string {
	switch n := p.random.IntN(1000); {
	case p.i == 1: // the administrator of even the smallest crowd
		return "active"
	case n < 20:
		return "blocked"
	case n < 22:
		return "banned"
	case n < 23:
		return "blocked_pending_approval"
	case n < 24:
		return "ldap_blocked"
	case n < 44:
		return "deactivated"
	}
	return "active"
}

// pick prefers the front of a list, as names of people are not equally common.
func pick(p *people, from []string) string {
	at := p.random.Float64()
	return from[int(at*at*float64(len(from)))]
}

var (
	domains = []string{"example.com", "example.org", "example.net", "mail.example.com", "dev.example.org"}
	places  = []string{"Berlin", "Nairobi", "Osaka", "Lima", "Toronto", "Lyon", "Pune", "Kraków"}

	firstNames = strings.Fields(`Maria Wei Mohammed Ana Li Jose Ahmed David Ying Anna Ali John Juan Elena Daniel Fatima Michael Yan Ibrahim
		Olga Carlos Min Sara Peter Laura Omar Sofia James Nina Hiroshi Aisha Paul Priya Ivan Julia Thomas Mei Rahul Eva Samuel
		Chiara Kofi Lucas Yuki Emma Pablo Ingrid Arjun Zoë Mateo Amara Lars Noor Björn Ada Tariq Hana Oskar Leila Viktor Saoirse
		Thandiwe Kenji Marta Rosa Dmitri Alice Felix Ngozi Hugo Clara Emre Łucja Andrei Beatriz Chidi Grace Henrik Isabel Joon`)
	lastNames = strings.Fields(`Wang Garcia Smith Kumar Silva Nguyen Müller Kim Ali Ivanov Li Martinez Johnson Singh Santos Tran Schmidt Lee
		Khan Petrov Zhang Lopez Brown Sharma Oliveira Le Schneider Park Hussain Popov Chen Gonzalez Jones Patel Souza Pham Fischer
		Choi Ahmed Sokolov Liu Perez Miller Gupta Lima Hoang Weber Jung Hassan Novak Okafor Rossi Tanaka Dubois Andersson Jansen
		Kowalski Haddad Mensah Nakamura Moreau Larsen Visser Lovelace Horvat Papadopoulos Virtanen Adeyemi Suzuki Lefebvre Nilsson
		Bakker Wiśniewski Mansour Boateng Yamamoto Fontaine Kaya Popescu Almeida Eze Hopper Berg Castillo Cho Turing Demir Radu`)
)
