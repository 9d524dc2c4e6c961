package result

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// UserEnd says who or what ended a talk with a simulated user.
type UserEnd string

// The ends of a talk. The zero value is that of a talk that broke off, because the agent did not answer or the time was
// up: null in JSON.
const (
	EndUser      UserEnd = "user"
	EndStop      UserEnd = "stop"
	EndTurnLimit UserEnd = "turn_limit"
	EndAgent     UserEnd = "agent"
	EndFault     UserEnd = "fault"
)

// MarshalJSON writes null for the zero value.
func (e UserEnd) MarshalJSON() ([]byte, error) {
	if e == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(e))
}

// UserInvalid reports whether the simulated user spoiled the test. The test was run and paid for, and counts in no
// rate.
func (t *Test) UserInvalid() bool { return t.Verdict == Skip && t.User != nil }

// Ran reports whether the test was run: all but a test that was skipped because of another one.
func (t *Test) Ran() bool { return t.Verdict != Skip || t.UserInvalid() }

// UserFault is something that a simulated user must not do.
type UserFault struct {
	Code string `json:"code"`
	// Turn is the turn that the message would have begun, from 1.
	Turn    int    `json:"turn"`
	Message string `json:"message"`
}

// User is what a simulated user did in one talk; of a test with trials, in all of them.
type User struct {
	// Model is the user's as PROVIDER:MODEL.
	Model string `json:"model"`
	// Seed is the one that the model was asked with; nil without one.
	Seed *int `json:"seed"`
	// Turns counts the user's messages, also those that were written or said word for word.
	Turns int     `json:"turns"`
	End   UserEnd `json:"end"`
	// Calls counts how often the model was asked.
	Calls  int         `json:"calls"`
	Usage  chat.Usage  `json:"usage"`
	Cost   chat.Cost   `json:"cost_usd"`
	Faults []UserFault `json:"faults"`
	// Quality is nil on an aggregate over trials.
	Quality *UserQuality `json:"quality,omitempty"`
}

// UserQuality is how well a simulated user played its part, as far as code can tell by the words of its messages.
type UserQuality struct {
	// GoalOverlap is the share of the goal's words that the user said, GoalStated whether that is at least half. Both
	// are nil without a goal.
	GoalOverlap *float64 `json:"goal_overlap"`
	GoalStated  *bool    `json:"goal_stated"`
	// FactsGiven and FactsWithheld name the facts that the user said and did not say.
	FactsGiven    []string `json:"facts_given"`
	FactsWithheld []string `json:"facts_withheld"`
	// Repeats counts messages that had been said before.
	Repeats int `json:"repeats"`
}

// maxAggregateFaults bounds the faults that an aggregate lists; its trials have all.
const maxAggregateFaults = 100

// Add returns what two talks come to; either may be nil.
func (u *User) Add(v *User) *User {
	if u == nil || v == nil {
		if u == nil && v != nil {
			first := *v
			first.Quality = nil
			return &first
		}
		return u
	}
	sum := *u
	sum.Turns, sum.Calls = u.Turns+v.Turns, u.Calls+v.Calls
	sum.Usage, sum.Cost = u.Usage.Add(v.Usage), u.Cost.Add(v.Cost)
	sum.Faults = append(slices.Clip(u.Faults), v.Faults...)
	sum.Faults = sum.Faults[:min(len(sum.Faults), maxAggregateFaults)]
	if u.End != v.End {
		sum.End = ""
	}
	return &sum
}

// UserTotals is what the simulated users of a run did.
type UserTotals struct {
	Calls int        `json:"calls"`
	Usage chat.Usage `json:"usage"`
	Cost  chat.Cost  `json:"cost_usd"`
	// Faults counts them by their codes.
	Faults map[string]int `json:"faults"`
	// Tests counts the tests with a simulated user.
	Tests int `json:"tests"`
	// Conversations counts them, Ends how they ended; one that broke off is in none of these.
	Conversations int             `json:"talks"`
	Ends          map[UserEnd]int `json:"ends,omitempty"`
	// Goals counts the talks in which the user had a goal, GoalsStated those in which it said so; Facts and FactsGiven
	// likewise.
	Goals       int `json:"goals"`
	GoalsStated int `json:"goals_stated"`
	Facts       int `json:"facts"`
	FactsGiven  int `json:"facts_given"`
}

// MaxUserInvalid is the share of tests spoiled by their simulated users above which a run ends with an error.
const MaxUserInvalid = 0.1

// UserInvalidShare returns the share of the tests with a simulated user that it spoiled; 0 without such tests.
func (t Totals) UserInvalidShare() float64 {
	if t.UserInvalid == 0 || t.User == nil {
		return 0
	}
	return float64(t.UserInvalid) / float64(max(t.UserInvalid, t.User.Tests))
}

// Spent returns what the users have cost; nothing without users.
func (t *UserTotals) Spent() chat.Cost {
	if t == nil {
		return chat.Cost{}
	}
	return t.Cost
}

// Used returns the tokens of the users; none without users.
func (t *UserTotals) Used() chat.Usage {
	if t == nil {
		return chat.Usage{}
	}
	return t.Usage
}

// with returns the totals with one more talk. They are not changed: who has them may keep them.
func (t *UserTotals) with(u *User) *UserTotals {
	sum := UserTotals{}
	if t != nil {
		sum = *t
	}
	sum.Faults, sum.Ends = maps.Clone(sum.Faults), maps.Clone(sum.Ends)
	if sum.Faults == nil {
		sum.Faults, sum.Ends = map[string]int{}, map[UserEnd]int{}
	}
	sum.Conversations++
	sum.Calls += u.Calls
	sum.Usage, sum.Cost = sum.Usage.Add(u.Usage), sum.Cost.Add(u.Cost)
	for _, f := range u.Faults {
		sum.Faults[f.Code]++
	}
	if u.End != "" {
		sum.Ends[u.End]++
	}
	if q := u.Quality; q != nil {
		if q.GoalStated != nil {
			sum.Goals++
			if *q.GoalStated {
				sum.GoalsStated++
			}
		}
		sum.Facts += len(q.FactsGiven) + len(q.FactsWithheld)
		sum.FactsGiven += len(q.FactsGiven)
	}
	return &sum
}
