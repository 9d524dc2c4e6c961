// Package prompt writes what the nodes of a site's chatbot ask their models. Answers are written from three levels: a
// template that all agents share, the template of one agent inside it, and the site's own instructions inside
// that. Every level comes from a Source and has a built-in default. Templates hold variables and no logic; the values
// of variables are data and are never expanded again.
package prompt

import (
	"context"
	"errors"
	"fmt"
)

// Source gives prompts by name, such as response-agents/answer/template. The version tells two texts of one name apart.
// Implementations are safe for concurrent use.
type Source interface {
	Prompt(ctx context.Context, name string) (text, version string, err error)
}

var (
	// ErrUnknown is wrapped by the errors of sources that have no prompt of a name.
	ErrUnknown = errors.New("there is no such prompt")
	// ErrUnavailable is wrapped by the errors of sources that cannot be reached just now.
	ErrUnavailable = errors.New("the source of prompts cannot be reached")
)

// Fallback returns a source that asks first, and then the other one for what first does not have or cannot give just
// now. A prompt that first has but that is faulty is an error: to go on with another one would hide the mistake.
func Fallback(first, then Source) Source { return fallback{first, then} }

type fallback struct{ first, then Source }

func (f fallback) Prompt(ctx context.Context, name string) (text, version string, err error) {
	text, version, err = f.first.Prompt(ctx, name)
	if errors.Is(err, ErrUnknown) || errors.Is(err, ErrUnavailable) {
		return f.then.Prompt(ctx, name)
	}
	return text, version, err
}

// unknown is the error of a source that has no prompt of a name.
func unknown(name, where string) error { return &unknownError{name, where} }

// unknownError makes its text only when it is read: most sites leave most names open, and the error is only tested.
type unknownError struct{ name, where string }

func (e *unknownError) Error() string {
	return fmt.Sprintf("%v: %q in %s", ErrUnknown, e.name, e.where)
}

func (e *unknownError) Unwrap() error { return ErrUnknown }
