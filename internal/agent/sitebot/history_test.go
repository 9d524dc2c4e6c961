package sitebot

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRebuild(t *testing.T) {
	for _, tc := range []struct{ name, input, want string }{
		{
			"the answers to two questions",
			`{"query":"Technical","field_ids":["company_stage","profile_type"],"history":[{"role":"user","content":"I want to apply"},
				{"role":"assistant","content":"👉 What stage is your company at?"},{"role":"user","content":"I'm exploring an idea"},
				{"role":"assistant","content":"👉 Business or technical profile?"}]}`,
			`4 2 null {"collected_values":{"company_stage":"I'm exploring an idea"},"last_extraction_turn":2}`,
		},
		{"empty", `{"query":"x","history":[]}`, `0 0 null null`},
		{"no history", `{"query":"x"}`, `0 0 null null`},
		{"odd rows", `{"query":"x","history":[null,{},{"role":7,"content":"a"},{"role":"system","content":"a"},{"role":"AI","content":null},{"role":"Human","content":5}]}`, `0 0 null null`},
		{"cut at the last", `{"query":" yes ","history":[{"role":"user","content":"yes"},{"role":"ai","content":"a"},{"role":"user","content":"yes "},{"role":"ai","content":"b"}]}`, `2 1 null null`},
		{"case counts", `{"query":"Yes","history":[{"role":"user","content":"yes"}]}`, `1 0 null null`},
		{
			"sorted", `{"query":"","history":[{"role":"ai","content":"b 💌","message_index":3},{"role":"user","content":"a","message_index":1.5},{"role":"user","content":"c","message_index":true}]}`,
			`3 1 {"email_asked_last_turn":true,"demo_was_proposed_last_turn":false,"content_gating_ask_turn":1} null`,
		},
		{"repeats", `{"query":"","history":[{"role":"ai","content":"a"},{"role":"ai","content":" a "},{"role":"ai","content":"b"},{"role":"ai","content":"a"},{"role":"user","content":"u"},{"role":"ai","content":"a"}]}`, `4 3 null null`},
		{"a blank user does not count", `{"query":"","history":[{"role":"ai","content":"a"},{"role":"user","content":" "},{"role":"ai","content":"a"}]}`, `1 1 null null`},
		{
			"two markers, one answer", `{"query":"","field_ids":["a","b","c"],"history":[{"role":"ai","content":"👉 A? 👉 B?"},{"role":"user","content":" both "},{"role":"ai","content":"👇"}]}`, `3 2 {"email_asked_last_turn":false,"demo_was_proposed_last_turn":true,"content_gating_ask_turn":null} {"collected_values":{"a":"both","b":"both"},"last_extraction_turn":-1}`,
		},
		{
			"a question without an answer takes no field",
			`{"query":"","field_ids":["a"],"history":[{"role":"ai","content":"👉 A?"},{"role":"ai","content":"👉 Again?"},{"role":"user","content":"x"}]}`,
			`3 2 null {"collected_values":{"a":"x"},"last_extraction_turn":-1}`,
		},
		{
			"pending without fields", `{"query":"q","history":[{"role":"user","content":"u"},{"role":"ai","content":"👉 A?"},{"role":"user","content":"q"}]}`,
			`2 1 null {"collected_values":{},"last_extraction_turn":1}`,
		},
		{
			"the user's emojis mean nothing",
			`{"query":"","field_ids":["a"],"history":[{"role":"user","content":"👉 💌"},{"role":"user","content":"x"}]}`,
			`2 0 null null`,
		},
		{
			"rows that are no objects keep their places",
			`{"query":"","history":["hi",5,null,["a"],{"role":"user","content":"u"},{"role":"ai","content":"💌","message_index":3.5}]}`,
			`2 1 {"email_asked_last_turn":true,"demo_was_proposed_last_turn":false,"content_gating_ask_turn":1} null`,
		},
		{"names are exact", `{"query":"","history":[{"Role":"user","content":"u"},{"role":"user","Content":"u"},{"role":"user","content":"u","Message_Index":-1},{"role":"ai","content":"👇","message_index":1.5}]}`, `2 1 {"email_asked_last_turn":false,"demo_was_proposed_last_turn":true,"content_gating_ask_turn":null} null`},
		{
			"large indexes", `{"query":"q","history":[{"role":"ai","content":"💌","message_index":1e999},{"role":"user","content":"q","message_index":9007199254740993},{"role":"user","content":"u","message_index":9007199254740992}]}`,
			`1 0 null null`,
		},
		{"a number below zero is an index", `{"query":"","history":[{"role":"user","content":"u"},{"role":"ai","content":"💌","message_index":-1},{"role":"ai","content":"b"}]}`, `3 2 null null`},
		{"an index below zero comes first", `{"query":"u","history":[{"role":"ai","content":"a"},{"role":"user","content":"u","message_index":-2},{"role":"ai","content":"b","message_index":-3}]}`, `1 1 null null`},
		{"the index of the query", `{"query":"yes","query_message_index":2,"history":[{"role":"user","content":"yes"},{"role":"ai","content":"a"},{"role":"user","content":"yes"}]}`, `2 1 null null`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h History
			if err := json.Unmarshal([]byte(tc.input), &h); err != nil {
				t.Fatal(err)
			}
			r := Rebuild(h)
			dialog, _ := json.Marshal(r.Dialog)
			profiling, _ := json.Marshal(r.Profiling)
			numbers, _ := json.Marshal([]int{len(r.Messages), r.TurnNumber})
			got := strings.NewReplacer("[", "", "]", "", ",", " ").Replace(string(numbers)) + " " + string(dialog) +
				" " + string(profiling)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("rebuilt (-want +got):\n%s", d)
			}
		})
	}
}

// TestRebuildWarnings holds that whatever was left out of a history is told, and how often.
func TestRebuildWarnings(t *testing.T) {
	for history, want := range map[string][]string{
		`[{"role":"user","content":"a"},{"role":"ai","content":"b"}]`: {},
		`[{"role":"system","content":"a"},{"role":"ai","content":"b"}]`: {
			"unknown_role: rows that are neither the user's nor the assistant's: 1",
		},
		`[null,{"role":7},{"role":"ai","content":"b"}]`: {
			"unknown_role: rows that are neither the user's nor the assistant's: 2",
		},
		`[{"role":"user","content":" "},{"role":"ai","content":"b"}]`: {
			"blank_dropped: rows without text: 1",
		},
		`[{"role":"ai","content":"b"},{"role":"ai","content":"b"},{"role":"ai","content":" b"}]`: {
			"duplicate_dropped: answers that repeat one before them: 2",
		},
		`[{"role":"ai","content":"b"},{"role":"user","content":"a"}]`: {
			"unanswered_user: the history ends with a message that was not answered",
		},
		`[{"role":"ai","content":"b"},{"role":"user","content":"query"},{"role":"ai","content":"c"}]`: {},
		`[{"role":"ai","content":"b"},{"role":"user","content":"query"},{"role":"ai","content":"c"},{"role":"user","content":"d"}]`: {
			"ambiguous_cut: the query stands at row 2 of 4; what comes after it was dropped",
		},
	} {
		var h History
		if err := json.Unmarshal([]byte(`{"query":"query","history":`+history+`}`), &h); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, Rebuild(h).Warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", history, diff)
		}
	}
}

// TestPatchIDs holds that every message has an id of its own, by its turn.
func TestPatchIDs(t *testing.T) {
	for roles, want := range map[string]string{
		"": "", "u": "0:u", "ua": "0:u 0:a", "uaua": "0:u 0:a 1:u 1:a", "aua": "0:a 1:u 1:a", "uua": "0:u 0:u:1 0:a",
		"aau": "0:a 1:a:1 2:u", "uaa": "0:u 0:a 1:a:2",
	} {
		var h History
		for i, role := range roles {
			h.Rows = append(h.Rows, HistoryRow{
				Role: map[rune]any{'u': "user", 'a': "ai"}[role], Content: strings.Repeat("x", i+1),
			})
		}
		data, err := Rebuild(h).Patch()
		if err != nil {
			t.Fatal(err)
		}
		var patch struct{ Messages []struct{ ID string } }
		if err := json.Unmarshal(data, &patch); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range patch.Messages {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %s, want %s", roles, got, want)
		}
	}
}

// TestRebuildLaws holds for every history: a turn for each answer, no blank message, and the same again for what was
// rebuilt.
func TestRebuildLaws(t *testing.T) {
	text := rapid.SampledFrom([]string{"", " ", "yes", "no", "👉 A?", "👇 demo", "💌 mail", "👉 A? 👉 B?", "hello"})
	rapid.Check(t, func(t *rapid.T) {
		h := History{Query: text.Draw(t, "query"), FieldIDs: []string{"a", "b"}}
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			h.Rows = append(h.Rows, HistoryRow{
				Role:    rapid.SampledFrom([]any{"user", "assistant", "tool", nil}).Draw(t, "role"),
				Content: text.Draw(t, "content"),
			})
		}
		r := Rebuild(h)
		again := History{FieldIDs: h.FieldIDs}
		turns := 0
		for _, m := range r.Messages {
			if strings.TrimSpace(m.Content) == "" {
				t.Fatalf("a blank message: %+v", r)
			}
			if m.Role == "assistant" {
				turns++
			}
			again.Rows = append(again.Rows, HistoryRow{Role: string(m.Role), Content: m.Content})
		}
		if turns != r.TurnNumber {
			t.Fatalf("turn_number %d, %d answers", r.TurnNumber, turns)
		}
		second := Rebuild(again)
		second.Warnings = r.Warnings
		if d := cmp.Diff(r, second); d != "" {
			t.Fatalf("rebuilding what was rebuilt differs:\n%s", d)
		}
		if _, err := r.Patch(); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkRebuild(b *testing.B) {
	h := History{Query: "Technical", FieldIDs: []string{"a", "b"}}
	for range 5 {
		h.Rows = append(h.Rows, HistoryRow{Role: "user", Content: "I want to apply"}, HistoryRow{
			Role: "assistant", Content: "👉 What stage is your company at?",
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		Rebuild(h)
	}
}
