package user

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Brief is the part of an account that everyone sees.
type Brief struct {
	ID       int64
	Username string
	Name     string
	State    State
	Kind     Kind
	LockedAt *time.Time
	Avatar   string
}

// Brief is the public part of the account.
func (u *User) Brief() Brief {
	return Brief{
		ID: u.ID, Username: u.Username, Name: u.Name, State: u.State, Kind: u.Kind,
		LockedAt: u.LockedAt, Avatar: u.Avatar,
	}
}

// Filter narrows the list of accounts.
type Filter struct {
	Username, Search            string
	Active, Blocked, Pending    bool
	ExcludeActive               bool
	ExcludePending, Locked      bool
	External, ExcludeExternal   bool
	ExcludeInternal, NoBots     bool
	CreatedAfter, CreatedBefore time.Time
	Provider, ExternUID         string
	TwoFactor                   string // "enabled" or "disabled"; anything else is ignored
	WithoutProjects             bool
	Admins, Auditors, SkipLDAP  bool
	SAMLProviderID              int64
	CustomAttributes            map[string]string
	ExplicitOrder               bool // the caller chose an order
	Visible                     access.Actor
}

// maxExact is how many whole matches a search puts before the rest.
const maxExact = 100

// List is one page of accounts for an administrator.
func (s *Service) List(ctx context.Context, f Filter, req paging.Request) (paging.Result[User], error) {
	if err := attribute.CheckFilter(f.CustomAttributes); err != nil {
		return paging.Result[User]{}, err
	}
	return list(ctx, s.deps.DB, f, req, func(l *postgres.List) *postgres.List { return l.Columns(Columns) },
		func(u User) Brief { return u.Brief() })
}

// ListBrief is one page of accounts for everyone else.
func (s *Service) ListBrief(ctx context.Context, f Filter, req paging.Request) (paging.Result[Brief], error) {
	return list(ctx, s.deps.DB, f, req, func(l *postgres.List) *postgres.List { return l.Columns(briefColumns) },
		func(b Brief) Brief { return b })
}

func list[T any](ctx context.Context, db *postgres.DB, f Filter, req paging.Request, columns func(*postgres.List) *postgres.List, brief func(T) Brief) (paging.Result[T], error) {
	if f.impossible() {
		return paging.Result[T]{}, nil
	}
	if f.Search != "" && !f.ExplicitOrder && !req.Keyset {
		return ranked(ctx, db, f, req, columns, brief)
	}
	l, total := f.matching(), 0
	if f.narrows() {
		var err error
		if total, err = paging.Count(ctx, db, f.matches()); err != nil {
			return paging.Result[T]{}, err
		}
		if total <= paging.MaxTotal || f.Search != "" && !req.Keyset {
			l = f.matches()
		}
	}
	key := postgres.Key{Desc: req.Desc}
	value := func(b Brief) []string { return []string{strconv.FormatInt(b.ID, 10)} }
	switch req.OrderBy {
	case "name":
		key.Expr = "u.name"
		value = func(b Brief) []string { return []string{b.Name, strconv.FormatInt(b.ID, 10)} }
	case "username":
		key.Expr = "u.username"
		value = func(b Brief) []string { return []string{b.Username, strconv.FormatInt(b.ID, 10)} }
	case "updated_at":
		key.Expr = "u.updated_at" // has no cursor
	default: // created_at too: ids are given in the order of creation
		if f.dated() && !req.Keyset {
			key.Expr = "u.created_at" // along the ids, all that is younger would be read first
		}
	}
	id := postgres.Key{Expr: "u.id", Desc: req.Desc}
	if key.Expr == "" {
		l.Order(id)
	} else {
		l.Order(key, id)
	}
	after := func(row T) []string { return value(brief(row)) }
	if f.narrows() {
		return paging.FetchOf(ctx, db, columns(l), req, total, after)
	}
	return paging.Fetch(ctx, db, columns(l), req, after)
}

// matching are the accounts that the filter leaves.
func (f Filter) matching() *postgres.List {
	l := postgres.From("users u")
	f.where(l)
	if f.Search != "" {
		whereMatches(l, f)
	}
	if f.narrows() {
		l.Replan()
	}
	return l
}

// matches are the same accounts, as far as lists are counted. They are found
// before they are put in order: where they are few, or sit at one end of the
// order, to walk along it would read the whole table.
func (f Filter) matches() *postgres.List {
	l := f.matching().Columns("u.*").Limit(paging.MaxTotal + 1)
	if f.dated() {
		l.Order(postgres.Key{Expr: "u.created_at", Desc: true})
	}
	return postgres.Among(l, "u").Replan()
}

// narrows reports whether values of the filter decide how many it leaves,
// from nobody to everybody.
func (f Filter) narrows() bool {
	return f.Search != "" || f.dated() || f.SAMLProviderID != 0 || len(f.CustomAttributes) > 0
}

func (f Filter) dated() bool { return !f.CreatedAfter.IsZero() || !f.CreatedBefore.IsZero() }

// impossible reports whether the filter leaves nobody for sure. The database
// would read the whole table to find that out.
func (f Filter) impossible() bool {
	return f.Blocked && (f.Active || !f.Visible.Admin()) || f.Pending && f.ExcludePending || f.Active && f.ExcludeActive || f.External && f.ExcludeExternal
}

// ranked puts whole matches first: public address, username, name. They are
// read on their own, for the rest is sorted as far as it is counted: of a word
// that more people match, some stay out.
func ranked[T any](ctx context.Context, db *postgres.DB, f Filter, req paging.Request, columns func(*postgres.List) *postgres.List, brief func(T) Brief) (paging.Result[T], error) {
	term := f.term()
	whole := postgres.From("users u").Columns("u.*").Limit(paging.MaxTotal + 1)
	f.where(whole)
	whole.Where("(lower(u.public_email) = lower(?) and u.public_email <> '') or lower(u.username) = lower(?) or lower(u.name) = lower(?)", term, term, term)
	byName := []postgres.Key{{Expr: "u.name"}, {Expr: "u.id"}}
	sql, args := columns(postgres.Among(whole, "u")).Order(byName...).Limit(maxExact).SQL()
	first, err := postgres.All[T](ctx, db, sql, args...)
	if err != nil {
		return paging.Result[T]{}, err
	}
	first = byRank(first, term, brief)
	ids := make([]int64, len(first))
	for i, row := range first {
		ids[i] = brief(row).ID
	}
	rest := columns(f.matches()).Order(byName...)
	if len(ids) > 0 {
		rest.Where("u.id <> all(?::bigint[])", ids)
	}

	items := first[min(req.Offset(), len(first)):]
	if len(items) <= req.PerPage {
		sql, args := rest.Offset(max(0, req.Offset()-len(first))).Limit(req.PerPage + 1 - len(items)).SQL()
		more, err := postgres.All[T](ctx, db, sql, args...)
		if err != nil {
			return paging.Result[T]{}, err
		}
		items = append(items, more...)
	}
	res := paging.Result[T]{Items: items, Total: req.Offset() + len(items), More: len(items) > req.PerPage}
	if res.More {
		res.Items = items[:req.PerPage]
	}
	if res.More || (len(items) == 0 && req.Page > 1) {
		res.Total, err = paging.Count(ctx, db, f.matches())
	}
	return res, err
}

// byRank sorts whole matches stably: address, then username, then name.
func byRank[T any](rows []T, term string, brief func(T) Brief) []T {
	var address, username, name []T
	for _, row := range rows {
		switch b := brief(row); {
		case strings.EqualFold(b.Username, term):
			username = append(username, row)
		case strings.EqualFold(b.Name, term):
			name = append(name, row)
		default:
			address = append(address, row)
		}
	}
	return append(append(address, username...), name...)
}

func (f Filter) term() string { return strings.TrimPrefix(f.Search, "@") }

// whereMatches finds the term inside names, or as a whole where the index does
// not know it. Addresses only ever match as a whole.
func whereMatches(l *postgres.List, f Filter) {
	term := f.term()
	_, address, _ := parseAddress(term)
	if !f.Visible.Admin() {
		address = ""
	}
	if !indexed(term) {
		l.Where("lower(u.username) = lower(?) or lower(u.name) = lower(?) or (lower(u.public_email) = lower(?) and u.public_email <> '') "+
			"or u.id = any(array(select user_id from email_claims where address = ?))", term, term, term, address)
		return
	}
	pattern := postgres.LikeContains(term)
	l.Where("u.username ilike ? or u.name ilike ? or (lower(u.public_email) = lower(?) and u.public_email <> '') "+
		"or u.id = any(array(select user_id from email_claims where address = ?))", pattern, pattern, term, address)
}

// indexed reports whether the term has three letters or digits in a row, which
// is what the index is made of.
func indexed(term string) bool {
	run := 0
	for _, r := range term {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			run = 0
		} else if run++; run == 3 {
			return true
		}
	}
	return false
}

// where adds every condition but the search.
func (f Filter) where(l *postgres.List) {
	if f.Visible.Admin() {
		l.Where("u.removal is null")
	} else {
		l.Where("u.state in ('active', 'deactivated')")
	}
	if f.Username != "" {
		l.Where("lower(u.username) = lower(?)", f.Username)
	}
	if f.Active {
		l.Where("u.state = 'active'")
	}
	if f.ExcludeActive {
		l.Where("u.state <> 'active'")
	}
	if f.Blocked {
		l.Where("u.state in ('blocked', 'ldap_blocked', 'blocked_pending_approval', 'banned')")
	}
	if f.Pending {
		l.Where("u.state = 'blocked_pending_approval'")
	}
	if f.ExcludePending {
		l.Where("u.state <> 'blocked_pending_approval'")
	}
	if f.Locked {
		l.Where("u.locked_at is not null")
	}
	if f.External {
		l.Where("u.external")
	}
	if f.ExcludeExternal {
		l.Where("not u.external")
	}
	if f.ExcludeInternal {
		l.Where("u.kind in ('human', 'project_bot', 'service_account')")
	}
	if f.NoBots {
		l.Where("u.kind <> 'project_bot'")
	}
	if !f.CreatedAfter.IsZero() {
		l.Where("u.created_at >= ?", f.CreatedAfter)
	}
	if !f.CreatedBefore.IsZero() {
		l.Where("u.created_at <= ?", f.CreatedBefore)
	}
	if f.ExternUID != "" {
		l.Where("u.id = any(array(select user_id from identities where provider = ? and extern_uid = ?))", f.Provider, f.ExternUID)
	}
	switch f.TwoFactor {
	case "enabled":
		l.Where("u.two_factor_enabled")
	case "disabled":
		l.Where("not u.two_factor_enabled")
	}
	if f.Admins {
		l.Where("u.admin")
	}
	if f.WithoutProjects { // neither a member of one nor its maker
		l.Where("not exists (select 1 from members m where m.user_id = u.id and m.project_id is not null) " +
			"and not exists (select 1 from projects p where p.creator_id = u.id and not p.removal)")
	}
	if f.Auditors {
		l.Where("u.auditor")
	}
	if f.SkipLDAP {
		l.Where("not exists (select 1 from identities i where i.user_id = u.id and i.provider like 'ldap%')")
	}
	if f.SAMLProviderID != 0 {
		l.Where("u.id in (select user_id from identities where saml_provider_id = ?)", f.SAMLProviderID)
	}
	for _, key := range slices.Sorted(maps.Keys(f.CustomAttributes)) {
		l.Where("u.id in (select user_id from user_custom_attributes where key = ? and value = ?)", key, f.CustomAttributes[key])
	}
}

// Activity is the day on which an account was last used.
type Activity struct {
	ID             int64
	Username       string
	LastActivityOn time.Time
}

// Activities lists when accounts were last used, the longest ago first.
func (s *Service) Activities(ctx context.Context, from time.Time, req paging.Request) (paging.Result[Activity], error) {
	l := postgres.From("users u").Columns("u.id, u.username, u.last_activity_on").
		Where("u.last_activity_on >= ?", from).Where("u.removal is null").
		Order(postgres.Key{Expr: "u.last_activity_on"}, postgres.Key{Expr: "u.id"})
	return paging.Fetch[Activity](ctx, s.deps.DB, l, req, nil)
}
