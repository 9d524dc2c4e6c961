package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Replayer plays sessions in their lanes. It is safe for concurrent use once it is set up.
type Replayer struct {
	Candidate Agent
	// Baseline may be nil: then the candidate is compared with the log alone.
	Baseline Agent
	Mode     Mode
	// User goes on where the log does not fit any more; only Simulated needs one.
	User User
	// TurnTimeout bounds one turn; 0 is no bound.
	TurnTimeout time.Duration
	// MaxExtraTurns bounds the turns of a simulated user beyond as many as the log has.
	MaxExtraTurns int
	// Judge compares the replies of both variants; nil compares none.
	Judge grader.Judge
	// Repeats is how often a session is replayed; 0 means once.
	Repeats int
	// Seed decides which lane goes first.
	Seed uint64
	// Checks are the assertions that each variant's conversation must meet.
	Checks Checks
	// Guard is shared by all conversations; nil gives each its own.
	Guard *runner.Guard
	// Now is the clock of latencies; nil means time.Now.
	Now func() time.Time
}

// Replay plays a session once in all variants, turn by turn in turns, so that none has the better hour. A variant that
// fails ends there, with its reason, and drops the pair; the other one is played to its end. The error is that of a
// context that has ended.
func (r *Replayer) Replay(ctx context.Context, s *Session) (*Pair, error) {
	pair, _, err := r.replay(ctx, s, 1)
	return pair, err
}

// replay is Replay for one of several times, each of which has an order of variants of its own. It also returns the
// record of each variant's conversation, nil where it has none.
func (r *Replayer) replay(ctx context.Context, s *Session, repeat int) (*Pair, []*result.Test, error) {
	pair := &Pair{
		SessionID: s.ID, FlowID: s.FlowID, UnitID: s.UnitID, Mode: r.Mode, Outcome: s.Outcome(), Started: s.Started,
		Slices: s.Slices, Variations: []Variation{observe(s)},
	}
	players := r.players(s, pair.Variations[0].Turns)
	pair.FirstVariant = r.alternate(ctx, orderOf(s, repeat), players)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	var failed []string
	var records []*result.Test
	for _, p := range players {
		pair.Variations, records = append(pair.Variations, p.lane), append(records, p.record)
		if p.lane.Error != "" {
			failed = append(failed, fmt.Sprintf("%s, turn %d: %s", p.lane.Name, len(p.lane.Turns)+1, p.lane.Error))
		}
	}
	pair.Dropped = strings.Join(failed, "; ")
	return pair, records, nil
}

// players returns a player for each variant.
func (r *Replayer) players(s *Session, observed []VariationTurn) []*player {
	var players []*player
	names, fields := s.logged(), s.fields()
	for _, variant := range []struct {
		name  string
		agent Agent
	}{{Baseline, r.Baseline}, {Candidate, r.Candidate}} {
		if variant.agent == nil {
			continue
		}
		p := &player{
			replayer: r, agent: variant.agent, session: s, observed: observed, names: names, fields: fields,
			begin: make(chan struct{}), rest: make(chan struct{}),
		}
		p.lane = Variation{Name: variant.name, Turns: []VariationTurn{}}
		if reticent, ok := variant.agent.(Reticent); ok {
			states, completion, data := reticent.Reports()
			p.lane.NoStates, p.lane.Endless, p.lane.NoData = !states, !completion, !data
		}
		players = append(players, p)
	}
	return players
}

// orderOf is the text by which the order of variants is drawn.
func orderOf(s *Session, repeat int) string {
	if repeat > 1 {
		return "lanes/" + s.ID + "/" + strconv.Itoa(repeat)
	}
	return "lanes/" + s.ID
}

// alternate runs the conversations of all variants, one turn of each at a time: A B, B A, A B, … beginning with the one
// that the seed draws. It returns that one's name; empty where there is only one.
func (r *Replayer) alternate(ctx context.Context, order string, players []*player) (first string) {
	begins := int(stats.Rank(r.Seed, order) >> 63)
	for _, p := range players {
		go p.run(ctx)
	}
	for round, left := 0, len(players); left > 0; round++ {
		for i := range players {
			p := players[(i+begins+round)%len(players)]
			if p.finished {
				continue
			}
			more := false
			select {
			case p.begin <- struct{}{}:
				_, more = <-p.rest
			case <-p.rest: // its conversation ended without a turn
			}
			if p.finished = !more; p.finished {
				left--
			}
		}
	}
	if len(players) > 1 {
		return players[begins].lane.Name
	}
	return ""
}

// player is one variant's side of a session. The runner has the conversation: for it the player is the target, which
// passes messages on to the agent, and the user, who sends what was logged. Each turn waits for begin and ends with
// rest, which is closed when the conversation is over.
type player struct {
	replayer    *Replayer
	agent       Agent
	session     *Session
	observed    []VariationTurn
	begin, rest chan struct{}
	finished    bool // of alternate
	// names are the log's names of states that the agent calls otherwise.
	names map[string]string
	// fields are the log's names of data that the agent calls otherwise, and known is what the agent has collected, in
	// its own words.
	fields map[string]string
	known  map[string]any
	// places are the indexes of the user's messages, once they are needed.
	places []int

	// mu guards lane while the agent may still answer; over is true once the runner waits for no answer any more.
	mu   sync.Mutex
	over bool
	lane Variation
	// record is the runner's; nil while it runs.
	record *result.Test

	conversation Conversation
	// busy is true during a turn. next is that turn, and fault why it cannot be taken.
	busy  bool
	next  VariationTurn
	fault error
	// asked is the agent's last reply.
	asked string
	// early is true once the agent has completed, ended when it takes no further message.
	early, ended bool
	// replied is, for each turn, whether its message answers what the agent had requested.
	replied []bool
	// astray is true once the log does not fit any more.
	astray bool
}

var (
	_ runner.Target  = (*player)(nil)
	_ runner.Session = (*player)(nil)
	_ runner.User    = (*player)(nil)
)

// run has the runner run the conversation.
func (p *player) run(ctx context.Context) {
	defer close(p.rest)
	r := p.replayer
	record, err := runner.Run(ctx, runner.Conversation{
		Test:       r.Checks.Test(p.session.FlowID, p.session.ID, p.session.UnitID, p.mostTurns()),
		TargetName: p.lane.Name, Target: p, User: p,
		Grading: r.Checks.Grading, Guard: r.Guard, Now: r.Now,
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	switch {
	case p.lane.Error != "":
	case err != nil:
		p.lane.Error = err.Error()
	case p.busy: // it panicked, or did not return
		p.lane.Error = record.Failures[0].Message
	}
	if p.lane.Error != "" {
		p.lane.Completed = false
	}
	p.lane.Censored = p.censored()
	p.record = record
}

// mostTurns bounds the turns of the conversation.
func (p *player) mostTurns() int {
	if p.simulates() {
		return p.replayer.maxSimulated(len(p.observed))
	}
	return len(p.observed)
}

// Open implements runner.Target. The agent's own conversation begins with the first turn.
func (p *player) Open(context.Context, runner.Opening) (runner.Session, error) { return p, nil }

// Next implements runner.User: the logged message or, where that does not fit, one of the simulated user's.
func (p *player) Next(ctx context.Context, script runner.UserScript) (runner.Line, error) {
	if script.Turn > 1 {
		p.rest <- struct{}{}
	}
	select {
	case <-p.begin:
	case <-ctx.Done():
		p.fail(ctx.Err())
		return runner.Line{}, ctx.Err()
	}
	p.busy = true
	i, err := p.reach(ctx)
	if i >= len(p.observed) && !p.continues() && err == nil {
		p.busy = false
		return runner.Line{}, nil
	}
	replies := false
	p.next = VariationTurn{Number: i + 1}
	if i < len(p.observed) {
		p.next.User = p.observed[i].User
	}
	if p.fault = err; err == nil {
		p.next.Before = p.named(p.conversation.State())
		replies = i < len(p.observed) && p.supported(i, p.next.Before)
		p.next.Supported = replies && !p.astray
		p.astray = p.astray || !p.next.Supported
		p.next.Invented = p.simulates() && p.astray
	}
	if p.next.Invented {
		var more bool
		p.next.User, more, err = p.replayer.User.Next(ctx, Scene{
			Session: p.session, Observed: p.observed, Turns: p.lane.Turns, State: p.next.Before, LastReply: p.asked,
			Agent: p.agent,
		})
		if err != nil {
			err = fmt.Errorf("the simulated user: %w", err)
			p.fail(err)
			return runner.Line{}, err
		}
		if !more {
			p.busy = false
			return runner.Line{}, nil
		}
		replies = p.answers(p.next.User, p.next.Before)
	}
	p.replied = append(p.replied, replies)
	return runner.Line{
		Message: chat.Content{Text: p.next.User}, Blank: true, End: !p.simulates() && i == len(p.observed)-1,
	}, nil
}

// reach opens the agent's conversation where the next turn begins, in forced mode before every turn, and returns the
// turn's index. Turns that the agent cannot take, as it has no such state, are recorded and passed over.
func (p *player) reach(ctx context.Context) (i int, err error) {
	for i = len(p.lane.Turns); ; i++ {
		if i >= len(p.observed) && !p.continues() {
			return i, nil
		}
		err := p.open(ctx, i)
		if _, notThere := errors.AsType[*NotThereError](err); !notThere {
			return i, err
		}
		was, now := p.observed[i], p.replayer.now()
		p.lane.Completed = false // completion is that of the last turn
		p.lane.Turns = append(p.lane.Turns, VariationTurn{
			Number: was.Number, User: was.User, Before: was.Before, Untaken: true, Started: now, Ended: now,
		})
	}
}

// fail records why the variant fails.
func (p *player) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over && p.lane.Error == "" {
		p.lane.Error = err.Error()
	}
}

// named is how the log calls a state.
func (p *player) named(state string) string {
	if name, ok := p.names[state]; ok {
		return name
	}
	return state
}

func (p *player) simulates() bool { return p.replayer.Mode == Simulated }

// continues reports whether the simulated user continues after the log. A user who had dropped off stays away as long
// as all of their messages fit.
func (p *player) continues() bool { return p.simulates() && (p.astray || p.session.Completed) }

// open begins the conversation, in forced mode before every turn.
func (p *player) open(ctx context.Context, i int) (err error) {
	if p.replayer.Mode != Forced {
		if p.conversation == nil {
			first := ""
			if len(p.observed) > 0 {
				first = p.observed[0].Before
			}
			p.conversation, err = p.agent.Open(ctx, Moment{SessionID: p.session.ID, State: first})
		}
		return err
	}
	if p.places == nil {
		p.places = p.session.places()
	}
	_ = p.Close()
	at, state := p.places[i], p.observed[i].Before
	p.astray, p.asked = false, p.session.lastReplyBefore(at)
	p.conversation, err = p.agent.Open(ctx, Moment{
		SessionID: p.session.ID, State: state, Resumed: true, History: p.session.Messages[:at], Known: p.known,
	})
	if _, notThere := errors.AsType[*NotThereError](err); notThere && i == 0 && state == "" {
		// The log has states after turns only, so that the conversation begins where the agent does.
		p.conversation, err = p.agent.Open(ctx, Moment{SessionID: p.session.ID})
	}
	return err
}

// Close implements runner.Session: it ends the agent's conversation, if there is one.
func (p *player) Close() error {
	if p.conversation == nil {
		return nil
	}
	c := p.conversation
	p.conversation = nil
	return c.Close()
}

// maxSimulated bounds the turns of a variant with a simulated user.
func (r *Replayer) maxSimulated(observed int) int { return observed + r.MaxExtraTurns }

// Send implements runner.Session: it takes the turn that Next has begun.
func (p *player) Send(ctx context.Context, _ chat.Content) (reply chat.Reply, err error) {
	defer func() {
		if err != nil {
			p.fail(err)
		}
	}()
	if p.fault != nil {
		return reply, p.fault
	}
	if limit := p.replayer.TurnTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	t := p.next
	t.Started = p.replayer.now()
	answer, err := p.conversation.Send(ctx, t.User)
	if err != nil {
		return reply, err
	}
	t.Ended = p.replayer.now()
	latency := t.Ended.Sub(t.Started)
	t.LatencyMS = new(float64(latency.Microseconds()) / 1000)
	if answer.Data != nil {
		p.known = answer.Data
	}
	if decider, ok := p.conversation.(Decider); ok {
		if answer, err = decider.Decide(ctx, answer); err != nil {
			return reply, err
		}
	}
	reply = answer.Reply
	t.Bot, t.State, t.ToolCalls, t.Cost = reply.Text, p.named(answer.State), answer.ToolCalls, reply.Cost
	t.Tokens, t.Uncounted = reply.Usage.InputTokens+reply.Usage.OutputTokens, reply.Usage.Unknown
	t.Transition = t.State != t.Before
	p.asked = reply.Text

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return reply, nil
	}
	p.busy = false
	p.lane.Turns = append(p.lane.Turns, t)
	if answer.Data != nil {
		p.lane.Data = renameFields(p.fields, answer.Data)
	}
	// In forced mode the log goes on, whatever the agent thinks; one that completes before its end has not ended as the
	// log did.
	p.lane.Completed = answer.Completed && !p.early
	p.early, p.ended = p.early || answer.Completed, answer.Ended
	reply.Latency, reply.Node = latency, t.State
	reply.Ended = (answer.Completed || answer.Ended) && p.replayer.Mode != Forced
	return reply, nil
}

func (r *Replayer) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}
