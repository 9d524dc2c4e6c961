package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// TestReplayKeys holds that the keys of `replay` in a RunSpec are the flags of replay run, but for those that say where
// a run of this machine has its store, its files and its output, and how a run of any kind is held.
func TestReplayKeys(t *testing.T) {
	own := []string{
		"store", "config", "workers", "out", "format", "per_session", "quiet", "ci", "evaluation_run_id", "help",
		"server", "token_env", "detach", "log", "query",
	}
	var flags, keys []string
	newReplayRun(&Env{}).Flags().VisitAll(func(f *pflag.Flag) {
		if name := strings.ReplaceAll(f.Name, "-", "_"); !slices.Contains(own, name) {
			flags = append(flags, name)
		}
	})
	for f := range reflect.TypeFor[runspec.Replay]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "look" { // which servers alone set
			keys = append(keys, name)
		}
	}
	slices.Sort(flags)
	slices.Sort(keys)
	if !slices.Equal(flags, keys) {
		t.Errorf("the flags are %v, the keys %v", flags, keys)
	}
}
