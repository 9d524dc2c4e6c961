package sitebot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
)

// UnmarshalJSON reads a row by the exact names of its parts. What is no object is an empty row, which is dropped but
// keeps its place.
func (r *HistoryRow) UnmarshalJSON(data []byte) error {
	*r = HistoryRow{}
	if !bytes.HasPrefix(data, []byte("{")) {
		return nil
	}
	var parts map[string]json.RawMessage // a struct would also take "Role" for "role"
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if text, ok := textOf(parts["role"]); ok {
		r.Role = text
	}
	if text, ok := textOf(parts["content"]); ok {
		r.Content = text
	}
	if index := parts["message_index"]; isNumber(index) {
		r.Index = json.Number(index)
	}
	return nil
}

// textOf reads a JSON string; anything else is none.
func textOf(data json.RawMessage) (text string, ok bool) {
	if !bytes.HasPrefix(data, []byte(`"`)) {
		return "", false
	}
	return text, json.Unmarshal(data, &text) == nil
}

func isNumber(data json.RawMessage) bool {
	return len(data) > 0 && (data[0] == '-' || '0' <= data[0] && data[0] <= '9')
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

// numericIndex returns an index that is a number; true and false are none.
func numericIndex(index any) (sortKey, bool) {
	switch n := index.(type) {
	case float64:
		return sortKey{near: n}, !math.IsNaN(n)
	case int:
		return integerKey(int64(n)), true
	case json.Number:
		if whole, err := n.Int64(); err == nil {
			return integerKey(whole), true
		}
		near, _ := strconv.ParseFloat(n.String(), 64) // one that is too large is infinite
		return sortKey{near: near}, !math.IsNaN(near)
	}
	return sortKey{}, false
}

func integerKey(n int64) sortKey {
	near := float64(n)
	const mostInt = 1 << 62 // from here on the nearest float may be too large for an int64
	if n > mostInt || n < -mostInt {
		return sortKey{near: near}
	}
	return sortKey{near, n - int64(near)}
}
