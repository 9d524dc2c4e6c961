package dataset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

func item(id, input string) dataset.Record {
	return dataset.Record{ID: id, Input: json.RawMessage(input)}
}

// TestWrite holds that records are read as they were written, and that nothing else lies beside the file.
func TestWrite(t *testing.T) {
	records := []dataset.Record{
		{
			ID: "a", Input: json.RawMessage(`{"query":"x < y & z"}`), Expected: json.RawMessage(`"👉"`),
			Metadata: json.RawMessage(`{"n":[1,2.5]}`),
		},
		item("b", `"line\nbreak"`),
	}
	for _, name := range []string{"a.jsonl", "a.jsonl.gz", "a.ndjson"} {
		file := filepath.Join(t.TempDir(), name)
		for range 2 { // the second time over the first
			if err := dataset.Write(file, records); err != nil {
				t.Fatal(err)
			}
		}
		got, err := dataset.LoadRecords(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Line = 0
		}
		same := cmp.Comparer(func(a, b json.RawMessage) bool { return plain(t, a) == plain(t, b) })
		if d := cmp.Diff(records, got, same); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		only(t, file)
	}
}

// TestWriteBreaksOff holds that a file stays as it was when its items come to an end too early.
func TestWriteBreaksOff(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.jsonl.gz"} {
		file := filepath.Join(t.TempDir(), name)
		if err := dataset.Write(file, []dataset.Record{item("a", `"kept"`)}); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("the line was cut")
		err := dataset.WriteWith(file, func(w io.Writer) error {
			return errors.Join(dataset.Encode(w, []dataset.Record{item("b", `"lost"`)}), broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
		got, err := dataset.LoadRecords(file)
		if err != nil || len(got) != 1 || got[0].ID != "a" {
			t.Errorf("%+v, %v", got, err)
		}
		only(t, file)
	}
}

func plain(t *testing.T, data json.RawMessage) string {
	t.Helper()
	if data == nil {
		return ""
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Error(err)
	}
	return fmt.Sprint(v)
}

// only fails when something else lies beside a file.
func only(t *testing.T, file string) {
	t.Helper()
	beside, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(beside) != 1 || beside[0].Name() != filepath.Base(file) {
		t.Errorf("%v, %v", beside, err)
	}
}

// TestWriteFails holds that what cannot be written leaves an older file as it was.
func TestWriteFails(t *testing.T) {
	file := write(t, "a.jsonl", "old")
	if err := dataset.Write(file, []dataset.Record{item("a", `1`), item("broken", `{`)}); err == nil ||
		!strings.Contains(err.Error(), `the item "broken"`) {
		t.Error(err)
	}
	if data, err := os.ReadFile(file); string(data) != "old" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	only(t, file)
	if err := dataset.Write(filepath.Join(t.TempDir(), "a.csv"), nil); err == nil ||
		!strings.Contains(err.Error(), "JSON Lines only") {
		t.Error(err)
	}
	if err := dataset.Write(filepath.Join(t.TempDir(), "none", "a.jsonl"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestWriteThroughLink holds that a link stays one, that the rights of a file stay, and that nothing but a file is
// replaced.
func TestWriteThroughLink(t *testing.T) {
	file := write(t, "a.jsonl", "old")
	link := filepath.Join(t.TempDir(), "link.jsonl")
	if err := errors.Join(os.Symlink(file, link), dataset.Write(link, []dataset.Record{item("a", `1`)})); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err = os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if records, err := dataset.LoadRecords(file); len(records) != 1 || err != nil {
		t.Errorf("%v, %v", records, err)
	}
	folder := filepath.Join(t.TempDir(), "folder.jsonl")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dataset.Write(folder, nil); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
}

// TestAdd adds from many sides at once: nothing is lost, and what was there stays as it was written.
func TestAdd(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.jsonl.gz"} {
		file := write(t, name, "\ufeff"+`{"input":  1, "id": "old"}`+"\r\n\r\n"+`{"id": "last", "input": 2}`)
		const adders = 20
		var group sync.WaitGroup
		for i := range adders {
			group.Go(func() {
				id := fmt.Sprint("new-", i)
				err := dataset.Add(file, id, func(old *dataset.Record) (dataset.Record, error) {
					if old != nil {
						t.Errorf("there is a %s", id)
					}
					return item(id, `3`), nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		err := dataset.Add(file, "last", func(old *dataset.Record) (dataset.Record, error) {
			if old == nil || string(old.Input) != "2" {
				t.Errorf("got %v", old)
			}
			return item("last", `4`), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		records, err := dataset.LoadRecords(file)
		if err != nil || len(records) != adders+2 || string(records[1].Input) != "4" {
			t.Errorf("%v, %v", records, err)
		}
		only(t, file)
	}
}

// TestAddFails holds that a file stays as it was when nothing comes of adding.
func TestAddFails(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct{ name, content, want string }{
		{"a.jsonl", `{"id": "a", "input": 1}`, "refused"},
		{"a.jsonl", `{"id": "a"`, "not valid JSON"},
		{"a.jsonl", `{"id": "a", "input": 1}` + "\n" + `{"id": "a", "input": 1}`, "stands already in line 1"},
		{"a.csv", "id,input\n", "JSON Lines only"},
	} {
		file := write(t, c.name, c.content)
		err := dataset.Add(file, "a", func(*dataset.Record) (dataset.Record, error) {
			return dataset.Record{}, refused
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
		if data, err := os.ReadFile(file); string(data) != c.content || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		only(t, file)
	}
	file := filepath.Join(t.TempDir(), "none", "a.jsonl")
	if err := dataset.Add(file, "a", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestExpects(t *testing.T) {
	for expected, want := range map[string]bool{
		``: false, `null`: false, `" "`: false, `{}`: false, `{"response": ""}`: false,
		`{"response": "", "assertions": null}`: false, `"x"`: true, `{"response": "x"}`: true,
		`{"assertions": [{}]}`: true, `[]`: true, `0`: true, `false`: true, `{"intent": "LEARN"}`: true, `{`: false,
	} {
		r := dataset.Record{Expected: json.RawMessage(expected)}
		if got := r.Expects(); got != want {
			t.Errorf("%q: %v", expected, got)
		}
	}
}

// TestLoadChecked holds that what is sound passes as LoadRecords reads it; the faults stand in
// testdata/script/dataset_errors.txtar.
func TestLoadChecked(t *testing.T) {
	for _, content := range []string{
		`{"id": "a", "input": "x"}`,
		`{"id": "a", "input": {"query": "x", "more": [1]}, "expected_output": ["l"], "metadata": {"n": {}}}`,
		`{"id": "a", "input": [{"role": "user"}], "expected_output": 3}`,
		`{"id": "a", "input": {"message": "x"}, "metadata": {"history": [{"role": "human", "content": null, "message_index": 2.5}], "site_name": "s"}}`,
	} {
		file := write(t, "a.jsonl", content)
		want, err := dataset.LoadRecords(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dataset.LoadChecked(file)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v, %s", err, d)
		}
	}
	for content, want := range map[string]string{
		`{"id": "a", "input": 5}`: "expected an input, got", `{"id": "a", "input": {"query": ""}}`: "the text is blank",
		`{"id": "a", "input": "x", "metadata": {"history": [{"role": "user", "message_index": "1"}]}}`: "expected a " +
			"number, got",
		`{"id": "a", "input": "x", "metadata": {"history": [{"role": 5}]}}`: "metadata.history[0].role: " +
			"expected a text",
		`[1]`: "expected a mapping",
	} {
		_, err := dataset.LoadChecked(write(t, "a.jsonl", content))
		if _, ok := errors.AsType[source.Problems](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", content, err, want)
		}
	}
}
