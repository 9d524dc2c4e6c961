package flow

import (
	"encoding/json"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Context is everything that one turn needs: the published ExecutionContext.
// The engine keeps no state and never changes a Context, so concurrent turns may share one.
type Context struct {
	Flow              Source          `json:"flow"`
	ConversationID    string          `json:"conversation_id,omitempty"`
	TestCaseID        string          `json:"test_case_id,omitempty"`
	CurrentNodeID     string          `json:"current_node_id"`
	LatestUserMessage string          `json:"latest_user_message"`
	History           []Message       `json:"history"`
	Memory            Memory          `json:"memory"`
	DryRun            bool            `json:"dry_run,omitempty"`
	MemoryPipeline    *MemoryPipeline `json:"memory_pipeline,omitempty"`
	KnowledgeBases    []string        `json:"knowledge_bases,omitempty"`
	Model             *ModelParams    `json:"model,omitempty"`
	Limits            Limits          `json:"limits,omitzero"`
	// Stubs answer in place of what the flow calls. Only the internal test endpoint takes them.
	Stubs Stubs `json:"stubs,omitempty"`

	isNumbered bool // the history is; see numbered
}

// Source names a flow of the engine's library ({"ref": "id@version"}), or is a node flow itself.
type Source struct {
	Ref    string
	Inline json.RawMessage
}

// MarshalJSON writes the reference, or the flow.
func (s Source) MarshalJSON() ([]byte, error) {
	if s.Inline != nil {
		return s.Inline, nil
	}
	return json.Marshal(map[string]string{"ref": s.Ref})
}

// UnmarshalJSON reads a reference, or keeps the flow for loading.
func (s *Source) UnmarshalJSON(data []byte) error {
	var named struct {
		Ref   *string         `json:"ref"`
		Nodes json.RawMessage `json:"nodes"`
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	*s = Source{}
	if named.Ref != nil && named.Nodes == nil { // a flow may have a ref field of its own, which has no meaning here
		s.Ref = *named.Ref
		return nil
	}
	s.Inline = json.RawMessage(append([]byte(nil), data...))
	return nil
}

// MemoryPipeline turns the memory stages on and off. Nil Stages mean all of them, an empty list none.
type MemoryPipeline struct {
	Enabled bool    `json:"enabled"`
	Stages  []Stage `json:"stages,omitzero"`
}

// Stage is a step of the memory pipeline.
type Stage string

// The stages, in their order.
const (
	FactsStage       Stage = "facts"
	SummarizeStage   Stage = "summarize"
	ResummarizeStage Stage = "resummarize"
)

// StageStatus is the outcome of a stage in this turn.
type StageStatus string

// The stage statuses.
const (
	StageOK       StageStatus = "ok"
	StageSkipped  StageStatus = "skipped"  // nothing was due
	StageDisabled StageStatus = "disabled" // turned off by the context
	StageError    StageStatus = "error"    // the model failed; the turn stands without it
)

// ModelParams are sampling parameters that only the internal test endpoint honours.
type ModelParams struct {
	Name          string   `json:"name,omitempty"`
	Temperature   *float64 `json:"temperature,omitempty"`
	TopP          *float64 `json:"top_p,omitempty"`
	Seed          *int     `json:"seed,omitempty"`
	MaxTokens     int      `json:"max_tokens,omitempty"`
	EnableTracing bool     `json:"enable_tracing,omitempty"`
}

// Limits bound one turn. Nil and zero values mean the defaults: 8 iterations, 12 messages and 3,000 tokens of history,
// 60 s.
type Limits struct {
	MaxToolIterations int  `json:"max_tool_iterations,omitempty"`
	WindowMessages    *int `json:"history_window_messages,omitempty"`
	WindowTokens      *int `json:"history_window_tokens,omitempty"`
	TurnTimeoutMS     int  `json:"turn_timeout_ms,omitempty"`
}

// Result is the outcome of a turn: the published ExecutionResult.
type Result struct {
	AssistantMessage   string      `json:"assistant_message"`
	PreviousNodeID     string      `json:"previous_node_id"`
	CurrentNodeID      *string     `json:"current_node_id"`
	NextNodeID         *string     `json:"next_node_id"`
	NextNodeDescriptor *Descriptor `json:"next_node_descriptor"`
	Transition         Transition  `json:"transition"`
	History            []Message   `json:"history"`
	Memory             Memory      `json:"memory"`
	MemoryDelta        MemoryDelta `json:"memory_delta"`
	FlowCompleted      bool        `json:"flow_completed"`
	DryRun             bool        `json:"dry_run"`
	ToolCalls          []ToolTrace `json:"tool_calls"`
	Usage              Usage       `json:"usage"`
	TraceID            string      `json:"trace_id"`
	Warnings           []Warning   `json:"warnings"`
	// PromptSnapshot holds every request of the turn's last model call, when tracing was asked for.
	PromptSnapshot []chat.Message `json:"prompt_snapshot,omitempty"`
}

// Descriptor is a node as the model and the caller see it, without the hidden option "-1".
type Descriptor struct {
	ID      string             `json:"id"`
	Type    Type               `json:"type"`
	Prompt  string             `json:"prompt,omitempty"`
	Options []DescriptorOption `json:"options,omitempty"`
	// QuickReplies and Buttons are what a state machine lets the user tap.
	QuickReplies []string `json:"quick_replies,omitempty"`
	Buttons      []Button `json:"buttons,omitempty"`
}

// DescriptorOption is an option as a descriptor shows it.
type DescriptorOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// Transition says how the turn moved through the flow.
type Transition struct {
	Kind TransitionKind `json:"kind"`
	// OptionID is the chosen option; nil on a start node and when none was chosen.
	OptionID *string `json:"option_id"`
}

// TransitionKind is one of three.
type TransitionKind string

// The kinds of transition.
const (
	Advanced  TransitionKind = "advanced"
	Stayed    TransitionKind = "stayed"
	Completed TransitionKind = "completed"
)

// ToolTrace is one tool call of the turn, in call order.
type ToolTrace struct {
	ID        string          `json:"id"`
	Iteration int             `json:"iteration"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Result    json.RawMessage `json:"result"`
	Error     *string         `json:"error"`
	LatencyMS float64         `json:"latency_ms"`
}

// Usage is the sum over the turn's model calls.
type Usage struct {
	PromptTokens     int     `json:"prompt_tokens"`
	CompletionTokens int     `json:"completion_tokens"`
	LLMCalls         int     `json:"llm_calls"`
	LatencyMS        float64 `json:"latency_ms"`
	// Unknown is true when a model's reply came without a count of tokens.
	Unknown bool      `json:"-"`
	Cost    chat.Cost `json:"-"`
	// Attempts counts the attempts of all calls.
	Attempts int `json:"-"`
}

// merge adds the calls of a part of the turn.
func (u *Usage) merge(v Usage) {
	u.LLMCalls += v.LLMCalls
	u.Attempts += v.Attempts
	u.add(chat.Usage{InputTokens: v.PromptTokens, OutputTokens: v.CompletionTokens, Unknown: v.Unknown}, v.Cost)
}

// count adds one call of a model, which has ended with a reply or an error.
func (u *Usage) count(reply chat.Reply, err error) {
	u.LLMCalls++
	u.Attempts += attempts(reply, err)
	u.add(reply.Usage, reply.Cost)
	if llm.Worked(err) {
		u.Unknown, u.Cost.Unknown = true, true
	}
}

// attempts returns how often a model was asked for a reply.
func attempts(reply chat.Reply, err error) int {
	n := reply.Attempts
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		n = failed.Attempts
	}
	return max(1, n)
}

func (u *Usage) add(tokens chat.Usage, cost chat.Cost) {
	u.PromptTokens += tokens.InputTokens
	u.CompletionTokens += tokens.OutputTokens
	u.Unknown = u.Unknown || tokens.Unknown
	u.Cost = u.Cost.Add(cost)
}

// Warning is a short code for something that went wrong without failing the turn.
type Warning string

// The warnings.
const (
	// NotProcessed: the model answered without calling process_node, twice; the flow stayed where it was.
	NotProcessed Warning = "process_node_not_called"
	// InvalidTransition: no call of process_node was valid, though there was one; the flow stayed where it was.
	InvalidTransition Warning = "invalid_transition"
	// TransitionRefused: a validation refused the transition that the model had chosen; the flow stayed where it was.
	TransitionRefused Warning = "transition_refused"
	// NoMatchFound: the flow had stayed at the node too often, and went on where the node's no_match leads.
	NoMatchFound Warning = "no_match"
	// SecondTransition: a second valid call of process_node was refused; the first holds.
	SecondTransition Warning = "already_processed"
	// UnknownTool: the model called a tool that it was not offered.
	UnknownTool Warning = "unknown_tool"
	// ToolFailed: a tool could not do what it was asked.
	ToolFailed Warning = "tool_error"
	// ToolLoopLimit: the model still called tools after the last iteration allowed.
	ToolLoopLimit Warning = "tool_loop_limit"
	// EmptyText: the model returned no text twice; the node's prompt replaces it.
	EmptyText Warning = "empty_text"
	// FactKeyCollision: two facts of this turn have one key in its normal form; the last of them holds.
	FactKeyCollision Warning = "fact_key_collision"
	// MemoryFailed: a stage of the memory pipeline failed; see memory_delta.stages.
	MemoryFailed Warning = "memory_error"
)
