package result

// SharedVerdictsKey is the entry of a run's Config that is true if the trials of a test share verdicts of the judge.
const SharedVerdictsKey = "trials_share_verdicts"

// SharesVerdicts reports whether the trials of a test share verdicts of the judge.
func (r *Run) SharesVerdicts() bool {
	config, _ := r.Config.(map[string]any)
	shared, _ := config[SharedVerdictsKey].(bool)
	return shared
}
