// Package judge asks a model for verdicts. It writes the prompt, chooses the model, checks the reply, has an unusable
// reply repaired once, and remembers verdicts.
package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/singleflight"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// DefaultComplexity is the complexity above which a judge with a secondary model asks the primary one.
const DefaultComplexity = 4

// contextUnit is the number of characters of context that counts as one criterion.
const contextUnit = 4000

// Cache keeps verdicts between runs.
type Cache interface {
	Verdict(ctx context.Context, key string) (verdict []byte, found bool, err error)
	PutVerdict(ctx context.Context, key string, verdict []byte) error
}

// Config says which models judge and how.
type Config struct {
	// Primary judges every question. With a Secondary, it judges complex questions and those that the secondary could
	// not answer.
	Primary, Secondary Named
	// Panel are models that each judge every question, in place of Primary and Secondary; empty for a single judge.
	Panel []Named
	// Complexity is the number of criteria, plus one for every 4,000 characters of context, above which a question is
	// complex; 0 means DefaultComplexity.
	Complexity int
	// Samples is how often each question is asked, of each model of a panel; 0 means once. The majority and the median
	// of the answers count.
	Samples int
	// Canary says which control criteria checklists contain; empty means CanaryOn. A judge that decides one of them
	// wrongly gives no verdict.
	Canary Canary
	// Draws may be shared by the judges of a run; nil means draws of this judge's own.
	Draws *Draws
	// SharedTrials makes the trials of a test share remembered verdicts. Else each trial has its own.
	SharedTrials bool
	// Cache may be nil; then no verdict is remembered, and equal questions asked at the same time are not joined.
	Cache Cache
	// Warn is told of a cache that cannot be read or written, each time; the verdict counts all the same. It may be
	// nil.
	Warn func(error)
}

// Named is a model with the name that reports show.
type Named struct {
	Name  string
	Model llm.Model
	// Key distinguishes models of one name in the cache, for example by address and parameters.
	Key string
	// Draws returns what the draws of a call come from where a recording decides it: the key, nil for a recording that
	// has no draws and no canary, and the conversation. A nil function leaves it to Config.Draws.
	Draws func(context.Context) (key []byte, at llm.Conversation)
}

// Judge implements grader.Judge. It is safe for concurrent use. Use New; the zero value has no model.
type Judge struct {
	config Config
	flight singleflight.Group
}

var _ grader.Judge = (*Judge)(nil)

// New returns a judge; Primary or a Panel is required.
func New(c Config) *Judge {
	if c.Complexity == 0 {
		c.Complexity = DefaultComplexity
	}
	if c.Canary == "" {
		c.Canary = CanaryOn
	}
	if c.Draws == nil {
		c.Draws = NewDraws(nil)
	}
	c.Samples = max(1, c.Samples)
	return &Judge{config: c}
}

// Decide returns the verdict on a question: with a panel or several samples, the verdict that merge makes of the votes.
func (j *Judge) Decide(ctx context.Context, q grader.Question) (grader.Verdict, error) {
	voters := j.config.Panel
	if len(voters) == 0 {
		voters = []Named{j.config.Primary}
	}
	var votes []grader.Sample
	var use result.JudgeUse
	for sample := range j.config.Samples {
		for _, m := range voters {
			vote := j.sample(ctx, m, q, sample)
			use = use.Add(vote.Verdict.Use)
			if vote.Err != nil && ctx.Err() != nil {
				return grader.Verdict{Use: use}, vote.Err
			}
			votes = append(votes, vote)
		}
	}
	v, err := merge(q, votes)
	if len(votes) > 1 {
		v.Samples = votes
	}
	v.Use = use
	return v, err
}

// sample asks a model of the panel; without one, the model that suits the question, and the primary if that one fails.
func (j *Judge) sample(ctx context.Context, m Named, q grader.Question, sample int) grader.Sample {
	second := j.config.Secondary
	var use result.JudgeUse
	if len(j.config.Panel) == 0 && second.Model != nil && complexity(q) <= j.config.Complexity {
		v, err := j.vote(ctx, second, q, sample)
		if err == nil || ctx.Err() != nil {
			return grader.Sample{Model: second.Name, Verdict: v, Err: err}
		}
		use = v.Use
	}
	v, err := j.vote(ctx, m, q, sample)
	v.Use = use.Add(v.Use)
	return grader.Sample{Model: m.Name, Verdict: v, Err: err}
}

// vote asks one model. Its use counts as that model's where there are several.
func (j *Judge) vote(ctx context.Context, m Named, q grader.Question, sample int) (grader.Verdict, error) {
	ask := j.cached
	if q.Mode == grader.Compare {
		ask = j.compare
	}
	v, err := ask(ctx, m, q, sample)
	v.Use = j.by(v.Use, m)
	return v, err
}

// complexity is the number of criteria, plus one for every contextUnit characters to be read.
func complexity(q grader.Question) int {
	length := len(q.Output) + len(q.Other) + len(q.Context) + len(q.Task) + len(q.Expected)
	for _, m := range q.Input {
		length += len(m.Content.Text)
	}
	return max(1, len(q.Rubrics)+len(q.Names)) + length/contextUnit
}

// cached returns a remembered verdict, or asks. If the same question is being asked already, it waits for that answer,
// and asks itself when the other one's time is up before there is one.
func (j *Judge) cached(ctx context.Context, m Named, q grader.Question, sample int) (grader.Verdict, error) {
	request := prompt(q)
	if j.config.Cache == nil {
		v, _, err := j.converse(ctx, m, q, request, sample)
		return v, err
	}
	key := j.cacheKey(ctx, m, q, request, sample)
	for {
		asked := false
		shared := j.flight.DoChan(key, func() (any, error) {
			asked = true
			v, err := j.fetch(ctx, key, m, q, request, sample)
			return answered{v, err != nil && ctx.Err() != nil}, err
		})
		var r singleflight.Result
		select {
		case <-ctx.Done():
			return grader.Verdict{}, ctx.Err()
		case r = <-shared:
		}
		a, _ := r.Val.(answered)
		if asked {
			return a.verdict, r.Err
		}
		if a.late && ctx.Err() == nil {
			continue
		}
		a.verdict.Use = result.JudgeUse{}
		if r.Err == nil {
			a.verdict.Use.CacheHits = 1
		}
		return a.verdict, r.Err
	}
}

// answered is what a call brought to all who wait for it.
type answered struct {
	verdict grader.Verdict
	// late is true when there is no verdict because the time of the one who asked was up.
	late bool
}

// fetch looks a verdict up, or asks and remembers it. A cache that fails costs no verdict. A panic becomes an error:
// other callers that wait could not recover from it.
func (j *Judge) fetch(ctx context.Context, key string, m Named, q grader.Question, request llm.Request,
	sample int) (v grader.Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = grader.Verdict{}, fmt.Errorf("internal error in the judge, please report it: %v", r)
		}
	}()
	if v, found := j.remembered(ctx, key, q); found {
		return v, nil
	}
	v, settled, err := j.converse(ctx, m, q, request, sample)
	if err != nil || !settled {
		return v, err
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = j.config.Cache.PutVerdict(ctx, key, data)
	}
	j.warn(ctx, "remember a verdict", err)
	return v, nil
}

// remembered looks a verdict up. One that does not answer the whole question is none.
func (j *Judge) remembered(ctx context.Context, key string, q grader.Question) (v grader.Verdict, found bool) {
	data, found, err := j.config.Cache.Verdict(ctx, key)
	j.warn(ctx, "look up a verdict", err)
	if err != nil || !found || json.Unmarshal(data, &v) != nil || (checklist{Question: q}).complete(v) != nil {
		return grader.Verdict{}, false
	}
	v.Use = result.JudgeUse{CacheHits: 1}
	return v, true
}

// warn tells of a cache that fails while there is still time.
func (j *Judge) warn(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil && j.config.Warn != nil {
		j.config.Warn(fmt.Errorf("%s: %w", doing, err))
	}
}

// converse asks and, when the reply leaves doubt, asks once for a repaired one. undrawn is the request with the
// author's ids. settled is false for a verdict that took a repair: such a verdict is not remembered.
func (j *Judge) converse(ctx context.Context, m Named, q grader.Question, undrawn llm.Request,
	sample int) (v grader.Verdict, settled bool, err error) {
	var use result.JudgeUse
	request, asked := undrawn, checklist{Question: q}
	if q.Mode == grader.Checklist {
		asked = draw(q, j.config.Canary, j.config.Draws.call(ctx, m, undrawn, sample))
		request = prompt(asked.Question)
	}
	for repaired := false; ; repaired = true {
		reply, err := m.Model.Generate(ctx, request)
		use = use.Add(result.JudgeUse{Calls: 1, Usage: reply.Usage, Cost: reply.Cost})
		if err != nil {
			if llm.Worked(err) {
				use.Usage.Unknown, use.Cost.Unknown = true, true
			}
			return grader.Verdict{Use: use}, false, err
		}
		v, err := parse(asked, reply.Text)
		if err == nil {
			v, err = asked.settle(v)
		}
		v.Use = use
		switch {
		case err == nil:
			return v, !repaired, nil
		case repaired:
			return grader.Verdict{Use: use}, false,
				fmt.Errorf("the judge %s gave no usable answer, also when asked to repair it: %w", m.Name, err)
		}
		problem := err.Error()
		if own, ok := err.(interface{ repair() string }); ok { //nolint:errorlint // parse and settle wrap none
			problem = own.repair()
		}
		request.Messages = append(slices.Clip(request.Messages),
			chat.NewMessage(chat.Assistant, reply.Text),
			chat.NewMessage(chat.User, "That reply cannot be used: "+problem+
				". Answer the same question again with nothing but the JSON object "+shape(q)))
	}
}
