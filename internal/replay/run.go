package replay

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Status is how far a run has come.
type Status string

// The statuses of a run. A run that is Running says so from time to time; one that has been silent for StaleAfter has
// been killed.
const (
	Running   Status = "running"
	Done      Status = "completed"
	Failed    Status = "failed"  // nothing can be said
	Partially Status = "partial" // it was broken off; what was replayed until then is kept, and the run can be resumed
)

// StaleAfter is how long a run may say nothing before it counts as broken off.
const StaleAfter = 2 * time.Minute

// Run is a row of exp.conversation_replay_results: one evaluation of a candidate. Figures are the candidate's; nil is
// not applicable.
type Run struct {
	ID             string `json:"evaluation_run_id"`
	VariantID      string `json:"variant_id"`
	BaselineID     string `json:"baseline_variant_id,omitempty"`
	FlowID         string `json:"flow_id"`
	DatasetVersion string `json:"dataset_version"`
	Mode           Mode   `json:"mode"`
	Gate           string `json:"gate"`
	Status         Status `json:"status"`
	// Error says why a run failed or was broken off.
	Error string `json:"error,omitempty"`

	CompletionMatch   *float64 `json:"completion_match_score"`
	TurnCountRatio    *float64 `json:"turn_count_ratio"`
	StateProgression  *float64 `json:"state_progression_match"`
	AvgLatencyMS      *float64 `json:"avg_latency_ms"`
	CompletionSeconds *float64 `json:"completion_time_seconds"`
	DataAccuracy      *float64 `json:"data_collection_accuracy"`
	SupportCoverage   *float64 `json:"support_coverage"`
	// Sessions counts those that were compared, PairsDropped those left out because a lane failed.
	Sessions     int `json:"sessions"`
	PairsDropped int `json:"pairs_dropped"`
	// Outcome is the gate's, empty without a baseline.
	Outcome string `json:"outcome,omitempty"`
	// Better is true only when the verdict is better, NonInferior when it is better or non_inferior; nil without a
	// baseline.
	Better      *bool `json:"is_better_than_baseline"`
	NonInferior *bool `json:"non_inferior"`
	// Verdict is that of the paired comparison or not_judgeable, empty without a baseline.
	Verdict string `json:"verdict,omitempty"`
	// Intervals are the bounds of each metric's interval and difference, a JSON object; nil without.
	Intervals json.RawMessage `json:"intervals,omitempty"`
	// Settings are what decides the outcome of a run, a JSON object. A run is resumed only with the same.
	Settings json.RawMessage `json:"settings,omitempty"`
	// Rules are those of the paired gate by which the run was judged, a JSON object; nil of runs that have kept none.
	Rules json.RawMessage `json:"rules,omitempty"`
	// Fidelity is that of the simulated user, a JSON object; nil in other modes, and of runs that have kept none.
	// KeptFidelity reads it.
	Fidelity json.RawMessage `json:"fidelity,omitempty"`

	Started time.Time `json:"started_at"`
	// Seen is when the run last said that it goes on, Ended when it ended; zero while it goes on.
	Seen  time.Time `json:"seen_at"`
	Ended time.Time `json:"ended_at,omitzero"`
}

// Outcome is a row of exp.conversation_replay_sessions: what became of one session.
type Outcome struct {
	SessionID string
	// Dropped says why the session does not count; empty when it does.
	Dropped string
	// Metrics hold the metrics of each lane, Detail all of the session: both JSON objects.
	Metrics json.RawMessage
	Detail  json.RawMessage
	// Records are those of the variants' conversations. A store has them, within Detail, of runs with assertions only;
	// others are made again from the pair.
	Records []*result.Test `json:",omitempty"`
}

// Runs keeps runs and their sessions. Implementations are safe for concurrent use and for several processes.
type Runs interface {
	// PutRun writes the row of a run, new or known: the last one holds. It does not touch the sessions.
	PutRun(ctx context.Context, r Run) error
	// PutOutcomes adds sessions of a run, all or none; one that is there already is replaced. Seen becomes now.
	PutOutcomes(ctx context.Context, runID string, outcomes []Outcome, now time.Time) error
	// Outcomes yields the sessions of a run in the byte order of their ids, in constant memory.
	Outcomes(ctx context.Context, runID string) iter.Seq2[Outcome, error]
}
