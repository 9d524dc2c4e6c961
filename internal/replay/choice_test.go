package replay_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

var dayOne = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// row is an event of a log; hours count from dayOne.
func row(session, flow, kind string, hours int, payload string) replay.Event {
	id := fmt.Sprintf("%s-%d-%s", session, hours, kind)
	return replay.Event{
		ID: id, Type: kind, SessionID: session, FlowID: flow, Time: dayOne.Add(time.Duration(hours) * time.Hour),
		Payload: []byte(payload),
	}
}

const hello = `{"sender": "user", "message_text": "book"}`

// figuresOf replays a log of one day with the agent of logOf, and returns the table.
func figuresOf(t *testing.T, log memory, change func(*replay.Evaluation)) replay.LogToFigures {
	t.Helper()
	e := evaluation(&log, nil, 2)
	e.Head.Run.FlowID, e.From, e.To, e.MinTurns = "f", dayOne, dayOne.AddDate(0, 0, 1), 1
	change(e)
	report, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return *report.LogToFigures
}

func TestLogToFigures(t *testing.T) {
	log := memory{
		row("both", "f", replay.Message, 1, hello), row("both", "", replay.Completed, 2, `{}`),
		row("both", "", replay.DroppedOff, 3, `{}`), row("elsewhere", "g", replay.Message, 1, hello),
		row("left", "f", replay.Message, -1, hello), row("left", "f", replay.Completed, 1, `{}`),
		row("mixed", "g", replay.Message, -1, hello), row("mixed", "f", replay.Message, 1, hello),
		row("neither", "", replay.Message, 1, hello),
		row("none", "f", replay.Started, 1, `{}`), row("none", "f", replay.Completed, 2, `{}`),
		row("out", "f", replay.Message, -2, hello), row("out", "f", replay.Message, 25, hello),
		row("right", "f", replay.Message, 23, hello), row("right", "f", replay.Completed, 24, `{}`),
		row("sender", "", replay.Message, 1, `{"role": "CUSTOMER", "content": "book"}`),
		row("sender", "f", replay.Message, 2, `{"sender": "system", "message_text": "x"}`),
		row("unread", "f", replay.Message, 1, hello), row("unread", "f", replay.Message, 2, `7`),
	}
	want := replay.LogToFigures{
		Read: 9, OtherFlow: 2, MixedFlow: 1, CutLeft: 1, CutRight: 1, BelowMinTurns: 1, Compared: 3, Completed: 1,
		UnknownOutcome: 2,
		RowFaults: []replay.RowFault{
			{Kind: "both_ends", Count: 1, Examples: []string{"both-3-user_dropped_off"}},
			{Kind: "unknown_sender", Count: 1, Examples: []string{"sender-2-message_sent"}},
			{Kind: "unreadable_payload", Count: 1, Examples: []string{"unread-2-message_sent"}},
		},
	}
	if diff := gocmp.Diff(want, figuresOf(t, log, func(*replay.Evaluation) {})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestLogToFiguresAddUp proves that every session that was read stands in one line, whatever a log holds.
func TestLogToFiguresAddUp(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var log memory
		for s := range 1 + random.IntN(12) {
			session := fmt.Sprintf("s%02d", s)
			hours := random.IntN(60) - 20
			for range 1 + random.IntN(4) {
				flow := []string{"f", "f", "", "g"}[random.IntN(4)]
				kind := []string{
					replay.Message, replay.Message, replay.Started, replay.Completed, replay.DroppedOff,
				}[random.IntN(5)]
				log = append(log, row(session, flow, kind, hours, hello))
				hours += random.IntN(12)
			}
		}
		e := evaluation(&log, nil, 2)
		e.Head.Run.FlowID, e.From, e.To, e.MinTurns, e.SampleSize = "f", dayOne, dayOne.AddDate(0, 0, 1),
			random.IntN(3), random.IntN(3)
		report, err := e.Evaluate(t.Context())
		if err != nil {
			if !strings.Contains(err.Error(), replay.ErrNoSessions.Error()) {
				t.Fatal(err)
			}
			continue
		}
		of := report.LogToFigures
		sum := of.OtherFlow + of.MixedFlow + of.CutLeft + of.CutRight + of.BelowMinTurns + of.NotSampled + of.Lost +
			of.Compared
		if sum != of.Read || of.Compared != of.Completed+of.DroppedOff+of.UnknownOutcome ||
			of.Compared != report.Run.Sessions {
			t.Errorf("seed %d: the lines do not add up: %+v", seed, of)
		}
	}
}

// TestNothingIsATable wants the table where no session is left.
func TestNothingIsATable(t *testing.T) {
	log := memory{
		row("elsewhere", "g", replay.Message, 1, hello), row("left", "f", replay.Message, -1, hello),
		row("left", "f", replay.Message, 1, hello),
	}
	e := evaluation(&log, nil, 2)
	e.Head.Run.FlowID, e.From, e.To = "f", dayOne, dayOne.AddDate(0, 0, 1)
	_, err := e.Evaluate(t.Context())
	if err == nil || !strings.Contains(err.Error(), "2 sessions read; 1 of another flow; 1 began before the range") {
		t.Errorf("got %v", err)
	}
}
