package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"rehearse/internal/sitebot"
	"rehearse/internal/source"
)

func newE2E(env *Env) *cobra.Command {
	f := &e2eFlags{}
	c := &cobra.Command{
		Use:   "e2e DATASET",
		Short: "Grade a chatbot's next answer in recorded conversations",
		Long: `Grade the next answer of a website's chatbot in recorded conversations, each in one call.

Each item of DATASET is one conversation: its history is turned into the state that it would have left, the state is put into a fresh session,
only the last query is sent, and only the answer to it is graded. DATASET is a file (.jsonl, .json, .csv, also .gz) or the name of a dataset in
Langfuse or a store (store:NAME). An item is {"id", "input": {"query"}, "expected_output": {"response", "assertions"?}, "metadata": {"site_name", "history":
[{"role", "content", "message_index"?}], "query_message_index"?, "state"?}}: the response says in words what a good answer is, and a judge
scores its correctness, completeness, flow and format. Assertions are those of suites, such as {"type": "state", "path", "equals"}.

Exit codes: 0 enough answers were good, 1 too few, 2 wrong usage or invalid items, 3 something could not be run or graded, 130 interrupted.`,
		Example: `  rehearse e2e items.jsonl --sites examples/sites --judge openai:gpt-5
  rehearse e2e hexa.com-v1 --sites sites --sample-size 5 --verbose
  rehearse e2e items.jsonl --sites sites --item "Technical" --verbose
  rehearse e2e items.jsonl --sites sites --judge none        assertions only
  rehearse e2e verify items.jsonl --sites sites              is the rebuilt state the natural one?
  rehearse e2e rebuild items.jsonl > rebuilt.jsonl           the states alone`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one dataset: a file of items, or a dataset in Langfuse (see `%s --help`)", c.CommandPath())
			}
			f.hasAccuracy = c.Flags().Changed("accuracy")
			f.commandLine = append([]string{"e2e"}, args...)
			return f.run(c.Context(), env, args[0])
		},
	}
	f.register(c.Flags())
	c.AddCommand(newE2ERebuild(env), newE2EVerify(env))
	return c
}

func newE2ERebuild(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild FILE|-",
		Short: "Turn message histories into states",
		Long: `Turn message histories into the states that the conversations would have come to: messages, turn number, what the last answer asked for,
and what the qualification has collected. Each line of FILE (also .gz, or of standard input) is a JSON object
{"name", "input": {"history": [{"role", "content", "message_index"?}], "query", "field_ids"}}, or an item of a dataset, {"id", "input": {"query"},
"metadata": {"history"}}; each line that is written has its name, its state and warnings of what the history does not tell for sure, in the same
order. Without field_ids nothing is collected: they are the fields of a site, in their order.`,
		Example: `  rehearse e2e rebuild items.jsonl
  echo '{"name":"a","input":{"history":[{"role":"user","content":"hi"}],"query":"x","field_ids":[]}}' | rehearse e2e rebuild -`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" {
				return rebuildLines("standard input", env.Stdin, env.Stdout)
			}
			file, err := source.Open(args[0])
			if err != nil {
				return usage("cannot read the histories of %s: %w", args[0], err)
			}
			defer func() { _ = file.Close() }() // it was only read
			return rebuildLines(args[0], file, env.Stdout)
		},
	}
}

// rebuiltLine is a line that e2e rebuild writes.
type rebuiltLine struct {
	Name string `json:"name"`
	sitebot.Rebuilt
}

// maxHistoryLine bounds one history.
const maxHistoryLine = 64 << 20

// rebuildLines rebuilds line by line, so that any number of histories takes the memory of one.
func rebuildLines(name string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxHistoryLine)
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // as some editors begin a file
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		called, history, err := readHistory(line)
		if err != nil {
			return errors.Join(usage(`%s:%d: not a history: %w (write {"name", "input": {"history": […], "query", "field_ids"}})`, name, n, err), buffered.Flush())
		}
		if err := encoder.Encode(rebuiltLine{called, sitebot.Rebuild(history)}); err != nil {
			return outcome(err)
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Join(usage("%s: %w", name, tooLongLine(err)), buffered.Flush())
	}
	return outcome(buffered.Flush())
}

// readHistory reads a line: a history of its own, or one in the metadata of a dataset's item.
func readHistory(line []byte) (name string, h sitebot.History, err error) {
	var item struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		Metadata struct {
			Rows  []sitebot.HistoryRow `json:"history"`
			CutAt *float64             `json:"query_message_index"`
		} `json:"metadata"`
	}
	var in struct {
		sitebot.History
		Message string `json:"message"`
	}
	if err := json.Unmarshal(line, &item); err != nil {
		return "", h, errors.New(inWordsOf(err))
	}
	if len(item.Input) == 0 {
		return "", h, errors.New("it has no input")
	}
	if err := textOr(item.Input, &in.Query, &in); err != nil {
		return "", h, errors.New(inWordsOf(err))
	}
	h = in.History
	h.Query = cmp.Or(h.Query, in.Message)
	if h.Rows == nil {
		h.Rows = item.Metadata.Rows
	}
	h.CutAt = cmp.Or(h.CutAt, item.Metadata.CutAt)
	return cmp.Or(item.Name, item.ID), h, nil
}

func tooLongLine(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than %d MB", maxHistoryLine>>20)
	}
	return err
}
