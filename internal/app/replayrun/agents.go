package replayrun

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
)

// opener opens what a replay run names.
type opener struct {
	variants *Variants
	mode     replay.Mode
}

// open opens the variant, or the target, of an id.
func (a *opener) open(ctx context.Context, id string) (*replay.Opened, error) {
	name, ok := replay.TargetNamed(id)
	if !ok {
		return a.variants.Open(ctx, id)
	}
	at := a.variants.Setup
	o, definition, err := openTarget(ctx, at, name)
	if err != nil {
		return nil, err
	}
	if a.mode == replay.Forced && !o.Resumes {
		return nil, source.Invalid("--mode forced puts an agent into the middle of a conversation, "+
			"and target %s has no place for what was said before: "+
			"write {{messages}}, {{history}} or {{messages_parts}} into its request, or use another mode", name)
	}
	sum, err := definitionSum(at, definition)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", name, err)
	}
	o.Settings = map[string]any{"target": name, "kind": o.Kind, "definition": sum}
	return o, nil
}

// definitionSum is the fingerprint of a definition of a configuration.
func definitionSum(at *wire.Setup, definition any) (string, error) {
	dir := "."
	if path := at.Config().Path; path != "" {
		dir = filepath.Dir(path)
	}
	return fingerprint.New(at.Files).Definition(at.Secrets(), definition, dir)
}
