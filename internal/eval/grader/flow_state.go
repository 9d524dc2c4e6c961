package grader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// noFlow is the reason when an agent without a state is graded on its state.
const noFlow = "the agent shows no flow state; ask this of a flow, or of a target that returns its state"

// stateOf decodes the fields of T from the agent's state. A problem says in words why there is no state.
func stateOf[T any](x *runner.Exchange) (shown T, problem string) {
	if err := decodeState(x.Reply.State, &shown); err != nil {
		return shown, err.Error()
	}
	return shown, ""
}

// decodeState reads an agent's state. An error says why there is none.
func decodeState(state json.RawMessage, into any) error {
	raw := bytes.TrimSpace(state)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return errors.New(noFlow)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // so that no number of a fact is rounded
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the agent's state cannot be read: %s", oneLine(err.Error()))
	}
	return nil
}
