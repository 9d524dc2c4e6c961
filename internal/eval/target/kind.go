package target

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// Kind is a kind of target.
type Kind struct {
	// Name is the kind's in configurations, Doc says what it is in half a sentence, and Short how it is written in one
	// word, if it can be.
	Name, Doc, Short string
	// read reads a target from its mapping, whose key kind it passes over. It reports every fault.
	read func(n source.Node, at config.Location) config.Target
	// short makes a target of "prefix:PATH" or "prefix:PATH#NAME"; nil for a kind without a short form.
	short  func(path, name string) config.Target
	prefix string
	// stands returns the mapping that a text stands for; ok is false for a text that is no short form of the kind. Nil
	// for a kind without one, or whose short form names a file.
	stands func(text string) (mapping map[string]any, ok bool)
}

// Options are the settings of a target, besides its model. Each kind has a type of its own.
type Options interface {
	// open opens the target; m is its own model.
	open(m config.Model, p Parts) (runner.Target, error)
	// asks says what the target may ask, without opening it.
	asks(ctx context.Context, m config.Model, p Parts) (Dependencies, error)
	// complete reports whether the settings and the model alone decide the replies. Otherwise the configuration's
	// models and embedder do, too.
	complete() bool
}

// Dependencies is what a target may ask.
type Dependencies struct {
	Models []config.Model
	// Embeds is true if the configured embedder may be asked as well.
	Embeds bool
	// Server is the address of an agent that is no model, or its command; empty for other targets. It may hold a
	// password. Priced is true when it says what it costs, or how many tokens of a known price.
	Server string
	// Others are addresses at other hosts than that of Server which are asked as well. They may hold passwords, too.
	Others []string
	Priced bool
}

// Open opens the target that a configuration describes.
func Open(t config.Target, p Parts) (runner.Target, error) {
	o, err := optionsOf(t)
	if err != nil {
		return nil, err
	}
	opened, err := o.open(t.Model, p)
	if err != nil || len(t.Tools) == 0 {
		return opened, err
	}
	return &tooled{opened, t.Tools, p}, nil
}

// DependenciesOf returns what a target may ask, without opening it.
func DependenciesOf(ctx context.Context, t config.Target, p Parts) (Dependencies, error) {
	o, err := optionsOf(t)
	if err != nil {
		return Dependencies{}, err
	}
	return o.asks(ctx, t.Model, p)
}

// Complete reports whether a target's settings and its model alone decide its replies.
func Complete(t config.Target) bool {
	o, err := optionsOf(t)
	return err == nil && o.complete()
}

// Placeholders returns the placeholders that stand in what a target sends, sorted. ok is false for a target that takes
// whole conversations.
func Placeholders(t config.Target) (names []string, ok bool) {
	o, ok := t.Options.(interface{ placeholders() []string })
	if !ok {
		return nil, false
	}
	names = o.placeholders()
	slices.Sort(names)
	return slices.Compact(names), true
}

func optionsOf(t config.Target) (Options, error) {
	o, ok := t.Options.(Options)
	if !ok {
		return nil, fmt.Errorf("unknown kind of target %q", t.Kind)
	}
	return o, nil
}

// Table is a list of kinds, the first of which is that of targets that name none.
type Table []Kind

var _ config.Kinds = Table(nil)

// Read reads a target of a configuration: a mapping with a kind, a kind's short form, or else a model in its short
// form.
func (kinds Table) Read(n source.Node, at config.Location) config.Target {
	if n.Kind == source.String {
		if t, ok := kinds.standing(n, at); ok {
			return t
		}
		if t, ok := kinds.resolved(n.Scalar, at.Path); ok {
			return t
		}
		return OfModel(at.Addressed(n))
	}
	completion, n := readCompletion(n)
	mcp, n := lifted(n, "mcp")
	at.MCP = mcp.Has("mcp")
	kind := kinds.kindOf(n)
	if n.Has("preset") && presetKind(n.Field("preset").Scalar) != "http" { // it says the kind and no more
		n = n.With(without(n.Value, "preset"))
	}
	follows, own := readFollows(kind.Name, n, at)
	t := kind.read(own, at)
	t.Completion, t.Follows = completion, follows
	checkFollows(n, t)
	if at.MCP {
		t.Tools = readTools(mcp.Field("mcp"), at)
		checkState(mcp.Field("mcp"), t)
	}
	return t
}

// kindOf returns the kind that a mapping names, or that its preset or its address says.
func (kinds Table) kindOf(n source.Node) Kind {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	named := ""
	switch address := n.Field("url").Scalar; {
	case n.Has("kind"):
		named = n.Field("kind").OneOf(names...)
	case n.Has("recorded"):
		named = "recorded"
	case n.Has("preset"):
		named = presetKind(n.Field("preset").Scalar)
	case strings.HasPrefix(address, "ws://"), strings.HasPrefix(address, "wss://"):
		named = "websocket"
	case n.Has("url"):
		named = "http"
	}
	for _, k := range kinds {
		if k.Name == named {
			return k
		}
	}
	return kinds[0]
}

// Short reads "flow:FILE" or "flow:FILE#ID", a flow with the lexical model, "site:PLACE" or "site:PLACE#NAME", a
// chatbot of a folder or file of sites, and the short form of any other kind. ok is false for any other text. A
// relative path starts at the working folder.
func (kinds Table) Short(short string) (t config.Target, ok bool) {
	reader := &source.Reader{}
	if t, ok := kinds.standing(reader.Node(source.FromAny(short), ""), config.Location{}); ok {
		if err := reader.Problems.Err(); err != nil {
			t.Options = invalid{source.Invalid("target %s: %w", short, err)}
		}
		return t, true
	}
	return kinds.resolved(short, func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Clean(path)
	})
}

// standing reads a text that stands for a mapping of a kind.
func (kinds Table) standing(n source.Node, at config.Location) (t config.Target, ok bool) {
	for _, k := range kinds {
		if k.stands == nil {
			continue
		}
		if mapping, ok := k.stands(n.Scalar); ok {
			whole := source.FromAny(mapping)
			whole.Line, whole.Column = n.Line, n.Column
			for i := range whole.Fields {
				whole.Fields[i].Line, whole.Fields[i].Column = n.Line, n.Column
			}
			return k.read(n.With(whole), at), true
		}
	}
	return config.Target{}, false
}

// invalid are the settings of a target whose short form cannot be read.
type invalid struct{ err error }

func (f invalid) open(config.Model, Parts) (runner.Target, error) { return nil, f.err } //nolint:unparam // a kind has these
func (f invalid) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{}, f.err
}                              //nolint:unparam // as above
func (invalid) complete() bool { return true }

// resolved reads a short form, with its path resolved.
func (kinds Table) resolved(short string, resolve func(path string) string) (t config.Target, ok bool) {
	prefix, path, _ := strings.Cut(short, ":")
	path, name, _ := strings.Cut(path, "#")
	if path == "" {
		return config.Target{}, false
	}
	for _, k := range kinds {
		if k.short != nil && k.prefix == prefix {
			return k.short(resolve(path), name), true
		}
	}
	return config.Target{}, false
}

// LocalName returns the short form of a target or model with its file path resolved against the folder of the file
// from. Names without a file stay unchanged.
func (kinds Table) LocalName(name, from string) string {
	prefix, file, ok := strings.Cut(name, ":")
	local := prefix == "scripted" || prefix == "cassette"
	for _, k := range kinds {
		local = local || k.short != nil && k.prefix == prefix
	}
	if !ok || !local || filepath.IsAbs(file) {
		return name
	}
	return prefix + ":" + filepath.Join(filepath.Dir(from), file)
}

// Kinds lists the kinds of target.
func Kinds() Table {
	return Table{
		modelKind(),
		flowKind(),
		httpKind(),
		executeKind(),
		websocketKind(),
		a2aKind(),
		commandKind(),
		sitebotKind(),
		classifierKind(),
		recordedKind(),
	}
}

// Read reads the mapping of a target that is in no configuration; from is where it comes from. Its paths begin at the
// working folder. The error is a source.Problems.
func Read(from string, mapping source.Value) (config.Target, error) {
	reader := &source.Reader{File: from}
	t := Kinds().Read(reader.Node(mapping, ""), config.Location{})
	return t, reader.Problems.Err()
}
