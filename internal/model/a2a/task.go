package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

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
