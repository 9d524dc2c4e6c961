package result

// Attribution says what varies when the trials of a test do not all come out the same: the agent, the judge, or the
// transport. The transcripts of the trials are judged again, and whoever varies is the one that does not say the same
// twice.
type Attribution struct {
	// Causes are those of agent, judge and transport that vary, with inconclusive in place of agent and judge where
	// neither could be shown to; empty when transcripts could not be judged again, and Unknown then has the reason.
	Causes  []string `json:"causes"`
	Unknown string   `json:"unknown,omitempty"`
	// Transcripts has each trial that was graded, with its verdicts: its own, and those of judging its transcript
	// again.
	Transcripts []Rejudged `json:"transcripts"`
	// Agent is the variance of verdicts between transcripts, Judge that between the verdicts on one transcript,
	// AgentShare the agent's part of both; nil when they cannot be told apart.
	Agent      *float64 `json:"agent_variance"`
	Judge      *float64 `json:"judge_variance"`
	AgentShare *float64 `json:"agent_share"`
	// PValue is that of the hypothesis that verdicts do not depend on the transcript; nil when the agent and the judge
	// cannot be separated. The agent varies only where this is refused.
	PValue *float64 `json:"p_value"`
	// Lost counts the trials of so many Trials that ended without a transcript, with the share and its 95 % interval.
	// Retried counts the turns that took more than one attempt. Undecided counts the times that the judge gave no
	// verdict, in the trials and afterwards.
	Trials       int         `json:"trials"`
	Lost         int         `json:"lost"`
	LostShare    *float64    `json:"lost_share"`
	LostInterval *[2]float64 `json:"lost_interval"`
	Retried      int         `json:"retried"`
	Undecided    int         `json:"undecided"`
	// Use is what judging again took.
	Use JudgeUse `json:"judge_use"`
}

// Rejudged is one transcript with its verdicts.
type Rejudged struct {
	Trial    int `json:"trial"`
	Passed   int `json:"passed"`
	Verdicts int `json:"verdicts"`
}
