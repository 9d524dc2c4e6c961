package main

import "testing"

// TestGrow wants the whole answer path, once, and turns that leave as much behind late in a conversation as early.
func TestGrow(t *testing.T) {
	r, err := ours(t.Context(), "", []string{"grow", "50"})
	if err != nil {
		t.Fatal(err)
	}
	early, late := r.Added[1], r.Added[49]
	if late.Nodes != 20 || late.Steps != 12 || late.Checkpoints != 1 || late.Finalize != 1 {
		t.Errorf("a turn is %+v, want 20 nodes in 12 steps, finalize once, and one checkpoint", late)
	}
	if grown := float64(late.Bytes) / float64(early.Bytes); grown < 0.97 || grown > 1.03 {
		t.Errorf("turn 2 adds %d bytes, turn 50 %d", early.Bytes, late.Bytes)
	}
}

// TestHold wants conversations that remember every turn.
func TestHold(t *testing.T) {
	r, err := ours(t.Context(), "", []string{"hold", "4", "3"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Turns != 12 || len(r.State.Messages) != 6 || r.State.TurnNumber != 3 || r.State.Visitor["need"] != "demo" {
		t.Errorf("after 3 turns of 4 sessions: %d turns, %+v", r.Turns, r.State)
	}
}
