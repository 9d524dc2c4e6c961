package runspec_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// What is written is read again, and has the same fingerprint.
func TestRoundTrip(t *testing.T) {
	want := runspec.Spec{
		Schema: 1, Kind: "suite", Name: "nightly", Labels: map[string]string{"branch": "main"},
		Suites: []string{"shop.suite.yaml"}, Targets: []string{"shop"}, Judge: "scripted:judge.yaml", Model: "lexical",
		Trials: 3, Filter: []string{"refund-*"}, Tags: []string{"smoke"}, Sample: 20, Threshold: new(0.8),
		Retries: new(0), Timeout: runspec.Duration(2 * time.Minute), JudgeCache: new(false),
		Limits: runspec.Limits{Workers: 16}, Baseline: "RUN",
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runspec.Read(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v\n%s", data, err, diff)
	}
	if got.Fingerprint() != want.Fingerprint() {
		t.Error("the fingerprint does not survive")
	}
}

// A name and labels decide nothing; everything else does.
func TestFingerprint(t *testing.T) {
	base := runspec.Spec{Schema: 1, Suites: []string{"a.yaml"}}
	same := base
	same.Name, same.Labels = "nightly", map[string]string{"branch": "main"}
	if base.Fingerprint() != same.Fingerprint() {
		t.Error("a name or a label changes the fingerprint")
	}
	seen := map[string]string{base.Fingerprint(): "nothing"}
	for what, change := range map[string]func(*runspec.Spec){
		"suites":      func(s *runspec.Spec) { s.Suites = []string{"b.yaml"} },
		"targets":     func(s *runspec.Spec) { s.Targets = []string{"a"} },
		"no retries":  func(s *runspec.Spec) { s.Retries = new(0) },
		"threshold":   func(s *runspec.Spec) { s.Threshold = new(0.0) },
		"judge cache": func(s *runspec.Spec) { s.JudgeCache = new(false) },
		"trials":      func(s *runspec.Spec) { s.Trials = 2 },
		"timeout":     func(s *runspec.Spec) { s.Timeout = 1 },
	} {
		s := base
		change(&s)
		if other, ok := seen[s.Fingerprint()]; ok {
			t.Errorf("%s has the fingerprint of %s", what, other)
		}
		seen[s.Fingerprint()] = what
	}
}

func TestRefuses(t *testing.T) {
	labels := make([]string, 101)
	for i := range labels {
		labels[i] = fmt.Sprintf(`"%d": "x"`, i)
	}
	for text, want := range map[string]string{
		`{"schema": 1, "suites": ["a"], "sutes": []}`: `unknown field "sutes"`,
		`{"schema": 2, "suites": ["a"]}`:              "schema 2 is unknown",
		`{"suites": ["a"]}`:                           "schema 0 is unknown",
		`{"schema": 1, "suites": ["a"]} {}`:           "text behind the value",
		`{"schema": 1, "suites": ["a"], "threshold": 1.5}`: "--threshold 1.5 is out " +
			"of range",
		`{"schema": 1, "suites": ["a"], "trials": -1}`: "--trials -1 is out of range",
		`{"schema": 1, "suites": ["a"], "limits": {"workers": 1000000000}}`: "--workers 1000000000 is out " +
			"of range",
		`{"schema": 1, "suites": ["a"], "filter": ["[a"]}`:  `bad pattern "[a"`,
		`{"schema": 1, "suites": ["a"], "timeout": "soon"}`: `duration "soon"`,
		`{"schema": 1, "suites": ["a"], "retries": -1}`:     "cannot be negative",
		`{"schema": 1, "suites": ["a"], "kind": "replay"}`:  "needs `replay`",
		`{"schema": 1, "suites": ["a"], "replay": {}}`: "`replay` is for runs of " +
			"that kind",
		`{"schema": 1, "kind": "replay", "replay": {"flow": "f"}}`: `unknown field "flow"`,
		`{"schema": 1, "kind": "replay", "replay": {"flow_id": "f"}, "trials": 3}`: "`trials` has no meaning for " +
			"the kind replay",
		`{"schema": 1, "kind": "replay", "replay": {"flow_id": "f"}, "baseline": "b"}`: "`baseline` has no meaning " +
			"for the kind replay",

		`{"schema": 1, "suites": ["a"], "kind": "clasify"}`:                                                                  `kind "clasify" is unknown: use suite, replay, classify, e2e`,
		`{"schema": 1, "kind": "classify"}`:                                                                                  "needs `classify`",
		`{"schema": 1, "suites": ["a"], "classify": {"items": "i.jsonl", "target": "t"}}`:                                    "`classify` is for runs of that kind",
		`{"schema": 1, "kind": "classify", "classify": {"target": "t"}}`:                                                     "items is missing",
		`{"schema": 1, "kind": "classify", "classify": {"items": "i.jsonl"}}`:                                                "target is missing",
		`{"schema": 1, "kind": "classify", "classify": {"items": "i.jsonl", "target": "t", "thresholds": {"macro_f1": 80}}}`: "macro_f1 80 is out of range",
		`{"schema": 1, "kind": "classify", "classify": {"items": "i.jsonl", "target": "t", "thresholds": {"f1": 1}}}`:        `unknown field "f1"`,
		`{"schema": 1, "kind": "classify", "classify": {"items": "i.jsonl", "target": "t"}, "suites": ["a"]}`:                "`suites` has no meaning for the kind classify",
		`{"schema": 1, "kind": "classify", "classify": {"items": "i.jsonl", "target": "t"}, "filter": ["a"]}`:                "`filter` has no meaning for the kind classify",
		`{"schema": 1, "kind": "classify", "classify": {"items": "i.jsonl", "target": "t"}, "sample": 3}`:                    "`sample` has no meaning for the kind classify",

		`{"schema": 1, "kind": "e2e"}`: "needs " +
			"`e2e`: {items}",
		`{"schema": 1, "kind": "e2e", "e2e": null}`: "needs " +
			"`e2e`: {items}",
		`{"schema": 1, "kind": "e2e", "e2e": {}}`: "items " +
			"is missing",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl", "accuracy": 1.01}}`: "accuracy " +
			"1.01 is out of range",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl", "accuracy": -1}}`: "accuracy " +
			"-1 is out of range",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl", "accuracy": NaN}}`: "invalid " +
			"character 'N'",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl", "dataset": "d"}}`: `unknown field "dataset"`,
		`{"schema": 1, "suites": ["a"], "e2e": {"items": "i.jsonl"}}`: "`e2e` is " +
			"for runs of that kind",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i"}, "classify": {"items": "i"}}`: "`classify` " +
			"is for runs of that kind",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "suites": ["a"]}`: "`suites` " +
			"has no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "targets": ["a"]}`: "`targets` " +
			"has no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "user": "a"}`: "`user` has " +
			"no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "trials": 3}`: "`trials` " +
			"has no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "tags": ["a"]}`: "`tags` has " +
			"no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "filter": ["a"]}`: "`filter` " +
			"has no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "baseline": "r"}`: "`baseline` " +
			"has no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "attribute_flakes": true}`: "`attribute_flakes` " +
			"has no meaning for the kind e2e",
		`{"schema": 1, "kind": "e2e", "e2e": {"items": "i.jsonl"}, "threshold": 7}`: "--threshold 7 is out " +
			"of range",
		`{"schema": 1, "kind": "replay", "replay": {"flow_id": "f"}, "e2e": {"items": "i.jsonl"}}`: "`e2e` is " +
			"for runs of that kind",
		`{"schema": 1, "kind": "classify", "classify": {"items": "i", "target": "t"}, "judge": "none"}`: "`judge` " +
			"has no meaning for the kind classify",

		`null`: "schema 0 is unknown",
		`{"schema": 1, "suites": ["a"], "name": "` + strings.Repeat("x", 1001) +
			`"}`: "the name has 1001 bytes",
		`{"schema": 1, "suites": ["a"], "labels": {"k": "` + strings.Repeat("x", 1001) +
			`"}}`: "a label has 1002 bytes",
		`{"schema": 1, "suites": ["a"], "labels": {` + strings.Join(labels, ", ") + `}}`: "101 labels",
	} {
		_, err := runspec.Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !source.IsInvalid(err) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Runs of the kind e2e take everything of a run that has a meaning for single answers. A number that is none is
// refused, however it came.
func TestE2E(t *testing.T) {
	text := `{"schema": 1, "kind": "e2e", "judge": "none", "model": "lexical", "sample": 3, "threshold": 0, "retries": 0, "timeout": "9s", "judge_cache": false,
		"budget": {"cost_usd": 1}, "artifacts": true, "limits": {"workers": 2}, "config": "rehearse.yaml", "env": ["A"], "labels": {"a": "b"},
		"e2e": {"items": "i.jsonl", "item": "x", "sites": "sites", "prompts": "prompts", "site": "s.example", "accuracy": 0}}`
	s, err := runspec.Read([]byte(text))
	if err != nil || s.E2E.Accuracy == nil || *s.E2E.Accuracy != 0 || *s.Threshold != 0 {
		t.Errorf("%+v: %v", s.E2E, err)
	}
	s.E2E.Accuracy = new(math.NaN())
	if err := s.Check(); !source.IsInvalid(err) {
		t.Errorf("no number as the accuracy: %v", err)
	}
}

// The spec goes before the test, and is silent where it says nothing.
func TestOver(t *testing.T) {
	own := suite.Execution{Targets: []string{"own"}, Retries: new(2), Timeout: time.Second, Threshold: new(0.9)}
	if diff := cmp.Diff(own, (&runspec.Spec{}).Over(own)); diff != "" {
		t.Errorf("an empty spec changes something: %s", diff)
	}
	s := runspec.Spec{Targets: []string{"b", "a", "b"}, Retries: new(0), Threshold: new(0.0), Trials: 3}
	got := s.Over(own)
	want := suite.Execution{
		Targets: []string{"a", "b"}, Retries: new(0), Timeout: time.Second, Threshold: new(0.0),
		Trials: suite.Trials{Count: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSelects(t *testing.T) {
	one := &suite.Test{ID: "shop/refund-twice", Tags: []string{"smoke"}}
	for _, c := range []struct {
		spec runspec.Spec
		want bool
	}{
		{runspec.Spec{}, true},
		{runspec.Spec{Filter: []string{"shop*"}}, true},
		{runspec.Spec{Filter: []string{"refund*"}}, false},
		{runspec.Spec{Filter: []string{"no", "*twice"}, Tags: []string{"smoke"}}, true},
		{runspec.Spec{Filter: []string{"*twice"}, Tags: []string{"slow"}}, false},
	} {
		if got := c.spec.Selects(one); got != c.want {
			t.Errorf("%+v: %v", c.spec, got)
		}
	}
}

// A spec is read from JSON and checked at once.
func ExampleRead() {
	s, err := runspec.Read([]byte(`{"schema": 1, "suites": ["shop.suite.yaml"], "trials": 3, "timeout": "90s"}`))
	fmt.Println(s.Suites, s.Trials, time.Duration(s.Timeout), err)
	// Output: [shop.suite.yaml] 3 1m30s <nil>
}
