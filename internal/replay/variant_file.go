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
	if err := r.problems.InOrder().Err(); err != nil {
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
		keys := struct {
			Variants []source.Node `key:"variants"`
			Prompts  []source.Node `key:"prompt_versions"`
		}{}
		source.Decode(n, &keys)
		for _, item := range keys.Variants {
			r.variant(item)
		}
		for _, item := range keys.Prompts {
			r.prompt(item)
		}
		if len(reader.Problems) == 0 && len(keys.Variants)+len(keys.Prompts) == 0 {
			n.Report("write variants: or prompt_versions: with a list", "there are no variants in the file")
		}
	}
	r.problems = append(r.problems, reader.Problems...)
}

// variant reads a variant, and checks that its configuration is one that can be replayed.
func (r *variantReader) variant(n source.Node) {
	var v Variant
	keys := struct {
		*Variant
		Config struct {
			Strategy string `key:"execution_strategy" required:"execution_strategy is missing" doc:"prompt_template"`
			Prompt   struct {
				ID string `key:"prompt_version_id" required:"prompt_version_id is missing" notblank:"true" doc:"an id"`
			} `key:"prompt_config" required:"prompt_config is missing" doc:"with prompt_version_id"`
			Flow struct {
				target.TurnKeys
				ID string `key:"flow_id" required:"flow_id is missing" notblank:"true" doc:"an id"`
			} `key:"flow_config" required:"flow_config is missing" doc:"with flow_id"`
			Params map[string]source.Node `key:"params"`
		} `key:"config" required:"config is missing"`
	}{Variant: &v}
	source.Decode(n, &keys)
	config := n.Field("config")
	if config.Has("execution_strategy") && keys.Config.Strategy != PromptTemplate {
		config.Field("execution_strategy").Report("write execution_strategy: "+PromptTemplate,
			"Variant must use %s execution strategy, not %q", PromptTemplate, keys.Config.Strategy)
	}
	checkLengths(n, "id", "experiment_id", "name")
	checkLengths(config.Field("prompt_config"), "prompt_version_id")
	checkLengths(config.Field("flow_config"), "flow_id")
	r.unique("variant", n.Field("id"))
	v.Config = objectOf(config)
	r.Variants = append(r.Variants, v)
}

// prompt reads a version of a prompt.
func (r *variantReader) prompt(n source.Node) {
	var p PromptVersion
	keys := struct {
		*PromptVersion
		ConfigDefaults map[string]source.Node `key:"config_defaults"`
	}{PromptVersion: &p}
	source.Decode(n, &keys)
	checkLengths(n, "id", "model_provider", "model_name")
	r.unique("prompt version", n.Field("id"))
	checkPromptPath(n.Field("file_path"))
	p.ConfigDefaults = objectOf(n.Field("config_defaults"))
	r.Prompts = append(r.Prompts, p)
}

// unique reports an id that stands in another place, too.
func (r *variantReader) unique(what string, n source.Node) {
	if strings.TrimSpace(n.Scalar) == "" {
		return // it has been reported
	}
	key := [2]string{what, n.Scalar}
	if first, twice := r.places[key]; twice {
		n.Report("keep one, or give it another id", "%s %q is in %s already", what, n.Scalar, first)
	}
	r.places[key] = n.File()
	if n.Line > 0 {
		r.places[key] = fmt.Sprintf("%s:%d", n.File(), n.Line)
	}
}

// checkLengths reports texts that are longer than the store allows.
func checkLengths(n source.Node, names ...string) {
	for _, name := range names {
		if text := n.Field(name); len(text.Scalar) > MaxName {
			text.Report("shorten it", "the text has %d bytes, and %d is the limit", len(text.Scalar), MaxName)
		}
	}
}

// checkPromptPath checks the path of a file below the folder of prompts.
func checkPromptPath(n source.Node) {
	name := n.Scalar
	const hint = "write a path below the folder of prompts, such as booking/short.md"
	switch {
	case n.Kind == source.Null || n.Kind == source.List || n.Kind == source.Map: // it has been reported
	case len(name) > maxPromptPath:
		n.Report("shorten it", "the path has %d bytes, and %d is the limit", len(name), maxPromptPath)
	case path.IsAbs(name) || filepath.IsAbs(name) || strings.Contains(name, `\`) || strings.Contains(name, "\x00"):
		n.Report(hint, "%.100q is not a path below the folder of prompts", name)
	case !filepath.IsLocal(name):
		n.Report(hint, "%.100q leads out of the folder of prompts", name)
	case path.Clean(name) == "." || strings.HasSuffix(name, "/"):
		n.Report(hint, "%.100q is no file", name)
	}
}

// objectOf returns a mapping as JSON.
func objectOf(n source.Node) json.RawMessage {
	if n.Kind != source.Map {
		return nil // it has been reported
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
