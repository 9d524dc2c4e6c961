package judge

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Draws draws the ids, the order and the canary of checklists, so that no graded text can contain them. The draws of a
// call are a keyed hash of its conversation, its request, and the number of equal calls before it: with the same key, a
// recorded run repeats them. It is safe for concurrent use.
type Draws struct {
	key  []byte
	mask func(string) string
	mu   sync.Mutex
	// calls counts equal calls by the beginning of their hash.
	calls map[uint64]uint32
}

// NewDrawKey returns a random key.
func NewDrawKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return key
}

// NewDraws returns draws with a random key, which Named.Draws replaces. mask takes secrets out of what is hashed: a
// recording is played without them. It may be nil.
func NewDraws(mask func(string) string) *Draws {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	return &Draws{key: NewDrawKey(), mask: mask, calls: map[uint64]uint32{}}
}

// call returns the draws of one call; nil for a call without draws.
func (d *Draws) call(ctx context.Context, m Named, request llm.Request, sample int) *draws {
	key, at := d.key, llm.ConversationOf(ctx)
	if m.Draws != nil {
		if key, at = m.Draws(ctx); key == nil {
			return nil
		}
	}
	h := hmac.New(sha256.New, key)
	for _, s := range []string{strconv.Itoa(sample), at.Suite, at.Test, at.Target, strconv.Itoa(at.Trial)} {
		writePart(h, d.mask(s))
	}
	for _, m := range request.Messages {
		writePart(h, d.mask(m.Content.String()))
	}
	sum := h.Sum(nil)
	h.Reset()
	h.Write(sum)
	h.Write(binary.BigEndian.AppendUint32(nil, d.count(binary.BigEndian.Uint64(sum))))
	return &draws{mathrand.NewChaCha8([32]byte(h.Sum(nil)))}
}

func (d *Draws) count(call uint64) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[call]++
	return d.calls[call]
}

// draws are those of one call. Only the stream of ChaCha8 decides them, which is the same in every version of Go.
type draws struct{ stream *mathrand.ChaCha8 }

const (
	// letters make words that are in no language.
	letters  = "bcdfghjkmnpqrstvwxz"
	idSize   = 10
	wordSize = 12
)

// below returns a number from 0 to n-1.
func (d *draws) below(n int) int { return int(d.stream.Uint64() % uint64(n)) }

func (d *draws) word(size int) string {
	var b strings.Builder
	for range size {
		b.WriteByte(letters[d.below(len(letters))])
	}
	return b.String()
}

func (d *draws) id() string { return d.word(idSize) }

// absent returns a word that none of the texts contains.
func (d *draws) absent(texts []string) string {
	for {
		word := d.word(wordSize)
		if !slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(strings.ToLower(text), word)
		}) {
			return word
		}
	}
}
