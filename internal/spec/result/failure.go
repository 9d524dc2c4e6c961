package result

import "slices"

// Code classifies a failure. The list is closed. Of several codes, the first in the list is the turn's code.
type Code string

// The failure codes in their order of precedence.
const (
	NodeMismatch     Code = "NODE_MISMATCH"
	ToolArgsMismatch Code = "TOOL_ARGS_MISMATCH"
	AssistantContent Code = "ASSISTANT_CONTENT"
	FactDrift        Code = "FACT_DRIFT"
	QualityJudgeFail Code = "QUALITY_JUDGE_FAIL"
	EngineError      Code = "ENGINE_ERROR"
	Timeout          Code = "TIMEOUT"
	Flaky            Code = "FLAKY"
	JudgeError       Code = "JUDGE_ERROR"
	SpecInvalid      Code = "SPEC_INVALID"
	SeedMismatch     Code = "SEED_MISMATCH"
	Budget           Code = "BUDGET"
)

// Codes lists every code in its order of precedence.
var Codes = []Code{
	NodeMismatch, ToolArgsMismatch, AssistantContent, FactDrift, QualityJudgeFail, EngineError, Timeout, Flaky,
	JudgeError, SpecInvalid, SeedMismatch, Budget,
}

// Source returns who finds failures of this code, empty for a code that any part may find.
func (c Code) Source() string {
	switch c {
	case NodeMismatch, ToolArgsMismatch, AssistantContent:
		return "structured"
	case FactDrift:
		return "memory"
	case QualityJudgeFail:
		return "judge"
	case EngineError:
		return "transport"
	case Timeout:
		return "orchestrator"
	case Flaky:
		return "post-processing"
	}
	return ""
}

// Failure says what went wrong, where, and who found it.
type Failure struct {
	Code Code `json:"code"`
	// Source is who found it: the source of the code, else a grader's name.
	Source string `json:"source"`
	// Turn counts from 1; 0 means the whole conversation.
	Turn int `json:"turn,omitempty"`
	// Message says what was got and what was wanted.
	Message string `json:"message"`
}

// SortFailures orders failures by code precedence, keeping the order of equals.
func SortFailures(failures []Failure) {
	slices.SortStableFunc(failures, func(a, b Failure) int {
		return slices.Index(Codes, a.Code) - slices.Index(Codes, b.Code)
	})
}

// Codes returns the failure codes of the test and its scores, each once, in their order of precedence.
// That a test was not run because of another is no failure of its own.
func (t *Test) Codes() []Code {
	if t.Verdict == Skip {
		return nil
	}
	var codes []Code
	add := func(failures []Failure) {
		for _, f := range failures {
			if !slices.Contains(codes, f.Code) {
				codes = append(codes, f.Code)
			}
		}
	}
	add(t.Failures)
	for _, s := range t.Scores {
		add(s.Failures)
	}
	slices.SortFunc(codes, func(a, b Code) int { return slices.Index(Codes, a) - slices.Index(Codes, b) })
	return codes
}
