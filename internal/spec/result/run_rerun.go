package result

import "slices"

// Continued returns the command line that continues a stopped run, without the program's name; nil of a run of suites,
// which is resumed by its folder. A run that graded others begins again, a replay continues by its id.
func (r *Run) Continued() []string {
	if len(r.Command) == 0 {
		return nil
	}
	switch r.Command[0] {
	case "grade":
		return r.Command
	case "replay":
		id := "--evaluation-run-id=" + r.ID
		if slices.Contains(r.Command, id) {
			return r.Command
		}
		return slices.Insert(slices.Clone(r.Command), min(2, len(r.Command)), id) // behind `replay run`
	}
	return nil
}

// RerunKey is the entry of a run's Config that counts its reruns of failed tests (run --rerun failed).
const RerunKey = "rerun_failed"

// Reruns returns how often failed tests of the run ran again. The results have the last outcome of each only, so rates
// of a flaky agent are too high.
func (r *Run) Reruns() (n int) {
	r.setting(RerunKey, &n)
	return n
}
