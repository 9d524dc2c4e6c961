package config

import (
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Watch is a watch that "rehearse serve" keeps. Its fields are as the flags of "rehearse replay watch"; zero is the default of each.
type Watch struct {
	Name, Candidate, Baseline, Flow string
	// Since and Until are days, YYYY-MM-DD.
	Since, Until string
	Every        time.Duration
	Metrics      []string
	Alpha        float64
	Cluster      string
	Mode         string
	MinTurns     *int
	// Slow is the latency above which a turn is slow; 0 leaves it to the default. Margin has entries METRIC=VALUE.
	Slow   time.Duration
	Margin []string
	// Workers is how many sessions are replayed at once.
	Workers int
	// Flows and Prompts are paths.
	Flows, Prompts string
	// Alert is an address that is told of the alarm.
	Alert string
}

// readWatches reads the watches of a file. Paths start from its folder.
func (f *File) readWatches(n source.Node) (watches []Watch) {
	known := map[string]bool{}
	for _, item := range n.List() {
		w := Watch{}
		text := func(to *string) func(source.Node) { return func(n source.Node) { *to = n.Text() } }
		path := func(to *string) func(source.Node) {
			return func(n source.Node) {
				if *to = n.Text(); *to != "" && !filepath.IsAbs(*to) {
					*to = filepath.Join(f.Dir, *to)
				}
			}
		}
		item.Read(map[string]func(source.Node){
			"name": text(&w.Name), "candidate": text(&w.Candidate), "baseline": text(&w.Baseline), "flow_id": text(&w.Flow),
			"since": text(&w.Since), "until": text(&w.Until), "cluster": text(&w.Cluster), "mode": text(&w.Mode), "alert": text(&w.Alert),
			"flows": path(&w.Flows), "prompts": path(&w.Prompts),
			"every":     func(n source.Node) { w.Every = n.Duration() },
			"metrics":   func(n source.Node) { w.Metrics = n.Texts() },
			"slow":      func(n source.Node) { w.Slow = n.Duration() },
			"margin":    func(n source.Node) { w.Margin = n.Texts() },
			"alpha":     func(n source.Node) { w.Alpha = n.Number(0, 1) },
			"min_turns": func(n source.Node) { w.MinTurns = new(n.Int(0)) },
			"workers":   func(n source.Node) { w.Workers = n.Int(1) },
		})
		for name, value := range map[string]string{"name": w.Name, "candidate": w.Candidate, "baseline": w.Baseline, "flow_id": w.Flow, "since": w.Since} {
			if value == "" {
				item.Report("write "+name+": …", "the watch has no %s", name)
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
