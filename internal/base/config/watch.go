package config

import (
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Watch is a watch that "rehearse serve" repeats. Its fields are as the flags of "rehearse replay watch"; zero is the
// default of each.
type Watch struct {
	Name      string `key:"name" required:"a watch needs name" notblank:"true" doc:"name of the watch"`
	Candidate string `key:"candidate" required:"a watch needs candidate" notblank:"true" doc:"variant:ID or target:NAME"`
	Baseline  string `key:"baseline" required:"a watch needs baseline" notblank:"true" doc:"variant:ID or target:NAME"`
	Flow      string `key:"flow_id" required:"a watch needs flow_id" notblank:"true"`
	// Since and Until are days, YYYY-MM-DD.
	Since    string        `key:"since" required:"a watch needs since" notblank:"true" doc:"first day of the first period, YYYY-MM-DD"`
	Until    string        `key:"until" doc:"the day with whose end the last look is taken"`
	Every    time.Duration `key:"every" doc:"the length of a period, such as 24h"`
	Metrics  []string      `key:"metrics"`
	Alpha    float64       `key:"alpha" minimum:"0" maximum:"1" doc:"the chance of a false alarm over the whole watch"`
	Cluster  string        `key:"cluster" doc:"auto, session or unit"`
	Mode     string        `key:"mode" doc:"recorded, forced or simulated"`
	MinTurns *int          `key:"min_turns" minimum:"0"`
	// SessionGap is the time after an end from which on a session id is that of another session; 0 means the default.
	SessionGap time.Duration `key:"session_gap" doc:"time after an end until an id is a new session (24h)"`
	// Timezone is that of the days.
	Timezone string `key:"timezone" doc:"time zone of the days, such as Europe/Brussels (UTC)"`
	// Slow is the latency above which a turn is slow; 0 leaves it to the default. Margin has entries METRIC=VALUE.
	Slow   time.Duration `key:"slow" doc:"latency above which a turn is slow, such as 10s"`
	Margin []string      `key:"margin" doc:"losses that do not matter, METRIC=VALUE"`
	// Workers is how many sessions are replayed at once.
	Workers int `key:"workers" minimum:"1" doc:"how many sessions are replayed at once"`
	// Flows and Prompts are paths.
	Flows   string `key:"flows" doc:"the folder, or file, of the flows that variants name"`
	Prompts string `key:"prompts" doc:"the folder of the prompt files that variants name"`
	// Alert is the address that an alarm is posted to.
	Alert string `key:"alert" doc:"the address that an alarm is posted to"`
}

// readWatches reads the watches of a file. Paths start from its folder.
func (f *File) readWatches(n source.Node) (watches []Watch) {
	known := map[string]bool{}
	for _, item := range n.List() {
		w := Watch{}
		source.Decode(item, &w)
		for _, path := range []*string{&w.Flows, &w.Prompts} {
			if *path != "" && !filepath.IsAbs(*path) {
				*path = filepath.Join(f.Dir, *path)
			}
		}
		if known[w.Name] {
			item.Report("give each watch a name of its own", "two watches are called %q", w.Name)
		}
		known[w.Name] = true
		watches = append(watches, w)
	}
	return watches
}
