package graph

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// activeRun is what the turn of a graph shares with the turns of its subgraphs: what is known of an earlier attempt,
// what has to be kept for a later one, and who watches.
type activeRun struct {
	graph, thread string
	turn          int // turns completed before
	log           *slog.Logger
	observer      Observer
	observing     sync.Mutex
	count         *atomic.Int64 // of tasks
	stream        *stream       // nil unless Stream was called

	saver   StepSaver // nil when the checkpoints keep no steps
	durable bool
	run     string // in all steps; guarded by mu
	again   bool   // text of nodes that had settled goes to the sink once more

	past    map[string][]*stepText       // by visit: the steps of those that had settled
	answers map[string][]json.RawMessage // by visit
	open    map[string]bool              // the visits whose questions still wait for an answer

	mu      sync.Mutex
	asked   []*question // in this attempt, in order
	settled []Step      // what has to be saved when a turn that is not durable waits
}

// question is one to a person.
type question struct {
	key  string
	step Step
	text stepText
}

// visitKey tells a visit from all others of the turn.
func visitKey(node, at string) string { return node + "\x00" + at }

// itemKey tells an item of a visit from all others.
func itemKey(visit string, item int) string { return visit + "\x00" + strconv.Itoa(item) }

// recalls reports whether something is known of an earlier attempt.
func (l *activeRun) recalls() bool { return l.past != nil }

// take returns the step of a visit or an item that had settled, once.
func (l *activeRun) take(key string) *stepText {
	l.mu.Lock()
	defer l.mu.Unlock()
	steps := l.past[key]
	if len(steps) == 0 {
		return nil
	}
	l.past[key] = steps[1:]
	return steps[0]
}

// watched reports whether somebody wants to know of a node that it has settled before others go on.
func (l *activeRun) watched() bool {
	return l.durable || l.stream.wants(Updates) || l.stream.wants(Values)
}

// step makes a step of the turn.
func (l *activeRun) step(node string, item int, text stepText) (Step, error) {
	text.Run = l.name()
	data, err := json.Marshal(text)
	return Step{Turn: l.turn + 1, Node: node, Item: item, At: time.Now(), Writes: data}, err
}

// name returns what all steps of the turn have in common.
func (l *activeRun) name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == "" {
		l.run = rand.Text()
	}
	return l.run
}

// save saves a step; a turn that is cancelled meanwhile does not cut it short.
func (l *activeRun) save(ctx context.Context, s Step) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer cancel()
	return try(ctx, l.log, "thread", "save", func() error { return l.saver.SaveStep(ctx, l.thread, s) })
}

// ask notes a question of a visit or an item that waits, unless it is noted already.
func (l *activeRun) ask(q *question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.asked {
		if other.key == q.key {
			return
		}
	}
	l.asked = append(l.asked, q)
}

// forget drops the questions of a visit that has failed.
func (l *activeRun) forget(node, at string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = slices.DeleteFunc(l.asked, func(q *question) bool {
		return q.step.Node == node && q.text.At == at ||
			strings.HasPrefix(q.step.Node, node+"/") && strings.HasPrefix(q.text.At, at+".")
	})
}

// keep notes a step for the case that the turn has to wait.
func (l *activeRun) keep(s Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = append(l.settled, s)
}

// position is the node or item that a context belongs to.
type position struct {
	activeRun *activeRun
	tasks     *tasks
	visit     *Visit    // of the node; no other visit has the same
	before    *string   // at in the steps of outer visits
	outer     *position // of an item: its node
	item      int32     // -1 unless it is an item
	ghost     bool      // the node has settled before and runs only to begin its tasks anew

	settled atomic.Bool
	mu      sync.Mutex
	noted   *notes // nil until there is something to note
}

// notes are what few nodes need: those that ask, start tasks or were answered.
type notes struct {
	calls   int // of Interrupt
	answers []json.RawMessage
	waits   *question // the first that has no answer
	passed  bool      // something within the node waits

	cancelled []string // kinds of tasks
}

// notes returns the notes of a node; the caller holds the lock or is alone.
func (p *position) notes() *notes {
	if p.noted == nil {
		p.noted = new(notes)
	}
	return p.noted
}

// wait notes that something within the node waits.
func (p *position) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes().passed = true
}

type positionKey struct{}

func positionOf(ctx context.Context) (*position, error) {
	if at, ok := ctx.Value(positionKey{}).(*position); ok {
		return at, nil
	}
	return nil, errors.New(
		"this is not the context that a node was given: tasks, questions and events belong to the nodes of a turn")
}

// at returns what tells the visit from others of the same node.
func (p *position) at() string { return *p.before + strconv.Itoa(p.visit.Step) }

func (p *position) key() string {
	key := visitKey(p.visit.Node, p.at())
	if p.item >= 0 {
		key = itemKey(key, int(p.item))
	}
	return key
}

// over reports whether the node or the item has settled.
func (p *position) over() bool { return p.settled.Load() || p.outer != nil && p.outer.settled.Load() }

// noteCancelled remembers that the node has cancelled a kind of task, for a later attempt at the turn.
func (p *position) noteCancelled(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes().cancelled = append(p.notes().cancelled, kind)
}

// Interrupt asks a person something, and returns the answer. As long as there is none, the error wraps ErrInterrupted,
// and the node returns it: then the turn goes on as far as it can without the node, is saved as waiting, and Run
// returns an *InterruptError. Resume runs the node once more from its top, and this time Interrupt returns the answer;
// so what stands before it in the node happens again. Several calls in one node are matched with their answers by their
// order.
//
// Questions and answers are JSON. The checkpoints have to be a StepSaver.
func Interrupt[A any](ctx context.Context, ask any) (A, error) {
	var answer A
	at, err := positionOf(ctx)
	if err != nil {
		return answer, err
	}
	data, err := at.interrupt(ask)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return answer, errors.Join(errors.New("the answer is not what the node asks for"), err)
	}
	return answer, nil
}

func (p *position) interrupt(ask any) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	noted := p.notes()
	n := noted.calls
	noted.calls++
	if n < len(noted.answers) {
		return noted.answers[n], nil
	}
	if p.activeRun.saver == nil {
		return nil, errNoSteps
	}
	if noted.waits == nil {
		data, err := json.Marshal(ask)
		if err != nil {
			return nil, errors.Join(errors.New("the question cannot be stored"), err)
		}
		text := stepText{
			Kind: stepQuestion, At: p.at(), ID: rand.Text(), Question: data, IsItem: p.item >= 0,
			Answers: noted.answers,
		}
		step, err := p.activeRun.step(p.visit.Node, max(int(p.item), 0), text)
		if err != nil {
			return nil, err
		}
		noted.waits = &question{p.key(), step, text}
	}
	return nil, &InterruptError{noted.waits.text.ID, p.visit.Node, noted.waits.text.Question}
}

// waiting returns the question for which a node or an item waits that has returned an error, nil when it has just
// failed; passed says that something within it waits.
func (p *position) waiting(err error) (q *question, passed bool) {
	if err == nil || !errors.Is(err, ErrInterrupted) {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noted == nil {
		return nil, false
	}
	return p.noted.waits, p.noted.passed
}
