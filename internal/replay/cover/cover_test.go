package cover

import (
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

const crossing = `
id: crossing
version: 1
start: start
nodes:
  - {id: start, type: start, prompt: x, next: [a]}
  - {id: a, type: conversation, prompt: x, options: [{id: o1, label: one, when: x, next: b}, {id: o2, label: two, when: x, next: c}, {id: o3, label: three, when: x, next: end}]}
  - {id: b, type: conversation, prompt: x, options: [{id: o4, label: four, when: x, next: end}]}
  - {id: c, type: conversation, prompt: x, options: [{id: o5, label: five, when: x, next: end}]}
  - {id: end, type: stop, prompt: x}
`

func loaded(t *testing.T) *flow.Flow {
	t.Helper()
	flows, err := flow.Load("crossing.yaml", []byte(crossing))
	if err != nil {
		t.Fatal(err)
	}
	return flows[0]
}

// walked is a session that went through states.
func walked(id string, states ...string) *replay.Session {
	s := &replay.Session{ID: id, FlowID: "crossing"}
	for i := 0; i+1 < len(states); i++ {
		s.Messages = append(s.Messages, replay.LoggedMessage{
			User: true, Text: "x", Before: states[i], After: states[i+1],
		})
	}
	return s
}

func TestSessions(t *testing.T) {
	c := Of(loaded(t))
	c.Session(walked("1", "a", "b", "b", "end"))
	c.Session(walked("2", "elsewhere", "nowhere"))
	r := c.Report()
	if r.Nodes.Covered != 3 || r.Options.Covered != 2 ||
		!slices.Equal(r.Options.Missing, []string{"a.o2", "a.o3", "c.o5"}) ||
		!slices.Equal(r.Nodes.Missing, []string{"start", "c"}) {
		t.Errorf("%+v", r)
	}
	if c.Count("a", "o1") != 1 || c.Count("a", "o2") != 0 {
		t.Error("options are counted wrongly")
	}
}

// The chosen sessions reach as much as all, and none of them is idle.
func TestChosen(t *testing.T) {
	c := NewChooser(loaded(t))
	for _, s := range []*replay.Session{
		walked("short", "a", "end"), walked("left", "a", "b", "end"), walked("left again", "a", "b", "end"),
		walked("right", "a", "c", "end"), walked("lost", "x", "y"),
	} {
		c.Add(s)
	}
	if got := c.Chosen(10); !slices.Equal(got, []string{"left", "right", "short"}) {
		t.Errorf("chosen %v", got)
	}
	if got := c.Chosen(1); !slices.Equal(got, []string{"left"}) {
		t.Errorf("one: %v", got)
	}
}
