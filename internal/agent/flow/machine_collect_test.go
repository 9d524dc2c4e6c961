package flow_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// TestCollectedAsWritten proves that a field holds what was said last, also when only the case differs, and that "nan"
// is a word like others.
func TestCollectedAsWritten(t *testing.T) {
	flows, err := flow.Load("names.yaml", []byte(`
flow:
  name: names
  initial_state: name
  states:
    name: {type: data_collection, message: Your name?}
    bye: {type: end, message: Goodbye.}
  transitions:
    - {from: name, to: bye, condition: {type: equals, value: Nan}}
`))
	if err != nil {
		t.Fatal(err)
	}
	session, err := flow.New(flow.Config{Model: llm.Lexical{}}).Begin(flows[0], flow.Seed{})
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"ada", "Ada", "ADA", "nan"} {
		r, err := session.Send(t.Context(), said, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Memory.Facts) != 1 || r.Memory.Facts[0].Value != said {
			t.Errorf("after %q: %+v", said, r.Memory.Facts)
		}
	}
	if !session.Completed() {
		t.Error(`"nan" does not equal "Nan"`)
	}
}
