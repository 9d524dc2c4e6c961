package experiment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/experiment"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// threeItems are the items i1 to i3 in a dataset of a server.
func threeItems(t *testing.T) *langfusetest.Server {
	t.Helper()
	s := langfusetest.New(t)
	s.AddDataset("d")
	for i := range 3 {
		s.AddItem("d", fmt.Sprintf("i%d", i+1), map[string]any{"message": "hello"}, nil, nil)
	}
	return s
}

// begin begins to log a run of the items i1 to i3, and returns what is said of it.
func begin(t *testing.T, s *langfusetest.Server, pace experiment.Pace,
	environ ...string) (*experiment.Log, *strings.Builder, []experiment.Item) {
	t.Helper()
	c, err := langfuse.FromEnv(s.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	client, err := langfuse.New(c)
	if err != nil {
		t.Fatal(err)
	}
	said := &strings.Builder{}
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var items []experiment.Item
	for i := range 3 {
		items = append(items, experiment.Item{
			ID: fmt.Sprintf("i%d", i+1), Input: "x", Start: now, End: now, Scores: map[string]float64{"correct": 1},
		})
	}
	config := &experiment.Config{
		Client: client, Secrets: redact.New(environ), OnWarning: func(text string) { fmt.Fprintln(said, text) },
		Pace: pace,
	}
	return experiment.Begin(config, &experiment.Run{Kind: "test", Dataset: "d", Name: "r"}), said, items
}

// TestLog holds the bounds of what is logged in the background.
func TestLog(t *testing.T) {
	quick := experiment.Pace{
		Every: time.Millisecond, Batch: 2, Waiting: 2, Finish: time.Minute, Each: time.Second, BrokenOff: time.Minute,
	}
	t.Run("what did not fit is sent at the end, and nothing twice", func(t *testing.T) {
		s := threeItems(t)
		pace := quick
		pace.Every = time.Hour
		pace.Batch = 10
		log, said, items := begin(t, s, pace)
		for _, item := range append(items, items...) {
			log.Add(item)
		}
		log.Finish(t.Context(), items, map[string]float64{"passed": 1})
		log.BreakOff(t.Context())
		log.Add(items[0])
		if len(s.RunItems()) != 3 || len(s.Scores()) != 4 || !strings.HasPrefix(said.String(), "logged to langfuse") {
			t.Errorf("%d items, %d scores, said %s", len(s.RunItems()), len(s.Scores()), said)
		}
	})
	t.Run("adding never waits for Langfuse, and the end has a bound", func(t *testing.T) {
		s := threeItems(t)
		s.Fail(langfusetest.Fault{Delay: time.Minute}) // longer than every limit below
		pace := quick
		pace.Finish, pace.Each = 300*time.Millisecond, 0
		log, said, items := begin(t, s, pace)
		began := time.Now()
		for _, item := range items {
			log.Add(item)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("adding took %s", took)
		}
		log.Finish(t.Context(), items, map[string]float64{"passed": 1})
		if took := time.Since(began); took > 40*time.Second || !strings.Contains(said.String(), "it took too long") {
			t.Errorf("the end took %s, said %s", took, said)
		}
	})
	t.Run("a Langfuse that is away for a while", func(t *testing.T) {
		s := threeItems(t)
		for range 8 { // two look-ups of the dataset, each tried four times
			s.Fail(langfusetest.TooMany("0"))
		}
		log, said, items := begin(t, s, quick)
		log.Add(items[0])
		log.Finish(t.Context(), items, map[string]float64{"passed": 1})
		if len(s.RunItems()) != 3 || len(s.Scores()) != 4 {
			t.Errorf("%d items, %d scores, said %s", len(s.RunItems()), len(s.Scores()), said)
		}
	})
	t.Run("refused keys end it", func(t *testing.T) {
		s := threeItems(t)
		s.Fail(langfusetest.Fault{Status: 401, Body: `{"message":"who?"}`})
		log, said, items := begin(t, s, quick)
		log.Finish(t.Context(), items, map[string]float64{"passed": 1})
		if n := len(s.Requests()); n != 1 || !strings.Contains(said.String(), "check LANGFUSE_PUBLIC_KEY") {
			t.Errorf("%d requests, said %s", n, said)
		}
	})
	t.Run("secrets stay here", func(t *testing.T) {
		s := threeItems(t)
		log, said, items := begin(t, s, quick, "SHOP_API_KEY=key-0123456789")
		items[0].Input = "my key-0123456789"
		items[0].Comment = "key-0123456789"
		log.Finish(t.Context(), items[:1], map[string]float64{"passed": 1})
		if logged := fmt.Sprint(s.Spans(), s.Scores()); len(s.Spans()) != 1 ||
			strings.Contains(logged, "key-0123456789") {
			t.Errorf("logged %s, said %s", logged, said)
		}
	})
}
