package evaluation

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// keepArtifacts prepares to keep artifacts, where the spec asks for them and the conversations are held here. What an
// earlier part of the run has kept counts. An error says that this is not known.
func (e *Evaluation) keepArtifacts(h *Completed) error {
	if !e.spec.Artifacts || e.Fleet != nil || e.regraded != nil {
		return nil
	}
	folder := artifact.Folder{Dir: filepath.Join(h.Dir, runlog.ArtifactDir)}
	e.artifacts = artifact.New(folder, artifact.MaxRun, e.warn)
	return folder.Each(e.artifacts.Before)
}

// collecting holds a conversation of a suite and keeps what is gathered of it. The bytes are kept when the record that
// names them comes back.
func (e *Evaluation) collecting(ctx context.Context, suite string,
	hold func(context.Context) (*result.Test, error)) (*result.Test, error) {
	if e.artifacts == nil {
		return hold(ctx)
	}
	mask, keeping := e.setups[suite].Private(), context.WithoutCancel(ctx)
	var kept []result.Artifact
	c := collect.New(func(p collect.Piece) { kept = append(kept, e.artifacts.Store(keeping, p, mask.Bytes)) })
	record, err := hold(c.In(ctx))
	if record == nil || err != nil {
		c.Drop()
		return record, err
	}
	c.Close()
	slices.SortStableFunc(kept, inOrder)
	record.Artifacts = kept
	return record, nil
}

// inOrder puts artifacts into the order of the conversation: what came before its turns, the turns, and the judging of
// the whole. A turn is judged while the next one is held.
func inOrder(a, b result.Artifact) int {
	when := func(x result.Artifact) (turn, step int) {
		judged := strings.HasPrefix(x.Kind, "judge_")
		switch {
		case x.Turn != nil && judged:
			return *x.Turn, 1
		case x.Turn != nil:
			return *x.Turn, 0
		case judged:
			return 1 << 30, 1
		}
		return 0, 0
	}
	turnA, stepA := when(a)
	turnB, stepB := when(b)
	return cmp.Or(cmp.Compare(turnA, turnB), cmp.Compare(stepA, stepB))
}
