package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// userCalls returns the calls of simulated users and what they took, which is in no other figure; "" without users.
func userCalls(t *result.UserTotals) string {
	if t == nil {
		return ""
	}
	return callsAndCost(t.Calls, t.Usage, t.Cost)
}

func callsAndCost(calls int, usage chat.Usage, cost chat.Cost) string {
	parts := []string{text.Plural(calls, "call")}
	for _, f := range []struct{ name, value string }{{"tokens ", inAndOut(usage)}, {"cost ", dollars(cost)}} {
		if f.value != "" {
			parts = append(parts, f.name+f.value)
		}
	}
	return strings.Join(parts, ", ")
}

// usersPlayed says how well simulated users played their parts.
func usersPlayed(t *result.UserTotals) string {
	if t == nil {
		return ""
	}
	parts := []string{text.Plural(t.Conversations, "talk")}
	for _, end := range slices.Sorted(maps.Keys(t.Ends)) {
		parts = append(parts, fmt.Sprintf("%s %s", text.Count(t.Ends[end]), endWords(end)))
	}
	if t.Goals > 0 {
		parts = append(parts, fmt.Sprintf("goal stated in %s of %s", text.Count(t.GoalsStated), text.Count(t.Goals)))
	}
	if t.Facts > 0 {
		parts = append(parts, fmt.Sprintf("facts given %s of %s", text.Count(t.FactsGiven), text.Count(t.Facts)))
	}
	faults := []string{}
	for _, code := range slices.Sorted(maps.Keys(t.Faults)) {
		faults = append(faults, fmt.Sprintf("%s %s", text.OneLine(code, 40), text.Count(t.Faults[code])))
	}
	if len(faults) == 0 {
		faults = []string{"none"}
	}
	return strings.Join(append(parts, "faults: "+strings.Join(faults, ", ")), "; ")
}

// endWords says in words how a talk ended.
func endWords(end result.UserEnd) string {
	switch end {
	case result.EndUser:
		return "ended by the user"
	case result.EndStop:
		return "ended by a stop"
	case result.EndTurnLimit:
		return "ended at the turn limit"
	case result.EndAgent:
		return "ended by the agent"
	case result.EndFault:
		return "ended by a fault of the user"
	}
	return "broken off"
}

// userLine says what the simulated user of a test did; nothing without one.
func userLine(u *result.User) string {
	if u == nil {
		return ""
	}
	model := text.OneLine(u.Model, 100)
	if u.Seed != nil {
		model += fmt.Sprintf(" (seed %d)", *u.Seed)
	}
	parts := []string{model, text.Plural(u.Turns, "message"), callsAndCost(u.Calls, u.Usage, u.Cost)}
	if q := u.Quality; q != nil { // an aggregate has neither one end nor one quality
		parts = slices.Insert(parts, 2, endWords(u.End))
		parts = append(parts, played(q)...)
	}
	for i, f := range u.Faults {
		if i == maxListed {
			parts = append(parts, "… and "+text.Plural(len(u.Faults)-i, "more fault"))
			break
		}
		parts = append(parts, fmt.Sprintf("%s in turn %d: %s", text.OneLine(f.Code, 40), f.Turn, text.OneLine(f.Message,
			200)))
	}
	return strings.Join(parts, "; ")
}

func played(q *result.UserQuality) []string {
	var parts []string
	if q.GoalStated != nil && q.GoalOverlap != nil {
		word := "goal not stated"
		if *q.GoalStated {
			word = "goal stated"
		}
		parts = append(parts, fmt.Sprintf("%s (%s of its words)", word, text.Percent(*q.GoalOverlap)))
	}
	if all := len(q.FactsGiven) + len(q.FactsWithheld); all > 0 {
		facts := fmt.Sprintf("facts given %d of %d", len(q.FactsGiven), all)
		if len(q.FactsWithheld) > 0 {
			facts += " (not " + text.OneLine(strings.Join(q.FactsWithheld, ", "), 200) + ")"
		}
		parts = append(parts, facts)
	}
	return parts
}
