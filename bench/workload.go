package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// inFlight is how many conversations are held at once in every case.
const inFlight = 50

// workload is the work that every measured program is given.
type workload struct {
	conversations, turns int
	latency              time.Duration
	// judged adds one criterion in words to every turn, for which a model is asked.
	judged bool
	// single writes the conversations, of one turn each, as single-turn tests into a JSON Lines file.
	single bool
}

// requests is how many must reach the endpoint: fewer would be a cache, more a retry.
func (w workload) requests() int {
	n := w.conversations * w.turns
	if w.judged {
		n *= 2
	}
	return n
}

// ideal is the time that no client can beat which asks for one thing after the other in each conversation:
// full waves of conversations, each with its turns, each turn with its verdict.
func (w workload) ideal() time.Duration {
	waves := (w.conversations + inFlight - 1) / inFlight
	return time.Duration(waves*w.requests()/w.conversations) * w.latency
}

// The texts of turn j (from 1) of conversation i. The reply must hold both wanted texts: the first shows that it is the answer to this
// message, the second that the conversation was carried forward.
func said(i, j int) string {
	return fmt.Sprintf("My parcel %06d has not come yet, and I have asked %d times now.", i, j)
}

func wanted(i, j int) [2]string { return [2]string{fmt.Sprintf("parcel %06d", i), ordinal(j)} }

// systemPrompt stands before every conversation.
const systemPrompt = "You are the assistant of a parcel service."

// criterion is what the judge is asked about each turn.
const criterion = "Repeats which parcel it is about"

// The shape of a suite; rehearse and AgentV read the same one.
type (
	suiteTest struct {
		ID         string      `json:"id"`
		Mode       string      `json:"mode,omitempty"`
		Input      []message   `json:"input"`
		Turns      []suiteTurn `json:"turns,omitempty"`
		Assertions []any       `json:"assertions,omitempty"`
	}
	suiteTurn struct {
		Input      string `json:"input"`
		Assertions []any  `json:"assertions"`
	}
	message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	contains struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
)

func (w workload) assertions(i, j int) []any {
	list := []any{}
	for _, text := range wanted(i, j) {
		list = append(list, contains{"contains", text})
	}
	if w.judged {
		list = append(list, criterion)
	}
	return list
}

func (w workload) test(i int) suiteTest {
	t := suiteTest{ID: fmt.Sprintf("conversation-%06d", i), Input: []message{{"system", systemPrompt}}}
	if w.single {
		t.Input, t.Assertions = append(t.Input, message{"user", said(i, 1)}), w.assertions(i, 1)
		return t
	}
	t.Mode = "conversation"
	for j := 1; j <= w.turns; j++ {
		t.Turns = append(t.Turns, suiteTurn{said(i, j), w.assertions(i, j)})
	}
	return t
}

// writeSuite writes suite.yaml into dir, with tests.jsonl beside it for single-turn tests.
// Tests are written as JSON, which YAML includes, one at a time: what is measured must not be larger for what this program holds.
func (w workload) writeSuite(dir string) error {
	if w.single {
		if err := writeLines(filepath.Join(dir, "tests.jsonl"), "", w); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte("name: bench\ntests: tests.jsonl\n"), 0o600)
	}
	return writeLines(filepath.Join(dir, "suite.yaml"), "name: bench\ndescription: speed\ntests:\n", w)
}

// writeLines writes a head and one test per line, as an item of a YAML list if there is a head.
func writeLines(path, head string, w workload) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	_, _ = out.WriteString(head) // Flush returns the first error
	prefix := ""
	if head != "" {
		prefix = "  - "
	}
	for i := range w.conversations {
		data, err := json.Marshal(w.test(i + 1))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s\n", prefix, data)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}
