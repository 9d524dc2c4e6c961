package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

const (
	// maxReason bounds the text that says why something failed, in bytes.
	maxReason = 16 << 10
	// maxOutcome bounds each JSON object of a session, in bytes.
	maxOutcome = 32 << 20
)

// replayRunRow is a run as databases keep it: its text is clean, and its JSON is "" for none.
type replayRunRow struct {
	replay.Run
	intervals, settings, rules, fidelity string
}

func newReplayRunRow(run replay.Run) (replayRunRow, error) {
	r := replayRunRow{Run: run}
	for _, text := range []*string{
		&r.ID, &r.VariantID, &r.BaselineID, &r.FlowID, &r.DatasetVersion, &r.Gate, &r.Error, &r.Verdict, &r.Outcome,
	} {
		*text = plainText(*text)
	}
	r.Mode, r.Status = replay.Mode(plainText(string(r.Mode))), replay.Status(plainText(string(r.Status)))
	r.Error = cutText(r.Error, maxReason)
	check := rowCheck{what: "replay run", id: r.ID}
	check.key("evaluation_run_id", r.ID)
	check.key("status", string(r.Status))
	for _, column := range []struct{ name, value string }{
		{"variant_id", r.VariantID},
		{"baseline_variant_id", r.BaselineID},
		{"flow_id", r.FlowID},
		{"mode", string(r.Mode)},
		{"gate", r.Gate},
		{"status", string(r.Status)},
		{"verdict", r.Verdict},
		{"outcome", r.Outcome},
	} {
		check.name(column.name, column.value)
	}
	check.text("dataset_version", r.DatasetVersion, 2*replay.MaxName) // which begins with the flow's name
	for _, f := range r.figures() {
		if f.value != nil && (math.IsNaN(*f.value) || math.IsInf(*f.value, 0)) {
			check.errorf("its %s is %v, which is not finite: leave it out where it does not apply", f.column, *f.value)
		}
	}
	for _, at := range r.times() {
		if err := checkTime(at.column, at.value); err != nil {
			check.errorf("%w", err)
		}
	}
	r.intervals, r.settings = check.object("intervals", run.Intervals),
		check.objectUpTo("settings", run.Settings, maxSettings)
	r.rules, r.fidelity = check.object("rules", run.Rules), check.object("fidelity", run.Fidelity)
	return r, check.err
}

// column is a value with the name of its column.
type column[T any] struct {
	column string
	value  T
}

func (r *replayRunRow) figures() []column[*float64] {
	return []column[*float64]{
		{"completion_match_score", r.CompletionMatch},
		{"turn_count_ratio", r.TurnCountRatio},
		{"state_progression_match", r.StateProgression},
		{"avg_latency_ms", r.AvgLatencyMS},
		{"completion_time_seconds", r.CompletionSeconds},
		{"data_collection_accuracy", r.DataAccuracy},
		{"support_coverage", r.SupportCoverage},
	}
}

func (r *replayRunRow) times() []column[time.Time] {
	return []column[time.Time]{{"started_at", r.Started}, {"seen_at", r.Seen}, {"ended_at", r.Ended}}
}

// cells are the values of a run's columns except its id.
func (r *replayRunRow) cells(db database) []cell {
	cells := []cell{
		{column: "variant_id", value: r.VariantID},
		{column: "baseline_variant_id", value: db.optional(r.BaselineID)},
		{column: "flow_id", value: r.FlowID},
		{column: "dataset_version", value: r.DatasetVersion},
		{column: "mode", value: string(r.Mode)},
		{column: "gate", value: r.Gate},
		{column: "status", value: string(r.Status)},
		{column: "error", value: db.optional(r.Error)},
	}
	for _, f := range r.figures() {
		cells = append(cells, cell{f.column, "::float8", f.value})
	}
	cells = append(cells,
		cell{"sessions", "::bigint", r.Sessions},
		cell{"pairs_dropped", "::bigint", r.PairsDropped},
		cell{"is_better_than_baseline", "::boolean", r.Better},
		cell{"non_inferior", "::boolean", r.NonInferior},
		cell{column: "verdict", value: db.optional(r.Verdict)},
		cell{column: "outcome", value: db.optional(r.Outcome)},
		cell{column: "intervals", value: orNull(r.intervals)},
		cell{column: "settings", value: orNull(r.settings)},
		cell{column: "rules", value: orNull(r.rules)},
		cell{column: "fidelity", value: orNull(r.fidelity)})
	for _, at := range r.times() {
		cells = append(cells, cell{at.column, "::timestamptz", db.time(at.value)})
	}
	return cells
}

func checkTime(column string, at time.Time) error {
	if y := at.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("its %s is in the year %d: correct it", column, y)
	}
	return nil
}

// cutText keeps the beginning of a long text.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// outcomeRow is a session of a run as databases keep it. JSON is "" for none.
type outcomeRow struct{ session, dropped, metrics, detail string }

// newOutcomeRows makes rows ordered by session, so that no two writers wait for each other. Of several of one session
// the last counts.
func newOutcomeRows(outcomes []replay.Outcome) ([]outcomeRow, error) {
	rows := make([]outcomeRow, 0, len(outcomes))
	for _, o := range outcomes {
		r := outcomeRow{session: plainText(o.SessionID), dropped: cutText(plainText(o.Dropped), maxReason)}
		check := rowCheck{what: "outcome of session", id: r.session}
		check.key("session_id", r.session)
		r.metrics, r.detail = check.objectUpTo("metrics", o.Metrics, maxOutcome),
			check.objectUpTo("detail", o.Detail, maxOutcome)
		if check.err != nil {
			return nil, check.err
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b outcomeRow) int { return cmp.Compare(a.session, b.session) })
	kept := rows[:0]
	for i, r := range rows {
		if i+1 == len(rows) || rows[i+1].session != r.session {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

func (r *outcomeRow) outcome() replay.Outcome {
	return replay.Outcome{
		SessionID: r.session, Dropped: r.dropped, Metrics: jsonOrNil(r.metrics), Detail: jsonOrNil(r.detail),
	}
}

// eraseWords leaves what was counted of a session.
func (r *outcomeRow) eraseWords() error {
	o, err := r.outcome().WithoutWords()
	r.dropped, r.detail = o.Dropped, string(o.Detail)
	return err
}
