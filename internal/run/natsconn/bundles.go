package natsconn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

const bundleBucket = "rehearse-bundles"

// MaxBundle bounds one bundle, in bytes.
const MaxBundle = 256 << 20

var (
	// ErrNoBundle says that NATS does not have a bundle.
	ErrNoBundle = errors.New("the bundle is not there")
	// ErrDamaged says that the bytes of a bundle are not those of its hash.
	ErrDamaged = errors.New("the bundle does not have its hash")
	// ErrBundleSize says that a bundle has more than MaxBundle bytes.
	ErrBundleSize = errors.New("the bundle is larger than 256 MB")
)

var hash = text.Regexp(`^[0-9a-f]{64}$`)

// bundleAge is how long a bundle is kept at most: its server puts it in again for a run that takes longer.
const bundleAge = 24 * time.Hour

func bundleConfig() jetstream.ObjectStoreConfig {
	return jetstream.ObjectStoreConfig{Bucket: bundleBucket, TTL: bundleAge}
}

func (c *Conn) bundles(ctx context.Context) (jetstream.ObjectStore, error) {
	return c.objects(ctx, bundleConfig())
}

// PutBundle keeps bytes under their SHA-256, in lower-case hexadecimal. It returns ErrDamaged, and keeps nothing, when
// they have another one. Bytes that are kept already are not read. It waits for NATS for as long as ctx lasts.
func (c *Conn) PutBundle(ctx context.Context, sha string, r io.ReadSeeker) error {
	if !hash().MatchString(sha) {
		return fmt.Errorf("keep a bundle: %w", ErrDamaged)
	}
	err := c.putOnce(ctx, sha, func(ctx context.Context) (jetstream.ObjectStore, error) { return c.bundles(ctx) },
		func() (io.Reader, error) {
			_, err := r.Seek(0, io.SeekStart)
			// its error makes NATS drop what it has got, so a wrong bundle is never to be seen
			return &checked{from: r, sha: sha}, err
		})
	if err != nil {
		return fmt.Errorf("keep bundle %s: %w", sha, err)
	}
	return nil
}

// putOnce keeps an object that is not there yet, through failures of NATS. What a try has left behind that failed may
// be a name without its bytes: from then on what is there does not count.
func (c *Conn) putOnce(
	ctx context.Context, name string, bucket func(context.Context) (jetstream.ObjectStore, error),
	bytes func() (io.Reader, error),
) error {
	failed := false
	return Again(ctx, func(ctx context.Context) error {
		store, err := bucket(ctx)
		if err != nil {
			return err
		}
		if _, err := store.GetInfo(ctx, name); err == nil && !failed {
			return nil
		} else if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
		r, err := bytes()
		if err != nil {
			return err
		}
		failed = true
		_, err = store.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
		return err
	})
}

// lacks reports whether an object that was not read in time has a name and no bytes, as a writer leaves it whose
// connection broke. NATS forgets its name then, so that somebody puts it in anew.
func (c *Conn) lacks(ctx context.Context, store jetstream.ObjectStore, read *jetstream.ObjectInfo, err error) bool {
	late := errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded)
	if !late || read == nil || !c.nats.IsConnected() {
		return false
	}
	now, err := store.GetInfo(ctx, read.Name)
	if err != nil {
		return errors.Is(err, jetstream.ErrObjectNotFound)
	}
	return now.NUID == read.NUID && store.Delete(ctx, read.Name) == nil
}

// HasBundle reports whether NATS has a bundle. Its bytes are not read.
func (c *Conn) HasBundle(ctx context.Context, sha string) (bool, error) {
	store, err := c.bundles(ctx)
	if err == nil {
		_, err = store.GetInfo(ctx, sha)
	}
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for bundle %s: %w", sha, err)
	}
	return true, nil
}

// GetBundle writes a bundle to w. It returns ErrNoBundle when there is none, ErrDamaged when what it has written must
// not be used.
func (c *Conn) GetBundle(ctx context.Context, sha string, w io.Writer) error {
	store, err := c.bundles(ctx)
	if err != nil {
		return fmt.Errorf("read bundle %s: %w", sha, err)
	}
	object, err := store.Get(ctx, sha)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("read bundle %s: %w", sha, ErrNoBundle)
	}
	if err != nil {
		return fmt.Errorf("read bundle %s: %w", sha, err)
	}
	defer func() { _ = object.Close() }()
	_, err = io.Copy(w, &checked{from: object, sha: sha})
	if errors.Is(err, jetstream.ErrDigestMismatch) {
		err = ErrDamaged
	}
	if err != nil {
		if info, unknown := object.Info(); unknown == nil && c.lacks(ctx, store, info, err) {
			err = ErrNoBundle
		}
		return fmt.Errorf("read bundle %s: %w", sha, err)
	}
	return nil
}

// DeleteBundle deletes a bundle that no run needs. One that is not there is no error.
func (c *Conn) DeleteBundle(ctx context.Context, sha string) error {
	store, err := c.bundles(ctx)
	if err == nil {
		err = store.Delete(ctx, sha)
	}
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("delete bundle %s: %w", sha, err)
	}
	return nil
}

// Bundles lists the hashes of the bundles that are kept.
func (c *Conn) Bundles(ctx context.Context) ([]string, error) {
	store, err := c.bundles(ctx)
	if err != nil {
		return nil, fmt.Errorf("list bundles: %w", err)
	}
	objects, err := store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, fmt.Errorf("list bundles: %w", err)
	}
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names, nil
}

// checked passes bytes on and ends with an error when they do not have the hash, or are too many.
type checked struct {
	from io.Reader
	sha  string
	n    int64
	hash interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func (c *checked) Read(p []byte) (int, error) {
	if c.hash == nil {
		c.hash = sha256.New()
	}
	n, err := c.from.Read(p)
	_, _ = c.hash.Write(p[:n])
	c.n += int64(n)
	if c.n > MaxBundle {
		return 0, ErrBundleSize
	}
	if err == io.EOF && hex.EncodeToString(c.hash.Sum(nil)) != c.sha {
		return n, ErrDamaged
	}
	return n, err
}
