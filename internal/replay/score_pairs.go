package replay

import (
	"maps"
	"slices"
	"time"
)

// pairsOf makes pairs of replays that were made elsewhere, one for each repeat that both lanes have.
func pairsOf(s *Session, replays []*Played, measured map[string][]*Metrics) []*Pair {
	observed := observe(s)
	next := map[string]int{}
	var pairs []*Pair
	for _, p := range replays {
		k := next[p.Variant]
		next[p.Variant]++
		if k == len(pairs) {
			pairs = append(pairs, &Pair{
				SessionID: s.ID, FlowID: s.FlowID, UnitID: s.UnitID, Mode: Recorded, Outcome: s.Outcome(),
				Started: s.Started, Variations: []Variation{observed},
			})
		}
		lane := Variation{
			Name: p.Variant, Completed: p.Completed, Error: p.Error, Metrics: measured[p.Variant][k],
			Turns: make([]VariationTurn, 0),
		}
		if pair := pairs[k]; p.Error != "" {
			lane.Metrics = nil
			pair.Dropped = p.Variant + ": " + p.Error
		}
		pairs[k].Variations = append(pairs[k].Variations, lane)
	}
	return pairs
}

// compare compares the two variants of a flow by both gates.
func (f *FlowScore) compare(o ScoreOptions) error {
	if f.Variants[Baseline] == nil || f.Variants[Candidate] == nil {
		return nil
	}
	f.Comparison = new(Compare(f.Variants[Baseline], f.Variants[Candidate]))
	r, err := f.tally.Report(Report{Run: Run{Gate: GatePaired, Mode: Recorded}}, o.Rules)
	if err != nil {
		return err
	}
	f.Paired = &PairedScore{
		Metrics: r.Metrics, Gate: r.Gate, Clusters: r.Clusters, Lost: r.Lost, Lists: r.Lists, Repeats: r.Repeats,
	}
	if o.Interims {
		f.Paired.Watch, err = f.looks(o.Rules)
	}
	return err
}

// missingPair is a session that only one of the two lanes has played: whoever leaves out the conversations in which an
// agent crashed has lost them. It is not dropped where some other variant is missing.
func missingPair(s *Session, replays []*Played) *Pair {
	pair := &Pair{
		SessionID: s.ID, FlowID: s.FlowID, UnitID: s.UnitID, Mode: Recorded, Outcome: s.Outcome(), Started: s.Started,
		Variations: []Variation{observe(s)},
	}
	for _, name := range []string{Baseline, Candidate} {
		lane := Variation{Name: name, Turns: []VariationTurn{}}
		at := slices.IndexFunc(replays, func(p *Played) bool { return p.Variant == name })
		switch {
		case at < 0:
			lane.Error = "it was not replayed"
		case replays[at].Error != "":
			lane.Error = replays[at].Error
		default:
			lane.Metrics = &Metrics{Answered: new(1.0)}
		}
		if lane.Error != "" {
			pair.Dropped = name + ": " + lane.Error
		}
		pair.Variations = append(pair.Variations, lane)
	}
	return pair
}

// addPairs adds a session, also to those of the day on which it began where there are looks.
func (f *FlowScore) addPairs(began time.Time, looks bool, pairs ...*Pair) {
	f.tally.Add(pairs...)
	if looks {
		f.addDay(began.Format(time.DateOnly), pairs)
	}
}

func (f *FlowScore) addDay(day string, pairs []*Pair) {
	if f.days == nil {
		f.days = map[string]*Tally{}
	}
	if f.days[day] == nil {
		f.days[day] = &Tally{}
	}
	f.days[day].Add(pairs...)
}

// looks takes a look at the end of each day.
func (f *FlowScore) looks(rules Rules) (*WatchReport, error) {
	w := Watching{Metrics: DefaultWatched(), Alpha: DefaultAlpha, Cluster: rules.Cluster, Mode: Recorded, Rules: rules}
	var s WatchState
	s.Begin(&w, nil)
	for _, name := range slices.Sorted(maps.Keys(f.days)) {
		begin, err := time.Parse(time.DateOnly, name)
		if err != nil {
			return nil, err
		}
		s.Analyze(&w, f.days[name], begin.AddDate(0, 0, 1))
	}
	return new(s.Report("")), nil
}
