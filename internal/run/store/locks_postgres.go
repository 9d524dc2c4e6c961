package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresLocks are rows that expire by the clock of the database.
type postgresLocks struct{ db *Postgres }

const (
	takeLockQuery = `
		INSERT INTO exp.session_locks AS held (name, token, until) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 microsecond')
		ON CONFLICT (name) DO UPDATE SET token = excluded.token, until = excluded.until
			WHERE held.until <= clock_timestamp() OR held.token = excluded.token
		RETURNING true`
	renewLockQuery = `UPDATE exp.session_locks SET until = clock_timestamp() + $3 * interval '1 microsecond' WHERE name = $1 AND token = $2`
	freeLockQuery  = `DELETE FROM exp.session_locks WHERE name = $1 AND token = $2`
)

func (l postgresLocks) takeLock(ctx context.Context, name, token string, ttl time.Duration) (taken bool, err error) {
	err = l.db.pool.QueryRow(ctx, takeLockQuery, []byte(name), token, max(ttl.Microseconds(), 1)).Scan(&taken)
	if errors.Is(err, pgx.ErrNoRows) { // somebody else has it
		return false, nil
	}
	return taken, l.db.explain(ctx, "lock "+name+" in", err)
}

func (l postgresLocks) renewLock(ctx context.Context, name, token string, ttl time.Duration) error {
	_, err := l.db.pool.Exec(ctx, renewLockQuery, []byte(name), token, max(ttl.Microseconds(), 1))
	return err
}

func (l postgresLocks) freeLock(ctx context.Context, name, token string) error {
	_, err := l.db.pool.Exec(ctx, freeLockQuery, []byte(name), token)
	return err
}
