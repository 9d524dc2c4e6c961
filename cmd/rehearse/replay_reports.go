package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rehearse/internal/replay"
	"rehearse/internal/report/lanes"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/setup"
)

// replayReports is the folder of a run's reports.
type replayReports struct {
	dir      string
	sessions *os.File
	buffered *bufio.Writer
	rows     *json.Encoder
}

// openReports makes the folder, and opens the file of all conversations where it is wanted.
func (f *replayFlags) openReports(id string) (*replayReports, error) {
	r := &replayReports{dir: f.out}
	if r.dir == "" {
		r.dir = filepath.Join(setup.StateDir, "replays", id)
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, usage("cannot make the folder of the reports: %w", err)
	}
	if !f.perSession {
		return r, nil
	}
	var err error
	if r.sessions, err = os.Create(filepath.Join(r.dir, "sessions.jsonl")); err != nil {
		return nil, usage("cannot write --per_session: %w", err)
	}
	r.buffered = bufio.NewWriter(r.sessions)
	r.rows = json.NewEncoder(r.buffered)
	r.rows.SetEscapeHTML(false)
	return r, nil
}

func (r *replayReports) each(p *replay.Pair) error {
	if r.rows == nil {
		return nil
	}
	return r.rows.Encode(p)
}

func (r *replayReports) close() error {
	if r.sessions == nil {
		return nil
	}
	return errors.Join(r.buffered.Flush(), r.sessions.Close())
}

// conclude writes the reports, prints the figures and says how the gate decided.
func (f *replayFlags) conclude(env *Env, r *replay.Report, dir string) error {
	for name, write := range map[string]func(io.Writer, *replay.Report) error{
		"report.json": lanes.JSON, "report.md": lanes.Markdown, "report.html": lanes.HTML,
	} {
		if err := runlog.WriteFile(filepath.Join(dir, name), func(w io.Writer) error { return write(w, r) }); err != nil {
			return outcome(err)
		}
	}
	show := lanes.Text
	if f.format == "json" {
		show = lanes.JSON
	}
	if err := show(env.Stdout, r); err != nil {
		return outcome(err)
	}
	fmt.Fprintf(env.Stderr, "rehearse: see %s\n", filepath.Join(dir, "report.html"))
	if r.Passed != nil && !*r.Passed {
		return &exitError{code: result.ExitFailed}
	}
	return nil
}
