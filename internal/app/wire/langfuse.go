package wire

import (
	"errors"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/experiment"
)

// Langfuse returns the client of the Langfuse that the environment names. The error says in one line which variables
// are missing.
func (s *Setup) Langfuse() (*langfuse.Client, error) {
	if langfuse.Disabled(s.Getenv) {
		return nil, errors.New(langfuse.EnabledEnv + " switches Langfuse off: set it to true, or use files")
	}
	c, err := langfuse.FromEnv(s.Getenv)
	if err != nil {
		return nil, err
	}
	c.Transport = s.outside
	return langfuse.New(c)
}

// Where an evaluation of a dataset is logged: the values of --log.
const (
	LogAuto     = "auto"     // where the items came from
	LogLangfuse = "langfuse" // in any case
	LogNone     = "none"
)

// LogModes returns the values of --log.
func LogModes() []string { return []string{LogAuto, LogLangfuse, LogNone} }

// Experiment returns the log of an evaluation in Langfuse, nil where it is not logged. The mode is one of LogModes,
// remote says that the items are from Langfuse. say is told what became of the log, in sentences without secrets and
// without anything that steers a terminal.
func (s *Setup) Experiment(mode string, remote bool, say func(sentence string)) (*experiment.Config, error) {
	off := langfuse.Disabled(s.Getenv)
	switch {
	case mode == LogNone || mode == LogAuto && (off || !remote):
		return nil, nil
	case off:
		return nil, source.Invalid("--log langfuse, but %s is false: set it to true, or leave out --log",
			langfuse.EnabledEnv)
	}
	client, err := s.Langfuse()
	if err != nil {
		return nil, source.Invalid("--log langfuse: %w", err)
	}
	tell := func(sentence string) { say(s.secrets.Text(text.NoCommand(text.Visible(sentence)))) }
	return &experiment.Config{Client: client, Secrets: s.secrets, OnWarning: tell, Pace: experiment.UsualPace()}, nil
}
