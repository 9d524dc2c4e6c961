package main

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
)

// release is the version. Nothing assigns it but the linker, when `make release` builds the archives.
var release = "0.1.0"

func version() string {
	var v strings.Builder
	v.WriteString(release)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				v.WriteString("+" + s.Value[:12])
			}
		}
	}
	return v.String()
}

func newVersion(env *Env) *cobra.Command {
	format := "text"
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version with the commit that the program was built from, its date, and what it was built with and for. Without the stamp that Go writes
into a program that is built in a checkout, the commit is unknown.`,
		Example: "  rehearse version\n  rehearse version --format json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			info, _ := debug.ReadBuildInfo()
			b := wire.BuildOf(release, info)
			if format == "json" {
				return json.NewEncoder(env.Stdout).Encode(b)
			}
			_, err := fmt.Fprintln(env.Stdout, b)
			return err
		},
	}
	c.Flags().StringVar(&format, "format", format, "text or json")
	return c
}
