package sitebot

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// New returns a bot. The error says what the configuration lacks.
func New(c Config) (*Bot, error) {
	if c.Sites == nil || c.Models == nil {
		return nil, errors.New("sitebot: sites and models are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Prompts == nil {
		c.Prompts = &prompt.Set{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Checkpoints == nil {
		c.Checkpoints = sessionindex.NewMemory(graph.MemoryLimits{})
	}
	if _, ok := c.Checkpoints.(Outbox); c.Leads != nil && !ok {
		return nil, errors.New("sitebot: leads need a store of sessions that is an outbox")
	}
	b := &Bot{Config: c}
	return b, b.compile()
}

// Thread is the key of a session in the checkpointer: sites never share one.
func Thread(siteName, session string) string { return sessionindex.Thread(siteName, session) }

// maxSession bounds the id of a session.
const maxSession = 200

// lockTTL is how long a session stays busy when the process that took a turn of it is gone.
const lockTTL = 15 * time.Second

// Turn answers one message of a visitor; the pieces of the answer go to sink while they come. One session has one turn
// at a time. The error is an *Error, or ctx's; after it the session is as it was, and the outcome has nothing but Use.
func (b *Bot) Turn(ctx context.Context, r Request, sink func(Event)) (*Outcome, error) {
	started := b.Now()
	t, err := b.open(r)
	if err != nil {
		return &Outcome{}, err
	}
	t.started = started
	o, err := b.answer(ctx, t, started, sink)
	if err != nil {
		b.noteEnd(ctx, t, err)
		o = &Outcome{}
	}
	o.Use = t.meter.total()
	return o, err
}

// answer takes the turn of a request that was checked.
func (b *Bot) answer(ctx context.Context, t *turn, started time.Time, sink func(Event)) (*Outcome, error) {
	r := t.request
	thread := Thread(t.Name, r.Session)
	unlock, err := b.lock(ctx, thread)
	if err != nil {
		b.hurries.hurry(thread)
		return nil, err
	}
	defer unlock()
	leave, err := b.enter(ctx, t)
	if err != nil {
		return nil, err
	}
	defer leave()
	t.watch = &stopwatch{now: b.Now, started: started, sink: sink}
	var refused error
	final, err := b.graph.RunFrom(context.WithValue(ctx, turnKey{}, t), thread,
		func(at graph.Checkpoint[State]) (input update, err error) {
			input, refused = b.begin(ctx, t, &at)
			return input, refused
		}, func(_ context.Context, token string) error {
			t.watch.token(token)
			return nil
		})
	switch {
	case err == nil:
	case t.before == nil:
		return nil, cannotRead(err)
	case t.block != NotBlocked:
		return b.refuse(ctx, t, thread)
	case refused != nil:
		return nil, refused
	default:
		b.abandon(ctx, thread, r.Session)
		return nil, turnError(ctx, err)
	}
	if len(t.receivers) > 0 {
		b.Leads.Wake()
	}
	return outcome(t, &final, t.before.TurnNumber), nil
}

// errBlocked ends a turn whose message is answered without the graph.
var errBlocked = errors.New("the message is blocked")

// begin looks at the state before a turn, and returns the input of the graph. The error is errBlocked, or says that
// there is no room for the message.
func (b *Bot) begin(ctx context.Context, t *turn, at *graph.Checkpoint[State]) (update, error) {
	r, s := t.request, &at.State
	t.before, t.restarted, t.spam = s, r.TurnNumber > 0 && at.ID == "", repeats(s, r.Input)
	if t.block = gate(s, r.Input, t.spam); t.block != NotBlocked {
		t.watch.tell(Event{Began: true, TurnNumber: s.TurnNumber})
		return nil, errBlocked
	}
	if err := b.fits(t, at); err != nil {
		return nil, err
	}
	t.watch.tell(Event{Began: true, TurnNumber: s.TurnNumber})
	return update{
		inputColumn.Set(r.Input), siteColumn.Set(t.Name), sessionColumn.Set(r.Session), spamColumn.Set(t.spam),
		lastInputColumn.Set(fingerprint(r.Input)), skillsColumn.Set(carried(s)), extractedColumn.Set(false),
		observedColumn.Set(false),
	}, nil
}

// abandonLimit bounds dropping the records of a turn.
const abandonLimit = 5 * time.Second

// abandon drops the records of a durable turn that has failed, was stopped or has lost its visitor: only the death of
// the process leaves one unfinished.
func (b *Bot) abandon(ctx context.Context, thread, session string) {
	if !b.Durable {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
	defer cancel()
	if err := b.graph.Abandon(ctx, thread); err != nil {
		b.Log.WarnContext(ctx, "the records of a turn that has failed are still kept", "error",
			sessionindex.Anonymous(err, session))
	}
}

// open checks the request and finds what its site needs.
func (b *Bot) open(r Request) (*turn, error) {
	switch {
	case !utf8.ValidString(r.Input) || !utf8.ValidString(r.Session):
		return nil, fault(InvalidRequest, "send UTF-8", "the message is not valid text")
	case strings.TrimSpace(r.Input) == "":
		return nil, fault(InvalidRequest, "write a message", "the message is empty")
	}
	if err := usableSession(r.Session); err != nil {
		return nil, err
	}
	found, err := b.Sites.Find(r.Site)
	if err != nil {
		return nil, &Error{Fault: UnknownSite, Message: err.Error()}
	}
	t := &turn{rules: rulesOf(found), request: r}
	t.calendar = value.Calendar{Today: b.Now().In(found.Zone()), MonthFirst: found.MonthFirst(r.Language)}
	if t.models, err = b.Models(found); err != nil {
		return nil, &Error{Fault: Failed, Message: "the site's models cannot be used", Err: err}
	}
	if b.Retriever != nil {
		t.retriever = b.Retriever(found)
	}
	if b.Enricher != nil {
		t.enricher = b.Enricher(found)
	}
	if b.Leads != nil {
		t.receivers = b.Leads.Names(found.Name)
	}
	return t, nil
}

func (b *Bot) lock(ctx context.Context, key string) (unlock func(), err error) {
	if b.Locks == nil {
		return func() {}, nil
	}
	unlock, ok, err := b.Locks.Lock(ctx, key, lockTTL)
	switch {
	case err != nil:
		return nil, &Error{Fault: StoreFailed, Message: "the session cannot be locked", Err: err}
	case !ok:
		return nil, fault(Busy, "wait for the answer", "a turn of this session is under way")
	}
	return unlock, nil
}

// refuse answers a blocked message without asking any model. Only that a message was repeated is counted; what was
// refused is kept nowhere.
func (b *Bot) refuse(ctx context.Context, t *turn, thread string) (*Outcome, error) {
	if t.block == BlockSpam {
		counted := update{spamColumn.Set(t.spam)}
		if _, err := b.graph.UpdateState(ctx, thread, counted, graph.UpdateOptions{Merge: true}); err != nil {
			return nil, &Error{Fault: StoreFailed, Message: "the session cannot be written", Err: err}
		}
	}
	at := b.moment()
	b.note(ctx, t, sessionindex.Note{Blocked: &at})
	text := t.Blocked(string(t.block), t.request.Language)
	t.watch.token(text)
	return &Outcome{Response: text, Metadata: Metadata{
		FollowUps: []string{}, Answers: []string{}, CTA: map[string]string{}, Visitor: t.shown(t.before.Visitor),
		TurnNumber: t.before.TurnNumber, Restarted: t.restarted, Blocked: t.block, Warnings: []string{},
		Latency: t.watch.latency(),
	}}, nil
}
