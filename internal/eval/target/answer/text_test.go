package answer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// A reply that is found by its name has a path, at which a spec with this path finds the same.
func TestNamed(t *testing.T) {
	for body, want := range map[string]answer.Text{
		`{"reply": "hi"}`:                    {Path: "$.reply", Text: "hi"},
		`"hi"`:                               {Path: "$", Text: "hi"},
		`{"output": {"text": "hi", "n": 1}}`: {Path: "$.output.text", Text: "hi"},
		`{"choices": [{"message": {"content": "hi"}}]}`: {Path: "$.choices[0].message.content", Text: "hi"},
		`{"data": [{"text": "a"}, {"text": "b"}]}`:      {Path: "$.data", Text: "a\n\nb"},
		`{"content": [{"type": "text", "text": "a"}]}`:  {Path: "$.content", Text: "a"},
		`{"result": 7}`: {Path: "$.result", Text: "7"},
		`{"messages": [{"role": "ai", "content": "a"}, {"role": "user", "content": "b"}]}`: {
			Path: "$.messages[0].content", Text: "a", Speaks: true,
		},
	} {
		got, ok := answer.Named([]byte(body))
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %v\n%s", body, ok, diff)
		}
		reader := &source.Reader{}
		pick := answer.ReadPick(reader.Node(source.Text(got.Path), ""))
		if again, err := pick.In([]byte(body)); again != want.Text || err != nil {
			t.Errorf("%s at %s: %q %v", body, got.Path, again, err)
		}
	}
	for _, body := range []string{`{"ok": true}`, `{}`, `[]`, `{"reply": null}`, `no JSON`} {
		if got, ok := answer.Named([]byte(body)); ok {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// All texts have paths that lead to them, whatever the names are.
func TestTexts(t *testing.T) {
	body := `{"b": ["x", "y"], "a": {"it's": "q", "ü": "u"}, "n": 1, "z": "t"}`
	got, err := answer.Texts([]byte(body))
	want := []answer.Text{
		{Path: "$.z", Text: "t"}, {Path: `$.a['it\'s']`, Text: "q"}, {Path: "$.a['ü']", Text: "u"},
		{Path: "$.b[0]", Text: "x"}, {Path: "$.b[-1]", Text: "y"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, text := range got {
		reader := &source.Reader{}
		if again, err := answer.ReadPick(reader.Node(source.Text(text.Path), "")).
			In([]byte(body)); again != text.Text || err != nil {
			t.Errorf("%s: %q %v", text.Path, again, err)
		}
	}
}
