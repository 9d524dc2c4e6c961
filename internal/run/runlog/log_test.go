package runlog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderEnv); dir != "" {
		holdLock(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func openLog(t testing.TB, dir string) *runlog.Log {
	t.Helper()
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func write(t testing.TB, dir string, tests ...*result.Test) {
	t.Helper()
	log := openLog(t, dir)
	for _, x := range tests {
		if err := log.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// read returns the records of a log and the texts of its errors.
func read(dir string) (tests []*result.Test, errs []string) {
	for t, err := range runlog.Read(dir) {
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		tests = append(tests, t)
	}
	return tests, errs
}

// wantIDs checks which tests a log holds, in their order.
func wantIDs(t *testing.T, dir string, want ...string) {
	t.Helper()
	tests, errs := read(dir)
	var got []string
	for _, x := range tests {
		got = append(got, x.TestID)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || errs != nil {
		t.Errorf("log holds (-want +got), errors %v:\n%s", errs, d)
	}
}

// sample is a few records with everything that JSON could lose.
func sample() []*result.Test {
	rich := test("s", "rich", "Hi <b> & \u2028", "I call a tool.", "And?", "Done \U0001f469\u200d\U0001f467.")
	rich.Tags, rich.Metadata = []string{"billing"}, map[string]any{"owner": "support", "ticket": 4312.0}
	rich.Judge = result.JudgeUse{
		Calls: 3, CacheHits: 1, Usage: chat.Usage{InputTokens: 2_140}, Cost: chat.Cost{USD: 0.0041},
	}
	rich.Turns[0].ToolCalls = []chat.ToolCall{{
		ID: "c1", Name: "search", Args: json.RawMessage(`{"from":"LIS","n":1.50}`), LatencyMS: 412,
	}}
	rich.Turns[1].State = json.RawMessage(`{"node":"end"}`)
	rich.Turns[1].Input = chat.Content{
		Blocks: []chat.Block{{Type: "text", Value: "And?"}, {Type: "image", Value: "data:image/png;base64,AA=="}},
	}
	rich.Failures = []result.Failure{{
		Code: result.AssistantContent, Source: "contains", Turn: 1, Message: `wanted "x"`,
	}}
	hostile := test("s", "hos\"tile\n", "\x1b[2J", "bad \xff utf-8")
	hostile.Turns[0].ToolCalls = []chat.ToolCall{{Name: "</b>", Args: json.RawMessage(`{"a": not json`)}}
	first, sum := test("s", "often", "a", "b"), test("s", "often")
	first.Trial, sum.Trials = 1, &result.Trials{Count: 1, Passed: 1, Scores: []float64{1}}
	return []*result.Test{rich, hostile, first, sum}
}

// test makes a conversation of alternating user and assistant texts that passed.
func test(suite, id string, said ...string) *result.Test {
	t := &result.Test{
		Schema: result.Schema, RunID: "20260714-093000-k3x9", Suite: suite, TestID: id, Target: "openai:gpt-5-mini",
		Score: 1, Verdict: result.Pass, Threshold: 0.8, ExecutionStatus: result.OK,
		StartedAt: time.Date(2026, 7, 14, 9, 30, 0, 0, time.UTC),
	}
	for i := 0; i+1 < len(said); i += 2 {
		t.Turns = append(t.Turns, result.Turn{
			Index: i/2 + 1, Input: chat.Content{Text: said[i]}, Output: said[i+1], LatencyMS: 840, Attempts: 1,
		})
		t.Output = append(t.Output, chat.NewMessage(chat.User, said[i]), chat.NewMessage(chat.Assistant, said[i+1]))
		t.Scores = append(t.Scores, result.Score{
			Name: fmt.Sprintf("turn-%d", i/2+1), Type: "contains", Score: 1, Verdict: result.Pass,
		})
	}
	return t
}

func TestLogKeepsEverything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "run")
	write(t, dir, sample()...)
	got, errs := read(dir)
	// A model's broken tool arguments have become text.
	want := sampleWithQuotedArgs()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || errs != nil {
		t.Errorf("Read mismatch (-want +got), errors %v:\n%s", errs, d)
	}
	again, _ := read(dir)
	if d := cmp.Diff(got, again); d != "" {
		t.Errorf("a second reading differs:\n%s", d)
	}
}

// sampleWithQuotedArgs is the sample as JSON can hold it: bytes that are not UTF-8 are replaced.
func sampleWithQuotedArgs() []*result.Test {
	tests := sample()
	for _, x := range tests {
		for i := range x.Turns {
			for j, c := range x.Turns[i].ToolCalls {
				if !json.Valid(c.Args) {
					x.Turns[i].ToolCalls[j].Args, _ = json.Marshal(string(c.Args))
				}
			}
			x.Turns[i].Output = strings.ToValidUTF8(x.Turns[i].Output, "\ufffd")
		}
		for i := range x.Output {
			x.Output[i].Content.Text = strings.ToValidUTF8(x.Output[i].Content.Text, "\ufffd")
		}
	}
	return tests
}

func TestLogProperty(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		last := map[result.Key]int{}
		var written []*result.Test
		for range rapid.IntRange(1, 4).Draw(rt, "sessions") {
			log := openLog(t, dir)
			for range rapid.IntRange(0, 12).Draw(rt, "records") {
				x := &result.Test{
					Schema: 1, RunID: "r",
					Suite:  rapid.SampledFrom([]string{"", "a", "ä \" \\ \n, {"}).Draw(rt, "suite"),
					TestID: rapid.OneOf(rapid.SampledFrom([]string{"x", "y"}), rapid.String()).Draw(rt, "id"),
					Target: rapid.SampledFrom([]string{"", "m"}).Draw(rt, "target"),
					Trial:  rapid.IntRange(0, 2).Draw(rt, "trial"),
					Score:  rapid.Float64Range(0, 1).Draw(rt, "score"), Verdict: result.Pass,
					Output: []chat.Message{chat.NewMessage(chat.User, rapid.String().Draw(rt, "text"))},
				}
				if err := log.Append(x); err != nil {
					rt.Fatal(err)
				}
				last[x.Key()] = len(written)
				written = append(written, x)
			}
			if err := log.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		var want []*result.Test
		for i, x := range written {
			if last[x.Key()] == i {
				want = append(want, x)
			}
		}
		got, errs := read(dir)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || errs != nil {
			rt.Fatalf("Read mismatch (-want +got), errors %v:\n%s", errs, d)
		}
	})
}

func TestTornLine(t *testing.T) {
	whole, err := json.Marshal(test("s", "c"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, tail string
		want       []string
		torn       string
	}{
		{"nothing", "", []string{"a", "b"}, ""},
		{"half a record", string(whole[:len(whole)/2]), []string{"a", "b"}, string(whole[:len(whole)/2])},
		{"one byte", "{", []string{"a", "b"}, "{"},
		{"zeros of a power cut", strings.Repeat("\x00", 100_000), []string{"a", "b"}, strings.Repeat("\x00", 100_000)},
		{"a whole record without its line break", string(whole), []string{"a", "b", "c"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, test("s", "a"), test("s", "b"))
			path := filepath.Join(dir, runlog.LogFile)
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteString(tc.tail); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			wantIDs(t, dir, tc.want...) // a reader is not disturbed
			log := openLog(t, dir)
			if log.Torn != int64(len(tc.torn)) {
				t.Errorf("Torn = %d, want %d", log.Torn, len(tc.torn))
			}
			if err := log.Append(test("s", "d")); err != nil {
				t.Fatal(err)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			wantIDs(t, dir, append(tc.want, "d")...)
			aside, err := os.ReadFile(filepath.Join(dir, runlog.TornFile))
			if tc.torn == "" && !errors.Is(err, fs.ErrNotExist) || tc.torn != "" && string(aside) != tc.torn+"\n" {
				t.Errorf("moved aside: %.50q, %v; want %.50q", aside, err, tc.torn)
			}
		})
	}
}

func TestTornFileKeepsEarlierPieces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, runlog.LogFile)
	for _, piece := range []string{`{"one`, `{"two`} {
		if err := os.WriteFile(path, []byte(piece), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := openLog(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, runlog.TornFile))
	if err != nil || string(got) != "{\"one\n{\"two\n" {
		t.Errorf("moved aside: %q, %v", got, err)
	}
}

func TestBrokenLineIsNamedAndPassedOver(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, test("s", "a"))
	path := filepath.Join(dir, runlog.LogFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(data), `"schema":1`, `"schema":99`, 1)
	strange := `{"target":"m","test_id":"other order","suite":"s","schema":1}` + "\n"
	text := string(data) + "not json\n\n" + newer + strange + strings.Replace(strange, `"m"`, `7`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tests, errs := read(dir)
	if len(tests) != 1 || tests[0].TestID != "other order" || len(errs) != 3 {
		t.Fatalf("%d records, errors %q", len(tests), errs)
	}
	for i, want := range []string{
		"line 2: invalid character", "line 4: schema 99 was written by a newer rehearse",
		"line 6: json: cannot unmarshal",
	} {
		if !strings.Contains(errs[i], want) || !strings.Contains(errs[i], path) {
			t.Errorf("error %q, want %q in it", errs[i], want)
		}
	}
	// A consumer that has seen enough is not asked again.
	for range runlog.Read(dir) {
		break
	}
}

func TestReadWithoutALog(t *testing.T) {
	for _, err := range runlog.Read(t.TempDir()) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want fs.ErrNotExist", err)
		}
	}
}

func TestLongLines(t *testing.T) {
	dir := t.TempDir()
	big := test("s", "big", "hi", strings.Repeat("long ", 2<<20))
	write(t, dir, test("s", "a"), big, test("s", "b"))
	wantIDs(t, dir, "a", "big", "b")
	log := openLog(t, dir)
	defer log.Close()
	log.Redact = func(line []byte) []byte { return append(line, bytes.Repeat([]byte(" "), 65<<20)...) }
	if err := log.Append(test("s", "huge")); err == nil ||
		!strings.Contains(err.Error(), "record test huge: its record of 65 MB is over the limit of 64 MB") {
		t.Errorf("Append of 65 MB: %v", err)
	}
	wantIDs(t, dir, "a", "big", "b")
}

func TestRedact(t *testing.T) {
	dir := t.TempDir()
	log := openLog(t, dir)
	defer log.Close()
	log.Redact = func(line []byte) []byte { return bytes.ReplaceAll(line, []byte("sk-secret"), []byte("[redacted]")) }
	if err := log.Append(test("s", "a", "my key is sk-secret", "thanks")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, runlog.LogFile))
	if err != nil || bytes.Contains(data, []byte("sk-secret")) ||
		!bytes.Contains(data, []byte("my key is [redacted]")) {
		t.Errorf("log: %v\n%s", err, data)
	}
	for _, broken := range []string{"", "{", "{}\n{}"} {
		log.Redact = func([]byte) []byte { return []byte(broken) }
		if err := log.Append(test("s", "b")); err == nil ||
			!strings.Contains(err.Error(), "redaction left no valid line") {
			t.Errorf("redaction to %q: %v", broken, err)
		}
	}
	wantIDs(t, dir, "a")
}

func TestLogOfMany(t *testing.T) {
	dir := t.TempDir()
	log := openLog(t, dir)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				if err := log.Append(test("s", fmt.Sprintf("%d-%d", g, i), "hello",
					strings.Repeat("y", i*50))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	tests, errs := read(dir) // while it is open
	if len(tests) != 800 || errs != nil {
		t.Errorf("%d records, errors %v", len(tests), errs)
	}
	if err := errors.Join(log.Close(), log.Close()); err != nil {
		t.Error(err)
	}
	if err := log.Append(test("s", "late")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
}

func TestRunRecord(t *testing.T) {
	dir := t.TempDir()
	run := result.Run{
		Schema: result.Schema, ID: "20260714-093000-k3x9", Command: []string{"run", "a.yaml"}, Targets: []string{"m"},
		StartedAt: time.Date(2026, 7, 14, 9, 30, 0, 0, time.UTC), ExitReason: "running",
	}
	for range 2 {
		if err := runlog.WriteRun(dir, run); err != nil {
			t.Fatal(err)
		}
		got, err := runlog.ReadRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(run, got); d != "" {
			t.Errorf("ReadRun mismatch (-want +got):\n%s", d)
		}
		run.ExitReason = "passed"
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v, %v; want run.json only", entries, err)
	}
	if err := runlog.WriteRun(filepath.Join(dir, "none"), run); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WriteRun into no folder: %v", err)
	}
	run.Schema = 99
	if err := runlog.WriteRun(dir, run); err != nil {
		t.Fatal(err)
	}
	if _, err := runlog.ReadRun(dir); err == nil || !strings.Contains(err.Error(), "newer rehearse") {
		t.Errorf("ReadRun of a newer schema: %v", err)
	}
}
