package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

func TestContentJSON(t *testing.T) {
	for _, tc := range []struct {
		wire string
		want chat.Content
		text string
	}{
		{`"hi"`, chat.Content{Text: "hi"}, "hi"},
		{`""`, chat.Content{}, ""},
		{`[{"type":"text","value":"a"},{"type":"image","value":"data:image/png;base64,AAAA"},{"type":"file","value":"b"}]`, chat.Content{Blocks: []chat.Block{
			{Type: "text", Value: "a"}, {Type: "image", Value: "data:image/png;base64,AAAA"},
			{Type: "file", Value: "b"},
		}}, "a\n[image data:image/png;base64]\nb"},
		{`[]`, chat.Content{Blocks: []chat.Block{}}, ""},
	} {
		var got chat.Content
		if err := json.Unmarshal([]byte(tc.wire), &got); err != nil {
			t.Fatalf("Unmarshal(%s): %v", tc.wire, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Unmarshal(%s) mismatch (-want +got):\n%s", tc.wire, diff)
		}
		wire, err := json.Marshal(got)
		if err != nil || string(wire) != tc.wire {
			t.Errorf("Marshal = %s, %v; want %s", wire, err, tc.wire)
		}
		if got.String() != tc.text || got.Empty() != (tc.text == "") {
			t.Errorf("String = %q, Empty = %v; want %q", got.String(), got.Empty(), tc.text)
		}
	}
	var c chat.Content
	if err := json.Unmarshal([]byte(`null`), &c); err != nil || !c.Empty() {
		t.Errorf("null = %+v, %v", c, err)
	}
	if err := json.Unmarshal([]byte(`{"a":1}`), &c); err == nil {
		t.Error("an object counts as content")
	}
}

func TestFormat(t *testing.T) {
	got := chat.Format([]chat.Message{
		chat.NewMessage(chat.User, "two\nlines"),
		{Role: chat.Assistant, Content: chat.Content{Text: "ok"}, ToolCalls: []chat.ToolCall{{
			Name: "find", Args: json.RawMessage(`{"q":1}`),
		}}},
	})
	if want := "user: two\nlines\n\nassistant: ok\n[calls find {\"q\":1}]"; got != want {
		t.Errorf("Format = %q, want %q", got, want)
	}
}
