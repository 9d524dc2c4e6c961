package replay_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// said adds a message of the user's in a state to a log.
func said(log *memory, session string, turn int, state, text string) {
	payload, _ := json.Marshal(map[string]any{"sender": "user", "message_text": text}) // texts can be encoded
	*log = append(*log, replay.Event{
		ID: fmt.Sprintf("%s-%06d", session, turn), Type: replay.Message,
		SessionID: session, FlowID: "f", Time: time.Unix(int64(turn), 0),
		Context: json.RawMessage(`{"session_id":"` + session + `","flow_id":"f","current_state":"` + state + `"}`),
		Payload: payload,
	})
}

// TestGiantSession proves that a session of much text is replayed like others, and that what is kept and shown of it is
// bounded.
func TestGiantSession(t *testing.T) {
	log, runs := logOf(t, 3), &kept{}
	for i := range 24 {
		said(log, "t", i, "hello", strings.Repeat("é", 500_000)+"\x1b")
	}
	report, err := evaluation(log, runs, 2).Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Run.Sessions != 4 || report.Run.PairsDropped != 0 {
		t.Errorf("%d sessions, %d dropped", report.Run.Sessions, report.Run.PairsDropped)
	}
	if n := len(runs.outcomes["t"].Detail); n > 2<<20 || len(asJSON(t, report)) > 4<<20 {
		t.Errorf("%d bytes of the session are kept, and %d of the report", n, len(asJSON(t, report)))
	}
	if !strings.Contains(fmt.Sprint(report.Notes), "8 [t-000016") ||
		!strings.Contains(fmt.Sprint(report.Notes), "too much text") {
		t.Error(report.Notes)
	}
}

// TestSessionThatNoStoreKeeps proves that a session of too many turns is dropped, and that the run goes on without it.
func TestSessionThatNoStoreKeeps(t *testing.T) {
	log, runs := logOf(t, 3), &kept{}
	for i := range 30_000 {
		said(log, "t", i, strings.Repeat("s", 600), "leave")
	}
	e := evaluation(log, runs, 2)
	// both lanes are short, so that there is little to align
	leaving := &scripted{moves: map[string]string{"hello/leave": "bye", "hello/book": "bye"}}
	e.Replayer.Baseline, e.Replayer.Candidate = leaving, leaving
	report, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Run.Sessions != 3 || report.Run.PairsDropped != 1 ||
		!strings.Contains(runs.outcomes["t"].Dropped, "too long to be kept") || len(runs.outcomes["t"].Detail) > 1_000 {
		t.Errorf("%d sessions, %d dropped: %s", report.Run.Sessions, report.Run.PairsDropped,
			runs.outcomes["t"].Dropped)
	}
}

// TestShownText proves that a report shows no more text than a page can bear, and says how many sessions it leaves out.
func TestShownText(t *testing.T) {
	tally := &replay.Tally{}
	for i := range 100 {
		text := strings.Repeat("x", 1<<20)
		tally.Add(&replay.Pair{SessionID: fmt.Sprint(i), Dropped: "it broke down", Variations: []replay.Variation{{
			Name: replay.Observed, Turns: []replay.VariationTurn{{User: text}},
		}}})
	}
	report, err := tally.Report(replay.Report{}, replay.DefaultRules())
	if err != nil || len(report.Sessions) != 32 || !strings.Contains(fmt.Sprint(report.Notes), "the 32 are") {
		t.Errorf("%d sessions, %v, %v", len(report.Sessions), err, report.Notes)
	}
}
