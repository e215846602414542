package token

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

func TestEveryQueryPrepares(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for _, sql := range []string{
		sqlBearer, sqlBearerAccount, sqlFind, sqlLockFamily, sqlLock, sqlNewestActive, sqlExpiry, sqlInsert, sqlRevoke,
		sqlSession, sqlStartSession, sqlEndSession, sqlEndSessions, sqlTouchTokens, sqlTouchSessions, sqlTouchPeople,
	} {
		if _, err := tx.Prepare(t.Context(), "", sql); err != nil {
			t.Errorf("%v in %s", err, sql)
		}
	}
}

func TestTheHotQueriesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	if _, err := tx.Exec(t.Context(), "set local enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	for sql, index := range map[string]string{
		strings.Replace(sqlBearer, "$1", `'\x00'`, 1):                                                       "personal_access_tokens_digest_key",
		strings.Replace(strings.Replace(sqlSession, "$1", `'\x00'`, 1), "$2", "now()", 1):                   "sessions_digest_key",
		strings.Replace(strings.Replace(sqlNewestActive, "$1", "1", 1), "$2", "current_date", 1):            "personal_access_tokens_family",
		"select id from personal_access_tokens where revoked_at is null order by id limit 20":               "personal_access_tokens_active",
		"select id from personal_access_tokens where user_id = 1 and not impersonation order by id limit 9": "personal_access_tokens_user",
	} {
		lines, err := postgres.Values[string](t.Context(), tx, "explain "+sql)
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s:\n%s", sql, plan)
		}
	}
}

func TestATokenWorksUntilMidnightOfItsLastDay(t *testing.T) {
	t.Parallel()
	last := time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)
	for now, want := range map[time.Time]bool{
		last.Add(-time.Nanosecond): true,
		last:                       false,
		last.Add(time.Hour):        false,
		last.Add(-time.Hour).In(time.FixedZone("east", 5*60*60)):   true, // already the day in local time
		last.Add(time.Minute).In(time.FixedZone("west", -5*60*60)): false,
		last.AddDate(-1, 0, 0): true,
		last.Add(-time.Nanosecond).In(time.FixedZone("x", 14*60*60)): true,
	} {
		token := Token{ExpiresAt: &last}
		if got := token.Active(now); got != want {
			t.Errorf("active at %v: got %v", now, got)
		}
	}
}

func TestASecretIsPrefixAndTwentyRandomCharacters(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "svcpat-", strings.Repeat("p", 20), strings.Repeat("é", 20)} {
		secret := newSecret(prefix).Reveal()
		got, random, ok := parse(secret)
		if !ok || got != prefix || len(random) != 20 || got+random != secret {
			t.Errorf("parse(%q) = %q, %q, %v", secret, got, random, ok)
		}
	}
	random := secretbox.RandomToken(20)
	for _, hostile := range []string{
		"", random[:19], strings.Repeat("p", 21) + random, random + "\n", random + " ", random + "'; drop table users; --",
		"\xff\xfe" + random, strings.Repeat("é", 21) + random, random[:19] + "é", random[:10] + "\x00" + random[:9],
	} {
		if _, _, ok := parse(hostile); ok {
			t.Errorf("parse(%q) is taken for a token", hostile)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	for _, seed := range []string{
		"", "svcpat-", "svcpat-ABCDEFGHIJKLMNOPQRST", "ABCDEFGHIJKLMNOPQRST", "' or 1=1 --aaaaaaaaaaaaaaaaaaaaaaaa",
		"\x00svcpat-ABCDEFGHIJKLMNOPQRST", "\xff\xfe-ABCDEFGHIJKLMNOPQRST", strings.Repeat("é", 30),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		prefix, random, ok := parse(secret)
		if !ok {
			return
		}
		if prefix+random != secret {
			t.Errorf("parse(%q) loses text: %q, %q", secret, prefix, random)
		}
		if len(random) != randomLength || strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			t.Errorf("parse(%q) takes %q for random", secret, random)
		}
		if !utf8.ValidString(prefix) || utf8.RuneCountInString(prefix) > prefixLength {
			t.Errorf("parse(%q) takes %q for a prefix", secret, prefix)
		}
	})
}

// A maker's power is what its token lets it do, now and later. api lets it do
// everything that its person may do; sudo and admin_mode go beyond that, so
// they are handed on only by a token that has them. The other scopes are parts
// of api. Whose token it is bounds the rest: scopes that only administrators
// may hold do not fit on another's token, and the rights of an account are
// never those of its token alone.
func TestTK03_AChildIsNeverStrongerThanItsMaker(t *testing.T) {
	t.Parallel()
	all := access.PersonalScopes(true)
	rapid.Check(t, func(t *rapid.T) {
		maker := access.Credential{
			Kind:   rapid.SampledFrom([]access.Kind{access.PersonalToken, access.OAuthToken}).Draw(t, "kind"),
			Scopes: rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID).Draw(t, "maker"),
		}
		child := access.Scopes(rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID).Draw(t, "child"))
		owner := &user.User{AccountState: user.AccountState{Admin: rapid.Bool().Draw(t, "admin")}}
		now := time.Date(2024, 5, 2, 12, 0, 0, 0, time.UTC)
		d := Draft{Name: "child", Scopes: child, ExpiresAt: &now}
		if checkPower(maker, child) != nil || d.check(owner, now) != nil {
			return
		}
		for _, beyond := range []access.Scope{access.ScopeSudo, access.ScopeAdminMode} {
			if child.Has(beyond) && !maker.Scopes.Has(beyond) {
				t.Fatalf("%v made %v", maker.Scopes, child)
			}
		}
		if !owner.Admin && slices.ContainsFunc(child, func(s access.Scope) bool { return !access.PersonalScopes(false).Has(s) }) {
			t.Fatalf("%v on a token of someone who does not administer", child)
		}
	})
}

func TestSessionsAndTheShellActWithAllRights(t *testing.T) {
	t.Parallel()
	for _, kind := range []access.Kind{access.NoCredential, access.Session} {
		if err := checkPower(access.Credential{Kind: kind}, access.PersonalScopes(true)); err != nil {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestTheLifetimeIsAYearUnlessSet(t *testing.T) {
	t.Parallel()
	now := time.Date(2023, 5, 2, 23, 59, 0, 0, time.UTC)
	if got, want := latestExpiry(now, nil), time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := latestExpiry(now, new(7)), time.Date(2023, 5, 9, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
