package a2a

import (
	"encoding/json"
	"strings"
)

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

// NeedsInput reports whether the task waits for the user, so that the next message belongs to it.
func (t *Turn) NeedsInput() bool {
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

// Reply returns the text of the message, else that of the task's artifacts, else that of its status. ok is false where
// there is none.
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
