package store

import (
	"context"
	"fmt"
	"slices"
)

// MissingBlobsError says which blobs are needed and not there. It wraps ErrUnknown.
type MissingBlobsError struct{ SHA256 []string }

// Error names the first of them.
func (e *MissingBlobsError) Error() string {
	return fmt.Sprintf("%d files are missing, among them sha256 %s; upload them first", len(e.SHA256), e.SHA256[0])
}

// Unwrap returns ErrUnknown.
func (e *MissingBlobsError) Unwrap() error { return ErrUnknown }

// useBlobs notes who needs which blobs, all of which must be there.
func (f *Fleet) useBlobs(ctx context.Context, tx fleetTx, owner string, hashes []string) error {
	hashes = slices.Compact(slices.Sorted(slices.Values(hashes)))
	if len(hashes) == 0 {
		return nil
	}
	if err := tx.lock(ctx, "blobs"); err != nil {
		return err
	}
	there := make([]bool, len(hashes))
	asked, uses := make([][]any, len(hashes)), make([][]any, len(hashes))
	for i, hash := range hashes {
		asked[i], uses[i] = []any{plainText(hash)}, []any{owner, plainText(hash)}
	}
	err := tx.each(ctx, `SELECT 1 FROM exp.fleet_blobs WHERE sha256 = $1`, asked, func(i int, row fleetRow) error {
		there[i] = true
		return row.Scan(new(int64))
	})
	if err != nil {
		return err
	}
	var missing []string
	for i, hash := range hashes {
		if !there[i] {
			missing = append(missing, hash)
		}
	}
	if len(missing) > 0 {
		return f.fault("write a run to", (&MissingBlobsError{missing}).Error(), "", &MissingBlobsError{missing})
	}
	return tx.insert(ctx, "fleet_blob_uses", []string{"owner", "sha256"}, uses)
}
