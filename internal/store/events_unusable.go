package store

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"rehearse/internal/replay"
)

// maxUnusableNamed is how many rows without a session are named.
const maxUnusableNamed = 5

var _ replay.Lossy = (*Events)(nil)

// Unusable counts the rows that Each cannot yield, since they name no session or no time, and names some of them. Only an application's own
// table has such rows: Put keeps none.
func (e *Events) Unusable(ctx context.Context, f replay.Filter) (n int, examples []string, err error) {
	if t, ok := e.table.(postgresEvents); ok {
		return t.unusable(ctx, newEventQuery(f))
	}
	return 0, nil, nil
}

func (t postgresEvents) unusable(ctx context.Context, q eventQuery) (n int, examples []string, err error) {
	args := []any{time.UnixMicro(q.from), time.UnixMicro(q.to), maxUnusableNamed}
	where := `((context ->> 'session_id') COLLATE "C" IS NULL OR (context ->> 'session_id') COLLATE "C" = '' OR isfinite("timestamp") IS NOT TRUE)
		AND (isfinite("timestamp") IS NOT TRUE OR "timestamp" >= $1 AND "timestamp" < $2)`
	if q.flow != "" {
		args = append(args, q.flow)
		where += ` AND (context ->> 'flow_id') COLLATE "C" = $` + strconv.Itoa(len(args))
	}
	if len(q.types) > 0 {
		args = append(args, q.types)
		where += ` AND event_type = ANY ($` + strconv.Itoa(len(args)) + `)`
	}
	err = pgx.BeginFunc(ctx, t.db.pool, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `WITH lost AS (SELECT event_id::text AS id FROM exp.events WHERE `+where+`)
			SELECT (SELECT count(*) FROM lost), coalesce((SELECT array_agg(id) FROM (SELECT id FROM lost ORDER BY id COLLATE "C" LIMIT $3) AS first), '{}')`,
			args...).Scan(&n, &examples)
	})
	return n, examples, t.db.explain(ctx, "count events of", err)
}
