package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// fixedLists is a store of what it holds.
type fixedLists struct {
	events   []replay.Event
	datasets fixedDatasets
	runs     []replay.Run
}

type fixedDatasets []dataset.Entry

func (f fixedDatasets) List(context.Context) ([]dataset.Entry, error) { return slices.Clone(f), nil }

func (f fixedLists) Runs(context.Context, int) ([]replay.Run, error) {
	return slices.Clone(f.runs), nil
}

func (f fixedLists) EachFrom(_ context.Context, _ replay.Filter, session string) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for _, e := range f.events {
			if e.SessionID >= session && !yield(e, nil) {
				return
			}
		}
	}
}

func (fixedLists) List(context.Context) ([]replay.Variant, error) { return nil, nil }

// reading asks with the scope read.
func reading(target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	return r.WithContext(access.With(r.Context(), access.Grant{Scopes: []access.Scope{access.Read}}))
}

// TestListPages walks every list in pages of every size: each entry comes once and in its order.
func TestListPages(t *testing.T) {
	const n = 7
	var held fixedLists
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		id := fmt.Sprintf("e%d", i)
		held.events = append(held.events, replay.Event{
			ID: id, Type: replay.Message, SessionID: id, FlowID: "tea",
			Payload: json.RawMessage(`{"sender": "user", "message_text": "x"}`), Time: begin,
		})
		if i == 3 { // a session id that is used again
			for part := range 3 {
				again := held.events[i]
				again.Time = begin.AddDate(0, 0, 9*part)
				ended := again
				ended.Type, ended.Time = replay.Completed, again.Time.Add(time.Minute)
				held.events = append(held.events[:i+2*part], again, ended)
			}
		}
		held.datasets = append(held.datasets, dataset.Entry{Name: id})
		// Two runs begin together.
		held.runs = append(held.runs, replay.Run{ID: id, Started: begin.Add(-time.Duration(i/2) * time.Hour)})
	}
	slices.Reverse(held.datasets)
	lists := NewLists(ListsConfig{
		Sessions: held, Variants: held, Replays: held, Datasets: held.datasets,
	}).table().handler()
	for _, path := range []string{"/api/v1/sessions", "/api/v1/datasets", "/api/v1/replays"} {
		for limit := 1; limit <= n+1; limit++ {
			var ids []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				if pages > n+2 {
					t.Fatalf("%s by %d never ends", path, limit)
				}
				var page struct {
					Items []struct {
						Session string `json:"session_id"`
						Name    string `json:"name"`
						Run     string `json:"evaluation_run_id"`
					} `json:"items"`
					Next string `json:"next_cursor"`
				}
				w := httptest.NewRecorder()
				lists.ServeHTTP(w, reading(fmt.Sprintf("%s?limit=%d&cursor=%s", path, limit, url.QueryEscape(cursor))))
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK ||
					len(page.Items) > limit {
					t.Fatalf("%s by %d: %d %s", path, limit, w.Code, w.Body)
				}
				for _, item := range page.Items {
					ids = append(ids, cmp.Or(item.Session, item.Name, item.Run))
				}
				cursor = page.Next
			}
			want := []string{"e0", "e1", "e2", "e3", "e4", "e5", "e6"}
			if path == "/api/v1/sessions" {
				want = slices.Insert(want, 4, "e3@2026-03-10T00:00:00.000000Z", "e3@2026-03-19T00:00:00.000000Z")
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%s by %d: %q, want %q", path, limit, ids, want)
			}
		}
	}
}

// TestListCursors refuses cursors of other lists, and what is none.
func TestListCursors(t *testing.T) {
	held := fixedLists{datasets: fixedDatasets{{Name: "a"}, {Name: "b"}}}
	lists := NewLists(ListsConfig{
		Sessions: held, Variants: held, Replays: held, Datasets: held.datasets,
	}).table().handler()
	get := func(target string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		lists.ServeHTTP(w, reading(target))
		return w
	}
	var page struct {
		Next string `json:"next_cursor"`
	}
	if w := get("/api/v1/datasets?limit=1"); json.Unmarshal(w.Body.Bytes(), &page) != nil || page.Next == "" {
		t.Fatalf("the first page: %s", w.Body)
	}
	for _, target := range []string{
		"/api/v1/sessions?cursor=" + page.Next, "/api/v1/datasets?cursor=x",
		"/api/v1/datasets?cursor=" + page.Next + "x",
	} {
		if w := get(target); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s, want 400", target, w.Code, w.Body)
		}
	}
	if w := get("/api/v1/nothing"); w.Code != http.StatusNotFound {
		t.Errorf("a path beside the lists: %d, want 404", w.Code)
	}
}
