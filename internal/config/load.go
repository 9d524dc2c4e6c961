package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rehearse/internal/source"
)

// Name is the name of the configuration file.
const Name = "rehearse.yaml"

// Find returns the path of the configuration file of a folder or of the nearest folder above it; empty when there is none.
func Find(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		path := filepath.Join(dir, Name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// Load reads a configuration file, with targets of those kinds and with the variables of the environment in its texts. For a faulty file, the
// error is a source.Problems with every fault.
func Load(path string, kinds Kinds, env Environment) (File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return File{}, fmt.Errorf("no configuration at %s: check --config", path)
		}
		return File{}, fmt.Errorf("read the configuration: %w", err)
	}
	root, err := source.ParseYAML(path, data)
	if err != nil {
		return File{}, err
	}
	f := File{Path: path, Dir: filepath.Dir(path), Document: root, Targets: map[string]Target{}, Models: map[string]Model{}}
	reader := &source.Reader{File: path}
	if root.Kind != source.Null {
		fill := filling{env: env}
		root = fill.value(reader.Node(root, ""))
		f.unset = fill.unset
		f.read(reader.Node(root, ""), kinds)
	}
	problems := f.decided(reader.Problems)
	for _, name := range f.Unset("store") {
		problems = append(problems, source.Problem{
			File: path, Path: "store", Message: "the environment variable " + name + " is not set", Hint: "set it, or write ${{ " + name + ":-FALLBACK }}",
		})
	}
	return f, problems.Err()
}

func (f *File) read(n source.Node, kinds Kinds) {
	if n.Has("models") { // first, so that targets and the judge may name them
		for name, model := range n.Field("models").Entries() {
			f.Models[name] = f.model(model)
		}
	}
	n.Read(map[string]func(source.Node){
		"models": func(source.Node) {},
		"targets": func(n source.Node) {
			for name, target := range n.Entries() {
				f.Targets[name] = kinds.Read(target, Place{f})
			}
		},
		"target":     func(n source.Node) { f.Target = n.Text() },
		"judge":      func(n source.Node) { f.Judge = f.judge(n) },
		"user":       func(n source.Node) { f.User = new(f.model(n)) },
		"embedder":   func(n source.Node) { f.Embedder = new(f.model(n)) },
		"store":      func(n source.Node) { f.Store = f.store(n) },
		"public_env": func(n source.Node) { f.PublicEnv = n.Texts() },
		"prices":     func(n source.Node) { f.Prices = readPrices(n) },
		"workers":    func(n source.Node) { f.Workers = n.Int(1) },
		"thresholds": func(n source.Node) { f.Thresholds = readThresholds(n) },
	})
	if _, ok := f.Targets[f.Target]; f.Target != "" && !ok && !strings.Contains(f.Target, ":") {
		n.Field("target").Report(source.Suggest(f.Target, names(f.Targets)), "there is no target called %q", f.Target)
	}
}

// store reads where the store is.
func (f *File) store(n source.Node) string {
	path, postgres, err := Store(n.Text(), f.Dir)
	if err != nil {
		n.Report("write sqlite:PATH, a path, or postgres://USER@HOST/DATABASE", "%v", err)
	}
	return firstSet(path, postgres)
}

// model reads {provider, model, …} or "provider:model"; the short form also names an entry of models.
func (f *File) model(n source.Node) Model {
	if n.Kind == source.String {
		m := f.Model(n, n.Scalar)
		m.Unset = slices.Concat(m.Unset, f.Unset(n.Path()))
		return m
	}
	m := Model{Dir: f.Dir, Unset: f.Unset(n.Path())}
	n.Read(map[string]func(source.Node){
		"kind":                func(source.Node) {},
		"provider":            func(n source.Node) { m.Provider = n.Text() },
		"model":               func(n source.Node) { m.Name = n.Text() },
		"base_url":            func(n source.Node) { m.BaseURL = n.Text() },
		"api_key_env":         func(n source.Node) { m.APIKeyEnv = n.Text() },
		"token_env":           func(n source.Node) { m.TokenEnv = n.Text() },
		"api_version":         func(n source.Node) { m.APIVersion = n.Text() },
		"api":                 func(n source.Node) { m.API = n.OneOf("chat_completions", "responses") },
		"temperature":         func(n source.Node) { m.Temperature = new(n.Number(0, 2)) },
		"top_p":               func(n source.Node) { m.TopP = new(n.Number(0, 1)) },
		"seed":                func(n source.Node) { m.Seed = new(n.Int(math.MinInt32)) },
		"max_tokens":          func(n source.Node) { m.MaxTokens = n.Int(1) },
		"retries":             func(n source.Node) { m.Retries = new(n.Int(0)) },
		"timeout":             func(n source.Node) { m.Timeout = n.Duration() },
		"requests_per_minute": func(n source.Node) { m.RequestsPerMinute = n.Int(1) },
		"tokens_per_minute":   func(n source.Node) { m.TokensPerMinute = n.Int(1) },
		"concurrency":         func(n source.Node) { m.Concurrency = n.Int(1) },
		"input_price":         func(n source.Node) { m.Price.Input = new(n.Number(0, maxPrice)) },
		"output_price":        func(n source.Node) { m.Price.Output = new(n.Number(0, maxPrice)) },
	})
	if n.Kind != source.Map {
		return m
	}
	if !n.Has("model") {
		n.Report("add `model: PROVIDER:MODEL`", "a model needs a name")
		return m
	}
	if m.Provider == "" {
		named := f.Model(n.Field("model"), m.Name)
		m = m.over(named)
	}
	return m
}

// Model returns the model that a short form names: an entry of models, or PROVIDER:MODEL. Problems go to n.
func (f *File) Model(n source.Node, short string) Model {
	if m, ok := f.Models[short]; ok {
		return m
	}
	m, err := parseModel(short)
	if err != nil {
		hint := "write PROVIDER:MODEL, such as openai:gpt-5-mini"
		if len(f.Models) > 0 {
			hint += ", or the name of an entry of models: " + strings.Join(names(f.Models), ", ")
		}
		n.Report(hint, "%v", err)
	}
	m.Dir = f.Dir
	return m
}

// Lexical is the provider of the model inside the program. There is only one, so it needs no name.
const Lexical = "lexical"

// parseModel reads "PROVIDER:MODEL", or "lexical".
func parseModel(short string) (Model, error) {
	if short == Lexical {
		return Model{Provider: Lexical, Name: "default"}, nil
	}
	if model, address := CutAddress(short); address != "" {
		return Model{}, fmt.Errorf("only a target has an address behind @: name %s, with its address as base_url", model)
	}
	provider, name, ok := strings.Cut(short, ":")
	if !ok || provider == "" || name == "" {
		return Model{}, fmt.Errorf("%q is not PROVIDER:MODEL", short)
	}
	return Model{Provider: provider, Name: name}, nil
}

// over returns m; fields that m leaves open come from the named model.
func (m Model) over(named Model) Model {
	named.Temperature = first(m.Temperature, named.Temperature)
	named.TopP = first(m.TopP, named.TopP)
	named.Seed = first(m.Seed, named.Seed)
	named.Retries = first(m.Retries, named.Retries)
	named.BaseURL = firstSet(m.BaseURL, named.BaseURL)
	named.APIKeyEnv = firstSet(m.APIKeyEnv, named.APIKeyEnv)
	named.TokenEnv = firstSet(m.TokenEnv, named.TokenEnv)
	named.API = firstSet(m.API, named.API)
	named.APIVersion = firstSet(m.APIVersion, named.APIVersion)
	named.MaxTokens = firstSet(m.MaxTokens, named.MaxTokens)
	named.Timeout = firstSet(m.Timeout, named.Timeout)
	named.RequestsPerMinute = firstSet(m.RequestsPerMinute, named.RequestsPerMinute)
	named.TokensPerMinute = firstSet(m.TokensPerMinute, named.TokensPerMinute)
	named.Concurrency = firstSet(m.Concurrency, named.Concurrency)
	named.Price = m.Price.Over(named.Price)
	named.Unset = slices.Concat(named.Unset, m.Unset)
	return named
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func firstSet[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

func (f *File) judge(n source.Node) Judge {
	j := Judge{}
	if n.Kind == source.String {
		m := f.Model(n, n.Scalar)
		j.Primary = &m
		return j
	}
	n.Read(map[string]func(source.Node){
		"model":     func(n source.Node) { j.Primary = new(f.model(n)) },
		"secondary": func(n source.Node) { j.Secondary = new(f.model(n)) },
		"panel": func(n source.Node) {
			for _, item := range n.List() {
				j.Panel = append(j.Panel, f.model(item))
			}
		},
		"complexity": func(n source.Node) { j.Complexity = n.Int(1) },
		"samples":    func(n source.Node) { j.Samples = n.Int(1) },
		"canary":     func(n source.Node) { j.Canary = n.Text() },
	})
	if n.Has("panel") && len(j.Panel) == 0 {
		n.Field("panel").Report("name the models that judge", "the panel is empty")
	}
	if n.Has("panel") && (n.Has("model") || n.Has("secondary")) {
		n.Field("panel").Report("keep one of the two: every model of a panel judges every question", "a judge has a panel, or a model and a secondary")
	}
	return j
}

func names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	return out
}
