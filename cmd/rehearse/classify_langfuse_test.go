package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/app/classify"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// program runs the whole program beside a Langfuse.
type program struct {
	server    *langfusetest.Server
	variables map[string]string
	// signals are what the user sends; nil for none.
	signals <-chan os.Signal
}

func (p *program) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if args[0] == "classify" {
		defer elsewhere(t)()
	}
	var out, err bytes.Buffer
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	env := &Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Now: func() time.Time { return now },
		Signals: p.signals,
	}
	env.LookupEnv = func(name string) (string, bool) {
		value, ok := p.variables[name]
		if !ok {
			value = p.server.Getenv(name)
		}
		return value, ok || value != ""
	}
	code = Main(t.Context(), env, args)
	return code, out.String(), err.String()
}

// elsewhere leaves the folder of the sources for an empty one, so that no run is kept there; the returned function goes
// back.
func elsewhere(t *testing.T) func() {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("main.go"); err != nil {
		return func() {} // the test has chosen a folder
	}
	if err := os.Chdir(t.TempDir()); err != nil { //nolint:usetesting // it goes back
		t.Fatal(err)
	}
	return func() {
		if err := os.Chdir(here); err != nil { //nolint:usetesting // as above
			t.Fatal(err)
		}
	}
}

// posts returns the requests that change something, and how often each came.
func (p *program) posts() map[string]int {
	counts := map[string]int{}
	for _, r := range p.server.Requests() {
		if !strings.HasPrefix(r, "GET ") {
			counts[r]++
		}
	}
	return counts
}

// labelledServer has a dataset of each classifier; the scripted model of the examples gets two of three intents right.
func labelledServer(t *testing.T) *program {
	t.Helper()
	s := langfusetest.New(t)
	s.AddDataset("intent-classifier")
	add := func(id, message, intent string) {
		s.AddItem("intent-classifier", id, map[string]any{"message": message, "history": []any{}},
			map[string]string{"intent": intent}, map[string]string{
				"source": "made up", "site_name": "kestrel-rota.example",
			})
	}
	add("i1", "I cannot log in", "SUPPORT")
	add("i2", "What does it cost?", "LEARN")
	add("i3", "Tell me", "CONTEXT")
	s.AddDataset("skill-selector")
	s.AddItem("skill-selector", "s1", "Is there a checklist?", map[string][]string{"skills": {"ask_email"}},
		map[string]string{"site_name": "kestrel-rota.example"})
	return &program{server: s, variables: map[string]string{}}
}

// onSites are the flags of the examples' sites and their scripted model.
func onSites(t *testing.T, args ...string) []string {
	t.Helper()
	root, err := filepath.Abs("../../examples/sites")
	if err != nil {
		t.Fatal(err)
	}
	return append(args, "--sites", root, "--model", "scripted:"+filepath.Join(root, "bot.yaml"))
}

// TestClassifyLogs holds what is logged of a classification on items of Langfuse, in both versions.
func TestClassifyLogs(t *testing.T) {
	for _, version := range []string{"3.150.0", "4.0.1"} {
		p := labelledServer(t)
		p.server.SetVersion(version)
		code, stdout, stderr := p.run(t, onSites(t, "classify", classify.IntentClassifier, "--local-prompt",
			"--workers", "1")...)
		if code != result.ExitFailed || !strings.Contains(stdout, "accuracy     0.666") {
			t.Fatalf("%s: exit code %d, stdout\n%s\nstderr\n%s", version, code, stdout, stderr)
		}
		name := evaluation.RunID(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))
		if want := "run " + name + " of the dataset intent-classifier\n"; !strings.HasPrefix(stderr,
			"logged to langfuse http://") || !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: stderr %q, want %q", version, stderr, want)
		}
		var traces []string
		item := map[string]string{}
		for _, s := range p.server.Spans() {
			a := func(key string) any { return s.Attributes["langfuse."+key] }
			item[s.TraceID] = fmt.Sprint(a("experiment.item.id"))
			traces = append(traces, fmt.Sprintf("%s %s %s %s %v", a("experiment.item.id"), a("observation.input"),
				a("observation.output"), a("experiment.item.expected_output"), a("experiment.name") == name))
		}
		slices.Sort(traces)
		if d := cmp.Diff([]string{
			`i1 {"message":"I cannot log in"} ["SUPPORT"] ["SUPPORT"] true`,
			`i2 {"message":"What does it cost?"} ["LEARN"] ["LEARN"] true`,
			`i3 {"message":"Tell me"} ["LEARN"] ["CONTEXT"] true`,
		}, traces); d != "" {
			t.Errorf("%s: traces (-want +got):\n%s", version, d)
		}
		var items []string
		for _, i := range p.server.RunItems() {
			items = append(items, fmt.Sprintf("%s %v", i.ItemID, i.Run == name && item[i.TraceID] == i.ItemID))
		}
		slices.Sort(items)
		if d := cmp.Diff([]string{"i1 true", "i2 true", "i3 true"}, items); version[0] == '3' && d != "" {
			t.Errorf("%s: items (-want +got):\n%s", version, d)
		}
		if d := cmp.Diff([]string{
			"i1 confidence 0.95", "i1 correct 1", "i2 confidence 0.8", "i2 correct 1", "i3 confidence 0.8",
			"i3 correct 0: expected CONTEXT, predicted LEARN", "run accuracy 0.667", "run macro_f1 0.556",
			"run passed 0", "run weighted_f1 0.556",
		}, scoresOf(p.server, item)); d != "" {
			t.Errorf("%s: scores (-want +got):\n%s", version, d)
		}
	}
}

// scoresOf returns the scores in words, those of the run with the run that the server knows.
func scoresOf(s *langfusetest.Server, item map[string]string) (scores []string) {
	for _, score := range s.Scores() {
		of := item[fmt.Sprint(score["traceId"])]
		if id, ok := score["datasetRunId"].(string); ok && (strings.HasPrefix(id, "run-ds-intent-classifier") ||
			id == s.Spans()[0].Attributes["langfuse.experiment.id"]) {
			of = "run"
		}
		text := fmt.Sprintf("%s %s %.3g", of, score["name"], score["value"])
		if score["value"] == 0.0 && of != "run" {
			text += fmt.Sprintf(": %s", score["comment"])
		}
		scores = append(scores, text)
	}
	slices.Sort(scores)
	return scores
}

// TestClassifyLogsNothing holds what switches the logging off.
func TestClassifyLogsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "intent-classifier.jsonl")
	if err := os.WriteFile(file, []byte(`{"id":"i2","input":"What does it cost?","expected_output":"LEARN","metadata":{"site_name":"kestrel-rota.example"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		code int
		off  string
		said string
	}{
		{"--log none", []string{classify.IntentClassifier, "--log", "none"}, result.ExitFailed, "", ""},
		{"LANGFUSE_ENABLED", []string{classify.IntentClassifier}, result.ExitInvalid, "false", "switches Langfuse off"},
		{"items of a file", []string{classify.IntentClassifier, "--items", file}, result.ExitPassed, "", ""},
		{
			"both", []string{classify.IntentClassifier, "--items", file, "--log", "langfuse"}, result.ExitInvalid, "0",
			"LANGFUSE_ENABLED is false",
		},
	} {
		p := labelledServer(t)
		p.variables[langfuse.EnabledEnv] = tc.off
		code, _, stderr := p.run(t, onSites(t, append([]string{"classify"}, tc.args...)...)...)
		if code != tc.code || len(p.posts()) > 0 || !strings.Contains(stderr, tc.said) {
			t.Errorf("%s: exit code %d, requests %v, stderr %s", tc.name, code, p.posts(), stderr)
		}
	}
	// A file whose items are also in Langfuse, under the file's name.
	p := labelledServer(t)
	code, _, stderr := p.run(t, onSites(t, "classify", file, "--target", classify.IntentClassifier, "--log",
		"langfuse")...)
	if code != result.ExitPassed || len(p.server.RunItems()) != 1 || len(p.server.Scores()) != 6 {
		t.Errorf("exit code %d, requests %v, stderr %s", code, p.posts(), stderr)
	}
}

// TestClassifyLogFailures holds that what cannot be logged is listed, and changes nothing else.
func TestClassifyLogFailures(t *testing.T) {
	refused := langfusetest.Fault{Status: 400, Body: `{"message":"no"}`}
	for _, tc := range []struct {
		name   string
		change func(*program)
		faults []langfusetest.Fault // of the requests behind the one for the items
		said   []string
		posts  map[string]int
	}{
		{
			"no such item", func(p *program) { p.server.OnAnswer(gone(p.server, "i2")) }, nil,
			[]string{`add the item "i2" to the run`, "Dataset item not found"},
			map[string]int{"run-items": 3, "traces": 1, "scores": 10},
		},
		{
			"traces are refused", nil,
			[]langfusetest.Fault{{}, refused},
			[]string{
				"the trace of i1, the trace of i2, the trace of i3: langfuse", "status 400: no",
				"there is no run to put them on",
			},
			map[string]int{"traces": 1},
		},
		{
			"a score is refused", nil,
			[]langfusetest.Fault{{}, {}, {}, {}, {}, refused},
			[]string{"  the score confidence of i1: langfuse", "status 400: no"},
			map[string]int{"run-items": 3, "traces": 1, "scores": 10},
		},
		{
			"the keys are refused", nil,
			[]langfusetest.Fault{{Status: 401, Body: `{"message":"who?"}`}},
			[]string{"status 401: who?; check LANGFUSE_PUBLIC_KEY"},
			map[string]int{},
		},
	} {
		p := labelledServer(t)
		if tc.change != nil {
			tc.change(p)
		}
		if tc.faults != nil {
			p.server.Fail(append([]langfusetest.Fault{{}}, tc.faults...)...)
		}
		code, stdout, stderr := p.run(t, onSites(t, "classify", classify.IntentClassifier, "--local-prompt",
			"--workers", "1")...)
		if code != result.ExitFailed || !strings.Contains(stdout, "FAILED: macro F1") ||
			!strings.Contains(stderr, "is not completely logged to langfuse") {
			t.Errorf("%s: exit code %d, stdout %s", tc.name, code, stdout)
		}
		for _, want := range tc.said {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: stderr lacks %q:\n%s", tc.name, want, stderr)
			}
		}
		got := map[string]int{}
		for r, n := range p.posts() {
			got[strings.TrimPrefix(r[strings.LastIndex(r, "/")+1:], "dataset-")] += n
		}
		if d := cmp.Diff(tc.posts, got); d != "" {
			t.Errorf("%s: requests (-want +got):\n%s", tc.name, d)
		}
	}
	p := labelledServer(t)
	file := filepath.Join(t.TempDir(), "other.jsonl")
	if err := os.WriteFile(file,
		[]byte(`{"id":"x","input":"hi","expected_output":"LEARN","metadata":{"site_name":"verdanne.example"}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := p.run(t, onSites(t, "classify", file, "--target", classify.IntentClassifier, "--log",
		"langfuse")...)
	if code != result.ExitPassed || !strings.Contains(stderr, "a run belongs to a dataset") || len(p.posts()) > 0 {
		t.Errorf("a dataset that there is not: exit code %d, requests %v, stderr %s", code, p.posts(), stderr)
	}
}

// gone removes an item once the items were listed.
func gone(s *langfusetest.Server, id string) func(*http.Request) {
	return func(r *http.Request) {
		if strings.Contains(r.URL.Path, "dataset-items") {
			s.RemoveItem(id)
		}
	}
}

// TestClassifyAll evaluates everything there is of the chatbot; main-dataset has an answer that is asserted only.
func TestClassifyAll(t *testing.T) {
	p := labelledServer(t)
	p.server.AddDataset("main-dataset")
	p.server.AddItem("main-dataset", "m1", map[string]string{"query": "What does Kestrel Rota do?"},
		map[string]any{"assertions": []any{map[string]string{"type": "contains", "value": "plans shifts"}}},
		map[string]any{"site_name": "kestrel-rota.example", "history": []any{}})
	args := onSites(t, "classify", "all", "--local-prompt")
	t.Chdir(t.TempDir())
	code, stdout, stderr := p.run(t, append(args, "--out", "out", "--macro-f1", "0.5", "--min-class-f1", "0")...)
	for _, want := range []string{
		"== intent-classifier ==\nPassed\n  accuracy     0.666", "== skill-selector ==\nPassed\n  accuracy",
		"== e2e-api ==\n",
		"== summary ==\nintent-classifier  passed\nskill-selector     passed\ne2e-api            passed\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout lacks %q", want)
		}
	}
	if code != result.ExitPassed || t.Failed() {
		t.Errorf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
	}
	for _, file := range []string{
		"intent-classifier/report.html", "skill-selector/report.html", "e2e-api/report.html",
	} {
		if _, err := os.Stat(filepath.Join("out", file)); err != nil {
			t.Error(err)
		}
	}
	code, stdout, stderr = p.run(t, append(args, "--format", "json")...)
	for _, want := range []string{
		`{"passed":false,"targets":[{"target":"intent-classifier","passed":false,"summary":"FAILED: macro F1 0.555`,
		`"per_class"`,
	} {
		if code != result.ExitFailed || !strings.Contains(stdout, want) || strings.Count(stdout, "\n") != 1 {
			t.Errorf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
		}
	}
	if datasets := slices.Sorted(maps.Keys(p.posts())); len(datasets) == 0 {
		t.Error("nothing was logged")
	}
}
