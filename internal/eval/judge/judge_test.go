package judge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model that answers one text after the other and remembers what it was asked.
type script struct {
	replies []string
	err     error
	wait    time.Duration
	mu      sync.Mutex
	asked   []llm.Request
}

func (s *script) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	time.Sleep(s.wait)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r)
	if s.err != nil {
		return chat.Reply{}, s.err
	}
	reply := s.replies[min(len(s.asked), len(s.replies))-1]
	return chat.Reply{Text: reply, Usage: chat.Usage{InputTokens: 7, OutputTokens: 3}}, nil
}

// named makes calls without draws, in which the ids of a question stay.
func named(name string, m llm.Model) judge.Named {
	return judge.Named{Name: name, Model: m, Draws: func(context.Context) ([]byte, llm.Conversation) {
		return nil, llm.Conversation{}
	}}
}

var checklist = grader.Question{
	Mode: grader.Checklist, Input: []chat.Message{chat.NewMessage(chat.User, "hi <b>")}, Output: "hello",
	Rubrics: []grader.Rubric{
		{ID: "criterion-1", Outcome: "Greets & smiles"},
		{ID: "depth", Outcome: "Is deep", Ranges: []grader.Range{{Ends: [2]int{0, 10}, Outcome: "x"}}},
	},
}

func TestReplies(t *testing.T) {
	ranged := checklist
	ranged.Rubrics = checklist.Rubrics[1:]
	free := grader.Question{Mode: grader.Free, Output: "x", Criteria: "good"}
	criteria := grader.Question{Mode: grader.Criteria, Output: "x", Names: []string{"style"}}
	good := map[string]grader.RubricCheck{"criterion-1": {Satisfied: true, Reasoning: "yes"}, "depth": {Score: 7}}
	for _, tc := range []struct {
		name, reply string
		q           grader.Question
		want        grader.Verdict
		bad         string
	}{
		{
			name: "plain", q: checklist,
			reply: `{"checks":[{"id":"criterion-1","satisfied":true,"reasoning":"yes"},{"id":"depth","score":7}],"overall_reasoning":"o"}`,
			want:  grader.Verdict{Checks: good, Reasoning: "o"},
		},
		{
			name: "fenced with words around", q: checklist,
			reply: "Here you are:\n```json\n{\"checks\":[{\"id\":\"criterion-1\",\"satisfied\":true,\"reasoning\":\"yes\"},{\"id\":\"depth\",\"score\":7,\"satisfied\":null}],\"overall_reasoning\":\"o\"}\n```\nDone.",
			want:  grader.Verdict{Checks: good, Reasoning: "o"},
		},
		{
			name: "unknown", q: ranged,
			reply: `{"checks":[{"id":"other","satisfied":"perhaps"},{"id":"depth","score":2}]}`,
			want:  grader.Verdict{Checks: map[string]grader.RubricCheck{"depth": {Score: 2}}},
		},
		{
			name: "twice and not the same", q: checklist,
			reply: `{"checks":[{"id":"criterion-1","satisfied":true},{"id":"criterion-1","satisfied":false}]}`,
			bad:   `answers "criterion-1" twice`,
		},
		{
			name: "twice, the second time satisfied", q: checklist,
			reply: `{"checks":[{"id":"criterion-1","satisfied":false},{"id":"criterion-1","satisfied":true}]}`,
			bad:   `answers "criterion-1" twice`,
		},
		{
			name: "scored twice", q: ranged, reply: `{"checks":[{"id":"depth","score":3},{"id":"depth","score":8}]}`,
			bad: `answers "depth" twice`,
		},
		{
			name: "scored twice, the second time lower", q: ranged,
			reply: `{"checks":[{"id":"depth","score":8},{"id":"depth","score":3}]}`, bad: `answers "depth" twice`,
		},
		{
			name: "lowest score", q: ranged, reply: `{"checks":[{"id":"depth","score":0}]}`,
			want: grader.Verdict{Checks: map[string]grader.RubricCheck{"depth": {}}},
		},
		{
			name: "highest score", q: ranged, reply: `{"checks":[{"id":"depth","score":10}]}`,
			want: grader.Verdict{Checks: map[string]grader.RubricCheck{"depth": {Score: 10}}},
		},
		{name: "free, lowest", q: free, reply: `{"score":0}`, want: grader.Verdict{}},
		{name: "free, highest", q: free, reply: `{"score":1}`, want: grader.Verdict{Score: 1}},
		{
			name: "free", q: free, reply: `{"score":0.5,"reasoning":"r","assertions":[{"text":"t","passed":true}]}`,
			want: grader.Verdict{Score: 0.5, Reasoning: "r"},
		},
		{
			name: "criteria", q: criteria, reply: `{"scores":{"style":0.9},"fail_reasons":["a","b"]}`,
			want: grader.Verdict{Scores: map[string]float64{"style": 0.9}, Reasoning: "a; b"},
		},
		{name: "words", q: free, reply: `It is good.`, bad: "not a JSON object"},
		{name: "empty", q: free, reply: ``, bad: "it is empty"},
		{name: "no score", q: free, reply: `{}`, bad: `no "score"`},
		{name: "score of 7", q: free, reply: `{"score":7}`, bad: "not between 0 and 1"},
		{name: "score as text", q: free, reply: `{"score":"high"}`, bad: "not the JSON"},
		{
			name: "satisfied as text", q: checklist, reply: `{"checks":[{"id":"criterion-1","satisfied":"yes"}]}`,
			bad: "not the JSON",
		},
		{name: "satisfied missing", q: checklist, reply: `{"checks":[{"id":"criterion-1"}]}`, bad: `needs "satisfied"`},
		{
			name: "range without score", q: checklist, reply: `{"checks":[{"id":"depth","satisfied":true}]}`,
			bad: "needs a score from 0 to 10",
		},
		{
			name: "score of 11", q: checklist, reply: `{"checks":[{"id":"depth","score":11}]}`,
			bad: "needs a score from 0 to 10",
		},
		{name: "no checks", q: checklist, reply: `{"score":1}`, bad: `no "checks"`},
		{name: "no scores", q: criteria, reply: `{"score":1}`, bad: `no "scores"`},
		{name: "cut", q: free, reply: `{"score":0.`, bad: "not a JSON object"},
		{
			name: "words around", q: free, reply: `Sure! {"score":0.5,"reasoning":"r"} Hope it helps.`,
			want: grader.Verdict{Score: 0.5, Reasoning: "r"},
		},
		{name: "broken inside", q: free, reply: `{"score":0.5,}`, bad: "not valid JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: []string{tc.reply}}
			got, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), tc.q)
			if tc.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tc.bad) || len(m.asked) != 2 || got.Use.Calls != 2 {
					t.Errorf("Ask = %+v, %v after %d calls; want %q after one repair", got, err, len(m.asked), tc.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Use = result.JudgeUse{Calls: 1, Usage: chat.Usage{InputTokens: 7, OutputTokens: 3}}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdict mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepair(t *testing.T) {
	m := &script{replies: []string{"no idea", `{"score":1}`}}
	got, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), grader.Question{Mode: grader.Free})
	if err != nil || got.Score != 1 || got.Use.Calls != 2 {
		t.Fatalf("Ask = %+v, %v", got, err)
	}
	repair := m.asked[1].Messages
	if len(repair) != 4 || repair[2].Content.Text != "no idea" ||
		!strings.Contains(repair[3].Content.Text, "not a JSON object") {
		t.Errorf("the repair does not say what was wrong: %v", repair)
	}
}

func TestRequest(t *testing.T) {
	m := &script{replies: []string{`{"checks":[{"id":"criterion-1","satisfied":true},{"id":"depth","score":7}]}`}}
	if _, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), checklist); err != nil {
		t.Fatal(err)
	}
	system, user := m.asked[0].Messages[0], m.asked[0].Messages[1]
	if system.Role != chat.System ||
		!strings.HasPrefix(system.Content.Text, "You are a strict evaluator. Provide JSON only.") {
		t.Errorf("system message = %q", system.Content.Text)
	}
	want := `{"input":[{"role":"user","content":"hi <b>"}],"output":"hello","rubrics":[{"id":"criterion-1","outcome":"Greets & smiles"},{"id":"depth","outcome":"Is deep","score_ranges":[{"score_range":[0,10],"outcome":"x"}]}]}`
	// The messages' own encoder escapes HTML characters; as JSON the two are the same.
	if diff := cmp.Diff(decode(t, want), decode(t, user.Content.Text)); diff != "" {
		t.Errorf("user message mismatch (-want +got):\n%s", diff)
	}
	if !strings.Contains(user.Content.Text, "Greets & smiles") {
		t.Errorf("a criterion's text is not readable in %s", user.Content.Text)
	}
	if m.asked[0].Schema == nil || !json.Valid(m.asked[0].Schema.JSON) {
		t.Error("no schema is asked for")
	}
}

func TestFreeRequest(t *testing.T) {
	q := grader.Question{
		Mode: grader.Free, Task: "Is it polite?", Input: []chat.Message{chat.NewMessage(chat.User, "hi")}, Output: "o",
		Expected: "e", Criteria: "c",
	}
	for _, tc := range []struct {
		name   string
		fields []string
		want   string
	}{
		{"all", nil, `{"task":"Is it polite?","criteria":"c","input":[{"role":"user","content":"hi"}],"output":"o","expected_output":"e"}`},
		{"output", []string{"output"}, `{"task":"Is it polite?","output":"o"}`},
		{
			"input and criteria", []string{"input", "criteria"},
			`{"task":"Is it polite?","input":[{"role":"user","content":"hi"}],"criteria":"c"}`,
		},
		{
			"output and reference", []string{"output", "expected_output"},
			`{"task":"Is it polite?","output":"o","expected_output":"e"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: []string{`{"score":1}`}}
			q.Fields = tc.fields
			if _, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tc.want), decode(t, m.asked[0].Messages[1].Content.Text)); diff != "" {
				t.Errorf("user message mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestForms holds that each mode says what to do and in which form to answer, in words and as a schema.
func TestForms(t *testing.T) {
	plain := checklist
	plain.Rubrics = checklist.Rubrics[:1]
	for _, tc := range []struct {
		name   string
		q      grader.Question
		says   []string
		not    string
		schema string
	}{
		{
			"checklist", plain,
			[]string{
				"Decide for each rubric",
				`{"checks": [{"id": "…", "satisfied": true|false, "reasoning": "one sentence"}]`,
			},
			"or, for a rubric",
			`{"properties":{"checks":{"items":{"properties":{"id":{"type":"string"},"satisfied":{"type":"boolean"},"reasoning":{"type":"string"}},
				"required":["id","satisfied","reasoning"],"additionalProperties":false,"type":"object"},"type":"array"},
				"overall_reasoning":{"type":"string"}},"required":["checks","overall_reasoning"],"additionalProperties":false,"type":"object"}`,
		},
		{
			"checklist with ranges", checklist,
			[]string{"Decide for each rubric", `or, for a rubric with score_ranges, {"id": "…", "score": 0..10`},
			"Do what the task says",
			`{"properties":{"checks":{"items":{"properties":{"id":{"type":"string"},"satisfied":{"type":["boolean","null"]},"reasoning":{"type":"string"},
				"score":{"type":["number","null"]}},"required":["id","satisfied","reasoning","score"],"additionalProperties":false,"type":"object"},"type":"array"},
				"overall_reasoning":{"type":"string"}},"required":["checks","overall_reasoning"],"additionalProperties":false,"type":"object"}`,
		},
		{
			"criteria",
			grader.Question{Mode: grader.Criteria, Names: []string{"tone"}},
			[]string{"Score the assistant message", `{"scores": {"name": 0..1}`},
			"expected_output describes",
			`{"properties":{"scores":{"properties":{"tone":{"type":"number"}},"required":["tone"],"additionalProperties":false,"type":"object"},
				"fail_reasons":{"items":{"type":"string"},"type":"array"}},"required":["scores","fail_reasons"],"additionalProperties":false,"type":"object"}`,
		},
		{
			"criteria with a reference",
			grader.Question{Mode: grader.Criteria, Names: []string{"tone"}, Reference: "r"},
			[]string{"Score the assistant message", "expected_output describes a good answer"},
			"Decide for each rubric", "",
		},
		{
			"free",
			grader.Question{Mode: grader.Free},
			[]string{"Do what the task says", `{"score": 0..1, "reasoning"`},
			"Score the assistant message",
			`{"properties":{"score":{"type":"number"},"reasoning":{"type":"string"}},"required":["score","reasoning"],"additionalProperties":false,"type":"object"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: []string{`{"score":1,"checks":[{"id":"criterion-1","satisfied":true},{"id":"depth","score":7}],"scores":{"tone":1}}`}}
			if _, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), tc.q); err != nil {
				t.Fatal(err)
			}
			said := m.asked[0].Messages[0].Content.Text
			for _, want := range tc.says {
				if !strings.Contains(said, want) {
					t.Errorf("no %q in %s", want, said)
				}
			}
			if strings.Contains(said, tc.not) {
				t.Errorf("%q in %s", tc.not, said)
			}
			if tc.schema != "" {
				if diff := cmp.Diff(decode(t, tc.schema), decode(t, string(m.asked[0].Schema.JSON))); diff != "" {
					t.Errorf("schema (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func decode(t *testing.T, s string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("not JSON: %s", s)
	}
	return v
}

func TestModelChoice(t *testing.T) {
	simple := grader.Question{Mode: grader.Free, Output: "short"}
	many := grader.Question{Mode: grader.Criteria, Names: []string{"a", "b", "c", "d", "e"}}
	word := strings.Repeat("word ", 5000)
	long := grader.Question{Mode: grader.Free, Output: word}
	for _, tc := range []struct {
		name      string
		q         grader.Question
		broken    bool
		primary   int
		secondary int
	}{
		{"simple", simple, false, 0, 1},
		{"many criteria", many, false, 1, 0},
		{"long context", long, false, 1, 0},
		{"long expected output", grader.Question{Mode: grader.Free, Expected: word}, false, 1, 0},
		{"long task", grader.Question{Mode: grader.Free, Task: word}, false, 1, 0},
		{"long excerpt", grader.Question{Mode: grader.Criteria, Context: word}, false, 1, 0},
		{
			"long history", grader.Question{Mode: grader.Free, Input: []chat.Message{chat.NewMessage(chat.User, word)}},
			false, 1, 0,
		},
		{"short, in many parts", grader.Question{
			Mode: grader.Free, Output: "a", Expected: "b", Task: "c", Context: "d",
		}, false, 0, 1},
		{"after a failure", simple, true, 1, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reply := `{"score":1,"scores":{"a":1,"b":1,"c":1,"d":1,"e":1}}`
			primary, secondary := &script{replies: []string{reply}}, &script{replies: []string{reply}}
			if tc.broken {
				secondary.replies = []string{"garbage"}
			}
			j := judge.New(judge.Config{Primary: named("p", primary), Secondary: named("s", secondary)})
			got, err := j.Decide(t.Context(), tc.q)
			if err != nil {
				t.Fatal(err)
			}
			if got.Use.Calls != tc.primary+tc.secondary {
				t.Errorf("%d calls are told, want those of both models, %d", got.Use.Calls, tc.primary+tc.secondary)
			}
			if len(primary.asked) != tc.primary || len(secondary.asked) != tc.secondary {
				t.Errorf("primary asked %d times, secondary %d; want %d, %d", len(primary.asked), len(secondary.asked),
					tc.primary, tc.secondary)
			}
		})
	}
}

func TestSamples(t *testing.T) {
	checks := func(satisfied bool, score float64) string {
		return fmt.Sprintf(
			`{"checks":[{"id":"criterion-1","satisfied":%t,"reasoning":"%v"},{"id":"depth","score":%v}]}`, satisfied,
			score, score)
	}
	free, criteria := grader.Question{Mode: grader.Free, Output: "o"},
		grader.Question{Mode: grader.Criteria, Names: []string{"tone"}}
	for _, tc := range []struct {
		name    string
		q       grader.Question
		samples int
		replies []string
		want    grader.Verdict
	}{
		{
			"the majority and the median of three", checklist, 3,
			[]string{checks(true, 2), checks(false, 9), checks(true, 4)},
			grader.Verdict{Checks: map[string]grader.RubricCheck{
				"criterion-1": {Satisfied: true, Reasoning: "2"},
				"depth":       {Score: 4},
			}},
		},
		{
			"a tie is a no, and the median lies between the middle two", checklist, 4,
			[]string{checks(true, 2), checks(false, 9), checks(false, 5), checks(true, 4)},
			grader.Verdict{
				Checks: map[string]grader.RubricCheck{"criterion-1": {Reasoning: "2"}, "depth": {Score: 4.5}},
			},
		},
		{
			"the reasons of the majority", checklist, 3,
			[]string{checks(false, 2), checks(true, 9), checks(true, 4)},
			grader.Verdict{Checks: map[string]grader.RubricCheck{
				"criterion-1": {Satisfied: true, Reasoning: "9"},
				"depth":       {Score: 4},
			}},
		},
		{
			"one score", free, 3,
			[]string{`{"score":0.9,"reasoning":"first"}`, `{"score":0.2}`, `{"score":0.3}`},
			grader.Verdict{Score: 0.3, Reasoning: "first"},
		},
		{
			"scores of criteria", criteria, 2,
			[]string{`{"scores":{"tone":0.25}}`, `{"scores":{"tone":0.75}}`},
			grader.Verdict{Scores: map[string]float64{"tone": 0.5}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: tc.replies}
			got, err := judge.New(judge.Config{Primary: named("m", m), Samples: tc.samples}).Decide(t.Context(), tc.q)
			if err != nil {
				t.Fatal(err)
			}
			if got.Use.Calls != len(tc.replies) || len(m.asked) != len(tc.replies) {
				t.Errorf("asked %d times and told %d, want %d", len(m.asked), got.Use.Calls, len(tc.replies))
			}
			if len(got.Samples) != tc.samples {
				t.Errorf("%d samples are kept, want %d", len(got.Samples), tc.samples)
			}
			got.Use, got.Samples = result.JudgeUse{}, nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// shelf is a verdict cache in memory.
type shelf struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *shelf) Verdict(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[key]
	return v, ok, nil
}

func (s *shelf) PutVerdict(_ context.Context, key string, v []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[key] = v
	return nil
}

func TestCache(t *testing.T) {
	base := grader.Question{Mode: grader.Free, Output: "o", Criteria: "c"}
	for _, tc := range []struct {
		name   string
		change func(c *judge.Config, q *grader.Question)
		calls  int
	}{
		{"identical", func(*judge.Config, *grader.Question) {}, 1},
		{"other output", func(_ *judge.Config, q *grader.Question) { q.Output = "p" }, 2},
		{"other criteria", func(_ *judge.Config, q *grader.Question) { q.Criteria = "d" }, 2},
		{"text moved from one part to another", func(_ *judge.Config, q *grader.Question) {
			q.Output, q.Criteria = "", "oc"
		}, 2},
		{"other model", func(c *judge.Config, _ *grader.Question) { c.Primary.Name = "n" }, 2},
		{"the model at another address or with other parameters", func(c *judge.Config, _ *grader.Question) {
			c.Primary.Key = "http://b"
		}, 2},
		{"text moved from the model's name to its key", func(c *judge.Config, _ *grader.Question) {
			c.Primary.Name, c.Primary.Key = "mhttp", "://a"
		}, 2},
		{"another sample", func(c *judge.Config, _ *grader.Question) { c.Samples = 2 }, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: []string{`{"score":0.3,"reasoning":"r"}`}}
			c := judge.Config{
				Primary: judge.Named{Name: "m", Model: m, Key: "http://a"}, Cache: &shelf{m: map[string][]byte{}},
			}
			if _, err := judge.New(c).Decide(t.Context(), base); err != nil {
				t.Fatal(err)
			}
			q := base
			tc.change(&c, &q)
			got, err := judge.New(c).Decide(t.Context(), q)
			if err != nil || got.Score != 0.3 || got.Reasoning != "r" {
				t.Fatalf("Ask = %+v, %v", got, err)
			}
			if len(m.asked) != tc.calls {
				t.Errorf("the model was asked %d times, want %d", len(m.asked), tc.calls)
			}
		})
	}
}

func TestFailuresAreNotRemembered(t *testing.T) {
	cache, m := &shelf{m: map[string][]byte{}}, &script{err: errors.New("down")}
	j := judge.New(judge.Config{Primary: named("m", m), Cache: cache})
	if _, err := j.Decide(t.Context(), checklist); err == nil || len(cache.m) != 0 || len(m.asked) != 1 {
		t.Errorf("Ask = %v with %d verdicts remembered after %d calls", err, len(cache.m), len(m.asked))
	}
}

// What a judge took for an answer that cannot be used, or that came too late, is not known.
func TestUseOfFailures(t *testing.T) {
	for _, tc := range []struct {
		err     error
		unknown bool
	}{
		{&llm.Error{Fault: llm.Malformed}, true},
		{&llm.Error{Fault: llm.TimedOut}, true},
		{&llm.Error{Fault: llm.Refused}, false},
	} {
		v, err := judge.New(judge.Config{Primary: named("m", &script{err: tc.err})}).Decide(t.Context(), checklist)
		if err == nil || v.Use.Calls != 1 || v.Use.Usage.Unknown != tc.unknown || v.Use.Cost.Unknown != tc.unknown {
			t.Errorf("%v: %+v, %v", tc.err, v.Use, err)
		}
	}
}

func TestOneCallInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{replies: []string{`{"score":1}`}, wait: time.Second}
		j := judge.New(judge.Config{Primary: named("m", m), Cache: &shelf{m: map[string][]byte{}}})
		var all sync.WaitGroup
		uses := make([]result.JudgeUse, 8)
		for i := range uses {
			all.Go(func() {
				v, err := j.Decide(t.Context(), checklistFree)
				if err != nil {
					t.Error(err)
				}
				uses[i] = v.Use
			})
		}
		all.Wait()
		var sum result.JudgeUse
		for _, u := range uses {
			sum = sum.Add(u)
		}
		if len(m.asked) != 1 || sum.Calls != 1 || sum.CacheHits != 7 {
			t.Errorf("asked %d times, use %+v; want 1 call and 7 hits", len(m.asked), sum)
		}
	})
}

var checklistFree = grader.Question{Mode: grader.Free, Output: "o"}

// A call's arguments are as the agent's model wrote them, and need not be JSON. The judge reads them all the same.
func TestRequestWithBrokenArguments(t *testing.T) {
	m := &script{replies: []string{`{"score":0}`}}
	q := grader.Question{Mode: grader.Free, Output: "done", Input: []chat.Message{{
		Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "pay", Args: json.RawMessage(`{"sum": `)}},
	}}}
	if _, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"done", "pay", `{\"sum\": `} {
		if got := m.asked[0].Messages[1].Content.Text; !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// Every mode that judges a reply has its calls with their results, and nothing that differs between equal calls.
func TestToolCallsAreInTheRequest(t *testing.T) {
	calls := []chat.ToolCall{{
		ID: "call_7", Name: "price", Args: json.RawMessage(`{"of":"tea"}`), Result: json.RawMessage("seven"),
		LatencyMS: 12, Source: "mcp",
	}}
	want := `"tool_calls":[{"name":"price","args":{"of":"tea"},"result":"seven"}]`
	for _, tc := range []struct {
		q    grader.Question
		sent bool
	}{
		{grader.Question{Mode: grader.Checklist, Rubrics: []grader.Rubric{{ID: "a", Outcome: "b"}}}, true},
		{grader.Question{Mode: grader.Criteria, Names: []string{"style"}}, true},
		{grader.Question{Mode: grader.Free}, true},
		{grader.Question{Mode: grader.Free, Task: "Is {{output}} right?", Fields: []string{"output"}}, true},
		{grader.Question{Mode: grader.Free, Task: "Is {{input}} polite?", Fields: []string{"input"}}, false},
	} {
		m := &script{replies: []string{"none", "none"}}
		tc.q.Output, tc.q.ToolCalls = "It costs 7.", calls
		_, _ = judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), tc.q)
		if got := m.asked[0].Messages[1].Content.Text; strings.Contains(got, want) != tc.sent {
			t.Errorf("%s %v: %s", tc.q.Mode, tc.q.Fields, got)
		}
	}
}
