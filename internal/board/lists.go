package board

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// refused is why nothing becomes of a list, in the form that clients of this API look for.
func refused(format string, args ...any) error {
	return fault.Within(fault.Rejected, "error", format, args...)
}

var errUnmoved = refused("List could not be moved!")

// faults are what a list finds that cannot come to be.
var faults = postgres.Faults{
	"board_lists_label_key":     refused("Label has already been taken"),
	"board_lists_milestone_key": refused("Milestone has already been taken"),
	"board_lists_user_key":      refused("User has already been taken"),
}

// Lists reads the lists of some boards, by board, in the order in which they stand.
func (s *Service) Lists(ctx context.Context, boardIDs ...int64) (map[int64][]List, error) {
	rows, err := postgres.All[List](ctx, s.deps.DB, sqlLists, boardIDs)
	byBoard := make(map[int64][]List, len(boardIDs))
	for _, l := range rows {
		byBoard[l.BoardID] = append(byBoard[l.BoardID], l)
	}
	return byBoard, err
}

// Shown is a list with what it stands for. All three are nil where that is not to be seen any more.
type Shown struct {
	List
	Label     *label.Label
	Milestone *milestone.Form
	Person    *user.Brief
}

// Show reads what lists of an owner's boards stand for. What a project inherited from a group that it left is not shown: who sees the project may
// not see that group.
func (s *Service) Show(ctx context.Context, o *owner.Owner, all ...List) ([]Shown, error) {
	m := marksOf(all)
	lineage, err := owner.Lineage(ctx, s.deps.DB, o.Entity)
	if fault.Is(err, fault.NotFound) {
		lineage, err = nil, nil // it goes at this moment
	}
	if err != nil {
		return nil, err
	}
	labels, err := s.deps.Labels.Among(ctx, s.deps.DB, m.LabelIDs)
	if err != nil {
		return nil, err
	}
	people, err := s.deps.Users.Briefs(ctx, m.AssigneeIDs...)
	if err != nil {
		return nil, err
	}
	milestones, err := s.deps.Milestones.Forms(ctx, m.MilestoneIDs, func(int64) string { return o.Path })
	if err != nil {
		return nil, err
	}
	shown := make([]Shown, len(all))
	for n, l := range all {
		shown[n].List = l
		if l.LabelID != nil {
			if of, known := labels[*l.LabelID]; known && inherited(lineage, of.NamespaceID) {
				shown[n].Label = &of
			}
		}
		if l.MilestoneID != nil {
			if of, known := milestones[*l.MilestoneID]; known && inherited(lineage, of.GroupID) {
				shown[n].Milestone = &of
			}
		}
		if l.UserID != nil {
			if of, known := people[*l.UserID]; known {
				shown[n].Person = &of
			}
		}
	}
	return shown, nil
}

// inherited reports whether something belongs to an owner itself or to a group that it stands in.
func inherited(lineage []int64, groupID *int64) bool {
	return groupID == nil || slices.Contains(lineage, *groupID)
}

// FindList reads a list of a board.
func (s *Service) FindList(ctx context.Context, of bus.Entity, boardID, id int64) (*List, error) {
	if _, err := s.Find(ctx, of, boardID); err != nil {
		return nil, err
	}
	return foundList(postgres.One[List](ctx, s.deps.DB, sqlFindList, boardID, id))
}

func foundList(l List, err error) (*List, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	return &l, err
}

// AddList puts a new list at the end of a board. It stands for a label or milestone that the owner has or inherits, or for somebody who is in it;
// the latter two where the tier has them.
func (s *Service) AddList(ctx context.Context, by access.Actor, of bus.Entity, boardID int64, subject Subject) (*List, error) {
	if _, err := s.Find(ctx, of, boardID); err != nil {
		return nil, err
	}
	if subject.UserID != nil {
		if err := s.checkMember(ctx, of, *subject.UserID); err != nil {
			return nil, err
		}
	}
	var l List
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.hold(ctx, tx, of, subject); err != nil {
			return err
		}
		b, err := lock(ctx, tx, of, boardID)
		if err != nil {
			return err
		}
		end, err := postgres.Value[int](ctx, tx, sqlCountLists, b.ID)
		if err != nil {
			return err
		}
		if end >= maxLists {
			return refused("A board has %d lists at the most: delete one first", maxLists)
		}
		l, err = postgres.One[List](ctx, tx, sqlInsertList, b.ID, end, subject.LabelID, subject.MilestoneID, subject.UserID, s.deps.Clock.Now())
		if err != nil {
			return faults.Translate(err)
		}
		return s.publish(ctx, tx, Updated, by, of, b)
	})
	return &l, err
}

// hold keeps what a list is to stand for from going.
func (s *Service) hold(ctx context.Context, tx pgx.Tx, of bus.Entity, subject Subject) error {
	lineage, err := owner.Lineage(ctx, tx, of)
	if err != nil {
		return err
	}
	_, projectID := owner.Keys(of)
	missing := "Label"
	switch {
	case subject.LabelID != nil:
		_, err = postgres.Value[int64](ctx, tx, sqlHoldLabel, *subject.LabelID, projectID, lineage)
	case subject.MilestoneID != nil:
		missing = "Milestone"
		_, err = postgres.Value[int64](ctx, tx, sqlHoldMilestone, *subject.MilestoneID, projectID, lineage)
	case subject.UserID != nil:
		missing = "User"
		_, err = postgres.Value[int64](ctx, tx, sqlHoldUser, *subject.UserID)
	default:
		err = postgres.ErrNoRows
	}
	if errors.Is(err, postgres.ErrNoRows) {
		return refused("%s not found", missing)
	}
	return err
}

// checkMember refuses people who have no role in an owner.
func (s *Service) checkMember(ctx context.Context, of bus.Entity, id int64) error {
	u, err := s.deps.Users.Find(ctx, id)
	if fault.Is(err, fault.NotFound) || (err == nil && u.State != user.Active) {
		return refused("User not found")
	} else if err != nil {
		return err
	}
	find := s.deps.Owners.FindProject
	if of.Kind == bus.OfGroup {
		find = s.deps.Owners.FindGroup
	}
	o, err := find(ctx, access.Actor{Person: u.Person()}, strconv.FormatInt(of.ID, 10))
	if fault.Is(err, fault.NotFound) || (err == nil && o.Target().Role < access.Guest) {
		return refused("User not found")
	}
	return err
}

// MoveList puts a list of a board elsewhere; those between make room.
func (s *Service) MoveList(ctx context.Context, by access.Actor, of bus.Entity, boardID, id int64, position int) (l *List, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		b, err := lock(ctx, tx, of, boardID)
		if err != nil {
			return err
		}
		if l, err = foundList(postgres.One[List](ctx, tx, sqlFindList, b.ID, id)); err != nil {
			return err
		}
		count, err := postgres.Value[int](ctx, tx, sqlCountLists, b.ID)
		if err != nil {
			return err
		}
		if position < 0 || position >= count || position == l.Position {
			return errUnmoved
		}
		if _, err := tx.Exec(ctx, sqlMoveList, b.ID, l.ID, l.Position, position); err != nil {
			return err
		}
		l.Position = position
		return s.publish(ctx, tx, Updated, by, of, b)
	})
	return l, err
}

// RemoveList takes a list from a board; those behind it move up.
func (s *Service) RemoveList(ctx context.Context, by access.Actor, of bus.Entity, boardID, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		b, err := lock(ctx, tx, of, boardID)
		if err != nil {
			return err
		}
		gone, err := tx.Exec(ctx, sqlDeleteList, b.ID, id)
		if err == nil && gone.RowsAffected() == 0 {
			err = errMissing
		}
		if err != nil {
			return err
		}
		return s.publish(ctx, tx, Updated, by, of, b)
	})
}

// follow lets lists stand for what others become, once on each board. The others are held first, then the boards.
func follow(ctx context.Context, tx pgx.Tx, others []int64, into int64, hold, boards, double, become string) error {
	if _, err := tx.Exec(ctx, hold, others); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, boards, append([]int64{into}, others...)); err != nil {
		return err
	}
	for _, sql := range []string{double, become} {
		if _, err := tx.Exec(ctx, sql, others, into); err != nil {
			return err
		}
	}
	return nil
}

// drop takes lists away with what they stand for, after their boards are locked.
func drop(ctx context.Context, tx pgx.Tx, lock string, of any, remove string, id int64) error {
	if _, err := tx.Exec(ctx, lock, of); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, remove, id)
	return err
}

// OnLabel takes the lists of a label away with it, and lets those of labels that become another stand for that one.
func (s *Service) OnLabel(ctx context.Context, tx pgx.Tx, e label.Event) error {
	switch {
	case e.Action == label.Deleted:
		return drop(ctx, tx, sqlLockByLabels, []int64{e.Label.ID}, sqlDropLabel, e.Label.ID)
	case e.Action == label.Promoted && len(e.Merged) > 0:
		return follow(ctx, tx, e.Merged, e.Label.ID, sqlEndLabels, sqlLockByLabels, sqlDropDoubleLabels, sqlRelabel)
	}
	return nil
}

// OnMilestone takes the lists of a milestone away with it, and lets those of milestones that become another stand for that one.
func (s *Service) OnMilestone(ctx context.Context, tx pgx.Tx, e milestone.Event) error {
	switch {
	case e.Action == milestone.Deleted:
		return drop(ctx, tx, sqlLockByMilestones, []int64{e.Milestone.ID}, sqlDropMilestone, e.Milestone.ID)
	case e.Action == milestone.Promoted && len(e.Merged) > 0:
		return follow(ctx, tx, e.Merged, e.Milestone.ID, sqlEndMilestones, sqlLockByMilestones, sqlDropDoubleMilestones, sqlReplan)
	}
	return nil
}

// OnUserRemoving takes the lists of a person away with the account.
func (s *Service) OnUserRemoving(ctx context.Context, tx pgx.Tx, e user.Removing) error {
	return drop(ctx, tx, sqlLockByUser, e.UserID, sqlDropUser, e.UserID)
}
