package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// maxToolRounds is how often a turn goes on with the results of tools where nothing else is configured.
const maxToolRounds = 8

// modelTurn is one turn of a model: a request, and one more for each round of tools.
type modelTurn struct {
	*modelSession
	values template.Values
	// said is the history with what this turn adds to it.
	said []chat.Message
	// thread is the id by which the provider keeps the first kept messages of said.
	thread string
	kept   int
	// sum is the reply with what the requests of the turn add up to.
	sum chat.Reply
}

// take asks until the model calls no tool. The reply has the usage and the calls also when the turn fails.
func (t *modelTurn) take(ctx context.Context) (chat.Reply, error) {
	for round := 0; ; round++ {
		reply, err := t.ask(ctx, round)
		if err != nil {
			return t.sum, err
		}
		t.add(reply)
		if len(reply.ToolCalls) == 0 || len(t.Tools) == 0 {
			t.sum.ToolCalls = append(t.sum.ToolCalls, reply.ToolCalls...)
			t.said = append(t.said, results(reply.ToolCalls, nil)...)
			return t.sum, nil
		}
		if most := t.rounds(); round == most {
			return t.sum, fmt.Errorf("tool loop: the model still calls tools after %d rounds of results: %s", most,
				calledNames(reply.ToolCalls))
		}
		if err := t.answer(ctx, reply.ToolCalls); err != nil {
			return t.sum, err
		}
	}
}

func (t *modelTurn) rounds() int {
	if t.MaxToolRounds > 0 {
		return t.MaxToolRounds
	}
	return maxToolRounds
}

// ask asks once. A choice that forces a call would never let the model answer, so it holds for the first request only.
func (t *modelTurn) ask(ctx context.Context, round int) (chat.Reply, error) {
	request := t.parameters
	request.Messages, request.Conversation = t.said, &t.values
	if round > 0 && request.ToolChoice != "none" {
		request.ToolChoice = ""
	}
	if t.State != "" {
		request.Messages, request.Thread = t.said[t.kept:], &llm.Thread{State: t.State, ID: t.thread}
	}
	if t.Stream {
		return llm.Stream(ctx, t.Model.Model, request, func(string) {})
	}
	return t.Model.Model.Generate(ctx, request)
}

// add adds a reply to the turn. Its text is that of the last reply, its latency that of all.
func (t *modelTurn) add(reply chat.Reply) {
	t.said = append(t.said, reply.Message())
	if t.State != "" {
		t.thread, t.kept = reply.Thread, len(t.said)
	}
	sum := t.sum
	t.sum = reply
	t.sum.ToolCalls, t.sum.Native = sum.ToolCalls, chat.Native{}
	t.sum.Usage, t.sum.Cost = sum.Usage.Add(reply.Usage), sum.Cost.Add(reply.Cost)
	t.sum.Attempts, t.sum.Latency = sum.Attempts+reply.Attempts, sum.Latency+reply.Latency
	if t.sum.FirstText = sum.FirstText; sum.FirstText == 0 && reply.FirstText > 0 {
		t.sum.FirstText = sum.Latency + reply.FirstText
	}
	if len(t.Tools) > 0 {
		t.sum.Requests = sum.Requests + 1
	}
}

// answer answers calls, one message for each in their order. A tool that was not declared is an error that the model is
// told of; a call for which the author has written no result ends the turn.
func (t *modelTurn) answer(ctx context.Context, calls []chat.ToolCall) error {
	for _, call := range calls {
		answer, err := t.tools.Call(ctx, call.Name, json.RawMessage(llm.FormatArgs(call.Args)))
		if unknown, ok := errors.AsType[*tool.UnknownError](err); ok {
			answer, err = tool.Failure(unknown.Error()), nil
		}
		call.Result = answer.Value
		t.sum.ToolCalls = append(t.sum.ToolCalls, call)
		if err != nil {
			return err
		}
		t.said = append(t.said, chat.Message{
			Role: chat.Tool, ToolCallID: call.ID, Content: chat.Content{Text: answer.Text()},
		})
	}
	return nil
}

func calledNames(calls []chat.ToolCall) string {
	names := make([]string, len(calls))
	for i, call := range calls {
		names[i] = call.Name
	}
	return strings.Join(names, ", ")
}
