package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// maxBlocks is how many blocks one streamed answer may have.
const maxBlocks = 1024

// anthropicAssembly puts an answer together from the events of a stream
// (https://platform.claude.com/docs/en/build-with-claude/streaming).
type anthropicAssembly struct {
	request Request
	token   func(string)
	blocks  []*anthropicPart
	answer  anthropicAnswer
	done    bool
}

// anthropicPart is a block whose content is still coming.
type anthropicPart struct {
	block                            map[string]json.RawMessage
	kind                             string
	text, input, thinking, signature strings.Builder
}

type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		Model answeredBy      `json:"model"`
		Usage *anthropicUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Text       string `json:"text"`
		Partial    string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *anthropicUsage `json:"usage"`
	Error *anthropicError `json:"error"`
}

func (a *anthropicAssembly) complete() bool { return a.done }

func (a *anthropicAssembly) add(data []byte) error {
	var e anthropicEvent
	if err := decodeJSON(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "error":
		if e.Error == nil {
			return (&anthropicError{}).fault()
		}
		return e.Error.fault()
	case "message_start":
		if e.Message != nil {
			a.answer.Model = e.Message.Model
			a.count(e.Message.Usage)
		}
	case "content_block_start":
		return a.begin(e)
	case "content_block_delta":
		return a.extend(e)
	case "message_delta":
		a.answer.StopReason = orElse(e.Delta.StopReason, a.answer.StopReason)
		a.count(e.Usage)
	case "message_stop":
		a.done = true
	}
	return nil
}

// count takes a count of tokens. Counts are cumulative, and a later one may leave parts out.
func (a *anthropicAssembly) count(u *anthropicUsage) {
	if u == nil {
		return
	}
	if a.answer.Usage == nil {
		a.answer.Usage = &anthropicUsage{}
	}
	sum := a.answer.Usage
	sum.Input, sum.Written = max(sum.Input, u.Input), max(sum.Written, u.Written)
	sum.Read, sum.Output = max(sum.Read, u.Read), max(sum.Output, u.Output)
}

func (a *anthropicAssembly) begin(e anthropicEvent) error {
	if e.Index != len(a.blocks) || e.Index >= maxBlocks {
		return fmt.Errorf("the answer is not what the protocol says: block %d comes after %d", e.Index, len(a.blocks))
	}
	part := &anthropicPart{}
	if err := decodeJSON(e.Block, &part.block); err != nil {
		return err
	}
	var b anthropicBlock
	if err := decodeJSON(e.Block, &b); err != nil {
		return err
	}
	part.kind = b.Type
	a.blocks = append(a.blocks, part)
	a.say(part, b.Text)
	return nil
}

func (a *anthropicAssembly) extend(e anthropicEvent) error {
	if e.Index < 0 || e.Index >= len(a.blocks) {
		return fmt.Errorf("the answer is not what the protocol says: there is no block %d", e.Index)
	}
	part := a.blocks[e.Index]
	part.input.WriteString(e.Delta.Partial)
	part.thinking.WriteString(e.Delta.Thinking)
	part.signature.WriteString(e.Delta.Signature)
	a.say(part, e.Delta.Text)
	return nil
}

func (a *anthropicAssembly) say(part *anthropicPart, text string) {
	if part.kind != "text" || text == "" {
		return
	}
	part.text.WriteString(text)
	if a.request.Schema == nil {
		a.token(text)
	}
}

// reply returns the whole. A reply of a schema is given out as text only now, when it is whole.
func (a *anthropicAssembly) reply() (chat.Reply, error) {
	for _, part := range a.blocks {
		block, err := part.whole()
		if err != nil {
			return chat.Reply{}, err
		}
		a.answer.Content = append(a.answer.Content, block)
	}
	reply, err := a.answer.reply(replyTool(a.request))
	if err == nil && a.request.Schema != nil && reply.Text != "" {
		a.token(reply.Text)
	}
	return reply, err
}

// whole returns a block as an answer that comes whole has it. Arguments that are no JSON become a text.
func (p *anthropicPart) whole() (json.RawMessage, error) {
	set := func(name string, value any) {
		if data, err := json.Marshal(value); err == nil {
			p.block[name] = data
		}
	}
	switch p.kind {
	case "text":
		set("text", p.text.String())
	case "tool_use":
		if p.input.Len() > 0 {
			p.block["input"] = ParseArgs(p.input.String())
		}
	case "thinking":
		set("thinking", p.thinking.String())
		set("signature", p.signature.String())
	}
	return json.Marshal(p.block)
}
