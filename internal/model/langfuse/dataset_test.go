package langfuse_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

func TestDatasets(t *testing.T) {
	s, c := online(t)
	for _, name := range []string{"main", "folder/sub folder/größe", "a?b#c%20d&e=f+g", "hexa.com-v1", "..a", "100%"} {
		made, err := c.CreateDataset(t.Context(), langfuse.Dataset{
			Name: name, Description: "what it is", Metadata: raw(`{"a":1}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Dataset(t.Context(), name)
		if d := cmp.Diff(made, got); err != nil || d != "" || got.Name != name || string(got.Metadata) != `{"a":1}` {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	again, err := c.CreateDataset(t.Context(), langfuse.Dataset{Name: "main"})
	if err != nil || again.Description != "what it is" {
		t.Errorf("created anew: %+v, %v", again, err)
	}
	if _, err := c.Dataset(t.Context(), "absent"); !errors.Is(err, langfuse.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	for _, name := range []string{"", ".", "..", strings.Repeat("x", 1001)} {
		if _, err := c.Dataset(t.Context(), name); err == nil || errors.Is(err, langfuse.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
		_, err := c.CreateDataset(t.Context(), langfuse.Dataset{Name: name})
		wants(t, err, "give another one")
	}
	_, err = c.CreateDataset(t.Context(), langfuse.Dataset{Name: "x", Metadata: raw(`{`)})
	wants(t, err, "cannot be written as JSON")
	for i := range 120 {
		s.AddDataset(fmt.Sprint("number ", i))
	}
	all := collect(t, c.Datasets(t.Context()))
	if len(all) != 126 || all[0].Name != "number 119" || all[125].Name != "main" {
		t.Errorf("%d datasets", len(all))
	}
}

func TestItems(t *testing.T) {
	s, c := online(t)
	s.AddDataset("main set")
	s.AddDataset("other")
	item := langfuse.Item{
		ID: "item/1 é", Dataset: "main set", Input: raw(`{"message":"hi","n":12345678901234567890}`),
		ExpectedOutput: raw(`"LEARN"`), Metadata: raw(`{"history":[]}`), SourceTraceID: "t1",
	}
	put(t, c, item)
	put(t, c, langfuse.Item{ID: item.ID, Dataset: "main set", ExpectedOutput: raw(`"SUPPORT"`)})
	got, err := c.Item(t.Context(), item.ID)
	if err != nil || string(got.ExpectedOutput) != `"SUPPORT"` ||
		!strings.Contains(string(got.Input), `"message":"hi"`) || got.Status != langfuse.Active ||
		got.SourceTraceID != "t1" || got.Dataset != "main set" || got.DatasetID == "" {
		t.Errorf("got %+v, %v", got, err)
	}
	put(t, c, langfuse.Item{ID: "old", Dataset: "main set", Status: langfuse.Archived})
	ids := func(o langfuse.ItemsOptions) (ids []string) {
		for _, i := range collect(t, c.Items(t.Context(), "main set", o)) {
			ids = append(ids, i.ID)
		}
		return ids
	}
	if d := cmp.Diff([]string{item.ID}, ids(langfuse.ItemsOptions{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"old", item.ID}, ids(langfuse.ItemsOptions{Archived: true})); d != "" {
		t.Error(d)
	}
	if err := c.DeleteItem(t.Context(), item.ID); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"deleted twice": c.DeleteItem(t.Context(), item.ID),
		"got":           second(c.Item(t.Context(), item.ID)),
		"no dataset":    second(c.PutItem(t.Context(), langfuse.Item{ID: "x", Dataset: "absent"})),
		"taken":         second(c.PutItem(t.Context(), langfuse.Item{ID: "old", Dataset: "other"})),
		"listed":        second(failure(c.Items(t.Context(), "absent", langfuse.ItemsOptions{}))),
	} {
		if !errors.Is(err, langfuse.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if d := cmp.Diff([]string{item.ID}, ids(langfuse.ItemsOptions{At: got.UpdatedAt})); d != "" {
		t.Errorf("at the moment of its update: %s", d)
	}
	wants(t, second(failure(c.Items(t.Context(), "", langfuse.ItemsOptions{}))), "no dataset is named")
	for _, bad := range []langfuse.Item{
		{ID: "x"},
		{Dataset: "main set"},
		{ID: strings.Repeat("x", 256), Dataset: "main set"},
	} {
		wants(t, second(c.PutItem(t.Context(), bad)), "needs a dataset and an id")
	}
}

// TestConcurrent uses one client in several goroutines.
func TestConcurrent(t *testing.T) {
	s, c := online(t)
	s.AddDataset("d")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				put(t, c, langfuse.Item{ID: fmt.Sprint(i, " ", j), Dataset: "d", Input: raw(`1`)})
				if _, err := failure(c.Items(t.Context(), "d", langfuse.ItemsOptions{})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(s.Items("d")); n != 40 {
		t.Errorf("%d items", n)
	}
}

// TestStopEarly leaves a list in its middle, which asks for no further page.
func TestStopEarly(t *testing.T) {
	s, c := online(t)
	s.AddDataset("d")
	for i := range 120 {
		s.AddItem("d", fmt.Sprint(i), i, nil, nil)
	}
	for range c.Items(t.Context(), "d", langfuse.ItemsOptions{}) {
		break
	}
	if got := s.Requests(); len(got) != 1 ||
		!slices.Contains(got, "GET /api/public/dataset-items?datasetName=d&limit=50&page=1") {
		t.Errorf("asked %v", got)
	}
}

func second[T any](_ T, err error) error { return err }
