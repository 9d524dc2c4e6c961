package replayrun_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

const teaVariants = "prompt_versions: [{id: p, file_path: p.md, model_provider: lexical}]\n" +
	"variants: [{id: v, config: {execution_strategy: prompt_template, prompt_config: {prompt_version_id: p}, " +
	"flow_config: {flow_id: tea}}}]\n"

// teaRun asks for a replay of the variant.
func teaRun() runspec.Spec {
	return runspec.Spec{Schema: runspec.Schema, Kind: runspec.KindReplay, Replay: &runspec.Replay{
		VariantID: "v", FlowID: "tea", StartDate: "2026-03-01", EndDate: "2026-03-01",
	}}
}

// teaFiles writes the files of a run, with its variants in a store, which is not among them.
func teaFiles(t *testing.T, files map[string]string) (dir, store string) {
	t.Helper()
	dir = t.TempDir()
	files["prompts/p.md"], files["variants.yaml"] = "You serve tea.", teaVariants
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store = "sqlite:" + filepath.Join(t.TempDir(), "log.db")
	h, err := storage.OpenHistory(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	variants, err := replay.ReadVariants(filepath.Join(dir, "variants.yaml"))
	if err == nil {
		_, err = variants.Put(t.Context(), h.Variants)
	}
	if err = errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, store
}

// A variant has the limits, the memory and the knowledge of its flow's target on a server, too, where all files are in
// one folder.
func TestSubmittedVariantHasTheLimitsOfItsTarget(t *testing.T) {
	dir, store := teaFiles(t, map[string]string{
		"rehearse.yaml": "targets:\n  tea: {kind: flow, flow: flows/tea.yaml, model: lexical, limits: " +
			"{history_window_messages: 3, max_tool_iterations: 2}, " +
			"knowledge: kb, knowledge_bases: [menu]}\n",
		"flows/tea.yaml": "id: tea\nversion: 1\nstart: a\nnodes:\n  - {id: a, type: start, prompt: Greet., next: " +
			"[b]}\n  - {id: b, type: stop, prompt: Goodbye.}\n",
		"kb/menu/tea.md": "# Tea\n\nGreen and black.\n",
	})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	settings := func(options wire.Options, change func(*replayrun.Config)) replay.Run {
		t.Helper()
		s, err := wire.Open(options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		c, err := replayrun.Submitted(s, teaRun())
		if err != nil {
			t.Fatal(err)
		}
		var run replay.Run
		c.Store, c.Out, c.Lead = store, t.TempDir(), func(e *replay.Evaluation) { run = e.Head.Run }
		change(&c)
		r, err := replayrun.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return run
	}
	there := settings(wire.Options{Files: source.Within(root), Submitted: &wire.Submitted{}},
		func(*replayrun.Config) {})
	here := settings(wire.Options{Config: filepath.Join(dir, "rehearse.yaml")}, func(c *replayrun.Config) {
		c.Flows, c.Prompts = filepath.Join(dir, "flows"), filepath.Join(dir, "prompts")
	})
	if !source.SameJSON(here.Settings, there.Settings) {
		t.Errorf("here:  %s\nthere: %s", here.Settings, there.Settings)
	}
}

// The flow of a variant may read no variable that the server keeps from runs: the run is refused, as one of the same
// flow as a target is.
func TestSubmittedVariantReadsWhatItMay(t *testing.T) {
	dir, store := teaFiles(t, map[string]string{
		"flows/tea.yaml": "name: tea\napis: {list: {url: 'https://shop.example/list', headers: {X-Key: " +
			"'${OTHER_WORD}'}}}\ninitial_state: ask\n" +
			"states:\n  ask: {type: question, message: Tea?}\n  told: {type: end, message: x, actions: [{type: " +
			"call_api, target: list}]}\n" +
			"transitions: [{from: ask, to: told, condition: {type: always}}]\n",
	})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	s, err := wire.Open(wire.Options{
		Files: source.Within(root), Submitted: &wire.Submitted{AllowEnv: []string{"SHOP_*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	c, err := replayrun.Submitted(s, teaRun())
	if err != nil {
		t.Fatal(err)
	}
	c.Store, c.Out = store, t.TempDir()
	r, err := replayrun.Open(t.Context(), c)
	if err == nil {
		err = r.Close()
	}
	if refused := s.Refused(); refused == nil || !strings.Contains(refused.Error(), "OTHER_WORD") {
		t.Errorf("refused: %v; opened: %v", refused, err)
	}
}

// A look whose files give other agents than those of its watch is refused before anything is replayed: its figures
// would stand among those of the watch.
func TestLookOfOtherAgentsIsRefused(t *testing.T) {
	dir, store := teaFiles(t, map[string]string{
		"rehearse.yaml": "targets: {}\n",
		"flows/tea.yaml": "id: tea\nversion: 1\nstart: a\nnodes:\n  - {id: a, type: start, prompt: Greet., next: " +
			"[b]}\n  - {id: b, type: stop, prompt: Goodbye.}\n",
	})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	s, err := wire.Open(wire.Options{Files: source.Within(root)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	spec := teaRun()
	spec.Replay.Interim = &runspec.Interim{
		Watch: "nightly", Since: time.Now(), Until: time.Now().Add(time.Hour), Settings: "of other flows",
	}
	c, err := replayrun.Submitted(s, spec)
	if err != nil {
		t.Fatal(err)
	}
	c.Store = store
	r, err := replayrun.Open(t.Context(), c)
	if r != nil {
		_ = r.Close()
	}
	if !source.IsInvalid(err) || !strings.Contains(err.Error(), "other agents") {
		t.Errorf("the look is opened: %v", err)
	}
}
