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
func (w workload) requests() int { return w.conversations * w.calls() }

// calls is how many requests one conversation takes.
func (w workload) calls() int {
	if w.judged {
		return 2 * w.turns
	}
	return w.turns
}

// assertions is how many assertions one conversation has.
func (w workload) assertions() int {
	n := w.turns * len(wanted(0, 0))
	if w.judged {
		n += w.turns
	}
	return n
}

// ideal is the time of a client that takes none itself and asks for one thing after the other in each conversation:
// full waves of conversations, each with its turns, each turn with its verdict.
// Whoever asks for the next reply while the last one is still being judged can beat it.
func (w workload) ideal() time.Duration {
	waves := (w.conversations + inFlight - 1) / inFlight
	return time.Duration(waves*w.calls()) * w.latency
}

// systemPrompt stands before every conversation.
const systemPrompt = "You are the assistant of a parcel service."

// criterion is what the judge is asked about each turn.
const criterion = "Repeats which parcel it is about"

// said is what the user says in turn j (from 1) of conversation i.
func said(i, j int) string {
	return fmt.Sprintf("My parcel %06d has not come yet, and I have asked %d times now.", i, j)
}

// wanted are the texts that the reply must hold: the first shows that it answers this very message, the second that the
// conversation was carried forward.
func wanted(i, j int) [2]string { return [2]string{fmt.Sprintf("parcel %06d", i), ordinal(j)} }

func name(i int) string { return fmt.Sprintf("conversation-%06d", i) }

// writeSuite writes suite.yaml into dir, with tests.jsonl beside it for single-turn tests, in the form that rehearse
// and AgentV share. Tests are written one at a time: a program's peak memory is never measured below that of the
// program which starts it.
func (w workload) writeSuite(dir string) error {
	if !w.single {
		return writeFile(filepath.Join(dir, "suite.yaml"), w.writeYAML)
	}
	if err := os.WriteFile(filepath.Join(dir, "suite.yaml"),
		[]byte("name: bench\ntests: tests.jsonl\n"), 0o600); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "tests.jsonl"), w.writeLines)
}

// writeFile creates a file that write fills. The writer keeps its first error, so write need not look at any.
func writeFile(path string, write func(*bufio.Writer)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	write(out)
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// writeYAML writes conversations the way people do.
func (w workload) writeYAML(out *bufio.Writer) {
	fmt.Fprint(out, "name: bench\ndescription: Is the parcel service still fast?\ntests:\n")
	for i := 1; i <= w.conversations; i++ {
		fmt.Fprintf(out,
			"  - id: %s\n    mode: conversation\n    input:\n      - role: system\n        content: %s\n    turns:\n",
			name(i), systemPrompt)
		for j := 1; j <= w.turns; j++ {
			fmt.Fprintf(out, "      - input: %s\n        assertions:\n", said(i, j))
			for _, text := range wanted(i, j) {
				fmt.Fprintf(out, "          - type: contains\n            value: %s\n", text)
			}
			if w.judged {
				fmt.Fprintf(out, "          - %s\n", criterion)
			}
		}
	}
}

type (
	message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	contains struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	lineTest struct {
		ID         string     `json:"id"`
		Input      []message  `json:"input"`
		Assertions []contains `json:"assertions"`
	}
)

// writeLines writes single-turn tests, one on each line.
func (w workload) writeLines(out *bufio.Writer) {
	lines := json.NewEncoder(out)
	for i := 1; i <= w.conversations; i++ {
		t := lineTest{ID: name(i), Input: []message{{"system", systemPrompt}, {"user", said(i, 1)}}}
		for _, text := range wanted(i, 1) {
			t.Assertions = append(t.Assertions, contains{"contains", text})
		}
		_ = lines.Encode(t) // the writer keeps the error
	}
}
