package result

// RerunKey is the entry of a run's Config that counts its reruns of failed tests (run --rerun failed).
const RerunKey = "rerun_failed"

// Reruns returns how often failed tests of the run ran again. The results have the last outcome of each only, so rates
// of a flaky agent are too high.
func (r *Run) Reruns() (n int) {
	r.setting(RerunKey, &n)
	return n
}
