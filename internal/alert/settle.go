package alert

import "time"

// open is an alert that is not resolved yet, as reports find it.
type open struct {
	ID          int64
	IID         int32
	Title       string
	Status      Status
	Fingerprint []byte
}

// fresh is a new alert: the first report of it, and how many there were.
type fresh struct {
	*report
	iid    int32
	events int64
	ended  *time.Time // when a report that came together with it resolved it
}

// ended is what becomes of an alert that a report resolved.
type ended struct {
	id  int64
	was Status
	at  time.Time
}

// settled is what is to be written for some reports, and what their senders are told.
type settled struct {
	created  []*fresh
	repeated map[int64]int64 // how many more reports of open alerts, by id
	resolved []ended
	briefs   [][]Brief // by payload
	unknown  []bool    // by payload: it resolves something that is not open, and nothing else
}

// settle says what follows from payloads that came one after another. known are the open alerts of their fingerprints, last is the newest
// number of the project. It is the only place that groups alerts.
func settle(known []open, last int32, payloads []parsed) settled {
	type current struct {
		open
		fresh *fresh
	}
	byPrint := map[string]*current{}
	for _, o := range known {
		byPrint[string(o.Fingerprint)] = &current{open: o}
	}
	s := settled{repeated: map[int64]int64{}, briefs: make([][]Brief, len(payloads)), unknown: make([]bool, len(payloads))}
	for i, p := range payloads {
		s.briefs[i] = []Brief{}
		for j := range p.reports {
			r := &p.reports[j]
			var c *current
			if r.fingerprint != nil {
				c = byPrint[string(r.fingerprint)]
			}
			switch {
			case r.resolves && c == nil:
				s.unknown[i] = !p.metrics
				continue
			case r.resolves && c.fresh != nil:
				c.fresh.ended = r.endedAt
				delete(byPrint, string(r.fingerprint))
			case r.resolves:
				s.resolved = append(s.resolved, ended{id: c.ID, was: c.Status, at: *r.endedAt})
				delete(byPrint, string(r.fingerprint))
			case c == nil:
				last++
				f := &fresh{report: r, iid: last, events: 1}
				s.created = append(s.created, f)
				c = &current{open: open{IID: last, Title: r.title}, fresh: f}
				byPrint[string(r.fingerprint)] = c // which nobody without a fingerprint looks for
			case c.fresh != nil:
				c.fresh.events++
			default:
				s.repeated[c.ID]++
			}
			if !r.resolves || !p.metrics {
				s.briefs[i] = append(s.briefs[i], Brief{IID: c.IID, Title: c.Title})
			}
		}
	}
	return s
}
