package sitebot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// narrow is the shop with little room in a call.
func narrow(tokens int) string { return shop + fmt.Sprintf("\nlimits: {prompt_tokens: %d}\n", tokens) }

// fullShelf finds more than any call holds.
type fullShelf struct{}

func (fullShelf) Retrieve(context.Context, string) (string, error) {
	return strings.Repeat("Café crème costs 3 euros.\n", 4000), nil
}

func charactersIn(r llm.Request) (n int) {
	for _, m := range r.Messages {
		n += utf8.RuneCountInString(m.Content.String())
	}
	return n
}

// within holds every call since the last look: none is larger than it may be, and each has the beginning and the end of
// the visitor's message.
func (th *theater) within(t *testing.T, most int, input string) {
	t.Helper()
	th.puppet.mu.Lock()
	defer th.puppet.mu.Unlock()
	if len(th.puppet.asked) == 0 {
		t.Error("no node has asked")
	}
	for _, r := range th.puppet.asked {
		if n := charactersIn(r); n > most {
			t.Errorf("%s: %d characters, want at most %d", r.Node, n, most)
		}
		if r.Node == "conversation_summary" {
			continue
		}
		last := ""
		for _, m := range r.Messages {
			if m.Role == chat.User {
				last = m.Content.String()
			}
		}
		if !strings.HasPrefix(last, input[:8]) || !strings.HasSuffix(last, input[len(input)-8:]) {
			t.Errorf("%s: the visitor's last message is %.60q", r.Node, last)
		}
	}
	th.puppet.asked = nil
}

// TestPromptBudget bounds each call of each node, whatever the visitor sends, the models answer and the documents say.
func TestPromptBudget(t *testing.T) {
	for _, tokens := range []int{200, 1000, 4000} {
		t.Run(fmt.Sprint(tokens), func(t *testing.T) {
			th := openTheater(t, narrow(tokens), func(c *sitebot.Config) {
				c.Retriever = func(*site.Site) sitebot.Retriever { return fullShelf{} }
			})
			th.says("answer_writer", strings.Repeat("ä long answer ", 60)+"done?")
			th.says("conversation_summary", strings.Repeat("é", 9000))
			for turn := range 16 {
				input := fmt.Sprintf("turn %03d ", turn) + strings.Repeat("où ", []int{0, 10, 4900}[turn%3]) +
					fmt.Sprintf("end %04d", turn)
				th.say(t, "s", input)
				th.within(t, tokens*4, input)
			}
		})
	}
}

// TestNewestTurnsStay drops the oldest turns, each as a whole, and no more of them than it must.
func TestNewestTurnsStay(t *testing.T) {
	th := openTheater(t, narrow(1000))
	th.says("answer_writer", strings.Repeat("word ", 40))
	for turn := range 20 {
		th.say(t, "s", fmt.Sprintf("question %d", turn))
	}
	r := th.request("answer_writer")
	if n := charactersIn(r); n > 4000 || n < 4000-250 {
		t.Errorf("the call has %d characters of 4000, although a turn has 220", n)
	}
	if r.Messages[1].Role != chat.User {
		t.Error("the call begins in the middle of a turn")
	}
	for i, m := range r.Messages[1:] {
		if want := fmt.Sprintf("question %d", 19-(len(r.Messages)-2)/2+i/2); i%2 == 0 && m.Content.String() != want {
			t.Errorf("message %d is %q, want %q", i, m.Content, want)
		}
	}
}

func (th *theater) summary(t *testing.T) sitebot.Summary {
	t.Helper()
	data, err := th.State(t.Context(), "shop.example", "s")
	if err != nil {
		t.Fatal(err)
	}
	var s sitebot.State
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s.Summary
}

// TestSummary sums up what has fallen out, six turns after the last time, with the answer out already.
func TestSummary(t *testing.T) {
	th := openTheater(t, narrow(1000))
	th.says("answer_writer", strings.Repeat("word ", 40))
	th.says("conversation_summary", "  SUMMARY one  ")
	var at []int
	for turn := range 30 {
		before := th.summary1(t, turn)
		th.say(t, "s", fmt.Sprintf("question %d", turn))
		after := th.summary(t)
		asked := th.request("conversation_summary")
		writer := th.request("answer_writer")
		if shows := strings.Contains(writer.Messages[0].Content.String(), "SUMMARY"); shows != (before.ToTurn > 0) {
			t.Errorf("turn %d: the writer is shown a summary: %v, of %d turns", turn, shows, before.ToTurn)
		}
		th.nodes() // forgets who has asked
		if after == before {
			if len(asked.Messages) > 0 {
				t.Errorf("turn %d: asked for nothing", turn)
			}
			continue
		}
		at = append(at, turn)
		said := asked.Messages[1].Content.String()
		if after.ToTurn-before.ToTurn != 6 || after.Text != "SUMMARY one" {
			t.Errorf("turn %d: %+v after %+v", turn, after, before)
		}
		for n := range 30 {
			covered := n >= before.ToTurn && n < after.ToTurn
			if strings.Contains(said, fmt.Sprintf("question %d\n", n)) != covered {
				t.Errorf("turn %d: question %d is summed up: %v", turn, n, !covered)
			}
		}
		if shows := strings.Contains(asked.Messages[0].Content.String(), "SUMMARY one"); shows != (before.ToTurn > 0) {
			t.Errorf("turn %d: the earlier summary is shown: %v", turn, shows)
		}
	}
	if len(at) < 2 {
		t.Errorf("summed up in the turns %v", at)
	}
}

// summary1 is the summary before a turn; there is no session before the first.
func (th *theater) summary1(t *testing.T, turn int) sitebot.Summary {
	if turn == 0 {
		return sitebot.Summary{}
	}
	return th.summary(t)
}

// A summary that fails is a warning, and is tried again with the next turn.
func TestSummaryFails(t *testing.T) {
	th := openTheater(t, narrow(1000))
	th.says("answer_writer", strings.Repeat("word ", 40))
	th.does("conversation_summary", func(context.Context, llm.Request) (string, error) {
		return "", errors.New("away")
	})
	warned := 0
	for turn := range 20 {
		o := th.say(t, "s", fmt.Sprintf("question %d", turn))
		if len(o.Metadata.Warnings) > 0 && o.Metadata.Warnings[0] == "conversation_summary failed" {
			warned++
		}
	}
	if warned < 2 || th.summary(t) != (sitebot.Summary{}) {
		t.Errorf("%d warnings, summary %+v", warned, th.summary(t))
	}
	th.says("conversation_summary", "at last")
	th.say(t, "s", "one more")
	if s := th.summary(t); s.Text != "at last" || s.ToTurn < 7 {
		t.Errorf("%+v", s)
	}
}

// Without a bound, and in short conversations, everything stays.
func TestNoPromptBudget(t *testing.T) {
	for _, tokens := range []int{0, 16000} {
		th := openTheater(t, narrow(tokens))
		for turn := range 10 {
			th.say(t, "s", fmt.Sprintf("question %d", turn))
		}
		r := th.request("answer_writer")
		if len(r.Messages) != 1+2*9+1 || th.summary(t) != (sitebot.Summary{}) {
			t.Errorf("%d tokens: %d messages, summary %+v", tokens, len(r.Messages), th.summary(t))
		}
	}
}
