package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Name is the name of the configuration file.
const Name = "rehearse.yaml"

// Find returns the path of the configuration file of a folder or of the nearest folder above it; empty when there is none.
func Find(files source.Files, dir string) string {
	dir, err := files.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		path := filepath.Join(dir, Name)
		if info, err := files.Stat(path); err == nil && !info.IsDir() {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// Load reads a configuration file, with targets of those kinds and with the variables of the environment in its texts. Keys that are passed over
// are not read. For a faulty file, the error is a source.Problems with every fault.
func Load(files source.Files, path string, kinds Kinds, env Environment, passedOver ...string) (File, error) {
	data, err := files.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return File{}, fmt.Errorf("no configuration at %s: check --config", path)
		}
		return File{}, fmt.Errorf("read the configuration: %w", err)
	}
	root, err := files.ParseYAML(path, data)
	if err != nil {
		return File{}, err
	}
	root.Fields = slices.DeleteFunc(root.Fields, func(f source.Field) bool { return slices.Contains(passedOver, f.Name) })
	f := File{Path: path, Dir: filepath.Dir(path), Document: root, Targets: map[string]Target{}, Models: map[string]Model{}}
	reader := &source.Reader{File: path}
	if root.Kind != source.Null {
		fill := filling{env: f.readVariables(files, reader.Node(root, ""), env)}
		root = fill.value(reader.Node(root, ""))
		f.unset = fill.unset
		f.read(files, reader.Node(root, ""), kinds)
	}
	problems := f.decided(reader.Problems)
	for _, name := range f.Unset("store") {
		problems = append(problems, source.Problem{
			File: path, Path: "store", Message: "the environment variable " + name + " is not set", Hint: "set it, or write ${{ " + name + ":-FALLBACK }}",
		})
	}
	return f, problems.Err()
}

func (f *File) read(files source.Files, n source.Node, kinds Kinds) {
	if n.Has("models") { // first, so that targets and the judge may name them
		for name, model := range n.Field("models").Entries() {
			f.Models[name] = f.model(model)
		}
	}
	n.Read(map[string]func(source.Node){
		"models": func(source.Node) {},
		"targets": func(n source.Node) {
			for name, target := range n.Entries() {
				f.Targets[name] = kinds.Read(target, Location{file: f, Files: files})
			}
		},
		"target":      func(n source.Node) { f.Target = n.Text() },
		"judge":       func(n source.Node) { f.Judge = f.judge(n) },
		"user":        func(n source.Node) { f.User = new(f.model(n)) },
		"embedder":    func(n source.Node) { f.Embedder = new(f.model(n)) },
		"env_file":    func(source.Node) {}, // it was read before, as texts take in what it says
		"store":       func(n source.Node) { f.Store = f.store(n) },
		"public_env":  func(n source.Node) { f.PublicEnv = n.Texts() },
		"redact":      func(n source.Node) { f.Redact = readPatterns(n) },
		"prices":      func(n source.Node) { f.Prices = readPrices(n) },
		"api_hosts":   func(n source.Node) { f.APIHosts = readHosts(n) },
		"api_private": func(n source.Node) { f.APIPrivate = n.Bool() },
		"workers":     func(n source.Node) { f.Workers = n.Int(1) },
		"watches":     func(n source.Node) { f.Watches = f.readWatches(n) },
		"thresholds":  func(n source.Node) { f.Thresholds = readThresholds(n) },
	})
	if _, ok := f.Targets[f.Target]; f.Target != "" && !ok && !strings.Contains(f.Target, ":") {
		n.Field("target").Report(source.Suggest(f.Target, names(f.Targets)), "there is no target called %q", f.Target)
	}
}

// readHosts reads HOST, HOST:PORT or *.DOMAIN.
func readHosts(n source.Node) []string {
	if n.Kind == source.String {
		n = n.With(source.Value{Kind: source.List, Items: []source.Value{n.Value}, Line: n.Line, Column: n.Column})
	}
	var hosts []string
	for _, item := range n.List() {
		host := item.Text()
		if fault := HostFault(host); fault != "" && item.Kind == source.String {
			item.Report("write HOST, HOST:PORT or *.DOMAIN", "%s", fault)
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// readPatterns reads regular expressions. One that matches the empty text would match everywhere.
func readPatterns(n source.Node) (patterns []*regexp.Regexp) {
	read := func(n source.Node) {
		pattern, err := regexp.Compile(n.Text())
		switch {
		case n.Kind != source.String:
		case err != nil:
			n.Report("write a regular expression of Go (RE2)", "%v", err)
		case pattern.MatchString(""):
			n.Report("write a pattern for the text that is to be masked", "the pattern matches the empty text")
		default:
			patterns = append(patterns, pattern)
		}
	}
	if n.Kind != source.List {
		read(n)
		return patterns
	}
	for _, item := range n.List() {
		read(item)
	}
	return patterns
}

// store reads where the store is.
func (f *File) store(n source.Node) string {
	path, postgres, err := Store(n.Text(), f.Dir)
	if err != nil {
		n.Report("write sqlite:PATH, a path, or postgres://USER@HOST/DATABASE", "%v", err)
	}
	return firstSet(path, postgres)
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
		"canary":     func(n source.Node) { j.Canary = n.Switch("strict") },
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
