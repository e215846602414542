package user

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// BotDraft is what the account behind a project or group token is made of.
type BotDraft struct {
	Username string
	Name     string
	External bool
}

// CreateBot makes the account behind a token, in the transaction that makes
// the token. Nobody signs in to it, its address receives nothing, and it has
// no room of its own to create things in.
func (s *Service) CreateBot(ctx context.Context, tx pgx.Tx, by access.Actor, d BotDraft) (*User, error) {
	now := s.deps.Clock.Now()
	u := &User{
		AccountState: AccountState{
			Username: d.Username, Name: d.Name, Email: d.Username + "@noreply." + s.host, External: d.External,
			State: Active, Kind: ProjectBot, ConfirmedAt: &now,
		},
		ThemeID: 1, ColorSchemeID: 1, CreatedAt: now, UpdatedAt: now, Identities: []Identity{},
	}
	if by.SignedIn() {
		u.CreatedByID = new(by.ID())
	}
	var f fault.Fields
	validate(u, &f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := s.insert(ctx, tx, u, nil, nil); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, sqlClaimAddress, asciiLower(u.Email), u.ID); err != nil {
		return nil, postgres.Faults{"email_claims_pkey": errEmailTaken}.Translate(err)
	}
	return u, s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, User: u})
}

// AlertBot is the account of the instance that makes incidents of alerts.
func (s *Service) AlertBot(ctx context.Context) (*User, error) {
	var id int64
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		id, err = s.own(ctx, tx, &User{
			AccountState: AccountState{Username: "alert-bot", Name: "Alert Bot", Kind: AlertBot}, Bio: "The alert bot makes incidents of alerts, and closes them.",
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, id)
}

// ActsAsBot reports whether the caller is the account behind a project or
// group token, whose life is decided by those who manage that place.
func ActsAsBot(a access.Actor) bool {
	u := FromActor(a)
	return u != nil && u.Kind == ProjectBot
}
