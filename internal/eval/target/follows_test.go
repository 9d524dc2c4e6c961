package target

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// Agents that tell a state may name the flow that they follow; an http target with a flow and no `answer` is of kind
// execute.
func TestFollows(t *testing.T) {
	for yaml, want := range map[string]struct {
		kind    string
		follows config.Follows
		// takes is true where a flow would tell more.
		takes bool
		fault string
	}{
		`{url: "http://x", answer: {node: $.n}, flow: f.yaml, flow_id: a}`: {
			kind: "http", follows: config.Follows{Path: "f.yaml", ID: "a"},
		},
		`{url: "http://x", answer: $.text, state_of: state, flow: f.yaml}`: {
			kind: "http", follows: config.Follows{Path: "f.yaml"},
		},
		`{url: "http://x", preset: rasa, state_of: state, flow: f.yaml}`: {
			kind: "http", follows: config.Follows{Path: "f.yaml"},
		},
		`{url: "ws://x", answer: {node: $.n}, flow: f.yaml}`: {
			kind: "websocket", follows: config.Follows{Path: "f.yaml"},
		},
		`{kind: command, command: a, answer: {node: $.n}, flow: f.yaml}`: {
			kind: "command", follows: config.Follows{Path: "f.yaml"},
		},
		`{kind: a2a, url: "http://x", state_of: state, flow: f.yaml}`: {
			kind: "a2a", follows: config.Follows{Path: "f.yaml"},
		},
		`{url: "http://x", answer: {node: $.n}}`:                                 {kind: "http", takes: true},
		`{url: "http://x"}`:                                                      {kind: "http"},
		`{url: "http://x/execute", flow: f.yaml}`:                                {kind: "execute"},
		`{url: "http://x/execute", flow_id: a}`:                                  {kind: "execute"},
		`{kind: flow, flow: f.yaml, state_of: state}`:                            {kind: "flow"},
		`{url: "http://x", answer: {end: $.e}, flow: f.yaml}`:                    {fault: "it tells none"},
		`{kind: a2a, url: "http://x", flow: f.yaml}`:                             {fault: "it tells none"},
		`{kind: command, command: a, answer: {node: $.n}, flow_id: a}`:           {fault: "`flow` names none"},
		`{kind: command, command: a, process: turn, state_of: state, flow: [a]}`: {fault: "flow"},
	} {
		f, _, err := load(t, Kinds(), "targets: {a: "+yaml+"}")
		switch {
		case want.fault != "":
			if err == nil || !strings.Contains(err.Error(), want.fault) {
				t.Errorf("%s: %v, want a fault with %q", yaml, err, want.fault)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", yaml, err)
			continue
		}
		got := f.Targets["a"]
		follows := config.Follows{}
		if got.Follows != nil {
			follows = *got.Follows
		}
		if follows.Path != "" {
			follows.Path = filepath.Base(follows.Path)
		}
		if got.Kind != want.kind || follows != want.follows || AcceptsFlow(got) != want.takes {
			t.Errorf("%s is %s and follows %+v, takes a flow: %v", yaml, got.Kind, follows, AcceptsFlow(got))
		}
	}
}
