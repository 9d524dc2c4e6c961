package sitebot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// HistoryRow is a message of a recorded conversation.
type HistoryRow struct {
	Role    chat.Role
	Content string
	index   *sortKey // nil without a numeric message_index
	// invalidIndex is true for a message_index that is not a number.
	invalidIndex bool
}

// HistoryRows are the messages of a recorded conversation in the order of their file.
type HistoryRows []HistoryRow

// UnmarshalJSON reads the messages as OpenAI, LangChain, Gemini and similar programs store them. Any row that it cannot
// read is an error, because without that row the history would be another one.
func (rows *HistoryRows) UnmarshalJSON(data []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*rows = make(HistoryRows, 0, len(all))
	for i, one := range all {
		r, err := readRow(one)
		if err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		*rows = append(*rows, r)
	}
	return nil
}

func readRow(data json.RawMessage) (r HistoryRow, err error) {
	if !bytes.HasPrefix(data, []byte("{")) {
		return r, errors.New("it is not an object with role and content")
	}
	var keys map[string]json.RawMessage // a struct would also accept "Role" for "role"
	if err := json.Unmarshal(data, &keys); err != nil {
		return r, err
	}
	if r.Role, err = roleOf(keys); err != nil {
		return r, err
	}
	if r.Role == chat.User || r.Role == chat.Assistant { // others have any content and are dropped
		if r.Content, err = contentOf(keys); err != nil {
			return r, err
		}
	}
	if index := keys["message_index"]; !isNull(index) {
		key, ok := readIndex(index)
		r.invalidIndex = !ok
		if ok {
			r.index = &key
		}
	}
	return r, nil
}

// isNull reports whether a key is missing or null.
func isNull(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// roleOf reads the role, or the type of a LangChain message.
func roleOf(keys map[string]json.RawMessage) (chat.Role, error) {
	data := keys["role"]
	if isNull(data) {
		data = keys["type"]
	}
	if isNull(data) {
		return "", errors.New("it has no role")
	}
	var role string
	if err := json.Unmarshal(data, &role); err != nil {
		return "", errors.New("its role is not a text")
	}
	switch strings.ToLower(strings.TrimSpace(role)) {
	case "user", "human":
		return chat.User, nil
	case "assistant", "ai", "model":
		return chat.Assistant, nil
	case "system", "developer":
		return chat.System, nil
	case "tool", "function":
		return chat.Tool, nil
	}
	return "", fmt.Errorf("unknown role %.40q (use user, assistant, system or tool)", role)
}

// contentOf reads the text of a message, whichever key has it. Null is a blank text, and so is the content of a message
// that has only tool calls.
func contentOf(keys map[string]json.RawMessage) (string, error) {
	var data struct {
		Content json.RawMessage `json:"content"`
	}
	if inner := keys["data"]; bytes.HasPrefix(inner, []byte("{")) {
		if err := json.Unmarshal(inner, &data); err != nil {
			return "", err
		}
	}
	blank := !isNull(keys["tool_calls"])
	for _, content := range []json.RawMessage{keys["content"], keys["text"], keys["parts"], data.Content} {
		if !isNull(content) {
			return textOf(content)
		}
		blank = blank || content != nil
	}
	if !blank {
		return "", errors.New("it has no content")
	}
	return "", nil
}

// textOf reads a text, or the texts of a list of content parts, one per line.
func textOf(data json.RawMessage) (text string, err error) {
	if json.Unmarshal(data, &text) == nil {
		return text, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return "", errors.New("its content is neither a text nor a list of parts")
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		var one struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if json.Unmarshal(part, &texts[i]) == nil && !isNull(part) {
			continue
		}
		if err := json.Unmarshal(part, &one); err != nil || one.Text == nil {
			return "", fmt.Errorf("part %d of its content has no text", i+1)
		}
		texts[i] = *one.Text
	}
	return strings.Join(texts, "\n"), nil
}

// HistoryIndex is a message_index: a number, also as text.
type HistoryIndex float64

// UnmarshalJSON reads a number or a text of digits.
func (i *HistoryIndex) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	key, ok := readIndex(data)
	if !ok {
		return errors.New("query_message_index is not a number")
	}
	*i = HistoryIndex(key.near)
	return nil
}

// readIndex reads a number, also as text; true and false are not numbers.
func readIndex(data json.RawMessage) (sortKey, bool) {
	number := string(data)
	if bytes.HasPrefix(data, []byte(`"`)) {
		if err := json.Unmarshal(data, &number); err != nil {
			return sortKey{}, false
		}
		number = strings.TrimSpace(number)
	}
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
		return integerKey(whole), true
	}
	if strings.Trim(number, "0123456789+-.eE") != "" { // such as NaN, 0x10 and true
		return sortKey{}, false
	}
	near, err := strconv.ParseFloat(number, 64)
	return sortKey{near: near}, err == nil || errors.Is(err, strconv.ErrRange) // one that is too large is infinite
}

// sortKey is a number to sort by: the nearest float, and what a large whole number, such as a message's id, has beyond
// it.
type sortKey struct {
	near   float64
	beyond int64
}

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.near, other.near), cmp.Compare(k.beyond, other.beyond))
}

func integerKey(n int64) sortKey {
	near := float64(n)
	const mostInt = 1 << 62 // from here on the nearest float may be too large for an int64
	if n > mostInt || n < -mostInt {
		return sortKey{near: near}
	}
	return sortKey{near, n - int64(near)}
}
