package replay_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// shortTalks are n completed sessions of one message, two of each user.
func shortTalks(n int) *memory {
	log := &memory{}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	add := func(session, unit, kind, payload string) {
		at = at.Add(time.Second)
		*log = append(*log, replay.Event{
			ID: fmt.Sprint(at.Unix()), Type: kind, UnitID: unit, SessionID: session, FlowID: "f", Time: at,
			Context: json.RawMessage(`{"current_state":"ask"}`), Payload: json.RawMessage(payload),
		})
	}
	for i := range n {
		session, unit := fmt.Sprintf("s%03d", i), fmt.Sprintf("u%03d", i/2)
		add(session, unit, replay.Message,
			`{"sender":"user","message_text":"hi","state_transition":true,"next_state":"end"}`)
		add(session, unit, replay.Message, `{"sender":"bot","message_text":"bye"}`)
		add(session, unit, replay.Completed, `{}`)
	}
	return log
}

// playedOf is a replay of one turn that ends as the log does.
func playedOf(session, variant string, repeat int) replay.Played {
	return replay.Played{
		SessionID: session, FlowID: "f", Variant: variant, Completed: true, Repeat: repeat,
		Turns: []replay.PlayedTurn{{Number: 1, State: "end", LatencyMS: new(100.0)}},
	}
}

func paired(t *testing.T, n int, replays []replay.Played) *replay.FlowScore {
	t.Helper()
	scored, err := replay.ScoreAll(t.Context(), shortTalks(n), replays, replay.ScoreOptions{
		MinTurns: 1, Measuring: replay.Measuring{Side: replay.After}, Rules: replay.DefaultRules(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return scored.Flows["f"]
}

// Replays that were made elsewhere are compared as a run's are: users are clusters, an error loses the pair, and
// nothing is known of support.
func TestScorePaired(t *testing.T) {
	var replays []replay.Played
	for i := range 200 {
		session := fmt.Sprintf("s%03d", i)
		was, is := playedOf(session, replay.Baseline, 0), playedOf(session, replay.Candidate, 0)
		if i < 10 {
			is.Error, is.Turns, is.Completed = "it crashed", nil, false
		}
		replays = append(replays, was, is)
	}
	f := paired(t, 200, replays)
	p := f.Paired
	if p.Clusters != (replay.Clusters{By: replay.ByUnit, Units: 95, Sessions: 190, Largest: 2}) ||
		p.Lost != (replay.Lost{Candidate: 10, Share: 0.05}) {
		t.Errorf("clusters %+v, lost %+v", p.Clusters, p.Lost)
	}
	if p.Gate.Outcome != replay.NotPassed || len(p.Gate.Reasons) != 2 || p.Gate.Reasons[1].Code != "lost_pairs" {
		t.Errorf("gate %+v", p.Gate)
	}
	if worst := p.Metrics[0].Difference.WorstCase; worst == nil || *worst != -10.0/200 {
		t.Errorf("worst case %v", worst)
	}
	for _, m := range p.Metrics {
		if d := m.Difference; m.Name == replay.Answered && (d.N != 200 || math.Abs(d.Mean+0.05) > 1e-12) {
			t.Errorf("answered %+v", d)
		}
	}
	if n := f.Variants[replay.Baseline][replay.CompletionMatch].N; n != 190 {
		t.Errorf("the means are over %d sessions", n)
	}
}

// A session that the candidate has not played is a lost pair, as one in which it failed: else whoever writes no row for
// a crash has none.
func TestScoreOfMissingReplays(t *testing.T) {
	var replays []replay.Played
	for i := range 200 {
		session := fmt.Sprintf("s%03d", i)
		replays = append(replays, playedOf(session, replay.Baseline, 0))
		if i >= 10 {
			replays = append(replays, playedOf(session, replay.Candidate, 0))
		}
	}
	f := paired(t, 200, replays)
	if p := f.Paired; f.Sessions != 190 || p.Lost != (replay.Lost{Candidate: 10, Share: 0.05}) ||
		p.Gate.Outcome != replay.NotPassed || p.Clusters.Sessions != 190 {
		t.Errorf("%d sessions, lost %+v: %s", f.Sessions, p.Lost, p.Gate.Headline)
	}
	if n := f.Variants[replay.Baseline][replay.CompletionMatch].N; n != 190 {
		t.Errorf("the means are over %d sessions", n)
	}
}

// Of repeats the means are compared, and the variance is split: sessions complete in 1 of 2, and in 2 of 2 replays.
func TestScoreRepeats(t *testing.T) {
	var replays []replay.Played
	for i := range 100 {
		for k := 1; k <= 2; k++ {
			session := fmt.Sprintf("s%03d", i)
			is := playedOf(session, replay.Candidate, k)
			is.Completed = k == 1 || i%2 == 0
			replays = append(replays, playedOf(session, replay.Baseline, k), is)
		}
	}
	p := paired(t, 100, replays).Paired
	if d := p.Metrics[0].Difference; d.N != 100 || math.Abs(d.Mean+0.25) > 1e-12 || d.Method == "mcnemar" {
		t.Errorf("difference %+v", d)
	}
	r := p.Repeats
	if r.K != 2 || math.Abs(r.PassHatK[replay.Candidate]["1"]-0.75) > 1e-12 ||
		math.Abs(r.PassHatK[replay.Candidate]["2"]-0.5) > 1e-12 || r.PassHatK[replay.Baseline]["2"] != 1 {
		t.Errorf("pass^k %+v", r)
	}
	for _, v := range r.Variance {
		if v.Variant != replay.Candidate || v.Metric != replay.CompletionMatch {
			continue
		}
		// Half of the sessions have a sample variance of 0.5; means of 1 and 0.5 have one of 6.25/99, less 0.25/2.
		if want := (replay.RepeatVariance{
			Variant: replay.Candidate, Metric: replay.CompletionMatch, Mean: 0.75, Model: 0.25, Session: new(0.0),
		}); v.Session == nil || *v.Session != *want.Session || v.Model != want.Model || v.Mean != want.Mean {
			t.Errorf("variance %+v, want %+v", v, want)
		}
	}
}
