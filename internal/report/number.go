package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"rehearse/internal/result"
)

// percent writes a rate as 92.3%, without a fraction that says nothing. Only all is 100%, only none is 0%.
func percent(rate float64) string {
	s := strconv.FormatFloat(100*rate, 'f', 1, 64)
	switch {
	case s == "100.0" && rate < 1:
		s = "99.9"
	case s == "0.0" && rate > 0:
		s = "0.1"
	}
	return strings.TrimSuffix(s, ".0") + "%"
}

// between writes an interval of rates as 79.7–97.3%.
func between(interval [2]float64) string {
	return strings.TrimSuffix(percent(interval[0]), "%") + "–" + percent(interval[1])
}

// score writes a score with two digits, never rounding a failing score up to its threshold.
func score(s float64) string {
	return strconv.FormatFloat(math.Floor(s*100+1e-9)/100, 'f', 2, 64)
}

// signed writes a difference of scores as +0.10.
func signed(d float64) string { return fmt.Sprintf("%+.2f", d) }

// count writes a number with its thousands apart.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// many writes a number with its noun.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return count(n) + " " + noun
}

// dollars writes a cost with as many digits as it takes to see it.
func dollars(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case usd < 0.01:
		return fmt.Sprintf("$%.4f", usd)
	case usd < 1:
		return fmt.Sprintf("$%.3f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// took writes a duration of milliseconds.
func took(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond)).Round(time.Millisecond)
	switch {
	case d == 0 && ms > 0:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

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
