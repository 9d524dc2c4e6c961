package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
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
			b := buildOf(release, info)
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

// build is what a program was built from, with and for.
type build struct {
	Version string `json:"version"`
	// Commit is what the checkout was at, "unknown" without a stamp; Dirty is true when it had changes.
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty"`
	// Date is when the commit was made, empty without a stamp.
	Date string `json:"date"`
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// commitDigits is how much of a commit is shown.
const commitDigits = 12

// buildOf reads the stamp of a program of a version; info is nil where there is none.
func buildOf(version string, info *debug.BuildInfo) build {
	b := build{Version: version, Commit: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			if len(s.Value) >= commitDigits {
				b.Commit = s.Value[:commitDigits]
			}
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		case "vcs.time":
			b.Date = s.Value
		}
	}
	return b
}

// String returns it on one line.
func (b build) String() string {
	commit, date := b.Commit, b.Date
	if b.Dirty {
		commit += "+dirty"
	}
	if date == "" {
		date = "date unknown"
	}
	return fmt.Sprintf("rehearse %s (commit %s, %s, %s, %s/%s)", b.Version, commit, date, b.Go, b.OS, b.Arch)
}
