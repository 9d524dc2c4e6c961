package target

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// load reads a configuration with targets of those kinds. The file is as it is named in errors.
func load(t testing.TB, kinds Table, yaml string) (f config.File, file string, err error) {
	t.Helper()
	file = filepath.Join(t.TempDir(), config.Name)
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err = config.Load(source.Files{}, file, kinds, os.LookupEnv)
	return f, file, err
}

// echoConfig is a kind of target that only this test knows: it stands in one place, and in one line of a table.
type echoConfig struct {
	Prefix string `key:"prefix"`
	URL    string `key:"url"`
}

func echoKind() Kind {
	return Kind{
		Name: "echo", prefix: "echo",
		read: func(n source.Node, _ config.Location) config.Target {
			keys := struct {
				echoConfig
				Kind string `key:"kind"`
			}{}
			source.Decode(n, &keys)
			return config.Target{Kind: "echo", Options: keys.echoConfig}
		},
		short: func(path, _ string) config.Target {
			return config.Target{Kind: "echo", Options: echoConfig{Prefix: path}}
		},
	}
}

func (c echoConfig) open(config.Model, Parts) (runner.Target, error) {
	return labels(func(_ context.Context, a classifierRequest) (Classification, chat.Reply, error) {
		return Classification{Labels: []string{c.Prefix + a.message}}, chat.Reply{}, nil
	}), nil
}

func (c echoConfig) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{Server: c.URL}, nil
}
func (echoConfig) complete() bool { return true }

// A kind is one file and one line: the configuration reads it, refuses its unknown keys, and the room opens it and
// knows what it asks.
func TestAKindIsOneLine(t *testing.T) {
	kinds := append(Kinds(), echoKind())
	f, _, err := load(t, kinds,
		"targets: {shout: {kind: echo, prefix: 'HEY ', url: 'http://a.example'}, short: 'echo:there'}")
	if err != nil {
		t.Fatal(err)
	}
	if want, got := filepath.Join(f.Dir, "there"), f.Targets["short"].Options.(echoConfig).Prefix; got != want {
		t.Errorf("the short form has %q, want %q", got, want)
	}
	if got := kinds.LocalName("echo:x", "suites/a.yaml"); got != "echo:suites/x" {
		t.Errorf("the local name is %q", got)
	}
	shout := f.Targets["shout"]
	opened, err := Open(shout, Parts{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := opened.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := session.Send(t.Context(), chat.Content{Text: "you"}); reply.Text != "HEY you" || err != nil {
		t.Errorf("reply %q, error %v", reply.Text, err)
	}
	if asks, err := DependenciesOf(t.Context(), shout, Parts{}); asks.Server != "http://a.example" ||
		!Complete(shout) || err != nil {
		t.Errorf("asks %+v, complete %v, error %v", asks, Complete(shout), err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// Every fault of every kind is reported at once, with its place and a hint.
func TestFaultsOfKinds(t *testing.T) {
	_, file, err := load(t, Kinds(), `targets:
  a: {kind: flow, flw: x}
  b: {kind: http, ulr: x, flow: y, limits: {turn_timeot: 1s}}
  c: {kind: sitebot, site: x, promts: p}
  d: {kind: classifier, sites: s, node: nobody, language: de}
  e: {model: openai:x, temprature: 1}
  f: {kind: teapot, model: openai:x}
`)
	for _, want := range []string{
		`:2:19: targets.a.flw: unknown key "flw" (did you mean "flow"?)`, "a flow target needs a flow",
		`:3:19: targets.b.ulr: unknown key "ulr" (known: concurrency, flow,`, "an execute target needs an address",
		`targets.b.limits.turn_timeot: unknown key "turn_timeot" (did you mean "turn_timeout"?)`,
		`:4:31: targets.c.promts: unknown key "promts" (did you mean "prompts"?)`, "a sitebot target needs its site",
		`there is no classifier "nobody"`, `targets.d.language: unknown key "language"`,
		`targets.e.temprature: unknown key "temprature" (did you mean "temperature"?)`,
		`targets.f.kind: unknown value "teapot"`,
		"model, flow, http, execute, websocket, a2a, command, sitebot, classifier",
	} {
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), file, ""), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

func TestTargetsOfKinds(t *testing.T) {
	f, _, err := load(t, Kinds(), `targets:
  flow: {kind: flow, flow: a.yaml, flow_id: b, knowledge: kb, memory: false, limits: {turn_timeout: 2s}}
  http: {kind: http, url: "http://x/execute", flow_id: b, token_env: T, headers: {A: b}, retries: 0}
  site: {kind: sitebot, sites: /s, site: a.example, model: "scripted:bot.yaml", language: de}
  intents: {kind: classifier, node: intent_classifier, sites: /s, site: a.example, model: openai:x, prompts: /p}
  short: flow:a.yaml#b
`)
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(f.Dir, name) }
	want := map[string]config.Target{
		"flow": OfFlow(lexical(), FlowConfig{
			Path: in("a.yaml"), ID: "b", Knowledge: in("kb"), Memory: &MemoryConfig{}, TurnTimeout: 2e9,
		}),
		"http": {Kind: "execute", Options: ExecuteConfig{
			Flow: FlowConfig{ID: "b"}, URL: "http://x/execute", TokenEnv: "T", Headers: map[string]string{"A": "b"},
			Bounds: Bounds{Retries: new(0)},
		}},
		"site": OfSite(SiteConfig{Dir: "/s", Name: "a.example", Model: "scripted:" + in("bot.yaml"), Language: "de"}),
		"intents": OfClassifier(ClassifierConfig{
			SiteConfig: SiteConfig{Dir: "/s", Name: "a.example", Model: "openai:x", Prompts: "/p"},
			Node:       "intent-classifier",
		}),
		"short": OfFlow(lexical(), FlowConfig{Path: in("a.yaml"), ID: "b"}),
	}
	if d := cmp.Diff(want, f.Targets); d != "" {
		t.Errorf("targets (-want +got):\n%s", d)
	}
}

func TestShortForms(t *testing.T) {
	for short, want := range map[string]config.Target{
		"flow:dir/a.yaml#b":  OfFlow(lexical(), FlowConfig{Path: "dir/a.yaml", ID: "b"}),
		"site:dir/sites#a.b": OfSite(SiteConfig{Dir: "dir/sites", Name: "a.b"}),
		"site:/sites/a.yaml": OfSite(SiteConfig{Dir: "/sites/a.yaml"}),
	} {
		got, ok := Kinds().Short(short)
		if d := cmp.Diff(want, got); d != "" || !ok {
			t.Errorf("%s: %v, target (-want +got):\n%s", short, ok, d)
		}
	}
	for _, short := range []string{"", "flow", "flow:", "site:#a", "openai:x"} {
		if _, ok := Kinds().Short(short); ok {
			t.Errorf("%q is no short target", short)
		}
	}
}

// What the documentation shows is a configuration.
func TestDocumentedTargets(t *testing.T) {
	page, err := os.ReadFile("../../../docs/wires.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	for _, block := range blocks {
		yaml, _, _ := strings.Cut(block, "```")
		yaml = strings.ReplaceAll(yaml, "tools: tools.yaml", "tools: [{name: f}]")
		if _, _, err := load(t, Kinds(), yaml); err != nil && !strings.Contains(err.Error(), "is not set") {
			t.Errorf("%v\n%s", err, yaml)
		}
	}
	if len(blocks) != 4 {
		t.Errorf("%d examples", len(blocks))
	}
}
