package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// echo repeats the last message and says the how-manieth of the user it was: only a client that carries the
// conversation forward gets the right number.
func echo(asked *chatRequest) string {
	users := 0
	for _, m := range asked.Messages {
		if m.Role == "user" {
			users++
		}
	}
	last := asked.Messages[len(asked.Messages)-1]
	return fmt.Sprintf("You wrote: %s This is %s.", plain(last.Content), ordinal(users))
}

// ordinal is what the second contains of each turn looks for.
func ordinal(turn int) string { return fmt.Sprintf("message %d of our conversation", turn) }

// plain returns the text of a content, which is a string or a list of parts.
func plain(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // anything else has no text
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// judged is a verdict that passes, in every form that the measured programs ask for; each reads the keys that it knows.
type judged struct {
	Checks    []check            `json:"checks,omitempty"`
	Overall   string             `json:"overall_reasoning"`
	Scores    map[string]float64 `json:"scores,omitempty"`
	Score     float64            `json:"score"`
	Pass      bool               `json:"pass"`
	Reason    string             `json:"reason"`
	Reasoning string             `json:"reasoning"`
}

type check struct {
	ID        string `json:"id"`
	Satisfied bool   `json:"satisfied"`
	Reasoning string `json:"reasoning"`
}

// canary begins a criterion of rehearse that no reply meets.
const canary = `The reply contains the word "`

// verdict satisfies everything that the last message asks about, except a canary: rehearse names rubrics and criteria
// in a JSON object, AgentV names rubrics in lines like "- [id]: outcome", promptfoo asks for one verdict.
func verdict(asked *chatRequest) string {
	question := plain(asked.Messages[len(asked.Messages)-1].Content)
	v := judged{Overall: "Fine.", Score: 1, Pass: true, Reason: "Fine.", Reasoning: "Fine."}
	var form struct {
		Rubrics []struct {
			ID      string `json:"id"`
			Outcome string `json:"outcome"`
		} `json:"rubrics"`
		Criteria map[string]bool `json:"expected_criteria"`
	}
	if json.Unmarshal([]byte(question), &form) == nil {
		for _, r := range form.Rubrics {
			v.Checks = append(v.Checks, check{r.ID, !strings.HasPrefix(r.Outcome, canary), "It does."})
		}
		for name := range form.Criteria {
			if v.Scores == nil {
				v.Scores = map[string]float64{}
			}
			v.Scores[name] = 1
		}
	} else {
		for line := range strings.Lines(question) {
			if id, ok := strings.CutPrefix(line, "- ["); ok {
				id, _, _ = strings.Cut(id, "]")
				v.Checks = append(v.Checks, check{id, true, "It does."})
			}
		}
	}
	data, _ := json.Marshal(v) // plain data never fails
	return string(data)
}
