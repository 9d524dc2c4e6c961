package replayrun

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"rehearse/internal/replay"
	"rehearse/internal/report/lanes"
	"rehearse/internal/runlog"
	"rehearse/internal/source"
)

// evaluate replays the sessions. Where they are wanted in a file, each is written as it is finished.
func (r *Run) evaluate(ctx context.Context) (*replay.Report, error) {
	if !r.config.Sessions {
		return r.evaluation.Evaluate(ctx)
	}
	file, err := os.Create(filepath.Join(r.Dir, sessionsFile))
	if err != nil {
		return nil, source.Invalid("cannot write --per_session: %w", err)
	}
	buffered := bufio.NewWriter(file)
	rows := json.NewEncoder(buffered)
	rows.SetEscapeHTML(false)
	r.evaluation.Each = func(p *replay.Pair) error { return rows.Encode(p) }
	made, err := r.evaluation.Evaluate(ctx)
	if closing := errors.Join(buffered.Flush(), file.Close()); err == nil {
		err = closing
	}
	return made, err
}

// sessionsFile has the sessions of a run beside its reports.
const sessionsFile = "sessions.jsonl"

// Clear takes the reports of an earlier run out of a folder, so that none is found there when this one comes to no report.
func Clear(dir string) error {
	for _, file := range []string{"report.json", "report.md", "report.html", sessionsFile} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return source.Invalid("cannot take away the report of an earlier run: %w", err)
		}
	}
	return nil
}

// Write writes the reports of a replay run into a folder, each whole or not at all.
func Write(dir string, made *replay.Report) error {
	for _, one := range []struct {
		file   string
		render func(io.Writer, *replay.Report) error
	}{
		{"report.json", lanes.JSON}, {"report.md", lanes.Markdown}, {"report.html", lanes.HTML},
	} {
		path := filepath.Join(dir, one.file)
		if err := runlog.WriteFile(path, func(w io.Writer) error { return one.render(w, made) }); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}
