package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// logFlow is the flow of the logged conversations. The lexical model chooses the options, so no request is sent.
const logFlow = `id: parcels
version: 1
start: begin
nodes:
  - {id: begin, type: start, prompt: Greet the customer., next: [what]}
  - id: what
    type: conversation
    prompt: What is it about?
    options:
      - {id: missing, label: Missing parcel, when: has not arrived, examples: [My parcel has not come], next: number}
      - {id: damaged, label: Damaged parcel, when: a parcel is damaged, examples: [The box is broken], next: number}
  - id: number
    type: conversation
    prompt: What is the number of the parcel?
    options:
      - {id: given, label: Number, when: gives a number, examples: [The number is 123456], next: where}
      - {id: lost, label: No number, when: cannot find it, examples: [I lost the receipt], next: where}
  - id: where
    type: conversation
    prompt: Where shall the new parcel go?
    options:
      - {id: home, label: Home, when: wants it at home, examples: [Send it to my home address], next: more}
      - {id: shop, label: Shop, when: collects it in a shop, examples: [I will collect it in the shop], next: more}
  - id: more
    type: conversation
    prompt: Is there anything else?
    options:
      - {id: nothing, label: Nothing, when: nothing else, examples: ["No, thank you, that was all"], next: bye}
      - {id: again, label: Another parcel, when: another parcel, examples: [There is another parcel], next: number}
  - {id: bye, type: stop, prompt: Goodbye.}
`

const logConfig = `targets:
  baseline: {kind: flow, flow: parcels.flow.yaml}
  candidate: {kind: flow, flow: parcels.flow.yaml}
`

// logTurns are the turns of every logged conversation: %06d is its number.
var logTurns = [4]struct{ user, bot, state, next string }{
	{"My parcel %06d has not come yet", "What is the number of the parcel?", "what", "number"},
	{"The number is %06d", "Where shall the new parcel go?", "number", "where"},
	{"Send it to my home address, please, customer %06d", "Is there anything else?", "where", "more"},
	{"No, thank you, that was all of %06d", "Goodbye.", "more", "bye"},
}

type (
	logLine struct {
		SessionID string       `json:"session_id"`
		FlowID    string       `json:"flow_id"`
		UserID    string       `json:"user_id"`
		Timestamp string       `json:"timestamp"`
		Messages  []logMessage `json:"messages"`
		Outcome   string       `json:"outcome"`
	}
	logMessage struct {
		message
		State     string `json:"state,omitempty"`
		NextState string `json:"next_state,omitempty"`
	}
)

// writeLog writes a log of completed conversations, one on each line.
func writeLog(out *bufio.Writer, sessions int) {
	lines := json.NewEncoder(out)
	for i := 1; i <= sessions; i++ {
		l := logLine{
			SessionID: name(i), FlowID: "parcels", UserID: fmt.Sprintf("user-%06d", i),
			Timestamp: "2026-01-05T10:00:00Z", Outcome: "completed",
		}
		for _, t := range logTurns {
			l.Messages = append(l.Messages, logMessage{message{"user", fmt.Sprintf(t.user, i)}, t.state, t.next},
				logMessage{message: message{"assistant", t.bot}})
		}
		_ = lines.Encode(l) // the writer keeps the error
	}
}

const history = "sqlite:history.db"

func importCommand(sessions int) func(string) tool {
	return func(program string) tool {
		return command{
			program: program, args: []string{"replay", "import", "log.jsonl", "--store", history},
			prints: number(sessions),
			setup: func(_ context.Context, _, dir, _ string) error {
				return writeFile(filepath.Join(dir, "log.jsonl"), func(out *bufio.Writer) { writeLog(out, sessions) })
			},
		}
	}
}

// replayCommand replays a log that was imported before, with the same flow on both sides.
func replayCommand(sessions int) func(string) tool {
	return func(program string) tool {
		return command{
			program: program,
			args: []string{
				"replay", "run", "--candidate", "target:candidate", "--baseline", "target:baseline",
				"--flow-id", "parcels", "--start-date", "2026-01-01", "--end-date", "2026-01-31",
				"--store", history, "--out", resultsDir,
				// How long a turn took by the clock must not decide the exit code.
				"--margin", "avg_latency_ms=100000",
			},
			prints: number(sessions),
			setup: func(ctx context.Context, program, dir, url string) error {
				load, none := importCommand(sessions)(program), workload{}
				err := errors.Join(
					os.WriteFile(filepath.Join(dir, "parcels.flow.yaml"), []byte(logFlow), 0o600),
					os.WriteFile(filepath.Join(dir, "rehearse.yaml"), []byte(logConfig), 0o600),
					load.write(ctx, dir, none, url),
				)
				if err != nil {
					return err
				}
				check := func(exit int) error { return load.check(dir, none, exit) }
				return setUp(ctx, load.command("", dir, none), check)
			},
			verify: func(dir string) error { return allReplayed(dir, sessions) },
		}
	}
}

// allReplayed wants every logged conversation compared, none lost, and all with the ends and states of the log.
func allReplayed(dir string, sessions int) error {
	data, err := os.ReadFile(filepath.Join(dir, resultsDir, "report.json"))
	if err != nil {
		return err
	}
	var report struct {
		Run struct {
			CompletionMatch  *float64 `json:"completion_match_score"`
			StateProgression *float64 `json:"state_progression_match"`
		} `json:"run"`
		Log struct {
			Compared int `json:"compared"`
			Lost     int `json:"lost"`
		} `json:"log_to_figures"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return err
	}
	one := func(share *float64) bool { return share != nil && *share == 1 }
	asLogged := one(report.Run.CompletionMatch) && one(report.Run.StateProgression)
	if report.Log.Compared != sessions || report.Log.Lost != 0 || !asLogged {
		return fmt.Errorf("not all of %d sessions were replayed as logged: %s", sessions, data[:min(len(data), 500)])
	}
	return nil
}
