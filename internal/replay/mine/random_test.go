package mine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/mine"
)

// Whatever was logged, a learned flow is valid and says what was learned, and the order of the sessions does not
// matter.
func TestRandomLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sessions := rapid.SliceOfN(rapid.Custom(drawSession), 0, 12).Draw(t, "sessions")
		for i, s := range sessions {
			s.ID = fmt.Sprint(i)
		}
		o := mine.Options{
			ID: "f", MinCount: rapid.IntRange(0, 4).Draw(t, "count"),
			Examples: rapid.IntRange(0, 3).Draw(t, "examples"), MinTurns: rapid.IntRange(0, 2).Draw(t, "turns"),
		}
		f, err := mine.Learn(all(sessions...), o)
		if _, nothing := errors.AsType[*mine.NothingError](err); nothing {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, loaded := written(t, f)
		same(t, f, loaded)
		slices.Reverse(sessions)
		again, err := mine.Learn(all(sessions...), o)
		if err != nil {
			t.Fatal(err)
		}
		if other, _ := written(t, again); other != text {
			t.Fatalf("another order of the sessions gives another flow:\n%s\n%s", text, other)
		}
	})
}

func drawSession(t *rapid.T) *replay.Session {
	state := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "c", "A", "start", "end", "null", "-1", ""}),
		rapid.String())
	text := rapid.OneOf(rapid.SampledFrom([]string{"yes", "Yes.", "no", "- x", "a: b # c", "", "~"}), rapid.String())
	start := time.Unix(int64(rapid.IntRange(0, 1_000_000).Draw(t, "start")), 0).UTC()
	s := &replay.Session{FlowID: "f", Started: start, Ended: start, Completed: rapid.Bool().Draw(t, "completed")}
	at := state.Draw(t, "first")
	for i := range rapid.IntRange(0, 6).Draw(t, "messages") {
		m := replay.LoggedMessage{
			User: rapid.Bool().Draw(t, "user"), Text: text.Draw(t, "text"), Before: at, After: at,
			At: start.Add(time.Duration(i) * time.Second),
		}
		if m.User && rapid.Bool().Draw(t, "moves") {
			at = state.Draw(t, "next")
			m.After = at
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}
