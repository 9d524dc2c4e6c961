package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
)

func read(t *testing.T, text string) (tool.Set, error) {
	t.Helper()
	v, err := source.ParseYAML("tools.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	reader := &source.Reader{File: "tools.yaml"}
	var set tool.Set
	set.DecodeNode(reader.Node(v, "tools"))
	return set, reader.Problems.Err()
}

const orders = `
- name: get_order
  description: Looks up an order
  parameters: {type: object, properties: {id: {type: string}}}
  results:
    - {when: {id: "1"}, times: 2, result: {status: new}}
    - {when: {id: "1"}, result: shipped}
    - {when: {id: /^9+$/}, error: no such order}
    - {when: {customer: {tags: [a, /b+/]}, count: 3, gift: true}, result: [1, 2.5, null]}
- name: exact
  results:
    - {when: {id: 9007199254740992}, result: even}
    - {when: {id: 9007199254740993}, result: odd}
    - {when: {id: /^9007199254740995$/}, result: pattern}
    - {when: {ids: [1, 18446744073709551614]}, result: huge}
    - {when: {price: 0.5}, result: half}
- name: anything
  results: [{result: null}]
- name: nothing
`

func TestCall(t *testing.T) {
	set, err := read(t, orders)
	if err != nil {
		t.Fatal(err)
	}
	s := set.Begin()
	for _, tc := range []struct{ name, args, want string }{
		{"get_order", `{"id": "1", "extra": true}`, `{"status":"new"}`},
		{"get_order", `{"id": "1"}`, `{"status":"new"}`},
		{"get_order", `{"id": "1"}`, `shipped`},
		{"get_order", `{"id": "1"}`, `shipped`},
		{"get_order", `{"id": 999}`, `{"error":"no such order"}`},
		{"get_order", `{"id": "989"}`, "the tool get_order has no result for {\"id\": \"989\"}"},
		{"get_order", `{"id": 1}`, "the tool get_order has no result for {\"id\": 1}"},
		{"get_order", `{"customer": {"name": "x", "tags": ["a", "bbb"]}, "count": 3.0, "gift": true}`, "[1,2.5,null]"},
		{
			"get_order", `{"customer": {"tags": ["a", "bbb", "c"]}, "count": 3, "gift": true}`,
			"the tool get_order has no result for",
		},
		{
			"get_order", `{"customer": {"tags": ["a", "b"]}, "count": 3, "gift": "true"}`,
			"the tool get_order has no result for",
		},
		{"get_order", `"{broken"`, "the tool get_order has no result for"},
		{"exact", `{"id": 9007199254740993}`, "odd"},
		{"exact", `{"id": 9007199254740992.0}`, "even"},
		{"exact", `{"id": 9007199254740994}`, "the tool exact has no result for"},
		{"exact", `{"id": 9007199254740995}`, "pattern"},
		{"exact", `{"ids": [1.0, 18446744073709551614]}`, "huge"},
		{"exact", `{"ids": [1, 18446744073709551615]}`, "the tool exact has no result for"},
		{"exact", `{"price": 5e-1}`, "half"},
		{"exact", `{"id": 1e999999999}`, "the tool exact has no result for"},
		{"anything", `"{broken"`, "null"},
		{"anything", ``, "null"},
		{"nothing", `{}`, "the tool nothing has no result for {}"},
		{"other", `{}`, `unknown tool "other"`},
	} {
		answer, err := s.Call(t.Context(), tc.name, json.RawMessage(tc.args))
		got := answer.Text()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s %s: got %s, want %s", tc.name, tc.args, got, tc.want)
		}
	}
	if answer, err := set.Begin().Call(t.Context(), "get_order", json.RawMessage(`{"id":"1"}`)); err != nil ||
		answer.Text() != `{"status":"new"}` {
		t.Errorf("another conversation begins with %s, %v", answer.Value, err)
	}
}

// What a turn that failed has used is given again.
func TestReturn(t *testing.T) {
	set, err := read(t, "- {name: f, results: [{times: 1, result: first}, {result: later}]}")
	if err != nil {
		t.Fatal(err)
	}
	s := set.Begin()
	for range 2 {
		mark := s.Mark()
		if answer, err := s.Call(t.Context(), "f", nil); err != nil || answer.Text() != "first" {
			t.Errorf("got %s, %v", answer.Value, err)
		}
		s.Return(mark)
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := read(t, "- {name: f, results: [{delay: 3s, result: ok}]}")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := set.Begin().Call(t.Context(), "f", nil); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := set.Begin().Call(ctx, "f", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestProblems(t *testing.T) {
	_, err := read(t, `
- {name: "1x", descripton: typo}
- {name: f, parameters: [1], results: [{result: 1, error: 2}, {}, {when: {a: "/(/"}, result: 1}, {times: 0, error: ""}]}
- {name: f}
`)
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{
		`a tool needs a name, got "1x"`, `descripton`, "tools[1].parameters", "tools[1].results[0]",
		"tools[1].results[1]", "tools[1].results[2].when.a", "tools[1].results[3].times", "the error is empty",
		`two tools called "f"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
