package chatbot

import (
	"context"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// The last thumb of a turn counts in Langfuse, too, and its comment is not sent.
func TestThumbs(t *testing.T) {
	server := langfusetest.New(t)
	c, err := langfuse.FromEnv(server.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport = server.Transport()
	client, err := langfuse.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var troubles []string
	one := &Sites{scores: langfuse.NewScoreQueue(client, func(text string, _ error) {
		troubles = append(troubles, text)
	})}
	trace := "0af7651916cd43dd8448eb211c80319c"
	for _, rating := range []string{sessionindex.Up, sessionindex.Down, sessionindex.Up, sessionindex.Down} {
		one.rated("tea.example", "s1", trace, sessionindex.Feedback{Turn: 1, Rating: rating, Comment: "private words"})
	}
	one.rated("tea.example", "s1", "1af7651916cd43dd8448eb211c80319c", sessionindex.Feedback{
		Turn: 2, Rating: sessionindex.Up,
	})
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	one.scores.Close(ctx)
	values := map[any]any{}
	for _, s := range server.Scores() {
		if s["name"] != "visitor_feedback" || s["comment"] != nil {
			t.Errorf("%v", s)
		}
		values[s["traceId"]] = s["value"]
	}
	if len(server.Scores()) != 2 || values[trace] != 0.0 || len(troubles) != 0 {
		t.Errorf("%v, trouble %q", server.Scores(), troubles)
	}
}
