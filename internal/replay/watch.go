package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Watching says what a watch looks at again and again.
type Watching struct {
	// Name is the watch's in its store.
	Name string
	// Since is when the first period begins, Every how long each lasts: whole days are days of Since's time zone. Until
	// is when the last one ends; zero means without a last one.
	Since, Until time.Time
	Every        time.Duration
	// Metrics are compared beside the metrics that decide or guard in the gate of a run; Alpha is the chance of a false
	// alarm over the whole watch.
	Metrics []string
	Alpha   float64
	Cluster Clustering
	// Mode is that of the replays. Rules are those of the gate, of which Margins and Apart count. A loss within its
	// margin does not alarm, but for Metrics without a margin of their own in Rules.
	Mode  Mode
	Rules Rules
}

// Compared returns the names of all metrics that the watch compares: Metrics, then the others by which the gate of a
// run decides or guards, in the order of reports.
func (w *Watching) Compared() []string {
	names := slices.Clone(w.Metrics)
	for _, m := range w.Rules.metrics(w.Mode) {
		if m.role != shown && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// metric returns a metric as the watch compares it.
func (w *Watching) metric(name string) metric {
	m := w.Rules.metrics(w.Mode)[columnOf(name)]
	if _, set := w.Rules.Margins[name]; !set && slices.Contains(w.Metrics, name) {
		m.margin = stats.Margin{}
	}
	return m
}

// DefaultAlpha is the alpha of a watch that names none.
const DefaultAlpha = 0.05

// DefaultWatched are the metrics of a watch that names none.
func DefaultWatched() []string { return []string{CompletionMatch, Answered} }

// minPeriod bounds how often a watch looks, maxLooks how often it has looked.
const (
	minPeriod = time.Second
	maxLooks  = 100_000
)

// Check returns wrong input as an error (source.IsInvalid).
func (w *Watching) Check() error {
	switch {
	case strings.TrimSpace(w.Name) == "" || len(w.Name) > 200:
		return source.Invalid("--name: a watch needs a name of at most 200 bytes, under which it goes on")
	case w.Since.IsZero():
		return source.Invalid("--since is missing: name the day on which the watch begins")
	case w.Every < minPeriod:
		return source.Invalid("--every %s is too short: use %s or more, such as 24h", w.Every, minPeriod)
	case !w.Until.IsZero() && !w.Until.After(w.Since):
		return source.Invalid("--until lies before --since: change them over")
	case !(w.Alpha > 0 && w.Alpha < 1):
		return source.Invalid("--alpha %g is out of range: use a share between 0 and 1, such as 0.05", w.Alpha)
	case len(w.Metrics) == 0:
		return source.Invalid("--metrics names no metric")
	case !slices.Contains(Clusterings, w.Cluster):
		return source.Invalid("unknown --cluster %q: use auto, session or unit", w.Cluster)
	}
	for i, name := range w.Metrics {
		if columnOf(name) < 0 {
			return unknownMetric("--metrics", name)
		}
		if slices.Contains(w.Metrics[:i], name) {
			return source.Invalid("--metrics names %s twice", name)
		}
	}
	for name := range w.Rules.Margins {
		if columnOf(name) < 0 {
			return unknownMetric("--margin", name)
		}
	}
	return nil
}

// End returns when the period of a look ends, counted from 0, and whether the watch has that look.
func (w *Watching) End(look int) (end time.Time, ok bool) {
	after := func(looks int) time.Time {
		if w.Every%(24*time.Hour) == 0 {
			return beginningOf(w.Since.AddDate(0, 0, looks*int(w.Every/(24*time.Hour))), w.Since.Location())
		}
		return w.Since.Add(time.Duration(looks) * w.Every)
	}
	end = after(look + 1)
	if w.Until.IsZero() {
		return end, look < maxLooks
	}
	if end.After(w.Until) { // the last period may be short
		return w.Until, look < maxLooks && after(look).Before(w.Until)
	}
	return end, look < maxLooks
}

// day names the end of a period: its last day, or the moment where it does not end with a day.
func day(end time.Time) string {
	if end.Equal(beginningOf(end, end.Location())) {
		return end.Add(-time.Microsecond).Format(time.DateOnly)
	}
	return end.UTC().Format(time.RFC3339)
}

// WatchState is what a watch has found so far, and all that it needs to go on.
type WatchState struct {
	// Settings are what decides its figures, a JSON object. A watch goes on only with the same.
	Settings json.RawMessage `json:"settings"`
	Interims []Interim       `json:"looks"`
	// AlarmedAt is the look at which a metric was first worse, empty without an alarm. Notified is true when whoever
	// wants to know has been told.
	AlarmedAt string `json:"alarmed_at"`
	Notified  bool   `json:"told"`
	// Runs are the replays of earlier looks, whose sessions are not replayed again. Watches are the state of the
	// statistics, one for each metric.
	Runs    []string      `json:"runs"`
	Watches []stats.Watch `json:"watches"`
}

// Interim is what a watch saw at one look, over all sessions until then.
type Interim struct {
	Until string `json:"until"`
	// New sessions were replayed for it, of which so many were Lost; Sessions counts all until then.
	New      int `json:"new"`
	Lost     int `json:"lost"`
	Sessions int `json:"sessions"`
	// Metrics compare the candidate with the baseline.
	Metrics map[string]Watched `json:"metrics"`
	// Concealed are the metrics without a margin of the watch's own that are known of the baseline and not of the
	// candidate in more of the new sessions than Rules.MaxLost: in these nothing can alarm.
	Concealed []string `json:"concealed,omitempty"`
	// Alarm is true from the first look on at which a metric was worse.
	Alarm bool `json:"alarm"`
}

// UnitOf returns the unit of a metric; that of an unknown one is empty.
func UnitOf(metric string) Unit {
	if at := columnOf(metric); at >= 0 {
		return table[at].unit
	}
	return ""
}

// Watched is a metric at a look: the mean difference over N pairs with its always-valid interval; nil is a bound that
// is still infinite.
type Watched struct {
	N       int           `json:"n"`
	Mean    *float64      `json:"mean"`
	Low     *float64      `json:"low"`
	High    *float64      `json:"high"`
	Verdict stats.Verdict `json:"verdict"`
}

// WatchReport is the state as others read it.
type WatchReport struct {
	Name      string    `json:"name,omitempty"`
	Interims  []Interim `json:"looks"`
	Alarmed   bool      `json:"alarmed"`
	AlarmedAt *string   `json:"alarmed_at"`
}

// Report returns what is told of a watch.
func (s *WatchState) Report(name string) WatchReport {
	r := WatchReport{Name: name, Interims: append([]Interim{}, s.Interims...), Alarmed: s.AlarmedAt != ""}
	if r.Alarmed {
		r.AlarmedAt = &s.AlarmedAt
	}
	return r
}

// Compared reports whether there was a pair to compare in any metric. Without one nothing could have alarmed.
func (r *WatchReport) Compared() bool {
	if len(r.Interims) == 0 {
		return false
	}
	for _, of := range r.Interims[len(r.Interims)-1].Metrics {
		if of.N > 0 {
			return true
		}
	}
	return false
}

// Concealed returns the metrics that the candidate did not report in the last look that compared sessions. A look
// without one shows nothing of what is reported now.
func (r *WatchReport) Concealed() []string {
	for _, look := range slices.Backward(r.Interims) {
		if look.New > look.Lost {
			return look.Concealed
		}
	}
	return nil
}

// Watched returns the metrics of a watch that has been begun.
func (s *WatchState) Watched() []string {
	var of struct {
		Metrics []string `json:"metrics"`
	}
	if err := json.Unmarshal(s.Settings, &of); err != nil {
		return nil
	}
	return of.Metrics
}

// Begin prepares a state that is new.
func (s *WatchState) Begin(w *Watching, settings json.RawMessage) {
	names := w.Compared()
	criteria := make([]stats.Criterion, len(names))
	for i, name := range names {
		m := w.metric(name)
		criteria[i] = m.criterion(0)
	}
	*s = WatchState{
		Settings: settings, Interims: []Interim{}, Runs: []string{}, Watches: stats.Watches(w.Alpha, criteria),
	}
}

// Analyze adds what was replayed since the last look, and judges all until now.
func (s *WatchState) Analyze(w *Watching, t *Tally, end time.Time) Interim {
	look := Interim{
		Until: day(end), New: len(t.sessions) + len(t.lost), Lost: len(t.lost), Metrics: map[string]Watched{},
		Alarm: s.AlarmedAt != "",
	}
	if n := len(s.Interims); n > 0 {
		look.Sessions = s.Interims[n-1].Sessions
	}
	look.Sessions += look.New
	if t.lanes != nil {
		for _, c := range t.concealed(w.Rules.metrics(w.Mode), w.Rules.MaxLost) {
			if !w.Rules.accepts(c.name) {
				look.Concealed = append(look.Concealed, c.name)
			}
		}
	}
	for i, name := range w.Compared() {
		m, at := w.metric(name), columnOf(name)
		pairs := &stats.Pairs{}
		baseline, candidate := t.lanes[Baseline], t.lanes[Candidate]
		if baseline != nil && candidate != nil && !m.apart {
			pairs = t.pairs(&m, w.Cluster, baseline.whole[at], candidate.whole[at], t.all())
		}
		seen := s.Watches[i].Analyze(pairs, func(cluster string) bool { return strings.HasPrefix(cluster, "unit/") })
		of := Watched{N: seen.N, Low: finite(seen.Interval[0]), High: finite(seen.Interval[1]), Verdict: seen.Verdict}
		if seen.N > 0 {
			of.Mean = finite(seen.Mean)
		}
		look.Metrics[name] = of
		look.Alarm = look.Alarm || seen.Verdict == stats.Worse
	}
	if look.Alarm && s.AlarmedAt == "" {
		s.AlarmedAt = look.Until
	}
	s.Interims = append(s.Interims, look)
	return look
}

// Watches keeps the states of watches. Implementations are safe for concurrent use and for several processes.
type Watches interface {
	// Watch returns the state of a watch, nil when there is none of the name.
	Watch(ctx context.Context, name string) (*WatchState, error)
	// PutWatch keeps a state in place of one with as many looks as before; known is false when another process has put
	// a look meanwhile.
	PutWatch(ctx context.Context, name string, s *WatchState, before int) (known bool, err error)
	// ReplayedSessions calls f with the id of each session of a run.
	ReplayedSessions(ctx context.Context, runID string, f func(session string)) error
}

// Analyze replays the sessions of a look that ends then (Evaluation.LooksAt), and adds what came of it to the state.
// Nil is the evaluation of a look without a session. That of another look is one of a run of its own; a run that was
// broken off goes on.
func (w *Watching) Analyze(ctx context.Context, e *Evaluation, s *WatchState, end time.Time) (Interim, error) {
	tally := &Tally{}
	if e == nil {
		return s.Analyze(w, tally, end), nil
	}
	if _, err := e.evaluate(ctx, tally); err != nil && !errors.Is(err, ErrNothingReplayed) &&
		!errors.Is(err, ErrNoSessions) {
		return Interim{}, err
	}
	if tally.Sessions() > 0 {
		s.Runs = append(s.Runs, e.Head.Run.ID)
	}
	return s.Analyze(w, tally, end), nil
}

// Sessions counts the sessions that were added, lost ones included.
func (t *Tally) Sessions() int { return len(t.sessions) + len(t.lost) }

// Limit makes the evaluation that of a look: of the sessions whose last event lies between since and until, which is
// excluded, but for those that an earlier look has replayed.
func (e *Evaluation) Limit(since, until time.Time, replayed func(session string) bool) {
	e.From, e.To, e.byEnd, e.known = since, until, true, replayed
}

// Any reports whether there is a session to replay.
func (e *Evaluation) Any(ctx context.Context) (bool, error) {
	for _, err := range e.chosen(ctx, &LogToFigures{}, &Faults{}) {
		return err == nil, err
	}
	return false, nil
}

// Same returns an error (source.IsInvalid) that names what differs between the settings of a watch and those that it
// was begun with.
func (s *WatchState) Same(name string, settings json.RawMessage) error {
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal(s.Settings, &was), json.Unmarshal(settings, &is)); err != nil {
		return fmt.Errorf("read the settings of watch %q: %w", name, err)
	}
	var differ []string
	for _, key := range slices.Sorted(maps.Keys(is)) {
		a, _ := json.Marshal(was[key])
		b, _ := json.Marshal(is[key])
		if !source.SameJSON(a, b) {
			differ = append(differ, key)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return source.Invalid("watch %q was begun with another %s: use the same, or begin a new watch with another --name",
		name, strings.Join(differ, ", "))
}
