package wire

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/eval/recording"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Judging says which judge a suite gets.
type Judging struct {
	// Name is the requested judge, or the models of a panel with commas between them. It takes precedence over the
	// suite's and the configuration's.
	Name string
	// Suite is the suite's own choice; file names are resolved against the suite's folder.
	Suite suite.Judge
	Call  Call
	// Cache remembers verdicts; nil remembers none. SharedTrials is judge.Config's.
	Cache        judge.Cache
	SharedTrials bool
	// Warn is judge.Config's.
	Warn func(error)
}

// judges are the models that judge: a panel, or a primary model that may have a secondary.
type judges struct {
	panel     []config.Model
	primary   config.Model
	secondary *config.Model
	samples   int
	// complexity and canary are judge.Config's.
	complexity int
	canary     judge.Canary
}

// all returns every model that may be asked.
func (j judges) all() []config.Model {
	switch {
	case len(j.panel) > 0:
		return j.panel
	case j.secondary != nil:
		return []config.Model{j.primary, *j.secondary}
	}
	return []config.Model{j.primary}
}

// JudgeName returns the first judging model as PROVIDER:MODEL, those of a panel with ", " between them, or the
// requested name when there is no such model.
func (s *Setup) JudgeName(j Judging) string {
	models, err := s.judges(j)
	if err != nil {
		return j.Name
	}
	names := []string{models.primary.String()}
	if len(models.panel) > 0 {
		names = nil
		for _, m := range models.panel {
			names = append(names, m.String())
		}
	}
	return strings.Join(names, ", ")
}

// judges finds the judging models: the requested one, the suite's, the configuration's, or the default pair.
func (s *Setup) judges(j Judging) (found judges, err error) {
	configured := s.config.Judge
	found.samples, found.complexity = cmp.Or(j.Suite.Samples, configured.Samples),
		cmp.Or(j.Suite.Complexity, configured.Complexity)
	found.canary = cmp.Or(judge.Canary(j.Suite.Canary), judge.Canary(configured.Canary), judge.CanaryOn)
	named := func(name string) (config.Model, error) {
		return s.ModelNamed(strings.TrimSpace(name), "judge", Names(s.config.Models))
	}
	panel := j.Suite.Panel
	if j.Name != "" {
		panel = nil
	}
	if strings.Contains(j.Name, ",") {
		panel = strings.Split(j.Name, ",")
	}
	switch {
	case len(panel) > 0:
		for _, name := range panel {
			var m config.Model
			if m, err = named(name); err != nil {
				return found, err
			}
			found.panel = append(found.panel, m)
		}
	case j.Name != "":
		found.primary, err = named(j.Name)
	case j.Suite.Model != "":
		if found.primary, err = named(s.provided(j.Suite)); err == nil && j.Suite.Secondary != "" {
			var second config.Model
			second, err = named(j.Suite.Secondary)
			found.secondary = &second
		}
	case len(configured.Panel) > 0:
		found.panel = configured.Panel
	case configured.Primary != nil:
		found.primary, found.secondary = *configured.Primary, configured.Secondary
	default:
		found.primary = config.Model{Provider: "openai", Name: "gpt-5"}
		found.secondary = &config.Model{Provider: "openai", Name: "gpt-4.1"}
	}
	if err == nil {
		err = checkPanel(found.panel)
	}
	return found, err
}

// maxPanel is how many models a panel has at most.
const maxPanel = 15

// checkPanel refuses a panel in which a model has two votes.
func checkPanel(panel []config.Model) error {
	if len(panel) > maxPanel {
		return source.Invalid("a panel of judges has at most %d models, not %d", maxPanel, len(panel))
	}
	for i, m := range panel {
		same := func(other config.Model) bool {
			return other.String() == m.String() && other.BaseURL == m.BaseURL &&
				describe(llm.ParametersOf(other)) == describe(llm.ParametersOf(m))
		}
		if slices.ContainsFunc(panel[:i], same) {
			return source.Invalid(
				"the panel of judges has %s twice: name another model, or ask each one several times with samples", m)
		}
	}
	return nil
}

// provided returns the name of a suite's judge. It adds the provider when the configuration does not know the bare
// name.
func (s *Setup) provided(j suite.Judge) string {
	if _, known := s.config.Models[j.Model]; known || j.Provider == "" || strings.Contains(j.Model, ":") {
		return j.Model
	}
	return j.Provider + ":" + j.Model
}

// Judge opens a judge.
func (s *Setup) Judge(j Judging) (*judge.Judge, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	models, err := s.judges(j)
	if err != nil {
		return nil, err
	}
	c := judge.Config{
		Complexity: models.complexity, Samples: models.samples, Canary: models.canary, Draws: s.draws,
		SharedTrials: j.SharedTrials, Warn: j.Warn,
	}
	opened := make([]judge.Named, 0, len(models.all()))
	for _, m := range models.all() {
		named, err := s.judging(m, j.Call)
		if err != nil {
			return nil, err
		}
		if named.Draws, err = s.drawsOf(m, models.canary); err != nil {
			return nil, err
		}
		opened = append(opened, named)
	}
	switch {
	case len(models.panel) > 0:
		c.Panel = opened
	case models.secondary != nil:
		c.Primary, c.Secondary = opened[0], opened[1]
	default:
		c.Primary = opened[0]
	}
	if !s.Recorded() {
		c.Cache = j.Cache
	}
	return judge.New(c), nil
}

// judging opens a judging model. Its name and its key in the cache cover its address, its parameters, what the
// configuration adds to its requests and what its file says: verdicts are remembered for the runs of others, too. They
// cover no folder: a copied suite finds the same verdicts.
func (s *Setup) judging(m config.Model, call Call) (judge.Named, error) {
	model, err := s.open(m, call)
	if err != nil {
		return judge.Named{}, err
	}
	parameters := llm.ParametersOf(m)
	key := cmp.Or(m.BaseURL, s.ownEnv("OPENAI_BASE_URL")) + " " + describe(parameters)
	if said := (config.Model{
		API: m.API, APIVersion: m.APIVersion, Headers: m.Headers, Body: m.Body, System: m.System,
	}); !reflect.ValueOf(said).IsZero() {
		key += " " + describe(said)
	}
	named := m
	if m.Provider == "scripted" || m.Provider == "cassette" {
		file, _, _ := strings.Cut(m.Name, "#")
		key += " " + s.contentHash(filepath.Join(m.Dir, file))
	}
	if m.Provider == "scripted" {
		named.Name = filepath.Base(m.Name)
	}
	return judge.Named{
		Name: named.String(), Key: key,
		Model: llm.WithParameters(recording.MeasureJudge(s.Metrics, m.Provider, model), parameters),
	}, nil
}

// drawsOf returns what the draws in a judge's requests come from: the recording that is played, or the one that is
// made. It is nil where nothing is recorded.
func (s *Setup) drawsOf(m config.Model, canary judge.Canary) (func(context.Context) ([]byte, llm.Conversation), error) {
	draws, name := s.recording.Draws(), s.Playback
	if !s.recording.Playing() {
		if m.Provider != "cassette" {
			return draws, nil
		}
		var err error
		if draws, err = llm.DrawsOf(m, s.models); err != nil {
			return nil, modelError(err)
		}
		name, _, _ = strings.Cut(m.Name, "#")
	}
	return func(ctx context.Context) ([]byte, llm.Conversation) {
		key, at := draws(ctx)
		if key == nil && canary != judge.CanaryOff {
			s.warnOnce("the recording " + name +
				" was made without a canary: judges are called without one, as they were")
		}
		return key, at
	}, nil
}

// contentHash distinguishes versions of a script.
func (s *Setup) contentHash(path string) string {
	data, err := s.Files.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Graders returns the grader set. j may be nil for assertions that ask no judge.
func (s *Setup) Graders(j grader.Judge) (*grader.Set, error) {
	services := httpclient.Client(s.recording.Transport(s.outside))
	c := grader.Config{Judge: j, Files: s.Files, NoCommands: s.NoCommands, HTTP: services, Environ: s.environ}
	embedder, err := s.Embedder()
	if err != nil {
		return nil, err
	}
	if embedder != nil {
		c.Embedder = embedder
	}
	return grader.New(c), nil
}
