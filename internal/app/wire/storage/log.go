package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Log is a log of an application's own database, as a copy that ends with it. Close it.
type Log struct {
	*store.Events
	faults replay.Faults
	file   *store.Store
	dir    string
}

// OpenLog copies the rows that a query finds in the database of an address into a folder of its own below dir. Nothing
// is written to the database. Rows are read as files are imported, by their columns. results is the address of the
// store of the results, which must be elsewhere.
func OpenLog(ctx context.Context, address string, q store.LogQuery, o importer.Options, results, dir string,
) (log *Log, err error) {
	if !IsPostgres(address) {
		return nil, source.Invalid("--log %q is not a PostgreSQL database: write postgres://USER@HOST/DATABASE, "+
			"or load files with `rehearse replay import`", text.Address(address))
	}
	if IsPostgres(results) {
		same, err := store.SamePostgres(ctx, address, results)
		if err != nil {
			return nil, err
		}
		if same {
			return nil, source.Invalid("--store is the database of --log, which is only read: " +
				"name another place for the results, such as --store sqlite:results.db")
		}
	}
	from, err := store.OpenPostgresLog(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close(context.WithoutCancel(ctx))) }()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, source.Invalid("cannot make a folder for the log: %w", err)
	}
	log = &Log{}
	if log.dir, err = os.MkdirTemp(dir, "log-*"); err != nil {
		return nil, fmt.Errorf("make a folder for the log: %w", err)
	}
	if log.file, err = store.Open(ctx, filepath.Join(log.dir, "log.db")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(log.dir))
	}
	log.Events = log.file.Events()
	if err := log.load(ctx, from, q, o); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// load copies the rows. Those that are no events are counted among the faults of the log.
func (l *Log) load(ctx context.Context, from *store.PostgresLog, q store.LogQuery, o importer.Options) error {
	var reading sync.WaitGroup
	rows := importer.Input{Name: "--log", Open: func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		reading.Go(func() {
			for row, err := range from.Rows(ctx, q) {
				if err == nil {
					_, err = w.Write(append(slices.Clip(row), '\n'))
				}
				if err != nil {
					_ = w.CloseWithError(err)
					return
				}
			}
			_ = w.Close()
		})
		return r, nil
	}}
	o.Rejected = func(_ string, r replay.Reject) { l.faults.Reject(r) }
	report, err := importer.Import(ctx, []importer.Input{rows}, l.Events, o)
	reading.Wait()
	l.faults.Conflict(report.Conflicting, report.Conflicts)
	if err == nil && len(report.Useless) > 0 {
		return source.Invalid("no row of --log is an event or a message (%s): select event_id, event_type, context, "+
			"payload and timestamp, or session_id, timestamp, sender and text, with --query FILE", report.Rejects())
	}
	return err
}

// Unusable returns the rows that are no events, whatever the filter.
func (l *Log) Unusable(context.Context, replay.Filter) ([]replay.RowFault, error) {
	return l.faults.List(), nil
}

// Close removes the copy. A nil log has none.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.file.Close(), os.RemoveAll(l.dir))
}
