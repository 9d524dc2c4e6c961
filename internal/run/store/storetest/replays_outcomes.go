package storetest

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

func outcomesSame(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	putReplay(t, r, sampleReplay("r2"))
	want := []replay.Outcome{
		{SessionID: " "},
		{SessionID: "A", Dropped: "the candidate's model was away: '\"\\ 😀"},
		{
			SessionID: "B", Metrics: json.RawMessage(`{}`),
			Detail: json.RawMessage(`{"a":[1.50,12345678901234567890,null,"\u00e9"]}`),
		},
		{SessionID: "a"},
		{SessionID: "a-b"},
		{SessionID: "a10"},
		{SessionID: "a2"},
		{SessionID: "é"},
		{SessionID: "\uFF5E"},
		{SessionID: "😀"},
	}
	shuffled := slices.Clone(want)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, part := range [][]replay.Outcome{shuffled[:4], shuffled[4:]} {
		if err := r.PutOutcomes(t.Context(), "r1", part, eventTime); err != nil {
			t.Fatal(err)
		}
	}
	wantOutcomes(t, r, "r1", want...)
	wantOutcomes(t, r, "r2")
	bad := replay.Outcome{
		SessionID: "\x00\xff", Dropped: "\x00", Detail: json.RawMessage(`{"a":"\u0000"}`),
		Metrics: json.RawMessage(`null`),
	}
	if err := r.PutOutcomes(t.Context(), "r2", []replay.Outcome{bad}, eventTime); err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, r, "r2", replay.Outcome{
		SessionID: "\uFFFD\uFFFD", Dropped: "\uFFFD", Detail: json.RawMessage(`{"a":"\ufffd"}`),
	})
}

func outcomesReplaced(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	first := outcomes(numbered(0, 130)...)
	last := replay.Outcome{SessionID: first[7].SessionID, Dropped: "the last one"}
	other := replay.Outcome{SessionID: first[100].SessionID, Metrics: json.RawMessage(`{"b":1}`)}
	for _, put := range [][]replay.Outcome{first, append(outcomes(last.SessionID, last.SessionID), last), {other}} {
		if err := r.PutOutcomes(t.Context(), "r1", put, eventTime); err != nil {
			t.Fatal(err)
		}
	}
	first[7], first[100] = last, other
	wantOutcomes(t, r, "r1", first...)
}

func outcomesAllOrNone(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	for _, tc := range []struct {
		bad  replay.Outcome
		want string
	}{
		{replay.Outcome{}, "it has no session_id"},
		{replay.Outcome{SessionID: strings.Repeat("x", 513)}, "its session_id has 513 bytes"},
		{
			replay.Outcome{SessionID: "bad", Metrics: json.RawMessage(`[]`)},
			`outcome of session "bad": its metrics is no JSON object`,
		},
		{replay.Outcome{SessionID: "bad", Detail: json.RawMessage(`{`)}, "its detail is no JSON object"},
	} {
		err := r.PutOutcomes(t.Context(), "r1", append(outcomes(numbered(0, 120)...), tc.bad), eventTime)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("PutOutcomes: %v, want %s", err, tc.want)
		}
	}
	wantOutcomes(t, r, "r1")
	wantReplay(t, r, "r1", sampleReplay("r1"))
}

func outcomesLarge(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	want := outcomes(numbered(0, 240)...)
	large := message(1 << 20)
	for i := range want {
		if i < 3 || i >= 110 && i < 116 || i == 239 {
			want[i].Detail = large
		}
	}
	want[100].Detail = message(6 << 20)
	if err := r.PutOutcomes(t.Context(), "r1", want, eventTime); err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, r, "r1", want...)
}

// outcomesMany has 48 MB of sessions (a tenth under the race detector), which never may be in memory at once.
func outcomesMany(t *testing.T, r *store.ReplayRuns) {
	const each, size = 100, 24_000
	n := 2_000
	if race.Enabled {
		n = 200
	}
	putReplay(t, r, sampleReplay("r1"))
	detail := message(size)
	before := liveHeap()
	most := before
	for from := n - each; from >= 0; from -= each {
		put := outcomes(numbered(from, from+each)...)
		for i := range put {
			put[i].Detail = detail
		}
		if err := r.PutOutcomes(t.Context(), "r1", put, eventTime); err != nil {
			t.Fatal(err)
		}
		if from%1_000 == 0 {
			most = max(most, liveHeap())
		}
	}
	i, want := 0, numbered(0, n)
	for o, err := range r.Outcomes(t.Context(), "r1") {
		if err != nil || o.SessionID != want[i] || len(o.Detail) < size {
			t.Fatalf("session %d: %q with %d bytes, %v", i, o.SessionID, len(o.Detail), err)
		}
		if i++; i%1_000 == 0 {
			most = max(most, liveHeap())
		}
	}
	if i != n {
		t.Errorf("%d sessions came back, want %d", i, n)
	}
	if most > before+heapLimit {
		t.Errorf("%d MB of memory in use, %d MB before", most>>20, before>>20)
	}
}

// outcomesAtOnce has overlapping sessions put in different orders, so that whoever waits for another could be waited
// for.
func outcomesAtOnce(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for part := range 4 {
				from := (part*(w+1)%4 + w) * 100
				put := outcomes(numbered(from, from+300)...)
				if w%2 == 0 {
					slices.Reverse(put)
				}
				if err := r.PutOutcomes(t.Context(), "r1", put, eventTime); err != nil {
					t.Errorf("PutOutcomes: %v", err)
				}
			}
		})
	}
	wg.Wait()
	got := sessionsOf(collectOutcomes(t, r, "r1"))
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) || len(got) < 300 {
		t.Errorf("%d sessions", len(got))
	}
}

// outcomesNested reads more at once than there are connections, and reads and writes while reading.
func outcomesNested(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	if err := r.PutOutcomes(t.Context(), "r1", outcomes(numbered(0, 200)...), eventTime); err != nil {
		t.Fatal(err)
	}
	var read func(depth int)
	read = func(depth int) {
		n := 0
		for o, err := range r.Outcomes(t.Context(), "r1") {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 60 && depth > 0 {
				if err := r.PutOutcomes(t.Context(), "r1", outcomes(o.SessionID), eventTime); err != nil {
					t.Fatal(err)
				}
				read(depth - 1)
				return
			}
		}
	}
	read(12)
	wantOutcomes(t, r, "r1", outcomes(numbered(0, 200)...)...)
}
