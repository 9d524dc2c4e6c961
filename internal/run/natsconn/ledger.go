package natsconn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"
)

// keep leases shares until ctx ends, and gives them back then.
func (s *lease) keep(ctx context.Context) {
	tick := time.NewTicker(min(look, s.limits.wait/4))
	defer tick.Stop()
	var last time.Time
	changes, unwatch := s.watch(ctx)
	defer unwatch()
	for {
		due := false
		select {
		case <-ctx.Done():
			leaving, cancel := context.WithTimeout(context.Background(), verdictTime)
			defer cancel()
			_ = s.settle(leaving, true, true)
			return
		case <-s.wake:
		case _, open := <-changes:
			if !open {
				changes = nil // each tick looks all the same
			}
		case <-tick.C:
			due = true
		}
		if Pause(ctx, breath-time.Since(last)) != nil {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, verdictTime)
		_ = s.settle(asking, due, false) // without NATS the lease ends by itself
		cancel()
		last = time.Now()
	}
}

// watch says when others have written the ledger. Without it, each tick looks.
func (s *lease) watch(ctx context.Context) (changes <-chan jetstream.KeyValueEntry, stop func()) {
	kv, err := s.limits.conn.bucket(ctx, limitConfig())
	if err != nil {
		return nil, func() {}
	}
	w, err := kv.Watch(ctx, s.key, jetstream.MetaOnly())
	if err != nil {
		return nil, func() {}
	}
	return w.Updates(), func() { _ = w.Stop() }
}

func limitConfig() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: limitBucket, TTL: limitAge, Storage: jetstream.MemoryStorage}
}

// settle reads the ledger, and writes what this process wants and has. leave takes this process out of it.
func (s *lease) settle(ctx context.Context, due, leave bool) error {
	kv, err := s.limits.conn.bucket(ctx, limitConfig())
	if err != nil {
		return err
	}
	for {
		began := time.Now()
		var book ledger
		entry, err := kv.Get(ctx, s.key)
		revision := uint64(0)
		switch {
		case err == nil:
			revision = entry.Revision()
			_ = json.Unmarshal(entry.Value(), &book) // one that cannot be read is begun anew
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return err
		}
		me, write := s.plan(&book, began, due, leave)
		if !write {
			return nil
		}
		data, err := json.Marshal(book)
		if err != nil {
			return fmt.Errorf("write a ledger: %w", err)
		}
		if _, err = kv.Update(ctx, s.key, data, revision); errors.Is(err, jetstream.ErrKeyExists) ||
			wrongRevision(err) {
			continue
		}
		if err != nil {
			return err
		}
		s.beaten = began
		s.apply(me, book, began, revision == 0)
		return nil
	}
}

func wrongRevision(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) &&
		(refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// plan enters this process into the ledger, and takes lost ones out. write is false when nothing has to change.
func (s *lease) plan(book *ledger, now time.Time, due, leave bool) (me leaseHolder, write bool) {
	if book.Holders == nil {
		book.Holders = map[string]leaseHolder{}
	}
	id := s.limits.id
	before, listed := book.Holders[id]
	write = s.bury(book, now)
	if leave {
		delete(book.Holders, id)
		return leaseHolder{}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if due {
		s.measure(now)
	}
	me = leaseHolder{Beat: s.beat, Want: s.want(), Have: s.have, Last: before.Last, Limit: s.limit}
	s.telling = s.given
	if s.given > s.told {
		book.Seq++
		me.Last = book.Seq
	}
	if !listed {
		me.Have.Requests, me.Have.Tokens, me.Have.Slots = 0, 0, s.used // the share is lost; calls under way go on
	}
	book.Holders[id] = me
	granted := book.grant(id)
	s.contended = book.contended(id)
	granted.Slots = max(granted.Slots, min(s.used, me.Have.Slots))
	if !due && !s.contended { // slots that are free for a moment are kept
		granted.Slots = max(granted.Slots, me.Have.Slots)
	}
	me.Have = granted
	s.base = book.base(id)
	write = write || !listed || me.Last != before.Last || me.Have != before.Have ||
		me.Want.Slots > before.Want.Slots && me.Want.Slots > me.Have.Slots ||
		due && (me.Want != before.Want || now.Sub(s.beaten) > s.limits.wait/4)
	if write {
		s.beat++
		me.Beat = s.beat
		s.lower(me.Have)
	}
	book.Holders[id] = me
	return me, write
}

// bury takes holders out that have not been heard of for too long.
func (s *lease) bury(book *ledger, now time.Time) (changed bool) {
	for id, h := range book.Holders {
		last, ok := s.seen[id]
		if !ok || last.beat != h.Beat {
			s.seen[id] = lastSeen{h.Beat, now}
			continue
		}
		if id != s.limits.id && now.Sub(last.at) > s.limits.wait {
			delete(book.Holders, id)
			changed = true
		}
	}
	for id := range s.seen {
		if _, ok := book.Holders[id]; !ok {
			delete(s.seen, id)
		}
	}
	return changed
}

// measure brings pace up to date. The lock is held.
func (s *lease) measure(now time.Time) {
	minutes := now.Sub(s.paced).Minutes()
	s.paced = now
	if minutes <= 0 || minutes > 1 {
		s.asked, s.spent = 0, 0
		return
	}
	const fresh = 0.2
	s.pace.Requests += fresh * (float64(s.asked)/minutes - s.pace.Requests)
	s.pace.Tokens += fresh * (float64(s.spent)/minutes - s.pace.Tokens)
	s.asked, s.spent = 0, 0
}

// want is what this process could use. The lock is held.
func (s *lease) want() share {
	all := share{
		Requests: float64(s.limit.RequestsPerMinute), Tokens: float64(s.limit.TokensPerMinute),
		Slots: s.used + s.waiting,
	}
	if s.limit.Concurrency == 0 {
		all.Slots = 0
	}
	if s.turning+s.waiting > 0 {
		return all
	}
	// In steps of a sixteenth, so that the ledger is not written for every small change.
	step := func(pace, whole float64) float64 {
		if whole == 0 || pace < whole/1000 {
			return 0
		}
		return min(whole, math.Ceil(16*greed*pace/whole)*whole/16)
	}
	return share{
		Requests: step(s.pace.Requests, all.Requests), Tokens: step(s.pace.Tokens, all.Tokens), Slots: all.Slots,
	}
}

// lower makes the share smaller before others read that it is. The lock is held.
func (s *lease) lower(to share) {
	s.have.Slots = min(s.have.Slots, to.Slots)
	s.have.Requests = min(s.have.Requests, to.Requests)
	s.have.Tokens = min(s.have.Tokens, to.Tokens)
	s.fit(time.Now())
}

// apply takes what the ledger says. Who begins a ledger begins with what a second brings; buckets are empty for those
// who come later.
func (s *lease) apply(me leaseHolder, book ledger, began time.Time, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have = me.Have
	s.have.Slots -= min(s.have.Slots, s.given-s.telling) // given up meanwhile
	s.told = s.telling
	s.limit = s.limit.tighten(book.limit())
	s.until = began.Add(s.limits.wait)
	now := time.Now()
	s.fit(now)
	if first {
		s.requests = rate.NewLimiter(s.requests.Limit(), s.requests.Burst())
		s.tokens = rate.NewLimiter(s.tokens.Limit(), s.tokens.Burst())
	}
	s.tell()
}

// fit sets the pace of the buckets to the share. The lock is held.
func (s *lease) fit(now time.Time) {
	s.requests.SetLimitAt(now, max(idle, rate.Limit(s.have.Requests/60)))
	s.requests.SetBurstAt(now, max(1, int(s.have.Requests/60)))
	s.tokens.SetLimitAt(now, max(idle, rate.Limit(s.have.Tokens/60)))
	s.tokens.SetBurstAt(now, max(1, int(s.have.Tokens)))
}
