package store

import (
	"context"
	"strconv"
	"strings"
)

// Artifact is a row of what was kept of a conversation. Its JSON is that of the API. The bytes are elsewhere, under
// their hash.
type Artifact struct {
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	Target string `json:"target"`
	Trial  int    `json:"trial"`
	// Turn counts from 1; nil means the whole conversation.
	Turn *int   `json:"turn"`
	Kind string `json:"kind"`
	// SHA256 is the hash of the bytes, in hex. Bytes is their number.
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated"`
}

// cells are the row of the nth artifact of a result.
func (a *Artifact) cells(place int64, n int) []any {
	var turn any
	if a.Turn != nil {
		turn = int64(*a.Turn)
	}
	truncated := int64(0)
	if a.Truncated {
		truncated = 1
	}
	return []any{place, int64(n), turn, plainText(a.Kind), plainText(a.SHA256), a.Bytes, truncated}
}

// Artifacts returns a page of the artifacts of a run, in the order of its results.
func (f *Fleet) Artifacts(ctx context.Context, run string, page PageOf) (Page[Artifact], error) {
	at, err := page.after(f, "artifacts")
	if err != nil {
		return Page[Artifact]{}, err
	}
	seq, n := int64(0), int64(0)
	if at != "" {
		first, second, _ := strings.Cut(at, " ")
		var errs [2]error
		seq, errs[0] = strconv.ParseInt(first, 10, 64)
		n, errs[1] = strconv.ParseInt(second, 10, 64)
		if errs != [2]error{} || seq < 0 || seq > maxResults {
			return Page[Artifact]{}, f.badCursor()
		}
	}
	number, err := f.runNumber(ctx, run)
	if err != nil {
		return Page[Artifact]{}, err
	}
	type placed struct {
		Artifact
		place, n int64
	}
	limit := page.limit()
	rows, err := list(ctx, f, "read artifacts from",
		`SELECT a.place, a.n, r.suite, r.test_id, r.target, r.trial, a.turn, a.kind, a.sha256, a.bytes, a.truncated
		FROM exp.fleet_artifacts a JOIN exp.fleet_results r ON r.place = a.place
		WHERE (a.place, a.n) > ($1, $2) AND a.place <= $3 ORDER BY a.place, a.n LIMIT $4`,
		[]any{beforeRun(number) + seq, n, endOfRun(number), int64(limit + 1)},
		func(row scanner) (a placed, err error) {
			var trial, truncated int64
			var turn *int64
			err = row.Scan(&a.place, &a.n, &a.Suite, &a.TestID, &a.Target, &trial, &turn, &a.Kind, &a.SHA256, &a.Bytes,
				&truncated)
			a.Trial, a.Truncated = int(trial), truncated != 0
			if turn != nil {
				a.Turn = new(int(*turn))
			}
			return a, err
		})
	if err != nil {
		return Page[Artifact]{}, err
	}
	found := newPage(rows, limit, func(last placed) *string {
		return newCursor("artifacts", strconv.FormatInt(last.place-beforeRun(number), 10)+" "+
			strconv.FormatInt(last.n, 10))
	})
	artifacts := Page[Artifact]{Items: make([]Artifact, 0, len(found.Items)), Next: found.Next}
	for _, a := range found.Items {
		artifacts.Items = append(artifacts.Items, a.Artifact)
	}
	return artifacts, nil
}

// HasArtifact reports whether a run has an artifact with the hash.
func (f *Fleet) HasArtifact(ctx context.Context, sha256 string) (has bool, err error) {
	err = f.read(ctx, "look for an artifact in", `SELECT 1 FROM exp.fleet_artifacts WHERE sha256 = $1 LIMIT 1`,
		[]any{plainText(sha256)},
		func(row scanner) error {
			has = true
			return row.Scan(new(int64))
		})
	return has, err
}

// orphanArtifacts notes the artifacts of a run that no other run has.
func orphanArtifacts(ctx context.Context, tx transaction, first, last int64) error {
	_, err := tx.exec(ctx, `INSERT INTO exp.fleet_orphans (sha256)
		SELECT DISTINCT a.sha256 FROM exp.fleet_artifacts a WHERE a.place > $1 AND a.place <= $2
			AND NOT EXISTS (SELECT 1 FROM exp.fleet_artifacts b WHERE b.sha256 = a.sha256 AND (b.place <= $1 OR b.place > $2))
		ON CONFLICT (sha256) DO NOTHING`, first, last)
	return err
}

// OrphanedArtifacts returns hashes of artifacts whose runs were deleted, at most so many. Delete their bytes and then
// call ForgetArtifacts; what was interrupted is returned again. A run that goes on may have the same bytes anew: such a
// hash is not returned.
func (f *Fleet) OrphanedArtifacts(ctx context.Context, limit int) ([]string, error) {
	return list(ctx, f, "read orphaned artifacts from", `SELECT o.sha256 FROM exp.fleet_orphans o
		WHERE NOT EXISTS (SELECT 1 FROM exp.fleet_artifacts a WHERE a.sha256 = o.sha256) ORDER BY o.sha256 LIMIT $1`,
		[]any{int64(limit)}, func(row scanner) (hash string, err error) {
			err = row.Scan(&hash)
			return hash, err
		})
}

// ForgetArtifacts removes hashes from OrphanedArtifacts.
func (f *Fleet) ForgetArtifacts(ctx context.Context, hashes []string) error {
	lists := make([][]any, len(hashes))
	for i, hash := range hashes {
		lists[i] = []any{plainText(hash)}
	}
	return f.write(ctx, "forget orphaned artifacts in", func(tx transaction) error {
		return tx.each(ctx, `DELETE FROM exp.fleet_orphans WHERE sha256 = $1`, lists, func(int, scanner) error {
			return nil
		})
	})
}
