package api

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// beginning is the body of POST /api/v1/conversations. Only flow_id is required. Fields of an execution context have
// the same meaning.
type beginning struct {
	FlowID         string          `json:"flow_id"`
	ConversationID string          `json:"conversation_id"`
	TestCaseID     string          `json:"test_case_id"`
	CurrentNodeID  string          `json:"current_node_id"`
	History        json.RawMessage `json:"history"`
	Memory         json.RawMessage `json:"memory"`
	MemoryPipeline json.RawMessage `json:"memory_pipeline"`
	KnowledgeBases json.RawMessage `json:"knowledge_bases"`
	Limits         json.RawMessage `json:"limits"`
}

// newConversation makes a conversation from a body, and does not store it.
func (s *Flows) newConversation(body []byte, ids turnIDs) (*conversation, error) {
	var b beginning
	if err := decodeStrictly(body, &b); err != nil {
		return nil, err
	}
	if b.FlowID == "" {
		return nil, newProblem(http.StatusBadRequest, codeInvalid, "flow_id is missing",
			"GET /api/v1/flows lists the flows").at("/flow_id")
	}
	f, err := s.Library.Find(b.FlowID)
	if err != nil {
		return nil, problemOf(err).at("/flow_id")
	}
	seed, err := b.seed()
	if err != nil {
		return nil, err
	}
	seed.TestCaseID = cmp.Or(b.TestCaseID, ids.testCase)
	seed.ConversationID = cmp.Or(b.ConversationID, ids.conversation, rand.Text())
	if id := seed.ConversationID; clean(id) != id || len(id) > replay.MaxName || id == "." || id == ".." {
		return nil, newProblem(http.StatusBadRequest, codeInvalid, "the conversation_id cannot be used",
			fmt.Sprintf("use at most %d printable characters of %d bytes, and neither . nor ..", maxID,
				replay.MaxName)).at("/conversation_id")
	}
	session, err := s.Engine.Begin(f, seed)
	if err != nil {
		return nil, err
	}
	if at, _ := f.Node(session.Context().CurrentNodeID); at.Ends() {
		return nil, &flow.Error{
			Fault: flow.Over, Pointer: "/current_node_id", Message: "the flow ends there",
			Hint: "begin at a node that goes on",
		}
	}
	return &conversation{id: seed.ConversationID, ref: b.FlowID, flow: f, seed: seed, session: session}, nil
}

// seed reads the beginning of a conversation by the rules of an execution context.
func (b *beginning) seed() (flow.Seed, error) {
	parts := map[string]json.RawMessage{
		"flow": json.RawMessage(`{"ref":"x"}`), "current_node_id": json.RawMessage(`"x"`),
		"latest_user_message": json.RawMessage(`"x"`), "history": json.RawMessage(`[]`),
		"memory": json.RawMessage(`{"turn_index":0}`),
	}
	for name, part := range map[string]json.RawMessage{
		"history": b.History, "memory": b.Memory, "memory_pipeline": b.MemoryPipeline,
		"knowledge_bases": b.KnowledgeBases, "limits": b.Limits,
	} {
		if part != nil {
			parts[name] = part
		}
	}
	data, err := json.Marshal(parts)
	if err != nil {
		return flow.Seed{}, err
	}
	c, err := flow.ReadContext(data)
	if err != nil {
		return flow.Seed{}, err
	}
	return flow.Seed{
		Node: b.CurrentNodeID, History: c.History, Memory: c.Memory, Pipeline: c.MemoryPipeline,
		KnowledgeBases: c.KnowledgeBases, Limits: c.Limits,
	}, nil
}

// decodeStrictly reads one JSON object and refuses unknown fields, and text in another encoding than UTF-8, which the
// decoder would silently repair. The error is a *Problem.
func decodeStrictly(body []byte, into any) error {
	if !utf8.Valid(body) {
		return newProblem(http.StatusBadRequest, codeInvalid, "the body is not UTF-8", "send text as UTF-8").at("")
	}
	if p := keyProblem(source.CheckKeys(body, reflect.TypeOf(into)), codeInvalid); p != nil {
		return p
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields() // of what reads itself
	err := decoder.Decode(into)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("there is more text after the object")
		}
	}
	if err == nil {
		return nil
	}
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return newProblem(http.StatusBadRequest, codeInvalid, "a value of the kind "+typed.Value+" cannot stand here",
			"send "+source.KindOf(typed.Type)).
			at(pointerOf(typed.Field))
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		name = clip(strings.Trim(name, `"`), maxID)
		return newProblem(http.StatusBadRequest, codeInvalid, fmt.Sprintf("there is no field %q", name),
			"leave it out").at(pointerOf(name))
	}
	return newProblem(http.StatusBadRequest, codeInvalid, "the body is not JSON: "+clip(err.Error(), maxDetail),
		"send one JSON object").at("")
}

// pointerOf writes the name of a member as a JSON pointer; the empty name is the whole body.
func pointerOf(name string) string {
	if name == "" {
		return ""
	}
	return source.Pointer(name)
}

// keyProblem is the problem of a key that cannot be meant; nil for any other error.
func keyProblem(err error, code string) *Problem {
	wrong, ok := errors.AsType[*source.KeyError](err)
	switch {
	case !ok:
		return nil
	case wrong.Twice:
		return newProblem(http.StatusBadRequest, code,
			fmt.Sprintf("the field %q is written twice", clip(wrong.Name, maxID)), "write it once").at(wrong.Pointer)
	}
	return newProblem(http.StatusBadRequest, code, fmt.Sprintf("there is no field %q", clip(wrong.Name, maxID)),
		"leave it out").at(wrong.Pointer)
}
