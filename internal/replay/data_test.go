package replay_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

func TestMatchData(t *testing.T) {
	for _, tc := range []struct {
		name    string
		was, is map[string]any
		want    replay.DataMatch
	}{
		{
			"alike but for writing", map[string]any{"FullName": "Brian  White", "guests": 8.0, "day": "3 June 2026"},
			map[string]any{"full_name": "brian white", "Guests": "8", "day": "2026-06-03"}, replay.DataMatch{Equal: 3},
		},
		{"numbers", map[string]any{"a": "1,000", "b": "2.50", "c": 3.0}, map[string]any{
			"a": 1000.0, "b": "2.5", "c": "3.0",
		}, replay.DataMatch{Equal: 3}},
		{
			"a decimal comma is not guessed at", map[string]any{"a": "2,5"}, map[string]any{"a": 25.0},
			replay.DataMatch{Wrong: 1},
		},
		{
			"a day that can be read in two ways is not guessed at", map[string]any{"a": "03/04/2026"},
			map[string]any{"a": "2026-04-03"}, replay.DataMatch{Wrong: 1},
		},
		{
			"missing and extra", map[string]any{"a": 1.0, "b": 2.0}, map[string]any{"b": 2.0, "c": 3.0},
			replay.DataMatch{Equal: 1, Missing: 1, Extra: 1},
		},
		{
			"null, lists and objects", map[string]any{"a": nil, "b": []any{1.0}, "c": map[string]any{"x": true}},
			map[string]any{"a": nil, "b": []any{1.0}, "c": map[string]any{"x": true}}, replay.DataMatch{Equal: 3},
		},
		{"nothing", nil, nil, replay.DataMatch{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, replay.MatchData(tc.was, tc.is)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
