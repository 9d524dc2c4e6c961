package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Name is the name of the configuration file.
const Name = "rehearse.yaml"

// Find returns the path of the configuration file of a folder or of the nearest folder above it; empty when there is
// none.
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

// Load reads a configuration file, with targets of those kinds and with the variables of the environment in its texts.
// Keys that are passed over are not read. For a faulty file, the error is a source.Problems with every fault.
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
	root.Fields = slices.DeleteFunc(root.Fields, func(f source.Field) bool {
		return slices.Contains(passedOver, f.Name)
	})
	f := File{
		Path: path, Dir: filepath.Dir(path), Document: root, Targets: map[string]Target{}, Models: map[string]Model{},
	}
	reader := &source.Reader{File: path}
	if root.Kind != source.Null {
		fill := filling{env: f.readVariables(files, reader.Node(root, ""), env)}
		root = fill.value(reader.Node(root, ""))
		f.unset = fill.unset
		f.read(files, reader.Node(root, ""), kinds)
	}
	problems := f.decided(reader.Problems.InOrder())
	for _, name := range f.Unset("store") {
		problems = append(problems, source.Problem{
			File: path, Path: "store", Message: "the environment variable " + name + " is not set",
			Hint: "set it, or write ${{ " + name + ":-FALLBACK }}",
		})
	}
	return f, problems.Err()
}

// fileKeys are the keys of a configuration file. Nodes are read when the models are known.
type fileKeys struct {
	Target     string      `key:"target" doc:"the name of the default target"`
	Targets    source.Node `key:"targets" schema:"targets"`
	Models     source.Node `key:"models" schema:"models"`
	Judge      source.Node `key:"judge" schema:"judge_or_name"`
	User       source.Node `key:"user" schema:"model_or_name"`
	Embedder   source.Node `key:"embedder" schema:"model_or_name"`
	Prices     source.Node `key:"prices" schema:"price_table"`
	PublicEnv  []string    `key:"public_env" doc:"variables that may be shown"`
	Redact     patterns    `key:"redact" schema:"texts" doc:"regular expressions of what artifacts mask"`
	EnvFile    source.Node `key:"env_file" schema:"text" doc:"a file of NAME=VALUE lines, such as .env"`
	Store      source.Node `key:"store" schema:"text" doc:"sqlite:PATH, a path, or postgres://USER@HOST/DATABASE"`
	APIHosts   hosts       `key:"api_hosts" schema:"texts" doc:"hosts that flows may call; without any, none"`
	APIPrivate bool        `key:"api_private" doc:"whether flows may call hosts at private addresses"`
	Workers    int         `key:"workers" minimum:"1"`
	Watches    source.Node `key:"watches" schema:"watches" doc:"comparisons that rehearse serve repeats"`
	Thresholds source.Node `key:"thresholds" schema:"thresholds"`
}

func (f *File) read(files source.Files, n source.Node, kinds Kinds) {
	keys := fileKeys{}
	source.Decode(n, &keys)
	f.Target, f.Workers, f.PublicEnv, f.Redact = keys.Target, keys.Workers, keys.PublicEnv, keys.Redact
	f.APIHosts, f.APIPrivate = keys.APIHosts, keys.APIPrivate
	given := func(n source.Node) bool { return n.Kind != source.Null }
	if given(keys.Models) { // first, so that targets and the judge may name them
		for name, model := range keys.Models.Entries() {
			f.Models[name] = f.model(model)
		}
	}
	if given(keys.Targets) {
		for name, target := range keys.Targets.Entries() {
			f.Targets[name] = kinds.Read(target, Location{file: f, Files: files})
		}
	}
	if given(keys.Judge) {
		f.Judge = f.judge(keys.Judge)
	}
	if given(keys.User) {
		f.User = new(f.model(keys.User))
	}
	if given(keys.Embedder) {
		f.Embedder = new(f.model(keys.Embedder))
	}
	if given(keys.Prices) {
		f.Prices = readPrices(keys.Prices)
	}
	if given(keys.Store) {
		f.Store = f.store(keys.Store)
	}
	if given(keys.Watches) {
		f.Watches = f.readWatches(keys.Watches)
	}
	if given(keys.Thresholds) {
		f.Thresholds = new(f.Least())
		source.Decode(keys.Thresholds, f.Thresholds)
	}
	if _, ok := f.Targets[f.Target]; f.Target != "" && !ok && !strings.Contains(f.Target, ":") {
		n.Field("target").Report(source.Suggest(f.Target, names(f.Targets)), "there is no target called %q", f.Target)
	}
}

// hosts are HOST, HOST:PORT or *.DOMAIN.
type hosts []string

// DecodeNode reads a list of hosts, or one.
func (h *hosts) DecodeNode(n source.Node) {
	if n.Kind != source.String && n.Kind != source.List {
		n.Report("write HOST, HOST:PORT or *.DOMAIN", "expected hosts, got %s", n.Kind)
		return
	}
	for item := range n.Each() {
		host := item.Text()
		if fault := HostFault(host); fault != "" && item.Kind == source.String {
			item.Report("write HOST, HOST:PORT or *.DOMAIN", "%s", fault)
		}
		*h = append(*h, host)
	}
}

// patterns are regular expressions. One that matches the empty text would match everywhere.
type patterns []*regexp.Regexp

// DecodeNode reads a list of regular expressions, or one.
func (p *patterns) DecodeNode(n source.Node) {
	for item := range n.Each() {
		pattern, err := regexp.Compile(item.Text())
		switch {
		case item.Kind != source.String:
		case err != nil:
			item.Report("write a regular expression of Go (RE2)", "%v", err)
		case pattern.MatchString(""):
			item.Report("write a pattern for the text that is to be masked", "the pattern matches the empty text")
		default:
			*p = append(*p, pattern)
		}
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

// judgeKeys are the keys of a judge.
type judgeKeys struct {
	Model      source.Node   `key:"model" schema:"model_or_name"`
	Secondary  source.Node   `key:"secondary" schema:"model_or_name"`
	Panel      []source.Node `key:"panel" schema:"model_or_name"`
	Complexity int           `key:"complexity" minimum:"1"`
	Samples    int           `key:"samples" minimum:"1"`
	Canary     string        `key:"canary" enum:"on,off,strict" doc:"control criteria in each list (on)"`
}

func (f *File) judge(n source.Node) Judge {
	j := Judge{}
	if n.Kind == source.String {
		m := f.Model(n, n.Scalar)
		j.Primary = &m
		return j
	}
	keys := judgeKeys{}
	source.Decode(n, &keys)
	j.Complexity, j.Samples, j.Canary = keys.Complexity, keys.Samples, keys.Canary
	if n.Has("model") {
		j.Primary = new(f.model(keys.Model))
	}
	if n.Has("secondary") {
		j.Secondary = new(f.model(keys.Secondary))
	}
	for _, model := range keys.Panel {
		j.Panel = append(j.Panel, f.model(model))
	}
	if n.Has("panel") && len(j.Panel) == 0 {
		n.Field("panel").Report("name the models that judge", "the panel is empty")
	}
	if n.Has("panel") && (n.Has("model") || n.Has("secondary")) {
		n.Field("panel").Report("keep one of the two: every model of a panel judges every question",
			"a judge has a panel, or a model and a secondary")
	}
	return j
}

func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
