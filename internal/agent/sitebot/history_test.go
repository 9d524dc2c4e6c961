package sitebot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

func TestRebuild(t *testing.T) {
	for _, tc := range []struct{ name, input, want string }{
		{
			"the answers to two questions",
			`{"query":"Technical","field_ids":["company_stage","profile_type"],"history":[
				{"role":"user","content":"I want to apply"},
				{"role":"assistant","content":"👉 What stage is your company at?"},{"role":"user","content":"I'm exploring an idea"},
				{"role":"assistant","content":"👉 Business or technical profile?"}]}`,
			`4 2 null {"collected_values":{"company_stage":"I'm exploring an idea"},"last_extraction_turn":2}`,
		},
		{"empty", `{"query":"x","history":[]}`, `0 0 null null`},
		{"no history", `{"query":"x"}`, `0 0 null null`},
		{"rows without words", `{"query":"x","history":[{"role":"system","content":7},
				{"role":"tool"},
				{"role":"AI","content":null},
				{"role":"Human","text":" "},
				{"role":"ai","tool_calls":[{}]}]}`, `0 0 null null`},
		{"cut at the last", `{"query":" yes ","history":[{"role":"user","content":"yes"},
				{"role":"ai","content":"a"},
				{"role":"user","content":"yes "},
				{"role":"ai","content":"b"}]}`, `2 1 null null`},
		{"case counts", `{"query":"Yes","history":[{"role":"user","content":"yes"}]}`, `1 0 null null`},
		{
			"sorted", `{"query":"","history":[{"role":"user","content":"a","message_index":1.5},
				{"role":"user","content":"c","message_index":true},
				{"role":"ai","content":"b 💌","message_index":"1"}]}`,
			`3 1 {"email_asked_last_turn":true,"demo_was_proposed_last_turn":false,"content_gating_ask_turn":1} null`,
		},
		{"repeats", `{"query":"","history":[{"role":"ai","content":"a"},
				{"role":"ai","content":" a "},
				{"role":"ai","content":"b"},
				{"role":"ai","content":"a"},
				{"role":"user","content":"u"},
				{"role":"ai","content":"a"}]}`, `4 3 null null`},
		{"a blank user does not count", `{"query":"","history":[{"role":"ai","content":"a"},
				{"role":"user","content":" "},
				{"role":"ai","content":"a"}]}`, `1 1 null null`},
		{
			"two markers, one answer", `{"query":"","field_ids":["a","b","c"],"history":[
				{"role":"ai","content":"👉 A? 👉 B?"},
				{"role":"user","content":" both "},
				{"role":"ai","content":"👇"}]}`, `3 2 {"email_asked_last_turn":false,"demo_was_proposed_last_turn":true,"content_gating_ask_turn":null} {"collected_values":{"a":"both","b":"both"},"last_extraction_turn":-1}`,
		},
		{
			"a question without an answer takes no field",
			`{"query":"","field_ids":["a"],"history":[{"role":"ai","content":"👉 A?"},
				{"role":"ai","content":"👉 Again?"},
				{"role":"user","content":"x"}]}`,
			`3 2 null {"collected_values":{"a":"x"},"last_extraction_turn":-1}`,
		},
		{
			"pending without fields", `{"query":"q","history":[{"role":"user","content":"u"},
				{"role":"ai","content":"👉 A?"},
				{"role":"user","content":"q"}]}`,
			`2 1 null {"collected_values":{},"last_extraction_turn":1}`,
		},
		{
			"the user's emojis mean nothing",
			`{"query":"","field_ids":["a"],"history":[{"role":"user","content":"👉 💌"},{"role":"user","content":"x"}]}`,
			`2 0 null null`,
		},
		{
			"large indexes", `{"query":"q","history":[{"role":"ai","content":"💌","message_index":"1e999"},
				{"role":"user","content":"q","message_index":9007199254740993},
				{"role":"user","content":"u","message_index":9007199254740992}]}`,
			`1 0 null null`,
		},
		{"a number below zero is an index", `{"query":"","history":[{"role":"user","content":"u"},
				{"role":"ai","content":"💌","message_index":-1},
				{"role":"ai","content":"b"}]}`, `3 2 null null`},
		{"a leading row without an index stays first", `{"query":"u","history":[{"role":"ai","content":"a"},
				{"role":"user","content":"u","message_index":-2},
				{"role":"ai","content":"b","message_index":-3}]}`, `2 2 null null`},
		{"the index of the query as text", `{"query":"yes","query_message_index":" 12","history":[
				{"role":"user","content":"yes","message_index":"12"},
				{"role":"ai","content":"a","message_index":"9"}]}`, `1 1 null null`},
		{"a query outside of the history", `{"query":"No","query_in_history":false,"history":[
				{"role":"user","content":"No"},
				{"role":"ai","content":"👉 Why?"}]}`, `2 1 null {"collected_values":{},"last_extraction_turn":1}`},
		{"a query inside of the history", `{"query":"No","query_in_history":true,"history":[
				{"role":"user","content":"No"},
				{"role":"ai","content":"👉 Why?"}]}`, `0 0 null null`},
		{"the index of the query", `{"query":"yes","query_message_index":2,"history":[{"role":"user","content":"yes"},
				{"role":"ai","content":"a"},
				{"role":"user","content":"yes"}]}`, `2 1 null null`},
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
		`[{"role":"system","content":"a"},{"role":"ai","content":"b"},{"role":"Tool ","content":{}}]`: {
			"role_dropped: rows of system, developer or tool messages: 2",
		},
		`[{"role":"user","content":"a","message_index":"x"},{"role":"ai","content":"b","message_index":null}]`: {
			"index_missing: rows without a numeric message_index: 1 of 2; each stays after the row before it",
		},
		`[{"role":"user","content":"a"},{"role":"ai","content":"b","message_index":"0"}]`: {
			"index_missing: rows without a numeric message_index: 1 of 2; each stays after the row before it",
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
		`[{"role":"ai","content":"b"},
				{"role":"user","content":"query"},
				{"role":"ai","content":"c"},
				{"role":"user","content":"d"}]`: {
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

// TestHistoryShapes checks that one conversation gives the same messages in the format of every program, and that no
// row is skipped in others.
func TestHistoryShapes(t *testing.T) {
	want := []RebuiltMessage{{chat.User, "Hi"}, {chat.Assistant, "Yes?\nYes."}}
	for _, rows := range []string{
		`{"role":"user","content":"Hi"},{"role":"assistant","content":"Yes?\nYes."}`,
		`{"role":"USER ","content":[{"type":"text","text":"Hi"}]},{"role":"AI","content":["Yes?","Yes."]}`,
		`{"type":"human","content":"Hi"},{"type":"ai","data":{"content":"Yes?\nYes."}}`,
		`{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"text":"Yes?"},{"text":"Yes."}]}`,
		`{"role":null,"type":"Human","text":"Hi"},{"role":"Assistant","content":null,"text":"Yes?\nYes."}`,
		`{"role":"ai","text":"Yes?\nYes.","message_index":11},{"role":"user","text":"Hi","message_index":"10"}`,
	} {
		var h History
		if err := json.Unmarshal([]byte(`{"history":[`+rows+`]}`), &h); err != nil {
			t.Errorf("%s: %v", rows, err)
		}
		r := Rebuild(h)
		if d := cmp.Diff(want, r.Messages); d != "" || len(r.Warnings) > 0 {
			t.Errorf("%s: warnings %v, messages (-want +got):\n%s", rows, r.Warnings, d)
		}
	}
	for row, want := range map[string]string{
		`null`:                                       "it is not an object",
		`"Yes?"`:                                     "it is not an object",
		`{"content":"Yes?"}`:                         "it has no role",
		`{"Role":"ai","content":"Yes?"}`:             "it has no role",
		`{"role":7,"content":"Yes?"}`:                "its role is not a text",
		`{"role":"bot","content":"Yes?"}`:            `unknown role "bot"`,
		`{"role":"ai","saying":"Yes?"}`:              "it has no content",
		`{"role":"ai","Content":"Yes?"}`:             "it has no content",
		`{"role":"ai","content":5}`:                  "its content is neither",
		`{"role":"ai","content":{"text":"Yes?"}}`:    "its content is neither",
		`{"role":"ai","content":[{"type":"image"}]}`: "part 1 of its content has no text",
		`{"role":"ai","content":["Yes?",null]}`:      "part 2 of its content has no text",
	} {
		var rows HistoryRows
		err := json.Unmarshal([]byte(`[{"role":"user","content":"Hi"},`+row+`]`), &rows)
		if err == nil || !strings.HasPrefix(err.Error(), "row 2: "+want) {
			t.Errorf("%s: error %v, want %q", row, err, want)
		}
	}
}

// TestHistoryOrder checks that rows are sorted by their indices and that rows without one stay after the row before.
func TestHistoryOrder(t *testing.T) {
	for indices, want := range map[string]string{
		`100 101 null 103`:                  "0 1 2 3",
		`0 0 null 2 1`:                      "0 1 2 4 3",
		`"10" "9" " 8 " "007"`:              "3 2 1 0",
		`null null 2 1`:                     "0 1 3 2",
		`3 null null 1`:                     "3 0 1 2",
		`null true "x" null`:                "0 1 2 3",
		`-1 "-2" 1.5 "1e0"`:                 "1 0 3 2",
		`"NaN" 2 1`:                         "0 2 1",
		`"0x10" 2 "1_0" 1`:                  "0 3 1 2",
		`9007199254740993 9007199254740992`: "1 0",
	} {
		var rows []string
		for i, index := range strings.Split(strings.ReplaceAll(indices, `" 8 "`, `"\u00a08\t"`), " ") {
			rows = append(rows, fmt.Sprintf(`{"role":"user","content":"%d","message_index":%s}`, i, index))
		}
		var h History
		if err := json.Unmarshal([]byte(`{"history":[`+strings.Join(rows, ",")+`]}`), &h); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range Rebuild(h).Messages {
			got = append(got, m.Content)
		}
		if order := strings.Join(got, " "); order != want {
			t.Errorf("%s: order %s, want %s", indices, order, want)
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
				Role: map[rune]chat.Role{'u': chat.User, 'a': chat.Assistant}[role], Content: strings.Repeat("x", i+1),
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
				Role:    rapid.SampledFrom([]chat.Role{chat.User, chat.Assistant, chat.Tool, ""}).Draw(t, "role"),
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
			again.Rows = append(again.Rows, HistoryRow{Role: m.Role, Content: m.Content})
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
