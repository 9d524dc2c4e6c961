package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

const (
	// maxVariantFile bounds a file of variants, maxVariantConfig the configuration of one, in bytes.
	maxVariantFile   = 16 << 20
	maxVariantConfig = 1 << 20
	maxPromptPath    = 4096
)

// VariantSet are variants and versions of prompts that are to be put into a store. ReadVariants makes one.
type VariantSet struct {
	Variants []Variant
	Prompts  []PromptVersion
}

// ReadVariants reads files of variants, in YAML or JSON: {variants: […], prompt_versions: […]}, or one variant. The
// error is source.Problems with every fault of all files.
func ReadVariants(files ...string) (*VariantSet, error) {
	r := newVariantReader()
	for _, file := range files {
		r.load(file)
	}
	return r.set()
}

// variantReader reads variants and prompts of several documents, and gathers what is wrong with them.
type variantReader struct {
	VariantSet
	problems source.Problems

	// places say where an id stands, by what it is the id of.
	places map[[2]string]string
}

func newVariantReader() *variantReader { return &variantReader{places: map[[2]string]string{}} }

// set returns what was read, or everything that is wrong with it.
func (r *variantReader) set() (*VariantSet, error) {
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return &r.VariantSet, nil
}

// load reads a file.
func (r *variantReader) load(file string) {
	document, err := parseVariantFile(file)
	if problems, ok := errors.AsType[source.Problems](err); ok {
		r.problems = append(r.problems, problems...)
		return
	}
	if err != nil {
		r.problems = append(r.problems, source.Problem{File: file, Message: "cannot be read: " + err.Error()})
		return
	}
	r.read(file, document)
}

func parseVariantFile(file string) (source.Value, error) {
	f, err := os.Open(file)
	if err != nil {
		if fault, ok := errors.AsType[*os.PathError](err); ok {
			err = fault.Err // its path is said already
		}
		return source.Value{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxVariantFile+1))
	switch {
	case err != nil:
		return source.Value{}, err
	case len(data) > maxVariantFile:
		return source.Value{}, fmt.Errorf("it is larger than %d MB: split it", maxVariantFile>>20)
	}
	return source.ParseYAML(file, data)
}

// read reads a document: lists of variants and prompts, or one variant.
func (r *variantReader) read(file string, document source.Value) {
	reader := &source.Reader{File: file}
	n := reader.Node(document, "")
	if n.Has("id") || n.Has("config") {
		r.variant(n)
	} else {
		before := len(r.Variants) + len(r.Prompts)
		n.Read(map[string]func(source.Node){
			"variants": func(n source.Node) {
				for _, item := range n.List() {
					r.variant(item)
				}
			},
			"prompt_versions": func(n source.Node) {
				for _, item := range n.List() {
					r.prompt(item)
				}
			},
		})
		if len(reader.Problems) == 0 && before == len(r.Variants)+len(r.Prompts) {
			n.Report("write variants: or prompt_versions: with a list", "there are no variants in the file")
		}
	}
	r.problems = append(r.problems, reader.Problems...)
}

// variant reads a variant.
func (r *variantReader) variant(n source.Node) {
	var v Variant
	n.Read(map[string]func(source.Node){
		"id":            func(n source.Node) { v.ID = r.id("variant", n) },
		"experiment_id": func(n source.Node) { v.ExperimentID = shortText(n) },
		"name":          func(n source.Node) { v.Name = shortText(n) },
		"config":        func(n source.Node) { readVariantConfig(n); v.Config = objectOf(n) },
	})
	wanted(n, "id", "config")
	r.Variants = append(r.Variants, v)
}

// readVariantConfig checks that a configuration is one that can be replayed.
func readVariantConfig(n source.Node) {
	n.Read(map[string]func(source.Node){
		"execution_strategy": func(n source.Node) {
			if strategy := n.Text(); strategy != PromptTemplate {
				n.Report("write execution_strategy: "+PromptTemplate, "Variant must use %s execution strategy, not %q", PromptTemplate, strategy)
			}
		},
		"prompt_config": func(n source.Node) {
			n.Read(map[string]func(source.Node){"prompt_version_id": func(n source.Node) { needText(n) }})
			wanted(n, "prompt_version_id")
		},
		"flow_config": func(n source.Node) {
			var keys struct {
				target.TurnKeys
				ID source.Node `key:"flow_id"`
			}
			source.Decode(n, &keys)
			if n.Has("flow_id") {
				needText(keys.ID)
			}
			wanted(n, "flow_id")
		},
		"params": func(n source.Node) {
			for range n.Entries() { // their values may be of any kind
				continue
			}
		},
	})
	wanted(n, "execution_strategy", "prompt_config", "flow_config")
}

// prompt reads a version of a prompt.
func (r *variantReader) prompt(n source.Node) {
	var p PromptVersion
	n.Read(map[string]func(source.Node){
		"id":             func(n source.Node) { p.ID = r.id("prompt version", n) },
		"file_path":      func(n source.Node) { p.FilePath = promptPath(n) },
		"model_provider": func(n source.Node) { p.ModelProvider = needText(n) },
		"model_name":     func(n source.Node) { p.ModelName = shortText(n) },
		"config_defaults": func(n source.Node) {
			for range n.Entries() {
				continue
			}
			p.ConfigDefaults = objectOf(n)
		},
	})
	wanted(n, "id", "file_path", "model_provider")
	r.Prompts = append(r.Prompts, p)
}

// wanted reports entries that are missing from a mapping.
func wanted(n source.Node, names ...string) {
	if n.Kind != source.Map {
		return // the reader has told that
	}
	for _, name := range names {
		if !n.Has(name) {
			n.Field(name).Report("write "+name+": …", "%s is missing", name)
		}
	}
}

// id reads an id, which stands in one place only.
func (r *variantReader) id(what string, n source.Node) string {
	id := needText(n)
	if id == "" {
		return ""
	}
	key := [2]string{what, id}
	if first, twice := r.places[key]; twice {
		n.Report("keep one, or give it another id", "%s %q is in %s already", what, id, first)
	}
	r.places[key] = n.File()
	if n.Line > 0 {
		r.places[key] = fmt.Sprintf("%s:%d", n.File(), n.Line)
	}
	return id
}

// shortText reads a text that the store can keep.
func shortText(n source.Node) string {
	text := n.Text()
	if len(text) > MaxName {
		n.Report("shorten it", "the text has %d bytes, and %d is the limit", len(text), MaxName)
	}
	return text
}

// needText reads a text that may not be empty.
func needText(n source.Node) string {
	text := shortText(n)
	if strings.TrimSpace(text) == "" && (n.Kind == source.String) {
		n.Report("write one", "the text is empty")
	}
	return text
}

// promptPath reads the path of a file below the folder of prompts.
func promptPath(n source.Node) string {
	name := n.Text()
	const hint = "write a path below the folder of prompts, such as booking/short.md"
	switch {
	case n.Kind == source.List || n.Kind == source.Map: // the reader has told that
	case len(name) > maxPromptPath:
		n.Report("shorten it", "the path has %d bytes, and %d is the limit", len(name), maxPromptPath)
	case path.IsAbs(name) || filepath.IsAbs(name) || strings.Contains(name, `\`) || strings.Contains(name, "\x00"):
		n.Report(hint, "%.100q is not a path below the folder of prompts", name)
	case !filepath.IsLocal(name):
		n.Report(hint, "%.100q leads out of the folder of prompts", name)
	case path.Clean(name) == "." || strings.HasSuffix(name, "/"):
		n.Report(hint, "%.100q is no file", name)
	}
	return name
}

// objectOf returns a mapping as JSON.
func objectOf(n source.Node) json.RawMessage {
	if n.Kind != source.Map {
		return nil // the reader has told that
	}
	text, err := json.Marshal(n.Any())
	switch {
	case err != nil:
		n.Report("JSON has no infinite numbers", "cannot be written as JSON: %v", err)
	case len(text) > maxVariantConfig:
		n.Report("shorten it", "is larger than %d MB", maxVariantConfig>>20)
	}
	return text
}
