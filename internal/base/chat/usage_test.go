package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// What is not known is null, and so is every sum that it is part of.
func TestUnknownIsNull(t *testing.T) {
	type wire struct {
		Usage chat.Usage `json:"usage"`
		Cost  chat.Cost  `json:"cost_usd"`
	}
	known := wire{chat.Usage{InputTokens: 3, OutputTokens: 4}, chat.Cost{USD: 0.5}}
	for _, tc := range []struct {
		name  string
		value wire
		json  string
	}{
		{"nothing", wire{}, `{"usage":{"input_tokens":0,"output_tokens":0},"cost_usd":0}`},
		{"known", known, `{"usage":{"input_tokens":3,"output_tokens":4},"cost_usd":0.5}`},
		{
			"some cached", wire{Usage: chat.Usage{InputTokens: 3, CachedTokens: 2}},
			`{"usage":{"input_tokens":3,"output_tokens":0,"cached_tokens":2},"cost_usd":0}`,
		},
		{
			"some thoughts", wire{Usage: chat.Usage{OutputTokens: 3, ReasoningTokens: 2}},
			`{"usage":{"input_tokens":0,"output_tokens":3,"reasoning_tokens":2},"cost_usd":0}`,
		},
		{"a sum with thoughts", wire{
			Usage: chat.Usage{OutputTokens: 3, ReasoningTokens: 2}.Add(chat.Usage{OutputTokens: 3, ReasoningTokens: 1}),
		}, `{"usage":{"input_tokens":0,"output_tokens":6,"reasoning_tokens":3},"cost_usd":0}`},
		{"unknown", wire{chat.Usage{Unknown: true}, chat.Cost{Unknown: true}}, `{"usage":null,"cost_usd":null}`},
		{"a sum with an unknown part", wire{
			known.Usage.Add(chat.Usage{Unknown: true}), chat.Cost{Unknown: true}.Add(known.Cost),
		}, `{"usage":null,"cost_usd":null}`},
		{
			"a sum", wire{known.Usage.Add(known.Usage), known.Cost.Add(known.Cost)},
			`{"usage":{"input_tokens":6,"output_tokens":8},"cost_usd":1}`,
		},
	} {
		data, err := json.Marshal(tc.value)
		if err != nil || string(data) != tc.json {
			t.Errorf("%s: %s, %v; want %s", tc.name, data, err, tc.json)
		}
		var back wire
		if err := json.Unmarshal(data, &back); err != nil || back.Usage.Unknown != tc.value.Usage.Unknown ||
			back.Usage.CachedTokens != tc.value.Usage.CachedTokens ||
			back.Usage.ReasoningTokens != tc.value.Usage.ReasoningTokens || back.Cost.Unknown != tc.value.Cost.Unknown {
			t.Errorf("%s: read back as %+v, %v", tc.name, back, err)
		}
	}
}
