package report

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// score writes a score with two digits.
func score(s float64) string { return text.Score(s, 2) }

// signed writes a difference of scores as +0.10.
func signed(d float64) string { return fmt.Sprintf("%+.2f", d) }

// meaning says in a few words what a failure code stands for.
func meaning(code result.Code) string {
	switch code {
	case result.NodeMismatch:
		return "the flow went to another node than expected"
	case result.ToolArgsMismatch:
		return "a tool was not called, or called otherwise than expected"
	case result.AssistantContent:
		return "the reply’s text is not what was asserted"
	case result.FactDrift:
		return "the remembered facts are not what was expected"
	case result.QualityJudgeFail:
		return "the judge found a criterion unmet"
	case result.EngineError:
		return "the target failed to answer"
	case result.Timeout:
		return "the target took too long"
	case result.Flaky:
		return "trials of the same test came out differently"
	case result.JudgeError:
		return "the judge gave no usable verdict"
	case result.SpecInvalid:
		return "the test as written cannot be graded"
	case result.SeedMismatch:
		return "the seeded state is not what the test names"
	case result.Budget:
		return "a limit of cost, tokens or time was reached"
	}
	return ""
}
