package replay_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// panicking breaks the program in every second session.
type panicking struct{ scripted }

func (a *panicking) Open(ctx context.Context, at replay.Moment) (replay.Conversation, error) {
	if strings.HasSuffix(at.SessionID, "1") {
		panic("out of bounds")
	}
	return a.scripted.Open(ctx, at)
}

// A session whose agent breaks the program is a lost pair with its reason, and the report has all others.
func TestPanicIsALostPair(t *testing.T) {
	runs := &kept{}
	e := evaluation(logOf(t, 20), runs, 4)
	e.Replayer.Candidate = &panicking{scripted{moves: booking}}
	var order []string
	e.Each = func(p *replay.Pair) error { order = append(order, p.SessionID); return nil }
	report, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Run.Sessions != 18 || report.Run.PairsDropped != 2 {
		t.Errorf("%d compared, %d lost", report.Run.Sessions, report.Run.PairsDropped)
	}
	if o := runs.outcomes["s0011"]; !strings.Contains(o.Dropped, "out of bounds") ||
		!strings.Contains(string(o.Detail), `"lane":"candidate"`) {
		t.Errorf("%+v", o)
	}
	if !slices.Equal(order, slices.Sorted(maps.Keys(runs.outcomes))) {
		t.Errorf("the order of the report: %v", order)
	}
	if note := fmt.Sprint(report.Notes); !strings.Contains(note, "s0001: ") || !strings.Contains(note, "s0011: ") {
		t.Errorf("the lost pairs are not named: %s", note)
	}
}

// What is sent from where a session was replayed is what was replayed there.
func TestHeldElsewhere(t *testing.T) {
	r := &replay.Replayer{
		Candidate: &scripted{moves: booking}, Baseline: &scripted{moves: booking}, Mode: replay.Recorded,
	}
	s := talked("s", "hello book → where", "where Rome → when")
	here, err := r.Run(t.Context(), s, replay.Measuring{})
	if err != nil {
		t.Fatal(err)
	}
	there, err := replay.PairResultOf(here.Outcome)
	if d := gocmp.Diff(here, there); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := replay.PairResultOf(replay.Outcome{SessionID: "s", Detail: []byte("{")}); err == nil {
		t.Error("an outcome that cannot be read is one")
	}
}
