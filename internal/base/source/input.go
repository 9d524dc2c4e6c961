package source

import (
	"errors"
	"fmt"
)

// InputError is a mistake of whoever asked for something: a wrong name, an unusable file, flags that exclude each
// other. Trying again leads to it again. Errors of other types say that something could not be done.
type InputError struct{ Err error }

// Error returns the mistake in words.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// Invalid returns an InputError with that text, which may wrap a cause as fmt.Errorf does.
func Invalid(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }

// AsInvalid makes a mistake of whoever asked of an error. It returns nil for nil.
func AsInvalid(err error) error {
	if err == nil || IsInvalid(err) {
		return err
	}
	return &InputError{err}
}

// IsInvalid reports whether an error is a mistake of whoever asked: an InputError or Problems of a file.
func IsInvalid(err error) bool {
	if _, ok := errors.AsType[*InputError](err); ok {
		return true
	}
	_, ok := errors.AsType[Problems](err)
	return ok
}
