package sitebot_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sitebottest"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// play is what a node's model does when it is asked.
type play func(ctx context.Context, r llm.Request) (string, error)

// puppet is a model that a test moves: a play for a node goes before the fixed reply.
type puppet struct {
	mu    sync.Mutex
	plays map[string]play
	asked []llm.Request
}

// replies are what the nodes say that no play moves; the handlers among them ask.
var (
	replies  = sitebottest.Replies("LEARN")
	handlers = map[string]string{
		"redirect_handler": "Please write to support.", "booking_handler": "Which address?",
		"post_conversion_handler": "How many are you?",
	}
)

// Generate plays the node that asks.
func (p *puppet) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r)
	do := p.plays[r.Node]
	p.mu.Unlock()
	if do != nil {
		text, err := do(ctx, r)
		return chat.Reply{Text: text}, err
	}
	return chat.Reply{Text: cmp.Or(handlers[r.Node], replies[r.Node])}, nil
}

// Stream gives the reply word by word; between two words the play of "between" has its turn.
func (p *puppet) Stream(ctx context.Context, r llm.Request, token func(string)) (chat.Reply, error) {
	reply, err := p.Generate(ctx, r)
	if err != nil {
		return reply, err
	}
	p.mu.Lock()
	between := p.plays["between"]
	p.mu.Unlock()
	for i, word := range strings.SplitAfter(reply.Text, " ") {
		if i > 0 && between != nil {
			if _, err := between(ctx, r); err != nil {
				return chat.Reply{}, err
			}
		}
		token(word)
	}
	return reply, ctx.Err()
}

// says makes a node reply with a text from now on.
func (p *puppet) says(node, text string) {
	p.does(node, func(context.Context, llm.Request) (string, error) { return text, nil })
}

func (p *puppet) does(node string, do play) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plays[node] = do
}

// readsDays makes the form_field_extractor read days of the booking in the words of the last message.
func (p *puppet) readsDays(days map[string]string) {
	p.does("form_field_extractor", func(_ context.Context, r llm.Request) (string, error) {
		message := r.Messages[len(r.Messages)-1].Content.String()
		for words, day := range days {
			if strings.Contains(message, words) {
				return fmt.Sprintf(`{"fields": {"day": %q}, "quotes": {"day": %q}}`, day, words), nil
			}
		}
		return `{"fields": {}, "quotes": {}}`, nil
	})
}

// nodes returns who asked since the last call, by name, each once.
func (p *puppet) nodes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := map[string]bool{}
	for _, r := range p.asked {
		names[r.Node] = true
	}
	p.asked = nil
	return slices.Sorted(maps.Keys(names))
}

// request returns what a node asked last.
func (p *puppet) request(node string) llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range slices.Backward(p.asked) {
		if r.Node == node {
			return r
		}
	}
	return llm.Request{}
}

// sleeps returns a play that takes its time, however it is told to hurry unless ctx ends.
func sleeps(d time.Duration, text string) play {
	return func(ctx context.Context, _ llm.Request) (string, error) {
		select {
		case <-time.After(d):
			return text, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// theater is a bot whose model is a puppet.
type theater struct {
	*stage
	*puppet
}

// openTheater returns a bot of one site; changes may replace what it works with.
func openTheater(t testing.TB, siteFile string, changes ...func(*sitebot.Config)) *theater {
	t.Helper()
	one, err := site.Load("shop.yaml", []byte(siteFile))
	if err != nil {
		t.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		t.Fatal(err)
	}
	th := &theater{&stage{outbox: lead.NewMemory(graph.MemoryLimits{})}, &puppet{plays: map[string]play{}}}
	c := sitebot.Config{
		Guard: true,
		Sites: library, Prompts: &prompt.Set{}, Checkpoints: th.outbox, Leads: th.stage,
		Locks: &latches{seen: map[string]bool{}},
		Models: func(*site.Site) (sitebot.Models, error) {
			return sitebot.Models{Default: th.puppet, Fast: th.puppet}, nil
		},
		Retriever: func(*site.Site) sitebot.Retriever { return shelf{} },
		Enricher:  func(*site.Site) sitebot.Enricher { return knows{} },
	}
	for _, change := range changes {
		change(&c)
	}
	if th.Bot, err = sitebot.New(c); err != nil {
		t.Fatal(err)
	}
	return th
}

// intent makes the classifier name an intent.
func (th *theater) intent(i sitebot.Intent) {
	th.says("intent_classifier", `{"intent":"`+string(i)+`","confidence":0.9}`)
}

// applies makes the selector propose a skill.
func (th *theater) applies(k sitebot.Skill) {
	th.says("skill_selector", `{"skills":["`+string(k)+`"],"reasons":{}}`)
}

// inject sets a session's state.
func (th *theater) inject(t testing.TB, session, patch string) {
	t.Helper()
	if err := th.UpdateState(t.Context(), "shop.example", session, []byte(patch), false); err != nil {
		t.Fatal(err)
	}
}

// latches keep two turns of one session apart, within the test.
type latches struct {
	mu   sync.Mutex
	seen map[string]bool
}

// Lock takes a key, or says that it is taken.
func (l *latches) Lock(_ context.Context, key string, _ time.Duration) (func(), bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[key] {
		return nil, false, nil
	}
	l.seen[key] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.seen, key)
	}, true, nil
}
