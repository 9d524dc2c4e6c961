package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// TestCommandReference holds docs/reference/commands.md to the commands: UPDATE_GOLDEN=1 writes it.
func TestCommandReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\nWritten from the program's own help; do not edit.\n\n" +
		"Exit codes of all commands: 0 passed or done, 1 tests, a threshold or a gate failed, " +
		"2 wrong usage or invalid input, 3 something could not be run or\n" +
		"graded, 130 interrupted. Where a command has others, its section says so. `replay run` has the codes of its " +
		"[gate](../replay.md).\n")
	root := newRoot(&Env{LookupEnv: func(string) (string, bool) { return "", false }})
	b.WriteString("\nEvery command takes\n")
	describeFlags(&b, root.PersistentFlags())
	describe(&b, root)
	golden.Compare(t, "../../../docs/reference/commands.md", b.String())
}

// describe writes the section of a command and of those below it.
func describe(b *strings.Builder, c *cobra.Command) {
	if c.Hidden {
		return
	}
	if c.HasParent() {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n\n    %s\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."), c.UseLine())
		if long := strings.TrimSpace(c.Long); long != "" {
			fmt.Fprintf(b, "\n```text\n%s\n```\n", long)
		}
		if c.Example != "" {
			fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimRight(c.Example, "\n "))
		}
		describeFlags(b, c.LocalFlags())
	}
	for _, below := range c.Commands() {
		describe(b, below)
	}
}

func describeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if first {
			b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
			first = false
		}
		kind, meaning := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		standard := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
			standard = "`" + cell.Replace(f.DefValue) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", cell.Replace(name), standard, cell.Replace(meaning))
	})
}
