package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A watch in which a loss could not be seen does not end with exit code 0.
func TestWatchEnds(t *testing.T) {
	compared := map[string]replay.Watched{replay.Answered: {N: 1}}
	for name, tc := range map[string]struct {
		report replay.WatchReport
		code   int
		says   string
	}{
		"no look":          {replay.WatchReport{}, 0, ""},
		"no alarm":         {replay.WatchReport{Interims: []replay.Interim{{Metrics: compared}}}, 0, ""},
		"nothing compared": {replay.WatchReport{Interims: []replay.Interim{{}}}, result.ExitNotRun, ""},
		"reported now": {
			replay.WatchReport{Interims: []replay.Interim{
				{New: 1, Concealed: []string{"x"}}, {New: 2, Lost: 1, Metrics: compared},
			}}, 0, "",
		},
		"unreported, then a look without sessions": {
			replay.WatchReport{Interims: []replay.Interim{
				{New: 1, Concealed: []string{"x"}, Metrics: compared}, {Metrics: compared},
			}}, result.ExitNotRun, "--margin x=",
		},
		"unreported, then a look whose sessions were lost": {
			replay.WatchReport{Interims: []replay.Interim{
				{New: 1, Concealed: []string{"x"}, Metrics: compared}, {New: 3, Lost: 3, Metrics: compared},
			}}, result.ExitNotRun, "--margin x=",
		},
		"a cost unreported": {hidden(compared, replay.CostUSD), result.ExitNotRun, "--margin cost_usd=100%"},
		"a share unreported": {
			hidden(compared, replay.CompletedShare), result.ExitNotRun, "--margin completed=100pp",
		},
		"an alarm counts first": {
			replay.WatchReport{Alarmed: true, Interims: hidden(compared, replay.CostUSD).Interims}, result.ExitFailed, "",
		},
	} {
		code, err := 0, ended(&tc.report)
		if exit := (*exitError)(nil); errors.As(err, &exit) {
			code = exit.code
		}
		if code != tc.code || tc.says != "" && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: exit code %d, %v", name, code, err)
		}
	}
}

// hidden is a report whose last look lacks a metric of the candidate.
func hidden(compared map[string]replay.Watched, metric string) replay.WatchReport {
	return replay.WatchReport{Interims: []replay.Interim{{New: 1, Metrics: compared, Concealed: []string{metric}}}}
}
