package variants

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// gateRule is a rule, or a metric under it, with what was seen.
type gateRule struct {
	Sign result.Verdict
	Text string
	Seen []string
	// Decided is true of the rule by which the outcome came about, Beyond of those that were not asked any more.
	Decided, Beyond bool
}

// pairedRules are the steps of the paired gate, of which the first that applies decides.
func pairedRules(r *replay.Report) []gateRule {
	rules := []gateRule{harmRule(r), lostRule(r), fitRule(r), powerRule(r), requireRule(r)}
	steps := map[string]int{"worse": 0, "lost_pairs": 1, "support": 2, "fidelity": 2, "power": 3, "not_shown": 4}
	last := len(rules)
	for i := range r.Gate.Reasons {
		reason := &r.Gate.Reasons[i]
		step, known := steps[reason.Code]
		if !known {
			continue
		}
		rule := &rules[step]
		if !rule.Decided {
			rule.Decided, rule.Sign, rule.Seen = true, signOfOutcome(r.Gate.Outcome), nil
		}
		if len(rule.Seen) < maxWhy {
			rule.Seen = append(rule.Seen, reasonText(r, reason))
		}
		last = max(step, 1) // harm and lost pairs are looked at together
	}
	for i := range rules {
		if rules[i].Beyond = i > last; rules[i].Beyond && rules[i].Sign == result.Pass {
			rules[i].Sign = result.Skip // what was not asked has not been passed
		}
	}
	return rules
}

func harmRule(r *replay.Report) gateRule {
	deciding, guards := 0, 0
	for i := range r.Metrics {
		switch m := &r.Metrics[i]; {
		case m.Difference == nil:
		case m.Gated:
			deciding++
		case m.Guard:
			guards++
		}
	}
	rule := gateRule{
		Sign: result.Pass, Text: "No metric or guard is worse",
		Seen: []string{fmt.Sprintf("%s that decide and %s were compared", text.Plural(deciding, "metric"),
			text.Plural(guards, "guard"))},
	}
	if deciding == 0 {
		rule.Sign = result.Skip
	}
	return rule
}

func lostRule(r *replay.Report) gateRule {
	return gateRule{
		Sign: result.Pass, Text: fmt.Sprintf("At most %s of the pairs are lost", quantity(r.Gate.MaxLost,
			replay.Share)), Seen: []string{lostWords(r)},
	}
}

// fitRule is whether the log fits the agents, or the simulated user the real ones.
func fitRule(r *replay.Report) gateRule {
	switch r.Run.Mode {
	case replay.Forced:
		return gateRule{Sign: result.Skip, Text: "The log fits",
			Seen: []string{"not asked in forced mode: each message was said in its logged state"}}
	case replay.Simulated:
		rule := gateRule{Sign: result.Skip, Text: "The simulated user is like the real ones",
			Seen: []string{"fidelity unknown"}}
		if f := r.Fidelity; f != nil {
			rule.Sign = signOf(f.Overall >= f.Minimum)
			rule.Seen = []string{fmt.Sprintf("fidelity %.2f, and %.3g is needed", f.Overall, f.Minimum)}
		}
		return rule
	}
	rule := gateRule{Sign: result.Pass, Text: fmt.Sprintf("At least %s of the logged messages fit each lane",
		quantity(r.Gate.MinSupport, replay.Share))}
	for _, lane := range []string{replay.Candidate, replay.Baseline} {
		c := r.Gate.Support[lane]
		if c == nil {
			rule.Seen = append(rule.Seen, variantWord(lane)+": "+unknown)
			if rule.Sign == result.Pass {
				rule.Sign = result.Skip
			}
			continue
		}
		rule.Seen = append(rule.Seen, variantWord(lane)+": "+quantity(*c, replay.Share)+" answer what it had asked")
		if *c < r.Gate.MinSupport {
			rule.Sign = result.Error
		}
	}
	return rule
}

// powerRule is whether a loss that matters would have been found.
func powerRule(r *replay.Report) gateRule {
	rule := gateRule{Sign: result.Pass,
		Text: fmt.Sprintf("A loss that matters would have been found with probability %.3g", r.Gate.MinPower)}
	if r.Gate.MinPower == 0 {
		return gateRule{Sign: result.Skip, Text: "A loss that matters would have been found",
			Seen: []string{"not asked for (--min_power 0)"}}
	}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		unseen, has := unseenOf(r, m)
		if !has || m.Difference == nil {
			continue
		}
		name := wordsOf(m.Name, r.Run.Mode).name
		loss := lossWords(unseen.Loss, m)
		switch {
		case isHarmless(m.Difference):
			rule.Seen = append(rule.Seen, name+": no loss beyond the margin")
		case loss == "":
			rule.Sign = result.Error
			rule.Seen = append(rule.Seen, name+": no loss would have been found")
		default:
			if *unseen.Loss > unseen.Margin {
				rule.Sign = result.Error
			}
			rule.Seen = append(rule.Seen, name+": up to "+loss+" unseen, "+marginSentence(unseen.Margin, m))
		}
	}
	if len(rule.Seen) == 0 {
		rule.Sign, rule.Seen = result.Skip, []string{"no metric that decides was compared"}
	}
	return rule
}

func requireRule(r *replay.Report) gateRule {
	switch require := r.Gate.Require; require {
	case replay.NotWorse:
		return gateRule{Sign: result.Pass, Text: "What --require asks for is shown",
			Seen: []string{"not_worse asks for nothing more"}}
	default:
		return gateRule{Sign: result.Pass, Text: "What --require asks for is shown",
			Seen: []string{text.OneLine(string(require), 20)}}
	}
}

// alarmWords bound how often the gate errs when the candidate equals the baseline.
func alarmWords(r *replay.Report) string {
	a := r.Gate.FalseAlarm
	if a.Worse == 0 && a.Better == 0 || r.Gate.Name == replay.GateSpec {
		return ""
	}
	return fmt.Sprintf(
		"Were the two equal, the gate would say “worse” in at most %s of such runs, and “better” in at most %s.",
		quantity(a.Worse, replay.Share), quantity(a.Better, replay.Share))
}

// specRules are the specification's four rules, and the one that no baseline excuses.
func specRules(r *replay.Report) (rules []gateRule) {
	for _, rule := range []struct{ metric, words string }{
		{replay.CompletionMatch, "Completion match at least the baseline’s"},
		{replay.TurnCountRatio, "Turn count ratio at most 1.1 × the baseline’s"},
		{replay.StateProgression, wordsOf(replay.StateProgression, r.Run.Mode).name + " at least the baseline’s"},
		{replay.AvgLatency, "Average latency at most 1.2 × the baseline’s"},
	} {
		holds, applies := r.Spec.Tests[rule.metric]
		if !applies {
			rules = append(rules, gateRule{Sign: result.Skip, Text: rule.words, Seen: []string{"does not apply"}})
			continue
		}
		var seen []string
		if m := metricOf(r, rule.metric); m != nil {
			seen = []string{estimate(m.Candidate, m.Unit) + ", the baseline’s " + estimate(m.Baseline, m.Unit)}
		}
		if n := r.Outcomes[replay.Candidate].CompletedCensored; rule.metric == replay.CompletionMatch && n > 0 {
			seen = append(seen, text.Plural(n, "censored session")+" of the candidate did not complete, to the letter")
		}
		rules = append(rules, gateRule{Sign: signOf(holds), Text: rule.words, Seen: seen})
	}
	seen := "unknown"
	if c := r.Run.CompletionMatch; c != nil {
		seen = quantity(*c, replay.Share)
	}
	return append(rules, gateRule{Sign: signOf(r.Spec.Hard),
		Text: "Completion match at least 80%, whatever the baseline’s", Seen: []string{seen}})
}

func signOf(good bool) result.Verdict {
	if good {
		return result.Pass
	}
	return result.Fail
}
