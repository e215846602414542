package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"stithy/internal/kit/bus"
)

// digest is a SHA-256 over parts, each with its length before it, so that no two lists of parts give the same bytes.
func digest(parts ...[]byte) []byte { sum := sha256.Sum256(join(parts...)); return sum[:] }

func join(parts ...[]byte) []byte {
	var all []byte
	for _, part := range parts {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	return all
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// moment is a time as the database keeps it.
func moment(t time.Time) []byte { return number(t.UnixMicro()) }

func numbers(all []int64) []byte {
	out := make([]byte, 0, 8*len(all))
	for _, n := range all {
		out = binary.BigEndian.AppendUint64(out, uint64(n))
	}
	return out
}

// content is what an event says, apart from when it stands where.
func (e Event) content() []byte {
	target, address := []byte(nil), []byte(nil)
	if e.TargetID != nil {
		target = number(*e.TargetID)
	}
	if e.IPAddress != nil {
		address = append([]byte{1}, *e.IPAddress...)
	}
	parts := [][]byte{
		[]byte("stithy audit event 1"), []byte(e.EventType), number(e.AuthorID), []byte(e.AuthorName), []byte(e.EntityPath), []byte(e.TargetType),
		target, []byte(e.TargetDetails), address, canonical(e.Details),
	}
	if e.TopID != nil { // rows of earlier releases have none, and are sealed without
		parts = append(parts, number(*e.TopID))
	}
	return digest(parts...)
}

// canonical writes JSON in the one way that does not depend on who kept it.
func canonical(text []byte) []byte {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return text
	}
	out, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return out
}

// whole is all of an event.
func (e Event) whole() []byte {
	return join(number(e.ID), moment(e.CreatedAt), []byte(e.EntityType), number(e.EntityID), e.content())
}

// entity is whose chain it is.
type entity struct {
	Type bus.EntityKind
	ID   int64
}

// head is the end of a chain.
type head struct {
	EntityType bus.EntityKind
	EntityID   int64
	Number     int64
	Hash       []byte
}

// seal is the link of an event in the chain of its entity.
type seal struct {
	EventID    int64
	CreatedAt  time.Time
	EntityType bus.EntityKind
	EntityID   int64
	Number     int64
	Block      int64
	Content    []byte
	Previous   []byte
	Hash       []byte
	MAC        []byte `db:"mac"`
}

func (s seal) entity() entity { return entity{s.EntityType, s.EntityID} }

func (s seal) sum() []byte {
	return digest([]byte("stithy audit seal 1"), s.Previous, number(s.Number), number(s.Block), number(s.EventID), moment(s.CreatedAt), []byte(s.EntityType),
		number(s.EntityID), s.Content)
}

// block is what was sealed together.
type block struct {
	Number   int64
	Month    time.Time
	SealedAt time.Time
	EventIDs []int64 `db:"event_ids"`
	Content  []byte  // of all its seals
	Previous []byte
	Hash     []byte
	MAC      []byte `db:"mac"`
}

func (b block) sum() []byte {
	return digest([]byte("stithy audit block 1"), b.Previous, number(b.Number), moment(b.Month), moment(b.SealedAt), numbers(b.EventIDs), b.Content)
}

// contentOf is what a block says of its seals.
func contentOf(seals []seal) []byte {
	hashes := make([][]byte, len(seals))
	for i, s := range seals {
		hashes[i] = s.Hash
	}
	return digest(hashes...)
}

// day is the last block of a day.
type day struct {
	Day   time.Time
	Block int64
	Hash  []byte
	MAC   []byte `db:"mac"`
}

func (d day) whole() []byte { return join(moment(d.Day), number(d.Block), d.Hash) }

// retired is a month that was dropped on purpose.
type retired struct {
	Month     time.Time
	RetiredAt time.Time
	MAC       []byte `db:"mac"`
}

func (r retired) whole() []byte { return join(moment(r.Month), moment(r.RetiredAt)) }

// What is signed, by kind: a signature of one is none of another.
const (
	ofEvent   = "audit event"
	ofSeal    = "audit seal"
	ofBlock   = "audit block"
	ofDay     = "audit day"
	ofRetired = "audit month retired"
)

// origin is what the first link of a chain follows.
var origin = make([]byte, sha256.Size)

// sign is a signature with the key of the instance.
func (s *Service) sign(kind string, of []byte) []byte { return s.deps.Box.Digest(kind, string(of)) }

func (s *Service) signed(kind string, of, mac []byte) bool { return hmac.Equal(s.sign(kind, of), mac) }
