package flow_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/testkit/schematest"
)

// nodes is a node flow with every key, machineFlow such a state machine.
const (
	nodes = `
id: shop
version: 2
start: begin
system_prompt: Be kind.
globals: [{id: help, label: Help, next: "@start", when: asks for help, examples: [help me], if: {type: exists, field: name}}]
tools: {find: {url: "https://a.example/{x}", method: GET, headers: {K: "${KEY}"}, timeout: 5s, description: finds, parameters: {type: object}}}
apis: {order: {url: "https://a.example/orders", method: POST, timeout: 3, save: {number: order.id}}}
nodes:
  - {id: begin, type: start, next: [ask]}
  - id: ask
    type: conversation
    prompt: What is it?
    tools: [find]
    globals: true
    no_match: {max: 2, next: bye, prompt: Ask again}
    options:
      - {id: a, label: A, next: bye, when: says a, examples: [a], if: {type: and, conditions: [{type: equals, field: x, operator: ne, value: [1, two], case_sensitive: true}, {type: not, condition: {type: matches, field: y, pattern: "^a"}}]}}
      - {id: 2, label: B, next: null}
      - {id: c, label: C, next: other}
  - {id: other, type: call, flow: sub, next: bye}
  - {id: bye, type: stop, prompt: Bye}
`
	machineFlow = `
flow:
  name: hotel
  version: 1
  description: books
  initial_state: city
  tools: {find: {url: "https://a.example/"}}
  apis: {book: {url: "https://a.example/book", save: {id: id}}}
  states:
    city:
      type: data_collection
      field: town
      tools: [find]
      message: {text: Where?, quick_replies: [Ghent, {label: Paris, value: p}], buttons: [{title: Rome, payload: r}]}
      validation: {required: true, type: string, min_length: 2, max_length: "50", pattern: "[a-z]", error_message: Again?, min: 1, max: 9}
      actions: [{type: set_field, target: a, value: 1}, {type: call_api, name: book}, {type: validate, field: b, rules: {required: true}}]
      metadata: {progress: 0.5, skip_conditions: [{operator: ">=", field: n, value: 3}]}
    sure: {type: confirmation, message: Sure?}
    end: {type: end, message: Bye}
  transitions:
    - {from: city, to: sure, condition: always, priority: 2, label: L, when: W, examples: e, id: 1}
    - {from: sure, to: end, condition: {type: model}, actions: [{type: log_event, event: done, params: {a: 1}}]}
    - {from: sure, to: city, condition: {type: or, conditions: {type: contains, values: [no, nope]}}}
`
)

// TestSchemaAcceptsFlows checks that the schema accepts what Load accepts: the flows of this repository, one of each
// kind with every key, and mutations of these.
func TestSchemaAcceptsFlows(t *testing.T) {
	load := func(data []byte) error {
		_, err := flow.Load("f.yaml", data)
		if err != nil && strings.Contains(err.Error(), "which there is not") { // it calls another flow
			return nil
		}
		return err
	}
	schematest.Compare(t, flow.Schema(), load, 0.75, nodes, machineFlow)
	schematest.CompareFiles(t, flow.Schema(), load, 8, "../../../examples", "../../../testdata", "../../../bench", ".")
}
