package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ErrFormat says that an answer is not one of the protocol.
var ErrFormat = errors.New("not an answer of A2A")

// AgentError is an error that the agent has answered with, or a task that it has failed, rejected or cancelled.
type AgentError struct{ Message string }

func (e *AgentError) Error() string { return e.Message }

// Turn gathers what an agent answers to one message: the answer to the message, those to questions after its task, or
// the events of a stream. The zero value has seen nothing.
type Turn struct {
	contextID string
	message   *string
	task      *task
}

// Accept takes an answer, or one event of a stream. The error is an *AgentError or wraps ErrFormat.
func (t *Turn) Accept(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return fmt.Errorf("%w: not a JSON object", ErrFormat)
	}
	if failed, ok := members["error"]; ok && string(bytes.TrimSpace(failed)) != "null" {
		return agentError(failed)
	}
	if _, rpc := members["jsonrpc"]; rpc {
		result, ok := members["result"]
		if !ok {
			return fmt.Errorf("%w: neither result nor error", ErrFormat)
		}
		data, members = result, nil
		if err := json.Unmarshal(data, &members); err != nil || members == nil {
			return fmt.Errorf("%w: the result is not an object", ErrFormat)
		}
	}
	return t.take(data, members)
}

// take takes a result: version 1.0 wraps it in a member that says what it is, version 0.3 says so in kind. The answer
// to GetTask is a plain task.
func (t *Turn) take(data []byte, members map[string]json.RawMessage) error {
	readers := map[string]func([]byte) error{
		"task": t.takeTask, "message": t.takeMessage, "statusUpdate": t.takeStatus, "artifactUpdate": t.takeArtifact,
		"status-update": t.takeStatus, "artifact-update": t.takeArtifact,
	}
	var kind string
	if raw, ok := members["kind"]; ok && json.Unmarshal(raw, &kind) == nil && readers[kind] != nil {
		return readers[kind](data)
	}
	for _, name := range []string{"task", "message", "statusUpdate", "artifactUpdate"} {
		if inner, ok := members[name]; ok {
			return readers[name](inner)
		}
	}
	switch {
	case members["status"] != nil && members["id"] != nil:
		return t.takeTask(data)
	case members["parts"] != nil:
		return t.takeMessage(data)
	}
	return fmt.Errorf("%w: neither a task nor a message", ErrFormat)
}

// agentError reads an error of JSON-RPC or of google.rpc.Status, or a plain text.
func agentError(data []byte) error {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	var said string
	switch {
	case json.Unmarshal(data, &e) == nil && e.Message != "":
		return &AgentError{fmt.Sprintf("%s (%d)", e.Message, e.Code)}
	case json.Unmarshal(data, &said) == nil:
		return &AgentError{said}
	}
	return &AgentError{string(data)}
}

func (t *Turn) takeMessage(data []byte) error {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%w: the message: %w", ErrFormat, err)
	}
	if t.message = m.text(); t.message == nil {
		return fmt.Errorf("%w: the message has no text", ErrFormat)
	}
	t.know(m.ContextID)
	return nil
}

// know keeps the id of the context, where one is given.
func (t *Turn) know(contextID string) {
	if contextID != "" {
		t.contextID = contextID
	}
}

func (t *Turn) takeTask(data []byte) error {
	var read struct {
		ID        string            `json:"id"`
		ContextID string            `json:"contextId"`
		Status    json.RawMessage   `json:"status"`
		Artifacts []json.RawMessage `json:"artifacts"`
	}
	k := &task{}
	if err := errors.Join(json.Unmarshal(data, &read), json.Unmarshal(data, &k.others)); err != nil {
		return fmt.Errorf("%w: the task: %w", ErrFormat, err)
	}
	k.id = read.ID
	for _, raw := range read.Artifacts {
		a, err := readArtifact(raw)
		if err != nil {
			return err
		}
		k.artifacts = append(k.artifacts, a)
	}
	var err error
	if k.status, err = readStatus(read.Status); err != nil {
		return err
	}
	t.task = k
	t.know(read.ContextID)
	return nil
}

// update is what events of a stream have in common.
type update struct {
	TaskID    string          `json:"taskId"`
	ContextID string          `json:"contextId"`
	Status    json.RawMessage `json:"status"`
	Artifact  json.RawMessage `json:"artifact"`
	Append    bool            `json:"append"`
}

// event reads an event, whose task may not have been seen.
func (t *Turn) event(data []byte) (update, error) {
	var u update
	if err := json.Unmarshal(data, &u); err != nil {
		return u, fmt.Errorf("%w: an event: %w", ErrFormat, err)
	}
	if t.task == nil {
		t.task = &task{id: u.TaskID}
	}
	t.know(u.ContextID)
	return u, nil
}

func (t *Turn) takeStatus(data []byte) error {
	u, err := t.event(data)
	if err == nil {
		t.task.status, err = readStatus(u.Status)
	}
	return err
}

// takeArtifact adds an artifact, replaces the one of its id, or appends to that.
func (t *Turn) takeArtifact(data []byte) error {
	u, err := t.event(data)
	if err != nil {
		return err
	}
	a, err := readArtifact(u.Artifact)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(t.task.artifacts, func(known artifact) bool { return known.ID == a.ID })
	switch {
	case at < 0:
		t.task.artifacts = append(t.task.artifacts, a)
	case u.Append:
		known := &t.task.artifacts[at]
		known.Parts = append(known.Parts, a.Parts...)
		known.raw["parts"], err = json.Marshal(known.Parts)
	default:
		t.task.artifacts[at] = a
	}
	return err
}
