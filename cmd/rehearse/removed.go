package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// removed maps commands and flags of earlier versions to their replacements. A command is named by its path below the
// program, "sessions fork"; a flag by its command's path and its name, "serve --session-bytes". A replacement
// completes "use …". Each entry has its line in docs/decisions/removed.md. Keys of YAML files use source.Removed.
var removed = map[string]string{
	"sessions fork":         "`sessions export --as dataset`, and a suite for other ways to go on",
	"leads list --redis":    "--store, where the server has them",
	"leads resend --redis":  "--store, where the server has them",
	"serve --session-bytes": "--session-ttl, and the `limits:` of a site",
}

// addRemoved adds a hidden command for each removed one, which rejects every call and reads no flags.
func addRemoved(root *cobra.Command) {
	for path, replacement := range removed {
		if strings.Contains(path, "--") {
			continue
		}
		parent, name := root, path
		if i := strings.LastIndexByte(path, ' '); i >= 0 {
			parent, _, _ = root.Find(strings.Fields(path[:i]))
			name = path[i+1:]
		}
		parent.AddCommand(&cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return usage("%s removed: use %s", path, replacement) },
		})
	}
}

// removedFlag returns the error for a flag that c no longer has, and nil for other errors.
func removedFlag(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return nil
	}
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	flag := "--" + unknown.GetSpecifiedName()
	replacement, ok := removed[strings.TrimSpace(path+" "+flag)]
	if !ok {
		return nil
	}
	return usage("%s removed: use %s", flag, replacement)
}
