package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// shelf keeps variants in the process. After failAfter writes it is full; 0 is never.
type shelf struct {
	variants          map[string]replay.Variant
	prompts           map[string]replay.PromptVersion
	writes, failAfter int
}

var errFull = errors.New("the shelf is full")

func (s *shelf) Variant(_ context.Context, id string) (replay.Variant, error) {
	v, ok := s.variants[id]
	if !ok {
		return v, fmt.Errorf("variant %q: %w", id, replay.ErrUnknown)
	}
	return v, nil
}

func (s *shelf) Prompt(_ context.Context, id string) (replay.PromptVersion, error) {
	p, ok := s.prompts[id]
	if !ok {
		return p, fmt.Errorf("prompt version %q: %w", id, replay.ErrUnknown)
	}
	return p, nil
}

func (s *shelf) write() error {
	if s.writes++; s.failAfter > 0 && s.writes > s.failAfter {
		return errFull
	}
	return nil
}

func (s *shelf) PutVariant(_ context.Context, v replay.Variant) error {
	s.variants[v.ID] = v
	return s.write()
}

func (s *shelf) PutPrompt(_ context.Context, p replay.PromptVersion) error {
	s.prompts[p.ID] = p
	return s.write()
}

func newShelf() *shelf {
	return &shelf{variants: map[string]replay.Variant{}, prompts: map[string]replay.PromptVersion{}}
}

// draft is a variant with its prompt.
func draft() replay.VariantDraft {
	return replay.VariantDraft{
		ID: "a", FlowID: "f", PromptFile: "a.md", Model: "openai:small",
		Params: map[string]any{"seed": 7, "voice": "warm"},
	}
}

func read(t *testing.T, d replay.VariantDraft) *replay.VariantSet {
	t.Helper()
	set, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// put puts a draft and returns what became of it, a line each.
func put(t *testing.T, s *shelf, d replay.VariantDraft) (changes []string, err error) {
	t.Helper()
	made, err := read(t, d).Put(t.Context(), s)
	for _, c := range made {
		changes = append(changes, c.String())
	}
	return changes, err
}

func TestVariantSetPut(t *testing.T) {
	s := newShelf()
	renamed, other := draft(), draft()
	renamed.Name = "A"
	other.Name, other.FlowID, other.Model = "A", "g", "lexical"
	for _, tc := range []struct {
		draft  replay.VariantDraft
		writes int
		want   []string
	}{
		{draft(), 2, []string{"prompt version a: added", "variant a: added"}},
		{draft(), 2, []string{"prompt version a: unchanged", "variant a: unchanged"}},
		{renamed, 3, []string{"prompt version a: unchanged", "variant a: replaced: another name"}},
		{other, 5, []string{
			"prompt version a: replaced: another model_provider, model_name", "variant a: replaced: another config",
		}},
	} {
		got, err := put(t, s, tc.draft)
		if d := cmp.Diff(tc.want, got); d != "" || err != nil || s.writes != tc.writes {
			t.Errorf("%d writes, want %d; %v\n%s", s.writes, tc.writes, err, d)
		}
	}
}

func TestVariantSetPutChecksFirst(t *testing.T) {
	dangling := draft()
	dangling.PromptFile, dangling.Model, dangling.Prompt = "", "", "absent"
	s := newShelf()
	if changes, err := put(t, s, dangling); !errors.Is(err, replay.ErrUnknown) || !source.IsInvalid(err) ||
		s.writes > 0 || changes != nil {
		t.Errorf("a variant without its prompt: %v, %v after %d writes", changes, err, s.writes)
	}
	s.failAfter = 1
	changes, err := put(t, s, draft())
	if !errors.Is(err, errFull) || source.IsInvalid(err) || len(changes) != 1 {
		t.Errorf("a store that fails: %v, %v", changes, err)
	}
}

func TestReadVariants(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := "{execution_strategy: prompt_template, prompt_config: {prompt_version_id: p}, flow_config: {flow_id: f}}"
	one, list := file("one.yaml", "{id: a, config: "+config+"}"),
		file("list.json", `{"prompt_versions": [{"id": "p", "file_path": "p.md", "model_provider": "lexical"}]}`)
	set, err := replay.ReadVariants(one, list)
	if err != nil || len(set.Variants) != 1 || len(set.Prompts) != 1 {
		t.Fatalf("%+v, %v", set, err)
	}
	_, err = replay.ReadVariants(one, file("faults.yaml", "variants: [{id: a, config: {execution_strategy: agent}}]\n"+
		"prompt_versions: [{id: p, file_path: /etc/passwd}]\n"), filepath.Join(dir, "none.yaml"))
	problems, ok := errors.AsType[source.Problems](err)
	if !ok || len(problems) != 7 {
		t.Fatalf("%d problems: %v", len(problems), err)
	}
	for _, want := range []string{
		"one.yaml:1 already", "prompt_template", "flow_config is missing", "model_provider is missing",
		"is not a path below", "cannot be read",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

func TestDefine(t *testing.T) {
	prompts := t.TempDir()
	if err := os.WriteFile(filepath.Join(prompts, "a.md"), []byte("Be brief\xff."), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newShelf()
	if _, err := put(t, s, draft()); err != nil {
		t.Fatal(err)
	}
	d, err := replay.Define(t.Context(), s, "a", prompts)
	if err != nil {
		t.Fatal(err)
	}
	if d.Prompt != "Be brief\uFFFD." || *d.Parameters.Seed != 7 || !cmp.Equal(d.Ignored, []string{"voice"}) ||
		d.Version.Model() != "openai:small" {
		t.Errorf("definition: %+v", d)
	}
	// What stands in the store may be from elsewhere: it is checked again.
	for name, tc := range map[string]struct {
		change func(p *replay.PromptVersion, v *replay.Variant)
		want   string
	}{
		"outside": {
			func(p *replay.PromptVersion, _ *replay.Variant) { p.FilePath = "../a.md" },
			"leads out of the folder of prompts",
		},
		"no file": {
			func(p *replay.PromptVersion, _ *replay.Variant) { p.FilePath = "b.md" },
			"name another folder with --prompts",
		},
		"no path": {func(p *replay.PromptVersion, _ *replay.Variant) { p.FilePath = "" }, "it has no file_path"},
		"defaults": {
			func(p *replay.PromptVersion, _ *replay.Variant) { p.ConfigDefaults = json.RawMessage(`[]`) },
			"not a JSON object",
		},
		"parameters": {func(p *replay.PromptVersion, _ *replay.Variant) {
			p.ConfigDefaults = json.RawMessage(`{"top_p":"high"}`)
		}, "parameter top_p"},
		"strategy": {
			func(_ *replay.PromptVersion, v *replay.Variant) { v.Config = json.RawMessage(`{}`) }, "execution strategy",
		},
		"prompt": {func(_ *replay.PromptVersion, v *replay.Variant) {
			v.Config = json.RawMessage(strings.Replace(string(v.Config), `"prompt_version_id":"a"`,
				`"prompt_version_id":"b"`, 1))
		}, `prompt version "b"`},
	} {
		changed, p, v := newShelf(), s.prompts["a"], s.variants["a"]
		tc.change(&p, &v)
		changed.prompts["a"], changed.variants["a"] = p, v
		if _, err := replay.Define(t.Context(), changed, "a", prompts); !source.IsInvalid(err) ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

// TestSettingsOfTurns holds that what a variant of a product's own table says of its flow's turns is checked before
// anything is replayed.
func TestSettingsOfTurns(t *testing.T) {
	for said, wrong := range map[string]string{
		`{"flow_id": "f", "knowledge_bases": ["faq"], "memory": {"stages": []}, "limits": {"turn_timeout": "5s"}}`: "",
		`{"flow_id": "f", "released": true}`:                     "",
		`{"flow_id": "f", "memory": "on"}`:                       "memory",
		`{"flow_id": "f", "limits": {"max_tool_iterations": 0}}`: "limits.max_tool_iterations",
		`{"flow_id": "f", "limits": {"turns": 1}}`:               "turns",
		`{"flow_id": "f", "knowledge_bases": {"faq": true}}`:     "knowledge_bases",
	} {
		v := replay.Variant{ID: "v", Config: []byte(
			`{"execution_strategy": "prompt_template", "prompt_config": {"prompt_version_id": "p"}, "flow_config": ` +
				said + `}`)}
		s, err := v.Settings()
		switch {
		case wrong == "" && (err != nil || s.FlowConfig.FlowID != "f"):
			t.Errorf("%s: %v", said, err)
		case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
			t.Errorf("%s: got %v, want %q", said, err, wrong)
		}
	}
}
