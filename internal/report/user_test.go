package report_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// What a simulated user took and did stands in every report, apart from the agent's figures, and what is not known is
// not 0.
func TestUserStandsApart(t *testing.T) {
	held := test("shop", "refund", "I want my money back", "It is on its way")
	held.Cost, held.Usage = chat.Cost{USD: 0.25}, chat.Usage{InputTokens: 40, OutputTokens: 2}
	held.User = &result.User{
		Model: "openai:player", Seed: new(7), Turns: 1, End: result.EndTurnLimit, Calls: 3,
		Usage: chat.Usage{InputTokens: 1_000, OutputTokens: 20}, Cost: chat.Cost{USD: 0.5},
		Faults: []result.UserFault{{Code: "repeats", Turn: 2, Message: "says again \"no\""}},
		Quality: &result.UserQuality{GoalOverlap: new(0.25), GoalStated: new(false), FactsGiven: []string{"order"},
			FactsWithheld: []string{"city"}, Repeats: 1},
	}
	unknown := test("shop", "unknown", "Hello", "Hello")
	unknown.User = &result.User{Model: "openai:player", Turns: 1, End: result.EndUser, Calls: 1,
		Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}
	run, _ := sample()
	run.Totals, run.Comparison = result.Totals{}, nil
	write := func(f func(io.Writer) error) string {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.Join(strings.Fields(b.String()), " "), `\$`, "$")
	}
	one := report.New(run, each(held))
	line :=
		"openai:player (seed 7); 1 message; ended at the turn limit; 3 calls, tokens 1,000 in, 20 out, cost $0.500; " +
			"goal not stated (25% of its words); facts given 1 of 2 (not city); repeats in turn 2: says again"
	sum := []string{"3 calls, tokens 1,000 in, 20 out, cost $0.500",
		"1 talk; 1 ended at the turn limit; goal stated in 0 of 1; facts given 1 of 2; faults: repeats 1"}
	text := write(func(w io.Writer) error {
		return one.Text(w, report.TextOptions{Verbose: true, Simulated: true, Width: 200})
	})
	for what, reports := range map[string]struct {
		text string
		want []string
	}{
		"text":  {text, append(sum, line, "user: I want my money back", "assistant: It is on its way", "cost $0.250 ")},
		"md":    {write(one.Markdown), append(sum, "cost **$0.250**")},
		"html":  {write(one.HTML), append(sum, line)},
		"junit": {write(one.JUnit), []string{"<system-out>user: " + line}},
	} {
		for _, want := range reports.want {
			if !strings.Contains(reports.text, want) {
				t.Errorf("%s lacks %q:\n%s", what, want, reports.text)
			}
		}
	}
	both := report.New(run, each(held, unknown))
	if got := write(both.Markdown); !strings.Contains(got,
		"4 calls, tokens unknown (at least 1,000 in, 20 out), cost unknown (at least $0.500)") {
		t.Errorf("an unknown cost is told as a known one:\n%s", got)
	}
	if plain := write(func(w io.Writer) error {
		return one.Text(w,
			report.TextOptions{Verbose: true})
	}); strings.Contains(plain, "assistant:") {
		t.Errorf("the talk is shown unasked:\n%s", plain)
	}
}
