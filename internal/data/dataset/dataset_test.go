package dataset_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

func write(t testing.TB, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	data := []byte(content)
	if strings.HasSuffix(name, ".gz") {
		data = packed(t, data)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func packed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	oneLine = `{"id": "a", "input": {"message": "hi", "history": [{"role": "user", "content": "x"}]}, ` +
		`"expected_output": {"intent": "GREET"}, "metadata": {"source": "s"}}`
	twoLines = "\ufeff" + oneLine + "\n\n" + `{"id": 7, "input": "bye", "expected_output": "LEAVE"}` + "\n"
)

func TestLoad(t *testing.T) {
	want := []dataset.Item{
		{
			ID: "a", Message: "hi", History: []chat.Message{chat.NewMessage(chat.User, "x")}, Labels: []string{"GREET"},
			Metadata: map[string]any{"source": "s"}, Line: 1,
		},
		{ID: "7", Message: "bye", Labels: []string{"LEAVE"}, Line: 3},
	}
	list := "[" + oneLine + ",\n\n" + `{"id": "7", "input": "bye", "expected_output": "LEAVE"}]`
	table := `id,input,expected_output,metadata.source
a,"{""message"": ""hi"", ""history"": [{""role"": ""user"", ""content"": ""x""}]}",GREET,s

7,bye,"{""intent"": ""LEAVE""}",
`
	for name, content := range map[string]string{
		"a.jsonl": twoLines, "a.jsonl.gz": twoLines, "a.json": list, "b.json": `{"items": ` + list + `}`,
		"a.csv": table, "a.csv.gz": table,
	} {
		set, err := dataset.Load(write(t, name, content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(name, "csv") { // below a header, and each row has all columns
			set.Items[0].Line, set.Items[1].Line, set.Items[1].Metadata = set.Items[0].Line-1, set.Items[1].Line-1, nil
		}
		if d := cmp.Diff(want, set.Items); d != "" || set.Several {
			t.Errorf("%s: items mismatch (-want +got):\n%s", name, d)
		}
	}
}

func TestSeveralLabels(t *testing.T) {
	set, err := dataset.Load(write(t, "a.jsonl", `{"id":"a","input":"x","expected_output":{"skills":["ask","show"]}}
{"id":"b","input":"x","expected_output":[]}
{"id":"c","input":"x","expected_output":"ask"}`))
	if err != nil || !set.Several {
		t.Fatalf("several %v, error %v", set.Several, err)
	}
	predictions, err := dataset.LoadPredictions(write(t, "p.jsonl", `{"id":"c","output":["ask","show"],"confidence":0.5}
{"id":"a","output":{"skills":["show","ask"],"confidence":"0.25","why":"extra"},"latency":3}
{"id":"b","output":{"skills":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	joined, err := predictions.For(set)
	if err != nil {
		t.Fatal(err)
	}
	var correct []bool
	for i := range joined {
		correct = append(correct, joined[i].Correct(set.Items[i].Labels))
	}
	if d := cmp.Diff([]bool{true, false, false}, correct); d != "" || !joined[1].Null || *joined[0].Confidence != 0.25 {
		t.Errorf("joined %+v, correct (-want +got):\n%s", joined, d)
	}
}

// faults returns problems as line: path: message, without their hints, of which each must have one.
func faults(t *testing.T, err error) (lines []string) {
	t.Helper()
	problems, ok := errors.AsType[source.Problems](err)
	if !ok {
		t.Fatalf("error %v is no list of problems", err)
	}
	for _, p := range problems {
		if p.Hint == "" || p.File == "" {
			t.Errorf("%v names no file or no way out", p)
		}
		p.File, p.Column, p.Hint = "", 0, ""
		lines = append(lines, strings.TrimPrefix(strings.ReplaceAll(p.String(), ":0: ", ": "), ":"))
	}
	return lines
}

func TestFaultyItems(t *testing.T) {
	const good = `{"id":"a","input":"x","expected_output":"y"}` + "\n"
	for _, tc := range []struct{ content, want string }{
		{
			good + good,
			`2: id: the id "a" stands already in line 1`,
		},
		{
			`{"input":"x","expected_output":"y"}`,
			`1: the record has no id`,
		},
		{
			`{"id":["a"],"input":"x","expected_output":"y"}`,
			`1: id: expected an id, got a list`,
		},
		{
			`{"id":"","input":"x","expected_output":"y"}`,
			`1: id: the id has 0 bytes; it may have 1 to 1000`,
		},
		{
			`{"id":"a","input":"x"}`,
			`1: the item has no expected_output`,
		},
		{
			`{"id":"a","input":"x","expected_output":null}`,
			`1: the item has no expected_output`,
		},
		{
			`{"id":"a","expected_output":"y"}`,
			`1: the item has no input`,
		},
		{
			`{"id":"a","input":3,"expected_output":"y"}`,
			`1: input: expected an input, got a number`,
		},
		{
			`{"id":"a","input":{"history":[]},"expected_output":"y"}`,
			`1: input: the input has no message`,
		},
		{
			`{"id":"a","input":{"message":"x","history":[{"role":"user"}]},"expected_output":"y"}`,
			`1: input.history[0]: the message has no content`,
		},
		{
			`{"id":"a","input":"x","expected_output":{"intent":null}}`,
			`1: expected_output.intent: expected a label, got nothing`,
		},
		{
			`{"id":"a","input":"x","expected_output":{"intent":"y","why":1}}`,
			`1: expected_output.why: unknown key "why"`,
		},
		{
			`{"id":"a","input":"x","expected_output":{"response":"y"}}`,
			`1: expected_output: the object has none of intent, label, skill, intents, labels, skills`,
		},
		{
			`{"id":"a","input":"x","expected_output":{"intent":"y","label":"y"}}`,
			`1: expected_output: the object has more than one of intent, label, skill, intents, labels, skills`,
		},
		{
			`{"id":"a","input":"x","expected_output":["y","y"]}`,
			`1: expected_output[1]: the label "y" stands twice`,
		},
		{
			`{"id":"a","input":"x","expected_output":"__null__"}`,
			`1: expected_output: the label __null__ stands for no prediction`,
		},
		{
			`{"id":"a","input":"x","expected_output":" "}`,
			`1: expected_output: the label is empty`,
		},
		{
			`{"id":"a","input":"x","expected_output":"` + strings.Repeat("y", 201) + `"}`,
			`1: expected_output: the label is longer than 200 bytes`,
		},
		{
			`{"id":"a","input":"x","expected_output":[` + strings.Repeat("1,", 100) + `2]}`,
			`1: expected_output: 101 labels for one item; there may be 100`,
		},
		{
			`{"id":"a","input":"x","expected_output":"y","metadata":1}`,
			`1: metadata: expected a mapping, got a number`,
		},
		{
			`{"id":"a","input":"x","expectedOutput":"y","expected_output":"y"}`,
			`1: expectedOutput: unknown key "expectedOutput"`,
		},
		{
			`[1]`,
			`1: expected a mapping, got a list`,
		},
		{
			good + `{"id":"b","input":"x","expected_`,
			`2: not valid JSON: it ends in the middle`,
		},
		{
			"\xff",
			`1: the line is not UTF-8 text`,
		},
		{
			"\n\n",
			`there are no items in the file`,
		},
		{
			strings.Repeat("[", 300),
			`1: not valid JSON: nested deeper than 200 levels`,
		},
	} {
		set, err := dataset.Load(write(t, "a.jsonl", tc.content))
		if got := strings.TrimPrefix(strings.Join(faults(t, err), "\n"), " "); got != tc.want || set.Items != nil {
			t.Errorf("%.80s:\n got %s\nwant %s", tc.content, got, tc.want)
		}
	}
}

func TestFaultyFiles(t *testing.T) {
	for name, content := range map[string]string{
		"a.txt": "x", "a.json": `{"items": 3}`, "b.json": `[{"id": `, "a.csv": "", "b.csv": "id,id\n1,2\n",
		"c.csv": "id,input\n1\n", "d.csv": "id,input,expected_output\n1,\"x,y\n",
		"e.csv": "id,input,expected_output\n1,x,[a\n", "f.csv": "id,input,expected_output\n1,\xff,a\n",
		"g.csv": "id,input,expected_output,when\n1,x,a,now\n",
	} {
		if set, err := dataset.Load(write(t, name, content)); set.Items != nil || len(faults(t, err)) == 0 {
			t.Errorf("%s: items %v, error %v", name, set.Items, err)
		}
	}
	half := packed(t, []byte(strings.Repeat(twoLines, 100)))
	for name, data := range map[string]string{"half.jsonl.gz": string(half[:len(half)/2]), "plain.jsonl.gz": twoLines} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if set, err := dataset.Load(file); set.Items != nil || len(faults(t, err)) == 0 {
			t.Errorf("%s: items %v, error %v", name, set.Items, err)
		}
	}
	for _, file := range []string{filepath.Join(t.TempDir(), "none.jsonl"), t.TempDir()} {
		if _, err := dataset.Load(file); len(faults(t, err)) != 1 {
			t.Errorf("%s: error %v", file, err)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	_, err := dataset.Load(write(t, "a.jsonl", strings.Repeat("{}\n", 10_000)))
	if got := faults(t, err); len(got) != 101 || !strings.Contains(got[100], "stopped at the first 100 faults") {
		t.Errorf("%d faults, the last %q", len(got), got[len(got)-1])
	}
}

func TestFaultyPredictions(t *testing.T) {
	set, err := dataset.Load(write(t, "items.jsonl", `{"id":"a","input":"x","expected_output":"y"}
{"id":"b","input":"x","expected_output":"z"}`))
	if err != nil {
		t.Fatal(err)
	}
	const a, b = `{"id":"a","output":"y"}` + "\n", `{"id":"b","output":null}` + "\n"
	for _, tc := range []struct{ content, want string }{
		{
			a + b,
			"",
		},
		{
			a,
			`2: the item "b" has no prediction in`,
		},
		{
			a + b + a,
			`3: id: the id "a" stands already in line 1`,
		},
		{
			a + b + `{"id":"c","output":"y"}`,
			`3: there is no item "c" in`,
		},
		{
			a + `{"id":"b"}`,
			`2: the prediction has no output`,
		},
		{
			a + `{"id":"b","output":{"confidence":0.5}}`,
			`2: output: the object has none of`,
		},
		{
			a + `{"id":"b","output":{"intent":{"name":"y"}}}`,
			`2: output.intent: expected a label, got a mapping`,
		},
		{
			a + `{"id":"b","output":["y","z"]}`,
			`2: 2 labels predicted, where every item has one`,
		},
		{
			a + `{"id":"b","output":[]}`,
			`2: 0 labels predicted, where every item has one`,
		},
		{
			a + `{"id":"b","output":{"intent":"y","confidence":2}}`,
			`2: output.confidence: 2 is out of range`,
		},
		{
			a + `"b"`,
			`2: expected a prediction, got text`,
		},
	} {
		loaded, err := dataset.LoadPredictions(write(t, "p.jsonl", tc.content))
		if err == nil {
			_, err = loaded.For(set)
		}
		if tc.want == "" && err == nil {
			continue
		}
		if got := strings.Join(faults(t, err), "\n"); tc.want == "" || !strings.HasPrefix(got, tc.want) ||
			strings.Contains(got, "\n") {
			t.Errorf("%s:\n got %s\nwant %s", tc.content, got, tc.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("a.jsonl", []byte(twoLines))
	f.Add("a.json", []byte("["+oneLine+"]"))
	f.Add("a.csv", []byte("id,input,expected_output\n1,x,\"[\"\"a\"\"]\"\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		extension := filepath.Ext(name)
		if extension != ".jsonl" && extension != ".json" && extension != ".csv" {
			return
		}
		file := filepath.Join(t.TempDir(), "f"+extension)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := dataset.Load(file)
		if (err == nil) != (len(set.Items) > 0) {
			t.Fatalf("%d items with the error %v", len(set.Items), err)
		}
		for i := range set.Items {
			if set.Items[i].ID == "" || len(set.Items[i].Labels) == 0 && !set.Several {
				t.Fatalf("item %+v is half read", set.Items[i])
			}
		}
		_, _ = dataset.LoadPredictions(file)
	})
}
