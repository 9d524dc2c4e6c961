package detect

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// File is a file to be written, by its path in a folder.
type File struct {
	Path string
	Data []byte
}

// schemaOf returns the line with which editors find the schema of a file.
func schemaOf(kind string) string {
	return "# yaml-language-server: $schema=.rehearse/schema/" + kind + ".schema.json\n"
}

// ignored keeps runs and the store out of git, and the schemas in.
const ignored = "*\n!.gitignore\n!schema/\n!schema/**\n"

// WithSchemas returns the files that init writes: configuration and suite with the line for editors, the schemas, and
// what git is to leave out.
func WithSchemas(files []File) []File {
	var all []File
	for _, f := range files {
		switch f.Path {
		case "suite.yaml":
			f.Data = append([]byte(schemaOf("suite")), f.Data...)
		case "rehearse.yaml":
			f.Data = append([]byte(schemaOf("config")), f.Data...)
		}
		all = append(all, f)
	}
	return append(all, Schemas()...)
}

// Schemas returns the schemas where WithSchemas has editors find them, and what git is to leave out.
func Schemas() []File {
	return []File{
		{".rehearse/schema/suite.schema.json", suite.Schema()},
		{".rehearse/schema/config.schema.json", target.ConfigSchema()},
		{".rehearse/.gitignore", []byte(ignored)},
	}
}

// Free returns an error that names the first file of a folder that exists already.
func Free(folder string, names ...string) error {
	for _, name := range names {
		path := filepath.Join(folder, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return source.Invalid("%s exists already: choose another folder, or add --force to replace it", path)
		}
	}
	return nil
}

// Write writes files into a folder, which it makes, and returns their paths.
func Write(folder string, files []File) ([]string, error) {
	var written []string
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return written, source.Invalid("cannot write: %w", err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return written, source.Invalid("cannot write: %w", err)
		}
		written = append(written, path)
	}
	return written, nil
}

// Files returns the configuration and the suite of what was found. The error is a credential that cannot be kept out of
// them.
func (f *Found) Files(message string) ([]File, error) {
	mapping := func(fields ...source.Field) source.Value { return source.Value{Kind: source.Map, Fields: fields} }
	configuration := mapping(field("target", "agent"), source.Field{
		Name: "targets", Value: mapping(source.Field{Name: "agent", Value: f.Target}),
	}).YAML()
	var head strings.Builder
	head.WriteString("# Written by rehearse init --agent: how the agent is asked, and where its reply is.\n")
	for _, v := range f.Variables {
		head.WriteString("# " + v.Name + " is the credential of " + v.Of + ", from the environment.\n")
	}
	said := source.FromAny([]any{map[string]any{"type": "regex", "value": `\S`}})
	turn := func(input string) source.Value {
		return mapping(field("input", input), source.Field{Name: "assertions", Value: said})
	}
	if message == "" {
		message = Question
	}
	talk := mapping(field("id", "two-turns"), field("mode", "conversation"), source.Field{
		Name: "turns", Value: source.Value{
			Kind: source.List, Items: []source.Value{turn(message), turn("Can you tell me more?")},
		},
	})
	tests := mapping(field("name", "agent"), source.Field{
		Name: "tests", Value: source.Value{Kind: source.List, Items: []source.Value{talk}},
	}).YAML()
	files := WithSchemas([]File{
		{"rehearse.yaml", append([]byte(head.String()), configuration...)},
		{"suite.yaml", append([]byte(
			"# Each reply must not be empty. Replace the messages by your own, and say what the replies must hold.\n"),
			tests...)},
	})
	for _, secret := range f.secrets {
		if bytes.Contains(files[0].Data, []byte(secret)) {
			return nil, source.Invalid("a credential of what was pasted stands where no variable can take its place: " +
				"write rehearse.yaml by hand, with ${{ NAME }} for it")
		}
	}
	return files, nil
}
