package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/shell"
)

// envFileFlag names files of variables. Every command has it.
const envFileFlag = "env-file"

// registerEnvFile adds the flag, so that commands accept it and their help says so. What it names was read before
// (withEnvFiles).
func registerEnvFile(flags *pflag.FlagSet) {
	flags.StringArray(envFileFlag, nil,
		"file of variables such as .env, a NAME=VALUE each line; those of the environment go before them")
}

// withEnvFiles returns an environment that has the variables of the files that a command line names, where e has none.
// They are read before anything else, as the first thing that is written must already be without their secrets.
func (e *Env) withEnvFiles(args []string) (*Env, error) {
	names := envFiles(args)
	if len(names) == 0 || completing(args) {
		return e, nil
	}
	own := *e
	own.envFiles, own.Environ = names, slices.Clone(e.Environ)
	values := map[string]string{}
	for _, name := range names {
		variables, err := wire.ReadEnvFile(name)
		if err != nil {
			return e, usage("--%s: %w", envFileFlag, err)
		}
		for _, variable := range variables {
			name, value, _ := strings.Cut(variable, "=")
			if _, set := e.LookupEnv(name); set {
				continue
			}
			own.Environ = append(slices.DeleteFunc(own.Environ, func(known string) bool {
				return strings.HasPrefix(known, name+"=")
			}), variable)
			values[name] = value
		}
	}
	own.LookupEnv = func(name string) (string, bool) {
		if value, set := e.LookupEnv(name); set {
			return value, true
		}
		value, set := values[name]
		return value, set
	}
	return &own, nil
}

// envFiles returns what a command line says behind the flag. Arguments behind -- are none of its flags.
func envFiles(args []string) (names []string) {
	for i, arg := range args {
		switch value, given := strings.CutPrefix(arg, "--"+envFileFlag+"="); {
		case arg == "--":
			return names
		case given:
			names = append(names, value)
		case arg == "--"+envFileFlag && i+1 < len(args):
			names = append(names, args[i+1])
		}
	}
	return names
}

// again returns the flags that name the files of variables once more, for a command that goes on with this one.
func (e *Env) again() string {
	var said strings.Builder
	for _, name := range e.envFiles {
		said.WriteString(" --" + envFileFlag + " " + shell.Quote(name))
	}
	return said.String()
}
