package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxEnvFile bounds a file of variables.
const maxEnvFile = 1 << 20

var (
	envName = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
	escapes = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, `$`)
)

// ReadEnvFile reads a file of variables such as .env, a NAME=VALUE each line, in the form of os.Environ. `export ` may
// stand before a name; a value may stand in single quotes, in which every character is itself, or in double quotes, in
// which \n, \r, \t, \", \\ and \$ are escapes. Lines that begin with # are comments, and so is what stands behind a
// blank and # after a value. Nothing is put in place of $NAME. An error never shows a value.
func ReadEnvFile(files source.Files, path string) ([]string, error) {
	info, err := files.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", path)
	case info.Size() > maxEnvFile:
		return nil, fmt.Errorf("%s has more than %d MB", path, maxEnvFile>>20)
	}
	data, err := files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var variables []string
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, given := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		name = strings.TrimSpace(name)
		if !given || !envName().MatchString(name) {
			return nil, fmt.Errorf("%s:%d: the line is no NAME=VALUE", path, number)
		}
		value, ok := envValue(strings.TrimSpace(value))
		if !ok {
			return nil, fmt.Errorf("%s:%d: the quote of %s is not closed on its line, or something stands behind it",
				path, number, name)
		}
		variables = append(variables, name+"="+value)
	}
	return variables, nil
}

// envValue returns what a value says, without its quotes and comment.
func envValue(said string) (value string, ok bool) {
	if said == "" || said[0] != '"' && said[0] != '\'' {
		for i := range len(said) {
			if said[i] == '#' && (i == 0 || said[i-1] == ' ' || said[i-1] == '\t') {
				return strings.TrimSpace(said[:i]), true
			}
		}
		return said, true
	}
	quote, end := said[0], 1
	for end < len(said) && said[end] != quote {
		if quote == '"' && said[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(said) {
		return "", false
	}
	if rest := strings.TrimSpace(said[end+1:]); rest != "" && rest[0] != '#' {
		return "", false
	}
	value = said[1:end]
	if quote == '"' {
		value = escapes.Replace(value)
	}
	return value, true
}

// readVariables reads the file of variables that a configuration names, and returns an environment that has them behind
// that of the process.
func (f *File) readVariables(files source.Files, n source.Node, env Environment) Environment {
	if !n.Has("env_file") {
		return env
	}
	named := n.Field("env_file")
	name := named.Text()
	if named.Kind != source.String {
		return env
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.Dir, filepath.FromSlash(name))
	}
	variables, err := ReadEnvFile(files, name)
	if err != nil {
		named.Report("write the path of a file with a NAME=VALUE on each line, from the folder of this one", "%v", err)
		return env
	}
	f.Variables = variables
	return WithDefaults(env, variables)
}

// WithDefaults returns an environment that has variables, in the form of os.Environ, where another one has none.
func WithDefaults(env Environment, variables []string) Environment {
	values := map[string]string{}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	return func(name string) (string, bool) {
		if value, set := env(name); set {
			return value, true
		}
		value, set := values[name]
		return value, set
	}
}
