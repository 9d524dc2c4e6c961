package store

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ReplayFile is the file of a run that replays sessions which has its report, a replay.Report.
const ReplayFile = "report.json"

// PutRunFile keeps a file of a run that has not ended, if the fence holds. It replaces one of the same name. It is
// deleted with the run.
func (f *Fleet) PutRunFile(ctx context.Context, id string, fence Fence, name string, data []byte) error {
	packed := f.packers.pack(data)
	return f.write(ctx, "write a file of a run to", func(tx transaction) error {
		row, err := f.lockRun(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		return putRunFile(ctx, tx, row.number, plainText(name), packed)
	})
}

func putRunFile(ctx context.Context, tx transaction, run int64, name string, packed []byte) error {
	_, err := tx.exec(ctx, `INSERT INTO exp.fleet_files (run, name, data) VALUES ($1, $2, $3)
		ON CONFLICT (run, name) DO UPDATE SET data = excluded.data`, run, name, packed)
	return err
}

// unheldFile has the totals of a run that waits: what they are if it ends before it has begun.
const unheldFile = "unheld.json"

// unheldTotals returns the totals of a run that has not begun; nil where they are not known.
func unheldTotals(ctx context.Context, tx transaction, run int64) (totals *result.Totals, err error) {
	err = tx.read(ctx, `SELECT data FROM exp.fleet_files WHERE run = $1 AND name = $2`, []any{
		run, unheldFile,
	}, func(row scanner) (err error) {
		totals, err = scanPacked[result.Totals](row)
		return err
	})
	return totals, err
}

// RunFile returns a file of a run; nil if there is none.
func (f *Fleet) RunFile(ctx context.Context, id, name string) (data []byte, err error) {
	err = f.read(ctx, "read a file of a run from", `SELECT data FROM exp.fleet_files
		WHERE run = (SELECT number FROM exp.fleet_runs WHERE id = $1) AND name = $2`,
		[]any{plainText(id), plainText(name)},
		func(row scanner) error {
			var packed []byte
			if err := row.Scan(&packed); err != nil {
				return err
			}
			data, err = unpack(packed)
			return err
		})
	return data, err
}
