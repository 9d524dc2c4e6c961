package runlog

import (
	"math"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Extent is how much of a record a Brief reads.
type Extent int

// The extents. Outcomes reads all but ids and the texts of messages and checks. Checks also reads the texts of checks,
// Texts also the messages and the evidence. Grades reads the key and the scores with the texts of checks, and the
// evidence result.NotCalled.
const (
	Outcomes Extent = iota
	Checks
	Texts
	Grades
)

// Brief reads records without what its Extent leaves out, in a tenth of the time that all of it takes. A record of
// another form, as a program other than this one may write it, is decoded whole. It reads one record at a time into the
// same memory. Make it with NewBrief.
type Brief struct {
	cursor
	texts, checks, grades bool
	test                  result.Test
	// assertions, calls and failures are those of the items and turns of the record.
	assertions []result.Assertion
	calls      []chat.ToolCall
	failures   []result.Failure
}

// NewBrief returns a reader of records.
func NewBrief(of Extent) *Brief {
	return &Brief{
		cursor: cursor{shared: map[string]string{}}, texts: of == Texts, checks: of != Outcomes, grades: of == Grades,
	}
}

// Read returns the record of a line, or the error of Decode. The record counts until the next call, and its JSON as
// long as the line; strings are copies. inOrder is true of a line in the form in which this program writes it.
func (b *Brief) Read(line []byte) (t *result.Test, inOrder bool, err error) {
	b.line, b.at, b.lost = line, 0, false
	b.assertions, b.calls, b.failures = b.assertions[:0], b.calls[:0], b.failures[:0]
	t = &b.test
	*t = result.Test{Scores: t.Scores[:0], Output: t.Output[:0], Turns: t.Turns[:0], Tags: nil}
	if b.record(t); b.lost || b.at != len(line) && !b.grades || t.Schema > result.Schema {
		t, err = Decode(line)
		return t, false, err
	}
	return t, true, nil
}

// keyAhead reads the key with which this program begins a record; b is lost on another beginning.
func (b *Brief) keyAhead() (key result.Key) {
	b.must("{")
	for _, name := range []string{"schema", "run_id", "suite", "test_id", "trial", "target"} {
		switch found := b.key(name); {
		case !found && name != "trial": // it is left out where it is 0
			b.lose()
		case !found:
		case name == "schema":
			b.integer()
		case name == "run_id":
			b.quoted()
		case name == "suite":
			key.Suite = b.quoted().text()
		case name == "test_id":
			key.TestID = b.quoted().text()
		case name == "trial":
			key.Trial = b.integer()
		case name == "target":
			key.Target = b.quoted().text()
		}
	}
	return key
}

// record reads a record with its fields in the order of result.Test.
func (b *Brief) record(t *result.Test) {
	b.must("{")
	b.intOf("schema", &t.Schema)
	b.wordOf("run_id", &t.RunID)
	b.wordOf("suite", &t.Suite)
	b.textOf("test_id", &t.TestID)
	b.intOf("trial", &t.Trial)
	b.wordOf("target", &t.Target)
	b.pass("conversation_id")
	b.pass("session_id")
	b.truthOf("ended_by_agent", &t.EndedByAgent)
	b.numberOf("score", &t.Score)
	if b.key("graded_score") && !b.has("null") {
		t.GradedScore = new(b.number())
	}
	b.wordOf("verdict", (*string)(&t.Verdict))
	b.textOf("skip_reason", &t.SkipReason)
	b.numberOf("threshold", &t.Threshold)
	b.truthOf("strict", &t.Strict)
	b.truthOf("required", &t.Required)
	b.wordOf("cluster", &t.Cluster)
	b.textOf("definition", &t.Definition)
	b.wordOf("execution_status", (*string)(&t.ExecutionStatus))
	if b.key("scores") {
		b.list(func() { t.Scores = append(t.Scores, b.score()) })
	}
	if b.grades { // what follows is of no use
		if !b.key("output") {
			b.lose()
		}
		return
	}
	if b.key("output") {
		b.list(func() { t.Output = append(t.Output, b.message()) })
	}
	if b.key("turns") {
		b.list(func() { t.Turns = append(t.Turns, b.turn()) })
	}
	if b.key("failures") {
		t.Failures = b.failuresOf()
	}
	b.usageOf(&t.Usage, &t.Cost)
	b.numberOf("duration_ms", &t.DurationMS)
	if b.key("started_at") {
		if raw := b.any(); !b.lost && t.StartedAt.UnmarshalJSON(raw) != nil {
			b.lose()
		}
	}
	if b.key("judge") {
		t.Judge = b.judge()
	}
	b.seldom(t)
	b.must("}")
}

// seldom reads the fields at the end of a record. Most records have few of them.
func (b *Brief) seldom(t *result.Test) {
	b.whole("attempts", &t.Attempts)
	b.whole("artifacts", &t.Artifacts)
	b.whole("user", &t.User)
	b.whole("trials", &t.Trials)
	b.whole("sampling", &t.Sampling)
	b.textOf("fingerprint", &t.Fingerprint)
	if b.key("source") {
		t.Source = b.source()
	}
	b.whole("quarantined", &t.Quarantined)
	b.intOf("position", &t.Position)
	if b.key("tags") {
		b.list(func() { t.Tags = append(t.Tags, b.word()) })
	}
	b.whole("metadata", &t.Metadata)
}

// score reads a scored item. One that was not graded has its score, null, at the end.
func (b *Brief) score() (s result.Score) {
	b.must("{")
	b.wordOf("name", &s.Name)
	b.wordOf("type", &s.Type)
	b.numberOf("score", &s.Score)
	b.wordOf("verdict", (*string)(&s.Verdict))
	b.numberOf("weight", &s.Weight)
	if b.key("assertions") {
		from := len(b.assertions)
		b.list(func() { b.assertions = append(b.assertions, b.assertion()) })
		s.Assertions = b.assertions[from:len(b.assertions):len(b.assertions)]
	}
	if b.key("failures") {
		s.Failures = b.failuresOf()
	}
	b.truthOf("partial_transcript", &s.PartialTranscript)
	if b.key("score") {
		b.must("null")
	}
	b.must("}")
	return s
}

func (b *Brief) assertion() (a result.Assertion) {
	b.must("{")
	switch {
	case b.texts:
		b.textOf("text", &a.Text)
	case b.checks:
		b.wordOf("text", &a.Text)
	default:
		b.pass("text")
	}
	if b.key("passed") {
		a.Passed = b.truth()
	}
	if b.key("evidence") {
		if q := b.quoted(); b.texts || b.grades && string(q.raw) == result.NotCalled {
			a.Evidence = q.text()
		}
	}
	b.wordOf("grader", &a.Grader)
	b.truthOf("excused", &a.Excused)
	if b.key("spans") {
		b.list(func() {
			b.must("[")
			b.integer()
			b.must(",")
			b.integer()
			b.must("]")
		})
	}
	if b.key("score") && !b.has("null") {
		b.number()
	}
	if b.key("votes") {
		b.list(func() {
			if !b.has("null") {
				b.number()
			}
		})
	}
	if b.key("voters") {
		var voters []result.Voter
		b.as(&voters)
		a.Voters = voters
	}
	b.must("}")
	return a
}

func (b *Brief) failuresOf() []result.Failure {
	from := len(b.failures)
	b.list(func() {
		var f result.Failure
		b.must("{")
		b.wordOf("code", (*string)(&f.Code))
		b.wordOf("source", &f.Source)
		b.intOf("turn", &f.Turn)
		b.textOf("message", &f.Message)
		b.must("}")
		b.failures = append(b.failures, f)
	})
	return b.failures[from:len(b.failures):len(b.failures)]
}

func (b *Brief) turn() (t result.Turn) {
	b.must("{")
	b.intOf("index", &t.Index)
	b.saidOf("turn_id", &t.TurnID)
	if b.key("input") {
		t.Input = b.content()
	}
	b.saidOf("output", &t.Output)
	if b.key("latency_ms") {
		if b.has("null") {
			t.LatencyMS = result.Milliseconds(math.NaN())
		} else {
			t.LatencyMS = result.Milliseconds(b.number())
		}
	}
	b.intOf("attempts", &t.Attempts)
	if b.key("tool_calls") {
		t.ToolCalls = b.callsOf()
	}
	b.wordOf("node", &t.Node)
	if b.key("state") {
		t.State = b.any()
	}
	b.usageOf(&t.Usage, &t.Cost)
	b.pass("trace_id")
	b.wordOf("finish_reason", &t.FinishReason)
	b.numberOf("first_text_ms", &t.FirstTextMS)
	b.intOf("requests", &t.Requests)
	b.must("}")
	return t
}

func (b *Brief) message() (m chat.Message) {
	b.must("{")
	b.wordOf("role", (*string)(&m.Role))
	if b.key("content") {
		m.Content = b.content()
	}
	if b.key("tool_calls") {
		b.callsOf()
	}
	b.pass("tool_call_id")
	b.must("}")
	return m
}

// content reads a message: a string, or blocks.
func (b *Brief) content() chat.Content {
	if b.at < len(b.line) && b.line[b.at] == '"' {
		if q := b.quoted(); b.texts {
			return chat.Content{Text: q.text()}
		}
		return chat.Content{}
	}
	var said chat.Content
	b.as(&said)
	return said
}

func (b *Brief) callsOf() []chat.ToolCall {
	from := len(b.calls)
	b.list(func() {
		var call chat.ToolCall
		b.must("{")
		b.pass("id")
		b.wordOf("name", &call.Name)
		if b.key("args") {
			call.Args = b.any()
		}
		if b.key("result") {
			call.Result = b.any()
		}
		b.numberOf("latency_ms", &call.LatencyMS)
		b.pass("source")
		b.must("}")
		b.calls = append(b.calls, call)
	})
	return b.calls[from:len(b.calls):len(b.calls)]
}

func (b *Brief) judge() (j result.JudgeUse) {
	b.must("{")
	b.intOf("calls", &j.Calls)
	b.intOf("cache_hits", &j.CacheHits)
	b.usageOf(&j.Usage, &j.Cost)
	if b.key("models") {
		var models map[string]result.JudgeUse
		b.as(&models)
		j.Models = models
	}
	b.must("}")
	return j
}

// usageOf reads the fields usage and cost_usd, which stand together.
func (b *Brief) usageOf(u *chat.Usage, cost *chat.Cost) {
	if b.key("usage") {
		if u.Unknown = b.has("null"); !u.Unknown {
			b.must("{")
			b.intOf("input_tokens", &u.InputTokens)
			b.intOf("output_tokens", &u.OutputTokens)
			b.intOf("cached_tokens", &u.CachedTokens)
			b.intOf("reasoning_tokens", &u.ReasoningTokens)
			b.must("}")
		}
	}
	if b.key("cost_usd") {
		if cost.Unknown = b.has("null"); !cost.Unknown {
			cost.USD = b.number()
		}
	}
}

// source reads where a test was written.
func (b *Brief) source() *result.Source {
	var s result.Source
	b.must("{")
	b.wordOf("file", &s.File)
	b.intOf("line", &s.Line)
	if b.key("turns") && !b.has("null") {
		s.Turns = []int{}
		b.list(func() { s.Turns = append(s.Turns, b.integer()) })
	}
	b.must("}")
	return &s
}
