package evaluation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"

	"rehearse/internal/replay"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// replayAgents opens what a replay run names.
type replayAgents struct {
	variants *setup.Variants
	mode     replay.Mode
}

// open opens the variant, or the target, of an id.
func (a *replayAgents) open(ctx context.Context, id string) (*replay.Opened, error) {
	name, ok := replay.TargetNamed(id)
	if !ok {
		return a.variants.Open(ctx, id)
	}
	at := a.variants.Setup
	o, definition, err := at.ReplayTarget(ctx, name)
	if err != nil {
		return nil, err
	}
	if a.mode == replay.Forced && !o.Resumes {
		return nil, source.Invalid("--mode forced puts an agent into the middle of a conversation, and target %s has no place for what was said before: "+
			"write {{messages}}, {{history}} or {{messages_parts}} into its request, or use another mode", name)
	}
	sum, err := definitionSum(at, definition)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", name, err)
	}
	o.Settings = map[string]any{"target": name, "kind": o.Kind, "definition": sum}
	return o, nil
}

// definitionSum is a hash of a definition and of the files that it names. It holds no secret, nor any path but those that the author wrote.
func definitionSum(at *setup.Setup, definition any) (string, error) {
	data, err := json.Marshal(definition)
	if err != nil {
		return "", err
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return "", err
	}
	dir := "."
	if path := at.Config().Path; path != "" {
		dir = filepath.Dir(path)
	}
	c := newContents(at.Files)
	files := c.defined(plain, dir)
	if data, err = json.Marshal([]any{c.withoutPaths(plain, dir), files}); err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(at.Secrets().Bytes(data))
	return short(h), nil
}
