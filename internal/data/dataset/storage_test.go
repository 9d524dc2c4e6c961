package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// newPlaces returns places whose stores are SQLite files and whose Langfuse is a server for tests.
func newPlaces(t *testing.T) (*dataset.Stores, *langfusetest.Server) {
	t.Helper()
	s := langfusetest.New(t)
	return &dataset.Stores{
		Store: func(ctx context.Context, address string, _ bool) (dataset.Store, func() error, error) {
			kept, err := store.Open(ctx, strings.TrimPrefix(address, "sqlite:"))
			if err != nil {
				return nil, nil, err
			}
			return kept.Datasets(), kept.Close, nil
		},
		Langfuse: func() (*langfuse.Client, error) {
			c, err := langfuse.FromEnv(s.Getenv)
			if err != nil {
				return nil, err
			}
			return langfuse.New(c)
		},
		Now: func() time.Time { return time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC) },
	}, s
}

func name(t *testing.T, text string) dataset.Name {
	t.Helper()
	n, err := dataset.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ids(records []dataset.Record) (all []string) {
	for i := range records {
		all = append(all, records[i].ID)
	}
	return all
}

// TestPlacesAdd holds that every kind of place adds items alike.
func TestPlacesAdd(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{
		filepath.Join(folder, "items.jsonl"), "sqlite:" + filepath.Join(folder, "s.db") + "#main", "langfuse:main",
	} {
		places, _ := newPlaces(t)
		n := name(t, text)
		ctx := t.Context()
		add := func(id, expected string, o dataset.AddOptions) (dataset.Record, error) {
			r := item(id, `{"query":"`+id+`"}`)
			if expected != "" {
				r.Expected = dataset.Response(expected)
			}
			return places.Add(ctx, n, r, o)
		}
		if n.Kind != dataset.InFile {
			if _, err := add("a", "", dataset.AddOptions{}); !source.IsInvalid(err) ||
				!strings.Contains(err.Error(), "add --create") {
				t.Errorf("%s: a dataset that is missing: %v", n, err)
			}
		}
		create := dataset.AddOptions{Create: n.Kind != dataset.InFile}
		if r, err := add("a", "Says a.", create); err != nil || string(r.Expected) != `{"response":"Says a."}` {
			t.Errorf("%s: %s, %v", n, r.Expected, err)
		}
		if r, err := add("b", "", create); err != nil || string(r.Expected) != `{"response":""}` {
			t.Errorf("%s: %s, %v", n, r.Expected, err)
		}
		if _, err := add("a", "", create); !source.IsInvalid(err) ||
			!strings.Contains(err.Error(), `has an item "a" already`) {
			t.Errorf("%s: an id that is taken: %v", n, err)
		}
		if r, err := add("a", "", dataset.AddOptions{Replace: true}); err != nil ||
			!strings.Contains(string(r.Expected), "Says a.") {
			t.Errorf("%s: what was expected before is lost: %s, %v", n, r.Expected, err)
		}
		records, err := places.Read(ctx, n)
		if d := cmp.Diff([]string{"a", "b"}, ids(records)); d != "" || err != nil {
			t.Errorf("%s: %s, %v", n, d, err)
		}
	}
}

// TestPlacesChange holds that stores and Langfuse put, yield and delete items alike, and that files are refused.
func TestPlacesChange(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{"sqlite:" + filepath.Join(folder, "s.db") + "#main", "langfuse:main"} {
		places, _ := newPlaces(t)
		n := name(t, text)
		ctx := t.Context()
		refused := errors.New("refused")
		never := func(int, string) error { return refused }
		if _, err := places.Push(ctx, n, nil, false); !source.IsInvalid(err) {
			t.Errorf("%s: a dataset that is missing takes items: %v", n, err)
		}
		if _, err := places.Purge(ctx, n, never); !errors.Is(err, dataset.ErrUnknown) || !source.IsInvalid(err) {
			t.Errorf("%s: a dataset that is missing is emptied: %v", n, err)
		}
		if _, err := places.Read(ctx, n); !errors.Is(err, dataset.ErrUnknown) || !source.IsInvalid(err) {
			t.Errorf("%s: a dataset that is missing is read: %v", n, err)
		}
		records := []dataset.Record{item("a", `"x"`), item("b", `"y"`)}
		for i, want := range []string{
			"2 items put (2 new, 0 changed)", "2 unchanged", "1 item put (0 new, 1 changed), 1 unchanged",
		} {
			if i == 2 {
				records[1] = item("b", `"z"`)
			}
			if o, err := places.Push(ctx, n, records, true); err != nil || o.String() != want {
				t.Errorf("%s: %s, %v, want %s", n, &o, err, want)
			}
		}
		var out strings.Builder
		pulled, err := places.Pull(ctx, n, false, "", &out)
		if err != nil || pulled.Items != 2 ||
			out.String() != `{"id":"a","input":"x"}`+"\n"+`{"id":"b","input":"z"}`+"\n" {
			t.Errorf("%s: %+v, %v\n%s", n, pulled, err, &out)
		}
		if _, err := places.Purge(ctx, n, never); !errors.Is(err, refused) {
			t.Errorf("%s: %v", n, err)
		}
		asked := ""
		o, err := places.Purge(ctx, n, func(items int, dataset string) error {
			asked = fmt.Sprint(items, " of ", dataset)
			return nil
		})
		if err != nil || o.Deleted != 2 || !strings.HasPrefix(asked, "2 of the dataset ") {
			t.Errorf("%s: %+v, %v, asked %s", n, o, err, asked)
		}
		if _, err := places.Read(ctx, n); !source.IsInvalid(err) || !strings.Contains(err.Error(), "has no items") {
			t.Errorf("%s: a dataset without items: %v", n, err)
		}
	}
	places, _ := newPlaces(t)
	_, pushed := places.Push(t.Context(), name(t, "a.jsonl"), nil, true)
	_, purged := places.Purge(t.Context(), name(t, "a.jsonl"), nil)
	_, pulled := places.Pull(t.Context(), name(t, "a.jsonl"), false, "", nil)
	for _, err := range []error{pushed, purged, pulled} {
		if !source.IsInvalid(err) || !strings.Contains(err.Error(), "a.jsonl is a file") {
			t.Error(err)
		}
	}
}

// TestPlacesUnconfigured holds that a bare name says that it may have been meant as a file.
func TestPlacesUnconfigured(t *testing.T) {
	places := &dataset.Stores{Langfuse: func() (*langfuse.Client, error) { return nil, errors.New("no keys") }}
	for text, want := range map[string]string{"tea": `there is no file "tea"`, "langfuse:tea": "no keys"} {
		if _, err := places.Read(t.Context(), name(t, text)); !source.IsInvalid(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSeedKeepsForeign holds that a seeding deletes what somebody else has made only when it is told to.
func TestSeedKeepsForeign(t *testing.T) {
	places, server := newPlaces(t)
	server.AddDataset("d")
	server.AddItem("d", "by-hand", "x", nil, nil)
	s := dataset.Seeding{Dataset: "d", Records: []dataset.Record{item("seed-1", `{"query":"q"}`)}}
	if _, err := places.Seed(t.Context(), s, dataset.SeedOptions{}); !source.IsInvalid(err) ||
		!slices.Equal(server.Items("d"), []string{"by-hand"}) {
		t.Errorf("%v, %v", err, server.Items("d"))
	}
	o, err := places.Seed(t.Context(), s, dataset.SeedOptions{DeleteOthers: true})
	if err != nil || o.String() != "1 item deleted, 1 item put (1 new, 0 changed)" ||
		!slices.Equal(server.Items("d"), []string{"seed-1"}) {
		t.Errorf("%s, %v, %v", &o, err, server.Items("d"))
	}
	server.Fail(langfusetest.Fault{}, langfusetest.Fault{}, langfusetest.Broken(400))
	o, err = places.Seed(t.Context(), s, dataset.SeedOptions{DeleteOthers: true})
	if err != nil || !o.Deleting || o.New != 0 || len(o.Failed) != 1 ||
		!slices.Equal(server.Items("d"), []string{"seed-1"}) {
		t.Errorf("where an item cannot be deleted: %+v, %v, %v", o, err, server.Items("d"))
	}
}

// The items of a file are read as those of any other place.
func ExampleStores_Read() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	items := filepath.Join(folder, "items.jsonl")
	if err := os.WriteFile(items, []byte(`{"id": "a", "input": {"query": "Hello"}}`+"\n"), 0o600); err != nil {
		panic(err)
	}
	n, err := dataset.ParseName(items)
	if err != nil {
		panic(err)
	}
	places := &dataset.Stores{} // files need nothing opened
	records, err := places.Read(context.Background(), n)
	fmt.Println(n.Title(), len(records), string(records[0].Input), err)
	// Output: items 1 {"query":"Hello"} <nil>
}

func ExampleParseName() {
	for _, text := range []string{"items.jsonl", "main", "store:main", "postgres://me:secret@db.example/app#main"} {
		n, err := dataset.ParseName(text)
		fmt.Println(n.Kind == dataset.InFile, n, err)
	}
	// Output:
	// true items.jsonl <nil>
	// false langfuse:main <nil>
	// false store:main <nil>
	// false postgres://me@db.example/app#main <nil>
}
