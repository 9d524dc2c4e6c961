package pages

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// stateOf says how far a run is: queued, running, finished or interrupted, and of an interrupted one why.
func stateOf(run result.Run) (state, reason string) {
	switch run.ExitReason {
	case result.ReasonRunning:
		return "running", ""
	case result.ReasonPassed, result.ReasonFailed, result.ReasonErrors:
		return "finished", ""
	case "":
		return "queued", ""
	}
	return "interrupted", run.ExitReason
}

// verdictOf is the verdict of a run by its exit code; empty where the code is none of a verdict.
func verdictOf(run result.Run) result.Verdict {
	if run.ExitCode == nil {
		return ""
	}
	switch *run.ExitCode {
	case result.ExitPassed:
		return result.Pass
	case result.ExitFailed:
		return result.Fail
	case result.ExitNotRun:
		return result.Error
	}
	return ""
}

// isRunning is the command that continues a run that was interrupted.
func isRunning(run result.Run, dir string) string {
	if command := run.Continued(); command != nil {
		words := []string{"rehearse"}
		for _, word := range command {
			words = append(words, quoted(word))
		}
		return strings.Join(words, " ")
	}
	if here, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(below) {
			dir = below
		}
	}
	return "rehearse run --resume " + quoted(dir)
}

// quoted returns a text as one word of a shell.
func quoted(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=", r)
	}) < 0
	if s != "" && plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
