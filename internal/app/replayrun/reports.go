package replayrun

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// evaluate replays the sessions. Where they are wanted in a file, each is written as it is finished.
func (r *Run) evaluate(ctx context.Context) (*replay.Report, error) {
	if !r.config.Sessions {
		return r.evaluation.Evaluate(ctx)
	}
	file, err := os.OpenFile(filepath.Join(r.Dir, sessionsFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
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

// marks are texts by which the files of a replay are known.
func marks(sessions bool) map[string][]string {
	files := variants.Marks()
	if sessions {
		files[sessionsFile] = []string{`"lanes":`}
	}
	return files
}

// Clear takes the reports of an earlier run out of a folder, so that none is found there when this one comes to no
// report. A file of somebody else that the run would write over is an error; sessions says whether it will write them,
// too. Any other file stays.
func Clear(dir string, sessions bool) error {
	written, all := marks(sessions), marks(true)
	foreign, err := runlog.Unmarked(dir, written)
	if err == nil && foreign != "" {
		err = fmt.Errorf("%s is there and no replay has written it: move it away, or choose another folder with --out",
			filepath.Join(dir, foreign))
	}
	if err != nil {
		return source.Invalid("cannot write the reports: %w", err)
	}
	return runlog.RemoveMarked(dir, all)
}

// Write writes the reports of a replay run into a folder, each whole or not at all.
func Write(dir string, made *replay.Report) error {
	for _, one := range []struct {
		file   string
		render func(io.Writer, *replay.Report) error
	}{
		{"report.json", variants.JSON}, {"report.md", variants.Markdown}, {"report.html", variants.HTML},
	} {
		path := filepath.Join(dir, one.file)
		if err := runlog.WriteFile(path, func(w io.Writer) error { return one.render(w, made) }); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}
