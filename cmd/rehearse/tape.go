package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
)

// tape is the recording that a run writes or plays, if any.
type tape struct {
	file     *os.File
	recorder *llm.Recorder
	playing  *llm.Cassette
}

func openTape(f *runFlags) (*tape, error) {
	t := &tape{}
	switch {
	case f.replay != "":
		data, err := os.ReadFile(f.replay)
		if err != nil {
			return nil, usage("cannot replay: %w", err)
		}
		if t.playing, err = llm.Play(f.replay, data); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	case f.record != "" && !f.dryRun:
		mode := os.O_CREATE | os.O_WRONLY | os.O_EXCL
		if f.resume != "" { // the recording of a resumed run goes on too
			mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		}
		file, err := os.OpenFile(f.record, mode, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil, usage("the recording %s exists already: name another file, or remove it", f.record)
		}
		if err != nil {
			return nil, usage("cannot record: %w", err)
		}
		t.file, t.recorder = file, llm.NewRecorder(file)
	}
	return t, nil
}

// off is true when nothing is recorded or played; only then may remembered verdicts stand in for calls.
func (t *tape) off() bool { return t.file == nil && t.playing == nil }

func (t *tape) record(name string, m llm.Model) llm.Model {
	if t.file == nil {
		return m
	}
	return t.recorder.Record(name, m)
}

func (t *tape) play(name string) llm.Model { return t.playing.As(name) }

func (t *tape) close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// discreet is a model whose replies never repeat a secret, whatever the other side echoes.
// It stands before everything that keeps or passes on what was said.
type discreet struct {
	llm.Model
	secrets *redact.Redactor
}

// Generate asks the model and replaces secrets in the reply.
func (m *discreet) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	reply, err := m.Model.Generate(ctx, r)
	reply.Text = m.secrets.Text(reply.Text)
	for i := range reply.ToolCalls {
		call := &reply.ToolCalls[i]
		call.Args, call.Result = m.secrets.Bytes(call.Args), m.secrets.Bytes(call.Result)
	}
	if fault, ok := errors.AsType[*llm.Error](err); ok {
		clean := *fault
		clean.Message = m.secrets.Text(clean.Message)
		return reply, &clean
	}
	return reply, err
}

// withParameters adds a model's configured parameters to every request.
type withParameters struct {
	llm.Model
	parameters llm.Request
}

// Generate asks the model with the parameters that the request leaves open.
func (m *withParameters) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	if r.Temperature == nil {
		r.Temperature = m.parameters.Temperature
	}
	if r.TopP == nil {
		r.TopP = m.parameters.TopP
	}
	if r.Seed == nil {
		r.Seed = m.parameters.Seed
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = m.parameters.MaxTokens
	}
	return m.Model.Generate(ctx, r)
}

func describeParameters(r llm.Request) string {
	data, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	return string(data)
}

// contentHash tells versions of a script apart in cache keys.
func contentHash(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// modelError gives an error of opening a model its exit code: a missing key keeps a run from happening, the rest is wrong input.
func modelError(err error) error {
	var fault *llm.Error
	if errors.As(err, &fault) && fault.Fault == llm.Unauthorized {
		return notRun(err)
	}
	return &exitError{exitUsage, fmt.Errorf("open a model: %w", err)}
}
