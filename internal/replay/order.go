package replay

import (
	"encoding/json"
	"slices"
)

// SortTied puts events of one session and one time, which come in the order in which they arrived, into their order:
// those that have a turn number by that number, in the places that they hold among the others.
func SortTied(tied []Event) {
	if len(tied) < 2 {
		return
	}
	type numbered struct {
		event Event
		turn  float64
	}
	var places []int
	var events []numbered
	for i := range tied {
		var metrics struct {
			Turn *float64 `json:"turn_number"`
		}
		if json.Unmarshal(orNull(tied[i].Metrics), &metrics) == nil && metrics.Turn != nil {
			places = append(places, i)
			events = append(events, numbered{tied[i], *metrics.Turn})
		}
	}
	slices.SortStableFunc(events, func(a, b numbered) int {
		switch {
		case a.turn < b.turn:
			return -1
		case a.turn > b.turn:
			return 1
		}
		return 0
	})
	for i, at := range places {
		tied[at] = events[i].event
	}
}
