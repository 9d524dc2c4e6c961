package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// RunDatasets runs every conformance test on the datasets that open returns, of which there are none yet. They end with
// the test.
func RunDatasets(t *testing.T, open func(t *testing.T) *store.Datasets) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, *store.Datasets)
	}{
		{"what is not there is unknown", datasetsUnknown},
		{"datasets are listed with their items", datasetsListed},
		{"items come back as they were put, in their order", itemsSame},
		{"putting again changes nothing, and what differs is replaced", itemsReplaced},
		{"all items or none", itemsAllOrNone},
		{"a dataset is made with its items or not at all", itemsMade},
		{"what cannot be kept is an error that names it", itemsRefused},
		{"one item is settled with what is there", itemSettled},
		{"a purge leaves the dataset and other datasets", itemsPurged},
		{"items of a session that is erased are gone", itemsErased},
		{"many items come in pages", itemsInPages},
		{"many put at once", itemsAtOnce},
		{"a cancelled context ends a call", datasetsCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// made makes datasets of the store.
func made(t *testing.T, d *store.Datasets, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := d.Create(t.Context(), name, "", noon); err != nil {
			t.Fatal(err)
		}
	}
}

func putItems(t *testing.T, d *store.Datasets, name string, items ...dataset.Record) dataset.Change {
	t.Helper()
	change, err := d.Put(t.Context(), name, items, dataset.PutOptions{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return change
}

// simple are items with an input of their own.
func simple(ids ...string) []dataset.Record {
	var all []dataset.Record
	for _, id := range ids {
		input, _ := json.Marshal(map[string]string{"query": "What about " + id + "?"})
		all = append(all, dataset.Record{ID: id, Input: input})
	}
	return all
}

func itemsOf(t *testing.T, d *store.Datasets, name string) (all []dataset.Record) {
	t.Helper()
	for item, err := range d.Items(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	return all
}

// sameBytes spares cmp to look at each byte of large documents.
var sameBytes = cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) })

func wantItems(t *testing.T, d *store.Datasets, name string, want ...dataset.Record) {
	t.Helper()
	if diff := cmp.Diff(want, itemsOf(t, d, name), sameBytes); diff != "" {
		t.Errorf("items of %q (-want +got):\n%.2000s", name, diff)
	}
}

func datasetsUnknown(t *testing.T, d *store.Datasets) {
	made(t, d, "there")
	for _, name := range []string{"", "absent", "There", "' OR ''='", "\xff", strings.Repeat("long", 1000)} {
		_, one := d.Dataset(t.Context(), name)
		_, two := d.Put(t.Context(), name, simple("a"), dataset.PutOptions{Now: noon})
		_, three := d.Purge(t.Context(), name, noon)
		four := d.Update(t.Context(), name, "a", dataset.PutOptions{
			Now: noon,
		}, func(*dataset.Record) (dataset.Record, error) {
			t.Error("there is nothing to settle")
			return dataset.Record{}, nil
		})
		var five error
		for _, err := range d.Items(t.Context(), name) {
			five = err
		}
		for i, err := range []error{one, two, three, four, five} {
			if !errors.Is(err, dataset.ErrUnknown) || len(err.Error()) > 1000 {
				t.Errorf("%.20q, %d: %v", name, i, err)
			}
		}
	}
	wantItems(t, d, "there")
}

func datasetsListed(t *testing.T, d *store.Datasets) {
	if all, err := d.List(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	odd := "'\"\\ %s $1 日本語 😀\n"
	for _, name := range []string{"b", "a/b", odd, "B"} {
		if err := d.Create(t.Context(), name, "about "+name, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Create(t.Context(), "b", "something else", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Put(t.Context(), "b", simple("one", "two"),
		dataset.PutOptions{Now: noon.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	all, err := d.List(t.Context())
	want := []dataset.Entry{
		{Name: odd, Description: "about " + odd, Created: noon, Updated: noon},
		{Name: "B", Description: "about B", Created: noon, Updated: noon},
		{Name: "a/b", Description: "about a/b", Created: noon, Updated: noon},
		{Name: "b", Description: "about b", Items: 2, Created: noon, Updated: noon.Add(time.Minute)},
	}
	if diff := cmp.Diff(want, all); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	one, err := d.Dataset(t.Context(), "b")
	if diff := cmp.Diff(want[3], one); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, refused := range []struct{ name, description, want string }{
		{"", "", "it has no name: give it one"},
		{strings.Repeat("x", 256), "", "its name has 256 bytes, and at most 255 can be kept"},
		{"x", strings.Repeat("x", 64<<10+1), "its description has 65537 bytes"},
	} {
		if err := d.Create(t.Context(), refused.name, refused.description, noon); err == nil ||
			!strings.Contains(err.Error(), refused.want) {
			t.Errorf("Create: %v, want %s", err, refused.want)
		}
	}
}

func itemsSame(t *testing.T, d *store.Datasets) {
	made(t, d, "set", "other")
	odd := "'\"\\ %s $1 日本語 😀\n"
	items := []dataset.Record{
		{
			ID: "z", Input: json.RawMessage(`{"query":"b","a":1.50}`), Expected: json.RawMessage(`"a label"`),
			Metadata: json.RawMessage(`{"history":[]}`),
		},
		{ID: odd, Input: json.RawMessage(`"just text"`)},
		{ID: "a", Input: json.RawMessage(`["x",12345678901234567890,1e300]`), Expected: json.RawMessage(`false`)},
		{ID: strings.Repeat("é", 500), Input: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)},
	}
	if got, want := putItems(t, d, "set", items...), (dataset.Change{New: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	putItems(t, d, "other", simple("z")...)
	wantItems(t, d, "set", items...)
	wantItems(t, d, "other", simple("z")...)

	putItems(t, d, "other", dataset.Record{
		ID: "n\x00\xff", Input: json.RawMessage(`{"a":"\u0000"}`), Expected: json.RawMessage(" null "),
	})
	wantItems(t, d, "other", simple("z")[0], dataset.Record{
		ID: "n\uFFFD\uFFFD", Input: json.RawMessage(`{"a":"\ufffd"}`),
	})
}

func itemsReplaced(t *testing.T, d *store.Datasets) {
	made(t, d, "set")
	items := simple("c", "a", "b")
	putItems(t, d, "set", items...)
	if got, want := putItems(t, d, "set", items...), (dataset.Change{Unchanged: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	items[1] = dataset.Record{ID: "a", Input: json.RawMessage(`{"b":[1,2],"a":1}`)}
	changed := append(simple("d"), items[1])
	if got, want := putItems(t, d, "set", changed...), (dataset.Change{New: 1, Changed: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	wantItems(t, d, "set", append(items, simple("d")...)...)
	for input, want := range map[string]dataset.Change{
		` {"a": 1, "b":[1, 2]}`: {Unchanged: 1}, // the same, written in another way
		`{"b":[2,1],"a":1}`:     {Changed: 1},
		`{"b":[2,1],"a":1.0}`:   {Changed: 1},
		`{}`:                    {Changed: 1},
	} {
		putItems(t, d, "set", items[1])
		if got := putItems(t, d, "set", dataset.Record{ID: "a", Input: json.RawMessage(input)}); got != want {
			t.Errorf("%s: %+v, want %+v", input, got, want)
		}
	}
	twice := append(simple("e", "f"), dataset.Record{ID: "e", Input: json.RawMessage(`"the last"`)})
	if got, want := putItems(t, d, "set", twice...), (dataset.Change{New: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	all := itemsOf(t, d, "set")
	if got := all[len(all)-2:]; got[0].ID != "e" || string(got[0].Input) != `"the last"` || got[1].ID != "f" {
		t.Errorf("%+v", got)
	}
}

func itemsAllOrNone(t *testing.T, d *store.Datasets) {
	made(t, d, "set")
	items := append(simple("a", "b"), dataset.Record{ID: "c", Input: json.RawMessage(`{`)})
	if _, err := d.Put(t.Context(), "set", items, dataset.PutOptions{Now: noon}); err == nil {
		t.Error("no error")
	}
	wantItems(t, d, "set")
	ctx, cancel := context.WithCancel(t.Context())
	stop := errors.New("stop")
	err := d.Update(ctx, "set", "a", dataset.PutOptions{Now: noon}, func(*dataset.Record) (dataset.Record, error) {
		cancel()
		return simple("a")[0], nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if err := d.Update(t.Context(), "set", "a", dataset.PutOptions{Now: noon},
		func(*dataset.Record) (dataset.Record, error) { return dataset.Record{}, stop }); !errors.Is(err, stop) {
		t.Errorf("%v, want %v", err, stop)
	}
	wantItems(t, d, "set")
}

func itemsMade(t *testing.T, d *store.Datasets) {
	o := dataset.PutOptions{Create: true, Now: noon}
	stop := errors.New("stop")
	for _, name := range []string{"", strings.Repeat("x", 256)} {
		if _, err := d.Put(t.Context(), name, simple("a"), o); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("%.10s: %v", name, err)
		}
	}
	if err := d.Update(t.Context(), "set", "a", o, func(*dataset.Record) (dataset.Record, error) {
		return dataset.Record{}, stop
	}); !errors.Is(err, stop) {
		t.Errorf("%v, want %v", err, stop)
	}
	if all, err := d.List(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	for i, want := range []dataset.Change{{New: 1}, {Unchanged: 1}} {
		if got, err := d.Put(t.Context(), "set", simple("a"), o); got != want || err != nil {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
	wantItems(t, d, "set", simple("a")...)
}

func itemsRefused(t *testing.T, d *store.Datasets) {
	made(t, d, "set")
	for want, item := range map[string]dataset.Record{
		"it has no id: give it one":                           {},
		"its id has 1001 bytes, and at most 1000 can be kept": {ID: strings.Repeat("x", 1001)},
		`item "a": its input is no JSON: correct it`:          {ID: "a", Input: json.RawMessage(`{`)},
		`item "a": its metadata is no JSON: correct it`:       {ID: "a", Metadata: json.RawMessage(`x`)},
		"it has 16777219 bytes, and at most 16777216 can be kept: shorten": {
			ID: "a", Input: json.RawMessage(`"` + strings.Repeat("x", 16<<20+1) + `"`),
		},
	} {
		if _, err := d.Put(t.Context(), "set", []dataset.Record{item}, dataset.PutOptions{Now: noon}); err == nil ||
			!strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%.300v, want %s", err, want)
		}
	}
}

func itemSettled(t *testing.T, d *store.Datasets) {
	made(t, d, "set")
	for n := range 3 {
		err := d.Update(t.Context(), "set", "a", dataset.PutOptions{
			Now: noon,
		}, func(old *dataset.Record) (dataset.Record, error) {
			if n == 0 != (old == nil) || old != nil && string(old.Input) != fmt.Sprint(n-1) {
				t.Errorf("%d: %+v", n, old)
			}
			return dataset.Record{ID: "a", Input: json.RawMessage(fmt.Sprint(n))}, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	wantItems(t, d, "set", dataset.Record{ID: "a", Input: json.RawMessage(`2`)})
}

func itemsPurged(t *testing.T, d *store.Datasets) {
	made(t, d, "set", "other")
	putItems(t, d, "set", simple("a", "b")...)
	putItems(t, d, "other", simple("a")...)
	for _, want := range []int{2, 0} {
		if n, err := d.Purge(t.Context(), "set", noon); n != want || err != nil {
			t.Errorf("%d, %v; want %d", n, err, want)
		}
	}
	wantItems(t, d, "set")
	wantItems(t, d, "other", simple("a")...)
	putItems(t, d, "set", simple("b")...)
	wantItems(t, d, "set", simple("b")...)
}

func itemsInPages(t *testing.T, d *store.Datasets) {
	made(t, d, "set")
	var ids []string
	for i := range 1_800 {
		ids = append(ids, fmt.Sprint((i*7919)%1_800))
	}
	items := simple(ids...)
	for i := range items {
		if i%500 == 0 {
			items[i].Metadata = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
		}
	}
	putItems(t, d, "set", items...)
	wantItems(t, d, "set", items...)
	n := 0
	for _, err := range d.Items(t.Context(), "set") { // the reader needs no connection, and may leave
		if err != nil {
			t.Fatal(err)
		}
		putItems(t, d, "set", simple("more")...)
		if n++; n == 3 {
			break
		}
	}
}

func itemsAtOnce(t *testing.T, d *store.Datasets) {
	made(t, d, "set")
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 10 {
				_, err := d.Put(t.Context(), "set", simple(fmt.Sprint("w", w, "-", i), "shared", fmt.Sprint("s", i)),
					dataset.PutOptions{Now: noon})
				if err = errors.Join(err, d.Create(t.Context(), "set", "", noon)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(itemsOf(t, d, "set")); n != 71 {
		t.Errorf("%d items, want 71", n)
	}
}

func datasetsCancelled(t *testing.T, d *store.Datasets) {
	made(t, d, "set")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, one := d.List(ctx)
	_, two := d.Dataset(ctx, "set")
	_, three := d.Put(ctx, "set", simple("a"), dataset.PutOptions{Now: noon})
	_, four := d.Purge(ctx, "set", noon)
	var five error
	for _, err := range d.Items(ctx, "set") {
		five = err
	}
	for i, err := range []error{one, two, three, four, five, d.Create(ctx, "x", "", noon)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: %v, want %v", i, err, context.Canceled)
		}
	}
}
