package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
)

// importFlags are the flags of replay import.
type importFlags struct {
	store, from, flow, date, format, since, until, config string
	paths                                                 []string
	counted                                               dayFlags
}

func newReplayImport(env *Env) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Load logged conversations",
		Long: `Load logged conversations into a store, from files that may be packed as .gz, or from Langfuse ("langfuse:" in place of a file). What is there
already is left as it is, so importing again adds nothing. Rows that cannot be kept are counted by their kind, and the first of them named.

The format is told from the first row, or named with --from:
  events    {"event_id", "event_type", "unit_type", "unit_id", "experiments", "context": {"session_id", "flow_id", "current_state"}, "metrics",
            "payload", "timestamp"} a line, or a table whose cells hold JSON; the types conversation_started, message_sent, flow_completed and
            user_dropped_off make up conversations
  csv       a message a row, of a table or of JSON Lines: session_id, timestamp, sender, text; or a turn a row with a reply
  chat      a conversation a line: {"session_id", "flow_id", "messages": [{"role", "content"}], "outcome"}
  langfuse  traces as Langfuse's API returns them; each is a turn
  otel      OTLP JSON with the GenAI attributes; each outermost span with input and output messages is a turn

--map says where a field stands in the rows, as a column or a dotted path: event_id, event_type, session_id, flow_id, unit_id, timestamp, sender, text,
reply, state, next_state, turn_number, latency_ms, outcome, data, and message_id, the id of a message at its provider.`,
		Example: `  rehearse replay import events.jsonl.gz --store sqlite:history.db
  rehearse replay import support.csv --map session_id=ticket --map text=body --flow_id support
  rehearse replay import chats.jsonl --date 2026-01-31 --format json
  rehearse replay import langfuse: --since 2026-01-01 --flow_id support`,
		RunE: func(c *cobra.Command, args []string) error {
			options, err := f.options()
			if err != nil {
				return outcome(err)
			}
			inputs, err := f.inputs(c, env, args)
			if err != nil {
				return err
			}
			return withHistory(c.Context(), env, f.store, func(h *storage.History) error {
				return f.load(c.Context(), env, h, inputs, options)
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.store, "store", "", "where events are kept: "+historyPlaces)
	flags.StringVar(&f.from, "from", "",
		"format of the files: events, csv, chat, langfuse or otel (default: by the first row)")
	flags.StringArrayVar(&f.paths, "map", nil,
		"FIELD=PATH: where a field stands in the rows; may be given several times")
	flags.StringVar(&f.flow, "flow-id", "", "flow of the rows that name none")
	flags.StringVar(&f.date, "date", "", "day (YYYY-MM-DD) of conversations without any time")
	flags.StringVar(&f.format, "format", "text", "what is printed: text, or json for the counts")
	flags.StringVar(&f.since, "since", "", "first day (YYYY-MM-DD) that is read from langfuse:")
	flags.StringVar(&f.until, "until", "", "last day (YYYY-MM-DD) that is read from langfuse:")
	flags.StringVar(&f.config, "config", "", "configuration (default: the nearest rehearse.yaml)")
	f.counted.register(flags)
	underscored(c)
	return c
}

// options reads the flags.
func (f *importFlags) options() (o importer.Options, err error) {
	if f.format != "text" && f.format != "json" {
		return o, usage("--format %q: use text or json", f.format)
	}
	o = importer.Options{From: f.from, FlowID: f.flow}
	if o.Map, err = importer.ReadMap(f.paths); err != nil {
		return o, err
	}
	zone, err := replay.ReadZone(f.counted.timezone)
	if err == nil && f.date != "" {
		if o.Date, err = replay.ReadDay(f.date, zone); err != nil {
			err = usage("--date %w", err)
		}
	}
	o.Gap = f.counted.gap
	return o, errors.Join(err, f.counted.check(), o.Check())
}

// remoteTraces stands for Langfuse in place of a file.
const remoteTraces = "langfuse:"

// inputs are the files, and the traces of Langfuse.
func (f *importFlags) inputs(c *cobra.Command, env *Env, args []string) (inputs []importer.Input, err error) {
	if len(args) == 0 {
		return nil, usage("name at least one file, or langfuse: (see `%s --help`)", c.CommandPath())
	}
	for _, arg := range args {
		if arg != remoteTraces {
			if _, err := os.Stat(arg); err != nil {
				return nil, usage("cannot read the events: %w", err)
			}
			inputs = append(inputs, importer.Files([]string{arg})...)
			continue
		}
		input, err := f.traces(c.Context(), env)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, input)
	}
	return inputs, nil
}

// traces are those of the Langfuse that the environment names.
func (f *importFlags) traces(ctx context.Context, env *Env) (in importer.Input, err error) {
	days, _, err := f.counted.days(f.since, f.until, "--since", "--until")
	if err != nil {
		return in, err
	}
	s, err := env.open(wire.Options{Config: f.config})
	if err != nil {
		return in, outcome(err)
	}
	client, err := s.Langfuse()
	if err = errors.Join(err, s.Close()); err != nil {
		return in, usage("langfuse: %w", err)
	}
	return importer.Traces(ctx, remoteTraces, func(yield func(json.RawMessage, error) bool) {
		for trace, err := range client.Traces(ctx, days.From, days.To) {
			if !yield(trace.Raw, err) || err != nil {
				return
			}
		}
	}), nil
}

// maxNamedRejects is how many rejected rows are named.
const maxNamedRejects = 10

// load loads what is in the inputs, names what cannot be kept, and says what was loaded.
func (f *importFlags) load(ctx context.Context, env *Env, into importer.Store, inputs []importer.Input,
	o importer.Options) error {
	rejected, told := 0, env.Now()
	o.Rejected = func(file string, r replay.Reject) {
		if rejected++; rejected <= maxNamedRejects {
			fmt.Fprintf(env.Stderr, "%s:%d: not an event: %s\n", file, r.Line, r.Reason)
		}
	}
	o.Read = func(events int) {
		if env.Now().Sub(told) > 2*time.Second {
			told = env.Now()
			fmt.Fprintf(env.Stderr, "rehearse: %d events read\n", events)
		}
	}
	r, err := importer.Import(ctx, inputs, into, o)
	if rejected > maxNamedRejects {
		fmt.Fprintf(env.Stderr, "rehearse: %d more rows are no events\n", rejected-maxNamedRejects)
	}
	if err != nil {
		return fmt.Errorf("import events: %w (what was loaded stays; run the command again to load the rest)", err)
	}
	if f.format == "json" {
		if err := json.NewEncoder(env.Stdout).Encode(r); err != nil {
			return err
		}
		return outcome(r.Err())
	}
	if r.Conflicting > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: %d events are there with another content, and stay as they are: %s\n",
			r.Conflicting, strings.Join(r.Conflicts, ", "))
	}
	if _, err := fmt.Fprintf(env.Stdout, "imported %s, %s, %d rejected\n", counted(r.Imported, "event"),
		counted(r.Sessions, "session"), r.Rejected); err != nil {
		return err
	}
	return outcome(r.Err())
}

// counted says how many there are, in figures that programs read, too.
func counted(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
