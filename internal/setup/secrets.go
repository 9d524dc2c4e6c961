package setup

import "rehearse/internal/redact"

// Secrets returns what keeps the secrets of an environment, given as os.Environ gives it, out of texts. A Setup has one of its own.
func Secrets(environ []string) *redact.Redactor { return redact.New(environ) }
