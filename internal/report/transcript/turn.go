package transcript

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func turnOf(x, before result.Turn, of Item, said Messages) Turn {
	t := Turn{
		N: x.Index, User: MessageOf("user", x.Input, nil, said),
		Reply:     MessageOf("assistant", chat.Content{Text: x.Output}, marksOf(of.Assertions), said),
		StateJSON: Pretty(x.State), CallsLeft: max(0, len(x.ToolCalls)-maxCalls),
	}
	t.State, t.StateLeft = deltaOf(before.State, x.State)
	t.Learned, t.LearnedLeft = factsDelta(before.State, x.State)
	t.NoReply = strings.TrimSpace(x.Output) == "" && slices.ContainsFunc(of.Failures, func(f result.Failure) bool {
		return f.Code == result.EngineError || f.Code == result.Timeout
	})
	for _, c := range x.ToolCalls[:min(len(x.ToolCalls), maxCalls)] {
		call := ToolCall{Name: text.OneLine(c.Name, 200), Args: Pretty(c.Args), Result: Pretty(c.Result)}
		if c.LatencyMS > 0 {
			call.Took = text.Milliseconds(c.LatencyMS)
		}
		t.Calls = append(t.Calls, call)
	}
	t.Facts = turnFacts(x)
	return t
}
