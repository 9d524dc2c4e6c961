package chat

import "strings"

// The reasons of Reply.FinishReason, but for "other".
const (
	stop          = "stop"
	length        = "length"
	toolCalls     = "tool_calls"
	contentFilter = "content_filter"
)

// finishWords are the words that providers use, as folded writes them, by what they stand for. The sources are the API
// references of OpenAI, Azure, Anthropic, Google, Mistral, Cohere, Bedrock, Together and the AI SDK.
var finishWords = map[string]string{
	"stop": stop, "end_turn": stop, "stop_sequence": stop, "eos": stop, "eos_token": stop, "complete": stop,
	"completed": stop,

	"length": length, "max_tokens": length, "max_output_tokens": length, "max_completion_tokens": length,
	"model_length": length, "model_context_window_exceeded": length,

	"tool_calls": toolCalls, "tool_call": toolCalls, "tool_use": toolCalls, "function_call": toolCalls,

	"content_filter": contentFilter, "content_filtered": contentFilter, "guardrail_intervened": contentFilter,
	"error_toxic": contentFilter, "refusal": contentFilter, "safety": contentFilter, "recitation": contentFilter,
	"language": contentFilter, "blocklist": contentFilter, "prohibited_content": contentFilter,
	"spii": contentFilter, "model_armor": contentFilter, "jailbreak": contentFilter, "image_safety": contentFilter,
	"image_prohibited_content": contentFilter, "image_recitation": contentFilter,
}

// FinishReason returns what the word of a provider for the end of a reply stands for: one of the reasons of
// Reply.FinishReason, "other" for an unknown word, and "" for none. Case and separators do not matter: MAX_TOKENS,
// max-tokens and maxTokens are one word.
func FinishReason(word string) string {
	if word = folded(word); word == "" || word == "finish_reason_unspecified" {
		return ""
	}
	if reason, ok := finishWords[word]; ok {
		return reason
	}
	return "other"
}

// folded writes a word in lower case, with underscores between its parts.
func folded(word string) string {
	var b strings.Builder
	lower := false
	for _, r := range strings.TrimSpace(word) {
		switch upper := r >= 'A' && r <= 'Z'; {
		case r == '-' || r == ' ':
			r = '_'
		case upper && lower:
			b.WriteByte('_')
			fallthrough
		case upper:
			r += 'a' - 'A'
			lower = false
		default:
			lower = r != '_'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Withheld returns the reason why there is nothing to grade in a reply: it is blank and calls no tool, and it ended at
// a content filter or at a limit of its length. It is "" for any other reply, also for a blank one that ended by
// itself.
func (r Reply) Withheld() string {
	reason := FinishReason(r.FinishReason)
	if strings.TrimSpace(r.Text) != "" || len(r.ToolCalls) > 0 || reason != length && reason != contentFilter {
		return ""
	}
	return reason
}
