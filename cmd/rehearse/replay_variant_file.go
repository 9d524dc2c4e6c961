package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/source"
)

const (
	// maxVariantFile bounds a file of variants, maxVariantConfig the configuration of one, in bytes.
	maxVariantFile   = 16 << 20
	maxVariantConfig = 1 << 20
	maxPromptPath    = 4096
)

// variantDocuments are the variants and prompts of several files, and what is wrong with them.
type variantDocuments struct {
	variants []replay.Variant
	prompts  []replay.PromptVersion
	problems source.Problems

	// places say where an id stands, by what it is the id of.
	places map[[2]string]string
}

func newVariantDocuments() *variantDocuments {
	return &variantDocuments{places: map[[2]string]string{}}
}

// load reads a file.
func (d *variantDocuments) load(file string) {
	document, err := parseVariantFile(file)
	if problems, ok := errors.AsType[source.Problems](err); ok {
		d.problems = append(d.problems, problems...)
		return
	}
	if err != nil {
		d.problems = append(d.problems, source.Problem{File: file, Message: "cannot be read: " + err.Error()})
		return
	}
	d.read(file, document)
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
func (d *variantDocuments) read(file string, document source.Value) {
	reader := &source.Reader{File: file}
	n := reader.Node(document, "")
	if n.Has("id") || n.Has("config") {
		d.variant(n)
	} else {
		before := len(d.variants) + len(d.prompts)
		n.Read(map[string]func(source.Node){
			"variants": func(n source.Node) {
				for _, item := range n.List() {
					d.variant(item)
				}
			},
			"prompt_versions": func(n source.Node) {
				for _, item := range n.List() {
					d.prompt(item)
				}
			},
		})
		if len(reader.Problems) == 0 && before == len(d.variants)+len(d.prompts) {
			n.Report("write variants: or prompt_versions: with a list", "there are no variants in the file")
		}
	}
	d.problems = append(d.problems, reader.Problems...)
}

// variant reads a variant.
func (d *variantDocuments) variant(n source.Node) {
	var v replay.Variant
	n.Read(map[string]func(source.Node){
		"id":            func(n source.Node) { v.ID = d.id("variant", n) },
		"experiment_id": func(n source.Node) { v.ExperimentID = shortText(n) },
		"name":          func(n source.Node) { v.Name = shortText(n) },
		"config":        func(n source.Node) { readVariantConfig(n); v.Config = objectOf(n) },
	})
	wanted(n, "id", "config")
	d.variants = append(d.variants, v)
}

// readVariantConfig checks that a configuration is one that can be replayed.
func readVariantConfig(n source.Node) {
	n.Read(map[string]func(source.Node){
		"execution_strategy": func(n source.Node) {
			if strategy := n.Text(); strategy != replay.PromptTemplate {
				n.Report("write execution_strategy: "+replay.PromptTemplate, "Variant must use %s execution strategy, not %q", replay.PromptTemplate, strategy)
			}
		},
		"prompt_config": func(n source.Node) {
			n.Read(map[string]func(source.Node){"prompt_version_id": func(n source.Node) { needText(n) }})
			wanted(n, "prompt_version_id")
		},
		"flow_config": func(n source.Node) {
			n.Read(map[string]func(source.Node){"flow_id": func(n source.Node) { needText(n) }})
			wanted(n, "flow_id")
		},
		"params": func(n source.Node) {
			for range n.Entries() { // of whatever kind
				continue
			}
		},
	})
	wanted(n, "execution_strategy", "prompt_config", "flow_config")
}

// prompt reads a version of a prompt.
func (d *variantDocuments) prompt(n source.Node) {
	var p replay.PromptVersion
	n.Read(map[string]func(source.Node){
		"id":             func(n source.Node) { p.ID = d.id("prompt version", n) },
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
	d.prompts = append(d.prompts, p)
}

// wanted reports entries that are missing from a mapping.
func wanted(n source.Node, names ...string) {
	if n.Kind != source.Map {
		return // which was said
	}
	for _, name := range names {
		if !n.Has(name) {
			n.Field(name).Report("write "+name+": …", "%s is missing", name)
		}
	}
}

// id reads an id, which stands in one place only.
func (d *variantDocuments) id(what string, n source.Node) string {
	id := needText(n)
	if id == "" {
		return ""
	}
	key := [2]string{what, id}
	if first, twice := d.places[key]; twice {
		n.Report("keep one, or give it another id", "%s %q is in %s already", what, id, first)
	}
	d.places[key] = n.File()
	if n.Line > 0 {
		d.places[key] = fmt.Sprintf("%s:%d", n.File(), n.Line)
	}
	return id
}

// shortText reads a text that the store can keep.
func shortText(n source.Node) string {
	text := n.Text()
	if len(text) > replay.MaxName {
		n.Report("shorten it", "the text has %d bytes, of which %d can be kept", len(text), replay.MaxName)
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
	case n.Kind == source.List || n.Kind == source.Map: // which was said
	case len(name) > maxPromptPath:
		n.Report("shorten it", "the path has %d bytes, of which %d can be kept", len(name), maxPromptPath)
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
		return nil // which was said
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
