package result

// The exit codes of the program.
const (
	ExitPassed      = 0
	ExitFailed      = 1   // tests or thresholds failed
	ExitInvalid     = 2   // wrong usage or invalid input
	ExitNotRun      = 3   // something could not be run or graded
	ExitInterrupted = 130 // stopped by the user
)

// Exit returns how a finished run ended. A test that could not be run outweighs a failed one: such a run says nothing about the agent.
func (t Totals) Exit() (code int, reason string) {
	switch {
	case t.Errors > 0:
		return ExitNotRun, ReasonErrors
	case t.Failed > 0:
		return ExitFailed, ReasonFailed
	}
	return ExitPassed, ReasonPassed
}
