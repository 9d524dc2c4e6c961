package variants_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
)

// A watch without an alarm says what it could not have seen: looks without a session, sessions that are lost, and that
// there was nothing at all.
func TestWatchTrend(t *testing.T) {
	compared := map[string]replay.Watched{replay.CompletionMatch: {N: 20, Mean: new(0.0)}}
	nothing := map[string]replay.Watched{replay.CompletionMatch: {}}
	for _, tc := range []struct {
		name  string
		looks []replay.Interim
		want  string
	}{
		{"none", nil, "No look yet."},
		{"good nights", []replay.Interim{{New: 20, Sessions: 20, Metrics: compared}}, "No alarm in 1 look."},
		{"a night without a session", []replay.Interim{{New: 20, Sessions: 20, Metrics: compared}, {Sessions: 20,
			Metrics: compared}}, "No alarm in 2 looks, 1 of them without a new session."},
		{
			"a crash",
			[]replay.Interim{{New: 20, Sessions: 20, Metrics: compared}, {New: 30, Lost: 30, Sessions: 50,
				Metrics: compared}},
			"No alarm in 2 looks; 30 of 50 sessions lost, as an agent failed.",
		},
		{"nothing but crashes", []replay.Interim{{New: 30, Lost: 30, Sessions: 30, Metrics: nothing}},
			"Nothing could be compared in 1 look: nothing could have alarmed."},
		{"nothing", []replay.Interim{{Metrics: nothing}},
			"Nothing could be compared in 1 look: nothing could have alarmed."},
	} {
		if said := variants.WatchTrend(&replay.WatchReport{Interims: tc.looks},
			[]string{replay.CompletionMatch}); !strings.Contains(said, tc.want) {
			t.Errorf("%s: %q lacks %q", tc.name, said, tc.want)
		}
	}
}
