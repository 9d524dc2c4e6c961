// Package commandline writes down what was typed, so that a command can be given again: by a person, and by --resume.
package commandline

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
)

// Of returns the words that give a command again: its name, the flags that were given but for those of leaveOut, "--"
// and its arguments.
func Of(command string, given *pflag.FlagSet, args []string, leaveOut ...string) []string {
	line := []string{command}
	given.Visit(func(flag *pflag.Flag) {
		if slices.Contains(leaveOut, flag.Name) {
			return
		}
		for _, value := range values(flag) {
			if flag.Value.Type() == "stringSlice" {
				value = inList(value)
			}
			line = append(line, "--"+flag.Name+"="+value)
		}
	})
	return append(append(line, "--"), args...)
}

// values returns the values of a flag, one or those of its list.
func values(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}

// inList quotes one value of a list with commas, as pflag reads it: by RFC 4180.
func inList(value string) string {
	if !strings.ContainsAny(value, "\",\r\n") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}

// Set gives a flag the value that it has in another set, as if it had been typed. What a list held before is dropped.
func Set(flags *pflag.FlagSet, said *pflag.Flag) error {
	if list, ok := said.Value.(pflag.SliceValue); ok {
		to, _ := flags.Lookup(said.Name).Value.(pflag.SliceValue)
		// Set notes that the flag was given, Replace drops what was given before.
		return errors.Join(flags.Set(said.Name, said.Value.String()), to.Replace(list.GetSlice()))
	}
	return flags.Set(said.Name, said.Value.String())
}

// Lost names the flags of a kept command whose values are kept without their secrets, and that were not given anew:
// those of some names, or all.
func Lost(then, given *pflag.FlagSet, only ...string) string {
	var names []string
	then.Visit(func(flag *pflag.Flag) {
		asked := only == nil || slices.Contains(only, flag.Name)
		if asked && !given.Changed(flag.Name) && slices.ContainsFunc(values(flag), Masked) {
			names = append(names, "--"+flag.Name)
		}
	})
	return strings.Join(names, " and ")
}

// Masked reports whether a word is kept without its secret.
func Masked(word string) bool { return redact.FirstMask(word) != "" }
