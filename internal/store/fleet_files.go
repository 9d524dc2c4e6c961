package store

import "context"

// ReplayFile is the file of a run that replays sessions which has its report, a replay.Report.
const ReplayFile = "report.json"

const putRunFile = `INSERT INTO exp.fleet_files (run, name, data) VALUES ($1, $2, $3)
	ON CONFLICT (run, name) DO UPDATE SET data = excluded.data`

// PutRunFile keeps a file of a run that has not ended, if the fence holds. It replaces one of the same name. It is deleted with the run.
func (f *Fleet) PutRunFile(ctx context.Context, id string, fence Fence, name string, data []byte) error {
	packed := f.packers.pack(data)
	return f.write(ctx, "write a file of a run to", func(tx fleetTx) error {
		row, err := f.lockRun(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, putRunFile, row.number, plainText(name), packed)
		return err
	})
}

// RunFile returns a file of a run; nil if there is none.
func (f *Fleet) RunFile(ctx context.Context, id, name string) (data []byte, err error) {
	err = f.read(ctx, "read a file of a run from", `SELECT data FROM exp.fleet_files
		WHERE run = (SELECT number FROM exp.fleet_runs WHERE id = $1) AND name = $2`, []any{plainText(id), plainText(name)},
		func(row fleetRow) error {
			var packed []byte
			if err := row.Scan(&packed); err != nil {
				return err
			}
			data, err = unpack(packed)
			return err
		})
	return data, err
}
