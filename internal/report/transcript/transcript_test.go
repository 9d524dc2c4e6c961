package transcript_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// talk is a conversation with so many turns. Some of them failed.
func talk(turns int, failed ...int) *result.Test {
	t := &result.Test{TestID: "t", Verdict: result.Fail}
	for n := 1; n <= turns; n++ {
		x := result.Turn{Index: n, Output: "yes"}
		x.Input.Text = "go on"
		t.Turns = append(t.Turns, x)
		t.Scores = append(t.Scores, result.Score{Name: fmt.Sprintf("turn-%d", n), Verdict: result.Pass, Score: 1})
	}
	for _, n := range failed {
		t.Scores[n-1].Verdict = result.Fail
	}
	return t
}

// Of a conversation with too many turns those that failed are shown, wherever they are, and what is left out is
// counted.
func TestLongConversation(t *testing.T) {
	shown := transcript.Of(talk(10_000, 9_000, 10_000), "", transcript.Rendered)
	failed := map[int]bool{}
	for _, x := range shown.Turns {
		if x.Verdict == result.Fail {
			failed[x.N] = x.ID == fmt.Sprintf("turn-%d", x.N) && !x.Reply.Silent
		}
	}
	if !failed[9_000] || !failed[10_000] || len(failed) != 2 {
		t.Errorf("turns that failed: %v", failed)
	}
	if len(shown.Turns)+shown.Left != 10_000 || len(shown.Turns) > 1_000 {
		t.Errorf("%d shown, %d left out", len(shown.Turns), shown.Left)
	}
	if n := shown.Turns[0].N; n != 1 {
		t.Errorf("the first that is shown is %d", n)
	}
}

// What a page leaves out it counts.
func TestLeftOut(t *testing.T) {
	x := talk(1)
	state := map[string]int{}
	for i := range 1_000 {
		state[fmt.Sprintf("k%04d", i)] = i
	}
	x.Turns[0].State, _ = json.Marshal(state)
	x.Turns[0].ToolCalls = make([]chat.ToolCall, 130)
	x.Output = nil
	for i := range 250 {
		x.Output = append(x.Output, chat.NewMessage(chat.Assistant, fmt.Sprintf("earlier %d", i)))
	}
	x.Output = append(x.Output, chat.NewMessage(chat.User, "go on"))
	shown := transcript.Of(x, "", transcript.Rendered)
	turn := shown.Turns[0]
	if len(turn.State)+turn.StateLeft != 1_000 || turn.StateLeft == 0 {
		t.Errorf("%d changes, %d left out", len(turn.State), turn.StateLeft)
	}
	if len(turn.Calls)+turn.CallsLeft != 130 || turn.CallsLeft == 0 {
		t.Errorf("%d calls, %d left out", len(turn.Calls), turn.CallsLeft)
	}
	if len(shown.Earlier)+shown.EarlierLeft != 250 || shown.EarlierLeft == 0 {
		t.Errorf("%d messages before, %d left out", len(shown.Earlier), shown.EarlierLeft)
	}
}

// Values are shown as they were written, and a turn without a state changes nothing.
func TestDelta(t *testing.T) {
	x := talk(3)
	x.Turns[0].State = json.RawMessage(`{"facts":[{"key":"account","value":12345678901},{"key":"town","value":"Bonn"},{"key":"none","value":null}],"step":1}`)
	x.Turns[2].State = json.RawMessage(
		`{"facts":[{"key":"account","value":12345678901},{"key":"town","value":"Köln"}],"step":1}`)
	shown := transcript.Of(x, "", transcript.Rendered)
	learned := fmt.Sprint(shown.Turns[0].Learned)
	if want := "[{account added  12345678901} {none added  null} {town added  Bonn}]"; learned != want {
		t.Errorf("learned %s, want %s", learned, want)
	}
	if learned := fmt.Sprint(shown.Turns[2].Learned); learned != "[{none removed null } {town changed Bonn Köln}]" {
		t.Errorf("learned in turn 3: %s", learned)
	}
	for _, row := range shown.Turns[2].State {
		if row.Path == "step" || row.Change == "added" {
			t.Errorf("turn 3 did not change %v", row)
		}
	}
}
