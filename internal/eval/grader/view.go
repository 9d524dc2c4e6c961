package grader

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// view is an exchange in the form that expressions, programs and web services see. Usage and CostUSD are nil when they
// are unknown.
type view struct {
	Input          []viewMessage  `json:"input" expr:"input"`
	Output         string         `json:"output" expr:"output"`
	Text           string         `json:"text" expr:"text"`
	ExpectedOutput string         `json:"expected_output" expr:"expected_output"`
	Criteria       string         `json:"criteria" expr:"criteria"`
	Turn           int            `json:"turn" expr:"turn"`
	TurnCount      int            `json:"turn_count" expr:"turn_count"`
	ToolCalls      []viewCall     `json:"tool_calls" expr:"tool_calls"`
	State          any            `json:"state" expr:"state"`
	Node           string         `json:"node" expr:"node"`
	Usage          *viewUsage     `json:"usage" expr:"usage"`
	FinishReason   string         `json:"finish_reason" expr:"finish_reason"`
	LatencyMS      *float64       `json:"latency_ms" expr:"latency_ms"`
	CostUSD        *float64       `json:"cost_usd" expr:"cost_usd"`
	Vars           map[string]any `json:"vars" expr:"vars"`
	Metadata       map[string]any `json:"metadata" expr:"metadata"`
}

type viewMessage struct {
	Role    string `json:"role" expr:"role"`
	Content string `json:"content" expr:"content"`
}

type viewCall struct {
	Name string `json:"name" expr:"name"`
	// Args is the parsed JSON, or the text itself when it is not JSON.
	Args any `json:"args" expr:"args"`
}

type viewUsage struct {
	InputTokens  int `json:"input_tokens" expr:"input_tokens"`
	OutputTokens int `json:"output_tokens" expr:"output_tokens"`
	TotalTokens  int `json:"total_tokens" expr:"total_tokens"`
}

func viewOf(x *runner.Exchange) view {
	v := view{
		Input:          make([]viewMessage, len(x.Input)),
		Output:         x.Output,
		Text:           x.Text,
		ExpectedOutput: x.Expected,
		Criteria:       x.Criteria,
		Turn:           x.Turn,
		TurnCount:      x.TurnCount,
		ToolCalls:      make([]viewCall, len(x.Reply.ToolCalls)),
		State:          parsed(x.Reply.State),
		Node:           x.Reply.Node,
		FinishReason:   x.Reply.FinishReason,
		Vars:           map[string]any{},
		Metadata:       map[string]any{},
	}
	if u := x.Reply.Usage; !u.Unknown {
		v.Usage = &viewUsage{u.InputTokens, u.OutputTokens, u.Total()}
	}
	if !x.Reply.Untimed {
		v.LatencyMS = new(milliseconds(x.Reply.Latency))
	}
	if !x.Reply.Cost.Unknown {
		v.CostUSD = &x.Reply.Cost.USD
	}
	for i, m := range x.Input {
		v.Input[i] = viewMessage{string(m.Role), m.Content.String()}
	}
	for i, call := range x.Reply.ToolCalls {
		v.ToolCalls[i] = viewCall{call.Name, parsed(call.Args)}
	}
	if x.Test.Vars != nil {
		v.Vars = x.Test.Vars
	}
	if x.Test.Metadata != nil {
		v.Metadata = x.Test.Metadata
	}
	return v
}

// withCountable returns the view with its numbers as expressions know them.
func (v view) withCountable() view {
	v.State = countable(v.State)
	v.Vars, _ = countable(v.Vars).(map[string]any)
	v.Metadata, _ = countable(v.Metadata).(map[string]any)
	calls := make([]viewCall, len(v.ToolCalls))
	for i, call := range v.ToolCalls {
		calls[i] = viewCall{call.Name, countable(call.Args)}
	}
	v.ToolCalls = calls
	return v
}

// parsed returns the value of raw JSON, nil for none, and the text itself when it is not valid.
func parsed(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := parseJSON(string(raw))
	if err != nil {
		return string(raw)
	}
	return v
}
