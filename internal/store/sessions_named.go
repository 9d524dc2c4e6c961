package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// threadsEndingQuery looks at every thread; it is asked by people, not in turns.
const threadsEndingQuery = `SELECT name FROM checkpoint_threads WHERE used >= ?2 AND substr(name, -length(?1)) = ?1 ORDER BY name`

// ThreadsEnding returns the threads whose names end so, in order of name.
func (c *Checkpoints) ThreadsEnding(ctx context.Context, end string) (names []string, err error) {
	defer func() { err = explain(fmt.Sprintf("look for sessions that end with %q in", end), c.store.path, err) }()
	rows, err := c.store.db.QueryContext(ctx, threadsEndingQuery, end, c.idleBefore())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// scanned is how many keys the server looks at before it lets others in.
const scanned = 1000

// ThreadsEnding returns the threads whose names end so, in order of name. It looks at every key of the server, some at a time.
func (r *Redis) ThreadsEnding(ctx context.Context, end string) ([]string, error) {
	before, behind, _ := strings.Cut(r.key("session", "\x00"), "\x00")
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
	pattern := escape.Replace(before) + "*" + escape.Replace(end+behind)
	var names []string
	for cursor := uint64(0); ; {
		keys, next, err := r.client.Scan(ctx, cursor, pattern, scanned).Result()
		if err := r.explain(ctx, fmt.Sprintf("look for sessions that end with %q in", end), err); err != nil {
			return nil, err
		}
		for _, key := range keys {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(key, before), behind))
		}
		if cursor = next; cursor == 0 {
			slices.Sort(names)
			return slices.Compact(names), nil // a key may come twice
		}
	}
}

// String names the server, without user and password.
func (r *Redis) String() string { return r.place.url }
