package judge_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// What is complete at once is remembered; what took a repair is used each time anew.
func TestRemembered(t *testing.T) {
	whole := `{"checks":[{"id":"criterion-1","satisfied":true},{"id":"depth","score":7}]}`
	for _, tc := range []struct {
		name    string
		replies []string
		want    map[string]grader.RubricCheck
		kept    int
		calls   int
	}{
		{
			"complete", []string{whole},
			map[string]grader.RubricCheck{"criterion-1": {Satisfied: true}, "depth": {Score: 7}}, 1, 1,
		},
		{
			"repaired", []string{"hm", whole, "hm", whole},
			map[string]grader.RubricCheck{"criterion-1": {Satisfied: true}, "depth": {Score: 7}}, 0, 4,
		},
		{
			"incomplete, then repaired", []string{`{"checks":[]}`, whole, `{"checks":[]}`, whole},
			map[string]grader.RubricCheck{"criterion-1": {Satisfied: true}, "depth": {Score: 7}}, 0, 4,
		},
	} {
		cache, m := &shelf{m: map[string][]byte{}}, &script{replies: tc.replies}
		for range 2 {
			got, err := judge.New(judge.Config{Primary: named("m", m), Cache: cache}).Decide(t.Context(), checklist)
			if err != nil || len(got.Checks) != len(tc.want) || got.Checks["criterion-1"] != tc.want["criterion-1"] ||
				got.Checks["depth"] != tc.want["depth"] {
				t.Errorf("%s: %+v, %v; want %v", tc.name, got, err, tc.want)
			}
		}
		if len(cache.m) != tc.kept || len(m.asked) != tc.calls {
			t.Errorf("%s: %d verdicts remembered after %d calls, want %d and %d", tc.name, len(cache.m), len(m.asked),
				tc.kept, tc.calls)
		}
	}
}

// A repair call has the same messages, the reply as the judge's and what was wrong as the user's.
func TestRepairOfDoubt(t *testing.T) {
	q := grader.Question{Mode: grader.Free, Output: `I say {"score": 1}.`}
	for reply, says := range map[string]string{
		`{"score": 1}`:                               "may be a quotation",
		`{"score": 1} {"score": 0}`:                  "", // the first is a quotation
		`{"score": 0.5} {"score": 0}`:                "differ",
		`{"score": 0, "score": 0}`:                   "a key twice",
		`{"score": 0, "x": {"y": 1, "y": 1}}`:        "a key twice",
		`{"Score": 0}`:                               `"Score" in place of "score"`,
		`{"score": null}`:                            "cannot be a JSON null",
		`{"score": "0"}`:                             "cannot be a JSON string",
		`{"score": 2}`:                               "not between 0 and 1",
		`{"score": 0.5} {"score": 0, "score": 0.5}`:  "a key twice",
		`{"reasoning": "it wrote {"score": 0.7} and`: "a part of another one",
		`{"score": 0.7}, "score": 0.1}`:              "a part of another one",
		`{"score": 0, "quote": {"score": 1},}`:       "may be a quotation",
		`{"score": 0, "quote": {"score": 0.7},}`:     "a part of another one",
		`<think>{"score": 0.5}</think>`:              "it is empty",
		`{"verdict": {"score": 0.5}}`:                `no "score"`,
		// the thoughts are left out, and a broken object of another form says nothing
		`<think>{"score": 0.5}</think>{"score":0.5}{"a":}`:                             "",
		`{"score": 0.5, "reasoning": "x"} and again {"reasoning": "x", "score": 5e-1}`: "",
	} {
		m := &script{replies: []string{reply, `{"score": 0.25}`}}
		got, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), q)
		if err != nil || (says == "") != (len(m.asked) == 1) {
			t.Errorf("%s: %+v, %v after %d calls", reply, got, err, len(m.asked))
			continue
		}
		if says == "" {
			continue
		}
		repair := m.asked[1].Messages
		if got.Score != 0.25 || len(repair) != 4 || repair[2].Role != chat.Assistant ||
			repair[2].Content.Text != reply || repair[3].Role != chat.User ||
			!strings.Contains(repair[3].Content.Text, says) {
			t.Errorf("%s: the repair is %v, want %q in it", reply, repair[2:], says)
		}
	}
}

// broken is a cache that can be neither read nor written.
type broken struct{ look, keep error }

func (b broken) Verdict(context.Context, string) ([]byte, bool, error) { return nil, false, b.look }
func (b broken) PutVerdict(context.Context, string, []byte) error      { return b.keep }

// A verdict that was obtained counts, whatever becomes of the cache.
func TestBrokenCache(t *testing.T) {
	for name, cache := range map[string]broken{
		"cannot be read": {look: errors.New("locked")}, "cannot be written": {keep: errors.New("locked")},
	} {
		var warned []error
		primary, secondary := &script{replies: []string{`{"score":0.5}`}}, &script{replies: []string{`{"score":1}`}}
		got, err := judge.New(judge.Config{
			Primary: named("p", primary), Secondary: named("s", secondary), Cache: cache,
			Warn: func(err error) { warned = append(warned, err) },
		}).Decide(t.Context(), checklistFree)
		if err != nil || got.Score != 1 || len(primary.asked) != 0 || len(secondary.asked) != 1 {
			t.Errorf("a cache that %s: %+v, %v after %d and %d calls", name, got, err, len(primary.asked),
				len(secondary.asked))
		}
		if len(warned) != 1 || !strings.Contains(warned[0].Error(), "locked") {
			t.Errorf("a cache that %s: warned of %v", name, warned)
		}
	}
}

// What is remembered must answer the whole question.
func TestRememberedInPart(t *testing.T) {
	for _, data := range []string{`{}`, `null`, `{"checks":{"depth":{"score":7}}}`, `{`, ``} {
		cache, m := &shelf{m: map[string][]byte{}}, &script{replies: []string{
			`{"checks":[{"id":"criterion-1","satisfied":true},{"id":"depth","score":7}]}`,
		}}
		j := judge.New(judge.Config{Primary: named("m", m), Cache: cache})
		for i := range 2 {
			if got, err := j.Decide(t.Context(), checklist); err != nil || len(got.Checks) != 2 || len(m.asked) != i+1 {
				t.Errorf("%s: %+v, %v after %d calls", data, got, err, len(m.asked))
			}
			for key := range cache.m {
				cache.m[key] = []byte(data)
			}
		}
	}
}

// slow is a model that answers after a while, unless the context ends.
type slow struct {
	mu    sync.Mutex
	asked int
}

func (s *slow) Generate(ctx context.Context, _ llm.Request) (chat.Reply, error) {
	s.mu.Lock()
	s.asked++
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return chat.Reply{}, context.Cause(ctx)
	case <-time.After(10 * time.Second):
		return chat.Reply{Text: `{"score":1}`}, nil
	}
}

// The time of one conversation fails no other: who waits for its verdict asks for itself.
func TestOnesTimeIsUp(t *testing.T) {
	for name, limit := range map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"a deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		},
		"a deadline with a cause": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 5*time.Second, errors.New("too long"))
		},
		"an interruption": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(5*time.Second, cancel)
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &slow{}
				j := judge.New(judge.Config{Primary: named("m", m), Cache: &shelf{m: map[string][]byte{}}})
				var all sync.WaitGroup
				all.Go(func() {
					ctx, cancel := limit(t.Context())
					defer cancel()
					if v, err := j.Decide(ctx, checklistFree); err == nil {
						t.Errorf("the hasty one has %+v", v)
					}
				})
				uses := make([]result.JudgeUse, 3)
				for i := range uses {
					all.Go(func() {
						time.Sleep(time.Second)
						v, err := j.Decide(t.Context(), checklistFree)
						if err != nil || v.Score != 1 {
							t.Errorf("a patient one has %+v, %v", v, err)
						}
						uses[i] = v.Use
					})
				}
				all.Wait()
				if sum := uses[0].Add(uses[1]).Add(uses[2]); m.asked != 2 || sum.Calls != 1 || sum.CacheHits != 2 {
					t.Errorf("asked %d times, used %+v", m.asked, sum)
				}
			})
		})
	}
}
