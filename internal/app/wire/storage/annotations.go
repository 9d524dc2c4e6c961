package storage

import (
	"context"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Quarantines returns the quarantines that the store of an address has, by suite and test. A store that there is not
// yet has none, and is not made.
func Quarantines(ctx context.Context, address string) (map[result.Key]quarantine.Terms, error) {
	h, err := FindHistory(ctx, address)
	if source.IsInvalid(err) { // there is none yet
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	terms, err := h.Annotations.Quarantines(ctx)
	return terms, errors.Join(err, h.Close())
}

// Annotations returns what people said of a run: in its folder, and in the store of an address where there is one. The
// warning says what of its folder cannot be read; it is empty where all can.
func Annotations(ctx context.Context, address, dir, run string) (b *annotation.Book, warning string, err error) {
	inFolder, unreadable, err := annotation.Read(dir)
	if err != nil {
		return nil, "", err
	}
	if unreadable > 0 {
		warning = text.Plural(unreadable, "line") + " of " + annotation.File + " cannot be read and count nowhere"
	}
	h, err := FindHistory(ctx, address)
	if source.IsInvalid(err) { // there is none yet
		return annotation.BookOf(inFolder), warning, nil
	}
	if err != nil {
		return nil, "", err
	}
	inStore, err := h.Annotations.Of(ctx, run)
	return annotation.BookOf(inFolder, inStore), warning, errors.Join(err, h.Close())
}
