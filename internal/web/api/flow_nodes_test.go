package api

import (
	"reflect"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestFlowNodes holds that a replay knows the same of a flow, whether it is here or a server tells of it.
func TestFlowNodes(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	for _, id := range []string{"desk", "rsvp"} {
		f, err := d.flows.Library.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		_, answer := d.do("GET", "/api/v1/flows/"+id, "")
		told, err := replay.ReadNodes([]byte(answer))
		if err != nil || !reflect.DeepEqual(told, replay.NodesOf(f)) {
			t.Errorf("%s: told %+v, %v; it has %+v", id, told, err, replay.NodesOf(f))
		}
	}
	for _, wrong := range []string{`[]`, `{}`, `{"start": "a", "nodes": []}`} {
		if _, err := replay.ReadNodes([]byte(wrong)); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}
