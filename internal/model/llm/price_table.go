package llm

import "github.com/rehearse-dev/rehearse/internal/base/config"

// PricesAsOf is the day on which the built-in table was last compared with its sources.
const PricesAsOf = "2026-11-22"

// PriceTable returns the built-in prices by PROVIDER:MODEL, in US dollars per million tokens: the standard rate for
// text, without discounts for batches and without the surcharge of some models for prompts of more than 100,000 to
// 272,000 tokens.
//
// Sources, which take precedence over this table: https://developers.openai.com/api/docs/pricing,
// https://platform.claude.com/docs/en/about-claude/pricing and https://ai.google.dev/gemini-api/docs/pricing. Models
// that came after July 2026 were compared with the model pages of Anthropic (Opus 5.5, Sonnet 5.5, Haiku 5.5 and Fable
// 5.1), with announcements of OpenAI's prices (GPT-6 Sol and Luna of 2026-09-22, GPT-6.1 Terra of 2026-10-26) and with
// a transcript of Google's page of 2026-10-07. The rates of gemini-3.7-flash and gemini-3.8-flash double on 2027-01-01.
func PriceTable() map[string]config.Price {
	table := map[string]config.Price{}
	for _, row := range priceRows() {
		table[row.model] = config.Price{Input: new(row.input), Output: new(row.output)}
	}
	return table
}

type priceRow struct {
	model         string
	input, output float64
}

func priceRows() []priceRow {
	return []priceRow{
		{"scripted:*", 0, 0},
		{"lexical:*", 0, 0},

		{"openai:gpt-6.1-sol", 2, 10},
		{"openai:gpt-6.1-terra", 1, 5},
		{"openai:gpt-6-astra", 10, 50},
		{"openai:gpt-6-sol", 2, 10},
		{"openai:gpt-6-luna", 0.1, 0.5},
		{"openai:gpt-5.6", 5, 30},
		{"openai:gpt-5.6-sol", 5, 30},
		{"openai:gpt-5.6-terra", 2, 12},
		{"openai:gpt-5.6-luna", 0.2, 1.2},
		{"openai:gpt-5.5", 5, 30},
		{"openai:gpt-5.5-pro", 30, 180},
		{"openai:gpt-5.4", 2.5, 15},
		{"openai:gpt-5.4-mini", 0.75, 4.5},
		{"openai:gpt-5.4-nano", 0.2, 1.25},
		{"openai:gpt-5.4-pro", 30, 180},
		{"openai:gpt-5.3-chat-latest", 1.75, 14},
		{"openai:gpt-5.3-codex", 1.75, 14},
		{"openai:gpt-5.2", 1.75, 14},
		{"openai:gpt-5.2-chat-latest", 1.75, 14},
		{"openai:gpt-5.2-codex", 1.75, 14},
		{"openai:gpt-5.2-pro", 21, 168},
		{"openai:gpt-5.1", 1.25, 10},
		{"openai:gpt-5.1-chat-latest", 1.25, 10},
		{"openai:gpt-5.1-codex", 1.25, 10},
		{"openai:gpt-5.1-codex-max", 1.25, 10},
		{"openai:gpt-5.1-codex-mini", 0.25, 2},
		{"openai:gpt-5", 1.25, 10},
		{"openai:gpt-5-chat-latest", 1.25, 10},
		{"openai:gpt-5-codex", 1.25, 10},
		{"openai:gpt-5-mini", 0.25, 2},
		{"openai:gpt-5-nano", 0.05, 0.4},
		{"openai:gpt-5-pro", 15, 120},
		{"openai:gpt-4.1", 2, 8},
		{"openai:gpt-4.1-mini", 0.4, 1.6},
		{"openai:gpt-4.1-nano", 0.1, 0.4},
		{"openai:gpt-4o", 2.5, 10},
		{"openai:gpt-4o-2024-05-13", 5, 15},
		{"openai:gpt-4o-mini", 0.15, 0.6},
		{"openai:gpt-4-turbo", 10, 30},
		{"openai:gpt-4", 30, 60},
		{"openai:gpt-3.5-turbo", 0.5, 1.5},
		{"openai:o1", 15, 60},
		{"openai:o1-pro", 150, 600},
		{"openai:o3", 2, 8},
		{"openai:o3-mini", 1.1, 4.4},
		{"openai:o3-pro", 20, 80},
		{"openai:o4-mini", 1.1, 4.4},
		{"openai:text-embedding-3-small", 0.02, 0},
		{"openai:text-embedding-3-large", 0.13, 0},
		{"openai:text-embedding-ada-002", 0.1, 0},

		{"anthropic:claude-fable-5-1", 10, 50},
		{"anthropic:claude-fable-5", 10, 50},
		{"anthropic:claude-mythos-5", 10, 50},
		{"anthropic:claude-opus-5-5", 4, 20},
		{"anthropic:claude-opus-5", 5, 25},
		{"anthropic:claude-opus-4-8", 5, 25},
		{"anthropic:claude-opus-4-7", 5, 25},
		{"anthropic:claude-opus-4-6", 5, 25},
		{"anthropic:claude-opus-4-5", 5, 25},
		{"anthropic:claude-opus-4-1", 15, 75},
		{"anthropic:claude-opus-4", 15, 75},
		{"anthropic:claude-sonnet-5-5", 2, 10},
		{"anthropic:claude-sonnet-5", 2, 10},
		{"anthropic:claude-sonnet-4-6", 3, 15},
		{"anthropic:claude-sonnet-4-5", 3, 15},
		{"anthropic:claude-sonnet-4", 3, 15},
		{"anthropic:claude-haiku-5-5", 0.1, 0.5},
		{"anthropic:claude-haiku-4-5", 1, 5},
		{"anthropic:claude-3-haiku", 0.25, 1.25},

		{"google:gemini-3.8-flash", 0.75, 3.75},
		{"google:gemini-3.7-flash", 0.75, 3.75},
		{"google:gemini-3.6-flash", 1.5, 7.5},
		{"google:gemini-3.5-flash", 1.5, 9},
		{"google:gemini-3.5-flash-lite", 0.3, 2.5},
		{"google:gemini-3.1-pro-preview", 2, 12},
		{"google:gemini-3.1-flash-lite", 0.25, 1.5},
		{"google:gemini-3.1-flash-lite-preview", 0.25, 1.5},
		{"google:gemini-3-pro-preview", 2, 12},
		{"google:gemini-3-flash-preview", 0.5, 3},
		{"google:gemini-2.5-pro", 1.25, 10},
		{"google:gemini-2.5-flash", 0.3, 2.5},
		{"google:gemini-2.5-flash-lite", 0.1, 0.4},
		{"google:gemini-embedding-2", 0.2, 0},
		{"google:gemini-embedding-001", 0.15, 0},
	}
}
