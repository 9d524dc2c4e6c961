package setup

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/grader"
	"rehearse/internal/judge"
	"rehearse/internal/llm"
	"rehearse/internal/outbound"
	"rehearse/internal/suite"
)

// Judging says which judge a suite gets.
type Judging struct {
	// Name is the requested judge. It takes precedence over the suite's and the configuration's.
	Name string
	// Suite is the suite's own choice; file names are resolved against the suite's folder.
	Suite suite.Judge
	Call  Call
	// Cache remembers verdicts; nil remembers none.
	Cache judge.Cache
	// Warn is judge.Config's.
	Warn func(error)
}

// judges are the models that judge.
type judges struct {
	primary   config.Model
	secondary *config.Model
	samples   int
	// complexity is judge.Config's.
	complexity int
}

// JudgeName returns the first judging model as PROVIDER:MODEL, or the requested name when there is no such model.
func (s *Setup) JudgeName(j Judging) string {
	models, err := s.judges(j)
	if err != nil {
		return j.Name
	}
	return models.primary.String()
}

// judges finds the judging models: the requested one, the suite's, the configuration's, or the default pair (S1.76–S1.77).
func (s *Setup) judges(j Judging) (found judges, err error) {
	configured := s.config.Judge
	found.samples, found.complexity = cmp.Or(j.Suite.Samples, configured.Samples), cmp.Or(j.Suite.Complexity, configured.Complexity)
	named := func(name string) (config.Model, error) { return s.ModelNamed(name, "judge", Names(s.config.Models)) }
	switch {
	case j.Name != "":
		found.primary, err = named(j.Name)
	case j.Suite.Model != "":
		if found.primary, err = named(s.provided(j.Suite)); err == nil && j.Suite.Secondary != "" {
			var second config.Model
			second, err = named(j.Suite.Secondary)
			found.secondary = &second
		}
	case configured.Primary != nil:
		found.primary, found.secondary = *configured.Primary, configured.Secondary
	default:
		found.primary = config.Model{Provider: "openai", Name: "gpt-5"}
		found.secondary = &config.Model{Provider: "openai", Name: "gpt-4.1"}
	}
	return found, err
}

// provided returns the name of a suite's judge. It adds the provider when the configuration does not know the bare name.
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
	c := judge.Config{Complexity: models.complexity, Samples: models.samples, Warn: j.Warn}
	if c.Primary, err = s.judging(models.primary, j.Call); err != nil {
		return nil, err
	}
	if models.secondary != nil {
		if c.Secondary, err = s.judging(*models.secondary, j.Call); err != nil {
			return nil, err
		}
	}
	if !s.Recorded() {
		c.Cache = j.Cache
	}
	return judge.New(c), nil
}

// judging opens a judging model. Its name and its key in the cache cover its address, its parameters and what its script says, but no
// folder: a copied suite finds the same verdicts.
func (s *Setup) judging(m config.Model, call Call) (judge.Named, error) {
	model, err := s.open(m, call)
	if err != nil {
		return judge.Named{}, err
	}
	parameters := llm.ParametersOf(m)
	key := cmp.Or(m.BaseURL, s.Getenv("OPENAI_BASE_URL")) + " " + describe(parameters)
	named := m
	if m.Provider == "scripted" {
		file, _, _ := strings.Cut(m.Name, "#")
		key += " " + contentHash(filepath.Join(m.Dir, file))
		named.Name = filepath.Base(m.Name)
	}
	return judge.Named{Name: named.String(), Key: key, Model: llm.WithParameters(model, parameters)}, nil
}

// contentHash distinguishes versions of a script.
func contentHash(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Graders returns the grader set. j may be nil for assertions that ask no judge.
func (s *Setup) Graders(j grader.Judge) (*grader.Set, error) {
	services := outbound.Client(s.services())
	c := grader.Config{Judge: j, HTTP: services, Environ: s.secrets.Environ}
	embedder, err := s.Embedder()
	if err != nil {
		return nil, err
	}
	if embedder != nil {
		c.Embedder = embedder
	}
	return grader.New(c), nil
}
