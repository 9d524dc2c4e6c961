package retrieve

import (
	"encoding/json"
	"errors"
	"strings"
)

// noContext ends what the server says in place of a context that it has not found.
const noContext = "[no-context]"

// found reads the context out of an answer: {"response": "text"}, or, of servers before version 1, the text alone.
func found(data []byte) (string, error) {
	var answer struct {
		Response *string `json:"response"`
	}
	var text string
	switch {
	case json.Unmarshal(data, &answer) == nil && answer.Response != nil:
		text = *answer.Response
	case json.Unmarshal(data, &text) == nil:
	default:
		return "", errors.New("the answer has no text: is this a LightRAG server?")
	}
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, noContext) {
		return "", nil
	}
	return bound(text), nil
}
