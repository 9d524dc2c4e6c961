package replayrun

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Definitions are the variants and the prompts that a replay run names, as data: whoever holds its sessions needs no
// store.
type Definitions struct {
	Variants map[string]replay.Variant       `json:"variants,omitempty"`
	Prompts  map[string]replay.PromptVersion `json:"prompts,omitempty"`
}

var _ replay.Variants = Definitions{}

// Variant implements replay.Variants.
func (d Definitions) Variant(_ context.Context, id string) (replay.Variant, error) {
	v, ok := d.Variants[id]
	if !ok {
		return v, fmt.Errorf("variant %s: %w", id, replay.ErrUnknown)
	}
	return v, nil
}

// Prompt implements replay.Variants.
func (d Definitions) Prompt(_ context.Context, id string) (replay.PromptVersion, error) {
	p, ok := d.Prompts[id]
	if !ok {
		return p, fmt.Errorf("prompt version %s: %w", id, replay.ErrUnknown)
	}
	return p, nil
}

// RecordingVariants are the variants of a store. They note what they were asked for. Use NewNoting.
type RecordingVariants struct {
	store replay.Variants
	mu    sync.Mutex
	noted Definitions
}

var _ replay.Variants = (*RecordingVariants)(nil)

// NewRecordingVariants returns the variants of a store.
func NewRecordingVariants(store replay.Variants) *RecordingVariants {
	return &RecordingVariants{
		store: store, noted: Definitions{map[string]replay.Variant{}, map[string]replay.PromptVersion{}},
	}
}

// UnknownError says that a store has no such variant or prompt version.
type UnknownError struct {
	// What names it.
	What string
	error
}

func (e *UnknownError) Unwrap() error { return e.error }

// known makes the error of what a store does not have an *UnknownError.
func known(what string, err error) error {
	if errors.Is(err, replay.ErrUnknown) {
		return &UnknownError{what, err}
	}
	return err
}

// Variant implements replay.Variants.
func (n *RecordingVariants) Variant(ctx context.Context, id string) (replay.Variant, error) {
	v, err := n.store.Variant(ctx, id)
	if err == nil {
		n.mu.Lock()
		n.noted.Variants[id] = v
		n.mu.Unlock()
	}
	return v, known("the variant "+id, err)
}

// Prompt implements replay.Variants.
func (n *RecordingVariants) Prompt(ctx context.Context, id string) (replay.PromptVersion, error) {
	p, err := n.store.Prompt(ctx, id)
	if err == nil {
		n.mu.Lock()
		n.noted.Prompts[id] = p
		n.mu.Unlock()
	}
	return p, known("the prompt version "+id, err)
}

// Noted returns what was asked for so far. Do not change it.
func (n *RecordingVariants) Noted() Definitions {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.noted
}
