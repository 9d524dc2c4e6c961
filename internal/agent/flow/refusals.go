package flow

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// mostRefusals bounds how many refusals are remembered, as callers may send flows of their own with every request.
const mostRefusals = 1000

// refusal is what a model of this program says to a flow in every turn.
type refusal struct{ flow, model, message string }

// refusals are those that the log was told of.
type refusals struct {
	mu   sync.Mutex
	told map[refusal]bool
}

// level is how loudly the log is told of a fault of the memory pipeline. The lexical model refuses what needs language,
// in every turn and without asking anybody: that is worth one warning for each flow. What a provider refuses may be
// this once. The result of each turn says either.
func (r *refusals) level(flow string, err error) slog.Level {
	fault, ok := errors.AsType[*llm.Error](err)
	if !ok || fault.Fault != llm.Refused || fault.Status != 0 {
		return slog.LevelWarn
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	this := refusal{flow, fault.Model, fault.Message}
	if r.told[this] {
		return slog.LevelDebug
	}
	if r.told == nil || len(r.told) >= mostRefusals {
		r.told = map[refusal]bool{}
	}
	r.told[this] = true
	return slog.LevelWarn
}
