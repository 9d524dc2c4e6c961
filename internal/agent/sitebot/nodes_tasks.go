package sitebot

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
)

// The background tasks of a turn: they begin at its start, and the answer waits for them only where it needs them.
var (
	retrieval  = graph.NewTask[string]("retrieval")
	enrichment = graph.NewTask[enrich.Profile]("enricher")
	profiling  = graph.NewTask[enrich.Profile]("profile")
)

func (b *Bot) startRetrieval(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	if t.retriever == nil {
		return nil, nil
	}
	input := s.Input // a task that holds no more than it needs does not keep the state
	return nil, retrieval.Start(ctx, func(ctx context.Context) (string, error) {
		return t.retriever.Retrieve(ctx, input)
	})
}

func (b *Bot) startEnrichment(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	if t.enricher == nil || s.Visitor.Status == enrich.Completed {
		return nil, nil
	}
	visitor := enrich.Visitor{SessionID: s.SessionID, Site: t.Name, Reveal: t.request.Reveal}
	if t.request.IP.IsValid() {
		visitor.IP = t.request.IP.String()
	}
	return nil, enrichment.Start(ctx, func(ctx context.Context) (enrich.Profile, error) {
		found, attempts := t.enricher.Find(ctx, visitor)
		for _, a := range attempts {
			if a.Err != nil {
				b.Log.InfoContext(ctx, "enrichment", "source", a.Source, "error", a.Err)
			}
		}
		return found, nil
	})
}

func (b *Bot) startProfiling(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	return nil, profiling.Start(ctx, func(ctx context.Context) (enrich.Profile, error) {
		var said enrich.Profile
		// Without the claim, which would come back as the visitor's own words.
		vars := prompt.Vars{Profile: describeProfile(s.Visitor.Verified())}
		err := b.ask(ctx, t.models.Default, "visitor_profile", vars, conversation(&s, all), &said)
		// The model tells only what the visitor said, not who they are and how that is known.
		said.Status, said.Source, said.Tier, said.IPAddress, said.Claim = "", "", "", "", nil
		return said.Bounded(), err
	})
}

func (b *Bot) awaitEnrichment(ctx context.Context, _ State) (update, error) {
	return awaitProfile(ctx, enrichment, enrichmentLimit)
}

func (b *Bot) awaitProfiling(ctx context.Context, _ State) (update, error) {
	return awaitProfile(ctx, profiling, profilingLimit)
}

func awaitProfile(ctx context.Context, task graph.Task[enrich.Profile], limit time.Duration) (update, error) {
	found, ok, err := await(ctx, task, limit)
	if !ok {
		return nil, err
	}
	return update{visitorColumn.Set(found)}, err
}

func (b *Bot) awaitRetrieval(ctx context.Context, _ State) (update, error) {
	docs, ok, err := await(ctx, retrieval, retrievalLimit)
	if !ok {
		return nil, err
	}
	return update{docsColumn.Set(docs)}, err
}

// How long the answer waits for each task. The time counts from the first wait of the turn, because the tasks run side
// by side: an answer waits for the longest limit and not for their sum.
const (
	retrievalLimit  = 5 * time.Second
	enrichmentLimit = 2 * time.Second
	profilingLimit  = 4 * time.Second
)

// lastMoment is how long an awaiter waits when its time is over: enough to take a result that is there.
const lastMoment = 10 * time.Millisecond

// left returns what is left of a limit, which begins with the first wait of the turn.
func (t *turn) left(limit time.Duration) time.Duration {
	t.waiting.Do(func() { t.waits = time.Now() })
	return max(limit-time.Since(t.waits), lastMoment)
}

// cancelTasks stops the background tasks of the turn that a route does not use. All of them have begun by then, so that
// what a turn asks does not depend on who is faster.
func cancelTasks(ctx context.Context, route Route) {
	if route == AnswerRoute {
		return
	}
	if route != PostConversion {
		cancelTask(ctx, retrieval)
	}
	cancelTask(ctx, enrichment)
	cancelTask(ctx, profiling)
}

func cancelTask[T any](ctx context.Context, task graph.Task[T]) {
	_ = task.Started(ctx) // one that was not started is not started any more
	task.Cancel(ctx)
}

// await waits for a task as long as is left of the limit, and returns its result; ok is false when there is no such
// task.
func await[T any](ctx context.Context, task graph.Task[T], limit time.Duration) (result T, ok bool, err error) {
	result, err = task.Await(ctx, turnOf(ctx).left(limit))
	if errors.Is(err, graph.ErrNoTask) {
		return result, false, nil
	}
	return result, true, err
}
