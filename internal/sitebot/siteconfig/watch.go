package siteconfig

import (
	"bytes"
	"context"
	"time"

	"rehearse/internal/sitebot/site"
)

// Watch reads a table again and again, at once and then at every interval, until the context ends. It calls changed with the first
// library and with each that differs from the one before. A table that cannot be read, or that has faults, changes nothing: failed is
// told why, once until the reason is another. Both are called by the goroutine of Watch; failed may be nil. The interval is positive.
func Watch(ctx context.Context, table Source, every time.Duration, changed func(*site.Library), failed func(error)) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	w := watcher{table: table, changed: changed, failed: failed}
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

type watcher struct {
	table   Source
	changed func(*site.Library)
	failed  func(error)
	// digest is of the rows of the library that was handed out last, reason the failure that was told since.
	digest []byte
	reason string
}

func (w *watcher) look(ctx context.Context) {
	err := w.refresh(ctx)
	switch {
	case err == nil:
		w.reason = ""
	case ctx.Err() != nil: // the caller has ended it
	case err.Error() != w.reason:
		w.reason = err.Error()
		if w.failed != nil {
			w.failed(err)
		}
	}
}

// refresh compares rows rather than updated_at, which is not set when a row is edited by hand.
func (w *watcher) refresh(ctx context.Context) error {
	rows, err := w.table.read(ctx)
	if err != nil {
		return err
	}
	digest := rows.digest.Sum(nil)
	if bytes.Equal(digest, w.digest) {
		return nil
	}
	library, err := rows.library()
	if err != nil {
		return err
	}
	w.digest = digest
	w.changed(library)
	return nil
}
