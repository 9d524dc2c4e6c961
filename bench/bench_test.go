package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestVerdict asks in the words of each measured program.
func TestVerdict(t *testing.T) {
	for name, tc := range map[string]struct{ question, want string }{
		"rubrics of rehearse": {
			`{"output":"x","rubrics":[{"id":"a","outcome":"o"},{"id":"b","outcome":"The reply contains the word \"x\"."}]}`,
			`"checks":[{"id":"a","satisfied":true,"reasoning":"It does."},{"id":"b","satisfied":false`,
		},
		"criteria of rehearse": {`{"expected_criteria":{"polite":true}}`, `"scores":{"polite":1}`},
		"rubrics of AgentV": {
			"[[ ## rubrics ## ]]\n- [criterion-1]: Is polite\n- [criterion-2] (REQUIRED): Is brief\n",
			`"checks":[{"id":"criterion-1","satisfied":true,"reasoning":"It does."},{"id":"criterion-2"`,
		},
		"a plain question": {"Is it good?", `"score":1,"pass":true`},
	} {
		if got := verdict(requestOf(t, judgeModel, tc.question)); !strings.Contains(got, tc.want) {
			t.Errorf("%s: verdict is %s, which lacks %s", name, got, tc.want)
		}
	}
}

// TestEcho wants both texts that a turn looks for, and the second only from a client that carries the conversation
// forward.
func TestEcho(t *testing.T) {
	got := echo(requestOf(t, "echo", said(7, 1), said(7, 2)))
	for _, text := range wanted(7, 2) {
		if !strings.Contains(got, text) {
			t.Errorf("echo is %q, which lacks %q", got, text)
		}
	}
	if forgetful := echo(requestOf(t, "echo", said(7, 2))); strings.Contains(forgetful, wanted(7, 2)[1]) {
		t.Errorf("echo is %q without the first message", forgetful)
	}
}

func requestOf(t *testing.T, model string, said ...string) *chatRequest {
	t.Helper()
	var messages []message
	for _, text := range said {
		messages = append(messages, message{"user", text})
	}
	data, err := json.Marshal(map[string]any{"model": model, "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	asked := &chatRequest{}
	if err := json.Unmarshal(data, asked); err != nil {
		t.Fatal(err)
	}
	return asked
}

func TestIdeal(t *testing.T) {
	for want, w := range map[time.Duration]workload{
		800 * time.Millisecond:  {conversations: 200, turns: 4, latency: latency},
		1600 * time.Millisecond: {conversations: 200, turns: 4, latency: latency, judged: true},
		1000 * time.Millisecond: {conversations: 201, turns: 4, latency: latency},
	} {
		if got := w.ideal(); got != want {
			t.Errorf("ideal of %+v is %s, want %s", w, got, want)
		}
	}
}

func TestGoals(t *testing.T) {
	r := &row{Goals: []goal{
		wallWithin(2 * time.Second), wallBelow(2 * time.Second), cpuBelow(time.Second), rssBelow(60 * mb),
		flat(50 * mb),
	}}
	for _, seconds := range []time.Duration{9, 2, 1} { // the median counts
		r.Runs = append(r.Runs, usage{Wall: seconds * time.Second, CPU: 900 * time.Millisecond, RSS: 61 * mb})
	}
	r.settle()
	for i, want := range []bool{true, false, true, false, true} {
		if r.Goals[i].Met != want {
			t.Errorf("goal %q: met is %t, want %t", r.Goals[i].Text, r.Goals[i].Met, want)
		}
	}
}
