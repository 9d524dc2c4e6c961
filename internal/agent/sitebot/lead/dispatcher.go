package lead

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// slots is how many requests an address gets at once, so that one that hangs does not hold up the others.
	slots = 8
	// attemptLimit is how long one attempt may take.
	attemptLimit = 10 * time.Second
	// poll is the time between two looks for rows of other processes, and for those that are to be tried again.
	poll = time.Second
	// tendEvery is the time between two clearings of the outbox.
	tendEvery = 10 * time.Minute
	// storeLimit bounds how long a call of the outbox may take.
	storeLimit = 10 * time.Second
	// firstWait and longestWait bound the pause after a failed attempt; it doubles between them.
	firstWait   = time.Second
	longestWait = 15 * time.Minute
	// maxError bounds the error that is written down, in bytes.
	maxError = 300
)

// Delivery tells the log what became of an attempt.
type Delivery struct {
	// To names the receiver by kind and host.
	To string
	Row
	// Result is what was written down.
	Result Result
	Took   time.Duration
}

// DispatcherConfig says what a Courier works with. Only Outbox is needed.
type DispatcherConfig struct {
	Outbox Outbox
	// Receivers are those of the sites that this process serves.
	Receivers map[Address]Receiver
	// Lasting says that rows outlive the process: then Close waits only for attempts under way, and others go on later.
	Lasting bool
	// Log is told of every attempt, Trouble of an outbox that does not answer; both are called from other goroutines.
	// They may be nil.
	Log     func(Delivery)
	Trouble func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Dispatcher takes the rows of an outbox to their receivers. Several couriers, in several processes, share an outbox:
// each row is in the hands of one at a time. It is safe for concurrent use. Make it with NewCourier and end it with
// Close.
type Dispatcher struct {
	DispatcherConfig
	names map[string][]string // of the receivers, by site
	wake  chan struct{}
	stop  chan struct{}
	// ctx ends what is under way when Close does not wait any longer.
	ctx     context.Context
	abandon context.CancelCauseFunc
	ended   chan struct{}
	group   sync.WaitGroup

	mu       sync.Mutex
	underway map[Address]int
	closing  sync.Once
	tended   time.Time
	troubled bool
}

// errEnding is why an attempt is broken off at the end of the program.
var errEnding = errors.New("broken off: the program is ending")

// NewDispatcher returns a courier that is at work: first of all, what nobody holds is due at once.
func NewDispatcher(c DispatcherConfig) *Dispatcher {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = func(Delivery) {}
	}
	if c.Trouble == nil {
		c.Trouble = func(error) {}
	}
	k := &Dispatcher{
		DispatcherConfig: c, names: names(c.Receivers), wake: make(chan struct{}, 1), stop: make(chan struct{}),
		ended: make(chan struct{}), underway: map[Address]int{},
	}
	k.ctx, k.abandon = context.WithCancelCause(context.Background())
	go k.work()
	return k
}

// Names returns the receivers of a site by name. Do not change them.
func (k *Dispatcher) Names(site string) []string { return k.names[site] }

// names returns the receivers of each site by name.
func names(receivers map[Address]Receiver) map[string][]string {
	all := map[string][]string{}
	for a := range receivers {
		all[a.Site] = append(all[a.Site], a.Receiver)
	}
	for _, of := range all {
		slices.Sort(of)
	}
	return all
}

// Wake says that rows were added. It returns at once.
func (k *Dispatcher) Wake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// work claims rows until the courier is closed and what it waits for is done.
func (k *Dispatcher) work() {
	defer close(k.ended)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	stop := k.stop
	for closing := false; ; {
		k.tend()
		left := k.round()
		if closing && (k.ctx.Err() != nil || left == 0 && (k.Lasting || !k.pending())) {
			k.group.Wait()
			return
		}
		select {
		case <-k.wake:
		case <-tick.C:
		case <-k.ctx.Done():
		case <-stop:
			closing, stop = true, nil
		}
	}
}

// tend clears the outbox, the first time at the start, when it also makes due what nobody holds.
func (k *Dispatcher) tend() {
	now := k.Now()
	var revive []Address
	switch {
	case k.tended.IsZero():
		revive = slices.Collect(maps.Keys(k.Receivers))
	case now.Sub(k.tended) < tendEvery:
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, storeLimit)
	defer cancel()
	if k.noted(k.Outbox.Tend(ctx, now, revive)) {
		k.tended = now
	}
}

// noted reports whether the outbox has answered. The first of several faults in a row is told.
func (k *Dispatcher) noted(err error) bool {
	if err != nil && !k.troubled && k.ctx.Err() == nil {
		k.Trouble(fmt.Errorf("leads wait for the store: %w", err))
	}
	k.troubled = err != nil
	return err == nil
}

// round claims what there is room for and begins to deliver it. It returns how many deliveries are under way.
func (k *Dispatcher) round() int {
	k.mu.Lock()
	wants := make([]Want, 0, len(k.Receivers))
	for a := range k.Receivers {
		if free := slots - k.underway[a]; free > 0 {
			wants = append(wants, Want{a, free})
		}
	}
	k.mu.Unlock()
	if len(wants) > 0 && k.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(k.ctx, storeLimit)
		claims, err := k.Outbox.Claim(ctx, k.Now(), wants)
		cancel()
		k.noted(err)
		for _, c := range claims {
			k.begin(c)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	left := 0
	for _, n := range k.underway {
		left += n
	}
	return left
}

// pending reports whether a row waits that will be lost with the process.
func (k *Dispatcher) pending() bool {
	ledger, ok := k.Outbox.(Ledger)
	if !ok {
		return false
	}
	rows, err := ledger.Leads(k.ctx, Filter{State: Pending})
	return err == nil && slices.ContainsFunc(rows, func(r Row) bool {
		return k.Receivers[Address{r.Receiver, r.Site}] != nil
	})
}

// begin delivers a row in the background.
func (k *Dispatcher) begin(c Claim) {
	to := Address{c.Receiver, c.Site}
	k.mu.Lock()
	k.underway[to]++
	k.mu.Unlock()
	k.group.Go(func() {
		k.deliver(k.Receivers[to], c)
		k.mu.Lock()
		k.underway[to]--
		k.mu.Unlock()
		k.Wake() // there is room for another one
	})
}

// deliver makes one attempt and writes down what became of it.
func (k *Dispatcher) deliver(to Receiver, c Claim) {
	began := time.Now()
	limited, cancel := context.WithTimeout(k.ctx, attemptLimit)
	err := to.Send(limited, c.Row)
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("no answer within %s", attemptLimit)
	}
	cancel()
	result := k.judge(c, err)
	k.Log(Delivery{To: to.String(), Row: c.Row, Result: result, Took: time.Since(began)})
	// Without cancellation: what was delivered must not be delivered again because the program ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), storeLimit)
	defer cancel()
	if err := k.Outbox.Finish(ctx, c, result); err != nil {
		k.Trouble(fmt.Errorf("lead %s: what became of it is not written down, so that it is sent again: %w", c.ID, err))
	}
}

// judge says what an attempt comes to.
func (k *Dispatcher) judge(c Claim, err error) Result {
	now := k.Now()
	r := Result{State: Delivered, At: now}
	if err == nil {
		return r
	}
	end := c.Since.Add(GiveUp)
	r.State, r.Error = Pending, clipped(err.Error())
	switch {
	case k.ctx.Err() != nil:
		r.Error, r.Next = context.Cause(k.ctx).Error(), now // another process may go on at once
	case !now.Before(end):
		r.State, r.Error = Failed, fmt.Sprintf("given up after %s: %s", GiveUp, r.Error)
	default:
		r.Next = now.Add(pause(c.Tries, err))
		if r.Next.After(end) { // one last attempt
			r.Next = end
		}
	}
	return r
}

// clipped returns a text that is short enough to be kept.
func clipped(text string) string { return strings.ToValidUTF8(text[:min(maxError, len(text))], "") }

// pause returns how long to wait after a number of attempts: doubled each time, more or less a fifth, or what the
// receiver asks for.
func pause(tries int, err error) time.Duration {
	if refused, ok := errors.AsType[*refusal](err); ok && refused.after > 0 {
		return refused.after
	}
	wait := longestWait
	if doublings := max(tries-1, 0); doublings < 10 {
		wait = min(firstWait<<doublings, longestWait)
	}
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// Close takes no more time than it must: attempts under way end, and rows that are lost with the process are tried
// until ctx ends. Then the rest is broken off, and the error says how many rows that were lost. Later calls return nil.
func (k *Dispatcher) Close(ctx context.Context) error {
	var err error
	k.closing.Do(func() {
		close(k.stop)
		select {
		case <-k.ended:
		case <-ctx.Done():
			k.abandon(errEnding)
			<-k.ended
			err = k.lost()
		}
		k.abandon(errEnding)
	})
	return err
}

// lost says how many rows end with the process.
func (k *Dispatcher) lost() error {
	ledger, ok := k.Outbox.(Ledger)
	if k.Lasting || !ok {
		return nil
	}
	rows, err := ledger.Leads(context.Background(), Filter{State: Pending})
	if err != nil || len(rows) == 0 {
		return err
	}
	return fmt.Errorf("%d leads were not delivered, and are lost with this process: "+
		"sessions that are kept with --store or --redis keep them", len(rows))
}
