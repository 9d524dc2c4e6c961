package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Status says what became of a part of a file that the suite does not carry as it is.
type Status string

// Unsupported checks stay in the suite as checks that cannot pass. Ignored parts cannot affect a verdict. Settings
// affect what runs, and are not carried over.
const (
	Unsupported Status = "unsupported"
	Ignored     Status = "ignored"
	Setting     Status = "setting"
)

// Loss is a part of a file that the suite does not carry as it is.
type Loss struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Status Status `json:"status"`
	What   string `json:"what"`
	Why    string `json:"why"`
	// Substitute is what comes closest to an unsupported check; empty for everything else.
	Substitute string `json:"substitute,omitempty"`
}

// String returns "FILE:LINE: STATUS: what: why (nearest: substitute)"; a setting has no status there.
func (l Loss) String() string {
	status := string(l.Status) + ": "
	if l.Status == Setting {
		status = "not carried over: "
	}
	return fmt.Sprintf("%s:%d: %s%s: %s", l.File, l.Line, status, l.What, l.reason())
}

func (l Loss) reason() string {
	if l.Substitute == "" {
		return l.Why
	}
	return l.Why + " (nearest: " + l.Substitute + ")"
}

// position is where a part of a file stands.
type position struct {
	file         string
	line, column int
}

func (r *reader) placeOf(v source.Value) position { return position{r.file, max(v.Line, 1), v.Column} }

// carry counts a check that the suite carries.
func (r *reader) carry(v source.Value) { r.carried[r.placeOf(v)] = true }

// lose lists a setting that is not carried over.
func (r *reader) lose(line int, what, format string, args ...any) {
	r.list(Setting, source.Value{Line: line}, what, fmt.Sprintf(format, args...), "")
}

// ignore lists a part that cannot affect a verdict.
func (r *reader) ignore(line int, what, format string, args ...any) {
	r.list(Ignored, source.Value{Line: line}, what, fmt.Sprintf(format, args...), "")
}

func (r *reader) list(status Status, at source.Value, what, why, substitute string) Loss {
	l := Loss{r.file, max(at.Line, 1), at.Column, status, brief(what), brief(why), substitute}
	r.lost = append(r.lost, l)
	return l
}

// unsupported lists a check that the suite cannot carry, and leaves it in the suite as one that cannot pass: the turn,
// test or suite that is read next takes it (see taken). original is the check in the file.
func (r *reader) unsupported(original source.Value, what, format string, args ...any) {
	r.leave(original, what, fmt.Sprintf(format, args...), substitute(original))
}

func (r *reader) leave(original source.Value, what, why, substitute string) {
	l := r.list(Unsupported, original, what, why, substitute)
	if original.Kind != source.Map {
		original = one(what, original)
	}
	r.pending = append(r.pending, pairs{
		{"type", string(Unsupported)}, {"from", r.format}, {"original", original}, {"why", l.reason()},
	})
}

// taken returns the unsupported checks that no turn and no test has taken.
func (r *reader) taken() []any { return r.takenSince(0) }

// takenSince returns those of the unsupported checks that were found after the first n.
func (r *reader) takenSince(n int) []any {
	checks := slices.Clone(r.pending[min(n, len(r.pending)):])
	r.pending = r.pending[:min(n, len(r.pending))]
	return checks
}

// share gives unsupported checks to all tests that were added after the first n. They stand once in a suite that is
// made of a single file.
func (r *reader) share(n int, checks []any) {
	if r.single {
		r.assertions = append(r.assertions, checks...)
		return
	}
	for _, t := range r.tests[n:] {
		if !t.skipShared {
			t.attach(checks)
		}
	}
}

// one returns a mapping with a single entry.
func one(name string, v source.Value) source.Value {
	return source.Value{Kind: source.Map, Line: v.Line, Column: v.Column, Fields: []source.Field{
		{Name: name, Line: v.Line, Column: v.Column, Value: v},
	}}
}

// substitutes name what comes closest to checks of other tools, by their types or keys.
var substitutes = map[string]string{
	"python":                          "`command`",
	"ruby":                            "`command`",
	"script":                          "`command`",
	"javascript":                      "`expression` or `command`",
	"webhook":                         "`http`",
	"classifier":                      "`http`",
	"moderation":                      "`http`",
	"guardrails":                      "`http`",
	"perplexity":                      "`http`",
	"perplexity-score":                "`http`",
	"pi":                              "`http` or `judge`",
	"select-best":                     "`judge_criteria`, or `rehearse compare` of two runs",
	"max-score":                       "`rehearse compare` of two runs",
	"contains-json":                   "`json_path`",
	"is-html":                         "`regex` or `command`",
	"contains-html":                   "`regex` or `command`",
	"is-xml":                          "`regex` or `command`",
	"contains-xml":                    "`regex` or `command`",
	"is-sql":                          "`regex` or `command`",
	"contains-sql":                    "`regex` or `command`",
	"is-refusal":                      "a criterion in words",
	"meteor":                          "`rouge` or `similar`",
	"gleu":                            "`bleu`",
	"model-graded-closedqa":           "a criterion in words",
	"model-graded-factuality":         "a criterion in words",
	"answer-relevance":                "a criterion in words",
	"context-recall":                  "`judge` with a prompt",
	"context-relevance":               "`judge` with a prompt",
	"context-faithfulness":            "`judge` with a prompt",
	"search-rubric":                   "`command`",
	"agent-rubric":                    "`command`",
	"trajectory":                      "`tool_calls`",
	"skill-used":                      "`tool_calls`",
	"trace-span-count":                "`execution_metrics`",
	"trace-span-duration":             "`latency`",
	"trace-error-spans":               "`execution_metrics`",
	"tool-call-f1":                    "`tool_calls`",
	"is-valid-function-call":          "`tool_calls`",
	"is-valid-openai-function-call":   "`tool_calls`",
	"is-valid-openai-tools-call":      "`tool_calls`",
	"expected_tools":                  "`tool_calls`",
	"expectedTools":                   "`tool_calls`",
	"expected_tool_use":               "`tool_calls`",
	"tool_uses":                       "`tool_calls`",
	"invocation_events":               "`tool_calls`",
	"actions":                         "`tool_calls` or `state`",
	"tool_calls":                      "`tool_calls`",
	"rubrics":                         "criteria in words",
	"criteria":                        "criteria in words",
	"llm-rubric":                      "`judge` with a prompt",
	"action":                          "`tool_call` or `next_node`",
	"utter":                           "`contains`",
	"action_executed":                 "`tool_call` or `next_node`",
	"flow_started":                    "`next_node`",
	"flow_completed":                  "`flow_completed`",
	"flow_cancelled":                  "`next_node`",
	"intent":                          "`label`",
	"entities":                        "`state` or `json_path`",
	"slot_was_set":                    "`state`",
	"slot_was_not_set":                "`state`",
	"active_loop":                     "`state`",
	"pattern_clarification_contains":  "`options_contains`",
	"generative_response_is_relevant": "a criterion in words",
	"generative_response_is_grounded": "a criterion in words",
	"utter_name":                      "`contains`",
	"buttons":                         "`options_contains`",
	"assertScoringFunction":           "`composite`, or `command`",
	"hook":                            "`command`",
	"transform":                       "`json_path` or `expression`",
}

// Substitute names what comes closest to a check of another tool.
func Substitute(original map[string]any) string { return substitute(source.FromAny(original)) }

// CheckName returns a check's type, or its keys if it has none.
func CheckName(original map[string]any) string {
	if kind, ok := original["type"].(string); ok && kind != "" {
		return "the assertion " + kind
	}
	return strings.Join(slices.Sorted(maps.Keys(original)), ", ")
}

// substitute names what comes closest to a check: by its type, else by its keys, else by the type that its own may be a
// misspelling of.
func substitute(original source.Value) string {
	kind, _ := original.Get("type")
	name := strings.TrimPrefix(kind.Scalar, "not-")
	family, _, _ := strings.Cut(name, ":")
	if found := cmp.Or(substitutes[name], substitutes[family]); found != "" {
		return found
	}
	if kind.Scalar == "" {
		for _, f := range original.Fields {
			if found := substitutes[f.Name]; found != "" {
				return found
			}
		}
	}
	if assertKinds()[name].name != "" {
		return "`" + assertKinds()[name].name + "`"
	}
	if near, ok := source.Nearest(name, knownKinds()); ok && name != "" {
		return "`" + near + "`, if the type is misspelled"
	}
	return "`command`, or a criterion in words"
}

func knownKinds() (names []string) {
	for name := range assertKinds() {
		names = append(names, name)
	}
	for name := range substitutes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
