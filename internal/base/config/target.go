package config

import (
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
)

// Target is a named system under test.
type Target struct {
	// Kind is the name of its kind.
	Kind string
	// Model is the model that the target is, or that it asks; it has no provider in kinds without a model of their own.
	Model Model
	// Options are the other settings. Their type is the kind's.
	Options any
	// Tools are what the agent is offered over MCP; none for an agent that has its tools elsewhere.
	Tools tool.Set `json:",omitempty"`
	Completion
	// Follows is the flow that an agent of someone else's walks along; nil where nothing says so.
	Follows *Follows `json:",omitempty"`
}

// Follows names a flow that an agent is said to follow: its states are nodes of that flow. Path is a file of flows or a
// folder of them, ID chooses one; it may be empty when there is only one.
type Follows struct{ Path, ID string }

// Completion says when a replayed conversation is complete, and what its state and data are. All are expressions; empty
// ones say nothing.
type Completion struct {
	// When and Judge say when: by an expression, or by a criterion that a judge decides. At most one of them is set.
	When, Judge     string
	StateOf, DataOf string
}

// Kinds reads targets. Package target has the kinds.
type Kinds interface {
	// Read reads a target: a mapping with a kind, or a short form. Problems go to n.
	Read(n source.Node, at Location) Target
}

// Location is the configuration in which a target stands. It reads what targets of several kinds have. The zero value
// is that of a target that no configuration describes: paths begin at the working folder, and there are no models.
type Location struct {
	file *File
	// Files are where its paths are read from.
	Files source.Files
	// MCP is true of a target with tools over MCP: its texts may hold {{mcp_url}}.
	MCP bool
}

// Model reads {provider, model, …}, PROVIDER:MODEL or the name of a model.
func (p Location) Model(n source.Node) Model { return p.file.model(n) }

// Addressed reads PROVIDER:MODEL or PROVIDER:MODEL@URL, or the name of a model.
func (p Location) Addressed(n source.Node) Model {
	short, address := CutAddress(n.Scalar)
	m := p.file.Model(n, short)
	if address == "" {
		return m
	}
	if _, ok := p.file.Models[short]; ok {
		n.Report("write `base_url:` into the model", "the model %s is described here: it has its address there", short)
		return m
	}
	m, err := m.Named(address)
	if err != nil {
		n.Report("write PROVIDER:MODEL@URL, such as openai:agent@http://127.0.0.1:8000/v1",
			"the address behind @: %v", err)
	}
	return m
}

// ModelName checks the name of a model. It resolves a script's path against the configuration's folder.
func (p Location) ModelName(n source.Node) string {
	m := p.file.Model(n, n.Text())
	if _, named := p.file.Models[n.Scalar]; named {
		return n.Scalar
	}
	if m.Provider == "scripted" || m.Provider == "cassette" {
		return m.Provider + ":" + p.Path(m.Name)
	}
	return n.Scalar
}

// Path resolves a path against the configuration's folder. Empty stays empty.
func (p Location) Path(name string) string {
	switch {
	case name == "" || filepath.IsAbs(name):
		return name
	case p.file == nil:
		return filepath.Clean(name)
	}
	return filepath.Join(p.file.Dir, name)
}
