package llm

import "encoding/json"

// chunk is one event of a streamed chat completion (https://platform.openai.com/docs/api-reference/chat-streaming).
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   any         `json:"content"`
			Refusal   string      `json:"refusal"`
			ToolCalls []callDelta `json:"tool_calls"`
			// Reasoning comes as pieces of a text, or of a list.
			ReasoningContent string            `json:"reasoning_content"`
			ReasoningDetails []json.RawMessage `json:"reasoning_details"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Model answeredBy   `json:"model"`
	Usage *answerUsage `json:"usage"`
	Error *answerError `json:"error"`
}

// callDelta is a piece of the tool call at Index. Some servers leave the index out and send each call as a whole.
type callDelta struct {
	Index *int `json:"index"`
	answerCall
}

// text returns the piece of the arguments, which some servers send as an object.
func (d *callDelta) text() string {
	var text string
	if json.Unmarshal(d.Function.Arguments, &text) != nil {
		text = string(d.Function.Arguments)
	}
	return text
}
