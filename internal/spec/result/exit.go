package result

import "fmt"

// The exit codes of the program.
const (
	ExitPassed      = 0
	ExitFailed      = 1   // tests or thresholds failed
	ExitInvalid     = 2   // wrong usage or invalid input
	ExitNotRun      = 3   // something could not be run or graded
	ExitInterrupted = 130 // stopped by the user
)

// NothingGraded is the message of a run in which no test was graded.
const NothingGraded = "no test was graded (add assertions, or pass --allow-ungraded)"

// Exit returns how a finished run ended; message is empty where the counts explain the code. An error outranks a failed
// test: what the agent would have done is unknown. So does a run of which simulated users
// spoiled more than MaxUserInvalid, and one that graded no test, unless allowUngraded is true.
func (t Totals) Exit(allowUngraded bool) (code int, reason, message string) {
	switch {
	case t.Errors > 0:
		return ExitNotRun, ReasonErrors, ""
	case t.UserInvalidShare() > MaxUserInvalid:
		return ExitNotRun, ReasonErrors, fmt.Sprintf("simulated users spoiled %d of %d tests, more than %.0f%%: "+
			"the agent was tested too little (reword the users, or choose another model with --user)",
			t.UserInvalid, t.User.Tests, 100*MaxUserInvalid)
	case t.Failed > 0:
		return ExitFailed, ReasonFailed, ""
	case t.Ungraded > 0 && t.Graded()+t.Quarantined == 0 && !allowUngraded:
		return ExitNotRun, ReasonErrors, NothingGraded
	}
	return ExitPassed, ReasonPassed, ""
}
