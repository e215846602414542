package user

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// maxFollowing is how many people one may follow.
const maxFollowing = 300

// Follow lets one account follow another. It answers NotModified where that
// is so already, or never can be.
func (s *Service) Follow(ctx context.Context, followerID, followedID int64) error {
	if followerID == followedID {
		return fault.New(fault.NotModified)
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		following, err := lockPair(ctx, tx, followerID, followedID)
		if err != nil {
			return err
		}
		already, err := postgres.Value[bool](ctx, tx, sqlFollows, followerID, followedID)
		switch {
		case err != nil:
			return err
		case already:
			return fault.New(fault.NotModified)
		case following >= maxFollowing:
			return fault.WithMessage(fault.Rejected, "You can't follow more than %d users. To follow more users, unfollow some others.", maxFollowing)
		}
		if _, err := tx.Exec(ctx, sqlFollow, followerID, followedID, s.deps.Clock.Now()); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlCountFollow, followerID, followedID, 1)
		return err
	})
}

// StopFollowing ends what Follow began.
func (s *Service) StopFollowing(ctx context.Context, followerID, followedID int64) error {
	if followerID == followedID {
		return fault.New(fault.NotModified)
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockPair(ctx, tx, followerID, followedID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlUnfollow, followerID, followedID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fault.New(fault.NotModified)
		}
		_, err = tx.Exec(ctx, sqlCountFollow, followerID, followedID, -1)
		return err
	})
}

// lockPair keeps the counters of two accounts still, and reads how many the
// first one follows.
func lockPair(ctx context.Context, tx pgx.Tx, followerID, followedID int64) (following int, err error) {
	pair, err := postgres.All[struct {
		ID        int64
		Following int
	}](ctx, tx, sqlLockPair, followerID, followedID)
	if err != nil {
		return 0, err
	}
	if len(pair) != 2 {
		return 0, fault.NotFoundf("User")
	}
	for _, u := range pair {
		if u.ID == followerID {
			following = u.Following
		}
	}
	return following, nil
}

// unfollow ends all following by and of an account that is about to go.
func (s *Service) unfollow(ctx context.Context, tx pgx.Tx, userID int64) error {
	for _, sql := range []string{sqlLockPeers, sqlDropFollowed, sqlDropFollowers} {
		if _, err := tx.Exec(ctx, sql, userID); err != nil {
			return err
		}
	}
	return nil
}

// Followers lists who follows an account.
func (s *Service) Followers(ctx context.Context, userID int64, page paging.Request) (paging.Result[Brief], error) {
	l := postgres.From("follows f join users u on u.id = f.follower_id").Where("f.followed_id = ?", userID).
		Order(postgres.Key{Expr: "f.follower_id"})
	return s.people(ctx, l, page)
}

// Following lists whom an account follows.
func (s *Service) Following(ctx context.Context, userID int64, page paging.Request) (paging.Result[Brief], error) {
	l := postgres.From("follows f join users u on u.id = f.followed_id").Where("f.follower_id = ?", userID).
		Order(postgres.Key{Expr: "f.followed_id"})
	return s.people(ctx, l, page)
}

// people leaves out whom the instance has shut out.
func (s *Service) people(ctx context.Context, l *postgres.List, page paging.Request) (paging.Result[Brief], error) {
	l.Columns(briefColumns).Where("u.state in ('active', 'deactivated') and u.removal is null")
	return paging.Fetch[Brief](ctx, s.deps.DB, l, page, nil)
}
