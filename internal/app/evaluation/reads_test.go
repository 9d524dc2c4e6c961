package evaluation_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec/bundle"
)

// reading returns what plans a run through files; it keeps the plan as Describe writes it.
func reading(t *testing.T, plan *string) func(source.Files, runspec.Spec) ([]string, error) {
	return func(files source.Files, s runspec.Spec) ([]string, error) {
		opened, err := wire.Open(wire.Options{Files: files, Config: s.Config, Model: s.Model, Dry: true})
		if err != nil {
			return nil, err
		}
		defer func() { _ = opened.Close() }()
		c := evaluation.Config{Setup: opened, Spec: s}
		suites, _, err := evaluation.Reads(t.Context(), c)
		if err != nil || plan == nil {
			return suites, err
		}
		e, err := evaluation.New(t.Context(), c)
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		err = e.Describe(t.Context(), &out)
		*plan = out.String()
		return suites, err
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

var gathered = map[string]string{
	"rehearse.yaml": "targets:\n  desk: {kind: flow, flow: flows/desk.flow.yaml}\n" +
		"  bot: scripted:replies.yaml\ntarget: bot\njudge: {model: 'scripted:judge/judge.yaml'}\n",
	"replies.yaml":     "default: {reply: hello}\n",
	"judge/judge.yaml": "default: {reply: hello}\n",
	"judge/other.yaml": "default: {reply: unread}\n",
	".env":             "SECRET=hush\n",
	"sub/shop.suite.yaml": "name: shop\ntests: more/*.jsonl\nassertions:\n  - {type: llm_rubric, value: polite}\n" +
		"  - {type: is_json, schema: reply.json}\n",
	"sub/reply.json":          "{\"type\": \"string\"}",
	"sub/unread.txt":          "unread",
	"sub/more/a.jsonl":        `{"id": "a", "input": "hi"}` + "\n",
	"sub/more/b.jsonl":        `{"id": "b", "input": "hi"}` + "\n",
	"elsewhere/scripted.yaml": "default: {reply: hello}\n",
}

// What is gathered is all that a run reads: unpacked elsewhere, the same run is planned from it, and the same is
// gathered again.
func TestGather(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, gathered)
	t.Chdir(filepath.Join(dir, "sub"))
	asked := runspec.Spec{
		Schema: runspec.Schema, Suites: []string{"."}, Targets: []string{"bot", "scripted:../elsewhere/scripted.yaml"},
		Trials: 2,
	}
	var before, after string
	spec, top, err := bundle.Gather(asked, reading(t, &before))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"elsewhere/scripted.yaml", "judge/judge.yaml", "rehearse.yaml", "replies.yaml", "sub/more/a.jsonl",
		"sub/more/b.jsonl", "sub/reply.json", "sub/shop.suite.yaml",
	}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(spec.Files))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"scripted:elsewhere/scripted.yaml", "sub/shop.suite.yaml"}, []string{
		spec.Targets[1], spec.Suites[0],
	}); d != "" {
		t.Error(d)
	}
	if top != dir {
		t.Errorf("the names begin at %s, want %s", top, dir)
	}
	elsewhere := t.TempDir()
	if err := bundle.Unpack(t.Context(), elsewhere, spec, nil); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if _, err := reading(t, &after)(source.Within(root), spec); err != nil {
		t.Fatal(err)
	}
	if before == "" || before != strings.ReplaceAll(after, "scripted:elsewhere",
		"scripted:"+strings.TrimPrefix(dir, "/")+"/elsewhere") {
		t.Errorf("planned from the bundle:\n%s\nfrom the disk:\n%s", after, before)
	}
	t.Chdir(elsewhere)
	asked.Suites, asked.Targets = spec.Suites, spec.Targets
	again, _, err := bundle.Gather(asked, reading(t, nil))
	if err != nil || again.Fingerprint() != spec.Fingerprint() {
		t.Errorf("gathered again from the bundle: %v\n%s", err, cmp.Diff(spec, again))
	}
}

// placed are files in folders of their own.
var placed = map[string]string{
	"evals/rehearse.yaml": "targets:\n  bot: {model: 'scripted:bots/bot.yaml', system: Read bots/bot.yaml.}\n" +
		"  desk: {kind: flow, flow: flows/desk.flow.yaml, model: 'scripted:bots/bot.yaml'}\n" +
		"  site: {kind: sitebot, sites: sites/shop.yaml, model: 'scripted:bots/bot.yaml'}\ntarget: bot\n" +
		"judge: 'scripted:bots/judge.yaml'\n",
	"evals/bots/bot.yaml":   "default: {reply: hello}\n",
	"evals/bots/judge.yaml": "default: {reply: hello}\n",
	"evals/bots/user.yaml":  "default: {reply: hello}\n",
	"evals/flows/desk.flow.yaml": "id: desk\nstart: start\nnodes:\n  - {id: start, type: start, prompt: hello, " +
		"next: [end]}\n  - {id: end, type: stop}\n",
	"evals/sites/shop.yaml":        "site: shop.example\ncompany: {name: Shop, description: A shop.}\n",
	"evals/suites/shop.suite.yaml": "name: shop\ntests:\n  - {id: a, input: hi, assertions: [polite]}\n",
}

// A run has the same fingerprint from its files here and from its bundle, wherever they are and whoever names them;
// another one when a file changes.
func TestGatheredFingerprint(t *testing.T) {
	const suite = "evals/suites/shop.suite.yaml"
	for name, test := range map[string]struct {
		spec runspec.Spec
		// changes is a file that decides the records.
		changes string
	}{
		"configuration": {runspec.Spec{Targets: []string{"bot", "desk", "site"}}, "evals/flows/desk.flow.yaml"},
		"--config": {
			runspec.Spec{Targets: []string{"desk", "site"}, Config: "evals/rehearse.yaml"}, "evals/sites/shop.yaml",
		},
		"--judge": {runspec.Spec{Judge: "scripted:evals/bots/judge.yaml"}, "evals/bots/judge.yaml"},
		"--model": {
			runspec.Spec{Targets: []string{"desk", "site"}, Model: "scripted:evals/bots/user.yaml"},
			"evals/bots/user.yaml",
		},
		"--target": {runspec.Spec{Targets: []string{"scripted:evals/bots/user.yaml"}}, "evals/bots/user.yaml"},
		"flow": {
			runspec.Spec{Targets: []string{"flow:evals/flows/desk.flow.yaml#desk"}, Model: "lexical"},
			"evals/flows/desk.flow.yaml",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, placed)
			t.Chdir(dir)
			test.spec.Schema, test.spec.Suites = runspec.Schema, []string{suite}
			here := fingerprint(t, source.Files{}, test.spec)
			spec, _, err := bundle.Gather(test.spec, reading(t, nil))
			if err != nil {
				t.Fatal(err)
			}
			for name := range spec.Files { // a site without knowledge reads no folder for it
				if placed["evals/"+name] == "" && placed[name] == "" {
					t.Errorf("%s is taken along", name)
				}
			}
			elsewhere := t.TempDir()
			if err := bundle.Unpack(t.Context(), elsewhere, spec, nil); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(elsewhere)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }()
			if there := fingerprint(t, source.Within(root), spec); there != here {
				t.Errorf("%s from the disk, %s from the bundle", here, there)
			}
			write(t, dir, map[string]string{test.changes: placed[test.changes] + "# another\n"})
			if fingerprint(t, source.Files{}, test.spec) == here {
				t.Errorf("%s has changed, and the fingerprint has not", test.changes)
			}
		})
	}
}

func fingerprint(t *testing.T, files source.Files, spec runspec.Spec) string {
	t.Helper()
	s, err := wire.Open(wire.Options{Files: files, Config: spec.Config, Model: spec.Model, Dry: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	e, err := evaluation.New(t.Context(), evaluation.Config{Setup: s, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Every example can be taken along whole.
func TestGatherExamples(t *testing.T) {
	suites, err := filepath.Glob("../../../examples/*/*suite.yaml")
	if err != nil || len(suites) == 0 {
		t.Fatal("no examples", err)
	}
	for _, suite := range suites {
		spec, _, err := bundle.Gather(runspec.Spec{Schema: runspec.Schema, Suites: []string{suite}}, reading(t, nil))
		if err != nil {
			if source.IsInvalid(err) && strings.Contains(err.Error(), "does not say what to talk to") {
				continue
			}
			t.Errorf("%s: %v", suite, err)
			continue
		}
		dir := t.TempDir()
		if err := bundle.Unpack(t.Context(), dir, spec, nil); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reading(t, nil)(source.Within(root), spec); err != nil {
			t.Errorf("%s from its bundle of %v: %v", suite, slices.Sorted(maps.Keys(spec.Files)), err)
		}
		_ = root.Close()
	}
}

// A path that begins at the top of the disk is a mistake of the author, wherever it stands.
func TestGatherRefusesAbsolutePaths(t *testing.T) {
	for name, text := range map[string]string{
		"sub/shop.suite.yaml": "name: shop\ntests: DIR/sub/more/a.jsonl\n",
		"rehearse.yaml": "targets:\n  desk: {kind: flow, flow: DIR/desk.flow.yaml}\ntarget: desk\n" +
			"judge: {model: 'scripted:judge/judge.yaml'}\n",
	} {
		dir := t.TempDir()
		write(t, dir, gathered)
		write(t, dir, map[string]string{name: strings.ReplaceAll(text, "DIR", dir), "desk.flow.yaml": "id: desk\n"})
		t.Chdir(filepath.Join(dir, "sub"))
		_, _, err := bundle.Gather(runspec.Spec{Schema: runspec.Schema, Suites: []string{"shop.suite.yaml"}},
			reading(t, nil))
		if err == nil || !source.IsInvalid(err) || !strings.Contains(err.Error(), "an absolute path") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
