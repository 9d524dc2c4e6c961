package mine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Write writes a flow as YAML. The comment at the top names the command that learned it.
func (f *Flow) Write(w io.Writer, command string) error {
	body, err := yaml.MarshalWithOptions(f.document(), yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(false))
	if err != nil {
		return fmt.Errorf("write the flow as YAML: %w", err)
	}
	text := f.heading(command) + string(body)
	if len(text) > maxFile {
		return fmt.Errorf("the flow would be %d MB, more than the %d that a file of flows may have: keep fewer examples, or ask for a larger count",
			len(text)>>20, maxFile>>20)
	}
	_, err = io.WriteString(w, text)
	return err
}

// maxFile is the greatest size of a file of flows that can be loaded.
const maxFile = 16 << 20

// heading returns the comment at the top: where the flow comes from.
func (f *Flow) heading(command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Learned from %s with %s of users, begun from %s to %s:\n#   %s\n", text.Plural(f.Learned.Sessions, "session"), text.Plural(f.Learned.Messages, "message"),
		f.Learned.First.UTC().Format(time.DateOnly), f.Learned.Last.UTC().Format(time.DateOnly), tidy(command, maxPromptLength))
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

// The shape of the file. Fields are in the order in which they are written.
type (
	document struct {
		ID      name   `yaml:"id"`
		Version int    `yaml:"version"`
		Start   name   `yaml:"start"`
		Nodes   []node `yaml:"nodes"`
	}
	node struct {
		ID       name     `yaml:"id"`
		Type     string   `yaml:"type"`
		Metadata metadata `yaml:"metadata,flow"`
		Prompt   quoted   `yaml:"prompt,omitempty"`
		Next     []name   `yaml:"next,omitempty,flow"`
		Options  []option `yaml:"options,omitempty"`
	}
	option struct {
		ID       name     `yaml:"id"`
		Label    quoted   `yaml:"label"`
		Next     *name    `yaml:"next"`
		Metadata metadata `yaml:"metadata,flow"`
		Examples []quoted `yaml:"examples,omitempty"`
	}
	metadata struct {
		Count int    `yaml:"count"`
		State quoted `yaml:"state,omitempty"`
	}
)

func (f *Flow) document() document {
	d := document{ID: name(f.ID), Version: 1, Start: name(f.Start)}
	start := node{ID: d.Start, Type: "start", Metadata: metadata{Count: f.Learned.Sessions}}
	for _, id := range f.First {
		start.Next = append(start.Next, name(id))
	}
	d.Nodes = append(d.Nodes, start)
	for _, n := range f.Nodes {
		written := node{ID: name(n.ID), Type: "conversation", Metadata: metadata{Count: n.Count}, Prompt: quoted(n.Prompt)}
		if n.Stop {
			written.Type = "stop"
		}
		if n.State != n.ID {
			written.Metadata.State = quoted(n.State)
		}
		for _, o := range n.Options {
			written.Options = append(written.Options, o.written())
		}
		d.Nodes = append(d.Nodes, written)
	}
	return d
}

func (o *Option) written() option {
	w := option{ID: name(o.ID), Label: quoted(o.Label), Metadata: metadata{Count: o.Count}}
	if o.Next != "" {
		w.Next = new(name(o.Next))
	}
	for _, e := range o.Examples {
		w.Examples = append(w.Examples, quoted(e))
	}
	return w
}

// name is an ID. It is quoted only where a YAML version could misread it.
type name string

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// MarshalYAML writes the name.
func (n name) MarshalYAML() ([]byte, error) {
	switch strings.ToLower(string(n)) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return quoted(n).MarshalYAML()
	}
	if !plainName.MatchString(string(n)) {
		return quoted(n).MarshalYAML()
	}
	return []byte(n), nil
}

// quoted is text from outside. It is always quoted.
type quoted string

// MarshalYAML writes the text as JSON, which is valid YAML.
func (q quoted) MarshalYAML() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(string(q))
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
