package variants_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// lane is a lane that says its name and the number in each turn.
func lane(name string, turns int) replay.Variation {
	l := replay.Variation{Name: name}
	for i := range turns {
		l.Turns = append(l.Turns, replay.VariationTurn{
			Number: i + 1, User: fmt.Sprintf("asks %d", i+1), Bot: fmt.Sprintf("%s says %d", name, i+1),
			State: fmt.Sprintf("s%d", i+1), Supported: true, LatencyMS: new(100.0),
		})
	}
	return l
}

// side returns the page of one session, and what a reader sees of each turn.
func side(t *testing.T, mode replay.Mode, lanes ...replay.Variation) (page string, turns []string) {
	t.Helper()
	r := replayed(t)
	r.Run.Mode = mode
	r.Sessions = []replay.Pair{{SessionID: "one", Mode: mode, Outcome: "completed", Variations: lanes}}
	page = replayText(t, ".html", r)
	_, body, _ := strings.Cut(page, `id="session-one"`)
	for i, step := range strings.Split(body, `<div class="step"`) {
		if i > 0 {
			turns = append(turns, plain("<div"+step))
		}
	}
	return page, turns
}

// Turn n of every lane stands in row n, however states line up.
func TestTurnsStandInTheirRow(t *testing.T) {
	candidate := lane(replay.Candidate, 4)
	candidate.Alignment = []stats.Aligned{{Original: 0, Replay: stats.Gap}, {Original: 1, Replay: 0}, {Original: 2,
		Replay: 1}, {Original: stats.Gap, Replay: 2}, {Original: stats.Gap, Replay: 3}}
	candidate.Metrics = &replay.Metrics{FirstDivergence: new(4)}
	baseline := lane(replay.Baseline, 2)
	baseline.Completed, baseline.Metrics = true, &replay.Metrics{FirstDivergence: new(3)}
	_, turns := side(t, replay.Recorded, lane(replay.Observed, 3), baseline, candidate)
	if len(turns) != 4 {
		t.Fatalf("%d rows", len(turns))
	}
	for i, wants := range [][]string{
		{"turn 1 · user asks 1", "observed says 1", "baseline says 1", "candidate says 1"},
		{"observed says 2", "baseline says 2", "candidate says 2"},
		{"observed says 3", "leaves the log’s path here Baseline had completed", "candidate says 3"},
		{"Log not in the log", "Baseline had completed", "leaves the log’s path here Candidate", "candidate says 4"},
	} {
		for _, want := range wants {
			if !strings.Contains(turns[i], want) {
				t.Errorf("row %d lacks %q: %s", i+1, want, turns[i])
			}
		}
		if leaves := strings.Contains(turns[i], "leaves the log"); leaves != (i > 1) {
			t.Errorf("row %d is marked as the first divergence: %v", i+1, leaves)
		}
	}
}

// Latency, tokens and cost of a lane are those of its turns, and unknown where one of them is.
func TestLanesTellWhatTheyTook(t *testing.T) {
	known, unknown := lane(replay.Baseline, 2), lane(replay.Candidate, 2)
	known.Turns[0].Tokens, known.Turns[1].Tokens = 300, 20
	known.Turns[0].Cost, known.Turns[1].LatencyMS = chat.Cost{USD: 0.25}, new(300.0)
	unknown.Turns[0].Tokens, unknown.Turns[1].Uncounted = 300, true
	unknown.Turns[0].Cost, unknown.Turns[1].Cost = chat.Cost{USD: 0.25}, chat.Cost{Unknown: true}
	unknown.Turns[0].LatencyMS, unknown.Turns[1].LatencyMS = nil, nil
	page, turns := side(t, replay.Recorded, lane(replay.Observed, 2), known, unknown)
	said := plain(page)
	for _, want := range []string{
		"Latency 100 ms a turn Tokens unknown Cost unknown", "Latency 200 ms a turn Tokens 320 Cost $0.25",
		"Latency unknown Tokens unknown Cost unknown",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !strings.Contains(turns[1], "tokens unknown cost unknown") || !strings.Contains(turns[0], "300 tokens $0.25") {
		t.Errorf("the turns do not say what they took: %q", turns)
	}
}

// What was not said by a real user is marked, and so is what the log does not carry, in the words of the mode.
func TestTurnsAreMarked(t *testing.T) {
	candidate := lane(replay.Candidate, 2)
	candidate.Turns[1].Supported, candidate.Turns[1].Invented, candidate.Turns[1].User = false, true, "made up"
	_, turns := side(t, replay.Simulated, lane(replay.Observed, 2), candidate)
	for i, want := range []string{"Candidate · supported",
		"Candidate · not supported: a simulated user speaks turn 2 · simulated user made up"} {
		if !strings.Contains(turns[i], want) {
			t.Errorf("row %d lacks %q: %s", i+1, want, turns[i])
		}
	}
	candidate.Turns[1].Invented, candidate.Turns[1].Bot, candidate.Turns[1].State = false, "", ""
	if _, turns = side(t, replay.Forced, lane(replay.Observed, 2), candidate); !strings.Contains(turns[1],
		"Candidate · not supported: it could not be taken") {
		t.Errorf("a turn that could not be taken is told as %s", turns[1])
	}
	candidate.Error, candidate.Endless = "the model is away", true
	page, _ := side(t, replay.Recorded, lane(replay.Observed, 3), candidate)
	for _, want := range []string{"failed in 2 turns", "the model is away", "the lane had failed"} {
		if !strings.Contains(plain(page), want) {
			t.Errorf("a failed lane does not say %q", want)
		}
	}
}

// A session in which a message got no answer is not as in the log, and an end that is not known is not one that did
// not complete.
func TestSessionsAreNotGreenerThanTheyWere(t *testing.T) {
	mute := lane(replay.Candidate, 2)
	mute.Completed, mute.Metrics = true, &replay.Metrics{Answered: new(0.0), CompletionMatch: new(1.0)}
	observed := lane(replay.Observed, 2)
	observed.Completed = true
	page, _ := side(t, replay.Recorded, observed, mute)
	if !strings.Contains(page, `class="test pair mute"`) || strings.Contains(page, "As in the log") {
		t.Error("a session without an answer counts as one that went as in the log")
	}
	r := replayed(t)
	r.Sessions = []replay.Pair{{SessionID: "one", Outcome: replay.EndUnknown,
		Variations: []replay.Variation{lane(replay.Observed, 1), lane(replay.Candidate, 1)}}}
	if said := plain(replayText(t, ".html", r)); !strings.Contains(said, "Log unknown end, 1 turn") {
		t.Error("an unknown end is told as one that did not complete")
	}
	r.Divergences = []replay.Divergence{{Turn: 0, Sessions: 3}}
	if said := plain(replayText(t, ".html", r)); !strings.Contains(said,
		"3 of 3 sessions stayed on the log’s path to the end. Of 115 sessions more no path is told.") {
		t.Error("sessions of which no path is told are not counted")
	}
}
