package store

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// maxConflicts is how many conflicting events are named.
const maxConflicts = 20

// eventCount inserts batches and counts what becomes of their events. It keeps a hash of each session, so that millions
// fit into memory.
type eventCount struct {
	replay.Imported
	events *Events
	seed   maphash.Seed
	// sessions are those that were met; true for one that was there before.
	sessions map[uint64]bool
}

func (c *eventCount) insert(ctx context.Context, batch []eventRow) error {
	if err := c.meet(ctx, batch); err != nil {
		return err
	}
	added, err := c.events.insert(ctx, batch)
	if err != nil {
		return err
	}
	fresh := make(map[string]bool, len(added))
	for _, e := range added {
		fresh[e.id] = true
		if hash := maphash.String(c.seed, e.session); !c.sessions[hash] {
			c.sessions[hash] = true // it is counted once
			c.Sessions++
		}
	}
	c.Added += len(added)
	if len(added) == len(batch) {
		return nil
	}
	var known []*eventRow
	for i := range batch {
		if fresh[batch[i].id] {
			fresh[batch[i].id] = false
		} else {
			known = append(known, &batch[i])
		}
	}
	return c.compare(ctx, known)
}

// meet finds out which sessions of a batch are in the store before any of their events is added.
func (c *eventCount) meet(ctx context.Context, batch []eventRow) error {
	names := map[string]bool{}
	for i := range batch {
		if _, met := c.sessions[maphash.String(c.seed, batch[i].session)]; !met {
			names[batch[i].session] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
		c.sessions[maphash.String(c.seed, name)] = false
	}
	rows, arg := c.events.db.listed("$1", list)
	there, err := c.events.texts(ctx, "write events to", `SELECT name FROM `+rows+`
		WHERE (SELECT true FROM exp.events AS e WHERE `+c.events.columns.sessionOf("e")+` = name LIMIT 1)`, arg)
	for _, name := range there {
		c.sessions[maphash.String(c.seed, name)] = true
	}
	return err
}

// compare tells events that are known from those that have another content under a known id.
func (c *eventCount) compare(ctx context.Context, rows []*eventRow) error {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.id
	}
	slices.Sort(ids)
	stored := map[string]replay.Event{}
	for part := range slices.Chunk(slices.Compact(ids), rowsPerPage) {
		condition, list := c.events.db.oneOf("event_id", "$1", part)
		err := c.events.db.read(ctx, c.events.columns.selectEvents()+condition, []any{list}, func(row scanner) error {
			e, err := scanEvent(row)
			stored[e.ID] = e.Event
			return err
		})
		if err != nil {
			return c.events.db.explain(ctx, "write events to", err)
		}
	}
	for _, r := range rows {
		if e, there := stored[r.id]; there && r.same(&e) {
			c.Known++
			continue
		}
		c.Conflicting++
		if len(c.Conflicts) < maxConflicts && !slices.Contains(c.Conflicts, r.id) {
			c.Conflicts = append(c.Conflicts, r.id)
		}
	}
	return nil
}

// same reports whether a stored event has the content of a row.
func (r *eventRow) same(e *replay.Event) bool {
	return r.kind == e.Type && r.unitType == e.UnitType && r.unitID == e.UnitID && r.micros == e.Time.UnixMicro() &&
		sameDocument(r.experiments, e.Experiments) && sameDocument(r.context, e.Context) &&
		sameDocument(r.metrics, e.Metrics) && sameDocument(r.payload, e.Payload)
}

func sameDocument(put string, stored json.RawMessage) bool {
	return put == string(stored) || put != "" && stored != nil && source.SameJSON(json.RawMessage(put), stored)
}
