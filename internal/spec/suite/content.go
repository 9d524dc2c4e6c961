package suite

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Limits of attached files.
const (
	maxFileBytes  = 1 << 20
	maxImageBytes = 10 << 20
)

// messages reads a system prompt and earlier messages: a text (one user message), one message, or a list of them.
func (l *loader) messages(n source.Node) []chat.Message {
	switch n.Kind {
	case source.Map:
		return []chat.Message{l.message(n)}
	case source.List:
		messages := make([]chat.Message, 0, len(n.Items))
		for _, item := range n.List() {
			messages = append(messages, l.message(item))
		}
		return messages
	}
	return []chat.Message{chat.NewMessage(chat.User, n.Text())}
}

// messageKeys are the keys of a message.
type messageKeys struct {
	Role       chat.Role   `key:"role" required:"a message needs a role" enum:"system,user,assistant,tool"`
	Content    source.Node `key:"content" schema:"content" alias:"input" required:"a message needs content"`
	ToolCallID string      `key:"tool_call_id"`
}

// message reads {role, content}; input is another name for content.
func (l *loader) message(n source.Node) chat.Message {
	var keys messageKeys
	source.Decode(n, &keys)
	m := chat.Message{Role: keys.Role, ToolCallID: keys.ToolCallID}
	if keys.Content.Kind != source.Null {
		m.Content = l.content(keys.Content)
	}
	return m
}

// content reads text, a list of blocks, or a mapping, which becomes JSON text.
func (l *loader) content(n source.Node) chat.Content {
	switch n.Kind {
	case source.Map:
		return chat.Content{Text: asJSON(n.Value)}
	case source.List:
		c := chat.Content{Blocks: []chat.Block{}}
		for _, item := range n.List() {
			c.Blocks = append(c.Blocks, l.block(item))
		}
		return c
	}
	return chat.Content{Text: n.Text()}
}

func (l *loader) block(n source.Node) chat.Block {
	keys := struct {
		Type  string `key:"type" enum:"text,file,image"`
		Value string `key:"value"`
	}{}
	source.Decode(n, &keys)
	b := chat.Block{Type: keys.Type, Value: keys.Value}
	if n.Kind == source.Map && (!n.Has("type") || !n.Has("value")) {
		n.Report("write {type: text|file|image, value: …}", "a content block needs a type and a value")
		return b
	}
	switch {
	case b.Type == "file":
		b.Value = string(l.attachment(n.Field("value"), b.Value, maxFileBytes))
	case b.Type == "image" && !isURL(b.Value):
		data := l.attachment(n.Field("value"), b.Value, maxImageBytes)
		kind := mime.TypeByExtension(filepath.Ext(b.Value))
		if kind == "" {
			kind = "application/octet-stream"
		}
		b.Value = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
	}
	return b
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "data:")
}

func (l *loader) attachment(n source.Node, name string, most int64) []byte {
	path := l.resolve(name)
	l.readsFiles = true
	data, err := readBounded(l.options.Files, path, most)
	if err != nil {
		n.Report(fmt.Sprintf("paths start from the suite's folder; files may have up to %d MB", most>>20),
			"cannot read the attached file: %v", err)
		return []byte(name)
	}
	return data
}

// reference reads an expected output: text, a mapping (as JSON), content blocks, or messages, of which the assistant's
// count.
func (l *loader) reference(n source.Node) string {
	if n.Kind != source.List {
		return l.content(n).String()
	}
	if len(n.Items) > 0 && n.Items[0].Kind == source.Map {
		if _, isMessage := n.Items[0].Get("role"); isMessage {
			var said []string
			for _, item := range n.List() {
				if text, ok := l.expectedMessage(item); ok {
					said = append(said, text)
				}
			}
			return strings.Join(said, "\n\n")
		}
	}
	if isBlocks(n.Value) {
		return l.content(n).String()
	}
	return asJSON(n.Value)
}

func isBlocks(v source.Value) bool {
	for _, item := range v.Items {
		_, hasType := item.Get("type")
		_, hasValue := item.Get("value")
		if !hasType || !hasValue {
			return false
		}
	}
	return len(v.Items) > 0
}

func asJSON(v source.Value) string {
	data, err := json.Marshal(v.Any())
	if err != nil {
		return ""
	}
	return string(data)
}
