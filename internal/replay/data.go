package replay

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// DataMatch compares what a replay has collected with what was collected in the log. Fields and values count as equal
// when they are so after case, white space and the ways to write numbers and dates have been made alike.
type DataMatch struct {
	// Equal, Wrong and Missing count the log's fields, Extra the replay's own.
	Equal   int `json:"equal"`
	Wrong   int `json:"wrong"`
	Missing int `json:"missing"`
	Extra   int `json:"extra"`
}

// accuracy is the share of fields that both have with equal values, nil where nothing was collected.
func accuracy(was, is map[string]any) *float64 {
	if len(was) == 0 {
		return nil
	}
	equal := 0
	for field, value := range was {
		if got, ok := is[field]; ok && reflect.DeepEqual(value, got) {
			equal++
		}
	}
	return new(float64(equal) / float64(len(was)))
}

// MatchData compares with fields and values made alike.
func MatchData(was, is map[string]any) DataMatch {
	wanted, got := normalFields(was), normalFields(is)
	var m DataMatch
	for field, value := range wanted {
		switch other, ok := got[field]; {
		case !ok:
			m.Missing++
		case other == value:
			m.Equal++
		default:
			m.Wrong++
		}
	}
	for field := range got {
		if _, ok := wanted[field]; !ok {
			m.Extra++
		}
	}
	return m
}

func normalFields(data map[string]any) map[string]string {
	fields := make(map[string]string, len(data))
	for field, value := range data {
		fields[normalField(field)] = normalValue(value)
	}
	return fields
}

// normalField makes FullName, full_name and "full name" alike.
func normalField(field string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, field)
}

// days are the ways to write a day that cannot be mistaken. 03/04/2026 can, and stays as it is.
var days = []string{
	time.DateOnly, "2006/01/02", "2 January 2006", "January 2 2006", "January 2, 2006", "Jan 2 2006", "Jan 2, 2006",
	"2 Jan 2006", "02.01.2006", "2.1.2006",
}

// grouped is the comma between thousands. Elsewhere a comma may be a decimal one, which this does not guess.
var grouped = text.Regexp(`(\d),(\d{3}\b)`)

func normalValue(value any) string {
	text, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value) // what came from JSON goes back into it
		if err != nil {
			return ""
		}
		text = string(data)
	}
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	if number, err := strconv.ParseFloat(grouped().ReplaceAllString(text, "$1$2"), 64); err == nil {
		return strconv.FormatFloat(number, 'g', -1, 64)
	}
	for _, layout := range days {
		if day, err := time.Parse(layout, text); err == nil {
			return day.Format(time.DateOnly)
		}
	}
	return text
}

// fields returns how the log names the fields that its agents, who write them as flow.NormalKey does, collect:
// CustomerName, which they call customername. Of several names for one field, the first by the alphabet counts. It is
// nil where all names are alike.
func (s *Session) fields() map[string]string {
	var names map[string]string
	for _, name := range slices.Sorted(maps.Keys(s.Data)) {
		key := flow.NormalKey(name)
		if _, same := s.Data[key]; same || key == "" || names[key] != "" {
			continue
		}
		if names == nil {
			names = map[string]string{}
		}
		names[key] = name
	}
	return names
}

// renameFields renames fields.
func renameFields(names map[string]string, data map[string]any) map[string]any {
	if len(names) == 0 {
		return data
	}
	renamed := make(map[string]any, len(data))
	for key, value := range data {
		if name := names[key]; name != "" && data[name] == nil {
			key = name
		}
		renamed[key] = value
	}
	return renamed
}

// logged returns how the session calls the states that its agents, whose names are ids of nodes, call by flow.NodeID. A
// name that could stand for two states stands for itself. It is nil where all names are ids.
func (s *Session) logged() map[string]string {
	var names map[string]string
	for i := range s.Messages {
		for _, state := range [2]string{s.Messages[i].Before, s.Messages[i].After} {
			id := flow.NodeID(state)
			if id == state || state == "" {
				continue
			}
			if names == nil {
				names = map[string]string{}
			}
			if other, taken := names[id]; taken && other != state {
				state = id
			}
			names[id] = state
		}
	}
	return names
}
