package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Change is a leaf that a turn changed.
type Change struct {
	Path string
	// Change is added, changed or removed.
	Change, Old, New string
}

// Limits of one comparison of states.
const (
	maxLeaves = 5_000
	maxDelta  = 300
	maxDepth  = 60
)

// deltaOf returns what changed from one state to the next, leaf by leaf, in the order of the paths. No state after says
// nothing of a change.
func deltaOf(before, after json.RawMessage) (rows []Change, left int) {
	if len(after) == 0 {
		return nil, 0
	}
	return changes(leavesOf(before), leavesOf(after))
}

// changes compares leaves. Left counts the changes beyond those that are shown.
func changes(was, now map[string]string) (rows []Change, left int) {
	paths := maps.Clone(now)
	maps.Copy(paths, was)
	for _, path := range slices.SortedFunc(maps.Keys(paths), byPath) {
		older, had := was[path]
		newer, has := now[path]
		row := Change{Path: text.OneLine(path, 200), Old: text.OneLine(older, 400), New: text.OneLine(newer, 400)}
		switch {
		case had && has && older == newer:
			continue
		case had && has:
			row.Change = "changed"
		case has:
			row.Change = "added"
		default:
			row.Change = "removed"
		}
		if len(rows) == maxDelta {
			left++
			continue
		}
		rows = append(rows, row)
	}
	return rows, left
}

// byPath orders paths so that items[2] comes before items[10].
func byPath(a, b string) int {
	one, two := strings.FieldsFunc(a, atPart), strings.FieldsFunc(b, atPart)
	for i := range min(len(one), len(two)) {
		n, errN := strconv.Atoi(one[i])
		m, errM := strconv.Atoi(two[i])
		if errN == nil && errM == nil && n != m {
			return n - m
		}
		if c := strings.Compare(one[i], two[i]); c != 0 {
			return c
		}
	}
	if len(one) != len(two) {
		return len(one) - len(two)
	}
	return strings.Compare(a, b)
}

func atPart(r rune) bool { return r == '.' || r == '[' || r == ']' }

// leavesOf returns the leaves of a document by their paths, such as profile.town and items[0].name. An empty object or
// list is a leaf.
func leavesOf(raw json.RawMessage) map[string]string {
	leaves := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var doc any
	if len(raw) == 0 || len(raw) > 4<<20 || decoder.Decode(&doc) != nil || doc == nil {
		return leaves
	}
	gather(leaves, "", doc, 0)
	return leaves
}

func gather(leaves map[string]string, path string, value any, depth int) {
	if len(leaves) >= maxLeaves {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 || depth >= maxDepth {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := key
			if path != "" {
				below = path + "." + key
			}
			gather(leaves, below, v[key], depth+1)
		}
		return
	case []any:
		if len(v) == 0 || depth >= maxDepth {
			break
		}
		for i, x := range v {
			gather(leaves, fmt.Sprintf("%s[%d]", path, i), x, depth+1)
		}
		return
	case string:
		leaves[path] = v
		return
	}
	written, err := json.Marshal(value)
	if err != nil {
		return
	}
	leaves[path] = string(written)
}

// factsDelta returns what a turn changed of the facts that a state holds: a list facts of {key, value}, or an object,
// at the top or in memory.
func factsDelta(before, after json.RawMessage) (rows []Change, left int) {
	if len(after) == 0 {
		return nil, 0
	}
	return changes(knownFacts(before), knownFacts(after))
}

// knownFacts returns the facts of a state by their keys.
func knownFacts(state json.RawMessage) map[string]string {
	known := map[string]string{}
	var shown struct {
		Facts  json.RawMessage `json:"facts"`
		Memory struct {
			Facts json.RawMessage `json:"facts"`
		} `json:"memory"`
	}
	if json.Unmarshal(state, &shown) != nil {
		_ = json.Unmarshal(state, &struct {
			Facts *json.RawMessage `json:"facts"`
		}{&shown.Facts}) // a memory of another shape has no facts
	}
	for _, raw := range []json.RawMessage{shown.Facts, shown.Memory.Facts} {
		var list []struct {
			Key   string          `json:"key"`
			Value json.RawMessage `json:"value"`
		}
		if json.Unmarshal(raw, &list) != nil {
			maps.Copy(known, leavesOf(raw))
			continue
		}
		for _, f := range list {
			if f.Key != "" {
				known[f.Key] = plainValue(f.Value)
			}
		}
	}
	return known
}

// plainValue writes the value of a fact: a text as it is, anything else as JSON.
func plainValue(raw json.RawMessage) string {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
