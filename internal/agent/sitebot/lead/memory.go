package lead

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// Memory keeps sessions and rows in the process, for development and tests. It is safe for concurrent use. Make it with
// NewMemory.
type Memory struct {
	*graph.Memory

	mu   sync.Mutex
	rows map[string]*memoryRow
	// added counts the rows, so that those of one moment keep their order.
	added int
}

type memoryRow struct {
	Row
	number int
	token  string
	// ended is when the row was delivered or has failed.
	ended time.Time
}

// NewMemory returns an empty Memory.
func NewMemory(limits graph.MemoryLimits) *Memory {
	return &Memory{Memory: graph.NewMemory(limits), rows: map[string]*memoryRow{}}
}

// SaveWith saves a record of a session and adds rows, or does neither. Rows that are there already stay as they are.
func (m *Memory) SaveWith(ctx context.Context, thread string, r graph.Record, rows []Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.Save(ctx, thread, r); err != nil {
		return err
	}
	kept := make([]memoryRow, len(rows)) // at once, as the turn waits
	for i, row := range rows {
		if _, there := m.rows[row.ID]; !there {
			m.added++
			kept[i].Row, kept[i].number = row, m.added
			m.rows[row.ID] = &kept[i]
		}
	}
	return nil
}

// Erase forgets a session and its rows.
func (m *Memory) Erase(ctx context.Context, thread, site, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.Delete(ctx, thread); err != nil {
		return err
	}
	for id, r := range m.rows {
		if r.Site == site && r.Session == session {
			delete(m.rows, id)
		}
	}
	return nil
}

// Claim implements Outbox.
func (m *Memory) Claim(_ context.Context, now time.Time, wants []Want) (claims []Claim, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, want := range wants {
		due := m.sorted(func(r *memoryRow) bool {
			return r.State == Pending && r.Receiver == want.Receiver && r.Site == want.Site && !r.Next.After(now)
		})
		slices.SortStableFunc(due, func(a, b *memoryRow) int { return a.Next.Compare(*b.Next) })
		for _, r := range due[:min(want.Most, len(due))] {
			end := now.Add(Lease)
			r.token, r.Next = rand.Text(), &end
			r.Attempts++
			r.Tries++
			claims = append(claims, Claim{r.Row, r.token})
		}
	}
	return claims, nil
}

// sorted returns the rows that are wanted, in the order in which they came.
func (m *Memory) sorted(wanted func(*memoryRow) bool) []*memoryRow {
	var found []*memoryRow
	for _, r := range m.rows {
		if wanted(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *memoryRow) int { return cmp.Compare(a.number, b.number) })
	return found
}

// Finish implements Outbox.
func (m *Memory) Finish(_ context.Context, c Claim, result Result) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[c.ID]
	if r == nil || r.token != c.Token {
		return nil
	}
	r.token, r.State, r.LastError, r.Next, r.Delivered, r.ended = "", result.State, nil, nil, nil, result.At
	if result.Error != "" {
		r.LastError = &result.Error
	}
	switch result.State {
	case Pending:
		r.Next, r.ended = &result.Next, time.Time{}
	case Delivered:
		r.Delivered = &result.At
	}
	return nil
}

// Tend implements Outbox.
func (m *Memory) Tend(_ context.Context, now time.Time, revive []Address) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.rows {
		switch {
		case r.State != Pending && !r.ended.Add(RowRetention).After(now):
			delete(m.rows, id)
		case r.State == Delivered && !r.ended.Add(BodyRetention).After(now):
			r.Body = nil
		case r.State != Pending || r.token != "" && r.Next.After(now):
		case slices.Contains(revive, Address{r.Receiver, r.Site}):
			r.Next = &now
		case !r.Next.Add(GiveUp).After(now):
			unclaimed := Unclaimed
			r.State, r.ended, r.Next, r.LastError, r.token = Failed, now, nil, &unclaimed, ""
		}
	}
	return nil
}

// Unclaimed is the error of a row that nobody delivers.
const Unclaimed = "no server delivers to this receiver any more: is it still in the site's file, " +
	"and are its variables set?"

// Leads implements Ledger.
func (m *Memory) Leads(_ context.Context, f Filter) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := []Row{}
	for _, r := range m.sorted(func(r *memoryRow) bool { return f.selects(&r.Row) }) {
		row := r.Row
		row.Body = nil
		rows = append(rows, row)
	}
	return rows, nil
}

// selects reports whether a row is wanted.
func (f Filter) selects(r *Row) bool {
	return (f.Site == "" || f.Site == r.Site) && (f.Session == "" || f.Session == r.Session) &&
		(f.State == "" || f.State == r.State)
}

// Resend implements Ledger.
func (m *Memory) Resend(_ context.Context, now time.Time, ids ...string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var resent []string
	for _, r := range m.sorted(func(r *memoryRow) bool {
		return r.Body != nil && (len(ids) == 0 || slices.Contains(ids, r.ID))
	}) {
		resent = append(resent, r.ID)
		if r.token != "" && r.Next.After(now) {
			continue
		}
		r.State, r.Since, r.Tries, r.Next, r.Delivered, r.ended, r.token = Pending, now, 0, &now, nil, time.Time{}, ""
	}
	return resent, nil
}
