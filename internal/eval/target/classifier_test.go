package target_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestClassifier(t *testing.T) {
	bot := newSitebot(t)
	for node, want := range map[string]string{
		"intent_classifier": `SUPPORT {"label":"SUPPORT","labels":["SUPPORT"],"confidence":1}
BOOKING {"label":"BOOKING","labels":["BOOKING"],"confidence":1}
 {"label":null,"labels":null,"confidence":null}`,
		"skill_selector": ` {"label":null,"labels":[],"confidence":null}
 {"label":null,"labels":[],"confidence":null}
 {"label":null,"labels":null,"confidence":null}`,
	} {
		found, err := bot.Bot.Classifier(node)
		if err != nil {
			t.Fatal(err)
		}
		c := &target.Classifier{Node: found, Site: bot.Site}
		var said []string
		for _, tc := range []struct {
			input   []chat.Message
			message string
		}{
			{nil, "help"},
			{[]chat.Message{
				chat.NewMessage(chat.User, "Hi"), chat.NewMessage(chat.Assistant, "👇 Shall we show you in a demo?"),
			}, "yes"},
			{nil, " "},
		} {
			session, err := c.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a", Input: tc.input}})
			if err != nil {
				t.Fatal(err)
			}
			reply, err := session.Send(t.Context(), chat.Content{Text: tc.message})
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, fmt.Sprintf("%s %s", reply.Text, reply.State))
			if asked := tc.message != " "; reply.Usage.Unknown || asked != (reply.Usage.Total() > 0) {
				t.Errorf("%s, %q: usage %+v, ", node, tc.message, reply.Usage)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Join(said, "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", node, got, want)
		}
	}
}

// A classifier begins with what was said, not with fields of a state, nor at a node.
func TestClassifierRefusesStates(t *testing.T) {
	for _, start := range []suite.Start{{Node: "a"}, {Fields: []byte(`{}`)}, {Memory: []byte(`{}`)}} {
		_, err := (&target.Classifier{}).Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a", Start: start}})
		if err == nil || !strings.Contains(err.Error(), "give a history instead") {
			t.Errorf("%+v: %v", start, err)
		}
	}
}
