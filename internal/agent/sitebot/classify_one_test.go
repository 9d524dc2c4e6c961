package sitebot_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// before is a conversation that has left something in the state: what was asked, and what was answered.
var before = []chat.Message{
	chat.NewMessage(chat.User, "I need tea"), chat.NewMessage(chat.Assistant, "👉 Which stage is your company at?"),
	chat.NewMessage(chat.User, "We are just starting"),
	chat.NewMessage(chat.Assistant, "👇 Shall we show you in a demo?"),
}

// TestClassifierAsksAsTheTurnDoes holds that a node by itself is asked, word for word, what it is asked within a turn.
func TestClassifierAsksAsTheTurnDoes(t *testing.T) {
	for _, node := range []string{prompt.IntentClassifier, prompt.SkillSelector} {
		th := openTheater(t, shop)
		h := sitebot.History{FieldIDs: fieldsOf(t, th)}
		for _, m := range before {
			h.Rows = append(h.Rows, sitebot.HistoryRow{Role: m.Role, Content: m.Content.Text})
		}
		patch, err := sitebot.Rebuild(h).Patch()
		if err != nil {
			t.Fatal(err)
		}
		th.inject(t, "s", string(patch))
		th.say(t, "s", "And what does it cost?")
		inTurn := th.request(node)
		classify(t, th, node, "And what does it cost?", before)
		if d := cmp.Diff(inTurn, th.request(node)); d != "" || len(inTurn.Messages) < 6 {
			t.Errorf("%s: the request mismatch (-in a turn +by itself):\n%s", node, d)
		}
	}
}

func fieldsOf(t *testing.T, th *theater) []string {
	t.Helper()
	found, err := th.Sites.Find("shop.example")
	if err != nil {
		t.Fatal(err)
	}
	return found.FieldIDs()
}

func classify(t *testing.T, th *theater, node, message string, history []chat.Message) sitebot.Classified {
	t.Helper()
	c, err := th.Classifier(node)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Classify(t.Context(), "shop.example", message, history)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestClassifier(t *testing.T) {
	for _, tc := range []struct {
		name, node, reply, message string
		want                       sitebot.Classified
	}{
		{
			"an intent", prompt.IntentClassifier, "```json\n{\"intent\": \" support\", \"confidence\": 1.5}\n```", "hi",
			sitebot.Classified{Answered: true, Intents: sitebot.Intents{
				Intent: sitebot.Support, Confidence: 1, History: []sitebot.Intent{sitebot.Support},
			}},
		},
		{
			"yes to a demo", prompt.IntentClassifier, `{"intent": "LEARN", "confidence": 0.5}`, "yes",
			sitebot.Classified{Answered: true, Intents: sitebot.Intents{
				Intent: sitebot.Book, Confidence: 1, History: []sitebot.Intent{sitebot.Book},
			}},
		},
		{"an intent that there is not", prompt.IntentClassifier, `{"intent": "JOKE"}`, "hi", sitebot.Classified{}},
		{"no JSON", prompt.IntentClassifier, `I would say LEARN`, "hi", sitebot.Classified{}},
		{"half of it", prompt.SkillSelector, `{"skills": ["none"`, "hi", sitebot.Classified{}},
		{"nothing to ask about", prompt.IntentClassifier, `{"intent": "LEARN"}`, " \n", sitebot.Classified{}},
		{
			"skills", prompt.SkillSelector,
			`{"skills": ["ask_email", "sing", "ask_email", "propose_demo", "none"], "reasons": {}}`, "hi",
			sitebot.Classified{
				Answered: true, Proposed: []sitebot.Skill{sitebot.RequestEmail, sitebot.ProposeDemoSkill},
			},
		},
		{"no skill", prompt.SkillSelector, `{"skills": []}`, "hi", sitebot.Classified{
			Answered: true, Proposed: []sitebot.Skill{},
		}},
	} {
		th := openTheater(t, shop)
		th.says(tc.node, tc.reply)
		if strings.TrimSpace(tc.message) != "" {
			tc.want.Use = sitebot.Use{Attempts: 1} // the theatre's model reports no usage
		}
		if d := cmp.Diff(tc.want, classify(t, th, tc.node, tc.message, before)); d != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestClassifierFails holds what is an error: whatever kept the model from answering.
func TestClassifierFails(t *testing.T) {
	th := openTheater(t, shop)
	if _, err := th.Classifier("answer_writer"); err == nil {
		t.Error("the writer classifies")
	}
	c, err := th.Classifier(prompt.IntentClassifier)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Classify(t.Context(), "nowhere.example", "hi", nil); err == nil {
		t.Error("a site that there is not")
	}
	down := &llm.Error{Fault: llm.Unreachable, Model: "openai:x", Message: "no connection"}
	th.does(prompt.IntentClassifier, func(context.Context, llm.Request) (string, error) { return "", down })
	if _, err := c.Classify(t.Context(), "shop.example", "hi", nil); !errors.Is(err, down) ||
		err.Error() != down.Error() {
		t.Errorf("got %v, want %v", err, down)
	}
	ctx, cancel := context.WithCancel(t.Context())
	th.does(prompt.IntentClassifier, func(context.Context, llm.Request) (string, error) { cancel(); return "", nil })
	if _, err := c.Classify(ctx, "shop.example", "hi", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the end", err)
	}
}
