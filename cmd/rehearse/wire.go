package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rehearse/internal/config"
	"rehearse/internal/grader"
	"rehearse/internal/judge"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/source"
	"rehearse/internal/store"
	"rehearse/internal/suite"
)

// wiring joins the parts of one run. It is the only place that knows them all.
type wiring struct {
	env     *Env
	flags   *runFlags
	suites  []*suite.Suite
	config  config.File
	secrets *redact.Redactor
	store   *store.Store // nil when it could not be opened
	// kinds validates assertions; grading holds the assertion engines, each with its judge.
	kinds   *grader.Set
	grading map[gradingKey]*grader.Set
	targets map[targetKey]runner.Target
	// libraries are the knowledge bases that flows search, by folder.
	libraries map[string]*store.Knowledge
	// sites are the chatbots of websites, by folder and model.
	sites  map[string]*sites
	models llm.Options
	tape   *tape
	// baseline is the folder of the run to compare with, if any.
	baseline string
	// watch is called when a run begins; what it returns is told of every record, by several goroutines. Nil watches nothing.
	watch func(run result.Run) func(*result.Test)
}

// targetKey tells targets apart that are called differently by different tests.
type targetKey struct {
	name    string
	retries int
	timeout time.Duration
}

// gradingKey tells assertion engines apart whose judges are asked differently: those of different suites, and of tests of one suite
// that want other retries, time limits or no cache.
type gradingKey struct {
	suite  string
	call   targetKey
	cached bool
}

func gradingOf(t *suite.Test) gradingKey {
	return gradingKey{t.Suite, callOf("", t.Execution), t.Execution.Cache == nil || *t.Execution.Cache}
}

func newWiring(ctx context.Context, env *Env, f *runFlags, suites []*suite.Suite) (*wiring, error) {
	w := &wiring{
		env: env, flags: f, suites: suites, secrets: redact.New(env.Environ), kinds: grader.New(grader.Config{}),
		grading: map[gradingKey]*grader.Set{}, targets: map[targetKey]runner.Target{}, libraries: map[string]*store.Knowledge{}, sites: map[string]*sites{},
	}
	path := f.config
	if path == "" {
		path = config.Find(filepath.Dir(suites[0].File))
	}
	if path != "" {
		var err error
		if w.config, err = config.Load(path); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	w.models = llm.Options{Getenv: env.Getenv, Transport: llm.Transport(), ReadFile: os.ReadFile, Limits: llm.NewLimits()}
	var err error
	if f.baseline != "" {
		if w.baseline, err = findRun(ctx, f.baseline, path, nil); err != nil {
			return nil, err
		}
	}
	if w.tape, err = openTape(f); err != nil {
		return nil, err
	}
	if !f.dryRun {
		if w.store, err = openStore(ctx, w.config.Store); err != nil {
			fmt.Fprintln(env.Stderr, "rehearse: "+w.secrets.Text(err.Error())+"; going on without the run index and the verdict cache")
		}
	}
	return w, nil
}

func (w *wiring) close() {
	if err := w.tape.close(); err != nil {
		fmt.Fprintln(w.env.Stderr, "rehearse: "+err.Error())
	}
	if w.store != nil {
		if err := w.store.Close(); err != nil {
			fmt.Fprintln(w.env.Stderr, "rehearse: "+err.Error())
		}
	}
	for _, opened := range w.sites {
		opened.close()
	}
	for _, library := range w.libraries {
		if err := library.Close(); err != nil {
			fmt.Fprintln(w.env.Stderr, "rehearse: "+err.Error())
		}
	}
}

// settle puts the command line around what a test of a suite says.
func (w *wiring) settle(s *suite.Suite, e suite.Execution) suite.Execution {
	for i, name := range e.Targets {
		if local := w.local(s, name); local != name {
			e.Targets = slices.Clone(e.Targets)
			e.Targets[i] = local
		}
	}
	return w.flags.settle(e)
}

// targetNames returns the targets that a test runs with.
func (w *wiring) targetNames(t *suite.Test) ([]string, error) {
	switch {
	case len(t.Execution.Targets) > 0:
		return t.Execution.Targets, nil
	case w.config.Target != "":
		return []string{w.config.Target}, nil
	case len(w.config.Targets) == 1:
		for name := range w.config.Targets {
			return []string{name}, nil
		}
	}
	hint := "add --target PROVIDER:MODEL, or `target:` to the suite or to " + config.Name
	if len(w.config.Targets) > 1 {
		hint = "choose one of the configured targets with --target: " + strings.Join(sortedNames(w.config.Targets), ", ")
	}
	return nil, usage("test %s does not say what to talk to: %s", t.ID, hint)
}

func callOf(name string, e suite.Execution) targetKey {
	key := targetKey{name: name, retries: -1, timeout: e.Timeout}
	if e.Retries != nil {
		key.retries = *e.Retries
	}
	return key
}

// modelNamed finds a model by the name of a target or model, or by PROVIDER:MODEL.
func (w *wiring) modelNamed(name, what string, known []string) (config.Model, error) {
	if m, ok := w.config.Models[name]; ok {
		return m, nil
	}
	m, err := llm.ParseModel(name)
	switch {
	case err == nil:
		return m, nil
	case !strings.Contains(name, ":") && len(known) > 0:
		return config.Model{}, usage("there is no %s called %q in %s: %s", what, name, w.config.Path, source.Suggest(name, known))
	}
	return config.Model{}, usage("%s: %w", what, err)
}

// open opens a model, behind the recording if there is one.
func (w *wiring) open(m config.Model) (llm.Model, error) {
	if w.tape.playing != nil {
		return w.tape.play(m.String()), nil
	}
	model, err := llm.Open(m, w.models)
	if err != nil {
		return nil, modelError(err)
	}
	return w.taped(m.String(), model), nil
}

// taped stands for a model, or a server that is asked like one: the recording that is played, or the model behind the one that is made.
func (w *wiring) taped(name string, m llm.Model) llm.Model {
	if w.tape.playing != nil {
		return w.tape.play(name)
	}
	return w.tape.record(name, &discreet{m, w.secrets})
}

// judgeFor returns the judge of an assertion engine: by flag, suite, configuration, or the default models.
func (w *wiring) judgeFor(key gradingKey) (*judge.Judge, error) {
	s := w.suites[slices.IndexFunc(w.suites, func(s *suite.Suite) bool { return s.Name == key.suite })]
	primary, secondary, samples, complexity, err := w.judgeModels(s)
	if err != nil {
		return nil, err
	}
	c := judge.Config{Complexity: complexity, Samples: samples}
	if c.Scope, err = filepath.Abs(s.File); err != nil {
		return nil, notRun(err)
	}
	if c.Primary, err = w.named(primary, key.call); err != nil {
		return nil, err
	}
	if secondary != nil {
		if c.Secondary, err = w.named(*secondary, key.call); err != nil {
			return nil, err
		}
	}
	if key.cached && w.tape.off() && w.store != nil {
		c.Cache = w.store
	}
	return judge.New(c), nil
}

// judgeModels returns who judges a suite. The default pair is S1.76–S1.77's.
func (w *wiring) judgeModels(s *suite.Suite) (primary config.Model, secondary *config.Model, samples, complexity int, err error) {
	configured := w.config.Judge
	samples, complexity = cmp.Or(s.Judge.Samples, configured.Samples), cmp.Or(s.Judge.Complexity, configured.Complexity)
	models := sortedNames(w.config.Models)
	switch {
	case w.flags.judge != "":
		primary, err = w.modelNamed(w.flags.judge, "judge", models)
	case s.Judge.Model != "":
		if primary, err = w.modelNamed(w.local(s, w.provided(s.Judge)), "judge", models); err == nil && s.Judge.Secondary != "" {
			var second config.Model
			second, err = w.modelNamed(w.local(s, s.Judge.Secondary), "judge", models)
			secondary = &second
		}
	case configured.Primary != nil:
		primary, secondary = *configured.Primary, configured.Secondary
	default:
		primary = config.Model{Provider: "openai", Name: "gpt-5"}
		secondary = &config.Model{Provider: "openai", Name: "gpt-4.1"}
	}
	return primary, secondary, samples, complexity, err
}

// provided returns the name of a suite's judge, with its provider where the configuration does not know the bare name.
func (w *wiring) provided(j suite.Judge) string {
	if _, known := w.config.Models[j.Model]; known || j.Provider == "" || strings.Contains(j.Model, ":") {
		return j.Model
	}
	return j.Provider + ":" + j.Model
}

func (w *wiring) judgeName() string {
	primary, _, _, _, err := w.judgeModels(w.suites[0])
	if err != nil {
		return w.flags.judge
	}
	return primary.String()
}

// named opens a judging model. Its address, parameters and script tell its verdicts apart in the cache.
func (w *wiring) named(m config.Model, call targetKey) (judge.Named, error) {
	if call.retries >= 0 {
		m.Retries = &call.retries
	}
	m.Timeout = cmp.Or(call.timeout, m.Timeout)
	model, err := w.open(m)
	if err != nil {
		return judge.Named{}, err
	}
	parameters := parametersOf(m)
	key := cmp.Or(m.BaseURL, w.env.Getenv("OPENAI_BASE_URL")) + " " + describeParameters(parameters)
	if m.Provider == "scripted" {
		file, _, _ := strings.Cut(m.Name, "#")
		key += " " + contentHash(filepath.Join(m.Dir, file))
	}
	return judge.Named{Name: m.String(), Key: key, Model: &withParameters{model, parameters}}, nil
}

// prepareGrading makes an assertion engine.
func (w *wiring) prepareGrading(key gradingKey, needsJudge bool) error {
	c := grader.Config{HTTP: &http.Client{Timeout: time.Minute}, Environ: redact.Environ(w.env.Environ)}
	if needsJudge {
		j, err := w.judgeFor(key)
		if err != nil {
			return err
		}
		c.Judge = j
	}
	if w.config.Embedder != nil {
		embedder, err := llm.NewEmbedder(*w.config.Embedder, w.models)
		if err != nil {
			return modelError(err)
		}
		c.Embedder = embedder
	}
	w.grading[key] = grader.New(c)
	return nil
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
