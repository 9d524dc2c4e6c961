package flow

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// maxReplyStarts bounds how many braces are tried as the start of JSON in a reply.
const maxReplyStarts = 20

var errNoFacts = errors.New(`the model's reply has no JSON object with a list "facts"; ` +
	`use a model that follows JSON schemas, or turn the facts stage off in memory_pipeline`)

// parseFacts finds {"facts": […]} in a reply, in a code fence or among words. Entries without meaning are left out.
func parseFacts(reply string) ([]factOp, error) {
	rest := reply
	for range maxReplyStarts {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		var body struct {
			Facts *[]json.RawMessage `json:"facts"`
		}
		object := rest[len(rest)-len(after)-1:]
		if json.NewDecoder(strings.NewReader(object)).Decode(&body) == nil && body.Facts != nil {
			return readOps(*body.Facts), nil
		}
		rest = after
	}
	return nil, errNoFacts
}

func readOps(entries []json.RawMessage) []factOp {
	var ops []factOp
	for _, entry := range entries {
		if op, ok := readOp(entry); ok {
			ops = append(ops, op)
		}
	}
	return ops
}

// readOp reads one entry. A value may be a number or a boolean. An invalid source_turn or confidence counts as absent.
func readOp(entry json.RawMessage) (factOp, bool) {
	var raw struct {
		Op         string          `json:"op"`
		Key        string          `json:"key"`
		Value      json.RawMessage `json:"value"`
		SourceTurn json.RawMessage `json:"source_turn"`
		Confidence json.RawMessage `json:"confidence"`
	}
	if json.Unmarshal(entry, &raw) != nil {
		return factOp{}, false
	}
	value, _ := scalarText(raw.Value)
	op := factOp{Op: strings.ToLower(strings.TrimSpace(raw.Op)), Key: raw.Key, Value: value}
	if turn, numeric := numberIn(raw.SourceTurn); numeric && turn >= 1 && turn <= 1e9 {
		op.SourceTurn = int(turn)
	}
	if confidence, numeric := numberIn(raw.Confidence); numeric {
		op.Confidence = &confidence
	}
	_, meant := op.normal(op.SourceTurn)
	return op, meant
}

// scalarText returns a string, number or boolean as text; ok is false for any other value.
func scalarText(raw json.RawMessage) (text string, ok bool) {
	switch {
	case len(raw) == 0 || raw[0] == '[' || raw[0] == '{' || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	}
	return string(raw), true
}

func numberIn(raw json.RawMessage) (value float64, ok bool) {
	text, ok := scalarText(raw)
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return value, ok && err == nil
}
