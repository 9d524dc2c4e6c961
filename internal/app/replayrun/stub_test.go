package replayrun_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// walker is an agent of someone else's that walks a flow: all that it says of it are the node, the end, the facts and
// the tokens. Like any such agent it is given the messages and no state; it knows the log.
type walker struct {
	agent  *replay.FlowAgent
	before map[string][]string // the logged states before the user's messages, by session
	forced bool

	sync.Mutex
	talks map[string]replay.Conversation
	known map[string]map[string]any // what was collected, by session
}

func (w *walker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var asked struct {
		Session, Conversation string
		Messages              []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.Lock()
	defer w.Unlock()
	last := len(asked.Messages) - 1
	talk := w.talks[asked.Conversation]
	if talk == nil {
		at := replay.Moment{SessionID: asked.Session, Resumed: w.forced}
		turn := 0
		for _, m := range asked.Messages[:last] {
			if m.Role == "user" {
				turn++
			}
			at.History = append(at.History, replay.LoggedMessage{User: m.Role == "user", Text: m.Content})
		}
		at.State, at.Known = w.before[asked.Session][turn], w.known[asked.Session]
		var err error
		if talk, err = w.agent.Open(r.Context(), at); err != nil {
			http.Error(rw, err.Error(), http.StatusTeapot)
			return
		}
		w.talks[asked.Conversation] = talk
	}
	said, err := talk.Send(r.Context(), asked.Messages[last].Content)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusTeapot)
		return
	}
	if said.Data != nil {
		w.known[asked.Session] = said.Data
	}
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"reply": said.Reply.Text, "node": said.State, "end": said.Ended, "data": said.Data, "cost": 0,
		"in": said.Reply.Usage.InputTokens + said.Reply.Usage.OutputTokens, "out": 0,
	})
}

// TestStubOfFlow: an agent behind HTTP that walks a flow has the figures of the flow itself to the last digit, times
// aside, once its target says which flow that is. Without it the same agent is found to have asked for less.
func TestStubOfFlow(t *testing.T) {
	root, err := filepath.Abs("../../../examples/replay")
	if err != nil {
		t.Fatal(err)
	}
	walked := reworded(t, filepath.Join(root, "flows", "ride_book_candidate.yaml"))
	store := "sqlite:" + filepath.Join(t.TempDir(), "star.db")
	loadExample(t, store, root)
	library, err := flow.OpenLibrary(source.Files{}, walked)
	if err != nil {
		t.Fatal(err)
	}
	before := loggedStates(t, store, "ride_book")
	for _, mode := range []replay.Mode{replay.Recorded, replay.Forced} {
		t.Run(string(mode), func(t *testing.T) {
			w := &walker{
				agent: &replay.FlowAgent{
					Engine: flow.New(flow.Config{Model: llm.Lexical{}}), Flow: library.Flows()[0],
				}, before: before, forced: mode == replay.Forced, talks: map[string]replay.Conversation{},
				known: map[string]map[string]any{},
			}
			s := httptest.NewServer(w)
			t.Cleanup(s.Close)
			stub := `{url: "` + s.URL + `", body: {session: "{{test_id}}", conversation: "{{conversation_id}}", messages: "{{messages}}"}, retries: 0, data_of: data, ` + `answer: {text: $.reply, node: $.node, end: $.end, state: $.data, cost_usd: $.cost, usage: {input_tokens: $.in, output_tokens: $.out}}`
			dir := t.TempDir()
			path := filepath.Join(dir, "rehearse.yaml")
			targets := "targets:\n  itself: {kind: flow, flow: " + walked + "}\n  silent: " + stub + "}\n  stub: " +
				stub + ", flow: " + walked + "}\n"
			if err := os.WriteFile(path, []byte(targets), 0o600); err != nil {
				t.Fatal(err)
			}
			config := replayrun.Config{
				Setup: setupOf(t, path), Store: store, Flows: filepath.Join(root, "flows"),
				Prompts: filepath.Join(root, "prompts"),
				Spec: replay.Spec{
					BaselineID: "ride_book_baseline", FlowID: "ride_book", FirstDay: "2020-05-17",
					LastDay: "2020-05-26", MinTurns: 1, Mode: mode, Gate: replay.GatePaired,
					Rules: replay.DefaultRules(), Side: replay.After, Workers: 8, TurnTimeout: time.Minute,
				},
			}
			itself, stubbed, silent := held(t, config, "target:itself"), held(t, config, "target:stub"),
				held(t, config, "target:silent")
			if d := cmp.Diff(untimed(t, itself), untimed(t, stubbed)); d != "" {
				t.Errorf("(-the flow +its stub) %s", d)
			}
			if stubbed.Candidate.RequestsUnknown || !silent.Candidate.RequestsUnknown {
				t.Error("it is not told whether it is known what the agent asks for")
			}
			hinted := strings.Contains(silent.Reliability, "`flow:`") &&
				!strings.Contains(stubbed.Reliability, "`flow:`")
			if less := *silent.Run.SupportCoverage < *itself.Run.SupportCoverage; mode == replay.Recorded &&
				(!less || !hinted) {
				t.Errorf("without its flow %v of the turns are supported, with it %v: %s", *silent.Run.SupportCoverage,
					*itself.Run.SupportCoverage, silent.Reliability)
			}
		})
	}
}

// reworded writes down a flow which asks for the name in words and in a state of its own, and leads on from there as
// before: only whoever knows its nodes can tell that it asks for the same.
func reworded(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const node, prompt = "\n  - id: ask_name\n", "prompt: May I have your name, please?"
	before, rest, ok := strings.Cut(string(data), node)
	own, after, there := strings.Cut(rest, "\n  - id: ")
	if !ok || !there || !strings.Contains(own, prompt) {
		t.Fatalf("%s does not ask for a name", path)
	}
	before = strings.NewReplacer("next: ask_name", "next: who", "next:\n      - hello\n",
		"next:\n      - hello\n      - ask_name\n").Replace(before)
	who := strings.Replace(own, prompt, "prompt: Who is it?", 1)
	path = filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(path, []byte(before+node+own+"\n  - id: who\n"+who+"\n  - id: "+after), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// setupOf opens the configuration of a file.
func setupOf(t *testing.T, path string) *wire.Setup {
	t.Helper()
	s, err := wire.Open(wire.Options{Config: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	at, err := s.At(".")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// held replays a candidate and returns the report.
func held(t *testing.T, c replayrun.Config, candidate string) *replay.Report {
	t.Helper()
	c.Spec.Candidate, c.Out = candidate, t.TempDir()
	r, err := replayrun.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// untimed are all figures of a report but those of time.
func untimed(t *testing.T, r *replay.Report) any {
	t.Helper()
	timed := map[string]bool{replay.AvgLatency: true, replay.P95Latency: true, replay.CompletionSeconds: true}
	kept := []replay.MetricReport{}
	for _, m := range r.Metrics {
		if d := m.Difference; d != nil {
			d.AdjustedP = 0 // Holm's family has the latency
		}
		if !timed[m.Name] {
			kept = append(kept, m)
		}
	}
	return []any{
		kept, r.Outcomes, r.Lists, r.Divergences, r.Lost, r.LogToFigures, r.Clusters, r.Repeats, r.Reliability,
		r.Run.Sessions, r.Unknown,
	}
}

// loggedStates are the states before the user's messages of each session.
func loggedStates(t *testing.T, store, flowID string) map[string][]string {
	t.Helper()
	h, err := storage.OpenHistory(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	states := map[string][]string{}
	for s, err := range replay.Sessions(h.Each(t.Context(), replay.Filter{FlowID: flowID}), 0, &replay.Faults{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range s.Messages {
			if m.User {
				states[s.ID] = append(states[s.ID], m.Before)
			}
		}
	}
	return states
}
