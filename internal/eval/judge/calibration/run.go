package calibration

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxReasoning is how many characters of a judge's reasoning are kept.
const maxReasoning = 2_000

// Options say how a judge is asked.
type Options struct {
	// Samples is how often the judge is asked about each answer, at least once. The first verdict counts; all of them
	// show how far the judge agrees with itself.
	Samples int
	// Workers is how many answers are asked about at once, at least one.
	Workers int
	// Threshold makes a verdict of a score.
	Threshold float64
	// Again asks the judge also about answers that it has judged before, by the file.
	Again bool
	// Observe is called whenever the asks about an answer have ended; it may be nil. It must return quickly.
	Observe func(Progress)
}

// Progress counts the answers that are done, and those that are being asked about.
type Progress struct {
	Done, Agreed, Differing, Undecided, InFlight int
	Use                                          result.JudgeUse
}

// Answer is what one ask brought.
type Answer struct {
	Verdict Verdict
	// Score is nil where there is none.
	Score     *float64
	Reasoning string
	// Why says why there is no verdict.
	Why string
	// Orders has, of a pair, the verdict with the answers as they stand and with each in the other's place; empty
	// without them.
	Orders []Verdict
	// Votes has the answer of each voter, where there are several.
	Votes []Vote
}

// Vote is the answer of one model.
type Vote struct {
	Model  string
	Answer Answer
}

// Result is an item with the judge's answers, none when the judge was not asked.
type Result struct {
	*Item
	Answers []Answer
}

// Verdict returns the judge's verdict, empty when it was not asked.
func (a *Result) Verdict() Verdict {
	if len(a.Answers) == 0 {
		return ""
	}
	return a.Answers[0].Verdict
}

// Unanswered returns the first item about which a judge would have to be asked though the file does not have the
// answer; nil when there is none.
func (l *Labels) Unanswered(again bool) *Item {
	for _, item := range l.Items {
		if !item.answered && (again || item.Judged == "") && item.decided() {
			return item
		}
	}
	return nil
}

// NeedsJudge reports whether a judge has to be asked.
func (l *Labels) NeedsJudge(again bool) bool {
	for _, item := range l.Items {
		if (again || item.Judged == "") && item.decided() {
			return true
		}
	}
	return false
}

// Judges names the judges whose verdicts the file has; empty when it has none.
func (l *Labels) Judges() string {
	if !slices.ContainsFunc(l.Items, func(i *Item) bool { return i.Judged != "" }) {
		return ""
	}
	var names []string
	for _, item := range l.Items {
		if item.Model != "" && !slices.Contains(names, item.Model) {
			names = append(names, item.Model)
		}
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "of the file")
}

// Judge asks the judge about every item. After stop is closed it begins no other item; when ctx ends, the asks in
// flight are given up, too. Items that are not done have no answers. use is what all asks took.
func Judge(ctx context.Context, stop <-chan struct{}, judge grader.Judge, l *Labels,
	o Options) (asked []*Result, use result.JudgeUse) {
	work := make(chan *Result)
	var mu sync.Mutex
	var progress Progress
	var workers sync.WaitGroup
	for range max(1, o.Workers) {
		workers.Go(func() {
			for a := range work {
				mu.Lock()
				progress.InFlight++
				mu.Unlock()
				used := a.ask(ctx, judge, o)
				mu.Lock()
				progress.InFlight--
				use = use.Add(used)
				progress.count(a, o.Threshold)
				progress.Use = use
				if o.Observe != nil {
					o.Observe(progress)
				}
				mu.Unlock()
			}
		})
	}
	for _, item := range l.Items {
		asked = append(asked, &Result{Item: item})
	}
	feed(ctx, stop, asked, work)
	close(work)
	workers.Wait()
	return asked, use
}

// feed hands items to the workers until it is stopped.
func feed(ctx context.Context, stop <-chan struct{}, asked []*Result, work chan<- *Result) {
	for _, a := range asked {
		select { // of several ways select takes any: a stop goes first
		case <-stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case work <- a:
		}
	}
}

func (p *Progress) count(a *Result, threshold float64) {
	if len(a.Answers) == 0 && a.decided() { // interrupted
		return
	}
	p.Done++
	switch people, judged := a.people(threshold), a.Verdict(); {
	case judged == Undecided:
		p.Undecided++
	case people == judged:
		p.Agreed++
	case people != Split:
		p.Differing++
	}
}

// ask asks about one item, or takes what the judge said before. An item whose asks were interrupted has no answers.
func (a *Result) ask(ctx context.Context, judge grader.Judge, o Options) (use result.JudgeUse) {
	if !a.decided() {
		return use
	}
	if a.Judged != "" && !o.Again {
		a.Answers = []Answer{{Verdict: a.Judged}}
		return use
	}
	var answers []Answer
	for range max(1, o.Samples) {
		answer, used := a.once(ctx, judge, o.Threshold)
		use = use.Add(used)
		if ctx.Err() != nil && answer.Verdict == Undecided {
			return use
		}
		answers = append(answers, answer)
	}
	a.Answers = answers
	return use
}

// once asks once. A panic becomes an answer without a verdict.
func (a *Result) once(ctx context.Context, judge grader.Judge, threshold float64) (answer Answer, use result.JudgeUse) {
	defer func() {
		if r := recover(); r != nil {
			answer = Answer{
				Verdict: Undecided, Why: fmt.Sprintf("internal error in the judge, please report it: %v", r),
			}
		}
	}()
	v, err := judge.Decide(ctx, a.question())
	answer = a.answer(v, err, threshold)
	for _, vote := range v.Samples {
		answer.Votes = append(answer.Votes, Vote{vote.Model, a.answer(vote.Verdict, vote.Err, threshold)})
	}
	return answer, v.Use
}

// answer reads a verdict, of the judge or of one of its voters.
func (a *Result) answer(v grader.Verdict, err error, threshold float64) Answer {
	if err != nil {
		return Answer{Verdict: Undecided, Why: err.Error()}
	}
	if a.Pair {
		answer := Answer{Verdict: preference(v.Score), Reasoning: text.Clip(v.Reasoning, maxReasoning)}
		if v.Orders != nil {
			answer.Orders = []Verdict{preference(v.Orders[0]), preference(v.Orders[1])}
		}
		return answer
	}
	if a.Scored() {
		return Answer{
			Verdict: verdictOf(v.Score >= threshold), Score: &v.Score, Reasoning: text.Clip(v.Reasoning, maxReasoning),
		}
	}
	check, answered := v.Checks[criterionID]
	if !answered {
		return Answer{Verdict: Undecided, Why: "the judge did not answer the criterion"}
	}
	return Answer{Verdict: verdictOf(check.Satisfied), Reasoning: text.Clip(check.Reasoning, maxReasoning)}
}

// preference is the verdict on a pair by the score of its first answer.
func preference(score float64) Verdict {
	switch score {
	case 1:
		return A
	case 0:
		return B
	}
	return Tie
}

// criterionID is what the criterion of an item is called when the judge is asked, as the first criterion of a list is
// in a run.
const criterionID = "criterion-1"

// question asks as a run does: about a criterion in words as a checklist of one, about a score in the free form. Of a
// pair it asks which answer is better.
func (a *Result) question() grader.Question {
	q := grader.Question{Mode: grader.Checklist, Input: a.Input, Output: a.Output, Expected: a.Expected}
	switch {
	case a.Pair:
		q.Mode, q.Other, q.Criteria = grader.Compare, a.Other, a.Criterion
	case a.Scored():
		q.Mode, q.Criteria = grader.Free, a.Criterion
	default:
		q.Rubrics = []grader.Rubric{{ID: criterionID, Outcome: a.Criterion}}
	}
	return q
}
