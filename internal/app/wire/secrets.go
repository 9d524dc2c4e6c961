package wire

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Redactor keeps secrets out of texts.
type Redactor = redact.Redactor

// Secrets returns what keeps secrets out of texts: those of an environment, given as os.Environ gives it, and those
// that a command line names, by flags that end in -env and in addresses. A Setup lets it learn what configurations and
// suites name.
func Secrets(environ, args []string) *redact.Redactor {
	secrets := newRedactor(environ)
	for i, arg := range args {
		secrets.Address(arg)
		name, value, given := strings.Cut(arg, "=")
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		if strings.HasPrefix(name, "--") && strings.HasSuffix(name, "-env") {
			secrets.Named(value)
		}
	}
	return secrets
}

// Shown returns a text without the passwords and the query values of its own addresses.
func Shown(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return Secrets(nil, []string{text}).Text(text)
}

// newRedactor returns a redactor that leaves records and recordings readable.
func newRedactor(environ []string) *redact.Redactor {
	return redact.New(environ, result.Words(), llm.RecordingWords())
}

// Suites returns the options to load suites with, in an environment. What they name is learned as secret.
func Suites(secrets *redact.Redactor, lookupEnv func(string) (string, bool)) suite.Options {
	return suite.Options{
		Seen: func(v source.Value) { secrets.Read(v) },
		Getenv: func(name string) (string, bool) {
			secrets.Shown(name)
			if lookupEnv == nil {
				return "", false
			}
			return lookupEnv(name)
		},
	}
}
