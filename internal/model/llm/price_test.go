package llm

import (
	"math"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// A price comes from the model, else from an exact key, else from that of the undated model, else from a pattern, else
// from the table.
func TestPriceOf(t *testing.T) {
	price := func(in, out float64) config.Price { return config.Price{Input: &in, Output: &out} }
	prices := map[string]config.Price{
		"openai:gpt-5": price(7, 8), "openai:gpt-5-2025-08-07": price(9, 10), "openai:*": price(1, 1),
		"openai:local-*-chat": price(2, 2), "ollama:*": price(0, 0), "openai:vectors": {Input: new(0.5)},
		"x:*a*b*": price(3, 3),
	}
	for _, tc := range []struct {
		name       string
		m          config.Model
		prices     map[string]config.Price
		in, out    float64 // -1 is unknown
		configured bool
	}{
		{"table", config.Model{Provider: "openai", Name: "gpt-5-mini"}, nil, 0.25, 2, false},
		{"snapshot", config.Model{Provider: "openai", Name: "gpt-5-mini-2025-08-07"}, nil, 0.25, 2, false},
		{
			"snapshot of anthropic", config.Model{Provider: "anthropic", Name: "claude-haiku-4-5-20251001"}, nil, 1, 5,
			false,
		},
		{
			"snapshot with a price of its own", config.Model{Provider: "openai", Name: "gpt-4o-2024-05-13"}, nil, 5, 15,
			false,
		},
		{"google", config.Model{Provider: "google", Name: "gemini-2.5-pro"}, nil, 1.25, 10, false},
		{"another provider", config.Model{Provider: "ollama", Name: "gpt-5-mini"}, nil, -1, -1, false},
		{"not a snapshot", config.Model{Provider: "openai", Name: "gpt-5-mini-large"}, nil, -1, -1, false},
		{"unknown", config.Model{Provider: "openai", Name: "agent"}, nil, -1, -1, false},
		{"scripted", config.Model{Provider: "scripted", Name: "a/b.yaml#x"}, nil, 0, 0, false},
		{"lexical", config.Model{Provider: "lexical", Name: "default"}, nil, 0, 0, false},
		{"own before all", config.Model{Provider: "openai", Name: "gpt-5", Price: price(4, 5)}, prices, 4, 5, true},
		{"own 0 is a price", config.Model{Provider: "openai", Name: "gpt-5", Price: price(0, 0)}, prices, 0, 0, true},
		{
			"half of its own", config.Model{Provider: "openai", Name: "gpt-5", Price: config.Price{Input: new(4.0)}},
			prices, 4, 8, true,
		},
		{"half of its own, nothing else", config.Model{
			Provider: "openai", Name: "agent", Price: config.Price{Input: new(4.0)},
		}, nil, 4, -1, true},
		{"exact key", config.Model{Provider: "openai", Name: "gpt-5-2025-08-07"}, prices, 9, 10, true},
		{"key of the undated model", config.Model{Provider: "openai", Name: "gpt-5-2026-01-31"}, prices, 7, 8, true},
		{"pattern before the table", config.Model{Provider: "openai", Name: "gpt-5-mini"}, prices, 1, 1, true},
		{"longest pattern", config.Model{Provider: "openai", Name: "local-7b-chat"}, prices, 2, 2, true},
		{"pattern of another provider", config.Model{Provider: "ollama", Name: "llama3:8b"}, prices, 0, 0, true},
		{"several stars", config.Model{Provider: "x", Name: "1a2b"}, prices, 3, 3, true},
		{"several stars, in another order", config.Model{Provider: "x", Name: "1b2a"}, prices, -1, -1, false},
		{"no output", config.Model{Provider: "openai", Name: "vectors"}, prices, 0.5, -1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := PriceOf(tc.m, tc.prices)
			if in, out := orUnknown(got.Input), orUnknown(got.Output); in != tc.in || out != tc.out ||
				got.Configured != tc.configured {
				t.Errorf("got %g, %g, configured: %v", in, out, got.Configured)
			}
		})
	}
}

func orUnknown(price *float64) float64 {
	if price == nil {
		return -1
	}
	return *price
}

// Every row of the table is a chat model with both prices or an embedding model, of a provider that a model can have,
// and stands there once.
func TestPriceTable(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, PricesAsOf); err != nil {
		t.Error(err)
	}
	if rows := priceRows(); len(rows) != len(PriceTable()) {
		t.Errorf("%d rows, %d models", len(rows), len(PriceTable()))
	}
	for _, row := range priceRows()[2:] {
		if row.input <= 0 || row.output < 0 || row.output > 0 && row.output < row.input || row.input > 1000 {
			t.Errorf("%+v", row)
		}
	}
	for _, name := range []string{
		"openai:text-embedding-3-small", "openai:text-embedding-3-large", "google:gemini-embedding-001", "openai:gpt-5",
		"openai:gpt-4.1", "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5", "google:gemini-3.8-flash",
	} {
		if _, ok := PriceTable()[name]; !ok {
			t.Errorf("%s has no price", name)
		}
	}
}

// A cost is unknown without a price, and without a count of tokens unless they cost nothing.
func TestCost(t *testing.T) {
	price := func(in, out float64) config.Price { return config.Price{Input: &in, Output: &out} }
	cached := func(in, out, cached float64) config.Price {
		return config.Price{Input: &in, Output: &out, CachedInput: &cached}
	}
	used := chat.Usage{InputTokens: 1000, OutputTokens: 100}
	for name, tc := range map[string]struct {
		price config.Price
		usage chat.Usage
		want  chat.Cost
	}{
		"priced":                {price(2, 10), used, chat.Cost{USD: 0.003}},
		"free":                  {price(0, 0), used, chat.Cost{}},
		"free, not counted":     {price(0, 0), chat.Usage{Unknown: true}, chat.Cost{}},
		"not counted":           {price(0, 1), chat.Usage{Unknown: true}, chat.Cost{Unknown: true}},
		"no price":              {config.Price{}, used, chat.Cost{Unknown: true}},
		"no price of output":    {config.Price{Input: new(1.0)}, used, chat.Cost{Unknown: true}},
		"counted as nothing":    {price(2, 10), chat.Usage{}, chat.Cost{}},
		"no price, not counted": {config.Price{}, chat.Usage{Unknown: true}, chat.Cost{Unknown: true}},
		"cached": {
			cached(2, 10, 0.5), chat.Usage{InputTokens: 1000, OutputTokens: 100, CachedTokens: 600},
			chat.Cost{USD: 0.0021},
		},
		"cached for nothing": {
			cached(2, 10, 0), chat.Usage{InputTokens: 1000, OutputTokens: 100, CachedTokens: 600},
			chat.Cost{USD: 0.0018},
		},
		"cached at full price": {
			price(2, 10), chat.Usage{InputTokens: 1000, OutputTokens: 100, CachedTokens: 600}, chat.Cost{USD: 0.003},
		},
		"all cached": {
			cached(2, 10, 0.5), chat.Usage{InputTokens: 1000, CachedTokens: 1000}, chat.Cost{USD: 0.0005},
		},
		"more cached than sent": {
			cached(2, 10, 0.5), chat.Usage{InputTokens: 1000, CachedTokens: 9000}, chat.Cost{USD: 0.0005},
		},
		"less than none cached": {
			cached(2, 10, 0.5), chat.Usage{InputTokens: 1000, CachedTokens: -9000}, chat.Cost{USD: 0.002},
		},
		"cached, only that is paid, not counted": {
			cached(0, 0, 0.5), chat.Usage{Unknown: true}, chat.Cost{Unknown: true},
		},
	} {
		if got := cost(config.Model{Price: tc.price}, tc.usage); got.Unknown != tc.want.Unknown ||
			math.Abs(got.USD-tc.want.USD) > 1e-12 {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

// Each protocol has its own place for the input tokens that were cached, which are part of the input, and for the
// tokens of thoughts, which are part of the output. Anthropic does not tell the latter apart.
func TestPartsOfTokens(t *testing.T) {
	anthropic := func(body []byte) (chat.Reply, error) { return decodeAnthropic(Request{}, body) }
	openai := func(body []byte) (chat.Reply, error) { return decodeChat(body, dialect{}) }
	for name, tc := range map[string]struct {
		decode func([]byte) (chat.Reply, error)
		body   string
		want   chat.Usage
	}{
		"chat": {
			openai, `{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}}`,
			chat.Usage{InputTokens: 12, OutputTokens: 3, CachedTokens: 8, ReasoningTokens: 2},
		},
		"chat, none": {
			openai, `{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":null}}`,
			chat.Usage{InputTokens: 12, OutputTokens: 3},
		},
		"responses": {
			decodeResponses, `{"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],
				"usage":{"input_tokens":12,"output_tokens":3,"input_tokens_details":{"cached_tokens":8},"output_tokens_details":{"reasoning_tokens":2}}}`,
			chat.Usage{InputTokens: 12, OutputTokens: 3, CachedTokens: 8, ReasoningTokens: 2},
		},
		"anthropic": {
			anthropic, `{"content":[{"type":"text","text":"a"}],
				"usage":{"input_tokens":3,"cache_creation_input_tokens":1,"cache_read_input_tokens":8,"output_tokens":3}}`,
			chat.Usage{InputTokens: 12, OutputTokens: 3, CachedTokens: 8},
		},
		"google": {
			decodeGoogle, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}],
				"usageMetadata":{"promptTokenCount":12,"cachedContentTokenCount":8,"candidatesTokenCount":1,"thoughtsTokenCount":2}}`,
			chat.Usage{InputTokens: 12, OutputTokens: 3, CachedTokens: 8, ReasoningTokens: 2},
		},
	} {
		if got, err := tc.decode([]byte(tc.body)); err != nil || got.Usage != tc.want {
			t.Errorf("%s: got %+v, %v", name, got.Usage, err)
		}
	}
}

func TestAddress(t *testing.T) {
	base := map[string]string{"OPENAI_BASE_URL": "http://user:pw@proxy/v1/?team=a"}
	for _, tc := range []struct {
		m    config.Model
		env  map[string]string
		want string
		own  bool
	}{
		{config.Model{Provider: "openai", Name: "a"}, nil, "https://api.openai.com/v1", true},
		{config.Model{Provider: "openai", Name: "a"}, base, "http://proxy/v1", false},
		{config.Model{Provider: "openai", Name: "a", BaseURL: "http://own/v1"}, base, "http://own/v1", false},
		{config.Model{Provider: "ollama", Name: "a"}, base, "http://localhost:11434/v1", true},
		{config.Model{Provider: "scripted", Name: "a"}, base, "", false},
		{config.Model{Provider: "lexical", Name: "default"}, base, "", false},
		{config.Model{Provider: "openai", Name: "a", BaseURL: "nowhere"}, base, "", false},
	} {
		if got, own := Address(tc.m, Options{Getenv: env(tc.env)}); got != tc.want || own != tc.own {
			t.Errorf("%v: got %q, %v", tc.m, got, own)
		}
	}
}
