package langfuse_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// TestRuns logs a run as a caller does that does not know which version it speaks to.
func TestRuns(t *testing.T) {
	for _, version := range []string{"3.150.0", "4.0.1"} {
		t.Run(version, func(t *testing.T) {
			s, c := online(t)
			s.SetVersion(version)
			s.AddDataset("folder/d")
			d, err := c.Dataset(t.Context(), "folder/d")
			if err != nil {
				t.Fatal(err)
			}
			const name = "nightly 2026/01"
			var want []string
			for i := range 60 {
				id := fmt.Sprint("item-", i)
				s.AddItem("folder/d", id, i, nil, nil)
				root := langfuse.SpanID(name, id)
				trace := langfuse.Trace{
					ID: langfuse.TraceID(name, id), Spans: []langfuse.Span{{
						ID: root, Name: "item", Start: moment, End: moment.Add(time.Second),
					}}, Experiment: &langfuse.Experiment{
						ID: "run-1", Name: name, Description: "all of it", DatasetID: d.ID, ItemID: id,
					},
				}
				if err := c.Export(t.Context(), []langfuse.Trace{trace}); err != nil {
					t.Fatal(err)
				}
				added, err := c.AddRunItem(t.Context(), langfuse.NewRunItem{
					Run: name, Description: "all of it", Metadata: raw(`{"commit":"abc"}`), ItemID: id,
					TraceID: trace.ID, ObservationID: root,
				})
				if err != nil || added.TraceID != trace.ID || added.ItemID != id || added.RunID == "" {
					t.Fatalf("%+v, %v", added, err)
				}
				want = append(want, id+" "+trace.ID+" "+root)
			}
			items := s.RunItems()
			if version == "4.0.1" { // it makes the run of the spans
				items = nil
				for _, span := range s.Spans() {
					items = append(items, langfusetest.RunItem{
						Run: name, ItemID: span.Attributes["langfuse.experiment.item.id"].(string),
						TraceID: span.TraceID, ObservationID: span.ID,
					})
				}
			}
			var got []string
			for _, i := range items {
				got = append(got, i.ItemID+" "+i.TraceID+" "+i.ObservationID)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAddRunItem(t *testing.T) {
	s, c := online(t)
	s.AddDataset("d")
	s.AddItem("d", "a", nil, nil, nil)
	s.AddItem("d", "old", nil, nil, nil)
	s.Archive("old")
	if _, err := c.AddRunItem(t.Context(), langfuse.NewRunItem{Run: "r/2", ItemID: "a", TraceID: "t"}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]langfusetest.RunItem{{Run: "r/2", ItemID: "a", TraceID: "t"}}, s.RunItems()); d != "" {
		t.Error(d)
	}
	_, err := c.AddRunItem(t.Context(), langfuse.NewRunItem{Run: "r/2", ItemID: "old", TraceID: "t"})
	if wants(t, err, "Dataset item not found"); !errors.Is(err, langfuse.ErrNotFound) {
		t.Error(err)
	}
	for _, i := range []langfuse.NewRunItem{
		{ItemID: "a", TraceID: "t"},
		{Run: "r", TraceID: "t"},
		{Run: "r", ItemID: "a"},
	} {
		wants(t, second(c.AddRunItem(t.Context(), i)), "it has no ")
	}
}

// TestEndlessSpans reads a trace of a server whose list of spans does not end.
func TestEndlessSpans(t *testing.T) {
	asked := 0
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path == "/base/api/public/v2/observations" {
			says(200, fmt.Sprintf(`{"data":[],"meta":{"cursor":"%d"}}`, asked))(w, r)
			return
		}
		says(410, `{"message":"a legacy API","error":"LEGACY_API_UNAVAILABLE_FOR_NEW_ORGANIZATION"}`)(w, r)
	})
	wants(t, second(client.Trace(t.Context(), "t")), "the list does not end")
	if asked > 10 {
		t.Errorf("%d calls", asked)
	}
}
