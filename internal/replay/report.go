package replay

import (
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Report is what a run found: figures first, then sessions to look at.
type Report struct {
	Run Run `json:"run"`
	// Candidate and Baseline are what was replayed; Baseline is nil when the candidate was compared with the log alone.
	Candidate Replayed  `json:"candidate"`
	Baseline  *Replayed `json:"baseline"`
	// AA is true when the baseline was compared with itself, to show the noise.
	AA bool `json:"aa,omitempty"`
	// From and To are the first and the last day that were asked for.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Completed, Dropped and Unknown count how the sessions that were compared had ended.
	Completed int `json:"sessions_completed"`
	Dropped   int `json:"sessions_dropped"`
	Unknown   int `json:"sessions_unknown"`

	// Gate is what the run's gate came to, nil without a baseline.
	Gate *Gate `json:"gate"`
	// Reliability describes in a sentence or two how reliable the figures are in the mode.
	Reliability string `json:"belief"`

	Metrics []MetricReport `json:"metrics"`
	// LogToFigures says what became of the sessions of the log; nil where they did not come from one.
	LogToFigures *LogToFigures `json:"log_to_figures,omitempty"`
	// States say where the states of the log were read; nil where the sessions did not come from one.
	States *LoggedStates `json:"states,omitempty"`
	// Clusters are the sessions by user; Lost counts the pairs of which a lane failed, VariantOrder how often each
	// variant went first.
	Clusters     Clusters     `json:"clusters"`
	Lost         Lost         `json:"lost"`
	VariantOrder VariantOrder `json:"lane_order"`
	// Replies count what the judge prefers; nil without a judge.
	Replies *Preferences `json:"replies,omitempty"`
	// Outcomes set the ends of the log against those of each lane. Lists name sessions to look at. Slices are parts of
	// the sessions, nil without a baseline.
	Outcomes map[string]Ends `json:"outcomes"`
	Lists    Lists           `json:"lists"`
	Slices   []Slice         `json:"slices"`
	// Assertions count the conversations that met the run's assertions; nil of a run without any.
	Assertions *AssertionReport `json:"assertions,omitempty"`
	// Repeats say how much a lane varies when it plays a session again; nil where each was played once.
	Repeats *Repeats `json:"repeats,omitempty"`
	// Fidelity says how like the real users the simulated one is; nil in other modes.
	Fidelity *Fidelity `json:"fidelity,omitempty"`
	// Simulated counts the messages of simulated users by lane; nil in other modes.
	Simulated map[string]SimulatedTurns `json:"simulated,omitempty"`
	// PooledLatencyMS are the mean latencies over all turns of a lane, where AvgLatency is the mean of the sessions'
	// means (X18).
	PooledLatencyMS map[string]float64 `json:"pooled_latency_ms,omitempty"`
	// UserThinkSeconds is how long the real users took to think, which is no time of either lane (X14).
	UserThinkSeconds *Estimate `json:"user_think_seconds,omitempty"`
	// Spec is the specification's gate, nil without a baseline.
	Spec *Comparison `json:"spec_gate,omitempty"`
	// Passed is whether the gate was passed; nil without a baseline.
	Passed *bool `json:"passed"`
	// Divergences say at which turn the candidate first left the log's path, and how often; the last one stands for all
	// beyond.
	Divergences []Divergence `json:"first_divergences,omitempty"`
	// Notes are what a reader must know: what was left out and why, and what the log had wrong.
	Notes []Note `json:"notes,omitempty"`
	// Sessions are those that differ most between the lanes, with the dropped ones. Shown of Run.Sessions +
	// Run.PairsDropped.
	Sessions []Pair `json:"sessions,omitempty"`
}

// ExitCode is the exit code of the run: the gate's or, without a baseline, that of the assertions.
func (r *Report) ExitCode() int {
	switch a := r.Assertions; {
	case r.Gate != nil:
		return r.Gate.ExitCode
	case a != nil && a.Candidate.Failed > 0:
		return result.ExitFailed
	case a != nil && a.Candidate.Errors > 0:
		return result.ExitNotRun
	}
	return result.ExitPassed
}

// VariantOrder counts the sessions in which each variant was replayed first.
type VariantOrder struct {
	BaselineFirst  int `json:"baseline_first"`
	CandidateFirst int `json:"candidate_first"`
}

// SimulatedTurns counts the messages of a lane in simulated mode: all of them, those that a simulated user said, of
// these those that the log does not have in these words, and those in a state that the logged session never visited.
type SimulatedTurns struct {
	Messages  int `json:"messages"`
	Simulated int `json:"simulated"`
	Invented  int `json:"invented"`
	Unvisited int `json:"unvisited"`
}

// count adds the messages of a lane.
func (s *SimulatedTurns) count(lane, observed *Variation) {
	said, visited := map[string]bool{}, map[string]bool{}
	for i := range observed.Turns {
		t := &observed.Turns[i]
		said[plainWords(t.User)], visited[t.Before], visited[t.State] = true, true, true
	}
	s.Messages += len(lane.Turns)
	for i := range lane.Turns {
		t := &lane.Turns[i]
		if !t.Invented {
			continue
		}
		s.Simulated++
		if !said[plainWords(t.User)] {
			s.Invented++
		}
		if !lane.NoStates && !visited[t.Before] {
			s.Unvisited++
		}
	}
}

// Fidelity says how like the real users a simulated one is, each from 0 to 1: in the kinds of messages, the logged data
// that it gives, the length of conversations and how they end. Overall is the least of them, Minimum what is needed,
// Sessions how many were played.
type Fidelity struct {
	Kinds    float64 `json:"kinds"`
	Fields   float64 `json:"fields"`
	Length   float64 `json:"length"`
	End      float64 `json:"end"`
	Overall  float64 `json:"overall"`
	Minimum  float64 `json:"floor"`
	Sessions int     `json:"sessions"`
}

// Replayed is a variant as it was replayed.
type Replayed struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	FlowID string `json:"flow_id"`
	Prompt string `json:"prompt_version_id"`
	Model  string `json:"model"`
	// Kind is that of a target, as in its definition; a variant is of the kind flow. Empty is not known.
	Kind string `json:"kind,omitempty"`
	// RequestsUnknown is true of an agent that tells states while nothing says what it asks for in them: fewer of the
	// logged messages are found to fit.
	RequestsUnknown bool `json:"asks_unknown,omitempty"`
}

// Divergence counts the sessions that first left the log's path at a turn; turn 0 stands for those that never did.
type Divergence struct {
	Turn     int `json:"turn"`
	Sessions int `json:"sessions"`
}

// Note is something counted that a reader must know, with examples.
type Note struct {
	Text     string   `json:"text"`
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
}

// Unit is what a metric is counted in.
type Unit string

// The units. A Share lies between 0 and 1.
const (
	Share        Unit = "share"
	Ratio        Unit = "ratio"
	Turns        Unit = "turns"
	Milliseconds Unit = "ms"
	Seconds      Unit = "s"
	Tokens       Unit = "tokens"
	USD          Unit = "USD"
)

// MetricReport is one metric over all sessions that were compared.
type MetricReport struct {
	Name          string `json:"metric"`
	Unit          Unit   `json:"unit"`
	LowerIsBetter bool   `json:"lower_is_better,omitempty"`
	// Candidate and Baseline are the means over whole sessions, OnSupport those over the turns before either lane left
	// the log's path. Nil where nothing applies.
	Candidate          *Estimate `json:"candidate"`
	Baseline           *Estimate `json:"baseline"`
	CandidateOnSupport *Estimate `json:"candidate_on_support,omitempty"`
	BaselineOnSupport  *Estimate `json:"baseline_on_support,omitempty"`
	// Difference is candidate less baseline on the same sessions; nil without a baseline, or where no session has both.
	Difference *DifferenceReport `json:"difference"`
	// DifferenceOnSupport is the same over the turns that both lanes have in common; it decides nothing, so it has no
	// verdict.
	DifferenceOnSupport *DifferenceReport `json:"difference_on_support,omitempty"`
	// DifferenceOfAll is Difference over all sessions where that leaves out those that are rescued or censored; it
	// decides nothing.
	DifferenceOfAll *DifferenceReport `json:"difference_of_all,omitempty"`
	// Gated is true for the metrics that decide, Guard for those by which a candidate can only fail; Spec is what the
	// specification's gate says of it.
	Gated bool  `json:"gated"`
	Guard bool  `json:"guard"`
	Spec  *bool `json:"spec_passed,omitempty"`
}

// Estimate is a mean with its 95 % interval, whose bounds are nil where too little is known.
type Estimate struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	N     int      `json:"n"`
}

// DifferenceReport is a paired difference with its verdict (statistics.md).
type DifferenceReport struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	N    int      `json:"n"`
	// Changed counts the sessions in which the lanes differ, and Varies is whether there are any.
	Changed int  `json:"changed"`
	Varies  bool `json:"varies"`
	// P is the p-value of "no difference", AdjustedP that for the claim that the candidate is better, corrected over
	// the metrics that decide.
	P         float64 `json:"p"`
	AdjustedP float64 `json:"p_adjusted"`
	Verdict   string  `json:"verdict"`
	// Margin is the loss that does not matter, in words: "10 % of the baseline".
	Margin string `json:"margin,omitempty"`
	// MarginSize is the margin in units of the metric; nil where there is no verdict.
	MarginSize *float64 `json:"margin_size"`
	// Detectable is the smallest true loss that would have been found with the probability that was asked for; nil
	// where none would.
	Detectable *float64 `json:"detectable"`
	Method     string   `json:"method"`
	// Clusters counts the users or sessions that are independent of each other. ICC says how alike the differences of
	// one user are, nil where none has two sessions; DesignEffect by how much that widens the interval's square.
	Clusters     int      `json:"clusters"`
	ICC          *float64 `json:"icc"`
	DesignEffect float64  `json:"design_effect"`
	// WorstCase is the mean if the candidate had lost every lost pair; of completion match only.
	WorstCase *float64 `json:"worst_case,omitempty"`
}
