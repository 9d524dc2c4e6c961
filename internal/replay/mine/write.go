package mine

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Write writes a flow as YAML. The comment at the top names the command that learned it.
func (f *Flow) Write(w io.Writer, command string) error {
	text := f.heading(command) + string(f.document().YAML())
	if len(text) > maxFile {
		return fmt.Errorf("the flow would be %d MB, more than the %d that a file of flows may have: "+
			"keep fewer examples, or ask for a larger count", len(text)>>20, maxFile>>20)
	}
	_, err := io.WriteString(w, text)
	return err
}

// maxFile is the greatest size of a file of flows that can be loaded.
const maxFile = 16 << 20

// heading returns the comment at the top: where the flow comes from.
func (f *Flow) heading(command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Learned from %s with %s of users, begun from %s to %s:\n#   %s\n",
		text.Plural(f.Learned.Sessions, "session"), text.Plural(f.Learned.Messages, "message"),
		f.Learned.First.UTC().Format(time.DateOnly), f.Learned.Last.UTC().Format(time.DateOnly),
		tidy(command, maxPromptLength))
	b.WriteString("# count is how often a state was entered or a transition was made.")
	for _, n := range f.Nodes {
		if n.State != n.ID {
			b.WriteString(" state is the logged name of a state where it is no name for a node.")
			break
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// document returns the file as it is written.
func (f *Flow) document() source.Value {
	nodes := []source.Value{mapping(
		entry("id", source.Text(f.Start)), entry("type", source.Text("start")),
		entry("metadata", mapping(entry("count", integer(f.Learned.Sessions)))), entry("next", listOf(f.First)))}
	for _, n := range f.Nodes {
		kind, metadata := "conversation", mapping(entry("count", integer(n.Count)))
		if n.Stop {
			kind = "stop"
		}
		if n.State != n.ID {
			metadata.Fields = append(metadata.Fields, entry("state", source.Text(n.State)))
		}
		options := source.Value{Kind: source.List}
		for _, o := range n.Options {
			next := source.Value{}
			if o.Next != "" {
				next = source.Text(o.Next)
			}
			options.Items = append(options.Items, mapping(
				entry("id", source.Text(o.ID)), entry("label", source.Text(o.Label)), entry("next", next),
				entry("metadata", mapping(entry("count", integer(o.Count)))), entry("examples", listOf(o.Examples))))
		}
		nodes = append(nodes, mapping(
			entry("id", source.Text(n.ID)), entry("type", source.Text(kind)), entry("metadata", metadata),
			entry("prompt", source.Text(n.Prompt)), entry("options", options)))
	}
	return mapping(
		entry("id", source.Text(f.ID)), entry("version", integer(1)), entry("start", source.Text(f.Start)),
		entry("nodes", source.Value{Kind: source.List, Items: nodes}))
}

func entry(name string, v source.Value) source.Field { return source.Field{Name: name, Value: v} }

// mapping returns a mapping without its empty texts and lists. An entry that is Null stays.
func mapping(fields ...source.Field) source.Value {
	return source.Value{Kind: source.Map, Fields: slices.DeleteFunc(fields, func(f source.Field) bool {
		return f.Value.Kind == source.String && f.Value.Scalar == "" ||
			f.Value.Kind == source.List && len(f.Value.Items) == 0
	})}
}

func integer(n int) source.Value { return source.FromAny(n) }

func listOf(all []string) source.Value {
	v := source.Value{Kind: source.List}
	for _, text := range all {
		v.Items = append(v.Items, source.Text(text))
	}
	return v
}
