// Package judge asks a model for verdicts. It writes the prompt, chooses the model, checks the reply, has an unusable reply repaired once,
// and remembers verdicts.
package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/singleflight"

	"rehearse/internal/chat"
	"rehearse/internal/grader"
	"rehearse/internal/llm"
	"rehearse/internal/result"
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
	// Primary judges every question. With a Secondary, it judges complex questions and those that the secondary could not answer.
	Primary, Secondary Named
	// Complexity is the number of criteria, plus one for every 4,000 characters of context, above which a question is complex;
	// 0 means DefaultComplexity.
	Complexity int
	// Samples is how often each question is asked; 0 means once. The majority and the median of the answers count.
	Samples int
	// Cache may be nil; then no verdict is remembered, and equal questions asked at the same time are not joined.
	Cache Cache
	// Scope separates the verdicts of one suite from those of others.
	Scope string
}

// Named is a model with the name that reports show.
type Named struct {
	Name  string
	Model llm.Model
	// Key distinguishes models of one name in the cache, for example by address and parameters.
	Key string
}

// Judge implements grader.Judge. It is safe for concurrent use. Use New; the zero value has no model.
type Judge struct {
	config Config
	flight singleflight.Group
}

var _ grader.Judge = (*Judge)(nil)

// New returns a judge; Primary is required.
func New(c Config) *Judge {
	if c.Complexity == 0 {
		c.Complexity = DefaultComplexity
	}
	c.Samples = max(1, c.Samples)
	return &Judge{config: c}
}

// Ask returns the verdict on a question: with several samples, the verdict that merge makes of them.
func (j *Judge) Ask(ctx context.Context, q grader.Question) (grader.Verdict, error) {
	verdicts := make([]grader.Verdict, 0, j.config.Samples)
	var use result.JudgeUse
	for sample := range j.config.Samples {
		v, err := j.sample(ctx, q, sample)
		use = use.Add(v.Use)
		if err != nil {
			return grader.Verdict{Use: use}, err
		}
		verdicts = append(verdicts, v)
	}
	v := merge(verdicts)
	v.Use = use
	return v, nil
}

// sample asks the model that suits the question, and the primary if that one fails.
func (j *Judge) sample(ctx context.Context, q grader.Question, sample int) (grader.Verdict, error) {
	model := j.config.Primary
	if j.config.Secondary.Model == nil || complexity(q) > j.config.Complexity {
		return j.cached(ctx, model, q, sample)
	}
	v, err := j.cached(ctx, j.config.Secondary, q, sample)
	if err == nil || ctx.Err() != nil {
		return v, err
	}
	primary, err := j.cached(ctx, model, q, sample)
	primary.Use = primary.Use.Add(v.Use)
	return primary, err
}

// complexity is the number of criteria, plus one for every contextUnit characters to be read.
func complexity(q grader.Question) int {
	length := len(q.Output) + len(q.Context) + len(q.Task) + len(q.Expected)
	for _, m := range q.Input {
		length += len(m.Content.Text)
	}
	return max(1, len(q.Rubrics)+len(q.Names)) + length/contextUnit
}

// cached returns a remembered verdict, or asks. If the same question is being asked already, it waits for that answer.
func (j *Judge) cached(ctx context.Context, m Named, q grader.Question, sample int) (grader.Verdict, error) {
	request := prompt(q)
	if j.config.Cache == nil {
		return converse(ctx, m, q, request)
	}
	key := cacheKey(j.config.Scope, m, q, request, sample)
	for {
		asked := false
		shared := j.flight.DoChan(key, func() (any, error) {
			asked = true
			return j.fetch(ctx, key, m, q, request)
		})
		var r singleflight.Result
		select {
		case <-ctx.Done():
			return grader.Verdict{}, ctx.Err()
		case r = <-shared:
		}
		v, _ := r.Val.(grader.Verdict)
		if asked {
			return v, r.Err
		}
		if errors.Is(r.Err, context.Canceled) && ctx.Err() == nil {
			continue // the caller that asked gave up, so this one asks
		}
		v.Use = result.JudgeUse{}
		if r.Err == nil {
			v.Use.CacheHits = 1
		}
		return v, r.Err
	}
}

// fetch looks a verdict up, or asks and remembers it. It turns a panic into an error: other callers that wait could not recover from it.
func (j *Judge) fetch(ctx context.Context, key string, m Named, q grader.Question, request llm.Request) (v grader.Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = grader.Verdict{}, fmt.Errorf("internal error, please report it: %v\n%s", r, debug.Stack())
		}
	}()
	data, found, err := j.config.Cache.Verdict(ctx, key)
	if err != nil {
		return grader.Verdict{}, fmt.Errorf("look up the verdict cache: %w", err)
	}
	if found && json.Unmarshal(data, &v) == nil {
		v.Use = result.JudgeUse{CacheHits: 1}
		return v, nil
	}
	if v, err = converse(ctx, m, q, request); err != nil {
		return v, err
	}
	if data, err = json.Marshal(v); err == nil {
		err = j.config.Cache.PutVerdict(ctx, key, data)
	}
	if err != nil {
		return v, fmt.Errorf("remember the verdict: %w", err)
	}
	return v, nil
}

// converse asks and, when the reply is unusable, asks once for a repaired one.
func converse(ctx context.Context, m Named, q grader.Question, request llm.Request) (grader.Verdict, error) {
	var use result.JudgeUse
	for repaired := false; ; repaired = true {
		reply, err := m.Model.Generate(ctx, request)
		use = use.Add(result.JudgeUse{Calls: 1, Usage: reply.Usage, Cost: reply.Cost})
		if err != nil {
			return grader.Verdict{Use: use}, err
		}
		v, err := parse(q, reply.Text)
		v.Use = use
		if err == nil {
			return v, nil
		}
		if repaired {
			return grader.Verdict{Use: use}, fmt.Errorf("the judge %s gave no usable answer, also when asked to repair it: %w", m.Name, err)
		}
		request.Messages = append(slices.Clip(request.Messages),
			chat.Say(chat.Assistant, reply.Text),
			chat.Say(chat.User, "That reply cannot be used: "+err.Error()+". Answer the same question again with nothing but the JSON object "+shape(q)))
	}
}
