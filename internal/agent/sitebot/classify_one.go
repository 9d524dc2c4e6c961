package sitebot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Classifier is one node of the chatbot that classifies messages, to be evaluated by itself. It runs the very node that
// a turn runs, on a graph of its own. It is safe for concurrent use.
type Classifier struct {
	bot   *Bot
	graph *graph.Graph[State]
}

// Classified is what a node has made of a message.
type Classified struct {
	// Answered is false when the node could not use the model's reply, and when a turn would not come to the node. In a
	// turn the node's fallback would decide.
	Answered bool
	// Intents is the answer of the node intent_classifier, Proposed that of skill_selector before the rules have their
	// say.
	Intents  Intents
	Proposed []Skill
	// Use is what the call took; it is known after an error, too.
	Use Use
}

// Classifier returns the node of that name: intent_classifier or skill_selector. The time limit that the node has in a
// turn does not apply.
func (b *Bot) Classifier(node string) (*Classifier, error) {
	works := map[string]func(context.Context, State) (update, error){
		prompt.IntentClassifier: b.classify, prompt.SkillSelector: b.selectSkills,
	}
	work, ok := works[node]
	if !ok {
		return nil, fmt.Errorf("sitebot: the node %q is no classifier: take %s or %s", node, prompt.IntentClassifier,
			prompt.SkillSelector)
	}
	g := graph.New("classifier", columns()...)
	g.Node(node, work)
	g.Edge(graph.Start, node)
	g.Edge(node, graph.End)
	compiled, err := g.Compile(graph.Config{Log: b.Log, Guard: b.Guard})
	if err != nil {
		return nil, fmt.Errorf("sitebot: %w", err)
	}
	return &Classifier{b, compiled}, nil
}

// Classify asks the node what it makes of a visitor's message on a site, in the state that the history would have left
// (Rebuild). The error says why the model could not be asked or did not reply: the site, its prompts, the model, or
// ctx.
func (c *Classifier) Classify(ctx context.Context, siteName, message string,
	history []chat.Message) (Classified, error) {
	thread := rand.Text()
	t, err := c.bot.open(Request{Site: siteName, Session: thread, Input: message})
	if e, ok := errors.AsType[*Error](err); ok && e.Fault == InvalidRequest {
		return Classified{}, nil // no turn would come to the node with such a message
	}
	if err != nil {
		return Classified{}, err
	}
	input, err := c.begin(t, message, history)
	if err != nil {
		return Classified{}, err
	}
	s, err := c.graph.Run(context.WithValue(ctx, turnKey{}, t), thread, input, nil)
	forgotten := c.graph.Delete(context.WithoutCancel(ctx), thread)
	if failed, ok := errors.AsType[*graph.NodeError](err); ok {
		err = failed.Err
	}
	found := Classified{Use: t.meter.total()}
	switch {
	case ctx.Err() != nil:
		return found, ctx.Err()
	case err != nil && t.meter.hasReply(): // with a reply that the node cannot use
		return found, nil
	case err != nil || forgotten != nil:
		return found, errors.Join(err, forgotten)
	}
	found.Answered, found.Intents = true, s.Intents
	if s.Skills != nil {
		found.Proposed = s.Skills.Proposed
	}
	return found, nil
}

// begin returns the state in which the message comes.
func (c *Classifier) begin(t *turn, message string, history []chat.Message) (update, error) {
	h := History{FieldIDs: t.FieldIDs()}
	for _, m := range history {
		h.Rows = append(h.Rows, HistoryRow{Role: m.Role, Content: m.Content.String()})
	}
	patch, err := Rebuild(h).Patch()
	if err != nil {
		return nil, err
	}
	input, err := c.graph.ParseUpdate(patch)
	if err != nil {
		return nil, fmt.Errorf("the history cannot be turned into a state: %w", err)
	}
	return append(input, inputColumn.Set(message), siteColumn.Set(t.Name), sessionColumn.Set(t.request.Session)), nil
}
