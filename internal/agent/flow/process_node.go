package flow

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// ProcessNode is the tool that moves the conversation.
const ProcessNode = "process_node"

// processNode returns the tool as it is bound at a node. A stop has none.
func processNode(n *Node, offered []*Option) llm.Tool {
	if n.Ends() {
		return llm.Tool{}
	}
	argument, stay := "option_id", Stay
	if n.Type == Start {
		argument, stay = "next_node_id", ""
	}
	ids := make([]string, 0, len(offered)+1)
	options := make([]llm.Option, 0, len(offered))
	for _, o := range offered {
		ids = append(ids, o.ID)
		options = append(options, menuOption(n, o))
	}
	choice := map[string]any{"type": "string", "enum": ids}
	if stay != "" {
		choice["enum"] = append(ids, stay)
		choice["description"] = optionList(offered)
	}
	menu := llm.NewMenu(argument, options, stay)
	menu.Fixed = map[string]string{"current_node_id": n.ID}
	return llm.Tool{
		Name:        ProcessNode,
		Description: "Says where the conversation goes now. Call it exactly once in every turn, before you answer.",
		Parameters: compact(map[string]any{
			"type": "object",
			"properties": map[string]any{
				"current_node_id": map[string]any{"type": "string", "const": n.ID},
				argument:          choice,
			},
			"required":             []string{"current_node_id", argument},
			"additionalProperties": false,
		}),
		Menu: menu,
	}
}

// menuOption is an option for a model that chooses by itself. For an option of the start, the target's prompt describes
// it.
func menuOption(n *Node, o *Option) llm.Option {
	option := llm.Option{ID: o.ID, Label: o.Label, When: o.When, Examples: o.Examples}
	if n.Type == Start && o.Next != nil {
		option.When = o.Next.Prompt
	}
	return option
}

// optionList describes the options to the model as "id: label (when)", with the hidden option to stay.
func optionList(options []*Option) string {
	var b strings.Builder
	for _, o := range options {
		fmt.Fprintf(&b, "%s: %s", o.ID, o.Label)
		if o.When != "" {
			fmt.Fprintf(&b, " (%s)", o.When)
		}
		b.WriteByte('\n')
	}
	b.WriteString(Stay + ": stay here, none of the others fits yet")
	return b.String()
}

// step is the outcome of a turn's choice. Option is nil for a stay.
type step struct {
	option *Option
	next   *Node // nil where the flow ends without a node
	kind   TransitionKind
	// refused is why the chosen transition was not taken; empty for every other step.
	refused string
}

func stay(n *Node) step { return step{next: n, kind: Stayed} }

func advance(o *Option) step {
	s := step{option: o, next: o.Next, kind: Advanced}
	if s.ends() {
		s.kind = Completed
	}
	return s
}

// ends reports whether the flow is completed.
func (s step) ends() bool { return s.next == nil || s.next.Ends() }

// invalidCall is what the model reads after an invalid call.
type invalidCall struct {
	Error   string   `json:"error"`
	Allowed []string `json:"allowed,omitempty"`
	// Instructions say how to answer once no further call is allowed.
	Instructions string `json:"instructions,omitempty"`
}

// choose carries out a call of process_node, which takes one of the options or stays, or returns why it is invalid.
func choose(n *Node, options []*Option, args json.RawMessage) (step, *invalidCall) {
	var got struct {
		Current json.RawMessage `json:"current_node_id"`
		Next    json.RawMessage `json:"next_node_id"`
		Option  json.RawMessage `json:"option_id"`
	}
	if err := json.Unmarshal(args, &got); err != nil {
		return step{}, &invalidCall{Error: "the arguments are not a JSON object", Allowed: []string{n.ID}}
	}
	if current := argument(got.Current); current != n.ID {
		return step{}, &invalidCall{Error: wrong("current_node_id", got.Current), Allowed: []string{n.ID}}
	}
	name, wanted := "option_id", got.Option
	if n.Type == Start {
		name, wanted = "next_node_id", got.Next
	}
	id := argument(wanted)
	if id == Stay && n.Type != Start {
		return stay(n), nil
	}
	allowed := make([]string, 0, len(options)+1)
	for _, o := range options {
		if o.ID == id {
			return advance(o), nil
		}
		allowed = append(allowed, o.ID)
	}
	if n.Type != Start {
		allowed = append(allowed, Stay)
	}
	return step{}, &invalidCall{Error: wrong(name, wanted), Allowed: allowed}
}

// argument returns a text argument. It accepts the integer -1 too, because models send it.
func argument(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if string(raw) == Stay {
		return Stay
	}
	return ""
}

func wrong(name string, got json.RawMessage) string {
	if len(got) == 0 {
		return name + " is missing"
	}
	return fmt.Sprintf("%s cannot be %s here", name, clip(string(got), 100))
}

// processed is the result of process_node.
type processed struct {
	NextNodeID         *string     `json:"next_node_id"`
	NextNodeDescriptor *Descriptor `json:"next_node_descriptor"`
	Instructions       string      `json:"instructions"`
	// DecidedBy is set when the model did not choose: rule, for one of a state machine, or no_match.
	DecidedBy string `json:"decided_by,omitempty"`
}

func (t *turn) outcome(s step) processed {
	p := processed{Instructions: t.fill(instructions(s))}
	if s.next != nil {
		p.NextNodeID, p.NextNodeDescriptor = &s.next.ID, t.descriptor(s.next)
		if again := s.callAgain(); again != "" {
			shown := *p.NextNodeDescriptor
			shown.Prompt, p.NextNodeDescriptor = again, &shown
		}
	}
	return p
}

// callAgain returns the text with which a node repeats its question; empty if its prompt decides.
func (s step) callAgain() string {
	if s.kind != Stayed || s.next.NoMatch == nil {
		return ""
	}
	return s.next.NoMatch.Prompt
}

func instructions(s step) string {
	text := ""
	if s.next != nil {
		text = s.next.Prompt
	}
	switch s.kind {
	case Stayed:
		if again := s.callAgain(); again != "" {
			return "The user has not answered; reply following this prompt: " + again
		}
		return "The user has not answered; ask again in other words: " + text
	case Completed:
		if blank(text) {
			text = "the conversation is over."
		}
		return "Say goodbye: " + text
	}
	return "Reply to the user following this prompt: " + text
}
