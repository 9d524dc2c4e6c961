package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Replayer plays sessions in their lanes. It is safe for concurrent use once it is set up.
type Replayer struct {
	Candidate Agent
	// Baseline may be nil: then the candidate is compared with the log alone.
	Baseline Agent
	Mode     Mode
	// User goes on where the log does not fit any more; only Simulated needs one.
	User User
	// TurnTimeout bounds one turn, SessionTimeout all lanes of a session; 0 is no bound.
	TurnTimeout, SessionTimeout time.Duration
	// MaxExtraTurns bounds the turns of a simulated user beyond as many as the log has.
	MaxExtraTurns int
	// Judge compares the replies of both lanes; nil compares none.
	Judge grader.Judge
	// Repeats is how often a session is replayed; 0 means once.
	Repeats int
	// Seed decides which lane goes first.
	Seed uint64
	// Now is the clock of latencies; nil means time.Now.
	Now func() time.Time
}

// Replay plays a session in all lanes, turn by turn in turns, so that none has the better hour. A lane that fails ends
// there, with its reason, and drops the pair (X46); the other one is played to its end. The error is that of a context
// that has ended.
func (r *Replayer) Replay(ctx context.Context, s *Session) (*Pair, error) { return r.replay(ctx, s, 1) }

// replay is Replay for one of several times. Each has an order of lanes of its own.
func (r *Replayer) replay(ctx context.Context, s *Session, repeat int) (*Pair, error) {
	outer := ctx
	if r.SessionTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.SessionTimeout)
		defer cancel()
	}
	pair := &Pair{
		SessionID: s.ID, FlowID: s.FlowID, UnitID: s.UnitID, Mode: r.Mode, Outcome: s.Outcome(), Started: s.Started,
		Slices: s.Slices, Variations: []Variation{observe(s)},
	}
	players := r.players(s, pair.Variations[0].Turns)
	pair.FirstVariant = r.inTurns(ctx, orderOf(s, repeat), players)
	if outer.Err() != nil {
		return nil, outer.Err()
	}
	var failed []string
	for _, p := range players {
		pair.Variations = append(pair.Variations, p.lane)
		if p.lane.Error != "" {
			failed = append(failed, fmt.Sprintf("%s, turn %d: %s", p.lane.Name, len(p.lane.Turns)+1, p.lane.Error))
		}
	}
	pair.Dropped = strings.Join(failed, "; ")
	return pair, nil
}

// players returns a player for each lane.
func (r *Replayer) players(s *Session, observed []VariationTurn) []*player {
	var players []*player
	names, fields := s.logged(), s.fields()
	for _, lane := range []struct {
		name  string
		agent Agent
	}{{Baseline, r.Baseline}, {Candidate, r.Candidate}} {
		if lane.agent == nil {
			continue
		}
		p := &player{replayer: r, agent: lane.agent, session: s, observed: observed, names: names, fields: fields}
		p.lane = Variation{Name: lane.name, Turns: []VariationTurn{}}
		if reticent, ok := lane.agent.(Reticent); ok {
			states, completion, data := reticent.Reports()
			p.lane.NoStates, p.lane.Endless, p.lane.NoData = !states, !completion, !data
		}
		players = append(players, p)
	}
	return players
}

// orderOf is what the order of lanes is drawn by.
func orderOf(s *Session, repeat int) string {
	if repeat > 1 {
		return "lanes/" + s.ID + "/" + strconv.Itoa(repeat)
	}
	return "lanes/" + s.ID
}

// inTurns takes a turn in each lane, then the next: A B, B A, A B, … beginning with the one that the seed says (X45).
// It returns the name of that one; empty where there is only one.
func (r *Replayer) inTurns(ctx context.Context, order string, players []*player) (firstLane string) {
	first := int(stats.Rank(r.Seed, order) >> 63)
	for round := 0; ; round++ {
		playing := false
		for i := range players {
			p := players[(i+first+round)%len(players)]
			if p.done {
				continue
			}
			playing = true
			if err := p.turn(ctx); err != nil {
				p.lane.Error, p.lane.Completed, p.done = err.Error(), false, true
			}
			if p.done {
				p.lane.Censored = p.censored()
				p.close()
			}
		}
		if !playing {
			break
		}
	}
	if len(players) > 1 {
		return players[first].lane.Name
	}
	return ""
}

// player plays one lane of one session.
type player struct {
	replayer *Replayer
	agent    Agent
	session  *Session
	observed []VariationTurn
	// names are the log's names of states that the agent calls otherwise.
	names map[string]string
	// fields are the log's names of data that the agent calls otherwise, and known is what the agent has collected, in
	// its own words.
	fields map[string]string
	known  map[string]any
	// places are the indexes of the user's messages, once they are needed.
	places       []int
	lane         Variation
	conversation Conversation
	// asked is what the agent said last.
	asked string
	// early is true once the agent has completed, ended when it takes no further message.
	early, ended bool
	// replied is, for each turn, whether its message answers what the agent had requested.
	replied []bool
	// astray is true once the log does not fit any more.
	astray bool
	done   bool
}

// turn takes the next turn, or ends the lane. Its error is why the lane fails.
func (p *player) turn(ctx context.Context) error {
	i := len(p.lane.Turns)
	if i >= len(p.observed) && !p.continues() {
		p.done = true
		return nil
	}
	if err := p.open(ctx, i); err != nil {
		if _, notThere := errors.AsType[*NotThereError](err); notThere {
			p.miss(i)
			return nil
		}
		return err
	}
	before := p.named(p.conversation.State())
	replies := i < len(p.observed) && p.supported(i, before)
	fits := replies && !p.astray
	p.astray = p.astray || !fits
	said, invented, err := p.next(ctx, i, before)
	if err != nil || p.done {
		return err
	}
	p.replied = append(p.replied, replies && !invented || invented && p.answers(said, before))
	return p.say(ctx, VariationTurn{Number: i + 1, User: said, Before: before, Supported: fits, Invented: invented})
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
	p.close()
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

// close ends the conversation, if there is one. What goes wrong then is no answer of the agent's; its target warns of
// it.
func (p *player) close() {
	if p.conversation != nil {
		_ = p.conversation.Close()
		p.conversation = nil
	}
}

// miss records a turn that could not be taken: the agent knows no such state.
func (p *player) miss(i int) {
	was := p.observed[i]
	now := p.replayer.now()
	p.lane.Completed = false // completion is that of the last turn
	p.lane.Turns = append(p.lane.Turns, VariationTurn{
		Number: was.Number, User: was.User, Before: was.Before, Untaken: true, Started: now, Ended: now,
	})
}

// next returns the user's next message: the logged one or, where that does not fit, one of the simulated user's.
func (p *player) next(ctx context.Context, i int, state string) (said string, invented bool, err error) {
	if !p.simulates() || !p.astray {
		return p.observed[i].User, false, nil
	}
	if len(p.lane.Turns) >= p.replayer.maxSimulated(len(p.observed)) {
		p.done = true
		return "", false, nil
	}
	said, ok, err := p.replayer.User.Next(ctx, Scene{
		Session: p.session, Observed: p.observed, Turns: p.lane.Turns, State: state, LastReply: p.asked, Agent: p.agent,
	})
	if err != nil {
		return "", false, fmt.Errorf("the simulated user: %w", err)
	}
	p.done = !ok
	return said, true, nil
}

// maxSimulated bounds the turns of a lane with a simulated user.
func (r *Replayer) maxSimulated(observed int) int { return observed + r.MaxExtraTurns }

// say takes the turn.
func (p *player) say(ctx context.Context, t VariationTurn) error {
	if limit := p.replayer.TurnTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	t.Started = p.replayer.now()
	answer, err := p.conversation.Send(ctx, t.User)
	if err != nil {
		return err
	}
	t.Ended = p.replayer.now()
	t.LatencyMS = new(float64(t.Ended.Sub(t.Started).Microseconds()) / 1000)
	if answer.Data != nil {
		p.known = answer.Data
	}
	if decider, ok := p.conversation.(Decider); ok {
		if answer, err = decider.Decide(ctx, answer); err != nil {
			return err
		}
	}
	t.Bot, t.State, t.ToolCalls, t.Cost = answer.Text, p.named(answer.State), answer.ToolCalls, answer.Cost
	t.Tokens, t.Uncounted = answer.Tokens, answer.Uncounted
	t.Transition = t.State != t.Before
	p.asked = answer.Text
	p.lane.Turns = append(p.lane.Turns, t)
	if answer.Data != nil {
		p.lane.Data = renameFields(p.fields, answer.Data)
	}
	// In forced mode the log goes on, whatever the agent thinks; one that completes before its end has not ended as the
	// log did.
	p.lane.Completed = answer.Completed && !p.early
	p.early, p.ended = p.early || answer.Completed, answer.Ended
	p.done = (answer.Completed || answer.Ended) && p.replayer.Mode != Forced
	return nil
}

func (r *Replayer) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}
