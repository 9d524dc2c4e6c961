package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

func TestLogHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(telemetry.LogHandler(slog.NewJSONHandler(&out, nil)))
	ctx := trace.Sharing(t.Context(), trace.A(trace.RunID, "r"), trace.A(trace.TestCaseID, "old"),
		trace.A(trace.TestCaseID, "hush"))
	ctx = trace.Masked(ctx, func(s string) string { return strings.ReplaceAll(s, "hush", "***") }, nil)
	ctx = trace.Of(trace.Sharing(ctx, trace.A(trace.ConversationID, "c")), "c")
	refused := &llm.Error{
		Fault: llm.Refused, Model: "openai:m", At: "http://x", Status: 400, Message: "refused: you wrote zebra",
		Hint: "look",
	}
	for _, c := range []struct {
		do   func()
		want map[string]any
	}{
		{func() { log.InfoContext(ctx, "m", "a", "hush!", "n", 3) }, map[string]any{
			"run_id": "r", "test_case_id": "***", "conversation_id": "c", "trace_id": trace.ID("c"), "a": "***!",
			"n": 3.0,
		}},
		{func() { log.With("run_id", "mine").InfoContext(ctx, "m", "test_case_id", "own") }, map[string]any{
			"run_id": "mine", "test_case_id": "own", "conversation_id": "c", "trace_id": trace.ID("c"),
		}},
		{func() { log.WarnContext(ctx, "m", "error", fmt.Errorf("turn 1: %w", refused)) }, map[string]any{
			"run_id": "r", "test_case_id": "***", "conversation_id": "c", "trace_id": trace.ID("c"),
			"error": "turn 1: openai:m at http://x: refused (400) (look)",
		}},
		{func() { // the value of a panic is anything
			log.InfoContext(ctx, "m", "panic", struct{ Token string }{"hush"}, "warnings", []string{"hush", "x"},
				slog.Group("of", "a", "hush"), "none", nil)
		}, map[string]any{
			"run_id": "r", "test_case_id": "***", "conversation_id": "c", "trace_id": trace.ID("c"),
			"panic": "{***}", "warnings": []any{"***", "x"}, "of": map[string]any{"a": "***"}, "none": nil,
		}},
		{func() { log.Warn("m", "error", errors.New("two\nlines")) }, map[string]any{"error": "two lines"}},
	} {
		out.Reset()
		c.do()
		var got map[string]any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"time", "level", "msg"} {
			delete(got, key)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || bytes.Count(out.Bytes(), []byte(`"run_id"`)) > 1 {
			t.Errorf("%s\nwant %v", out.Bytes(), c.want)
		}
		if bytes.Contains(out.Bytes(), []byte("zebra")) {
			t.Errorf("what was said is in the log: %s", out.Bytes())
		}
	}
}
