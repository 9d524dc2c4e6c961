package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

const (
	// MaxBlob bounds a blob, in bytes.
	MaxBlob = 64 << 20
	// blobKept is how long a blob waits for a run that needs it.
	blobKept = 24 * time.Hour
)

// MissingBlobsError says which blobs are needed and not there. It wraps ErrUnknown.
type MissingBlobsError struct{ SHA256 []string }

// Error names the first of them.
func (e *MissingBlobsError) Error() string {
	return fmt.Sprintf("%d files are missing, among them sha256 %s", len(e.SHA256), shortened(e.SHA256[0]))
}

// Unwrap returns ErrUnknown.
func (e *MissingBlobsError) Unwrap() error { return ErrUnknown }

// PutBlob keeps bytes under their SHA-256, in lower-case hex; created is false if they were there. It refuses with
// ErrHash what does not have the hash and with ErrTooLarge what is larger than MaxBlob.
func (f *Fleet) PutBlob(ctx context.Context, hash string, data []byte) (created bool, err error) {
	const op = "write a file to"
	if len(data) > MaxBlob {
		return false, f.fault(op, fmt.Sprintf("it has %d bytes, and at most %d can be kept", len(data), MaxBlob),
			"split it", ErrTooLarge)
	}
	if sum := sha256.Sum256(data); hash != hex.EncodeToString(sum[:]) {
		return false, f.fault(op, "its bytes do not have the sha256 "+shortened(hash),
			"send the file again, with the hash in lower-case hex", ErrHash)
	}
	err = f.write(ctx, op, func(tx transaction) error {
		if err := tx.lock(ctx, "blobs"); err != nil {
			return err
		}
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		// A blob that is put again waits anew.
		n, err := tx.exec(ctx, `UPDATE exp.fleet_blobs SET put_at = $2 WHERE sha256 = $1`, hash, micros(now))
		if created = n == 0; err != nil || !created {
			return err
		}
		if data == nil {
			data = []byte{}
		}
		_, err = tx.exec(ctx, `INSERT INTO exp.fleet_blobs (sha256, put_at, data) VALUES ($1, $2, $3)`, hash,
			micros(now), data)
		return err
	})
	return created && err == nil, err
}

// Blob returns the bytes with a hash; without them the error is ErrUnknown.
func (f *Fleet) Blob(ctx context.Context, hash string) (data []byte, err error) {
	found := false
	err = f.read(ctx, "read a file from", `SELECT data FROM exp.fleet_blobs WHERE sha256 = $1`, []any{
		plainText(hash),
	}, func(row scanner) error {
		found = true
		return row.Scan(&data)
	})
	if err == nil && !found {
		err = f.fault("read a file from", "there is no file with the sha256 "+shortened(hash), "upload it first",
			ErrUnknown)
	}
	return data, err
}

// MissingBlobs returns those of the hashes of which there are no bytes, each once and in order.
func (f *Fleet) MissingBlobs(ctx context.Context, hashes []string) (missing []string, err error) {
	err = f.write(ctx, "look for files in", func(tx transaction) error {
		missing, err = missingBlobs(ctx, tx, hashes)
		return err
	})
	return missing, err
}

func missingBlobs(ctx context.Context, tx transaction, hashes []string) (missing []string, err error) {
	hashes = slices.Compact(slices.Sorted(slices.Values(hashes)))
	there := make([]bool, len(hashes))
	asked := make([][]any, len(hashes))
	for i, hash := range hashes {
		asked[i] = []any{plainText(hash)}
	}
	err = tx.each(ctx, `SELECT 1 FROM exp.fleet_blobs WHERE sha256 = $1`, asked, func(i int, row scanner) error {
		there[i] = true
		return row.Scan(new(int64))
	})
	for i, hash := range hashes {
		if !there[i] {
			missing = append(missing, hash)
		}
	}
	return missing, err
}

// runOwner and scheduleOwner name who needs a blob.
func runOwner(id string) string        { return "run " + id }
func scheduleOwner(name string) string { return "schedule " + name }

// useBlobs notes who needs which blobs, all of which must be there.
func (f *Fleet) useBlobs(ctx context.Context, tx transaction, owner string, hashes []string) error {
	if len(hashes) == 0 {
		return nil
	}
	if err := tx.lock(ctx, "blobs"); err != nil {
		return err
	}
	missing, err := missingBlobs(ctx, tx, hashes)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		cause := &MissingBlobsError{missing}
		return f.fault("write to", cause.Error(), "upload them first", cause)
	}
	var uses [][]any
	for _, hash := range slices.Compact(slices.Sorted(slices.Values(hashes))) {
		uses = append(uses, []any{owner, hash})
	}
	return tx.insert(ctx, "fleet_blob_uses", []string{"owner", "sha256"}, uses)
}

// freeBlobs deletes the blobs that an owner alone needed. The caller holds the lock of blobs.
func freeBlobs(ctx context.Context, tx transaction, owner string) error {
	if _, err := tx.exec(ctx, `DELETE FROM exp.fleet_blobs WHERE sha256 IN (
			SELECT u.sha256 FROM exp.fleet_blob_uses u WHERE u.owner = $1
				AND NOT EXISTS (SELECT 1 FROM exp.fleet_blob_uses o WHERE o.sha256 = u.sha256 AND o.owner <> $1))`,
		owner); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `DELETE FROM exp.fleet_blob_uses WHERE owner = $1`, owner)
	return err
}

// sweepBlobs deletes blobs that were put long ago and that nobody needs.
func (f *Fleet) sweepBlobs(ctx context.Context, now time.Time) error {
	return f.write(ctx, "delete files in", func(tx transaction) error {
		if err := tx.lock(ctx, "blobs"); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `DELETE FROM exp.fleet_blobs WHERE put_at < $1
			AND NOT EXISTS (SELECT 1 FROM exp.fleet_blob_uses u WHERE u.sha256 = fleet_blobs.sha256)`,
			micros(now.Add(-blobKept)))
		return err
	})
}
