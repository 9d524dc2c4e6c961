package evaluation

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// writeRun writes the record of the run without secrets.
func (e *Evaluation) writeRun(h *Completed) error {
	if err := e.mask(h); err != nil {
		return err
	}
	return runlog.WriteRun(h.Dir, h.Run)
}

// mask takes the secrets out of the record of the run, as it is written and as reports show it.
func (e *Evaluation) mask(h *Completed) error {
	data, err := json.Marshal(h.Run)
	if err != nil {
		return err
	}
	var masked result.Run
	if err := json.Unmarshal(e.setup.Secrets().Bytes(data), &masked); err != nil {
		return err
	}
	h.Run = masked
	return nil
}

// logged returns a key of the plan as the log has it: without secrets.
func (e *Evaluation) logged(k result.Key) result.Key {
	secrets := e.setup.Secrets()
	k.Suite, k.TestID, k.Target = secrets.Text(k.Suite), secrets.Text(k.TestID), secrets.Text(k.Target)
	return k
}

// maskedCache keeps verdicts without secrets: a judge quotes what it judges.
type maskedCache struct {
	judge.Cache
	secrets *redact.Redactor
}

// PutVerdict keeps a verdict.
func (c *maskedCache) PutVerdict(ctx context.Context, key string, verdict []byte) error {
	return c.Cache.PutVerdict(ctx, key, c.secrets.Bytes(verdict))
}

// shownPath returns a path as records show it: from the working folder.
func shownPath(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	if here, err := filepath.Abs("."); err == nil {
		if relative, err := filepath.Rel(here, path); err == nil {
			return relative
		}
	}
	return path
}
