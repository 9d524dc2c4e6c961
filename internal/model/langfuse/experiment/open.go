package experiment

import (
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// Where an evaluation of a dataset is logged: the values of --log.
const (
	LogAuto     = "auto"     // where the items came from
	LogLangfuse = "langfuse" // in any case
	LogNone     = "none"
)

// LogModes returns the values of --log.
func LogModes() []string { return []string{LogAuto, LogLangfuse, LogNone} }

// Open returns the log of an evaluation in Langfuse, nil where it is not logged. The mode is one of LogModes, remote
// reports that the items are from Langfuse, and connect returns a client. warn gets what became of the log, in
// sentences without secrets and without anything that steers a terminal.
func Open(mode string, remote bool, getenv func(string) string, connect func() (*langfuse.Client, error),
	secrets *redact.Redactor, warn func(sentence string)) (*Config, error) {
	off := langfuse.Disabled(getenv)
	switch {
	case mode == LogNone || mode == LogAuto && (off || !remote):
		return nil, nil
	case off:
		return nil, source.Invalid("--log langfuse, but %s is false: set it to true, or leave out --log",
			langfuse.EnabledEnv)
	}
	client, err := connect()
	if err != nil {
		return nil, source.Invalid("--log langfuse: %w", err)
	}
	return &Config{
		Client: client, Secrets: secrets, Pace: UsualPace(),
		OnWarning: func(sentence string) { warn(secrets.Text(text.NoCommand(text.Visible(sentence)))) },
	}, nil
}
