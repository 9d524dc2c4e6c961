package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrFormat says that an answer is not one of the protocol.
var ErrFormat = errors.New("not an answer of A2A")

// AgentError is an error that the agent has answered with, or a task that it has failed, rejected or cancelled.
type AgentError struct{ Message string }

func (e *AgentError) Error() string { return e.Message }

// Turn gathers what an agent answers to one message: the answer to the message, those to questions after its task, or the events of a stream. The
// zero value has seen nothing.
type Turn struct {
	contextID string
	message   *string
	task      *task
}

// task is a task as far as it is known. Others has the members that are not looked at.
type task struct {
	id        string
	status    status
	artifacts []artifact
	others    map[string]json.RawMessage
}

type status struct {
	State   string   `json:"state"`
	Message *message `json:"message"`
	raw     json.RawMessage
}

// message is a message, whose parts version 0.3 calls content over HTTP+JSON.
type message struct {
	Role      string `json:"role"`
	ContextID string `json:"contextId"`
	Parts     []part `json:"parts"`
	Content   []part `json:"content"`
}

// text returns what the message says; nil where no part is a text, and of the user's own message, which is no reply.
func (m *message) text() *string {
	if role := strings.ToLower(m.Role); role == "user" || role == "role_user" {
		return nil
	}
	if m.Parts == nil {
		return textOf(m.Content)
	}
	return textOf(m.Parts)
}

// part is a part of a message or an artifact; one that is not text has none.
type part struct {
	Text *string `json:"text"`
}

type artifact struct {
	ID    string            `json:"artifactId"`
	Parts []json.RawMessage `json:"parts"`
	raw   map[string]json.RawMessage
}

// Take takes an answer, or one event of a stream. The error is an *AgentError or wraps ErrFormat.
func (t *Turn) Take(data []byte) error {
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

// take takes a result: version 1.0 wraps it in a member that says what it is, version 0.3 says so in kind. The answer to GetTask is a plain task.
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

func readStatus(data []byte) (status, error) {
	s := status{raw: data}
	if err := json.Unmarshal(data, &s); err != nil || s.State == "" {
		return s, fmt.Errorf("%w: a task without status.state", ErrFormat)
	}
	return s, nil
}

func readArtifact(data []byte) (artifact, error) {
	var a artifact
	if err := errors.Join(json.Unmarshal(data, &a), json.Unmarshal(data, &a.raw)); err != nil {
		return a, fmt.Errorf("%w: an artifact: %w", ErrFormat, err)
	}
	if a.raw == nil {
		return a, fmt.Errorf("%w: an artifact that is null", ErrFormat)
	}
	return a, nil
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

// ContextID returns the agent's id of the conversation; empty if it has given none.
func (t *Turn) ContextID() string { return t.contextID }

// TaskID returns the id of the task; empty without one.
func (t *Turn) TaskID() string {
	if t.task == nil {
		return ""
	}
	return t.task.id
}

// State returns the state of the task as the agent writes it; empty without a task.
func (t *Turn) State() string {
	if t.task == nil {
		return ""
	}
	return t.task.status.State
}

// plainState returns the state as version 0.3 writes it.
func (t *Turn) plainState() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(t.State(), "TASK_STATE_")), "_", "-")
}

// AsksForInput reports whether the task waits for the user, so that the next message belongs to it.
func (t *Turn) AsksForInput() bool {
	state := t.plainState()
	return state == "input-required" || state == "auth-required"
}

// AtRest reports whether nothing more is to come. The error is an *AgentError for a task that did not succeed.
func (t *Turn) AtRest() (bool, error) {
	switch state := t.plainState(); state {
	case "completed", "input-required", "auth-required":
		return true, nil
	case "failed", "rejected", "canceled", "cancelled":
		why := ""
		if m := t.task.status.Message; m != nil {
			if said := m.text(); said != nil && *said != "" {
				why = ": " + *said
			}
		}
		return true, &AgentError{"the task is " + state + why}
	}
	return t.message != nil, nil
}

// Reply returns the text of the message, else that of the task's artifacts, else that of its status. ok is false where there is none.
func (t *Turn) Reply() (text string, ok bool) {
	if t.message != nil {
		return *t.message, true
	}
	if t.task == nil {
		return "", false
	}
	var texts []string
	for _, a := range t.task.artifacts {
		parts := make([]part, len(a.Parts))
		for i, raw := range a.Parts {
			_ = json.Unmarshal(raw, &parts[i]) // what is no object is no text
		}
		if said := textOf(parts); said != nil {
			texts = append(texts, *said)
		}
	}
	if texts != nil {
		return strings.Join(texts, "\n"), true
	}
	if m := t.task.status.Message; m != nil {
		if said := m.text(); said != nil {
			return *said, true
		}
	}
	return "", false
}

// Task returns the task as JSON, with what events have changed of it; nil without one.
func (t *Turn) Task() (json.RawMessage, error) {
	if t.task == nil {
		return nil, nil
	}
	whole := map[string]any{}
	for name, value := range t.task.others {
		whole[name] = value
	}
	if t.task.id != "" {
		whole["id"] = t.task.id
	}
	if t.contextID != "" {
		whole["contextId"] = t.contextID
	}
	whole["status"] = t.task.status.raw
	if t.task.artifacts != nil {
		artifacts := make([]map[string]json.RawMessage, 0, len(t.task.artifacts))
		for _, a := range t.task.artifacts {
			artifacts = append(artifacts, a.raw)
		}
		whole["artifacts"] = artifacts
	}
	return json.Marshal(whole)
}

// textOf joins the texts of parts; nil where none is a text.
func textOf(parts []part) *string {
	var said *string
	for _, p := range parts {
		if p.Text == nil {
			continue
		}
		if said == nil {
			said = new(string)
		}
		*said += *p.Text
	}
	return said
}
