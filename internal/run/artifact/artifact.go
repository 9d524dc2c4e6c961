// Package artifact keeps what was gathered of conversations beside their records: without secrets, of bounded size,
// under the hash of its bytes.
package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const (
	// MaxBytes bounds one artifact.
	MaxBytes = 1_000_000
	// MaxRun bounds the artifacts of one run together, in bytes.
	MaxRun = 1_000_000_000
)

var (
	// ErrNone says that a place does not have an artifact.
	ErrNone = errors.New("there is no such artifact")
	// ErrFull says that a run has as many artifacts as are kept of one.
	ErrFull = errors.New("1 GB of artifacts are kept of this run: those behind are not")
)

// Keepable is where artifacts are put, under the SHA-256 of their bytes in lower-case hexadecimal. It is safe for
// concurrent use.
type Keepable interface {
	// Put keeps bytes. What is kept already under the hash is the same.
	Put(ctx context.Context, sha256 string, data []byte) error
}

// Storage is where artifacts are kept for good.
type Storage interface {
	Keepable
	// Get returns the bytes, or ErrNone.
	Get(ctx context.Context, sha256 string) ([]byte, error)
	// Delete deletes the bytes. It is no error when there are none.
	Delete(ctx context.Context, sha256 string) error
}

// Writer keeps the artifacts of one run. It is safe for concurrent use. Use New.
type Writer struct {
	place Keepable
	warn  func(string)
	most  int64
	now   func() time.Time

	mu    sync.Mutex
	used  int64
	kept  map[string]bool
	full  bool
	away  time.Time
	warns sync.Once
	fulls sync.Once
}

// New returns a keeper. Warn is told once of a place that does not take what it is given, and once that the run has as
// much as is kept of one; most bounds that, in bytes.
func New(place Keepable, most int64, warn func(string)) *Writer {
	return &Writer{place: place, most: most, warn: warn, now: time.Now, kept: map[string]bool{}}
}

// Before counts what was kept of the run earlier, when it was begun.
func (k *Writer) Before(sha256 string, size int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.kept[sha256] {
		k.kept[sha256] = true
		k.used += size
	}
}

// Store keeps a piece of a conversation without what mask takes out of it, and returns what the record says of it.
func (k *Writer) Store(ctx context.Context, p collect.Piece, mask func([]byte) []byte) result.Artifact {
	data, truncated := cut(mask(p.Data), MaxBytes)
	sum := sha256.Sum256(data)
	a := result.Artifact{
		Kind: p.Kind, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data)), Truncated: truncated,
	}
	if p.Turn > 0 {
		a.Turn = new(p.Turn)
	}
	if !k.Put(ctx, a.SHA256, data) {
		a.SHA256 = ""
	}
	return a
}

const (
	// putTime bounds one try. A place that has failed is not tried again for awhile: each try may take so long.
	putTime = 30 * time.Second
	awhile  = 10 * time.Second
)

// Put keeps bytes under their hash, and reports whether they are kept.
func (k *Writer) Put(ctx context.Context, sha256 string, data []byte) bool {
	size := int64(len(data))
	k.mu.Lock()
	known, away := k.kept[sha256], k.now().Before(k.away)
	if fits := !k.full && k.used+size <= k.most; !known && !fits {
		k.full = true
		k.mu.Unlock()
		k.fulls.Do(func() { k.warn(ErrFull.Error()) })
		return false
	}
	if known || away {
		k.mu.Unlock()
		return known
	}
	k.used += size
	k.mu.Unlock()
	putting, cancel := context.WithTimeout(ctx, putTime)
	err := k.place.Put(putting, sha256, data)
	cancel()
	k.mu.Lock()
	if err != nil || k.kept[sha256] { // another conversation was faster
		k.used -= size
	}
	if err == nil {
		k.kept[sha256] = true
	} else {
		k.away = k.now().Add(awhile)
	}
	known = k.kept[sha256]
	k.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		k.warns.Do(func() { k.warn(fmt.Sprintf("an artifact could not be kept, and others may not be: %v", err)) })
	}
	return known
}

// maskStart is how a mask of the redactor begins.
var maskStart = []byte("[redacted ")

// cut returns at most so many bytes, and whether there were more. It cuts neither a character nor a mask.
func cut(data []byte, most int) (kept []byte, truncated bool) {
	if len(data) <= most {
		return data, false
	}
	end := most
	for back := 1; back < utf8.UTFMax && end > 0 && !utf8.RuneStart(data[end]); back++ {
		end--
	}
	if open := bytes.LastIndexByte(data[:end], '['); open >= 0 {
		tail := data[open:end]
		if bytes.HasPrefix(maskStart, tail) || bytes.HasPrefix(tail, maskStart) && bytes.IndexByte(tail, ']') < 0 {
			end = open
		}
	}
	return data[:end], true
}
